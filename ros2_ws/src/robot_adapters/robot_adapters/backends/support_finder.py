"""Where furniture bears what a hand puts down: by the map, and by what the robot saw of it."""

from __future__ import annotations

import math

import numpy as np

from coterie_core.geometry import Box, Vec3
from coterie_core.skills import Outcome, Target
from coterie_world.association import TARGET
from coterie_world.surfaces import between_arms, hollow_bottom, usual_surfaces
from robot_adapters.backends.base import Whereabouts
from robot_adapters.backends.goals import Ended

EDGE = 0.06
"""Edge of a thing whose size nobody knows [m]."""
CLEARANCE = 0.02
"""Height above a surface at which things are let go [m]."""
_BESIDE = 0.3
"""A point so near to the box of furniture means that: boxes of two maps differ [m]."""
_STEP_IN = 0.07
"""The bottom of a tub or a basin is told from the floor and from its rim by so much [m]."""
_STANDS = 0.4
"""What rises to no more than this share of a hollow thing's height is not that thing."""
_RIM_STEP = 0.04
"""Steps on the way to a point at which the rim before it is looked for [m]."""
_STEP = 0.1
"""Furniture seen so much higher or lower than expected is not put on by guess [m]."""


def known_object(where: Whereabouts, target: Target) -> tuple[str, Box] | None:
    """Return id and box of the thing meant, in the team's map; None where none is known.

    It is the one of that id, else the nearest one of that label that is there.
    """
    alike = [
        (name != target.instance, math.dist(box.center, target.position), name, box)
        for name, label, box in where.objects(math.inf)
        if label == target.label
    ]
    x, y, _ = target.position
    there = [
        one
        for one in alike
        if one[1] <= TARGET.distance_m or one[3].contains((x, y, one[3].center[2]), _BESIDE)
    ]
    return min(there, key=lambda one: one[:3])[2:] if there else None


def known_box(where: Whereabouts, target: Target) -> Box | None:
    """Return the box of the thing meant, in the team's map; None where none is known."""
    known = known_object(where, target)
    return known[1] if known is not None else None


def _out_of_reach(label: str, at: Vec3) -> Ended:
    x, y, z = at
    return Ended(
        Outcome.OUT_OF_REACH,
        f"the {label} is level at ({x:.2f}, {y:.2f}), {z:.2f} m high, and nowhere that the hand "
        "gets to from here: go nearer to that",
        at,
    )


class SupportFinder:
    """Finds out where a hand lets go of what it holds.

    Args:
        where: Where the robot and things are, and what it saw of them.
        reach: How far from the base's axis the hand gets, at most [m].
    """

    def __init__(self, where: Whereabouts, reach: float) -> None:
        self._where, self._reach = where, reach

    def point(self, receptacle: Target, held: Box | None) -> Vec3:
        """Return the point of a receptacle that is to bear what the hand holds, team's map [m].

        Args:
            receptacle: What it is put onto or into.
            held: The box of what the hand holds; None: its size is not known.

        Raises:
            Ended: What the robot sees there bears nothing, or it could see it and has not; or what
                bears it is out of reach, and where that is.
        """
        known, label = known_object(self._where, receptacle), receptacle.label
        x, y, z = receptacle.position
        radius = max(held.size[:2] if held is not None else (EDGE,)) / 2.0
        if known is None:
            if z > _STEP:
                around = Box((x, y, z / 2.0), (2.0 * radius, 2.0 * radius, z))
                self._check_height(label, (x, y, z), around, radius)
            return x, y, z
        surfaces = [one.surface for one in self._where.surfaces(known[0])]
        bottom = hollow_bottom(label, known[1])
        if bottom is not None and not surfaces:
            return self._inside(label, (x, y, z), known[1], bottom, radius)
        # Of what no camera has looked down on, its kind tells where it usually carries things.
        floor = self._where.pose().position[2]
        levels = surfaces or usual_surfaces(label, known[1], held, floor)
        level = min(levels, key=lambda one: _off(one, (x, y, z)))
        z, column = level.center[2], between_arms(label, known[1])
        if surfaces or len(levels) > 1:  # boards: what is higher is another one
            column = _under(level, known[1].bottom)
        # What the robot sees itself counts more than the map, which may be too large.
        spot = self._where.height_map.level_spot(
            (x, y, z), column, radius, reach=self._reach, at_its_height=bool(surfaces)
        )
        if spot is not None:
            if spot.reached:
                return spot.point
            raise _out_of_reach(label, spot.point)
        self._check_height(label, (x, y, z), known[1], radius)
        return x, y, z

    def _inside(self, label: str, point: Vec3, box: Box, bottom: float, radius: float) -> Vec3:
        """Return where to let go of what goes into a hollow thing: over its bottom [m].

        Its box may be too large. Where the robot sees the floor, the rim or nothing at the point,
        and the bottom elsewhere, it is there. What its own rim hides is within it. Of baskets,
        whose bottom is the floor's height, only the box is known, and that something stands there.

        Args:
            label: What it is.
            point: Where the thing is meant to go.
            box: Of the hollow thing.
            bottom: Height at which its bottom is expected [m].
            radius: Of what the hand holds [m].

        Raises:
            Ended: Nothing stands there; or the floor is there, or it could look there and has not,
                and the bottom is not in view; or that is out of reach, and where.
        """
        height_map, floor = self._where.height_map, self._where.pose().position[2]
        top = height_map.top(box)
        if top is not None and top - floor < _STANDS * (box.top - floor):
            raise Ended(
                Outcome.NOT_VISIBLE,
                f"nothing stands where the {label} was expected at ({point[0]:.2f}, "
                f"{point[1]:.2f}); look at it from another side",
            )
        seen = height_map.height(point, box, EDGE / 2.0)
        if bottom - floor < _STEP_IN or (seen is not None and abs(seen - bottom) < _STEP_IN):
            return point
        x, y, z = point
        low = bottom - 2.0 * _STEP
        deeper = Box(
            (*box.center[:2], (low + box.top) / 2.0), (*box.size[:2], box.top - low), box.yaw
        )
        spot = height_map.level_spot(
            (x, y, bottom), deeper, radius, reach=self._reach, at_its_height=True
        )
        if spot is not None and abs(spot.point[2] - bottom) >= _STEP_IN:
            spot = None
        if spot is not None and spot.reached:
            return (*spot.point[:2], z)
        if seen is None and self._behind_rim(point, box, bottom):
            return point
        if spot is not None:
            raise _out_of_reach(label, spot.point)
        if height_map.overlooks(bottom) if seen is None else seen - floor < _STEP_IN:
            there = "nothing" if seen is None else "the floor"
            raise Ended(
                Outcome.NOT_VISIBLE,
                f"{there} is in view where the {label} was expected, and the bottom of that is "
                "not; look at it from another side",
            )
        return point

    def _behind_rim(self, point: Vec3, box: Box, bottom: float) -> bool:
        """Tell whether a rim was seen between the robot and a point [m]: it hides what is there."""
        here = self._where.pose().position
        steps = np.arange(0.0, 1.0, _RIM_STEP / max(math.dist(here[:2], point[:2]), _RIM_STEP))
        between = [
            (here[0] + k * (point[0] - here[0]), here[1] + k * (point[1] - here[1]), bottom)
            for k in steps.tolist()
        ]
        heights = [
            self._where.height_map.height(one, box, 0.0) for one in between if box.contains(one)
        ]
        return any(high is not None and high > bottom + _STEP for high in heights)

    def _check_height(self, label: str, point: Vec3, box: Box, radius: float) -> None:
        """Check that furniture is seen to be about as high as a point [m] on it.

        Raises:
            Ended: It is not: what is let go there would fall, or be pressed down. Or the robot can
                look down on it, and has not seen it of late.
        """
        height_map = self._where.height_map
        seen = height_map.height(point, box, radius)
        if seen is None and height_map.overlooks(point[2]):
            raise Ended(
                Outcome.NOT_VISIBLE,
                f"what of the {label} is to bear it was not in view from here, {point[2]:.2f} m "
                "high; look at it from another side",
            )
        if seen is not None and abs(seen - point[2]) > _STEP:
            raise Ended(
                Outcome.NOT_VISIBLE,
                f"no level spot of the {label} is in view from here: it is {seen:.2f} m high where "
                f"{point[2]:.2f} m were expected; look at it from another side",
            )


def _off(surface: Box, point: Vec3) -> float:
    """Return how far a point is from a surface [m]."""
    x, y, z = surface.center
    return Box((x, y, z), (*surface.size[:2], 0.0), surface.yaw).distance(point)


def _under(surface: Box, bottom: float) -> Box:
    """Return the column from a height [m] up to a little above a surface."""
    x, y, z = surface.center
    top = z + _STEP
    return Box((x, y, (bottom + top) / 2.0), (*surface.size[:2], top - bottom), surface.yaw)
