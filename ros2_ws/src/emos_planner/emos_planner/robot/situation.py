"""The situation that a robot chooses its next skill in: sub-task, map, tools, what was tried."""

from __future__ import annotations

from dataclasses import dataclass

from coterie_core.geometry import Vec3
from coterie_core.skills import Outcome
from coterie_core.tasks import SubTask
from coterie_world.scene import SceneGraph, SceneObject
from emos_planner.geometry.results import Estimate
from emos_planner.geometry.toolbox import Toolbox
from emos_planner.robot.coverage import Coverage

LOOKED = (Outcome.SUCCEEDED, Outcome.NOT_VISIBLE, Outcome.UNKNOWN_TARGET)
"""How a look ends that took place; a silent camera, or a robot that is cut off, saw nothing."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A skill that was tried for a sub-task: the option's id, the skill, how it ended, when.

    `goal` is where to [m], of one that goes somewhere; `bears_at` where a Place that did not get to
    it saw that things would stand [m].
    """

    option: str
    skill: str
    outcome: Outcome
    reason: str
    step: int
    goal: Vec3 | None = None
    bears_at: Vec3 | None = None

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.outcome is Outcome.SUCCEEDED

    @property
    def looked(self) -> bool:
        """Whether it was a look at a thing that took place, whatever it showed."""
        return self.skill == "Detect" and self.outcome in LOOKED


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
    visited: tuple[str, ...] = ()
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
        """The last attempt."""
        return self.attempts[-1] if self.attempts else None

    @property
    def bears_at(self) -> Vec3 | None:
        """Where the robot saw that what it places would stand [m], when it last tried to."""
        places = [a for a in self.attempts if a.skill == "Place"]
        return places[-1].bears_at if places else None

    @property
    def unseen(self) -> dict[str, float]:
        """Of what a search looks for, how many may be unseen, by the rooms (ids) it is about."""
        if self.sub_task.kind != "search" or self.coverage is None:
            return {}
        rooms = [r for r in self.sub_task.rooms or self.scene.rooms if r in self.scene.rooms]
        return {room: self.coverage.left(self.tools, room) for room in rooms}

    def failures(self, skill: str) -> int:
        """How often a kind of skill has failed."""
        return sum(a.skill == skill and not a.ok for a in self.attempts)

    def did(self, skill: str) -> bool:
        """Whether a kind of skill has succeeded."""
        return any(a.skill == skill and a.ok for a in self.attempts)
