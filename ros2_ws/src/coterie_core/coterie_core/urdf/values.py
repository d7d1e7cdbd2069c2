"""Numbers of a URDF: finite, as many as expected, or an error that names the element."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

from coterie_core.urdf.errors import UrdfError


def number(element: ET.Element | None, key: str, where: str, default: float) -> float:
    """Return an attribute as a number, `default` where it is absent.

    Raises:
        UrdfError: Not a finite number; `where` names the element.
    """
    text = element.get(key) if element is not None else None
    return default if text is None else vector(text, 1, f"{where} {key}")[0]


def vector(text: str, count: int, where: str) -> list[float]:
    """Return `count` numbers of a text.

    Raises:
        UrdfError: Others, or not finite; `where` names the element.
    """
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != count or not all(math.isfinite(value) for value in values):
        what = "a finite number" if count == 1 else f"{count} finite numbers"
        raise UrdfError(
            f"expected {what}, not {text[:60]!r}", element=where, remedy="correct the value"
        )
    return values


def three(values: list[float]) -> tuple[float, float, float]:
    """Return three numbers as a tuple."""
    return values[0], values[1], values[2]


def joined(values: list[float]) -> str:
    """Return numbers as text that reads back as the same numbers."""
    return " ".join(repr(value) for value in values)
