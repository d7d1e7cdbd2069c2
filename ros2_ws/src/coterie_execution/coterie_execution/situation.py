"""The situation that a robot chooses its next step in: sub-task, map, tools, what was tried."""

from __future__ import annotations

from dataclasses import dataclass

from coterie_core.geometry import Vec3
from coterie_core.skills import Place, Skill
from coterie_core.tasks import SubTask
from coterie_execution.geometry.results import Estimate
from coterie_execution.geometry.toolbox import Toolbox
from coterie_execution.options import Attempt, Purpose
from coterie_execution.search_coverage import Coverage
from coterie_world.scene import SceneGraph, SceneObject


@dataclass(frozen=True)
class Situation:
    """All that the next skill for a sub-task depends on.

    `seen_placed`: what is to stand on the receptacle was seen there since it was put down, or since
    this robot has looked for it. `mates` are the other robots of the task (names); `spoken_to`: one
    of them has spoken to this robot by name, and it has not answered yet. It faces `heading` [rad].
    """

    robot: str
    sub_task: SubTask
    estimate: Estimate
    thing: SceneObject | None
    receptacle: SceneObject | None
    position: Vec3 | None
    holding: str
    holding_label: str
    attempts: tuple[Attempt, ...]
    tries_left: int
    tools: Toolbox
    scene: SceneGraph
    seen_now: frozenset[str] = frozenset()
    glimpsed: tuple[str, ...] = ()
    stood: tuple[Vec3, ...] = ()
    coverage: Coverage | None = None
    seen_placed: bool = False
    mates: tuple[str, ...] = ()
    spoken_to: bool = False
    heading: float = 0.0

    @property
    def last(self) -> Attempt | None:
        """The last attempt; to have turned toward the next one is none."""
        return next(
            (a for a in reversed(self.attempts) if a.step.purpose is not Purpose.TURN), None
        )

    @property
    def goal(self) -> SceneObject | None:
        """What the hand has to get to: where to put a thing, else the thing; None: the floor."""
        return self.receptacle if self.sub_task.kind == "place" else self.thing

    @property
    def bears_at(self) -> Vec3 | None:
        """Where the robot saw that what it places would stand [m], when it last tried to."""
        places = [a for a in self.attempts if isinstance(a.skill, Place)]
        return places[-1].bears_at if places else None

    @property
    def unseen(self) -> dict[str, float]:
        """Of what a search looks for, how many may be unseen, by the rooms (ids) it is about."""
        if self.sub_task.kind != "search" or self.coverage is None:
            return {}
        rooms = [r for r in self.sub_task.rooms or self.scene.rooms if r in self.scene.rooms]
        return {room: self.coverage.left(self.tools, room) for room in rooms}

    def failures(self, skill: type[Skill]) -> int:
        """How often a kind of skill has failed."""
        return sum(isinstance(a.skill, skill) and not a.ok for a in self.attempts)

    def did(self, skill: type[Skill]) -> bool:
        """Whether a kind of skill has succeeded."""
        return any(isinstance(a.skill, skill) and a.ok for a in self.attempts)
