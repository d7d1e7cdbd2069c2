"""Things that robots report, put into a map: which known thing is it, and where is it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from coterie_core.geometry import Box, Vec2, Vec3, distance
from coterie_core.household import load_household
from coterie_core.tasks import Thing
from coterie_world.association import SIGHTING
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject, Sighting, free_id
from coterie_world.sizes import known_size, oversize
from coterie_world.surfaces import free_points, hollow_bottom, usual_surfaces

MOVED_DISTANCE_M = 1.0
"""A thing with a known id that is farther from where it was has been moved [m]."""
PLACED_RADIUS_M = 0.2
"""Largest distance from where it was put at which a thing is still on what it was put on [m]."""
_LEVEL = 0.1
"""Largest difference in height at which a thing may still stand as high as it was put [m]."""
_FELL = 0.2
"""Drop in height from which a thing is not on what it was put on any more [m]."""
_SLIVER = 0.2
"""Fraction of its kind's least volume below which a thing is a part of one, or something else."""
CLEARNESS_RATIO = 10.0
"""Ratio of clearness at which one thing makes another in its place doubtful."""
INSIDE_FRACTION = 0.7
"""Solid furniture that lies in another piece by more than this share is taken for that one."""
_SIZE = (0.1, 0.1, 0.1)
_ON = 0.35
_FLOOR = 0.15
"""Height above the floor below which a thing lies on no table, seat or counter [m]."""
_SUNK = 0.08
"""Depth below the bottom of a tub from which a thing lies beside it, in too wide a box [m]."""
_EDGE = 0.15
"""Distance from its sides by which a box that a camera saw may be too wide [m]."""
_LOWEST = 0.4
"""Nor does what lies lower than this share of their height: seats are at half of it."""

_FLAT = ("hung", "window", "beside", "above", "ceiling", "none", "on")
"""Places (`Category.place`) of fixtures that fill no volume: windows, curtains, mirrors, walls."""


@lru_cache(maxsize=4096)
def kind_of(label: str) -> str:
    """Return the household's name for a label; asked for thousands of times."""
    return load_household().canonical(label)


@lru_cache(maxsize=4096)
def is_solid(label: str) -> bool:
    """Whether a thing is furniture that fills its box: what hangs or lies flat does not."""
    category = load_household().category(label)
    if category is None or category.kind == "item" or category.place == "rug":
        return False
    return category.kind == "furniture" or category.place not in _FLAT


def seen_in_passing(things: Iterable[SceneObject]) -> set[str]:
    """Return the ids of things that were seen far less clearly to be such than another one.

    They are what a detector took for such a thing in passing; people do not mean those. A sliver of
    what its kind takes up counts by so much less. What a map that was given has, and nobody has
    seen yet, is not in doubt.
    """
    things = list(things)
    sure = [clearness(thing, _SLIVER) for thing in things]
    return {
        thing.id
        for thing, weight in zip(things, sure, strict=True)
        if thing.last_seen is not None
        and CLEARNESS_RATIO * weight <= max(sure)
        and weight < max(sure)
    }


def clearness(thing: SceneObject, sliver: float = 1.0) -> float:
    """Return how clearly a thing was seen to be what it is taken for: evidence, 0 for none.

    What has less than the share `sliver` of the least volume of its kind counts by that share.
    """
    sure = thing.label.weights.get(thing.label.top, 0.0)
    size = known_size(thing.label.top)
    if size is None or not thing.box.volume:
        return sure
    share = thing.box.volume / math.prod(least for least, _ in size)
    return share * sure if share < sliver else sure


def as_thing(thing: SceneObject) -> Thing:
    """Return a thing of a map as tasks name it."""
    return Thing(label=thing.label.top, id=thing.id, position=thing.box.center, room=thing.room)


def note_found(
    scene: SceneGraph,
    thing: Thing,
    robot: str,
    time: float,
    known_as: str = "",
    apart: Collection[str] = (),
) -> tuple[SceneObject, bool] | None:
    """Put a thing that a robot saw into the map; return it and whether that is news.

    Known is what has its id and label, or lies where one of its label does; None: the robot says
    too little to tell.

    Args:
        scene: The map.
        thing: Thing that was seen.
        robot: Name of the robot that saw it.
        time: Time of the sighting [s].
        known_as: Id in this map of what the robot calls so ("" if it is new).
        apart: Ids in this map of other things that the robot has told of: those it is not.
    """
    label = thing.label.strip()
    if not label:
        return None
    kind = kind_of(label)
    alike = [o for o in scene.objects.values() if kind_of(o.label.top) == kind]
    same = next((o for o in alike if o.id == (known_as or thing.id)), None)
    alike = [o for o in alike if o.id not in apart or o is same]
    at = thing.position
    if at is None:
        return (same, False) if same is not None else None
    nearest = SIGHTING.nearest(at, ((o.id, o.box) for o in alike))
    # Ids of two robots' own maps may be the same by chance: what lies there counts.
    if same is None or distance(same.box.center, at) > MOVED_DISTANCE_M:
        if nearest is not None:
            same = scene.objects[nearest]
        elif same is not None and same.last_seen is not None:
            same = None  # another robot's thing of that name: this one was seen elsewhere
    news = same is None
    if same is None:
        same = SceneObject(
            free_id(scene.objects, thing.id or label.replace(" ", "-")),
            LabelBelief.of(label),
            Box(at, usual_size(scene, label, at)),
            kind=load_household().kind(label),
        )
        scene.add_object(same)
    elif distance(same.box.center, at) > MOVED_DISTANCE_M:
        news = True
    if news:
        same.box = Box(at, same.box.size, same.box.yaw)
        same.room = thing.room if thing.room in scene.rooms else room_at(scene, at)
        rest(scene, same)
    same.observations += 1
    same.last_seen = Sighting(time, robot)
    return same, news


def put_down(scene: SceneGraph, thing: str, owner: str) -> None:
    """Take down that a thing now stands on or in another."""
    item, place = scene.objects.get(thing), scene.objects.get(owner)
    if item is None or place is None:
        return
    open_tops = [r for r in place.receptacles if not r.inside]
    surfaces = open_tops or place.receptacles
    x, y, _ = place.box.center
    label = place.label.top
    z = hollow_bottom(label, place.box)
    z = usual_surfaces(label, place.box)[0].center[2] if z is None else z
    top = Box((x, y, z), (*place.box.size[:2], 0.0), place.box.yaw)
    surface = surfaces[0].surface if surfaces else top
    item.box = _free_spot(item, surface, scene.objects.values())
    item.room, item.support = place.room, place.id
    item.container = "" if open_tops or not surfaces else place.id


def _free_spot(item: SceneObject, surface: Box, others: Iterable[SceneObject]) -> Box:
    """Return a box for a thing on a surface, clear of what is known to stand there.

    Where exactly it was put nobody has told; two things in one spot would hide one another.
    """
    x, y, z = surface.center
    boxes = [one.box for one in others if one.id != item.id and one.kind == "item"]
    free = free_points(surface, item.box, boxes).tolist()
    x, y = min(free, key=lambda at: (math.dist(at, (x, y)), at), default=(x, y))
    return Box((x, y, z + item.box.size[2] / 2.0), item.box.size, item.box.yaw)


def taken_up(scene: SceneGraph, thing: str) -> None:
    """Take down that a thing is in a hand."""
    item = scene.objects.get(thing)
    if item is not None:
        item.support = item.container = ""


def rest(scene: SceneGraph, thing: SceneObject) -> None:
    """Find out what a thing stands on or in, by where it is."""
    thing.support, inside = resting_on(scene, thing)
    thing.container = thing.support if inside else ""


def resting_on(scene: SceneGraph, thing: SceneObject) -> tuple[str, bool]:
    """Return the id of what a thing stands on or in ("" for nothing), and whether it is in it."""
    return support_at(scene, thing.box.center, thing.box.bottom, thing.id)


def support_at(
    scene: SceneGraph, point: Vec3, bottom: float | None = None, but: str = ""
) -> tuple[str, bool]:
    """Return the same for something at a point [m] that no object stands for yet."""
    x, y, z = point
    low = z - 0.05 if bottom is None else bottom
    best: tuple[float, str, bool] | None = None
    for owner in scene.objects.values():
        if owner.id == but:
            continue
        for receptacle in owner.receptacles:
            surface = receptacle.surface
            above = low - surface.center[2]
            flat = Box((*surface.center[:2], 0.0), (*surface.size[:2], 1.0), surface.yaw)
            if -0.15 <= above <= _ON and flat.contains((x, y, 0.0), 0.05):
                if best is None or abs(above) < best[0]:
                    best = (abs(above), owner.id, receptacle.inside)
    if best is not None:
        return best[1], best[2]
    # What was found on the way is a box: what lies in or on that lies on it.
    boxes = [
        owner
        for owner in scene.objects.values()
        if owner.id != but and not owner.told_surfaces and _lies_in(owner, low, (x, y))
    ]
    # A basket that stands on a shelf is in the shelf's box as well.
    nearest = min(boxes, key=carries_before, default=None)
    return (nearest.id if nearest is not None else "", False)


def carries_before(owner: SceneObject) -> tuple[bool, float, str]:
    """Return by what furniture is put in order, of which one carries what lies in all their boxes.

    The smallest one does; what is too large for its kind is no such thing, or its box is wrong.
    """
    wrong = oversize(owner.label.top, owner.box.size) > 1.0
    return (wrong, owner.box.volume, owner.id)


def _lies_in(owner: SceneObject, low: float, point: Vec2) -> bool:
    """Whether a thing at a point [m], its bottom at a height [m], is in or on an owner's box."""
    label = owner.label.top
    category = load_household().category(label)
    hollow = category is not None and category.depth > 0.0
    if owner.kind != "furniture" and not hollow and not is_solid(label):
        return False
    middle = (*point, owner.box.center[2])
    if not owner.box.contains(middle, 0.05):
        return False
    at_edge = not owner.box.contains(middle, -edge_of(owner))
    return lowest_on(owner, at_edge=at_edge) <= low <= owner.box.top + _ON


def stays_where_put(scene: SceneGraph, thing: SceneObject, owner: str, put_at: Vec3) -> bool:
    """Have what is seen where it was put rest there, though its box lies in other ones too.

    What is seen much lower in its owner's box has fallen beside it: that may be too wide, and what
    was put onto a cabinet is not behind its doors. Of tubs, baskets and shelves it does not tell.

    Args:
        scene: The map.
        thing: What was put, as it is seen.
        owner: Id of what it was put on or into.
        put_at: Position that its foot was put at [m].

    Returns:
        Whether it is still there.
    """
    holder = scene.objects.get(owner)
    if holder is None:
        return False
    on = owner in (thing.support, thing.container)
    category = load_household().category(holder.label.top)
    deep = category is not None and (category.depth > 0.0 or category.boards)
    if on and not deep and thing.box.bottom < put_at[2] - _FELL:
        thing.support = thing.container = ""
        return True
    foot = (*thing.box.center[:2], thing.box.bottom)
    there = _rests_where_put(holder, put_at, foot, bool(thing.support or thing.container))
    if there and not on:
        thing.support, thing.container = owner, ""
    return there


def _rests_where_put(owner: SceneObject, put_at: Vec3, foot: Vec3, borne: bool) -> bool:
    """Whether a thing whose foot is seen at a point [m] is still on what it was put on.

    Boxes of cameras may end before what bears it does: what nothing else bears (`borne`), and
    stands as high as it was put, may be seen twice as far away from there. Of tubs and baskets
    nobody knows how deep it falls.
    """
    if hollow_bottom(owner.label.top, owner.box) is not None and foot[2] <= put_at[2]:
        return math.dist(foot[:2], put_at[:2]) <= PLACED_RADIUS_M
    level = not borne and abs(foot[2] - put_at[2]) <= _LEVEL
    return math.dist(foot, put_at) <= (2.0 * PLACED_RADIUS_M if level else PLACED_RADIUS_M)


def inside_only(thing: SceneObject) -> bool:
    """Whether things go into it and not onto it; what was found on the way has a top."""
    return bool(thing.receptacles) and all(r.inside for r in thing.receptacles)


def edge_of(owner: SceneObject) -> float:
    """Return how far in from its sides [m] a box may show what is beside the thing."""
    return min(_EDGE, min(owner.box.size[:2]) / 4.0)


def lowest_on(owner: SceneObject, *, at_edge: bool = False) -> float:
    """Return how low the bottom of a thing may be [m] that lies on or in another's box.

    Boxes of cameras are too wide: what fell beside a table lies in its box, but not on it. On the
    lowest board of a shelf, behind doors and in baskets things do lie as low as the floor, in tubs
    as low as their bottom; behind doors that are not known to be open not at the edge of the box
    (`edge_of`).
    """
    category = load_household().category(owner.label.top)
    box = owner.box
    if box.size[2] <= 2.0 * _FLOOR or category is None:
        return box.bottom - 0.05
    bottom = hollow_bottom(owner.label.top, box)
    if bottom is not None:
        return max(box.bottom - 0.05, bottom - _SUNK)
    behind_doors = category.opens and (owner.is_open is True or not at_edge)
    if behind_doors or category.shape == "shelf":
        return box.bottom - 0.05
    return box.bottom + max(_FLOOR, _LOWEST * box.size[2])


def room_at(scene: SceneGraph, point: Vec3) -> str:
    """Return the id of the room whose outline a point lies in ("" where none does)."""
    floors = sorted(scene.floors.values(), key=lambda f: f.elevation)
    below = [f.id for f in floors if f.elevation <= point[2] + 0.3]
    for room in scene.rooms.values():
        if room.polygon and (not room.floor or not below or room.floor == below[-1]):
            if within(room.polygon, point[:2]):
                return room.id
    return ""


def within(polygon: Sequence[Vec2], point: Vec2) -> bool:
    """Tell whether a point [m] lies in an outline."""
    x, y = point
    inside = False
    for (ax, ay), (bx, by) in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            inside = not inside
    return inside


def usual_size(scene: SceneGraph, label: str, at: Vec3) -> Vec3:
    """Return about how large something is of which a robot told only label and middle [m].

    How it is turned nobody knows: its footprint is taken as a square of the same girth. Furniture
    stands on the floor.
    """
    category, size = load_household().category(label), known_size(label)
    if category is None or size is None:
        return _SIZE
    if category.kind == "fixture" and not is_solid(label):
        return _SIZE
    wide, deep, high = (sum(edge) / 2.0 for edge in size)
    if category.kind == "item":
        return ((wide + deep) / 2.0, (wide + deep) / 2.0, high)
    floors = [f.elevation for f in scene.floors.values() if f.elevation <= at[2]]
    if category.place not in ("hung", "above", "ceiling", "window") and floors:
        high = min(2.0 * (at[2] - max(floors)), 2.0 * high)
    edge = (wide + deep) / 2.0
    return (edge, edge, max(high, _SIZE[2]))
