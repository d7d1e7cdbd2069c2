"""The JSON object in a model's reply, whatever prose, reasoning or code fence stands around it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from coterie_llm.errors import BadReply

#: Longest reply that is searched for JSON [characters].
MAX_REPLY_CHARS: int = 200_000
# Each failed attempt may read to the end of the reply: bounds the work on a reply made to waste it.
_MAX_ATTEMPTS = 64
_SHOWN_CHARS = 2000


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _without_reasoning(text: str) -> str:
    """Drop a leading `<think>...</think>` that reasoning models put before their reply."""
    if not text.startswith("<think>"):
        return text
    _, end, reply = text.partition("</think>")
    if not end:
        raise BadReply(
            "the reply ends within a thought, without </think>; think briefly, then reply",
            text=text[:_SHOWN_CHARS],
        )
    return reply


def extract_json(text: str) -> dict[str, Any]:
    """Find the JSON object in a reply.

    A reply that is one JSON object is taken as it is. Otherwise the last complete top-level object
    in it counts: models reason first and answer last. Code fences need no care of their own, they
    are prose like any other.

    Args:
        text: The reply, at most `MAX_REPLY_CHARS` characters.

    Returns:
        The object. Numbers are finite.

    Raises:
        BadReply: Too long, a thought without an end, or no JSON object in it.
    """
    if len(text) > MAX_REPLY_CHARS:
        raise BadReply(
            f"the reply has {len(text)} characters, at most {MAX_REPLY_CHARS} are read; "
            "reply with the JSON object only",
            text=text[:_SHOWN_CHARS],
        )
    stripped = _without_reasoning(text.lstrip("\ufeff \t\r\n")).strip()
    found: dict[str, Any] | None = None
    start = stripped.find("{")
    for _ in range(_MAX_ATTEMPTS):
        if start < 0:
            break
        try:
            value, end = _DECODER.raw_decode(stripped, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if isinstance(value, dict):
                found = value
        start = stripped.find("{", end)
    if found is None:
        raise BadReply(
            "the reply holds no complete JSON object; reply with one JSON object and nothing else",
            text=text[:_SHOWN_CHARS],
        )
    return found
