"""Parameters of an agent: relevance levels, candidate plans, bounds, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Asking = Literal["likely", "never", "always"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Parameters; the defaults are the paper's (R = 4 levels, K = 3 plans).

    The last five take one part of the architecture away each, for ablations.

    Attributes:
        levels: R, number of relevance levels, from 2 up.
        plans: K, candidate plans to choose from, from 1 up.
        items: Most things kept in memory.
        notes: Most messages and own plans kept, each.
        shown: Most things that reach a decision: the top of the relevance order.
        ask: When a plan is validated by a question: where somebody likely took the thing; never;
            or before every plan that is about a thing.
        spatial: Distances are known to planning and prompts.
        relevance: New information is rated; without, all of it is equal.
        collaborators: What the others do is remembered and predicted.
        talk: Messages are sent at all.
    """

    levels: int = 4
    plans: int = 3
    items: int = 5000
    notes: int = 200
    shown: int = 40
    ask: Asking = "likely"
    spatial: bool = True
    relevance: bool = True
    collaborators: bool = True
    talk: bool = True

    def __post_init__(self) -> None:
        for name, least in (("levels", 2), ("plans", 1), ("items", 10), ("notes", 1), ("shown", 1)):
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"{name}: expected at least {least}, got {value}")
