"""Merge of two robots' scene graphs: a thing that both saw becomes one thing."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from coterie_core.embedding import averaged, keep_one_dimension
from coterie_core.geometry import Box, Vec3, distance, iou, wrap_angle
from coterie_core.household import load_household
from coterie_world.association import MAPS, Gate, assign
from coterie_world.likeness import MIN_LIKENESS, Background, likeness
from coterie_world.scene.graph import SceneGraph, free_id
from coterie_world.scene.model import (
    AgentState,
    Connection,
    LabelBelief,
    Room,
    SceneObject,
    Sighting,
)
from coterie_world.scene.regions import joined, same_region

_SIZED = 0.5
"""Least likeness times similarity of sizes: words for what lies on another thing are alike, too."""
_THIN = 1e-5  # [m^3], so that flat boxes have a volume
_SAME_WAY = 1.0
"""Ways between the same rooms that are nearer to one another are one [m]."""
_COMPARED = 40
"""Things of a map by which it is found how alike different things are."""


MIN_LABEL_AGREEMENT = 0.1
"""Least overlap of the label distributions of one object (0..1), where its looks do not tell."""


@dataclass(slots=True)
class MergeReport:
    """What a merge did: ids of `other` that were matched (-> id in the result) and added."""

    matched: dict[str, str] = field(default_factory=dict)
    added: dict[str, str] = field(default_factory=dict)
    rooms: dict[str, str] = field(default_factory=dict)


def label_agreement(a: LabelBelief, b: LabelBelief) -> float:
    """Overlap of two label distributions: sum over kinds of the smaller probability (0..1).

    Labels that the household's tables hold for one kind of thing ("couch", "sofa") count as one.
    """
    pa, pb = _kinds(a), _kinds(b)
    return sum(min(p, pb[kind]) for kind, p in pa.items() if kind in pb)


def _kinds(belief: LabelBelief) -> dict[str, float]:
    total, household = belief.total, load_household()
    found: dict[str, float] = {}
    for label, weight in belief.weights.items() if total > 0.0 else ():
        kind = household.canonical(label)
        found[kind] = found.get(kind, 0.0) + weight / total
    return found


def size_similarity(volume: float, other: float) -> float:
    """How alike two volumes above 0 are [m^3] (0..1): the fourth root of their ratio."""
    return float((min(volume, other) / max(volume, other)) ** 0.25)


def has_geometry(thing: SceneObject) -> bool:
    """Whether the thing's box is known (topological worlds and plain lists have none)."""
    return thing.box.volume > 0.0


def same_thing(
    a: SceneObject, b: SceneObject, gate: Gate = MAPS, background: Background | None = None
) -> float:
    """Return how surely `a` and `b` are one thing: 0 (no) .. 2.

    Boxes that overlap enough are one thing whatever their labels: two things cannot be in one spot.
    Otherwise the labels have to agree, or the embeddings and the sizes to be alike.

    Args:
        a: One.
        b: Another.
        gate: Where both may be.
        background: Likeness of embeddings of different things; None: the usual one.
    """
    if not (has_geometry(a) and has_geometry(b)):
        return 2.0 if a.id == b.id and a.room == b.room else 0.0
    if (overlap := iou(a.box, b.box)) >= gate.min_iou:
        return 1.0 + overlap
    agreement = label_agreement(a.label, b.label)
    alike = likeness(a.embeddings, b.embeddings, background or Background())
    if alike >= MIN_LIKENESS:
        alike *= size_similarity(a.box.volume + _THIN, b.box.volume + _THIN)
        agreement = max(agreement, alike if alike >= _SIZED else 0.0)
    return agreement * gate.score(a.box, b.box) if agreement >= MIN_LABEL_AGREEMENT else 0.0


def absorb(thing: SceneObject, other: SceneObject) -> None:
    """Add what `other` tells to `thing`, which is the same thing.

    Evidence adds up, the box is the mean weighted by observations, and what changes with time
    (room, support, container, open or not) comes from whoever saw it last.
    """
    ours, theirs = max(thing.observations, 1), max(other.observations, 1)
    newer = _time(other.last_seen) > _time(thing.last_seen)
    moved = newer and distance(thing.box.center, other.box.center) > max(
        math.hypot(*thing.box.size) / 2.0, 0.3
    )
    if has_geometry(other):
        if not has_geometry(thing) or moved:
            thing.box = other.box
        else:
            thing.box = _mean_box(thing.box, ours, other.box, theirs)
    thing.label.add(other.label)
    thing.embeddings = averaged(thing.embeddings, ours, other.embeddings, theirs)
    thing.observations += other.observations
    if newer:
        thing.last_seen = other.last_seen
        thing.room = other.room or thing.room
        thing.support = other.support
        thing.container = other.container
        if other.is_open is not None:
            thing.is_open = other.is_open
    else:
        thing.room = thing.room or other.room
    _absorb_surfaces(thing, other, ours >= theirs)
    for key, value in other.properties.items():
        if newer or key not in thing.properties:
            thing.properties[key] = value


def _absorb_surfaces(thing: SceneObject, other: SceneObject, ours_surer: bool) -> None:
    """Add surfaces that a map told; of two estimates the one by more observations counts."""
    told = {r.id: r for one in (other, thing) for r in one.receptacles if r.variance == 0.0}
    ours, theirs = ([r for r in one.receptacles if r.variance > 0.0] for one in (thing, other))
    best = ours if ours and (ours_surer or not theirs) else theirs
    thing.receptacles = list(told.values()) or best


def merge(ours: SceneGraph, other: SceneGraph, gate: Gate = MAPS) -> tuple[SceneGraph, MergeReport]:
    """Return the union of two graphs in the same map frame; neither is changed.

    Rooms are matched by id, then by unique name on the same floor; regions that robots parted the
    floor into by overlap, too, and get the outline of both. Places are matched by id, connections
    by the rooms they join and where.
    Objects are matched one to one so that the sum of `same_thing` is largest; what has no partner
    is added, under a new id where the old one is taken. Agents: who was seen last counts.

    Raises:
        ValueError: The graphs are in different frames; transform one first.
    """
    if ours.frame != other.frame:
        raise ValueError(
            f"scene graphs are in different frames ({ours.frame!r} and {other.frame!r}); "
            "transform one into the other's frame before merging"
        )
    result = copy.deepcopy(ours)
    guest = copy.deepcopy(other)
    report = MergeReport()
    for floor in guest.floors.values():
        result.floors.setdefault(floor.id, floor)
    for room in guest.rooms.values():
        report.rooms[room.id] = _merge_room(result, room)
    for way in guest.connections.values():
        way.room_a = report.rooms.get(way.room_a, way.room_a)
        way.room_b = report.rooms.get(way.room_b, way.room_b)
        _merge_way(result, way)
    for place in guest.places.values():
        place.room = report.rooms.get(place.room, place.room)
        if place.id not in result.places:
            result.add_place(place)
        elif not result.places[place.id].room:
            result.places[place.id].room = place.room
    for links in guest.links.values():
        for link in links.values():
            if link.b not in result.links.get(link.a, {}):
                result.add_link(link)
    _merge_objects(result, guest, gate, report)
    keep_one_dimension(result.objects.values())
    for agent in guest.agents.values():
        agent.room = report.rooms.get(agent.room, agent.room)
        _merge_agent(result, agent)
    return result, report


def _merge_room(result: SceneGraph, room: Room) -> str:
    mine = result.rooms.get(room.id)
    if mine is None:
        named = result.room_named(room.name)
        if named is not None and (not named.floor or not room.floor or named.floor == room.floor):
            mine = named
    if mine is None:
        mine = same_region(room, result.rooms.values())
        if mine is not None:
            mine.polygon = joined(mine, room)
    if mine is None:
        result.add_room(room)
        return room.id
    if not mine.polygon:
        mine.polygon = room.polygon
    mine.floor = mine.floor or room.floor
    mine.type = mine.type or room.type
    return mine.id


def _merge_way(result: SceneGraph, way: Connection) -> None:
    """Add a way between rooms unless it is known; robots number theirs each from one."""
    rooms = {way.room_a, way.room_b}
    if len(rooms) < 2:
        return  # the two regions that it led between are one room of another robot
    for known in result.connections.values():
        near = known.id == way.id or distance(known.position, way.position) <= _SAME_WAY
        if near and {known.room_a, known.room_b} == rooms:
            return
    way.id = free_id(result.connections, way.id)
    result.add_connection(way)


def _merge_agent(result: SceneGraph, agent: AgentState) -> None:
    mine = result.agents.get(agent.name)
    if mine is None or _time(agent.last_seen) > _time(mine.last_seen):
        result.agents[agent.name] = agent


def _merge_objects(result: SceneGraph, guest: SceneGraph, gate: Gate, report: MergeReport) -> None:
    for thing in guest.objects.values():
        thing.room = report.rooms.get(thing.room, thing.room)
    pairs = associate(list(result.objects.values()), list(guest.objects.values()), gate)
    for mine, theirs in pairs:
        report.matched[theirs.id] = mine.id
    for thing in guest.objects.values():
        if thing.id not in report.matched:
            report.added[thing.id] = free_id(
                result.objects.keys() | report.added.values(), thing.id
            )
    renamed = report.matched | report.added
    for thing in guest.objects.values():
        thing.support = renamed.get(thing.support, thing.support)
        thing.container = renamed.get(thing.container, thing.container)
    for mine, theirs in pairs:
        absorb(mine, theirs)
    for old, new in report.added.items():
        thing = guest.objects[old]
        thing.id = new
        result.add_object(thing)


def associate(
    ours: Sequence[SceneObject], theirs: Sequence[SceneObject], gate: Gate = MAPS
) -> list[tuple[SceneObject, SceneObject]]:
    """Pair things that are the same, one to one, so that the sum of `same_thing` is greatest.

    Only near ones are compared, so that 5 000 things are no trouble.
    """
    from scipy.spatial import cKDTree  # slow to load, and few nodes compare maps

    by_id = {thing.id: thing for thing in ours if not has_geometry(thing)}
    pairs = [
        (by_id[thing.id], thing)
        for thing in theirs
        if not has_geometry(thing) and thing.id in by_id and same_thing(by_id[thing.id], thing)
    ]
    left = [thing for thing in ours if has_geometry(thing)]
    right = [thing for thing in theirs if has_geometry(thing)]
    if not left or not right:
        return pairs
    tree = cKDTree(np.array([thing.box.center for thing in left]))
    # Boxes that overlap by half have centres within half a diagonal of the larger one.
    reach = max(max(math.hypot(*t.box.size) for t in left + right) / 2.0, gate.grows_to_m)
    background = background_of(left, right)
    scores = {
        (i, j): score
        for j, thing in enumerate(right)
        for i in tree.query_ball_point(thing.box.center, reach)
        if (score := same_thing(left[i], thing, gate, background)) > 0.0
    }
    return pairs + [(left[i], right[j]) for i, j in assign(scores).items()]


def background_of(*maps: Sequence[SceneObject]) -> Background:
    """Return how alike different things of a map are, by their embeddings.

    Things of one map are different things; those of one label may be alike all the same.
    """
    background = Background()
    for things in maps:
        some = [t for t in things if t.embeddings][:_COMPARED]
        for k, thing in enumerate(some):
            for other in some[:k]:
                if label_agreement(thing.label, other.label) == 0.0:
                    background.note(thing.embeddings, other.embeddings)
    return background


def _mean_box(a: Box, weight_a: int, b: Box, weight_b: int) -> Box:
    share = weight_b / (weight_a + weight_b)

    def mean(p: Vec3, q: Vec3) -> Vec3:
        x, y, z = (u + share * (v - u) for u, v in zip(p, q, strict=True))
        return (x, y, z)

    # A box looks the same turned by half a turn: take the nearer of the two headings.
    turn = wrap_angle(b.yaw - a.yaw)
    if abs(turn) > math.pi / 2.0:
        turn = wrap_angle(turn + math.pi)
    return Box(mean(a.center, b.center), mean(a.size, b.size), wrap_angle(a.yaw + share * turn))


def _time(sighting: Sighting | None) -> float:
    return sighting.time if sighting is not None else -math.inf
