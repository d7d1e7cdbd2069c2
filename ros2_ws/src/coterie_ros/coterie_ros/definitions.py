"""Messages by the name of their type: their classes, and their definitions as in MCAP files."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Any

_LINE = "=" * 80
_BASE = {"boolean": "bool", "octet": "byte", "float": "float32", "double": "float64"}
_PRIMITIVE = re.compile(r"(?:u?int(?:8|16|32|64)|float32|float64|bool|byte|char|w?string)\b")


class UnknownType(ValueError):
    """A type of messages is not installed here."""


@cache
def message_class(kind: str) -> Any:
    """Return the class of a type such as `std_msgs/msg/String`.

    Raises:
        UnknownType: It is not installed.
    """
    try:
        package, folder, name = kind.split("/")
        if folder != "msg":
            raise ValueError
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError, ValueError):
        raise UnknownType(f"messages of type {kind} are not installed here") from None


@cache
def definition_of(kind: str) -> str:
    """Return the definition of a type with those of its parts; constants are left out.

    Raises:
        UnknownType: It, or a part of it, is not installed.
    """
    package, _, name = kind.split("/")
    text, parts = _fields(f"{package}/{name}")
    done, todo = {f"{package}/{name}"}, list(parts)
    while todo:
        part = todo.pop(0)
        if part in done:
            continue
        done.add(part)
        lines, more = _fields(part)
        text += f"\n{_LINE}\nMSG: {part}\n{lines}"
        todo += more
    return text


def _fields(short: str) -> tuple[str, list[str]]:
    package, name = short.split("/")
    fields = message_class(f"{package}/msg/{name}").get_fields_and_field_types()
    lines, parts = [], []
    for field, spelled in fields.items():
        if field == "structure_needs_at_least_one_member":  # of an empty message
            continue
        kind = _as_msg(spelled)
        lines.append(f"{kind} {field}")
        if not _PRIMITIVE.match(kind):
            parts.append(kind.split("[")[0])
    return "\n".join(lines), parts


def _as_msg(spelled: str) -> str:
    """Return a type as .msg files spell it, from how generated classes do."""
    sequence = re.fullmatch(r"sequence<(.+?)(?:, (\d+))?>", spelled)
    if sequence:
        return f"{_as_msg(sequence[1])}[{f'<={sequence[2]}' if sequence[2] else ''}]"
    array = re.fullmatch(r"(.+)\[(\d+)\]", spelled)
    if array:
        return f"{_as_msg(array[1])}[{array[2]}]"
    bounded = re.fullmatch(r"(w?string)<(\d+)>", spelled)
    if bounded:
        return f"{bounded[1]}<={bounded[2]}"
    return _BASE.get(spelled, spelled)
