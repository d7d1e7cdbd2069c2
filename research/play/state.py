"""What a person's page shows, as plain data: only what the person perceives, knows and heard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coterie_console.text import plain
from coterie_core.cooperation import Thing
from research.natural_order import natural
from research.play.person import Choice, Person

KEPT = 200
"""Newest messages that are shown."""


def state_of(person: Person, found: Sequence[Choice]) -> dict[str, Any]:
    """Return the view of a person.

    Args:
        person: Who has perceived something already.
        found: What the person can do now; empty while something goes on.
    """
    percept, briefing = person.percept, person.briefing
    return {
        "name": plain(person.name),
        "others": [plain(name) for name in briefing.others],
        "step": percept.step,
        "left": briefing.horizon - percept.step,
        "horizon": briefing.horizon,
        "limit": briefing.limit,
        "room": person.room(percept.spot.room),
        "goal": {
            "name": plain(briefing.goal.name, 100),
            "rows": [
                {"words": plain(words, 100), "seen": seen, "told": told, "count": count}
                for words, seen, told, count in person.progress()
            ],
        },
        "slots": briefing.hands,
        "introduction": person.introduction,
        "hands": [
            {"id": plain(id_), "inside": [plain(one) for one in person.inside(id_)]}
            for id_ in percept.hands
        ],
        "mates": [
            {"name": plain(m.name), "hands": [plain(t.id) for t in m.hands]}
            for m in percept.teammates
        ],
        "news": list(person.news),
        "doing": person.current.text if person.current is not None else "",
        "chat": [
            {
                "from": plain(note.sender),
                "to": [plain(name) for name in note.to],
                "text": plain(note.text, 600),
                "mine": note.sender == person.name,
            }
            for note in person.chat[-KEPT:]
        ],
        "choices": [
            {"id": c.id, "group": c.group, "text": c.text, "target": c.target} for c in found
        ],
        "map": _map(person),
    }


def _map(person: Person) -> dict[str, Any]:
    percept, ways, memory = person.percept, person.briefing.ways, person.memory
    x, y, _ = percept.spot.position
    return {
        "rooms": [
            {
                "id": room.id,
                "name": person.room(room.id),
                "outline": [list(point) for point in room.outline],
                "center": list(room.center[:2]),
                "seen": room.id in memory.rooms,
                "here": room.id == percept.spot.room,
            }
            for room in ways.rooms.values()
        ],
        "gates": [
            [*gate.point_a[:2], *gate.point_b[:2]] for gate in ways.gates
        ],
        "things": _things(person),
        "me": [x, y, percept.heading if person.briefing.turn else None],
        "others": [
            {
                "name": plain(mate.name),
                "x": trace.spot.position[0],
                "y": trace.spot.position[1],
                "ago": percept.step - trace.step,
            }
            for mate in memory.collaborators.values()
            if (trace := mate.last) is not None
        ],
    }  # fmt: skip


def _things(person: Person) -> list[dict[str, Any]]:
    """Furniture with what is known to be there, and what lies on the floor."""
    memory, goal = person.memory, person.briefing.goal
    held = set(memory.hands)
    on: dict[str, list[Thing]] = {}
    alone: list[Thing] = []
    for entry in memory.scene.values():
        thing = entry.thing
        if entry.missing or thing.relation == "held" or thing.parent in held:
            continue
        if thing.parent in memory.scene and (thing.kind == "item" or thing.portable):
            on.setdefault(thing.parent, []).append(thing)
        else:
            alone.append(thing)
    view = {thing.id for thing in person.percept.things}
    out = []
    for thing in sorted(alone, key=lambda t: natural(t.id)):
        lying = sorted(on.get(thing.id, []), key=lambda t: (not person.wanted(t), natural(t.id)))
        out.append(
            {
                "id": thing.id,
                "name": plain(thing.id),
                "kind": thing.kind,
                "x": thing.spot.position[0],
                "y": thing.spot.position[1],
                "open": thing.is_open,
                "view": thing.id in view,
                "wanted": person.wanted(thing),
                "target": bool({thing.label, thing.id} & goal.targets),
                "holds": [
                    {"id": t.id, "name": plain(t.id), "wanted": person.wanted(t)} for t in lying
                ],
            }
        )
    return out
