"""What a person would do and say who is told everything as text."""

from __future__ import annotations

import re
from typing import Any

from coterie_bench.oracle.request import Question

_SEND = "send the message"
_SEEN = re.compile(r"\(([a-z-]+-\d+)\)[^\"]*? in ([a-z0-9-]+)")


def word_message(question: Question) -> dict[str, Any]:
    """Say which needed things were found where, and what one will do."""
    needed = [
        found[1]
        for line in question.data["goal and what is still to be brought"]
        if (found := re.search(r"\(([^,()]+),", line)) and not line.endswith(" 0 to go")
    ]
    news = []
    for line in question.data["things"]:
        label = line.partition(" (")[0]
        place = _SEEN.search(line)
        if label in needed and place is not None and "says" not in line:
            news.append(f"{place[1]} is in {place[2]}")
    said = str(question.data["dialogue"])
    news = [one for one in news if one.split(" ")[0] not in said]
    text = "; ".join(news[:6])
    return {"reason": "what others may not know", "text": f"I see: {text}." if text else "-"}


def act_or_speak(question: Question) -> dict[str, Any]:
    """Speak where there is news of needed things, else do what is nearest for its worth."""
    options = question.data["options"]
    message = question.data["message that you could send"]
    names = [one["option"] for one in options]
    if _SEND in names and str(message).startswith("I see: "):
        return {"reason": "it saves the others ways", "option": _SEND}
    acts = [one for one in options if one["option"] != _SEND]
    dialogue = str(question.data["dialogue"])
    best = min(acts, key=lambda one: (_effort(one, dialogue), one["option"]))
    return {"reason": "nearest for what it brings", "option": best["option"]}


def _effort(one: dict[str, Any], dialogue: str) -> float:
    """Return steps, more where others said that they go there."""
    target = one["option"].rpartition(" ")[2]
    taken = re.search(rf"(?:Next|going|fetch\w*|take)\W+(?:\w+ )?{re.escape(target)}\b", dialogue)
    return float(one["steps"]) + (8.0 if taken else 0.0)


ANSWERS = {"Wording": word_message, "TurnReply": act_or_speak}
