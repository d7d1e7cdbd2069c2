"""What a person would list who reads a map and a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from coterie_bench.oracle.request import Question

_SEATS = ("chair", "armchair", "sofa", "couch", "stool", "bench", "ottoman", "office chair")
_SERVES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\bsit\b|\bseat", _SEATS),
    (r"sleep|lie down|\bnap\b|\brest\b", ("bed", "sofa", "couch")),
    (r"keeps? (?:food|milk|\w+ )?cold|\bcool|fresh", ("refrigerator",)),
    (r"wash my hands|rinse", ("sink", "faucet")),
    (r"\bread\b", ("books", "book", "magazine", "newspaper", "tablet")),
    (r"drink", ("mug", "glass", "cup", "water bottle", "bottle")),
    (r"clothes|hang (?:my|a) ", ("wardrobe", "dresser", "closet", "coat rack")),
    (r"\blight\b|bright", ("floor lamp", "lamp", "ceiling lamp", "wall lamp", "candle")),
    (r"cook|soup|boil|fry", ("stove", "oven", "microwave")),
    (r"watch|news|film|movie", ("television", "tv", "laptop", "tablet", "computer")),
    (r"write|notes", ("pen", "desk", "books", "table")),
    (r"dry (?:my|the)", ("towel", "hairdryer", "dryer")),
    (r"throw away|garbage|trash", ("trash can",)),
    (r"music|song", ("speaker", "piano", "guitar", "radio")),
    (r"\btime\b", ("clock", "alarm clock", "wristwatch")),
)
"""What people use for what."""
_NOT = re.compile(r"\b(?:not|no|other than|except|isn't|but)\b(?: an?| the)? ([a-z ]+)")
_LIKELY = 0.35


def plan(question: Question) -> dict[str, Any]:
    """List what serves, surest first; what the request rules out stays out."""
    things, words = question.data["semantic map"], str(question.data["request"]).lower()
    if question.tools and isinstance(things, str):  # the map was cut: look it up
        use = question.used("find_objects")
        if use is None:
            return question.call("find_objects", words="")
        things = {one.pop("id"): one for one in use.value["objects"]}
    ids = serving(things, words)
    return {
        "reason": f"{len(ids)} of these serve",
        "inferred_query": words[:300],
        "achievable": bool(ids),
        "relevant_objects": ids,
    }


def serving(things: Mapping[str, Mapping[str, Any]], words: str) -> list[str]:
    """Return the ids of what serves a request, best first."""
    ruled_out = " ".join(_NOT.findall(words))
    asked = _NOT.sub(" ", words)
    labels = {
        label
        for one in things.values()
        for label in one.get("labels", {one.get("label", ""): 1.0})
        if label and re.search(rf"\b{re.escape(label)}s?\b", asked)
    }
    wanted = sorted(labels, key=lambda label: (-len(label), label))[:1]
    if not wanted:
        wanted = [label for form, names in _SERVES if re.search(form, asked) for label in names]
    found = []
    for id_, one in things.items():
        shares = one.get("labels", {one.get("label", ""): 1.0})
        ranks = [
            (share, -wanted.index(_plain(label)))
            for label, share in shares.items()
            if _plain(label) in wanted
            and _plain(label) not in ruled_out.split(" or ")
            and not re.search(rf"\b{re.escape(_plain(label))}s?\b", ruled_out)
        ]
        if ranks and max(ranks)[0] >= _LIKELY:
            share, rank = max(ranks)
            # Seen once only may be a mistake of the detector.
            surety = share * one.get("seen", 3) / (one.get("seen", 3) + 2.0)
            found.append((-(surety + 0.08 * rank), id_))
    return [id_ for _, id_ in sorted(found)][:50]


def _plain(label: str) -> str:
    return label.replace("_", " ").lower()


def review(question: Question) -> dict[str, Any]:
    """Compare an answer with one's own."""
    given = question.data["answer"]["relevant_objects"]
    own = serving(question.data["semantic map"], str(question.data["request"]).lower())
    changes = [f"leave out {id_}" for id_ in given if id_ not in own][:5]
    changes += [f"add {id_}" for id_ in own if id_ not in given][:4]
    if not changes and given and given[0] != own[0]:
        changes = [f"put {own[0]} first"]
    return {
        "reason": f"I would list {len(own)}",
        "correctness": "ids exist",
        "relevance": "; ".join(changes)[:400],
        "clarity": "plain",
        "suggestions": changes,
        "acceptable": not changes,
    }


def choose(question: Question) -> dict[str, Any]:
    """Take the answer that agrees best with one's own."""
    own = serving(question.data["semantic map"], str(question.data["request"]).lower())

    def agrees(number: int) -> float:
        ids = question.data[f"answer {number}"]["objects"]
        if not ids or not own:
            return float(not ids and not own)
        return len({*ids} & {*own}) / len({*ids} | {*own}) + (ids[0] == own[0])

    best = max(question.choices("number"), key=lambda number: (agrees(number), -number))
    return {"reason": "agrees best with the map", "number": best}


ANSWERS = {"Plan": plan, "RefinedPlan": plan, "Feedback": review, "Choice": choose}
