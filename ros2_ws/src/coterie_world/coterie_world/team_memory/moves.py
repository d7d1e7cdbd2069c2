"""Takes robots' acts on objects into a team's memory."""

from __future__ import annotations

from dataclasses import replace

from coterie_core.geometry import Box
from coterie_core.household import load_household
from coterie_world.association import EVENT
from coterie_world.object_events import ObjectEvent
from coterie_world.scene import LabelBelief, SceneObject, Sighting
from coterie_world.sightings import room_at
from coterie_world.team_memory.store import (
    DEFAULT_SIZE_M,
    Belief,
    Store,
    Trace,
    alike,
)

MAX_PHANTOM_SIGHTINGS = 2
"""A thing of at most so many sightings that a second look does not confirm was a phantom."""


def note(store: Store, event: ObjectEvent) -> bool:
    """Take in what a robot did; returns False for an event that was heard before."""
    if event.id in store.events:
        return False
    store.events[event.id] = None
    store.time = max(store.time, event.time)
    kind = event.kind
    if kind == "picked":
        _picked(store, event)
    elif kind == "placed":
        _placed(store, event)
    else:
        thing = store.meant(event)
        if thing is None:
            return True
        if kind in ("opened", "closed"):
            if thing.is_open is not None:
                thing.is_open = kind == "opened"
        elif store.beliefs[thing.id].since <= event.time and thing.kind == "item":
            belief = store.beliefs[thing.id]
            if kind == "gone":
                room = event.from_room or thing.room
                store.trace(thing, event.robot, event.time, room=room, gone=True, task=event.task)
                store.drop(thing.id)
            elif belief.sightings <= MAX_PHANTOM_SIGHTINGS:
                store.trace(thing, event.robot, event.time, gone=True, task=event.task)
                store.drop(thing.id)
            else:
                belief.misses, belief.missed_by = belief.misses + 1.0, event.robot
    store.version += 1
    store.bound()
    return True


def _picked(store: Store, event: ObjectEvent) -> None:
    thing = store.meant(event)
    if thing is None:
        if store.left_from(event.label, event.position, event.time) is not None:
            return  # somebody took it from there later on: this is old news
        thing = _from(store, event)
    belief = store.beliefs[thing.id]
    if belief.moved > event.time:
        return
    store.trace(thing, event.robot, event.time, room=event.from_room, task=event.task)
    thing.room = thing.support = thing.container = ""
    thing.last_seen = Sighting(event.time, event.robot)
    for other in store.beliefs.values():
        if other.held_by == event.robot:
            other.held_by = ""
    belief.held_by, belief.since, belief.moved = event.robot, event.time, event.time
    belief.misses, belief.sightings = 0.0, belief.sightings + 2
    belief.holder, belief.put_at = "", None


def _placed(store: Store, event: ObjectEvent) -> None:
    held = next((i for i, b in store.beliefs.items() if b.held_by == event.robot), "")
    thing = store.graph.objects.get(held)
    if thing is not None and not alike(thing.label.top, event.label):
        thing = None
    if thing is None:
        thing = store.meant(event, anywhere=True) or _from(store, event)
        if store.beliefs[thing.id].moved <= event.time:
            store.trace(thing, event.robot, event.time, room=event.from_room, task=event.task)
    belief = store.beliefs[thing.id]
    if belief.moved > event.time:
        return
    room = store.room_with(event.to_room) or room_at(store.graph, event.position)
    later = store.left_from(event.label, event.position, event.time)
    twin = store.graph.objects.get(later.object) if later is not None else None
    if twin is not None and twin is not thing:
        _arrived(store, event, thing, room, twin.id)
        store.drop(thing.id)  # it was moved on from there, which was heard first
        return
    x, y, z = event.position
    size = thing.box.size
    thing.box = Box((x, y, z + size[2] / 2.0), size, thing.box.yaw)
    thing.room = room
    if belief.held_by:
        _seen_too_early(store, thing, since=belief.moved)
    store.rest(thing)
    if event.holder in store.graph.objects and not thing.container:
        thing.support = event.holder
    belief.holder, belief.put_at = event.holder, event.position
    thing.last_seen = Sighting(event.time, event.robot)
    thing.properties["moved_by"] = event.robot
    belief.held_by, belief.since, belief.moved, belief.misses = "", event.time, event.time, 0.0
    trace = _arrived(store, event, thing, room, thing.id)
    if trace is not None:
        thing.properties["moved_from"] = trace.from_room


def _seen_too_early(store: Store, thing: SceneObject, since: float) -> None:
    """Know what was seen where a thing was put, before that was told, as that thing."""
    twins = [
        other.id
        for other in store.graph.objects.values()
        if other is not thing
        and alike(other.label.top, thing.label.top)
        and store.beliefs[other.id].added >= since
        and EVENT.score(other.box, thing.box)
    ]
    for twin in twins:
        sources = [source for source, own in store.sources.items() if own == twin]
        store.drop(twin)
        store.sources.update(dict.fromkeys(sources, thing.id))


def _arrived(
    store: Store, event: ObjectEvent, thing: SceneObject, room: str, now: str
) -> Trace | None:
    """Complete the trace of what a robot has put down in a room; return it (None: there is none).

    `now` is the id that the thing goes by from here on.
    """
    for k in range(len(store.traces) - 1, -1, -1):
        trace = store.traces[k]
        if trace.object == thing.id and trace.robot == event.robot and not trace.to_room:
            task = event.task or trace.task
            done = replace(trace, object=now, to_room=room, time=event.time, task=task)
            store.traces[k] = done
            return done
    return None


def _from(store: Store, event: ObjectEvent) -> SceneObject:
    """Make a thing that only an event tells of."""
    thing = SceneObject(
        store.free(event.object or f"team-{event.label.replace(' ', '-')}-1"),
        LabelBelief.of(event.label),
        Box(event.position, DEFAULT_SIZE_M),
        store.room_with(event.from_room),
        kind=load_household().kind(event.label),
        observations=1,
        last_seen=Sighting(event.time, event.robot),
    )
    store.graph.add_object(thing)
    store.beliefs[thing.id] = Belief(event.time, added=store.time)
    return thing
