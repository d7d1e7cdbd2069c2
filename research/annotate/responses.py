"""Answers in a JSON file: `{"responses": {query: [ids, best first]}}`, and all else kept as it is.

An empty list says that no object fits; a query without an entry is not answered yet. Notes and
what was taken over from a suggestion stand beside the responses, under `annotation`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from coterie_core.yaml_checks import shown
from coterie_core.yaml_marks import FileProblem, Problem

_OWN = "annotation"


@dataclass(frozen=True, slots=True)
class Responses:
    """What a file says.

    Attributes:
        answers: Query -> the entry as it stands; lists of ids, but files may hold anything.
        notes: Query -> a note in words.
        suggested: Query -> the ids that were taken over from a suggestion.
        rest: All other fields of the file, and the order of its fields.
        own: Other fields of `annotation`.
    """

    answers: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    suggested: Mapping[str, Any] = field(default_factory=dict)
    rest: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)


def parse_responses(text: str, file: str) -> Responses:
    """Read a file's text; "" is a file that does not exist yet.

    Raises:
        FileProblem: Not JSON, a name stands twice, or the fields are of other kinds; with lines
            where the JSON itself is broken.
    """
    if not text.strip():
        return Responses()

    def refuse(message: str, line: int = 0) -> FileProblem:
        return FileProblem(file, [Problem((), line, message)])

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise refuse(f"{key!r} stands twice; keep one, otherwise one would be lost")
            found[key] = value
        return found

    try:
        data = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise refuse(f"not JSON: {error.msg} (column {error.colno})", error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise refuse(f"not JSON: {str(error) or 'nested too deeply'}") from None
    if not isinstance(data, dict) or not isinstance(data.get("responses"), dict):
        raise refuse("expected {'responses': {query: [ids, best first]}}, got " + _kind(data))
    own = data.get(_OWN, {})
    if not isinstance(own, dict) or not all(
        isinstance(own.get(name, {}), dict) for name in ("notes", "suggested")
    ):
        raise refuse(f"{_OWN}: expected a map with notes and suggested, got {_kind(own)}")
    return Responses(
        answers=data["responses"],
        notes=own.get("notes", {}),
        suggested=own.get("suggested", {}),
        rest={k: (None if k in {"responses", _OWN} else v) for k, v in data.items()},
        own={k: v for k, v in own.items() if k not in {"notes", "suggested"}},
    )


def render_responses(content: Responses, like: str = "") -> str:
    """Return the file's text, laid out like the one it replaces.

    Args:
        content: What it is to say.
        like: The text that stood there.
    """
    own = dict(content.own)
    for name, values in (("notes", content.notes), ("suggested", content.suggested)):
        if values:
            own[name] = dict(values)
    data: dict[str, Any] = {**content.rest}
    data["responses"] = dict(content.answers)
    if own:
        data[_OWN] = own
    else:
        data.pop(_OWN, None)
    found = re.search(r'\n([ \t]+)"', like)
    indent: int | str = found.group(1) if found else (4 if "\n" in like.strip() or not like else 0)
    text = json.dumps(data, indent=indent or None, ensure_ascii=bool(like) and like.isascii())
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, which JSON can spell and UTF-8 cannot
        text = json.dumps(data, indent=indent or None)
    return text + ("\n" if not like or like.endswith("\n") else "")


def answer_of(entry: Any) -> tuple[str, ...] | None:
    """Return an entry as ids, or None if it is no list of ids."""
    if isinstance(entry, list) and all(isinstance(i, str) for i in entry):
        return tuple(entry)
    return None


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        names = ", ".join(repr(str(k))[:40] for k in list(value)[:5])
        return f"a map of {names}" if names else "an empty map"
    return shown(value)
