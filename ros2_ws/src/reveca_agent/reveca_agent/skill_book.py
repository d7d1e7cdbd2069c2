"""The skill book: how each kind of plan becomes actions, one step at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from coterie_core.cooperation import (
    Action,
    Briefing,
    Goal,
    GoTo,
    Grab,
    Open,
    Put,
    Spot,
    Thing,
    Wait,
)
from reveca_agent.entries import Entry
from reveca_agent.plans import Plan


class Knowledge(Protocol):
    """The part of a memory that skills read; see `memory.Memory`."""

    goal: Goal
    scene: dict[str, Entry]
    rooms: dict[str, int]
    spot: Spot
    hands: tuple[str, ...]
    step: int

    def owner(self, thing: Thing) -> Thing | None:
        """Return what a thing lies on or in, if known."""

    def inside(self, owner: str) -> Iterable[str]:
        """Return ids of things believed to lie on or in a thing."""


Near = Callable[[Spot], bool]
"""Says what is in reach."""
Skill = Callable[[Plan, Knowledge, Near], Action | None]
"""Returns what to do next for a plan, or None when that is complete."""


def fetch(plan: Plan, memory: Knowledge, near: Near) -> Action | None:
    """Go to where a thing lies, open what it is in, take it."""
    if plan.target in memory.hands:
        return None
    entry = memory.scene.get(plan.target)
    if entry is None or entry.missing:
        return None
    thing = entry.thing
    owner = memory.owner(thing)
    spot = owner.spot if owner is not None else thing.spot  # one may have been told a room only
    if not near(spot):
        return GoTo(thing.parent or thing.id, spot)
    if owner is not None and owner.is_open is False and thing.relation == "in":
        return Open(owner.id)
    return Grab(thing.id)


def deliver(plan: Plan, memory: Knowledge, near: Near) -> Action | None:
    """Go to a target, open it if things belong into it, put down what belongs there."""
    entry = memory.scene.get(plan.target)
    if entry is None:
        return None
    target = entry.thing
    items = [id_ for id_ in memory.hands if id_ in plan.items]
    if not items:
        return None
    if not near(target.spot):
        return GoTo(target.id, target.spot)
    held = memory.scene.get(items[0])
    wanted = memory.goal.of_item(held.thing.label) if held is not None else ()
    relation = next(
        (goal.relation for goal in wanted if goal.target in (target.label, target.id)),
        "in" if target.kind == "container" else "on",
    )
    if target.is_open is False and relation == "in":
        return Open(target.id)
    return Put(items[0], target.id, relation)


def look_inside(plan: Plan, memory: Knowledge, near: Near) -> Action | None:
    """Go to a closed container and open it."""
    entry = memory.scene.get(plan.target)
    if entry is None or entry.thing.is_open is not False:
        return None
    target: Thing = entry.thing
    if not near(target.spot):
        return GoTo(target.id, target.spot)
    return Open(target.id)


def explore(plan: Plan, memory: Knowledge, near: Near) -> Action | None:
    """Go into a room: what is not in a container shows on entering."""
    if memory.spot.room == plan.target and memory.rooms.get(plan.target, -1) >= plan.step:
        return None
    return GoTo(plan.target)


def wait(plan: Plan, memory: Knowledge, near: Near) -> Action | None:
    """Nothing to do for now."""
    return None if memory.step > plan.step else Wait("nothing to do")


SKILLS: Mapping[str, Skill] = {
    "fetch": fetch,
    "deliver": deliver,
    "look": look_inside,
    "explore": explore,
    "wait": wait,
}


def carried(memory: Knowledge) -> list[Thing]:
    """Things in the hands and in the containers that the hands hold (not the containers)."""
    out = []
    for hand in memory.hands:
        entry = memory.scene.get(hand)
        if entry is None:
            continue
        if entry.thing.kind == "item":
            out.append(entry.thing)
        else:
            inside = (memory.scene.get(id_) for id_ in memory.inside(hand))
            out += [one.thing for one in inside if one is not None]
    return out


def carriers(memory: Knowledge, carry: int) -> list[tuple[Thing, int]]:
    """Containers in the hands, with how many things still go into each."""
    inside: dict[str, int] = {}
    for thing in carried(memory):
        inside[thing.parent] = inside.get(thing.parent, 0) + 1
    return [
        (memory.scene[id_].thing, carry - inside.get(id_, 0))
        for id_ in memory.hands
        if id_ in memory.scene and memory.scene[id_].thing.kind == "container"
    ]


def room_left(memory: Knowledge, briefing: Briefing) -> int:
    """How many more things can be carried: free hands, and room in the containers in hand.

    To put a thing into a container takes a free hand first.
    """
    free = briefing.hands - len(memory.hands)
    space = sum(left for _, left in carriers(memory, briefing.carry))
    return free + space if free > 0 else 0
