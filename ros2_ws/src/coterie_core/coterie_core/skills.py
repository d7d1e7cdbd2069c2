"""Skills: typed commands to a robot and typed results that say why they failed."""

from __future__ import annotations

import enum
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from coterie_core.geometry import Pose, Vec3, wrap_angle

POSITION_TOLERANCE = 0.25
"""Largest horizontal distance from a position that counts as reached [m], unless a skill says."""
YAW_TOLERANCE = 0.25
"""Largest difference of the heading that counts as reached [rad], unless a skill says."""
APPROACH_TOLERANCE = 1.2
"""The same for a position that need only be come near to, such as that of a thing [m]."""


@dataclass(frozen=True, slots=True)
class Target:
    """A thing to act on, as the robot knows it: label and where [m]; track id if it has one."""

    label: str
    position: Vec3
    instance: str = ""


@dataclass(frozen=True, slots=True)
class NavigateTo:
    """Go to a place by id, or (place == "") to a position [m], facing `yaw` [rad] if given.

    The position itself is gone to where it is free for the robot, else the nearest free one within
    `tolerance` [m, horizontal]. A result is a success only within `tolerance` and, where `yaw` is
    given, `yaw_tolerance` [rad]; a place is reached where the robot can stand at it.
    """

    place: str = ""
    position: Vec3 | None = None
    yaw: float | None = None
    tolerance: float = POSITION_TOLERANCE
    yaw_tolerance: float = YAW_TOLERANCE

    @classmethod
    def near(cls, position: Vec3, yaw: float | None = None) -> NavigateTo:
        """Go near to a position, within APPROACH_TOLERANCE: as near as there is room."""
        return cls(position=position, yaw=yaw, tolerance=APPROACH_TOLERANCE)

    @classmethod
    def facing(cls, position: Vec3, toward: Vec3) -> NavigateTo:
        """Go near to a position and face a point from there, unless it is that point."""
        dx, dy = toward[0] - position[0], toward[1] - position[1]
        return cls.near(position, math.atan2(dy, dx) if math.hypot(dx, dy) > 0.05 else None)

    def left(self, pose: Pose, place: Vec3 | None = None) -> tuple[float, float]:
        """Return what is left from a pose to the goal: distance [m, horizontal], angle [rad].

        Args:
            pose: Pose of the robot in the map frame.
            place: Position of the skill's place; None: not known, the distance is NaN then.
        """
        goal = place if self.place else self.position
        off = math.dist(goal[:2], pose.position[:2]) if goal is not None else math.nan
        return off, 0.0 if self.yaw is None else wrap_angle(self.yaw - pose.yaw)


@dataclass(frozen=True, slots=True)
class LookAround:
    """Turn once about the own axis and look."""


@dataclass(frozen=True, slots=True)
class Detect:
    """Look from here for a label ("" for anything)."""

    label: str = ""


@dataclass(frozen=True, slots=True)
class MoveArmTo:
    """Move the hand to a point in the map frame [m]."""

    position: Vec3


@dataclass(frozen=True, slots=True)
class Pick:
    """Take a thing into the hand."""

    target: Target


@dataclass(frozen=True, slots=True)
class Place:
    """Put what the hand holds on or into a receptacle's owner at a position [m]."""

    receptacle: Target


@dataclass(frozen=True, slots=True)
class Open:
    """Open a container or door."""

    target: Target


@dataclass(frozen=True, slots=True)
class Close:
    """Close a container or door."""

    target: Target


@dataclass(frozen=True, slots=True)
class Ask:
    """Say something to another robot or a person ("" for the whole team)."""

    whom: str
    text: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for a while [s]."""

    duration: float


Skill = NavigateTo | LookAround | Detect | MoveArmTo | Pick | Place | Open | Close | Ask | Wait


class Outcome(enum.IntEnum):
    """How a skill ended; the numbers are those of coterie_msgs/SkillResult."""

    SUCCEEDED = 1
    CANCELLED = 2
    REFUSED = 3
    UNKNOWN_TARGET = 4
    UNREACHABLE = 5
    BLOCKED = 6
    OUT_OF_REACH = 7
    NOT_VISIBLE = 8
    HAND_FULL = 9
    HAND_EMPTY = 10
    CLOSED = 11
    UNSUPPORTED = 12
    TIMED_OUT = 13
    FAULT = 14


@dataclass(frozen=True, slots=True)
class SkillResult:
    """How a skill ended and why: `reason` names what was wrong and what to do ("" on success).

    `duration` is in simulated seconds, `distance` in metres; `put_at` is where a Place set down the
    foot of the thing [m], None: where it was asked to; `bears_at` is the spot [m], out of reach,
    that a robot whose Place failed saw to bear the thing, None: it saw none.
    """

    outcome: Outcome
    reason: str = ""
    duration: float = 0.0
    distance: float = 0.0
    details: dict[str, str] = field(default_factory=dict)
    put_at: Vec3 | None = None
    bears_at: Vec3 | None = None

    @property
    def ok(self) -> bool:
        """Whether the skill did what it was asked for."""
        return self.outcome is Outcome.SUCCEEDED


class SkillRefused(Exception):
    """The guard or the world refuses a skill before it starts; carries the result to report."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.result = SkillResult(outcome, reason)


class OwnHand(Protocol):
    """The hand of an arm, for skills of other packages; points are in the team's map [m]."""

    async def touch(self, point: Vec3) -> None:
        """Bring the fingertips to a point; raises where they do not get there."""
        ...

    async def back(self) -> None:
        """Take the posture in which the arm is carried; nothing moves where none is set."""
        ...


@dataclass(frozen=True, slots=True)
class SkillSpec:
    """A skill as guard, permits and people see it. One with a `position` acts there.

    Attributes:
        name: Name in team files and logs.
        kind: Its class; None: it has none, and adapters do it by its name.
        words: Verb phrase for a person, after "may the robot ...?"; `{at}` stands for the place,
            `{thing}` for the target and `{held}` for what the hand holds. Every skill that moves
            has one.
        thing: Attribute that holds the `Target` it acts on; "": none.
        onto: Attribute that holds the `Target` it puts something down at; "": none.
        holds: Whether it moves what the hand holds.
        arm: Whether it takes an arm.
        moves: Whether it moves the robot or touches things, and so needs a permit.
        verbs: Words by which people ask for it, such as ("wipe", "clean").
        seconds: How long the hand takes for it in the simulated house, and by estimates [s].
        by_arm: Of a skill of another package: does it with an `OwnHand` of an arm's adapter; it
            raises `SkillRefused` where that fails. None: such an arm cannot do it.
        in_house: Of one, too: returns what a thing of the simulated house is afterwards, by its
            label: properties such as {"state": "clean"}; raises `SkillRefused` where nothing can
            be done to it. None: the simulated house cannot do it.
    """

    name: str
    kind: type | None
    words: str = ""
    thing: str = ""
    onto: str = ""
    holds: bool = False
    arm: bool = False
    moves: bool = True
    verbs: tuple[str, ...] = ()
    seconds: float = 2.0
    by_arm: Callable[[OwnHand, Any], Awaitable[None]] | None = None
    in_house: Callable[[str], Mapping[str, str]] | None = None

    def target(self, skill: object) -> Target | None:
        """Return what a skill of this row acts on, or puts something down at; None: nothing."""
        name = self.thing or self.onto
        found: Target | None = getattr(skill, name) if name else None
        return found
