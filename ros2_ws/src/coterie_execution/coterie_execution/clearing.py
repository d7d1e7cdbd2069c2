"""A hand that is cleared: what it holds and nobody wants goes down, with patience and few tries."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from coterie_core.geometry import Vec3
from coterie_core.skills import NavigateTo, Place, Skill, SkillResult, Target
from coterie_core.tasks import SubTask
from coterie_execution.geometry.toolbox import Toolbox
from coterie_execution.options import Option, Purpose, Step
from coterie_execution.standpoints import floor_before, turn_to
from coterie_world.sightings import as_thing
from coterie_world.team_map import TeamMap

WORDS = "put down what nobody wants any more"
TRIED = 6
"""Pieces of furniture that are asked about, the nearest ones."""
FARTHEST = 6.0
"""Furniture farther than this is not gone to [m]."""

PATIENCE = 3
"""Choices that a robot waits for the leader before it puts down what nobody seems to want."""
_TRIES = 2
_STEP = Step(Purpose.PUT_DOWN)


class HandClearing:
    """Puts down what a hand holds and nobody wants any more.

    Args:
        robot: Whose hand.
        team_map: What it knows of the house.
        patience: Choices that it waits for somebody to want the thing after all.
    """

    def __init__(self, robot: str, team_map: TeamMap, patience: int = PATIENCE) -> None:
        self.robot, self.patience = robot, patience
        self.map = team_map
        self.begin()

    def begin(self) -> None:
        """Begin another task."""
        self.told, self._idle, self._tries = "", 0, 0
        self._stuck, self._turned = "", False

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
        if self._idle < self.patience:
            return None
        tools = toolbox()
        option = self._on_surface(tools, position, holding)
        if self._tries >= _TRIES or option is None:
            down = Place(floor_before(tools, self.robot, position, heading))
            option = Option(WORDS, skill=down, step=_STEP)
        self._tries += isinstance(option.skill, NavigateTo)
        turn = None if self._turned else turn_to(option.skill, position, heading)
        self._turned = turn is not None
        return option if turn is None else replace(option, skill=turn)

    def _on_surface(self, tools: Toolbox, position: Vec3, holding: str) -> Option | None:
        """Return the next step to put a thing down on the nearest surface that it fits on.

        To go there, or to place it; None: no surface nearby is free and in reach.
        """
        held = self.map.thing(holding)
        if held is None:
            return None
        tops = [
            (math.dist(t.box.center[:2], position[:2]), t.id, t)
            for t in self.map.scene.objects.values()
            if t.kind == "furniture"
            and any(not r.inside for r in t.receptacles)
            and abs(t.box.bottom - position[2]) < 1.0
        ]
        near = sorted(one for one in tops if one[0] <= FARTHEST)
        for _, _, top in near[:TRIED]:
            item = as_thing(held)
            place = SubTask(id="aside", kind="place", object=item, receptacle=as_thing(top))
            estimate = tools.estimate(self.robot, place, position, holding=holding)
            if not estimate.feasible or estimate.spot is None:
                continue
            spot, target = estimate.spot, estimate.target or top.box.center
            if math.dist(spot[:2], position[:2]) > 0.3:
                return Option(WORDS, skill=NavigateTo.facing(spot, target), step=_STEP)
            down = Place(Target(top.label.top, target, top.id))
            return Option(WORDS, skill=down, step=_STEP)
        return None

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
