"""Height map: how high is what a robot saw of late, and where furniture is level enough to bear."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from coterie_core.detections import RgbdFrame
from coterie_core.geometry import Box, Vec3, containment, heading_axes
from coterie_world.perception.points import deprojected
from robot_adapters.sensing.plane import MapPose

Array = npt.NDArray[np.float64]

_FRAMES = 60
"""Images that count, the newest: half a minute, so that what was seen on the way is known."""
_NEAR = 2.5
"""Depth beyond which heights are too rough [m]."""
_POINTS = 8000
"""Points of an image that are kept, at most."""
_CELL = 0.04
"""Edge of the cells that have one height [m]."""
_MOST_CELLS = 150
"""Cells along a side of what is looked over, at most: 6 m."""
_LEVEL = 0.04
"""Heights under a thing may differ so far [m]."""
_KNOWN = 0.8
"""Share of the cells under a thing whose height must have been seen."""
_SPARE = 0.04
"""Hands err so far: a thing had better have as much level room around it [m]."""
_SHORT = 0.02
"""Things are so much longer than they look, from the middle on [m]."""
_NARROW = 0.6
"""A spot without that counts as if it were so much farther away [m]."""
_LOW = 0.15
"""Lower parts of furniture are feet, or the floor beside it [m]."""
_AS_EXPECTED = 0.1
"""A height so near to the expected one is the surface that was meant [m]."""
_OTHER_SURFACE = 2.0
"""A spot on another surface than was meant counts as if it were so much farther away [m]."""

_TAKEN = 0.15
"""So far around what the hand has taken other heights are seen now [m]."""
_OTHERS = 1.0
"""A spot in another one's box as well counts as if it were so much farther away [m]."""
_BEYOND = 0.3
"""A spot so much farther from the robot than the one that was meant is out of its reach [m]."""
_BELOW_EYE = 0.2
"""A surface so much lower than a camera can be looked at from above [m]."""
_FEW = 30
"""Fewer points than this do not tell where something begins."""
_BEGINS = 90.0
"""Percentile of the points, from behind, at which it does: bars and knobs stand out."""
_FARTHER = 3.0
"""A spot farther from the robot than the one that was meant counts as so much farther from that."""


@dataclass(frozen=True, slots=True)
class LevelSpot:
    """Where furniture would bear a thing: the middle of its foot [m]; whether a hand gets there."""

    point: Vec3
    reached: bool


class HeightMap:
    """Heights that one robot's depth cameras showed of late, in its map.

    One thread may add while another one asks.
    """

    def __init__(self) -> None:
        self._frames: deque[tuple[float, Array]] = deque(maxlen=_FRAMES)
        self._eye = -math.inf

    def overlooks(self, height: float) -> bool:
        """Whether the depth cameras are high enough to look down on what is so high [m]."""
        return height <= self._eye - _BELOW_EYE

    def add(self, frame: RgbdFrame, held: tuple[Vec3, float] | None = None) -> None:
        """Take what an image shows from near by.

        Args:
            frame: The image.
            held: Middle and radius [m] of what the robot's own hand holds. Below and above it
                nothing counts: what is next to it would look lower than it is.
        """
        depth = frame.depth
        self._eye = float(frame.camera_to_map[2, 3])
        v, u = np.nonzero((depth > 0.0) & (depth <= _NEAR))  # False for NaN
        if not len(v):
            return
        step = -(-len(v) // _POINTS)
        v, u = v[::step], u[::step]
        local = deprojected(u, v, depth[v, u], frame.intrinsics)
        points = local @ frame.camera_to_map[:3, :3].T + frame.camera_to_map[:3, 3]
        if held is not None:
            points = points[np.hypot(*(points[:, :2] - held[0][:2]).T) > held[1]]
        self._frames.append((frame.time, points))

    def forget(self, before: float = np.inf) -> None:
        """Drop images from before a time [s]."""
        while self._frames and self._frames[0][0] < before:
            self._frames.popleft()

    def clear(self, point: Vec3) -> None:
        """Forget what was seen around a point [m]: the hand has taken something away from there."""
        frames = [
            (time, points[np.hypot(*(points[:, :2] - point[:2]).T) > _TAKEN])
            for time, points in self._frames
        ]
        self._frames = deque(frames, maxlen=_FRAMES)

    def level_spot(
        self,
        point: Vec3,
        box: Box,
        radius: float,
        robot: Vec3,
        others: Sequence[Box] = (),
        *,
        not_on: Sequence[Box] = (),
        reach: float = math.inf,
        at_its_height: bool = False,
    ) -> LevelSpot | None:
        """Return the spot of furniture nearest to a point that would bear a thing.

        There all that was seen under the thing is of one height. Where boxes of furniture are too
        large, or bear things on a part of them only, this tells what the box does not.

        Args:
            point: Where the thing is to stand [m]; a spot at about its height goes before others.
            box: The furniture.
            radius: Of the thing, about [m].
            robot: Where the robot stands [m]; farther than the point its hand may not get.
            others: Other furniture: what lies in its boxes as well is its rather than of this one.
            not_on: Around surfaces of other furniture: what is level in these bears nothing.
            reach: How far from there the hand gets, at most [m].
            at_its_height: Whether other surfaces than the one at the point's height bear nothing.

        Returns:
            The middle of the thing's foot, at the height that was seen [m], the nearest one out of
            reach where no other is known; None: none is known.
        """
        (x0, y0, _), (x1, y1, _) = box.axis_aligned()
        low = np.array([x0, y0]) - radius
        cells = np.ceil((np.array([x1, y1]) + radius - low) / _CELL).astype(int)
        if cells.max() > _MOST_CELLS:
            return None
        heights = self._heights(low, (int(cells[0]), int(cells[1])), box)
        bears = heights >= box.bottom + min(_LOW, box.size[2] / 2.0)
        if at_its_height:
            bears &= np.abs(heights - point[2]) <= _AS_EXPECTED
        if not_on:
            i, j = np.nonzero(bears)
            cells_at = low + (np.stack([i, j], axis=1) + 0.5) * _CELL
            at = np.column_stack([cells_at, heights[i, j]])
            bears[i, j] = ~containment(not_on, at).any(axis=1)
        roomy = _level(heights, radius + _SPARE)
        # Things are larger than they look from one side; what is narrower bears if nothing else is.
        for spare in (0.0,) if at_its_height else (_SHORT, 0.0):
            i, j = np.nonzero(_level(heights, radius + spare) & bears)
            spots = low + (np.stack([i, j], axis=1) + 0.5) * _CELL
            middles = np.column_stack([spots, np.full(len(spots), box.center[2])])
            inside = containment([box], middles)[:, 0]
            if not inside.any():
                continue
            i, j, spots, middles = i[inside], j[inside], spots[inside], middles[inside]
            off = np.hypot(*(spots - robot[:2]).T)
            farther = off - math.dist(point[:2], robot[:2])
            within = (farther <= _BEYOND) & (off <= reach)
            other_height = np.abs(heights[i, j] - point[2]) > _AS_EXPECTED
            others_too = containment(others, middles).any(axis=1)
            # Nobody is sent to what may be a stool beside a table.
            usable = within if within.any() else ~(other_height | others_too)
            if not usable.any():
                continue
            away = np.hypot(*(spots - point[:2]).T) + _FARTHER * farther.clip(0.0)
            away += _OTHER_SURFACE * other_height + _OTHERS * others_too
            if not at_its_height:  # what bears at its top alone, as a tank does, is narrow
                away += _NARROW * ~roomy[i, j]
            best = int(np.where(usable, away, math.inf).argmin())
            x, y = spots[best].tolist()
            return LevelSpot((x, y, float(heights[i[best], j[best]])), bool(within[best]))
        return None

    def height(self, point: Vec3, box: Box, radius: float) -> float | None:
        """Return how high furniture was seen to be around a point [m]; None: it was not seen."""
        cells = 2 * int(np.ceil(radius / _CELL)) + 1
        low = np.array(point[:2]) - cells * _CELL / 2.0
        heights = self._heights(low, (cells, cells), box)
        known = np.isfinite(heights)
        return float(np.median(heights[known])) if known.mean() >= _KNOWN else None

    def top(self, box: Box) -> float | None:
        """Return the height of the highest that was seen in a box's footprint [m].

        None: too little of it was seen.
        """
        (x0, y0, _), (x1, y1, _) = box.axis_aligned()
        cells = np.ceil((np.array([x1, y1]) - (x0, y0)) / _CELL).astype(int)
        if cells.max() > _MOST_CELLS:
            return None
        heights = self._heights(np.array([x0, y0]), (int(cells[0]), int(cells[1])), box)
        known = np.isfinite(heights)
        return float(heights[known].max()) if known.mean() >= _KNOWN else None

    def begins(self, corridor: Box) -> float | None:
        """Return where what stands in a box begins, seen from the way that the box heads.

        Returns:
            From the middle of the box, along its heading [m]. None: too little of it was seen.
        """
        seen = [points[containment([corridor], points)[:, 0]] for _, points in list(self._frames)]
        points = np.concatenate([np.zeros((0, 3)), *seen])
        if len(points) < _FEW:
            return None
        along = (points - corridor.center) @ heading_axes(corridor.yaw)[:, 0]
        return float(np.percentile(along, _BEGINS))

    def _heights(self, low: Array, cells: tuple[int, int], box: Box) -> Array:
        """Heights of cells: the highest point of an image, the median over images; NaN: unseen."""
        tops = []
        for _, points in list(self._frames):
            near = (points[:, 2] > box.bottom - _LOW) & (points[:, 2] < box.top + _LOW)
            at = np.floor((points[near, :2] - low) / _CELL).astype(int)
            inside = ((at >= 0) & (at < cells)).all(axis=1)
            top = np.full(cells, -np.inf)
            np.maximum.at(top, tuple(at[inside].T), points[near, 2][inside])
            tops.append(np.where(np.isfinite(top), top, np.nan))
        if not tops:
            return np.full(cells, np.nan)
        stack = np.stack(tops)
        seen = np.isfinite(stack).any(axis=0)
        out = np.full(cells, np.nan)
        out[seen] = np.nanmedian(stack[:, seen], axis=0)
        return out


@dataclass(frozen=True, slots=True)
class TeamHeightMap:
    """The heights that a robot saw, in the team's map.

    Attributes:
        height_map: In the robot's map.
        map_pose: Where that lies in the team's.
        robot: Where the robot stands, team's map [m].
    """

    height_map: HeightMap
    map_pose: MapPose
    robot: Vec3

    def level_spot(
        self,
        point: Vec3,
        box: Box,
        radius: float,
        others: Sequence[Box] = (),
        *,
        not_on: Sequence[Box] = (),
        reach: float = math.inf,
        at_its_height: bool = False,
    ) -> LevelSpot | None:
        """Return the spot of furniture nearest to a point that bears a thing; see `HeightMap`."""
        own = self.map_pose.to_robot
        spot = self.height_map.level_spot(
            own(point),
            self.map_pose.box_to_robot(box),
            radius,
            own(self.robot),
            [self.map_pose.box_to_robot(other) for other in others],
            not_on=[self.map_pose.box_to_robot(other) for other in not_on],
            reach=reach,
            at_its_height=at_its_height,
        )
        return None if spot is None else replace(spot, point=self.map_pose.to_team(spot.point))

    def height(self, point: Vec3, box: Box, radius: float) -> float | None:
        """Return how high furniture was seen to be around a point [m]; None: it was not seen."""
        own = self.map_pose.to_robot(point)
        seen = self.height_map.height(own, self.map_pose.box_to_robot(box), radius)
        return None if seen is None else self.map_pose.to_team((*own[:2], seen))[2]

    def top(self, box: Box) -> float | None:
        """Return the height of the highest seen in a box's footprint [m]; see `HeightMap`."""
        seen = self.height_map.top(self.map_pose.box_to_robot(box))
        here = self.map_pose.to_robot(box.center)
        return None if seen is None else self.map_pose.to_team((*here[:2], seen))[2]

    def begins(self, corridor: Box) -> float | None:
        """Return where what stands in a box begins along its heading [m]; see `HeightMap`."""
        return self.height_map.begins(self.map_pose.box_to_robot(corridor))

    def overlooks(self, height: float) -> bool:
        """Whether a depth camera can look down on what is so high [m]."""
        return self.height_map.overlooks(self.map_pose.to_robot((*self.robot[:2], height))[2])


def _level(heights: Array, radius: float) -> npt.NDArray[np.bool_]:
    """Tell of which cells all that is known within a radius [m] is of one height."""
    known = np.isfinite(heights)
    around = int(np.ceil(radius / _CELL))
    span = np.arange(-around, around + 1) * _CELL
    foot = np.hypot(span[:, None], span[None, :]) <= radius + _CELL / 2.0
    highest = ndimage.maximum_filter(np.where(known, heights, -np.inf), footprint=foot)
    lowest = ndimage.minimum_filter(np.where(known, heights, np.inf), footprint=foot)
    share = ndimage.convolve(known.astype(float), foot / foot.sum(), mode="constant")
    with np.errstate(invalid="ignore"):  # nothing is known around
        out: npt.NDArray[np.bool_] = known & (share >= _KNOWN) & (highest - lowest <= _LEVEL)
    return out
