"""Plans: what an agent may do next, as candidates with what speaks for and against each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coterie_core.cooperation import Spot

HOPE = 0.25
"""How much the number of expected things counts against nearness (1: in proportion)."""

UNRELATED = 0.5
"""What level 0 weighs, as level n weighs n: what matters for nothing counts half of a little."""

PlanKind = Literal["fetch", "deliver", "look", "explore", "wait"]


@dataclass(slots=True)
class Plan:
    """A plan for one skill of the skill book.

    Attributes:
        kind: The skill.
        target: Id of the thing, container, target or room.
        items: Of a delivery: ids of what is put down.
        step: When it was chosen.
        checked: It is validated; no further question.
        doubt: Collaborator that planning predicts to have done it already; "".
    """

    kind: PlanKind
    target: str
    items: tuple[str, ...] = ()
    step: int = 0
    checked: bool = False
    doubt: str = ""

    def text(self) -> str:
        """Return the plan in words."""
        if self.kind == "deliver":
            return f"bring {' and '.join(self.items)} to {self.target}"
        if self.kind == "look":
            return f"look into {self.target}"
        return "wait" if self.kind == "wait" else f"{self.kind} {self.target}"


@dataclass(slots=True)
class Option:
    """A candidate plan.

    Attributes:
        plan: The plan.
        level: Relevance of what it is about (R levels; deliveries are as relevant as the goal).
        steps: Own steps until it is done; None: distances are not known.
        gain: Expected number of needed things that it brings nearer.
        rival: Collaborator that will likely do it sooner; "".
        rival_steps: Its predicted steps.
        about: What it is about, for prompts.
    """

    plan: Plan
    level: int
    steps: float | None
    gain: float
    rival: str = ""
    rival_steps: float | None = None
    about: str = ""
    size: float = 1.0
    """Cost in steps when distances are unknown: all alike but for the actions."""
    doubted: bool = False
    """Less is hoped of it, for a collaborator likely did it already."""
    others: tuple[tuple[str, float], ...] = ()
    """Collaborators of whom one knows where they are, with the steps that it takes them."""
    said_by: str = ""
    """Who said to make for it."""
    pace: float = 1.0
    """Steps of this world that make one of half a metre."""

    @property
    def cost(self) -> float:
        """Steps, or the stand-in where distances are not known."""
        return self.size if self.steps is None else self.steps

    @property
    def left(self) -> bool:
        """It is left to a collaborator, who does it sooner or likely did it already."""
        return bool(self.rival or self.doubted)

    @property
    def order(self) -> tuple[bool, float]:
        """Sort key for the rule: one's own before what is left to others, by promise.

        Of what is left to others, that comes first where one is least behind: who has nothing else
        to do helps most there.
        """
        if not self.left:
            return (False, -self.rate * max(UNRELATED, self.level))
        return (True, self.cost - (self.rival_steps or 0.0))

    @property
    def rate(self) -> float:
        """What it promises per step."""
        return promise(self.gain, self.cost / self.pace)


@dataclass(slots=True)
class Task:
    """Something that somebody of the team should do: where, with what gain, at what extra cost."""

    kind: PlanKind
    target: str
    spot: Spot
    gain: float
    extra: float
    level: int
    about: str = ""


def promise(gain: float, steps: float) -> float:
    """Return what a plan promises, from the needed things expected of it and its steps.

    Nearness counts for more than hope: what is left behind for a better chance far away has to be
    come back for, so that plain expected things per step walk to and fro.
    """
    return gain**HOPE / (steps + 4.0) if gain > 0.0 else 0.0
