"""Answers of a team as a page shows them: in words, with what lights up on the map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coterie_bringup.team_client import FoundObjects, TeamAnswer
from coterie_cli.ask import evidence_text, kind_text
from coterie_console.text import plain
from coterie_core.questions import OpenAnswer, percent
from coterie_requests.ask_back import Judgement
from coterie_world.scene import SceneGraph

_MOST = 30


def presence(answer: TeamAnswer, room: str, memories: Mapping[str, SceneGraph]) -> dict[str, Any]:
    """Return what a team answers to whether there is such a thing.

    Args:
        answer: The answer with the robots' own.
        room: Name of the room that was asked about; "": none.
        memories: What robots know, whose objects their evidence names.
    """
    final = answer.final
    rows, marks = [], []
    for one in answer.answers[:_MOST]:
        nothing = one.evidence.kind == "nothing"
        says = "–" if nothing else "yes" if one.yes else "no"
        sure = "" if nothing else percent(one.confidence)
        because = plain(one.explanation or evidence_text(one), 300)
        rows.append([plain(one.robot), [says, says if says != "–" else "soft"], sure, because])
        known = memories.get(one.robot)
        for id_ in one.evidence.objects[:10]:
            thing = known.objects.get(id_) if known is not None else None
            if thing is not None:
                label = plain(f"{thing.label.top}, seen by {one.robot}", 100)
                at = [round(v, 2) for v in thing.box.center]
                marks.append({"at": at, "label": label, "thing": plain(thing.label.top, 100)})
    rows += [[plain(robot), ["–", "soft"], "", "did not answer in time"] for robot in final.missing]
    word = {True: "yes", False: "no", None: "unknown"}[final.yes]
    return {
        "text": f"a guess: {word}" if answer.guessed else word.upper(),
        "kind": "unknown" if answer.guessed else word,
        "sure": "" if final.yes is None else f"{percent(final.confidence)} sure",
        "method": plain(final.method.replace("_", " ")),
        "because": rows,
        "lit": {"marks": marks[:_MOST], "rooms": [plain(room)] if room else []},
        "question": plain(final.question, 100),
        "label": None,
    }


def in_words(answer: OpenAnswer, scene: SceneGraph) -> dict[str, Any]:
    """Return what is answered to an open question."""
    if answer.guessed:
        sure = "a guess" if answer.confidence > 0.0 else "nobody knows"
    else:
        sure = f"{percent(answer.confidence)} sure"
    return {
        "text": plain(answer.text, 600),
        "kind": "unknown" if answer.guessed else "yes",
        "sure": sure,
        "method": plain(kind_text(answer), 100),
        "objects": _things(answer.objects, scene),
        "frames": [plain(name, 300) for name in answer.frames[:_MOST]],
        "lit": {
            "things": list(answer.objects[:_MOST]),
            "path": [[round(x, 2), round(y, 2)] for x, y, _ in answer.path[:1000]],
        },
    }


def judged(answer: dict[str, Any], judgement: Judgement | None) -> None:
    """Add to an answer that its request was not clear, where the team says so."""
    if judgement is not None and not judgement.proceeds:
        answer |= {"kind": "unknown", "sure": judgement.brief, "because": []}
        answer["text"] = plain(judgement.text or answer["text"], 600)


def found(answer: FoundObjects, scene: SceneGraph) -> dict[str, Any]:
    """Return which things of the map fit a request."""
    count = len(answer.ids)
    text = f"{count} {'thing' if count == 1 else 'things'}" if count else "nothing in the map fits"
    return {
        "text": text,
        "kind": "yes" if answer.ids else "no",
        "sure": "",
        "method": "",
        "objects": _things(answer.ids, scene),
        "lit": {"things": list(answer.ids[:_MOST])},
    }


def _things(ids: Sequence[str], scene: SceneGraph) -> list[dict[str, str]]:
    rows = []
    for id_ in ids[:_MOST]:
        thing = scene.objects.get(id_)
        room = scene.rooms.get(thing.room) if thing is not None else None
        shares = list(thing.label.distribution().items())[:2] if thing is not None else []
        sure = [percent(share) if k == 0 else name for k, (name, share) in enumerate(shares)]
        told = {"id": id_, "label": shares[0][0] if shares else id_, "sure": ", or ".join(sure)}
        told["room"] = room.name if room else ""
        rows.append({key: plain(text) for key, text in told.items()})
    return rows
