"""What robots did to objects, taken into an explorer's memory of what it saw itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coterie_core.geometry import Box, distance
from coterie_core.household import load_household
from coterie_core.questions import Evidence
from coterie_world.association import EVENT
from coterie_world.object_events import ObjectEvent
from coterie_world.permanence import age_text
from coterie_world.scene import LabelBelief, Room, SceneObject, Sighting, free_id
from coterie_world.sightings import usual_size
from coterie_world.team_memory import TeamMemory
from mele_explorer.memory import Memory

OVERLOOKED = 0.6
"""Who takes a thing out of a room overlooks another one of its kind there so often."""


def note_event(memory: Memory, event: ObjectEvent, room: Room | None = None) -> bool:
    """Take in what a robot did to an object; returns whether the memory has changed.

    What was taken away leaves the memory, one object per event: of three mugs of which two were
    brought away the third still counts. What was put down is in the room it was brought to. What
    this robot has seen since then counts more than the event.

    Args:
        memory: The explorer's memory.
        event: What was done.
        room: The room with the id `event.to_room`, where it is known.
    """
    if event.kind in ("picked", "gone", "doubted"):
        key = _meant(memory, event)
        if key is None:
            return False
        memory.remove(key)
        return True
    if event.kind != "placed" or not event.to_room:
        return False
    if event.to_room not in memory.graph.rooms:
        if room is None:
            return False  # nobody has told yet which room that is
        memory.graph.add_room(room)
    made = SceneObject(
        free_id(memory.graph.objects, event.object or "moved"),
        LabelBelief.of(event.label),
        Box(event.position, usual_size(memory.graph, event.label, event.position)),
        event.to_room,
        observations=1,
        last_seen=Sighting(event.time, event.robot),
    )
    memory.insert(made)
    return True


def after_moves(
    evidence: Evidence,
    p_yes: float,
    label: str,
    rooms: Sequence[Room],
    asked: str,
    team: TeamMemory | None,
    memory: Memory,
) -> tuple[Evidence, float]:
    """Return evidence and P(yes) once it counts what the team did to such things.

    Where the explorer knows of none in the room and the team took one away from there, the answer
    is no for that reason, unless there probably is another one all the same. A room that the
    explorer never was in (`rooms` is empty) is looked up by its name in the team's map.
    """
    if team is None:
        return evidence, p_yes
    if evidence.kind == "seen":
        found = (memory.graph.objects.get(key) for key in evidence.objects)
        times = [o.last_seen.time for o in found if o is not None and o.last_seen is not None]
        return replace(evidence, age=max(team.time - max(times, default=team.time), 0.0)), p_yes
    named = team.graph.room_named(asked) if asked and not rooms else None
    rooms = [named] if named is not None else rooms
    traces = [team.left(label, room.id) for room in rooms]
    known = [trace for trace in traces if trace is not None and not trace.gone]
    if not known or len(known) < len(rooms):
        return evidence, p_yes
    p_yes = OVERLOOKED * p_yes / (OVERLOOKED * p_yes + 1.0 - p_yes)
    if p_yes > 0.5:
        return evidence, p_yes
    trace = max(known, key=lambda one: one.time)
    room = team.graph.rooms.get(trace.to_room)
    moved = replace(
        evidence,
        kind="moved",
        objects=(trace.object,),
        moved_to=room.name if room is not None else trace.to_room,
        moved_by=trace.robot,
        age=max(team.time - trace.time, 0.0),
    )
    return moved, p_yes


def moved_text(evidence: Evidence) -> str:
    """Return who took a thing away and where it is now, for people."""
    what = "took it away from there"
    if evidence.moved_to:
        what = f"brought it to the {evidence.moved_to}"
    return f"{evidence.moved_by} {what} {age_text(evidence.age)}"


def brought_text(evidence: Evidence, memory: Memory) -> str:
    """Return who brought what this robot itself has not seen; empty where it saw one itself."""
    found = [memory.graph.objects[key] for key in evidence.objects if key in memory.graph.objects]
    last = [thing.last_seen for thing in found if thing.last_seen is not None]
    if not last or any(one.robot == memory.robot for one in last):
        return ""
    newest = max(last, key=lambda one: one.time)
    return f"{newest.robot} brought one there {age_text(evidence.age)}"


def _meant(memory: Memory, event: ObjectEvent) -> str | None:
    """Return the remembered object that an event is about, if it was not seen since then."""
    household = load_household()
    kind = household.canonical(event.label)
    best: tuple[float, str] | None = None
    for key, thing in memory.graph.objects.items():
        if not any(household.canonical(label) == kind for label in thing.label.weights):
            continue
        if thing.last_seen is not None and thing.last_seen.time > event.time:
            continue
        if thing.box.volume > 0.0:
            away = distance(thing.box.center, event.position)
            near = away <= EVENT.distance_m
        else:  # a detector without geometry: the room has to do
            away, near = (
                EVENT.distance_m,
                bool(event.from_room) and thing.room == event.from_room,
            )
        if near:
            best = min(best or (away, key), (away, key))
    return best[1] if best is not None else None
