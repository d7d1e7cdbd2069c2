"""What a cooperative world is made of beside its home: options, bodies, messages on their way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from coterie_core.cooperation import Note, Reason, Result, Spot

NAMES = ("Ada", "Bob", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jun")

Channel = Callable[[list[Note], int], list[tuple[str, Note]]]
"""Takes the notes of a step and its number; returns who gets what now (for trouble on the way)."""


@dataclass(frozen=True, slots=True)
class HouseholdOptions:
    """What kind of episodes.

    Attributes:
        agents: How many, from 1 up.
        dummies: Useless things added (Noisy-C-WAH: 10 or 20).
        bystanders: Things of everyday life that belong to no goal.
        hidden: Containers are closed at the start; else all are open, and things lie as before.
        known: Everything is seen from everywhere at any time: nothing is hidden.
        horizon: Steps of an episode.
        stride: Metres per step [m].
        hands: Things that one can hold.
        houses: Number of different houses; 0: another one for every seed.
        lookalikes: Things that from afar look like what the goal asks for, and are not.
        confused: Share of small things that from afar are taken for something else (0..1).
        boxes: Closed boxes that stand about; what is hidden may be in them as in furniture.
        activity: Name of one activity only; "": all in turn.
    """

    agents: int = 2
    dummies: int = 0
    bystanders: int = 10
    hidden: bool = True
    known: bool = False
    horizon: int = 250
    stride: float = 0.5
    hands: int = 2
    houses: int = 0
    activity: str = ""
    lookalikes: int = 0
    confused: float = 0.0
    boxes: int = 0


class Body:
    """One agent's body: where it is, what it holds, where it is walking to."""

    __slots__ = ("aim", "hands", "legs", "name", "notes", "result", "spot", "start", "walked")

    def __init__(self, name: str, spot: Spot) -> None:
        self.name = name
        self.spot = self.start = spot
        self.hands: tuple[str, ...] = ()
        self.aim: tuple[str, Spot | None] | None = None
        self.legs: list[Spot] = []
        self.walked = 0.0
        self.notes: list[Note] = []
        self.result: Result | None = None


def failed(reason: Reason, text: str) -> Result:
    """Return what became of an action that could not be done."""
    return Result(False, False, reason, text)
