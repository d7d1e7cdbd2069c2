"""What a team knows of things, as steps of an explanation: where they are, and which looks tell."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from pathlib import Path

from coterie_core.questions import percent
from coterie_safety.why.explanation import Step
from coterie_safety.why.finding import holds, telling
from coterie_safety.why.words import line
from coterie_world.association import EVENT
from coterie_world.scene import SceneObject
from coterie_world.team_memory import MemoryFault, TeamMemory, load_memory
from coterie_world.team_memory.store import MOST_LOOKS, alike

MAX_THINGS = 8
"""Most things that are told of."""


def known_things(what: str, folder: Path) -> list[Step]:
    """Return what the copies of a team's memory tell of the things that are meant.

    Each robot that looked at a thing tells of it; of one that nobody looked at, one copy does.

    Args:
        what: Id of a thing, or words of its label and its room.
        folder: Folder of the copies.
    """
    words = telling(what)
    found: list[tuple[str, TeamMemory, SceneObject]] = []
    for file in sorted(folder.glob("*.json")) if words else ():
        with contextlib.suppress(MemoryFault):  # of an older version, or cut off
            memory, _ = load_memory(file)
            who = file.name.partition(".")[0]
            found += [(who, memory, thing) for thing in _meant(what, words, memory)]
    found.sort(
        key=lambda one: (not one[1].beliefs[one[2].id].looks, one[2].label.top not in what.lower())
    )
    told: list[SceneObject] = []
    steps = []
    for who, memory, thing in found:
        if memory.beliefs[thing.id].looks or not any(_same(thing, other) for other in told):
            told.append(thing)
            steps.append(_step(who, memory, thing))
    return steps[:MAX_THINGS]


def _meant(what: str, words: list[str], memory: TeamMemory) -> list[SceneObject]:
    if (exact := memory.graph.objects.get(what.strip())) is not None:
        return [exact]
    return [
        thing
        for thing in memory.graph.objects.values()
        if holds(words, f"{thing.label.top} {_room(memory, thing)}")
        and any(holds([word], thing.label.top) for word in words)
    ]


def _same(thing: SceneObject, other: SceneObject) -> bool:
    return EVENT.score(thing.box, other.box) > 0.0 and alike(thing.label.top, other.label.top)


def _room(memory: TeamMemory, thing: SceneObject) -> str:
    room = memory.graph.rooms.get(thing.room)
    return room.name if room is not None else ""


def _step(who: str, memory: TeamMemory, thing: SceneObject) -> Step:
    belief = memory.beliefs[thing.id]
    labels = list(thing.label.distribution().items())[:3]
    taken = ", ".join(f"{line(label, 60)} {p:.0%}" for label, p in labels if p >= 0.01)
    room = _room(memory, thing)
    place = f"in the hand of {belief.held_by}" if belief.held_by else f"at {_at(thing.box.center)}"
    where = f" in the {line(room, 60)}" if room else ""
    sure = f"{percent(memory.confidence(thing.id))} sure that it is there"
    knows = f"{who if belief.looks else 'the team'} knows"
    text = f"{knows} {line(thing.id, 60)} ({taken}){where} {place}, {sure}"
    details = [
        f"{look.robot} saw it from {_at(look.position[:2])}, {_before(memory.time - look.time)}"
        for look in reversed(belief.looks)
    ]
    if not details and (seen := thing.last_seen) is not None:
        details.append(f"{line(seen.robot, 60)} saw it {_before(memory.time - seen.time)}")
    moved = [memory.words(trace) for trace in memory.traces if trace.object == thing.id]
    details += moved[-MOST_LOOKS:]
    return Step(thing.id, "", who, "thing", text, tuple(map(line, details)))


def _before(seconds: float) -> str:
    return f"{timedelta(seconds=round(seconds))} before the team's latest look"


def _at(position: tuple[float, ...]) -> str:
    return f"({', '.join(f'{value:.2f}' for value in position)}) m"
