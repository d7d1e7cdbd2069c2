"""What a person would say of a request who reads it beside the map."""

from __future__ import annotations

import re
from typing import Any

from coterie_bench.oracle.request import Question


def judge_request(question: Question) -> dict[str, Any]:
    """Ask which one is meant where several things bear the name that is said with "the"."""
    data = question.data
    words = str(data["request"]).lower()
    if "answer of the person" in data:
        return _with_answer(question)
    if re.search(r"\b(?:it|that one|those)\b", words):
        return {
            "reason": "nothing was named before",
            "kind": "underspecified",
            "slot": "object",
            "question": "What do you mean?",
        }
    named: dict[str, list[str]] = {}
    for id_, label in _things(data.get("objects", ())):
        if re.search(rf"\bthe {re.escape(label)}\b(?! (?:in|on|next))", words):
            named.setdefault(label, []).append(id_)
    several = next((label for label, ids in sorted(named.items()) if len(ids) > 1), "")
    if not several:
        return {"reason": "one thing at most bears the name", "kind": "clear"}
    return {
        "reason": f"{len(named[several])} of them are on the map",
        "kind": "ambiguous",
        "candidates": named[several][:40],
        "question": f"Which {several} do you mean?",
    }


def _with_answer(question: Question) -> dict[str, Any]:
    data = question.data
    choices, ids = _lines(data.get("choices", ())), _lines(data.get("ids of the choices", ()))
    answer = str(data["answer of the person"])
    meant = [id_ for text, id_ in zip(choices, ids, strict=False) if text == answer]
    return {
        "reason": "the answer says it",
        "kind": "clear",
        "candidates": meant,
        "request": str(data["request"]),
    }


def _things(lines: Any) -> list[tuple[str, str]]:
    """Return ids and labels of lines such as "mug-1: mug on desk-2 in the office"."""
    found = []
    for line in _lines(lines):
        id_, _, rest = line.partition(": ")
        found.append((id_, re.split(r" (?:on|in) ", rest)[0]))
    return found


def _lines(data: Any) -> list[str]:
    return [str(one) for one in data] if isinstance(data, (list, tuple)) else str(data).splitlines()


ANSWERS = {"RequestReply": judge_request}
