"""Where a hand grips a thing, and from which directions it comes; base frame, metres."""

from __future__ import annotations

import math
from collections.abc import Iterator

from coterie_core.geometry import Vec3

DOWN: Vec3 = (0.0, 0.0, -1.0)
"""From above."""
_SIDES = ((0.0, 0.0), (0.0, 45.0), (45.0, 45.0), (-45.0, 45.0), (60.0, 0.0), (-60.0, 0.0))
"""Ways to a thing beside that from above: turned from straight ahead, and down [degrees]."""
_RIM = 0.02
"""So much of a thing is between the fingers at least [m]; and so much short of its reach is a hand
sure to get."""


def ways(ahead: float) -> Iterator[Vec3]:
    """Return directions in which a hand may come to a thing, the usual ones first.

    Args:
        ahead: Direction of the thing from the robot [rad].
    """
    yield DOWN
    for turn, drop in _SIDES:
        a, d = ahead + math.radians(turn), math.radians(drop)
        yield (math.cos(a) * math.cos(d), math.sin(a) * math.cos(d), -math.sin(d))


def grip_point(middle: Vec3, size: Vec3, reach: float) -> Vec3:
    """Return where a hand grips a thing: at its middle, or at its rim where that is too far.

    Args:
        middle: Of the thing [m].
        size: Of its box [m].
        reach: How far from the base's axis the hand gets [m].
    """
    x, y, z = middle
    far = math.hypot(x, y)
    short = min(far - reach + _RIM, min(size[:2]) / 2.0 - _RIM)
    if short <= 0.0 or far == 0.0:
        return middle
    return (x * (1.0 - short / far), y * (1.0 - short / far), z)
