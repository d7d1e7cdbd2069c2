"""Records in a person's words. All that they hold is data: one line, no control characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coterie_llm.fence import inline_data
from coterie_safety.ledger import Entry
from coterie_safety.why.record import Record

PHRASES: Mapping[str, str] = {
    "adapter.check_outcome": "whether it came about",
    "coela.act_or_speak": "whether to act or to speak",
    "coela.word_message": "how to word a message",
    "emos.choose_skill": "what to do next",
    "emos.describe_body": "how to describe its body",
    "emos.reassign": "who takes over what was refused or failed",
    "emos.reflect_on_share": "whether it can do its share",
    "emos.split_task": "what sub-tasks the task has, and who does them",
    "mapper.name_thing": "what a thing is, by its picture",
    "mele.answer": "what to answer",
    "mele.choose_place": "where to go next",
    "mele.debate": "what to say in the debate",
    "objects.choose": "which of several lists of objects to take",
    "objects.plan": "which objects are meant",
    "objects.refine": "which objects are meant, after a review",
    "objects.reflect": "whether the objects are right",
    "openeqa.answer_blind": "what to answer without looking",
    "openeqa.answer_from_captions": "what to answer from captions",
    "openeqa.answer_from_frames": "what to answer from images",
    "openeqa.answer_from_map": "what to answer from the map",
    "openeqa.answer_with_tools": "what to answer from the map",
    "openeqa.caption_frame": "what an image shows",
    "openeqa.judge_abstaining": "whether it knows enough to answer",
    "openeqa.judge_answer": "whether an answer is right",
    "perception.detect_things": "what an image shows, and where",
    "reveca.choose_plan": "what to do next",
    "reveca.judge_scenario": "whether somebody else changed what it plans with",
    "reveca.rate_relevance": "what matters for the goal",
    "team.read_request": "what the request asks for",
}
_LINE = 240
_DONE = {"stop": "stopped", "release": "released", "revocation": "revoked"}


def line(value: object, limit: int = _LINE) -> str:
    """Return data as one short line."""
    return inline_data(value if isinstance(value, str) else str(value), limit=limit)


def sentence(record: Record) -> str:
    """Return what a record says, in a sentence."""
    body, who = record.body, line(record.who, 60) or "somebody"
    if record.kind == "decision":
        return f"{who} decided {phrase(body)}: {reply_words(body.get('reply'))}"
    if record.kind == "task":
        return f'a task came: "{line(body.get("words", ""))}"'
    if record.kind == "question":
        return f'a question came: "{line(body.get("words", ""))}"'
    if record.kind == "turn":
        return _turn(who, body)
    if record.kind == "assignment":
        given = [one for one in mappings(body.get("sub_tasks")) if one.get("robot")]
        return f"{who} gave out {len(given)} of {len(mappings(body.get('sub_tasks')))} sub-tasks"
    if record.kind == "action":
        return f"{who} chose: {line(body.get('words', ''))}"
    if record.kind == "sent":
        return f"{who} sent the goal {line(body.get('action', ''), 80)}"
    if record.kind == "ended":
        told = line(body.get("message", ""))
        return f"it ended: {line(body.get('outcome', ''), 40)}" + (f": {told}" if told else "")
    if record.kind == "answer":
        return f"{who} answered: {line(body.get('words', ''))}"
    if record.kind == "judged":
        return _judged(who, body)
    if record.kind == "outcome":
        return (
            f"the task ended {line(body.get('outcome', ''), 40)}: {line(body.get('message', ''))}"
        )
    return f"{who}: {line(body.get('words', record.kind))}"


def _judged(who: str, body: Mapping[str, Any]) -> str:
    told = f"{who} found it {line(body.get('words', ''), 400)}"
    if body.get("question"):
        told += f'; asked back: "{line(body["question"])}"'
        said = body.get("answer")
        told += f' and was told "{line(said)}"' if said else ", and nobody answered"
    return told if body.get("went_on") else f"{told}; it was not begun"


def _turn(who: str, body: Mapping[str, Any]) -> str:
    text = line(body.get("words", ""), 400)
    kind = body.get("turn")
    if kind == "propose":
        to = ", ".join(line(one, 40) for one in _texts(body.get("to")))
        return f"{who} proposed to {to}: {text}"
    said = {"accept": "agreed", "reject": "refused", "silent": "was silent", "problem": "noticed"}
    return f"{who} {said.get(str(kind), 'said')}: {text}"


def phrase(body: Mapping[str, Any]) -> str:
    """Return what a decision was about, and who made it."""
    name = str(body.get("name", ""))
    own = line(body.get("own", ""), 200)
    about = PHRASES.get(name) or line(name, 60)
    if body.get("by") == "model":
        by = f"{about}, by the model {line(body.get('model', ''), 60)}"
        return f"{by}, asked by {own}" if own else by
    rule = own or "its rule"
    if body.get("asked"):
        return f"{about}, by {rule} after the model was asked"
    return f"{about}, by {rule}"


def reply_words(reply: object) -> str:
    """Return a reply in a line: its fields, the reason last."""
    if not isinstance(reply, Mapping):
        return line(reply)
    parts = []
    for name, value in reply.items():
        if name == "reason" or value in ("", None, [], {}):
            continue
        if isinstance(value, (list, tuple)) and value and not isinstance(value[0], str):
            noun = line(name, 40).replace("_", " ")
            parts.append(f"{len(value)} {noun.removesuffix('s') if len(value) == 1 else noun}")
        elif isinstance(value, (list, tuple)):
            parts.append(f"{line(name, 40)}: {', '.join(line(one, 60) for one in value[:6])}")
        elif isinstance(value, Mapping):
            parts.append(f"{line(name, 40)}: {line(value, 100)}")
        elif isinstance(value, float):
            parts.append(f"{line(name, 40)}: {value:.3g}")
        else:
            parts.append(f"{line(name, 40)}: {line(value, 120)}")
    reason = reply.get("reason")
    told = ", ".join(parts[:8])
    if isinstance(reason, str) and reason:
        return f"{told} (because {line(reason)})" if told else line(reason)
    return told or "nothing"


def decision_details(body: Mapping[str, Any]) -> list[str]:
    """Return further sentences about a decision: what was refused, what was looked up."""
    told = []
    if body.get("reason"):
        told.append(f"why so: {line(body['reason'], 400)}")
    for number, one in enumerate(mappings(body.get("tries")), 1):
        if one.get("refused"):
            model, why = line(one.get("model", ""), 60), line(one["refused"], 300)
            told.append(f"reply {number} of {model} was not used: {why}")
    for use in mappings(body.get("looked_up")):
        answer = line(use.get("result", ""), 200)
        told.append(
            f"looked up {line(use.get('name', ''), 60)} {line(use.get('arguments'))}: {answer}"
        )
    return told


def entry_words(entry: Entry) -> str:
    """Return what an entry of the log says, in a sentence."""
    body = entry.body
    reason = f": {line(body['reason'], 400)}" if body.get("reason") else ""
    by = line(body.get("by") or "somebody", 60)
    if entry.kind == "goal":
        why = f", for '{line(body['why'])}'" if body.get("why") else ""
        touched = [*_texts(body.get("rooms")), *_texts(body.get("objects"))]
        over = f"; it touches {', '.join(line(one, 60) for one in touched)}" if touched else ""
        return f"{line(entry.robot, 60)} was to {line(body.get('what', ''))}{why}{over}"
    if entry.kind == "request":
        return f"a person was asked, by {line(body.get('rule', ''))} of the team file"
    if entry.kind == "permit":
        once = "goals alike" if body.get("standing") else "this goal"
        return f"permitted by {by}, for {once}"
    if entry.kind == "refusal":
        return f"refused{reason}"
    if entry.kind == "result":
        moved = body.get("distance")
        far = f", {moved:.1f} m" if isinstance(moved, (int, float)) and moved else ""
        ended = line(body.get("outcome", ""), 40).replace("_", " ").lower()
        return f"the goal {ended}{far}{reason}"
    if (said := _DONE.get(entry.kind)) is not None:
        return f"{said} by {by}{reason}"
    return ", ".join(f"{line(key, 40)}: {line(value)}" for key, value in body.items())


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the mappings of a list; what else came is left out."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [one for one in value if isinstance(one, Mapping)]


def _texts(value: object) -> list[str]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [str(one) for one in value]
