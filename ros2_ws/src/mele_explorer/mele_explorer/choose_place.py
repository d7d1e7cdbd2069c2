"""Decision `mele.choose_place`: where to hop next (augmented LGX of MELE, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_core.language import CheckFailed, Decision, Message, as_data


@dataclass(frozen=True, slots=True)
class PlaceOption:
    """A place one hop away.

    `visits` counts how often the robot stood there, `seen` (0..1) how well it saw the place,
    `frontier` tells that it has not seen it well yet. `new_labels` were seen toward it and nowhere
    before. `promise` (>= 0) rates what lies on this side: the worth per hop of the best unexplored
    place there; it includes the seeded tie-break.
    """

    id: str
    room: str
    distance: float
    labels: tuple[str, ...]
    new_labels: tuple[str, ...]
    visits: int
    seen: float
    frontier: bool
    leads_to: str
    hops_to_frontier: int
    promise: float


@dataclass(frozen=True, slots=True)
class ChooseState:
    """All that the choice of the next place depends on."""

    robot: str
    here: str
    room: str
    around: tuple[str, ...]
    options: tuple[PlaceOption, ...]
    rooms_seen: tuple[str, ...]
    objects_seen: int
    steps_left: int | None


class PlaceChoice(BaseModel):
    """The next place."""

    place: str = Field(description="id of one of the offered places, exactly as given")
    reason: str = Field("", max_length=400, description="one sentence")


class ChoosePlace(Decision[ChooseState, PlaceChoice]):
    """Choose the next hop so as to see many different objects and much of the house."""

    name: ClassVar[str] = "mele.choose_place"
    reply_type: ClassVar[type[BaseModel]] = PlaceChoice
    max_tokens: ClassVar[int] = 200

    def prompt(self, state: ChooseState) -> Sequence[Message]:
        """Show what is around, where one can go, and what was seen so far."""
        left = "" if state.steps_left is None else f" You have {state.steps_left} hops left."
        around = {"room": state.room or "unknown", "objects": list(state.around)}
        so_far = {"rooms": list(state.rooms_seen), "different objects": state.objects_seen}
        options = [
            {
                "id": option.id,
                "room": option.room or "not known from here",
                "metres": round(option.distance, 1),
                "objects in that direction": list(option.labels),
                "never seen before": list(option.new_labels),
                "times you stood there": option.visits,
                "share already seen": round(option.seen, 2),
                "unexplored beyond": option.leads_to or "nothing known",
                "hops to the unexplored": option.hops_to_frontier,
            }
            for option in state.options
        ]
        return (
            Message.system(
                "You steer a household robot through a home it has never been in. Later it will "
                "be asked which objects are in which room, so every hop should bring rooms and "
                "kinds of objects into view that it has not met yet. Prefer places it has not "
                "stood at, rooms it has not looked into, and ways that lead on to unexplored "
                "parts; go back over known ground only to reach those."
            ),
            Message.user(
                f"{as_data('around the robot', around)}\n{as_data('seen so far', so_far)}\n"
                f"{as_data('places one hop away', options, limit=12000)}\n"
                f"{left} Which place next? Reply with its id and a short reason."
            ),
        )

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
        return PlaceChoice(place=best.id, reason=reason)


def _descending(text: str) -> tuple[int, ...]:
    return tuple(-ord(c) for c in text)
