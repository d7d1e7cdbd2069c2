"""Percepts, actions, results and briefings of cooperating agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coterie_core.cooperation.goals import Goal, Relation
from coterie_core.cooperation.home import Spot, Walkways
from coterie_core.cooperation.messages import Note

ThingKind = Literal["item", "surface", "container"]
"""Use of a thing: to be carried, to put things on, to put things in (may be closed). In
transport worlds some containers can be carried as well (`Thing.portable`)."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing as it is seen.

    Attributes:
        id: Unique in the home, such as `plate-1`.
        label: Category of the thing, such as "mug".
        kind: Use of the thing.
        spot: Room and the position from which it is reached [m].
        parent: Id of what it lies on or in, or who holds it; "" for what stands on the floor.
        relation: Relation to its parent; "" for the floor, "held" in a hand.
        is_open: Whether a container that can be closed is open; None for all others.
        portable: It can be grabbed.
    """

    id: str
    label: str
    kind: ThingKind
    spot: Spot
    parent: str = ""
    relation: Literal["", "on", "in", "held"] = ""
    is_open: bool | None = None
    portable: bool = False


@dataclass(frozen=True, slots=True)
class Teammate:
    """Another agent in view: where it is, what it holds, which way it looks [degrees]."""

    name: str
    spot: Spot
    hands: tuple[Thing, ...] = ()
    heading: int = 0


# --- actions: one per agent and step -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GoTo:
    """Walk one stride towards a room's middle, or to where a thing can be reached.

    `target` is the id of a room, of furniture, or of a small thing that is in view now; of what was
    seen earlier give what it lay on. With `spot` one walks there, and `target` says only what for.
    """

    target: str
    spot: Spot | None = None


@dataclass(frozen=True, slots=True)
class Grab:
    """Take a thing into a free hand; it must be within reach and in no closed container."""

    item: str


@dataclass(frozen=True, slots=True)
class Put:
    """Put a held thing on or in a target within reach."""

    item: str
    target: str
    relation: Relation = "on"


@dataclass(frozen=True, slots=True)
class Open:
    """Open a container within reach."""

    container: str


@dataclass(frozen=True, slots=True)
class Close:
    """Close a container within reach."""

    container: str


@dataclass(frozen=True, slots=True)
class Turn:
    """Turn on the spot, counter-clockwise positive, by 15 degrees at most (transport)."""

    degrees: int


@dataclass(frozen=True, slots=True)
class Send:
    """Say something; costs the step, reaches the others in the next one."""

    note: Note


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for a step."""

    reason: str = ""


Action = GoTo | Grab | Put | Open | Close | Turn | Send | Wait

Reason = Literal[
    "",
    "unknown_target",  # no such thing or room, or never seen
    "too_far",
    "hands_full",
    "not_holding",
    "closed",  # it, or what it is in, is closed
    "gone",  # somebody took or moved it
    "no_way",
    "in_the_way",  # another robot stood where it had to pass
    "not_openable",
    "already",  # it is so already
    "not_portable",
    "full",
    "too_long",  # message over the limit
    "not_here",  # the world has no such action
    "unable",  # this body never can
]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of an agent's last action.

    Attributes:
        ok: It did what it should, or goes on doing so.
        done: It is complete: a walk has arrived, a thing is in the hand.
        reason: Reason of a failure.
        text: The same in words: what was expected, what came.
    """

    ok: bool
    done: bool
    reason: Reason = ""
    text: str = ""


DONE = Result(True, True)


@dataclass(slots=True)
class Percept:
    """What one agent knows from one step.

    Attributes:
        step: Steps taken so far.
        spot: Own room and position [m].
        hands: Ids of what it holds.
        things: All that is in view. The same object as in the step before when nothing changed,
            so that agents may skip what they have seen.
        view: Tells views apart: room and revision (or heading); equal values show equal things.
        covered: Rooms of which all is in `things` that can be seen at all: what is missing there
            is not there any more, or in a closed container.
        teammates: Teammates in view.
        notes: Messages that it received in the step before.
        result: Result of its own last action; None at the start.
        heading: Heading [degrees, counter-clockwise from x], in transport worlds.
        done: The episode is over.
        sure: Whether things that covered rooms miss are not there, even if only others have seen
            it. Cameras miss what stands behind furniture and was seen from elsewhere.
    """

    step: int
    spot: Spot
    hands: tuple[str, ...] = ()
    things: Sequence[Thing] = ()
    view: object = None
    covered: tuple[str, ...] = ()
    teammates: Sequence[Teammate] = ()
    notes: Sequence[Note] = ()
    result: Result | None = None
    heading: int = 0
    done: bool = False
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Briefing:
    """What an agent is told before the first step.

    Attributes:
        name: Its own name.
        team: Names of all agents, itself included, in a fixed order.
        goal: Goal that the team shares.
        ways: The map: rooms and ways, not what is in the rooms.
        hands: Number of things that it can hold.
        stride: Distance that it walks in a step [m].
        reach: Distance from which it can handle things [m].
        horizon: Steps before the episode ends.
        limit: Most characters of a message.
        turn: Degrees per step of turning; 0: a room is seen at once (household).
        carry: Most things that a portable container holds (transport).
        seed: Seed of the agent's own random choices.
    """

    name: str
    team: tuple[str, ...]
    goal: Goal
    ways: Walkways
    hands: int = 2
    stride: float = 1.0
    reach: float = 1.2
    horizon: int = 250
    limit: int = 500
    turn: int = 0
    carry: int = 3
    seed: int = 0

    @property
    def others(self) -> tuple[str, ...]:
        """Names of the other agents."""
        return tuple(name for name in self.team if name != self.name)
