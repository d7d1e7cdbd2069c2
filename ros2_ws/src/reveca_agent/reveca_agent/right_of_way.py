"""Right of way of a REVECA robot: its yield poses, and the drive there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from coterie_core.geometry import Vec3
from coterie_core.skills import NavigateTo, Skill, SkillResult
from coterie_execution.right_of_way import aside_of
from coterie_world import right_of_way
from coterie_world.right_of_way import YieldRequest
from reveca_agent.house import HouseBody


def yield_request(body: HouseBody, skill: Skill, result: SkillResult) -> YieldRequest | None:
    """Take in how an own skill ended; return the request for the way if something blocked it."""
    drive = body.aside.blocked_drive(skill, result)
    return None if drive is None or drive.position is None else _request(body, drive.position)


def _request(body: HouseBody, goal: Vec3) -> YieldRequest:
    way = body.executive.tools.way(body.name, body.spot.position, goal)
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
        tools, here = body.executive.tools, body.spot.position
        return aside_of(tools, body.name, here, request, closed, through)

    def ask(drive: NavigateTo) -> None:
        if drive.position is not None:
            ask_way(_request(body, drive.position))

    find_out = partial(find, through=True)
    return await right_of_way.make_way(body.aside, find, carry_out, ask, idle, find_out)
