"""Checks of incoming messages: what another process sends is data to doubt."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from coterie_core.geometry import Quaternion
from coterie_core.plain_data import shorten

T = TypeVar("T")

_UNUSABLE = re.compile("[\x00\ud800-\udfff]")

# Longest texts and lists that anything in the stack has a use for.
NAME = 200
SENTENCE = 4000
DOCUMENT = 64_000_000
LIST = 10_000

# Positions and lengths beyond this are mistakes of units, not houses [m].
FAR = 1e5


class ConversionError(ValueError):
    """A message cannot be used: says the topic and field, what was expected, what came."""

    def __init__(self, where: str, field: str, expected: str, got: object) -> None:
        self.where, self.field, self.expected = where, field, expected
        self.got = shorten(got, 80)
        text = f"{shorten(where)}, field {shorten(field)}: expected {shorten(expected, 800)}"
        super().__init__(f"{text}, got {self.got}")


class Checks:
    """Reads fields of one message; every mistake becomes a ConversionError that names the field."""

    def __init__(self, where: str, prefix: str = "") -> None:
        self._where = where
        self._prefix = prefix

    def at(self, field: str) -> Checks:
        """Return checks of a part of the message."""
        return Checks(self._where, f"{self._prefix}{field}.")

    def fail(self, field: str, expected: str, got: object) -> ConversionError:
        """Return the error to raise."""
        return ConversionError(self._where, f"{self._prefix}{field}", expected, got)

    def number(
        self, field: str, value: Any, low: float = -math.inf, high: float = math.inf
    ) -> float:
        """Return a finite number within [low, high]."""
        number = float(value)
        if not math.isfinite(number) or not low <= number <= high:
            raise self.fail(field, f"a number {_range(low, high)}", value)
        return number

    def share(self, field: str, value: Any) -> float:
        """Return a number within 0..1; a rounding error of single precision is mended."""
        number = self.number(field, value, -1e-6, 1.0 + 1e-6)
        return min(max(number, 0.0), 1.0)

    def text(self, field: str, value: str, limit: int = NAME, *, empty: bool = True) -> str:
        """Return a text of at most `limit` characters."""
        if len(value) > limit:
            raise self.fail(field, f"at most {limit} characters", f"{len(value)} characters")
        if not value and not empty:
            raise self.fail(field, "a text that is not empty", "''")
        if _UNUSABLE.search(value):
            raise self.fail(field, "a text without NUL and without lone surrogates", value)
        return value

    def rotation(self, field: str, value: Any) -> Quaternion:
        """Return a quaternion (x, y, z, w) of length 1."""
        x, y, z, w = (float(getattr(value, axis)) for axis in "xyzw")
        length = math.hypot(x, y, z, w)  # does not overflow, as squares do
        if not abs(length - 1.0) < 0.01:
            raise self.fail(field, "a quaternion of length 1", f"length {length:g}")
        return (x, y, z, w)

    def items(self, field: str, value: Sequence[T], limit: int = LIST) -> Sequence[T]:
        """Return a list of at most `limit` items."""
        if len(value) > limit:
            raise self.fail(field, f"at most {limit} items", f"{len(value)} items")
        return value

    def choice(self, field: str, value: int, choices: Mapping[int, T]) -> T:
        """Return what an enumerator stands for."""
        if value not in choices:
            known = ", ".join(f"{number} ({name})" for number, name in choices.items())
            raise self.fail(field, f"one of {known}", value)
        return choices[value]


def _range(low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return "that is finite"
    if math.isinf(high):
        return f"of at least {low:g}"
    return f"of at most {high:g}" if math.isinf(low) else f"from {low:g} to {high:g}"
