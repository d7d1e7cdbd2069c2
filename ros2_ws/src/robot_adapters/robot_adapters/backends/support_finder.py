"""Where furniture bears what a hand puts down: by the map, and by what the robot saw of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from coterie_core.geometry import Box, Vec3, iou
from coterie_core.household import load_household
from coterie_core.skills import Outcome, Target
from coterie_world.association import TARGET
from coterie_world.sightings import is_solid
from coterie_world.surfaces import (
    between_arms,
    hollow_bottom,
    is_seat,
    least_top,
    usual_tops,
)
from robot_adapters.backends.base import Whereabouts, below
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
        category = load_household().category(label)
        radius = max(held.size[:2] if held is not None else (EDGE,)) / 2.0
        if known is None:
            if z > _STEP:
                around = Box((x, y, z / 2.0), (2.0 * radius, 2.0 * radius, z))
                self._check_height(label, (x, y, z), around, radius)
            return x, y, z
        surface = known[1]
        surfaces = [one.surface for one in self._where.surfaces(known[0])]
        if surfaces and hollow_bottom(label, surface) is None:
            return self._on_surface(label, (x, y, z), surfaces, surface, radius)
        floor = self._where.pose().position[2]
        row, apart = self._beside(label, surface)
        # A point of its box means what carries things there; a shelf has several boards.
        tops = usual_tops(label, surface, floor)
        if category is not None and category.boards:
            surface = below(surface, z - CLEARANCE)
        elif surface.bottom - CLEARANCE <= z <= (surface.top if is_seat(label) else tops[0]):
            z = min(tops, key=lambda top: abs(top - z))
        bottom = hollow_bottom(label, surface)
        if bottom is not None:
            return self._inside(label, (x, y, z), surface, bottom, radius)
        # What was seen counts more than the box, which may be too large or mostly air.
        middle = between_arms(label, surface)
        spot = self._where.height_map.level_spot(
            (x, y, z),
            middle,
            radius,
            row,
            not_on=[around for _, around in apart],
            reach=self._reach,
        )
        lowest = floor + least_top(label)
        if spot is not None and spot.point[2] >= lowest:
            if spot.reached:
                return spot.point
            raise _out_of_reach(label, spot.point)
        for other, around in apart:
            if around.contains((x, y, z)):
                raise Ended(
                    Outcome.NOT_VISIBLE,
                    f"the {other} is level where the {label} was expected at ({x:.2f}, {y:.2f}), "
                    f"{z:.2f} m high; look at the {label} from another side",
                )
        self._check_height(label, (x, y, z), surface, radius)
        return x, y, z

    def _on_surface(
        self, label: str, point: Vec3, surfaces: Sequence[Box], box: Box, radius: float
    ) -> Vec3:
        """Return the point of the nearest surface of the map that bears a thing [m].

        Args:
            label: What it is.
            point: Where the thing is meant to go.
            surfaces: Those that the map has.
            box: Of the furniture.
            radius: Of what the hand holds [m].

        Raises:
            Ended: As for `point`.
        """
        level = min(surfaces, key=lambda one: one.distance(point))
        x, y, z = (*point[:2], level.center[2])
        top = z + _STEP
        middle = (*level.center[:2], (box.bottom + top) / 2.0)
        column = Box(middle, (*level.size[:2], top - box.bottom), level.yaw)
        spot = self._where.height_map.level_spot(
            (x, y, z), column, radius, reach=self._reach, at_its_height=True
        )
        if spot is None:
            self._check_height(label, (x, y, z), column, radius)
            return x, y, z
        if not spot.reached:
            raise _out_of_reach(label, spot.point)
        return spot.point

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

    def _beside(self, label: str, surface: Box) -> tuple[list[Box], list[tuple[str, Box]]]:
        """Return other furniture whose boxes reach into that of a piece.

        Returns:
            What forms one row of one height with it: cameras part such rows by what they are called
            only. And around the surfaces of what does not, a sofa before a shelf or a coffee table
            before a sofa: with its label.
        """
        floor = self._where.pose().position[2]
        own = usual_tops(label, surface, floor)[0]
        row, apart = [], []
        for _, other, box in self._where.objects(math.inf):
            if other == label or not is_solid(other) or iou(box, surface) <= 0.0:
                continue
            tops = usual_tops(other, box, floor)
            if not is_seat(other):
                # Its box ends above what stands on it; most of what is seen of it is its top.
                seen = self._where.height_map.height(box.center, box, min(box.size[:2]) / 2.0)
                tops = tops if seen is None else (seen,)
            if abs(tops[0] - own) < _STEP and not (is_seat(label) or is_seat(other)):
                row.append(box)
                continue
            x, y, _ = box.center
            size = (*box.size[:2], 2.0 * _STEP)
            apart += [(other, Box((x, y, top), size, box.yaw)) for top in tops]
        return row, apart
