"""A hand that is cleared: what it holds and nobody wants goes down, with patience and few tries."""

from __future__ import annotations

import math
from collections.abc import Callable

from coterie_core.geometry import Vec3, wrap_angle
from coterie_core.skills import NavigateTo, Place, Skill, SkillResult
from coterie_world.team_map import TeamMap
from emos_planner.geometry.toolbox import Toolbox
from emos_planner.robot.choose import Option
from emos_planner.robot.leftovers import WORDS, leftover
from emos_planner.robot.standpoints import floor_before

PATIENCE = 3
"""Choices that a robot waits for the leader before it puts down what nobody seems to want."""
_TRIES = 2
_BESIDE = math.radians(30.0)
"""An arm may not reach what lies farther from straight ahead: the robot turns first [rad]."""


class HandClearing:
    """Puts down what a hand holds and nobody wants any more.

    Args:
        robot: Whose hand.
        team_map: What it knows of the house.
    """

    def __init__(self, robot: str, team_map: TeamMap) -> None:
        self.robot = robot
        self.map = team_map
        self.told = ""
        self._idle, self._tries = 0, 0
        self._stuck, self._turned = "", False

    def begin(self) -> None:
        """Begin another task."""
        self.told, self._idle, self._tries, self._turned = "", 0, 0, False

    def wanted(self) -> None:
        """Take down that what the hand holds is wanted, or that it is empty."""
        self._idle = 0

    def option(
        self, holding: str, position: Vec3, heading: float, toolbox: Callable[[], Toolbox]
    ) -> Option | None:
        """Return the next step to put it down, on a surface nearby or else on the floor.

        None: the leader may say at once where else it shall go, or the hand does not get it down:
        better to wait with it than to try for ever.
        """
        if self._stuck == holding:
            return None
        self._idle += 1
        if self._idle < PATIENCE:
            return None
        tools = toolbox()
        option = leftover(self.robot, self.map, tools, position, holding)
        if self._tries >= _TRIES or option is None:
            floor = floor_before(tools, self.robot, position, heading)
            skill: Skill = Place(floor)
            at = floor.position
            ahead = math.atan2(at[1] - position[1], at[0] - position[0])
            if not self._turned and abs(wrap_angle(ahead - heading)) > _BESIDE:
                self._turned, skill = True, NavigateTo.near(position, yaw=ahead)
            option = Option("put down", WORDS, skill=skill)
        self._tries += isinstance(option.skill, NavigateTo)
        return option

    def ended(self, skill: Skill, result: SkillResult, holding: str, room: str) -> None:
        """Take down how a step went, in a room (id)."""
        if not result.ok and isinstance(skill, Place) and skill.receptacle.label == "floor":
            self._stuck = holding
        elif not result.ok:
            self._tries = _TRIES
        elif isinstance(skill, Place):
            held, here = self.map.thing(holding), self.map.scene.rooms.get(room)
            where = f" in {here.name}" if here is not None else ""
            name = f"the {held.label.top}" if held is not None else "what it held"
            self.told = f"put {name} down on the {skill.receptacle.label}{where}"
            self._tries, self._turned = 0, False
