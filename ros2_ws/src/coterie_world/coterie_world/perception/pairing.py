"""Puts together what belongs to one moment of a camera: depth, detections, colour."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

D = TypeVar("D")
F = TypeVar("F")
C = TypeVar("C")

DEPTH_SILENT = 2.0
"""A camera whose depth image is older than this sends none [s]."""
COLOR_SILENT = 10.0
"""A camera whose colour image is older than this sends none [s]."""


@dataclass(slots=True)
class PairCounts:
    """What became of images and detections: joined, or thrown away alone; repeats of a stamp."""

    pairs: int = 0
    depth_alone: int = 0
    detections_alone: int = 0
    repeats: int = 0


class FramePairs(Generic[D, F, C]):
    """Joins depth images (D) with detections (F) by stamp; colour (C) comes along if it is there.

    Stamps are equal, or as near as `tolerance` allows: then the nearest count, and only once none
    that is nearer can come any more. Each of the three waits in a queue of `limit`; the oldest
    goes first. A stamp that has been joined already is a repeat and is dropped.

    Args:
        tolerance: Largest difference of the stamps [s].
        limit: Most images, and most detections, that wait.
    """

    def __init__(self, tolerance: float = 0.05, limit: int = 10) -> None:
        self._tolerance = tolerance
        self._limit = limit
        self._depth: OrderedDict[float, D] = OrderedDict()
        self._found: OrderedDict[float, F] = OrderedDict()
        self._color: OrderedDict[float, C] = OrderedDict()
        self._last = float("-inf")
        self._newest = float("-inf")
        self._newest_color = float("-inf")
        self.counts = PairCounts()

    def add_color(self, time: float, color: C) -> None:
        """Note a colour image of a moment [s]."""
        self._color[time] = color
        self._newest_color = time
        while len(self._color) > self._limit:
            self._color.popitem(last=False)

    def add_depth(self, time: float, depth: D) -> list[tuple[float, D, F]]:
        """Note a depth image of a moment [s]; return what it completes: (time, depth, found)."""
        self._newest = time
        if self._old(time):
            return []
        self._depth[time] = depth
        while len(self._depth) > self._limit:
            self._depth.popitem(last=False)
            self.counts.depth_alone += 1
        return self._joined()

    def add_detections(self, time: float, found: F) -> list[tuple[float, D, F]]:
        """Note what was found at a moment [s]; return what it completes: (time, depth, found)."""
        if self._old(time):
            return []
        self._found[time] = found
        while len(self._found) > self._limit:
            self._found.popitem(last=False)
            self.counts.detections_alone += 1
        return self._joined()

    def color_at(self, time: float) -> C | None:
        """Return the colour image nearest to a moment [s], None where none is near enough."""
        near = min(self._color, key=lambda t: abs(t - time), default=None)
        if near is None or abs(near - time) > self._tolerance:
            return None
        return self._color[near]

    def expects_color(self, time: float) -> bool:
        """Whether the colour image of a moment [s] is not there, and may come.

        It does not where none came for `COLOR_SILENT`, nor after a later one.
        """
        if self.color_at(time) is not None:
            return False
        return time - COLOR_SILENT <= self._newest_color < time

    def expects(self, time: float) -> bool:
        """Whether the depth image of a moment [s] is there, or may come.

        It does not where none came for `DEPTH_SILENT`, nor where all that wait are later.
        """
        if abs(time - self._newest) > DEPTH_SILENT:
            return False
        return not self._depth or min(self._depth) <= time + self._tolerance

    def restart(self) -> None:
        """Forget all that waits: the camera's clock begins anew."""
        self._depth.clear()
        self._found.clear()
        self._color.clear()
        self._newest_color = self._last = float("-inf")

    def _old(self, time: float) -> bool:
        if time == self._last:
            self.counts.repeats += 1
            return True
        if time < self._last - 10.0:
            self.restart()
        return False

    def _joined(self) -> list[tuple[float, D, F]]:
        out: list[tuple[float, D, F]] = []
        while True:
            pair = self._next()
            if pair is None:
                return out
            depth_time, found_time = pair
            out.append((depth_time, self._depth.pop(depth_time), self._found.pop(found_time)))
            self._last = depth_time
            self.counts.pairs += 1
            # Older ones have missed their chance: streams come in order.
            for waiting, lost in ((self._depth, "depth_alone"), (self._found, "detections_alone")):
                for time in [t for t in waiting if t <= depth_time - self._tolerance]:
                    del waiting[time]
                    setattr(self.counts, lost, getattr(self.counts, lost) + 1)

    def _next(self) -> tuple[float, float] | None:
        for time in self._found:
            if time in self._depth:
                return time, time
        if self._tolerance <= 0.0 or not self._depth:
            return None
        for time in self._found:
            near = min(self._depth, key=lambda t: abs(t - time))
            # One that is nearer may still come unless the images are past the detections' time.
            if abs(near - time) <= self._tolerance and max(self._depth) >= time:
                return near, time
        return None
