"""Maps that are given to a team, taken into its memory."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from coterie_core.geometry import Box, distance
from coterie_world.association import MEMORY
from coterie_world.scene import Room, SceneGraph, SceneObject, associate
from coterie_world.scene.regions import is_region, same_region
from coterie_world.sightings import kind_of
from coterie_world.team_memory.store import DEFAULT_SIZE_M, NEVER_S, Belief, Store, alike

CLOCK_RESET_S = 60.0
"""A map with robots that is so much older than the memory is of a clock that began anew [s]."""


def adopt(store: Store, given: SceneGraph) -> None:
    """Take in a map: one that was known beforehand, or the latest of a mapper.

    What the team has moved or seen since the map saw it stays as it is. A thing that an earlier
    map had and this one lacks is forgotten, unless the team itself saw or moved it.
    """
    given = copy.deepcopy(given)
    told = [a.last_seen.time for a in given.agents.values() if a.last_seen is not None]
    if told and max(told) < store.time - CLOCK_RESET_S:
        store.restart(max(told))
    store.time = max(store.time, *told, 0.0)
    things, given.objects = list(given.objects.values()), {}
    if given.rooms:
        _forget_regions(store.graph, given.rooms)
    for part in ("floors", "rooms", "connections", "places", "links"):
        getattr(store.graph, part).update(getattr(given, part))
    store.graph.frame = given.frame
    same = _matches(store, things)
    stands = {thing.id: (thing.support, thing.container) for thing in things}
    renamed: dict[str, str] = {}
    for thing in things:
        source = thing.id
        renamed[source], news = _adopt(store, thing, same.get(source))
        if not news:
            del stands[source]
    for source, (support, container) in stands.items():
        mine = store.graph.objects[renamed[source]]
        mine.support, mine.container = renamed.get(support, ""), renamed.get(container, "")
        store.rest_where_put(mine)
    for source, id_ in list(store.sources.items()):
        if source in renamed:
            continue
        del store.sources[source]
        belief = store.beliefs.get(id_)
        if belief is not None and belief.source == source and belief.moved == NEVER_S:
            store.drop(id_)
    store.version += 1
    store.bound()


def _forget_regions(graph: SceneGraph, rooms: Mapping[str, Room]) -> None:
    """Forget regions that a map no longer has: robots find new ones, and two become one."""
    gone = {
        id_: same_region(room, rooms.values())
        for id_, room in graph.rooms.items()
        if is_region(room) and id_ not in rooms
    }
    for id_ in gone:
        del graph.rooms[id_]
    for key, one in list(graph.connections.items()):
        if one.room_a in gone or one.room_b in gone:
            del graph.connections[key]
    for thing in graph.objects.values():
        if thing.room in gone:
            now = gone[thing.room]
            thing.room = "" if now is None else now.id


def _matches(store: Store, things: Sequence[SceneObject]) -> dict[str, str]:
    """Return id in the map -> id here ("": it has gone), for things that are known.

    Known are those of the same id, those at the same place, and those that have left the place
    since the map saw them there.
    """
    objects = store.graph.objects
    same: dict[str, str] = {}
    for thing in things:
        known = store.sources.get(thing.id, thing.id)
        if known in objects and (
            thing.id in store.sources
            or kind_of(objects[known].label.top) == kind_of(thing.label.top)
        ):
            same[thing.id] = known
    _follow_moved(store, things, same)
    taken = {*same.values(), *store.sources.values()}
    free = [t for t in objects.values() if t.id not in taken and not store.beliefs[t.id].held_by]
    for mine, theirs in associate(free, [t for t in things if t.id not in same], MEMORY):
        same[theirs.id] = mine.id
        taken.add(mine.id)
    for thing in things:
        if thing.id in same or thing.kind != "item":
            continue
        trace = store.left_from(thing.label.top, thing.box.center, _seen(thing), but=taken)
        if trace is not None:
            same[thing.id] = trace.object if trace.object in objects else ""
            taken.add(trace.object)
    return same


def _follow_moved(store: Store, things: Sequence[SceneObject], same: dict[str, str]) -> None:
    """Know what robots moved by what the map shows where they put it, in `same`.

    A mapper that sees it there calls it something new; what it still has at the old place is not
    that thing: it has gone, or is another one, if it was seen there since.
    """
    for id_, belief in store.beliefs.items():
        if belief.moved == NEVER_S or belief.held_by:
            continue
        mine = store.graph.objects[id_]
        here: list[tuple[float, str]] = []
        elsewhere: list[SceneObject] = []
        for thing in things:
            known = same.get(thing.id)
            if known not in (None, id_) or not alike(thing.label.top, mine.label.top):
                continue
            away = distance(thing.box.center, mine.box.center)
            if away <= MEMORY.distance_m:
                here.append((away, thing.id))
            elif known == id_:
                elsewhere.append(thing)
        if not here:
            continue
        for thing in elsewhere:
            if _seen(thing) <= belief.moved:
                same[thing.id] = ""
            else:
                del same[thing.id]
                store.sources.pop(thing.id, None)
        if id_ not in same.values():
            same[min(here)[1]] = id_


def _seen(thing: SceneObject) -> float:
    return thing.last_seen.time if thing.last_seen is not None else NEVER_S


def _adopt(store: Store, thing: SceneObject, known: str | None) -> tuple[str, bool]:
    """Take in a thing of a map; return its id here ("": it has gone), and whether it is news."""
    if known == "":
        return "", False
    seen = _seen(thing)
    store.time = max(store.time, seen)
    if known is None:
        since = seen if thing.last_seen is not None else store.time
        source, thing.id = thing.id, store.free(thing.id)
        store.graph.add_object(thing)
        sightings = max(thing.observations, 1) + 1
        store.beliefs[thing.id] = Belief(since, sightings, source=source, added=store.time)
        store.sources[source] = thing.id
        return thing.id, True
    store.sources[thing.id] = known
    mine, belief = store.graph.objects[known], store.beliefs[known]
    mine.receptacles = mine.receptacles or thing.receptacles
    mine.kind = thing.kind
    news = seen > max(belief.since, belief.moved)
    if news:
        mine.box, mine.room = thing.box, thing.room
        mine.is_open, mine.label, mine.last_seen = thing.is_open, thing.label, thing.last_seen
        mine.properties = {**mine.properties, **thing.properties}
        mine.embeddings = thing.embeddings or mine.embeddings
        belief.since, belief.misses, belief.held_by = seen, 0.0, ""
    elif mine.box.size == DEFAULT_SIZE_M:
        mine.box = Box(mine.box.center, thing.box.size, mine.box.yaw)
    belief.sightings = max(belief.sightings, thing.observations + 1)
    return known, news
