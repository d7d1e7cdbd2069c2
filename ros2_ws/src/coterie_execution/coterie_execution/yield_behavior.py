"""Yielding: the way that a robot asks for, and its yield poses, by its tools."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial

from coterie_core.geometry import Vec3
from coterie_core.skills import NavigateTo, Skill, SkillResult, Wait
from coterie_execution.geometry.floorplan import CELL
from coterie_execution.geometry.toolbox import Toolbox
from coterie_execution.options import Option, Purpose, Step, keep_option
from coterie_llm import inline_data
from coterie_world.free_space.free_cells import FreeCells
from coterie_world.free_space.yield_pose import yield_pose
from coterie_world.right_of_way import YIELD_WAIT_S, RightOfWay, YieldRequest

_STEP = Step(Purpose.YIELD)


def cells_of(tools: Toolbox, robot: str, here: Vec3) -> FreeCells | None:
    """Return where a robot's middle can be on its floor, of what it gets to from a point [m].

    None: it cannot be there at all, as far as the map is right.
    """
    space, plan = tools.kind(robot).space, tools.plan
    start, floor = space.stand(here), plan.floor_index(here[2])
    if start is None:
        return None
    free = space.cells(floor, space.component_at(start))
    return FreeCells(free, plan.origin, CELL, plan.elevation(floor))


def aside_of(
    tools: Toolbox,
    robot: str,
    here: Vec3,
    request: YieldRequest,
    closed: Sequence[Vec3] = (),
    through: bool = False,
) -> Vec3 | None:
    """Return where a robot goes to make way, as `yield_pose` does, by what its tools know [m].

    Args:
        tools: What the robot knows.
        robot: Its name.
        here: Where it stands [m].
        request: What the other one asks for.
        closed: Spots that it did not get to [m].
        through: Whether the spot may lie behind the other one.
    """
    kind, plan = tools.kind(robot), tools.plan
    cells = cells_of(tools, robot, here)
    if kind.body.frame.kind == "fixed" or cells is None:
        return None
    floor = plan.floor_index(here[2])
    ways = [
        (a, b)
        for a, b in itertools.pairwise(request.way)
        if floor in (plan.floor_index(a[2]), plan.floor_index(b[2]))
    ]
    driven = [piece for piece in plan.driven.ways if plan.floor_index(piece[0][2]) == floor]
    radius = kind.body.frame.radius
    return yield_pose(cells, here, radius, request, ways, closed, driven, through)


class YieldBehavior(RightOfWay):
    """Making way of one robot: options that its agent takes, and what it asks others for.

    Args:
        robot: Its name.
        tools: Return what the robot knows.
    """

    def __init__(self, robot: str, tools: Callable[[], Toolbox]) -> None:
        super().__init__(robot)
        self._tools = tools
        self._asking: list[YieldRequest] = []

    @property
    def words(self) -> str:
        """What it goes aside for ("": it does not)."""
        return f"makes way for {inline_data(self.whom)}" if self.whom else ""

    def between(self, here: Vec3 | None, now: float) -> Option | None:
        """Return what comes before the robot's own work; None: nothing.

        Args:
            here: Where it stands [m].
            now: The time [s].
        """
        if self.blocked and (option := self.option(here, now, idle=False)):
            return option
        if not self.lets_pass:
            return None
        self.lets_pass = False
        return Option("lets the other one pass", skill=Wait(YIELD_WAIT_S), step=_STEP)

    def option(self, here: Vec3 | None, now: float, idle: bool) -> Option | None:
        """Return how to go aside for who has asked; None: nobody has, or there is no need.

        Args:
            here: Where it stands [m].
            now: The time [s].
            idle: Whether it has nothing else to do.
        """
        if self.asked is None or here is None:
            return None
        skill = self.go_aside(partial(self.find, here), idle)
        if skill is None:
            return None
        if self.shut_in:
            self._asking += self.ask(skill, here, now)
        option = Option(self.words, skill=skill, step=_STEP)
        keep_option(self.robot, option)
        return option

    def took_in(
        self,
        option: Option | None,
        skill: Skill,
        result: SkillResult,
        here: Vec3 | None,
        now: float,
    ) -> bool:
        """Take in how a skill ended, and ask for the way if something blocked it.

        Args:
            option: What it was chosen as.
            skill: The skill.
            result: How it ended.
            here: Where the robot stands now [m].
            now: The time [s].

        Returns:
            Whether it was to make way, and no work of its own.
        """
        own = option is not None and option.step.purpose is Purpose.YIELD
        if own:
            drive = skill if self.ended(result) and isinstance(skill, NavigateTo) else None
        else:
            drive = self.blocked_drive(skill, result)
        if drive is not None and here is not None:
            self._asking += self.ask(drive, here, now)
        return own

    def find(
        self, here: Vec3, request: YieldRequest, closed: Sequence[Vec3], through: bool
    ) -> Vec3 | None:
        """Return where it goes from where it stands [m] to make way; see `aside_of`."""
        return aside_of(self._tools(), self.robot, here, request, closed, through)

    def ask(self, drive: NavigateTo, here: Vec3, now: float) -> list[YieldRequest]:
        """Return the request for the way of a drive from where it stands [m], at a time [s].

        Empty: where the drive led is not known.
        """
        tools = self._tools()
        place = tools.scene.places.get(drive.place)
        goal = place.position if place is not None else drive.position
        if goal is None:
            return []
        radius = tools.kind(self.robot).body.frame.radius
        return [self.request(tools.way(self.robot, here, goal), radius, now)]

    def outbox(self) -> list[YieldRequest]:
        """Return what is to be asked of other robots, and forget it."""
        asking, self._asking = self._asking, []
        return asking
