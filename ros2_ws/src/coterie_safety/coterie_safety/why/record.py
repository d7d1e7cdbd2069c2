"""One record of the journal: what happened, to whom, what it belongs to; as a line of JSON."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

from coterie_llm.redact import scrub
from coterie_safety.why.context import Belongs

VERSION = 1
LINE_BYTES = 200_000
"""Longest line; a record that is longer is cut, and says so."""
_TEXT_CHARS = 24_000
_SHORT_CHARS = 2_000
_MAX_ITEMS = 200
_ID = re.compile(r"[0-9a-f]{10,32}")
_BELONGS = ("goal", "task", "sub_task", "question", "because")


@dataclass(frozen=True, slots=True)
class Record:
    """One step of what a team did.

    Attributes:
        id: 10 hexadecimal digits; of a goal that was sent, the 32 of its action.
        at: Time of the step [ISO 8601, UTC].
        kind: `decision`, `task`, `turn`, `assignment`, `action`, `sent`, `ended`, `question`,
            `answer`, `judged`, `read`, `outcome`, `lost`.
        who: Robot, `leader`, `aggregator`; "": nobody in particular.
        of: Goal, task and step that it belongs to.
        body: Plain data; its texts are data.
    """

    id: str
    at: str
    kind: str
    who: str
    of: Belongs = field(default_factory=Belongs)
    body: Mapping[str, Any] = field(default_factory=dict)

    def to_line(self) -> bytes:
        """Return it as a line, at most `LINE_BYTES` long, without any known key."""
        of = {name: value for name, value in asdict(self.of).items() if value}
        head = {"v": VERSION, "id": self.id, "at": self.at, "kind": self.kind, "who": self.who}
        for chars in (_TEXT_CHARS, _SHORT_CHARS, 200):
            body = _bounded(self.body, chars)
            text = scrub(json.dumps({**head, "of": of, "body": body}, separators=(",", ":")))
            if len(text) < LINE_BYTES:
                return text.encode("ascii") + b"\n"
        cut = {"cut": f"{len(text)} characters were too many"}
        return json.dumps({**head, "of": {}, "body": cut}).encode("ascii") + b"\n"


class NoRecord(ValueError):
    """A line is no record."""


def read_record(line: bytes) -> Record:
    """Read what `to_line` wrote.

    Raises:
        NoRecord: It is something else.
    """
    try:
        data = json.loads(line)
        if data["v"] != VERSION or not _ID.fullmatch(data["id"]):
            raise NoRecord("no record")
        of, body = data["of"], data["body"]
        texts = (data["at"], data["kind"], data["who"], *of.values())
        if not all(isinstance(text, str) for text in texts) or not isinstance(body, dict):
            raise NoRecord("no record")
        datetime.fromisoformat(data["at"])
        belongs = Belongs(**{name: of[name] for name in _BELONGS if name in of})
        return Record(data["id"], data["at"], data["kind"], data["who"], belongs, body)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise NoRecord("no record") from None


def new_id() -> str:
    """Return an id that no other record has."""
    return os.urandom(5).hex()


def moment() -> str:
    """Return the time now, as records have it."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def _bounded(value: Any, chars: int, depth: int = 0) -> Any:
    """Return plain data with texts and lists of bounded length."""
    if isinstance(value, str):
        return value if len(value) <= chars else f"{value[:chars]}… ({len(value) - chars} more)"
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if depth > 12:
        return "…"
    if isinstance(value, Mapping):
        pairs = list(value.items())[:_MAX_ITEMS]
        return {str(key)[:200]: _bounded(one, chars, depth + 1) for key, one in pairs}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [_bounded(one, chars, depth + 1) for one in list(value)[:_MAX_ITEMS]]
        more = len(value) - len(items)
        return [*items, f"… ({more} more)"] if more else items
    return _bounded(str(value), chars, depth)
