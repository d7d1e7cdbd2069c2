"""Right of way of a REVECA robot: its yield poses, and the drive there."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from coterie_core.geometry import Vec3
from coterie_core.skills import NavigateTo, Skill, SkillResult
from coterie_world import right_of_way
from coterie_world.free_space.yield_pose import yield_pose
from coterie_world.right_of_way import YieldRequest
from reveca_agent.house import HouseBody
from reveca_agent.house_map import HouseMap
from reveca_agent.standing import OVERHEAD, ROUGH


def yield_request(body: HouseBody, skill: Skill, result: SkillResult) -> YieldRequest | None:
    """Take in how an own skill ended; return the request for the way if something blocked it."""
    drive = body.aside.blocked_drive(skill, result)
    return None if drive is None or drive.position is None else _request(body, drive.position)


def _request(body: HouseBody, goal: Vec3) -> YieldRequest:
    here = body.spot.position
    way: tuple[Vec3, ...] = (here, goal)
    for rough in (0.0, ROUGH):  # where its map shows no way, it is the straight line
        cells = body.map.floor.cells(here[2], rough)
        if cells is not None and len(way) == 2:
            way = cells.way(here, goal)
    return body.aside.request(way, body.shape.radius, body.time)


async def make_way(
    body: HouseBody,
    carry_out: Callable[[Skill], Awaitable[SkillResult]],
    ask_way: Callable[[YieldRequest], object],
    idle: bool,
) -> bool:
    """Go aside for a robot that has asked for it; tell whether this one moved.

    Args:
        body: The body that goes.
        carry_out: Has its driver carry out a skill.
        ask_way: Asks the others for the way.
        idle: Whether it has nothing else to do.
    """

    def find(request: YieldRequest, closed: Sequence[Vec3], through: bool = False) -> Vec3 | None:
        return aside_of(body.map, body.spot.position, request, closed, through)

    def ask(drive: NavigateTo) -> None:
        if drive.position is not None:
            ask_way(_request(body, drive.position))

    find_out = partial(find, through=True)
    return await right_of_way.make_way(body.aside, find, carry_out, ask, idle, find_out)


def aside_of(
    house: HouseMap,
    here: Vec3,
    request: YieldRequest,
    closed: Sequence[Vec3] = (),
    through: bool = False,
) -> Vec3 | None:
    """Return where a robot goes to make way, as `yield_pose` does, by its map [m].

    Where that shows no spot, boxes of furniture that cameras saw count as too wide.

    Args:
        house: What it knows of the house.
        here: Where it stands [m].
        request: What the other one asks for.
        closed: Spots that it did not get to [m].
        through: Whether the spot may lie behind the other one.
    """
    driven = [piece for piece in house.trail if abs(piece[0][2] - here[2]) < OVERHEAD]
    for rough in (0.0, ROUGH):
        cells = house.floor.cells(here[2], rough)
        if cells is None:
            return None
        height = cells.elevation
        ways = [
            (a, b)
            for a, b in itertools.pairwise(request.way)
            if min(abs(a[2] - height), abs(b[2] - height)) < OVERHEAD
        ]
        radius = house.shape.radius
        spot = yield_pose(cells, here, radius, request, ways, closed, driven, through)
        if spot is not None:
            return spot
    return None
