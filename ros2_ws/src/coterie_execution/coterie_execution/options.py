"""Typed steps of a robot's work: what it can do next, and how what it tried has ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

from coterie_core.geometry import Vec3
from coterie_core.skills import Detect, NavigateTo, Outcome, Skill
from coterie_core.tasks import Obstacle
from coterie_safety.why import follow, note

Effect = Literal["act", "done", "give up"]
LOOKED = (Outcome.SUCCEEDED, Outcome.NOT_VISIBLE, Outcome.UNKNOWN_TARGET)
"""How a look ends that took place; a silent camera, or a robot that is cut off, saw nothing."""


class Purpose(Enum):
    """What a step is for."""

    DO = auto()  # what the sub-task is about: take it, put it down, open it
    GO = auto()  # to the base pose of the estimate
    GO_NEAR = auto()  # as near as it gets
    TURN = auto()  # to face what the hand does next
    OTHER_SIDE = auto()  # to another base pose for the same
    VIEW = auto()  # to where one sees and does not reach
    LOOK = auto()
    LOOK_AGAIN = auto()  # at what one look alone has shown
    ARRIVED = auto()  # look around where a search has driven to look
    OPEN_FIRST = auto()  # what something is in
    WAIT = auto()
    EMPTY_HAND = auto()  # of what it should not hold
    PUT_DOWN = auto()  # what nobody wants any more
    MOVE_ARM = auto()
    SAY = auto()
    YIELD = auto()
    CONFIRMED = auto()  # done, and seen to be so
    END = auto()  # done, or given up
    SPENT = auto()  # given up: tries are used up, or nobody permits it


@dataclass(frozen=True, slots=True)
class Step:
    """What a step is for, what it is about (id of a room or thing), and where to [m]."""

    purpose: Purpose
    about: str = ""
    spot: Vec3 | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """Something the robot does next: a skill, or to call the sub-task done or give it back.

    `path` names the nodes of the tree that has offered it, from the root.
    """

    words: str
    effect: Effect = "act"
    skill: Skill | None = None
    obstacle: Obstacle | None = None
    reason: str = ""
    step: Step = Step(Purpose.DO)
    path: str = ""

    @property
    def settled(self) -> bool:
        """Whether nothing is left to be chosen: what is so, or a bound, ends the sub-task."""
        return self.effect == "done" or self.step.purpose in (Purpose.SPENT, Purpose.ARRIVED)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A skill that was tried for a sub-task: what for, how it ended, and when.

    `seen` is the step of the last observation then; `bears_at` where a Place that did not get to it
    saw that things would stand [m]; `words` tell what was done.
    """

    step: Step
    skill: Skill
    outcome: Outcome
    reason: str = ""
    seen: int = -1
    bears_at: Vec3 | None = None
    words: str = ""

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.outcome is Outcome.SUCCEEDED

    @property
    def looked(self) -> bool:
        """Whether it was a look at a thing that took place, whatever it showed."""
        return isinstance(self.skill, Detect) and self.outcome in LOOKED

    @property
    def goal(self) -> Vec3 | None:
        """Where to [m], of one that goes somewhere."""
        return self.skill.position if isinstance(self.skill, NavigateTo) else None


def keep_option(robot: str, option: Option, words: str = "") -> None:
    """Keep what a robot is going to do, so that the goal it sends next follows from it.

    Args:
        robot: Its name.
        option: What it chose.
        words: What it says with it.
    """
    body = {"words": option.words, "effect": option.effect, "says": words}
    if option.skill is not None:
        body["skill"] = type(option.skill).__name__
    if option.path:
        body["tree"] = option.path
    follow(note("action", robot, {**body, "reason": option.reason}))
