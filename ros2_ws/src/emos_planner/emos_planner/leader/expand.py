"""The sub-tasks that wants need with what the map shows, made anew as things are found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from coterie_core.geometry import distance
from coterie_core.household import load_household
from coterie_core.tasks import SubTask, SubTaskState, Thing
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.grounding import Resolver
from coterie_requests.understanding.phrases import Phrase
from coterie_world.scene import SceneObject
from coterie_world.sightings import as_thing, inside_only, kind_of, seen_in_passing
from coterie_world.surfaces import is_seat
from emos_planner.leader.order import put_in_order
from emos_planner.leader.task_graph import SEEN, TaskGraph, Want, named

ROOMS_PER_SEARCH = 4
"""Rooms that one search sub-task holds: few enough to share a search among robots."""
MOST_THINGS = 60
"""Things that one want may move, and a robot reports: phantoms must not fill the team's day."""
MOST_LABELS = 3
"""Labels that are searched for where several will do: the likeliest."""
_DONE = SubTaskState.DONE


def expand(graph: TaskGraph) -> list[str]:
    """Add the sub-tasks that wants need with what the map shows now; return the new ids.

    Called again whenever the map has grown: things that were looked for are picked, placed, looked
    at once they are found, and a search is added once where the map shows too little.

    Raises:
        NotUnderstood: What is wanted cannot be on this map (no such room, nothing to put it on).
    """
    before = set(graph.sub_tasks)
    resolver = Resolver(graph.scene)
    taken = {id for want in graph.wants for id in want.assigned if want.kind in ("bring", "take")}
    for want in graph.wants:
        if want.kind == "go":
            _go(want, resolver, graph)
        else:
            _serve(want, resolver, graph, taken)
    put_in_order(graph)
    return [id for id in graph.sub_tasks if id not in before]


def _go(want: Want, resolver: Resolver, graph: TaskGraph) -> None:
    phrase = want.phrase
    if want.assigned:
        return
    if resolver.is_place(phrase):
        rooms = resolver.rooms(phrase)
        for room in rooms if want.need == 0 and not phrase.floor else rooms[:1]:
            _visit(want, room.id, room.name, graph, rooms=(room.id,))
        return
    found = resolver.things(phrase)
    if not found:
        _search(want, want.searches, want.label, phrase, resolver, graph)
    for thing in found[: want.need or MOST_THINGS]:
        _visit(want, thing.id, named(thing, graph.scene), graph, object=as_thing(thing))


def _visit(want: Want, id: str, name: str, graph: TaskGraph, **where: Any) -> None:
    """Have whoever is to go there go to a thing or a room (id)."""
    who = graph.robots if want.everybody else (want.robot,)
    want.assigned[id] = tuple(
        graph.add("go_to", f"go to {name}", robot=robot, **where) for robot in who
    )


def _serve(want: Want, resolver: Resolver, graph: TaskGraph, taken: set[str]) -> None:
    """See to every thing that fits, as many as are needed; search where there are too few."""
    targets: list[SceneObject] = []
    if want.target is not None:
        targets = resolver.targets(want.target, want.relation, want.label)
        if not targets:
            if resolver.is_place(want.target):
                raise NotUnderstood(
                    f"the map shows nothing in {want.target.said!r} to put things on; name a "
                    "piece of furniture"
                )
            label = want.target.label or want.target.noun
            _search(want, want.target_searches, label, want.target, resolver, graph)
        want.targets = tuple(dict.fromkeys((*want.targets, *(t.id for t in targets))))
    found = [
        t
        for t in resolver.things(want.phrase)
        if t.id not in want.assigned and t.id not in want.satisfied
    ]
    if want.kind == "bring":
        there = {target.id for target in targets} - seen_in_passing(targets)
        fits = [t for t in found if t.support in there or t.container in there]
        others = [t for t in found if t not in fits and t.id not in taken and t.id not in there]
        found = sorted(others, key=lambda t: (_far(t, targets), t.id))
        if not want.need or graph.resumed or len(found) + want.count < want.need:
            enough = 0 if graph.resumed else len(found)
            most = max(want.need - enough - want.count, 0) if want.need else len(fits)
            for thing in sorted(fits, key=lambda t: t.id)[:most]:
                # What the map has there already has to be seen there before it counts.
                looks = graph.detected(thing)
                if looks:
                    want.assigned[thing.id] = looks
                else:
                    want.satisfied.add(thing.id)
    for thing in found[:MOST_THINGS]:
        if want.enough:
            break
        if want.kind == "bring" and not targets:
            break
        needed = _chain(want, thing, targets, graph)
        if needed:
            want.assigned[thing.id] = needed
        else:
            want.satisfied.add(thing.id)  # only to be seen, and seen already
        if want.kind in ("bring", "take"):
            taken.add(thing.id)
    if _unclear(want, graph) and not want.enough:
        _search(want, want.searches, want.label, want.phrase, resolver, graph)


def _unclear(want: Want, graph: TaskGraph) -> bool:
    """Whether the map may not show all that is wanted."""
    if want.need:
        return want.count < want.need
    if want.phrase.anything:
        if want.searches:
            return not graph.book.is_enough(want.label, want.rooms)
        return (
            not want.assigned and not want.satisfied
        )  # a map that shows something there shows all
    if want.phrase.label in graph.scene.objects:
        return False  # one that was named
    category = load_household().category(want.label)
    if category is not None and category.kind != "item":
        # All windows: furniture stays where the map has it, and one that shows some shows all.
        return not want.assigned and not want.satisfied
    return not (want.searches and graph.book.is_enough(want.label, want.rooms))


def _far(thing: SceneObject, targets: Sequence[SceneObject]) -> float:
    if not targets:
        return 0.0
    return distance(thing.box.center, targets[0].box.center)


def _search(
    want: Want,
    known: list[str],
    label: str,
    phrase: Phrase,
    resolver: Resolver,
    graph: TaskGraph,
) -> None:
    """Add searches over the rooms where a thing may be, likeliest first, once."""
    rooms, robot = graph.scene.rooms, want.robot
    if not rooms:
        graph.note("the map shows no rooms yet: robots look where they are")
    if known or not label:
        return
    if not rooms:
        known.append(graph.search(label, (), robot))
        return
    if phrase.anything:
        owners = _bearing(phrase, resolver)
        want.rooms = tuple(dict.fromkeys(owner.room for owner in owners))
        for owner in owners:
            thing, of = as_thing(owner), len(want.rooms)
            known.append(graph.search(label, (owner.room,), robot, of, owner=thing))
        return
    where = resolver.where(phrase)
    if known is want.searches:
        want.rooms = tuple(room.id for room in where)
    by_floor: dict[str, list[str]] = {}
    for room in where:
        by_floor.setdefault(room.floor, []).append(room.id)
    # "an apple or a mug", "something to drink": any of several labels will do.
    labels = phrase.labels[:MOST_LABELS] or (label,)
    for ids in by_floor.values():
        for k in range(0, len(ids), ROOMS_PER_SEARCH):
            for one in labels if label in labels else (label,):
                part = ids[k : k + ROOMS_PER_SEARCH]
                known.append(graph.search(one, part, robot, len(where)))
    if not phrase.known:
        near = resolver.nearest_name(phrase)
        hint = f" (the map has {near!r})" if near else ""
        graph.note(f"nobody knows what {phrase.noun!r} is{hint}; robots look for that name")


def _bearing(phrase: Phrase, resolver: Resolver) -> list[SceneObject]:
    """Return the furniture that "everything on the table" is on, as far as the map shows it."""
    found: dict[str, SceneObject] = {}
    rooms = set(resolver.scene.rooms)
    for modifier in phrase.places:
        if resolver.is_place(modifier.phrase):
            rooms &= {room.id for room in resolver.rooms(modifier.phrase)}
        else:
            found |= {thing.id: thing for thing in resolver.things(modifier.phrase)}
    return [thing for thing in found.values() if thing.receptacles and thing.room in rooms]


def _chain(
    want: Want, thing: SceneObject, targets: Sequence[SceneObject], graph: TaskGraph
) -> tuple[str, ...]:
    """Add open, detect, pick, open, place, as far as they are needed."""
    item, robot, name = as_thing(thing), want.robot, named(thing, graph.scene)
    if want.kind == "open":
        return (graph.opens(thing, robot),)
    if want.kind == "close":
        return (graph.add("close", f"close {name}", object=item, robot=robot),)
    if want.kind == "use":
        words = f"{want.skill} {name}"
        return (graph.add("use", words, object=item, robot=robot, skill=want.skill),)
    seen = graph.detected(thing, robot if want.kind in SEEN else "")
    if want.kind in SEEN:
        return seen
    pick = graph.add("pick", f"pick up {name}", object=item, after=seen, robot=robot)
    if want.kind == "take":
        return (*seen, pick)
    target = targets[0]
    inside = want.relation == "in" or inside_only(target)
    opening = graph.opened(target) if inside else ""
    where = "into" if inside and target.receptacles else "on"
    place = graph.add(
        "place",
        f"put {thing.id} {where} {named(target, graph.scene)}",
        object=item,
        receptacle=as_thing(target),
        after=(pick, opening),
        same_robot_as=pick,
        robot=robot,
    )
    return tuple(i for i in (*seen, pick, opening, place) if i)


def other_place(want: Want, place: SubTask, tried: Collection[str], graph: TaskGraph) -> str:
    """Have a thing put elsewhere: its place is full, or out of everybody's reach.

    First what the words mean too, then furniture of the same kind in that room, then any other in
    it that stands open. Returns the id of the sub-task that stands instead, "" where there is
    nothing else.
    """
    if place.object is None or place.receptacle is None:
        return ""
    scene = graph.scene
    first = scene.objects.get(place.receptacle.id)
    room = first.room if first is not None else place.receptacle.room
    kind = kind_of(place.receptacle.label)
    near = [
        t for t in scene.objects.values() if t.kind == "furniture" and t.room == room and _is_top(t)
    ]
    near.sort(key=lambda t: (kind_of(t.label.top) != kind, _far(t, [first] if first else []), t.id))
    meant = [scene.objects[id] for id in want.targets if id in scene.objects]
    asked = [t for t in meant if t.room == room or len(want.targets) < 6]
    target = next((t for t in asked + near if t.id not in tried), None)
    if target is None:
        return ""
    instead = target.id not in want.targets and kind_of(target.label.top) != kind
    id = graph.add(
        "place",
        f"put {place.object.id} on {named(target, scene)}" + (" instead" if instead else ""),
        object=place.object,
        receptacle=as_thing(target),
        after=[i for i in place.depends_on if not i.startswith("open-")],
        same_robot_as=place.same_robot_as,
        robot=graph.only.get(place.id, ""),
    )
    graph.remove(place.id, instead=id)
    thing = place.object.id
    want.assigned[thing] = (*(i for i in want.assigned.get(thing, ()) if i != place.id), id)
    if instead:
        want.elsewhere[thing] = f"{named(target, scene)} instead of {place.receptacle.label}"
    return id


def look_again(place: SubTask, graph: TaskGraph) -> None:
    """Add a look at what was put down, if it was asked for: who did it has not seen it there."""
    item, owner = place.object, place.receptacle
    want = next((w for w in graph.wants if item and item.id in w.assigned), None)
    known = graph.scene.objects.get(item.id) if item is not None else None
    if want is None or known is None or item is None or owner is None:
        return
    id = graph.add(
        "detect",
        f"see that {item.id} is on {owner.id or owner.label}",
        object=Thing(label=item.label, id=item.id, position=known.box.center, room=known.room),
        receptacle=owner,
    )
    graph.checks.add(id)
    want.assigned[item.id] = (*want.assigned[item.id], id)


def search_on(graph: TaskGraph) -> bool:
    """Where all searches for something are over and too much is unseen, have others go on.

    Who asks for a thing, or for two, says that there are so many: before robots give it up, they go
    on with what is left of all rooms, although that is little enough to say that there is no more.

    Returns:
        Whether there are new searches.
    """
    before = len(graph.sub_tasks)
    for want in graph.wants:
        mine = [graph.sub_tasks[id] for id in want.searches if id in graph.sub_tasks]
        lost = [one for one in mine if one.id in graph.given_up and one.state is not _DONE]
        over = all(one.state is _DONE or one in lost for one in mine)
        if not mine or not over or want.enough:
            continue
        for one in lost:
            if len(one.rooms) == 1:
                for robot in graph.robots:
                    graph.book.ended(want.label, robot, one.rooms)
        if want.need or not graph.book.is_enough(want.label, want.rooms):
            graph.search_again(want)
    return len(graph.sub_tasks) > before


def _is_top(thing: SceneObject) -> bool:
    """Whether things may be put on a piece of furniture unasked: nobody wants them on seats."""
    label = thing.label.top
    seat = is_seat(label) or load_household().canonical(label) == "stool"
    return not seat and any(not r.inside for r in thing.receptacles)


def unused(graph: TaskGraph) -> Collection[str]:
    """Return searches that no want needs any longer."""
    needed: set[str] = set()
    searches: set[str] = set()
    for want in graph.wants:
        searches |= {*want.searches, *want.target_searches}
        little = graph.book.is_enough(want.label, want.rooms)
        if not want.enough and (want.need or not little):
            needed |= set(want.searches)
        if want.kind == "bring" and not want.assigned:
            needed |= set(want.target_searches)
    return searches - needed
