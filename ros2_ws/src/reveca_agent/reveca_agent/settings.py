"""Parameters of an agent: relevance levels, candidate plans, bounds, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from coterie_core import settings

Asking = Literal["likely", "never", "always"]
Prior = Literal["household", "flat"]


class CooperationSettings(settings.Settings):
    """What a team file may set of the agents."""

    levels: int = Field(4, ge=2, le=20, description="Number R of relevance levels.")
    plans: int = Field(3, ge=1, le=50, description="Number K of candidate plans to choose from.")
    step: float = Field(
        1.0,
        ge=0.1,
        le=60.0,
        description="Duration of one step of an agent, in simulated time [s].",
    )
    max_time: float = Field(
        1800.0,
        ge=1.0,
        description="Time limit of a goal that sets none of its own, in simulated time [s].",
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """Parameters; the defaults are the paper's (R = 4 levels, K = 3 plans).

    The flags from `ask` on take one part of the architecture away each, and nothing else.

    Attributes:
        levels: R, number of relevance levels, from 2 up.
        plans: K, candidate plans to choose from, from 1 up.
        items: Most things kept in memory.
        notes: Most messages and own plans kept, each.
        shown: Most things that reach a decision: the top of the relevance order.
        ask: When a plan is validated by a question: where somebody likely took the thing; never;
            or before every plan that is about a thing.
        discount: Planning expects less of what a collaborator likely did already, asked or not.
        spatial: Distances are known to planning and prompts.
        relevance: New information is rated; without, all of it is equal.
        order: Candidates are in order of what they promise per step; without, the most relevant
            first, the nearest first among these.
        collaborators: What the others do is remembered and predicted.
        talk: Messages are sent at all.
        prior: What is believed of where things lie before looking: general knowledge of homes, or
            that every room and every container is as likely as any other.
        tokens: Most tokens of things that reach a decision (about four characters each); 0: no
            limit beside `shown`.
    """

    levels: int = 4
    plans: int = 3
    items: int = 5000
    notes: int = 200
    shown: int = 40
    ask: Asking = "likely"
    discount: bool = True
    spatial: bool = True
    relevance: bool = True
    order: bool = True
    collaborators: bool = True
    talk: bool = True
    prior: Prior = "household"
    tokens: int = 0

    def __post_init__(self) -> None:
        for name, least in (
            ("levels", 2), ("plans", 1), ("items", 10), ("notes", 1), ("shown", 1), ("tokens", 0),
        ):  # fmt: skip
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"{name}: expected at least {least}, got {value}")
