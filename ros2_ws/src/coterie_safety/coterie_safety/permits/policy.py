"""Policy: what `permits:` in a team file says of a goal: allow, ask a person, or refuse."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from coterie_core.plain_data import schema_problems
from coterie_core.skill_registry import SKILLS
from coterie_core.yaml_checks import suggestion
from coterie_safety.guard.limits import Hours, OneOrMany
from coterie_safety.guard.windows import TimeWindow
from coterie_safety.permits.goal_scope import PermitGoal, Surroundings, is_thing

Answer = Literal["allow", "ask", "refuse"]
STRICTNESS: dict[str, int] = {"allow": 0, "ask": 1, "refuse": 2}
ANSWER_TIMEOUT_S = 60.0
"""Time that a person is waited for, unless the team file says otherwise [s]."""
MAX_STANDING_S = 3600.0
"""Longest time that a standing permit may last, unless the team file says otherwise [s]."""
REFUSAL_LIFETIME_S = 300.0
"""Time for which a refusal holds for goals alike, unless the team file says otherwise [s]."""
WRITE = (
    "write what it may do into the team file, as `permits: {rules: [{skills: [navigate_to], "
    "answer: ask}]}`, or `permits: {otherwise: ask}`"
)
"""Advice in the refusal of a real robot that the team file says nothing about."""


def _skill(value: str) -> str:
    spec, physical = SKILLS.get(value), [name for name, one in SKILLS.items() if one.moves]
    if spec is None:
        raise ValueError(f"unknown skill {value!r}{suggestion(value, physical)}")
    if not spec.moves:
        raise ValueError(f"{value!r} moves nothing and needs no permit")
    return value


def _words(value: str) -> str:
    if not value.strip():
        raise ValueError("expected a name, got an empty text")
    return value


Words = Annotated[tuple[Annotated[str, AfterValidator(_words)], ...], OneOrMany]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PermitRule(_Section):
    """One rule: for which goals it is, and its answer. What is not given holds for all.

    A rule that allows holds only where everything that a goal touches is named in it; one that
    asks or refuses holds as soon as one thing is, or may be.
    """

    answer: Answer = Field(description="Answer to such a goal: allow, ask (a person) or refuse.")
    robots: Words = Field((), description="Names of the robots it is for; none: all.")
    skills: Annotated[tuple[Annotated[str, AfterValidator(_skill)], ...], OneOrMany] = Field(
        (), description="List of the skills it is for, dock among them; none: all."
    )
    rooms: Words = Field(
        (),
        description="Rooms of the map by name, kind or identifier: of a goal's target and on the "
        "way; none: all.",
    )
    objects: Words = Field(
        (), description="Labels, kinds or groups of things that a goal touches; none: all."
    )
    faster_than: float | None = Field(
        None, ge=0.0, le=10.0, description="It is for robots that may drive faster [m/s]."
    )
    not_faster_than: float | None = Field(
        None, ge=0.0, le=10.0, description="It is for robots that drive no faster [m/s]."
    )
    hours: Hours = Field((), description="Windows of local time, as in limits; none: at any time.")

    def holds(self, goal: PermitGoal, around: Surroundings, now: datetime) -> bool:
        """Tell whether it is for a goal.

        Args:
            goal: The goal.
            around: The rooms of the map.
            now: Local time.
        """
        if self.robots and goal.robot not in self.robots:
            return False
        if self.skills and goal.skill not in self.skills:
            return False
        if self.faster_than is not None and not goal.speed > self.faster_than:
            return False
        if self.not_faster_than is not None and not goal.speed <= self.not_faster_than:
            return False
        if self.hours and not any(TimeWindow.parse(text).contains(now) for text in self.hours):
            return False
        return self._rooms(goal, around) and self._objects(goal)

    def _rooms(self, goal: PermitGoal, around: Surroundings) -> bool:
        if not self.rooms:
            return True
        if self.answer == "allow":
            named = around.called(self.rooms, exactly=True)
            return not goal.strays and bool(goal.rooms) and named.issuperset(goal.rooms)
        if not named_all(self.rooms, around) and goal.strays:
            return True  # nobody knows whether it is there
        return not around.called(self.rooms, exactly=False).isdisjoint(goal.rooms)

    def _objects(self, goal: PermitGoal) -> bool:
        if not self.objects:
            return True
        if self.answer == "allow":
            named = (any(is_thing(o, name) for name in self.objects) for o in goal.objects)
            return bool(goal.objects) and all(named)
        return any(is_thing(o, name, loosely=True) for o in goal.objects for name in self.objects)


def named_all(rooms: tuple[str, ...], around: Surroundings) -> bool:
    """Tell whether the map has each of these rooms."""
    return all(around.called((name,), exactly=False) for name in rooms)


class Permits(_Section):
    """Which goals are allowed, which a person is asked for, and which are refused."""

    rules: tuple[PermitRule, ...] = Field(
        (), description="List of rules; the first that is for a goal decides."
    )
    otherwise: Answer | None = Field(
        None,
        description="Answer where no rule is for a goal: allow, ask or refuse; none: allow in "
        "simulation, refuse on a real robot.",
    )
    wait: float | None = Field(
        None, gt=0.0, le=86400.0, description="Time that a person is waited for [s]; none: 60."
    )
    longest: float | None = Field(
        None,
        gt=0.0,
        le=86400.0,
        description="Longest time for which a person can permit all goals alike [s]; none: 3600.",
    )
    ask_again: float | None = Field(
        None,
        ge=0.0,
        le=86400.0,
        description="Time for which a refusal holds for goals alike, and nobody is asked again "
        "[s]; none: 300.",
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"otherwise": value} if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a policy says of a goal: the answer, and its place in the team file, or the reason."""

    answer: Answer
    where: str


class RobotPermits(_Section):
    """The policy for one robot: the team's and its own; the stricter answer counts.

    Attributes:
        real: Whether nothing said means refuse.
    """

    team: Permits = Permits()
    robot: Permits = Permits()
    name: str = ""
    real: bool = False

    @staticmethod
    def from_json(text: str, what: str = "permits", *, real: bool = False) -> RobotPermits:
        """Read what `to_json` wrote; "": nothing is said.

        Raises:
            ValueError: It cannot be read; names the field.
        """
        if not text:
            return RobotPermits(real=real)
        try:
            return RobotPermits.model_validate(json.loads(text))
        except ValidationError as error:
            raise ValueError(f"{what}: {schema_problems(error)}") from None

    def to_json(self) -> str:
        """Return it as a node's parameter."""
        return self.model_dump_json(exclude_defaults=True)

    def decide(self, goal: PermitGoal, around: Surroundings, now: datetime) -> Verdict:
        """Return what the policy says of a goal; no model has a say in it.

        Args:
            goal: The goal.
            around: The rooms of the map.
            now: Local time.
        """
        unsaid: Answer = "refuse" if self.real else "allow"
        team = _said(self.team, "permits", unsaid, goal, around, now)
        own = _said(self.robot, f"robots.{self.name}.permits", "allow", goal, around, now)
        return own if STRICTNESS[own.answer] > STRICTNESS[team.answer] else team

    @property
    def asks(self) -> bool:
        """Whether there are goals for which a person may be asked."""
        sections = (self.team, self.robot)
        return any(
            "ask" in (section.otherwise, *(rule.answer for rule in section.rules))
            for section in sections
        )

    @property
    def says_something(self) -> bool:
        """Whether the team's section allows anything, or has a person asked."""
        answers = (self.team.otherwise, *(rule.answer for rule in self.team.rules))
        return "allow" in answers or "ask" in answers

    @property
    def by_room(self) -> bool:
        """Whether it matters through which rooms a robot drives."""
        return any(rule.rooms for section in (self.team, self.robot) for rule in section.rules)

    @property
    def wait(self) -> float:
        """How long a person is waited for [s]."""
        return _least(self.robot.wait, self.team.wait, ANSWER_TIMEOUT_S)

    @property
    def longest(self) -> float:
        """How long a standing permit may last [s]."""
        return _least(self.robot.longest, self.team.longest, MAX_STANDING_S)

    @property
    def ask_again(self) -> float:
        """How long a refusal holds for goals alike [s]."""
        own, team = self.robot.ask_again, self.team.ask_again
        return max(own or 0.0, REFUSAL_LIFETIME_S if team is None else team)


def _least(own: float | None, team: float | None, usual: float) -> float:
    said = usual if team is None else team
    return said if own is None else min(own, said)


def _said(
    section: Permits,
    where: str,
    unsaid: Answer,
    goal: PermitGoal,
    around: Surroundings,
    now: datetime,
) -> Verdict:
    for k, rule in enumerate(section.rules):
        if rule.holds(goal, around, now):
            return Verdict(rule.answer, f"{where}.rules[{k}]")
    if section.otherwise is not None:
        return Verdict(section.otherwise, f"{where}.otherwise")
    return Verdict(unsaid, f"{where}: nothing allows it; {WRITE}" if unsaid == "refuse" else where)
