"""Making way as an EMOS robot does: which way it asks for, and where it goes, by its tools."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from coterie_core.free_space.aside import spot_aside
from coterie_core.free_space.free_cells import FreeCells
from coterie_core.geometry import Vec3
from coterie_core.making_way import WayRequest
from coterie_core.skills import NavigateTo
from emos_planner.geometry.floorplan import CELL
from emos_planner.geometry.toolbox import Toolbox

ASIDE = "aside"
"""Id of the option to go aside."""


def wanted_way(tools: Toolbox, robot: str, skill: NavigateTo, here: Vec3) -> Sequence[Vec3] | None:
    """Return the way that a drive wanted to take [m]; None: where it led is not known.

    Args:
        tools: What the robot knows.
        robot: Its name.
        skill: The drive.
        here: Where it stands now [m].
    """
    place = tools.scene.places.get(skill.place)
    goal = place.position if place is not None else skill.position
    return None if goal is None else tools.way(robot, here, goal)


def aside_of(
    tools: Toolbox, robot: str, here: Vec3, request: WayRequest, closed: Sequence[Vec3] = ()
) -> Vec3 | None:
    """Return where a robot goes to make way, as `spot_aside` does, by what its tools know [m].

    Args:
        tools: What the robot knows.
        robot: Its name.
        here: Where it stands [m].
        request: What the other one asks for.
        closed: Spots that it did not get to [m].
    """
    kind = tools.kind(robot)
    space, plan = kind.space, tools.plan
    start = space.stand(here)
    if kind.body.frame.kind == "fixed" or start is None:
        return None
    floor = plan.floor_index(here[2])
    ways = [
        (a, b)
        for a, b in itertools.pairwise(request.way)
        if floor in (plan.floor_index(a[2]), plan.floor_index(b[2]))
    ]
    driven = [piece for piece in plan.driven.ways if plan.floor_index(piece[0][2]) == floor]
    free = space.cells(floor, space.part_at(start))
    cells = FreeCells(free, plan.origin, CELL, plan.elevation(floor))
    return spot_aside(cells, here, kind.body.frame.radius, request, ways, closed, driven)
