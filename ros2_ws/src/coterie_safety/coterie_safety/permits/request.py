"""Requests for permits, and the permits themselves: bound to a goal, ended by time and use."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

from coterie_safety.permits.goal_scope import TASK, PermitGoal, canonical


@dataclass(frozen=True, slots=True)
class PermitRequest:
    """What a person is asked, in plain data: for pages, terminals and topics alike.

    Attributes:
        id: Never used again.
        goal: Goal to be permitted; its texts are data.
        rooms: Names of the rooms that it touches.
        rule: Place in the team file of what asks a person.
        asked: Time at which it was put [s, wall time].
        until: Time from which nobody is waited for [s, wall time].
    """

    id: str
    goal: PermitGoal
    rooms: tuple[str, ...]
    rule: str
    asked: float
    until: float

    @property
    def shown(self) -> str:
        """SHA-256 of all that a person is shown of it, hexadecimal; an answer is bound to it."""
        return _shown("request", self.id, self.goal, self.rooms, self.rule, self.asked, self.until)

    @property
    def text(self) -> str:
        """It in a line: who, what, what for, what it touches."""
        goal = self.goal
        why = f' for "{goal.why}"' if goal.why else ""
        if goal.skill == TASK:
            return f"{goal.robot}: {goal.what}{why}"
        what = touched(goal, self.rooms)
        over = f"; it touches: {what}" if what else ""
        return f"{goal.robot}: {goal.what}{why}, {pace(goal)}{over}"


def pace(goal: PermitGoal) -> str:
    """Return how fast a goal's robot may go, in words; of a team's task nothing is known ("")."""
    if goal.skill == TASK:
        return ""
    if math.isinf(goal.speed):
        return "at a speed that its own node decides"
    return f"at up to {goal.speed:.2g} m/s"


def touched(goal: PermitGoal, rooms: Sequence[str]) -> str:
    """Return what a goal touches in words: the rooms as they are named here, and its things."""
    unknown = ["a room that nobody knows"] if goal.strays else []
    return ", ".join([*rooms, *goal.objects, *unknown])


@dataclass(frozen=True, slots=True)
class Permit:
    """A permit for goals of one robot.

    Attributes:
        id: Never used again.
        goal: The goal that it was given for.
        by: Giver of the permit: a person, or the policy's rule.
        until: Time at which it ends [s, wall time].
        standing: Whether it is for all goals alike; else for that goal, once.
        by_policy: Whether no person was asked.
        rooms: Names of the rooms of its goal, as the person was shown them.
    """

    id: str
    goal: PermitGoal
    by: str
    until: float = math.inf
    standing: bool = False
    by_policy: bool = False
    rooms: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """SHA-256 of all that a person is shown of it, hexadecimal; its end is bound to it."""
        goal = replace(self.goal, why="")
        return _shown("permit", self.id, goal, self.rooms, self.by, 0.0, self.until)

    @property
    def text(self) -> str:
        """What a standing permit is for in a line."""
        goal = self.goal
        most = touched(goal, self.rooms)
        over = f"; they touch at most: {most}" if most else ""
        return f'{goal.robot}: goals like "{goal.what}", {pace(goal)}{over}'

    def covers(self, goal: PermitGoal) -> bool:
        """Whether it is for a goal: for exactly that one, or, if it is standing, for one alike."""
        if not self.standing:
            return goal.digest == self.goal.digest and goal.robot == self.goal.robot
        own = self.goal
        return (
            (goal.robot, goal.skill) == (own.robot, own.skill)
            and set(goal.rooms) <= set(own.rooms)
            and set(goal.objects) <= set(own.objects)
            and (own.strays or not goal.strays)
            and goal.speed <= own.speed
        )


def _shown(
    kind: str, id_: str, goal: PermitGoal, rooms: Sequence[str], said: str, *times: float
) -> str:
    told = asdict(replace(goal, rooms=tuple(rooms), action=""))
    told["speed"] = struct.pack("<f", goal.speed).hex()  # as the message has it
    return hashlib.sha256(
        canonical([kind, id_, told, said, [f"{time:.3f}" for time in times]])
    ).hexdigest()


@dataclass(slots=True)
class Waiting:
    """A goal that waits for a person.

    `settled` is called once, without any lock held, with the permit, or None and the reason. `ends`
    is when nobody is waited for any more by a clock that nobody sets back [s].
    """

    request: PermitRequest
    settled: Callable[[Permit | None, str], object] = field(repr=False)
    ends: float = math.inf


def alike(goal: PermitGoal) -> tuple[object, ...]:
    """Return what goals have in common of which a person is asked once: not the exact spot."""
    if goal.skill == TASK:
        return goal.robot, goal.skill, goal.digest
    return goal.robot, goal.skill, frozenset(goal.objects), goal.rooms[-1:], goal.strays
