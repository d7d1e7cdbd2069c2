"""A life without end for one agent: ever new things, messages and failures, to see what grows.

Nothing here is an episode: no goal is met, and things come and go faster than in any home, so that
whatever an agent keeps without a limit shows after some thousand steps.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from coterie_core.cooperation import (
    Briefing,
    Facts,
    Note,
    NoteKind,
    Percept,
    Result,
    Sighting,
    Spot,
    Teammate,
    Thing,
    Whereabouts,
)
from research.bench.reveca.household import HouseholdWorld
from reveca_agent.agent import RevecaAgent

KINDS: tuple[NoteKind, ...] = ("text", "start", "ask", "reply", "done")
CONTAINERS = (dict, list, set, deque)


def briefing(seed: int = 0) -> Briefing:
    """Return what an agent is told at the start: home and goal of a household episode."""
    return HouseholdWorld().reset(seed)["Ada"]


def percepts(start: Briefing, seed: int = 0, fresh: int = 3) -> Iterator[Percept]:
    """Yield percepts without end; every step has `fresh` new things and a message of new ids."""
    draw = random.Random(f"endless {seed}")
    rooms = list(start.ways.rooms.values())
    wanted = sorted(start.goal.items)
    step = 0
    while True:
        step += 1
        room = draw.choice(rooms)
        box = Thing(f"box-{step}", "cabinet", "container", room.spot, is_open=step % 2 == 0)
        things = [box]
        for k in range(fresh):
            label = draw.choice(wanted) if draw.random() < 0.05 else f"gadget {step % 997}"
            parent = box.id if box.is_open and draw.random() < 0.5 else ""
            relation: Any = "in" if parent else ""
            id_ = f"{label.replace(' ', '-')}-{step}-{k}"
            things.append(Thing(id_, label, "item", room.spot, parent, relation, None, True))
        held = (Thing(f"held-{step}", "cup", "item", room.spot, "Bob", "held", None, True),)
        mates = (Teammate("Bob", room.spot, held),) if step % 3 == 0 else ()
        ok = draw.random() < 0.8
        result = Result(ok, True) if ok else Result(False, False, "gone", "it is gone")
        notes = (_note(draw, step, draw.choice(rooms).spot, wanted),)
        view = (step,)
        yield Percept(step, room.spot, (), tuple(things), view, (room.id,), mates, notes, result)


def _note(draw: random.Random, step: int, spot: Spot, wanted: list[str]) -> Note:
    label = draw.choice(wanted)
    item = f"told-{step}"
    facts = Facts(
        me=Whereabouts(spot.room, spot.position, (f"hand-{step}",)),
        seen=tuple(Sighting(f"seen-{step}-{k}", label, spot.room, f"on-{step}") for k in range(3)),
        searched=(f"searched-{step}", spot.room),
        heading=f"heading-{step}",
        item=item,
        label=label,
        place=draw.choice((item, f"box-{max(1, step - 1)}")),
        answer=draw.choice(("taken", "placed", "searched", "untouched")),
    )
    kind = KINDS[step % len(KINDS)]
    return Note(f"bob-{step}", "Bob", kind, f"words {step}", facts, (), step)


def sizes(agent: RevecaAgent) -> dict[str, int]:
    """Return how many elements every container of an agent holds, nested ones included."""
    out: dict[str, int] = {}
    parts: dict[str, object] = {
        "agent": agent,
        "memory": agent.memory,
        "observer": agent.observer,
        "communicator": agent.communicator,
    }
    parts |= {f"mate {name}": one for name, one in agent.memory.collaborators.items()}
    for part, thing in parts.items():
        for name, value in _attributes(thing).items():
            if isinstance(value, CONTAINERS):
                out[f"{part}.{name}"] = _count(value)
    return out


def _attributes(thing: object) -> Mapping[str, object]:
    if is_dataclass(thing) and not hasattr(thing, "__dict__"):
        return {f.name: getattr(thing, f.name) for f in fields(thing)}
    return vars(thing)


def _count(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return len(value) + sum(_count(one) for one in inner if isinstance(one, CONTAINERS))
