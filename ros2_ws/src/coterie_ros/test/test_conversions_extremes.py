"""Every conversion from a message refuses extreme values with its own error, in a short text."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from coterie_ros import conversions as cv
from coterie_ros.conversions import ConversionError

READERS = sorted(
    name for name in dir(cv) if name.endswith("_from_msg") and callable(getattr(cv, name))
)
NUMBERS = (1e308, -1e308, 1e300, float("nan"), float("inf"), 1e38, 2**31 - 1, -(2**31), 255, -1)
TEXTS = ("\0", "a\ud800", "x" * 100_000, "{", "[" * 9000, '{"a": 1e999}')


def message_type(reader: Callable[..., Any]) -> Any:
    """Type of the message that a conversion takes."""
    first = next(iter(inspect.signature(reader).parameters.values())).name
    kind = typing.get_type_hints(reader).get(first)
    return kind if hasattr(kind, "get_fields_and_field_types") else None


def filled(kind: Any, depth: int = 0) -> Any:
    """A message of a type, with one item in each of its lists."""
    message = kind()
    for field, text in kind.get_fields_and_field_types().items():
        if text.startswith("sequence<") and depth < 4:
            inner = text.removeprefix("sequence<").rstrip(">").split(",")[0].strip()
            value = _item(kind, field, inner, depth)
            if value is not None:
                setattr(message, field, [value])
    return message


def _item(kind: Any, field: str, name: str, depth: int) -> Any:
    if name.startswith("string"):
        return "a"
    if "/" not in name:
        return 1.0 if name in ("float", "double") else 1
    package, _, word = name.partition("/")
    module = __import__(f"{package}.msg", fromlist=[word])
    return filled(getattr(module, word), depth + 1)


def leaves(message: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, str, Any]]:
    """All (owner, field, value) of a message that hold a number or a text."""
    for field in message.get_fields_and_field_types():
        value = getattr(message, field)
        if hasattr(value, "get_fields_and_field_types"):
            yield from leaves(value, (*path, field))
        elif isinstance(value, (int, float, str)):
            yield message, field, value
        elif isinstance(value, list):
            for item in value:
                if hasattr(item, "get_fields_and_field_types"):
                    yield from leaves(item, (*path, field))


@pytest.mark.parametrize("name", READERS)
def test_extreme_values_are_refused_in_one_line(name: str) -> None:
    reader = getattr(cv, name)
    kind = message_type(reader)
    if kind is None:
        pytest.skip("takes no single message")
    parameters = list(inspect.signature(reader).parameters.values())[1:]
    more = [
        cv.Checks("topic") if p.name == "checks" else "topic"
        for p in parameters
        if p.default is inspect.Parameter.empty
    ]
    count = 0
    base = filled(kind)
    for owner, field, value in list(leaves(base)):
        if not type(owner).get_fields_and_field_types()[field].startswith(("string", "wstring")):
            choices: tuple[Any, ...] = NUMBERS
        else:
            choices = TEXTS
        for extreme in choices:
            try:
                setattr(owner, field, type(value)(extreme))
            except (AssertionError, ValueError, OverflowError):
                continue  # the field's type cannot hold it
            count += 1
            try:
                reader(base, *more)
            except ConversionError as error:
                assert len(str(error)) <= 2000 and "\n" not in str(error)
                str(error).encode()
        setattr(owner, field, value)
    assert count or not list(leaves(base))
