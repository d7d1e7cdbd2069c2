"""Decision `mele.choose_place`: where to hop next (augmented LGX of MELE, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_llm import CheckFailed, Decision, Message, as_data, neutral_order

_MOST_PLACES = 24
"""Most places that a prompt shows; the nearest."""
_MOST_LABELS = 30
_MOST_PATH = 12
_MOST_UNEXPLORED = 24
"""Most unexplored places that a prompt shows; the nearest."""


@dataclass(frozen=True, slots=True)
class PlaceOption:
    """A place one hop away.

    `visits` counts how often the robot stood there, `seen` (0..1) how well it saw the place,
    `frontier` tells that it never stood there. `new_labels` were seen toward it and nowhere
    before. `promise` (>= 0) rates what lies on this side: the worth per hop of the best unexplored
    place there, `hops_to_frontier` further on; it includes the seeded tie-break.
    """

    id: str
    room: str
    distance: float
    labels: tuple[str, ...]
    new_labels: tuple[str, ...]
    visits: int
    seen: float
    frontier: bool
    hops_to_frontier: int
    promise: float


@dataclass(frozen=True, slots=True)
class Unexplored:
    """A known place at which the robot never stood.

    `seen` (0..1): how well it saw the place from elsewhere; `hops`: next place -> hops from here to
    this one through it, where there is a known way that does not come back here.
    """

    id: str
    room: str
    seen: float
    hops: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RoomViews:
    """A room, how often the robot looked into it, and how many kinds of objects it saw there."""

    name: str
    views: int
    kinds: int


@dataclass(frozen=True, slots=True)
class ChooseState:
    """All that the choice of the next place depends on; `path` are the places up to here."""

    robot: str
    here: str
    room: str
    around: tuple[str, ...]
    options: tuple[PlaceOption, ...]
    rooms: tuple[RoomViews, ...]
    objects_seen: int
    steps_left: int | None
    path: tuple[str, ...] = ()
    unexplored: tuple[Unexplored, ...] = ()


class PlaceChoice(BaseModel):
    """The next place."""

    reason: str = Field("", max_length=400, description="first think, in one or two sentences")
    place: str = Field(description="then the id of one of the places, exactly as given")


_SYSTEM = (
    "You are a household robot in a home that you have never been in. "
    "Later you will be asked which objects are in which room, so every hop should "
    "bring rooms and kinds of objects into view that you have not met yet; you have "
    "few hops. Standing at a place shows what is around it and which ways go on from "
    "it. A place that you saw well from elsewhere, or in a room that you had many "
    "views of, shows little that is new. Rooms that are not listed you had no view "
    "of. Unexplored are the known places where you never stood, nearest first, each "
    "with the hops to it from here by the next place through which they lead. Go back "
    "over known ground only on the way to one of them, and then go on until you are "
    "there. The places one hop away are in no particular order. Distances are in "
    "meters, shares from 0 to 1."
)


class ChoosePlace(Decision[ChooseState, PlaceChoice]):
    """Choose the next hop so as to see many different objects and much of the house."""

    name: ClassVar[str] = "mele.choose_place"
    reply_type: ClassVar[type[BaseModel]] = PlaceChoice
    max_tokens: ClassVar[int] = 250

    def opening(self) -> str:
        """Return the instruction."""
        return _SYSTEM

    def prompt(self, state: ChooseState) -> Sequence[Message]:
        """Show what is around, where one can go, and what was seen so far."""
        left = "no limit" if state.steps_left is None else state.steps_left
        where = {
            "place": state.here,
            "room": state.room or "unknown",
            "objects in view": _some(state.around),
            "places before, latest last": list(state.path[-_MOST_PATH:]),
            "hops left": left,
            "different kinds of objects seen so far": state.objects_seen,
        }
        rooms = [
            {"room": one.name, "views": one.views, "kinds of objects": one.kinds}
            for one in state.rooms
        ]
        options = [_shown(option) for option in _neutral(state)]
        return (
            Message.system(_SYSTEM),
            Message.user(
                f"{as_data('rooms so far', rooms)}\n"
                f"{as_data('where you are', where)}\n"
                f"{as_data('unexplored', _unexplored(state))}\n"
                f"{as_data('places one hop away', options, limit=12000)}\nWhich place next?"
            ),
        )

    def options(self, state: ChooseState) -> Mapping[str, Sequence[str]]:
        """The places one hop away that the prompt shows."""
        return {"place": [option.id for option in _neutral(state)]}

    def only_reply(self, state: ChooseState) -> PlaceChoice | None:
        """The one place, where there is one way on."""
        return self.rule(state) if len(state.options) == 1 else None

    def check(self, state: ChooseState, reply: PlaceChoice) -> None:
        """The place must be one hop away."""
        if all(option.id != reply.place for option in state.options):
            offered = ", ".join(option.id for option in state.options)
            raise CheckFailed(
                f"place {reply.place[:80]!r} is not one hop away; choose one of: {offered}"
            )

    def rule(self, state: ChooseState) -> PlaceChoice:
        """Take the neighbour of greatest promise; ties go to the nearer, then the lesser id."""
        best = max(state.options, key=lambda o: (o.promise, -o.distance, _descending(o.id)))
        if best.frontier and not best.visits:
            reason = "not been there yet"
        else:
            reason = f"on the way to what is unexplored ({best.hops_to_frontier} more hops)"
        return PlaceChoice(reason=reason, place=best.id)


def _unexplored(state: ChooseState) -> list[dict[str, object]]:
    """Return what is known of the nearest unexplored places; those out of reach are left out."""
    offered = {option.id for option in _neutral(state)}
    found = []
    for place in state.unexplored:
        hops = {via: count for via, count in sorted(place.hops.items()) if via in offered}
        left = state.steps_left
        if hops and (left is None or min(hops.values()) <= left):
            found.append((min(hops.values()), place, hops))
    found.sort(key=lambda one: (one[0], one[1].id))
    return [
        {
            "id": place.id,
            "room": place.room or "not known",
            "share already seen": round(place.seen, 2),
            "hops by next place": hops,
        }
        for _, place, hops in found[:_MOST_UNEXPLORED]
    ]


def _neutral(state: ChooseState) -> list[PlaceOption]:
    """Return the places that are offered, in an order that tells nothing."""
    near = sorted(state.options, key=lambda o: (o.distance, o.id))[:_MOST_PLACES]
    return neutral_order(near, lambda o: o.id, salt=state.here)


def _some(labels: Sequence[str]) -> list[str]:
    """Return the first labels, and how many are left out."""
    more = len(labels) - _MOST_LABELS
    return [*labels[:_MOST_LABELS], *([f"and {more} more"] if more > 0 else [])]


def _shown(option: PlaceOption) -> dict[str, object]:
    """Return what is known of a place."""
    return {
        "id": option.id,
        "room": option.room or "not known from here",
        "distance": round(option.distance, 1),
        "objects toward it": _some(option.labels),
        "of these never seen before": _some(option.new_labels),
        "times you stood there": option.visits,
        "share already seen": round(option.seen, 2),
    }


def _descending(text: str) -> tuple[int, ...]:
    return tuple(-ord(c) for c in text)
