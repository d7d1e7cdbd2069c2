"""Leaving: the way out of where a robot must not be, for one that stands there already."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from coterie_core.geometry import Vec3

_FREE_RADIUS_M = 0.5
"""Distance from the start within which a robot may move about, whatever limit it broke there
[m]."""
_DETOUR_FACTOR = 4.0
"""Distance that it may get beyond that, as a multiple of the distance to the nearest way out."""
_SLACK_M = 0.1
"""Growth of the distance to the nearest way out that is let pass: poses are noisy [m]."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A limit that a position breaks.

    Attributes:
        where: The limit's place in the team file.
        text: Sentence on what is wrong, as refusals say it.
        away: Distance to the nearest position that keeps the limit [m]; inf: nobody knows it.
    """

    where: str
    text: str
    away: float = math.inf


class Leaving:
    """Follows a robot, or a path, that may begin where it must not be.

    A limit that is broken at the first position is forgiven, each for itself: until it is kept for
    the first time, and only while the robot comes nearer to where it is kept, apart from the first
    half metre. All other limits hold at once.
    """

    def __init__(self) -> None:
        self._begin: Vec3 | None = None
        self._open: dict[str, tuple[float, float]] = {}

    @property
    def open(self) -> bool:
        """Whether a limit that was broken at the beginning has not been kept since."""
        return bool(self._open)

    def trouble(self, here: Vec3, breaches: Sequence[Breach]) -> str:
        """Return why the robot must not be here, the next position on its way; "": it may.

        Args:
            here: The position [m], map frame.
            breaches: The limits that it breaks.
        """
        if self._begin is None:
            self._begin = here
            self._open = {one.where: (one.away, one.away) for one in breaches}
        driven = math.dist(here, self._begin)
        still: dict[str, tuple[float, float]] = {}
        wrong = ""
        for one in breaches:
            first, least = self._open.get(one.where, (-1.0, -1.0))
            leaves = (
                one.away <= least + _SLACK_M and driven <= _FREE_RADIUS_M + _DETOUR_FACTOR * first
            )
            if first >= 0.0 and (driven <= _FREE_RADIUS_M or (leaves and math.isfinite(first))):
                still[one.where] = (first, min(least, one.away))
            else:
                wrong = wrong or one.text
        self._open = still
        return wrong
