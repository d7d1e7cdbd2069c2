"""Belief about unseen things of a kind: the ground of claims of "all" or "none"."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Box, Vec2, Vec3, containment
from coterie_core.household import load_household
from coterie_world.scene import Room, SceneGraph, SceneObject
from coterie_world.sightings import within
from coterie_world.sizes import known_size
from coterie_world.surfaces import HOLLOW_SIDE, board_heights, hollow_bottom

Floats = npt.NDArray[np.float64]

STRAY_FRACTION = 0.1
"""Share of a room's things of a kind that lie where such things are not kept (0..1)."""
CELL_SIZE_M = 1.0
"""Size of the squares that a floor is looked over in [m]."""
TABLE_HEIGHT_M = 0.85
"""Height above the floor at which surfaces are looked for where no furniture is known [m]."""
MIN_FRACTION_LEFT = 0.5
"""Fraction of a room's part that is left below which a search looks no further there (0..1)."""
CONTAINER_RADIUS_M = 0.8
"""Containers of one label that robots report nearer than this are one [m]."""
ON_FURNITURE = 2.0
"""Things that a piece of furniture is expected to bear before anybody has looked at it."""
_FOUND = re.compile(r"(?P<room>.*)\|(?P<part>in|on) (?P<label>.*)@(?P<spot>[^@]*)")
"""Names regions of furniture of which nobody has told the surfaces: what is in it, or on top."""
_LIFT = 0.04  # [m] above a surface that its points are taken at least
_OVERHEAD = 1.4  # [m] above the floor from which hardly anybody sees what lies on top
_UP_THERE = 0.25  # share of what furniture so high keeps that lies on top of it
_UPPER = (
    0.3  # share of its height that the part of a thing by which it is noticed is above its middle
)
_SURFACES = 3.0  # weight of a room's surfaces where none is known, against a floor or container
_SURE = 0.95  # no room is believed to hold a thing more surely than this

Missed = Mapping[str, float]
"""Region -> the chance (0..1) that a thing there was missed by all looks so far."""


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a room where things lie: a surface, the inside of a container, a piece of floor.

    `weight` is its share of the room's things of the label (sums to 1 over the room), `points`
    [m] stand for it (none: the room has no outline, and a look from within it has to do), `owner`
    is the furniture that the surface belongs to, `inside` whether that hides it while closed,
    `rim` the box of a hollow thing: lines of sight come in through its top, `kept` whether such
    things are usually kept there. A thing is noticed by its middle or by its upper end, `tall` [m]
    above that.
    """

    key: str
    room: str
    weight: float
    points: tuple[Vec3, ...]
    owner: str = ""
    inside: bool = False
    rim: Box | None = None
    kept: bool = True
    tall: float = 0.0

    def over_rim(self, eyes: Floats, points: Floats) -> npt.NDArray[np.bool_]:
        """Tell which points (m, 3) [m] eyes (n, 3) [m] see over the rim, (n, m)."""
        if self.rim is None:
            return np.ones((len(eyes), len(points)), dtype=bool)
        rise = eyes[:, None, 2] - points[None, :, 2]
        deep = self.rim.top - points[None, :, 2]
        t = np.where(rise > deep, deep / np.maximum(rise, 1e-6), 0.0)
        away = eyes[:, None, :2] - points[None, :, :2]
        x, y = (points[None, :, k] + t * away[..., k] - self.rim.center[k] for k in (0, 1))
        c, s = math.cos(self.rim.yaw), math.sin(self.rim.yaw)
        along, across = np.abs(c * x + s * y), np.abs(c * y - s * x)
        half = [edge / 2.0 - HOLLOW_SIDE for edge in self.rim.size[:2]]
        over: npt.NDArray[np.bool_] = (rise > deep) & (along <= half[0]) & (across <= half[1])
        return over


def regions_of(
    scene: SceneGraph,
    room: Room,
    label: str,
    owners: Collection[str] = (),
) -> tuple[Region, ...]:
    """Return where in a room a thing of a label may be; the same for all who have the same map.

    With `owners` (ids of furniture) only what is on or in those counts, whatever it is.

    Surfaces of furniture come from its receptacles. Where no furniture with receptacles is known,
    the room is looked over square by square, on the floor and at the height of tables. Furniture
    that was found on the way adds what common sense knows of it: the insides of containers and of
    hollow things, boards, and tops above the eyes. `STRAY_FRACTION` of the things are anywhere but
    where such things are kept, however many such places there are.
    """
    parts = _parts_of(scene, room, label, owners)
    kept, stray = (sum(p.weight for p in parts if p.kept is side) for side in (True, False))
    shares = {True: 1.0 - STRAY_FRACTION if stray else 1.0, False: STRAY_FRACTION if kept else 1.0}
    total = {True: kept, False: stray}
    return tuple(replace(p, weight=p.weight * shares[p.kept] / total[p.kept]) for p in parts)


def _parts_of(scene: SceneGraph, room: Room, label: str, owners: Collection[str]) -> list[Region]:
    """Return regions with weights against others of those that keep such things, or do not."""
    home = load_household()
    category = home.category(label)
    usual = home.usual_owners(label)
    size = known_size(label)
    height = sum(size[2]) / 2.0 if size is not None else 0.0
    lift, tall = max(_LIFT, height / 2.0), _UPPER * height
    on_floor = category is None or "floor" in category.on
    found: list[Region] = []
    surfaces = False
    floor = scene.floors[room.floor].elevation if room.floor in scene.floors else 0.0
    for thing in sorted(scene.objects.values(), key=lambda t: t.id):
        if thing.room != room.id:
            continue
        kept = not usual or home.canonical(thing.label.top) in usual
        for part in thing.receptacles:
            surfaces |= part.variance == 0.0
            inside = part.inside and thing.is_open is not None
            points = spread_over(part.surface, lift)
            found.append(Region(part.id, room.id, 1.0, points, thing.id, inside, kept=kept))
        if not thing.told_surfaces:
            found += (replace(p, kept=kept) for p in _usual_parts(thing, lift, floor))
            if thing.id in owners:  # nobody has told its surfaces: it has a top at least
                points = spread_over(_top_of(thing.box), lift)
                found.append(Region(f"{thing.id}/top", room.id, 1.0, points, thing.id, kept=kept))
    if owners:
        here = [replace(p, kept=True) for p in found if p.owner in owners]
        # What is on a dresser is not what is in its drawers.
        found = [replace(p, weight=1.0) for p in here if not p.inside] or here
        return [replace(part, tall=tall) for part in found]
    cells = _cells(room.polygon)
    for i, j, (x, y) in cells:
        top = _top_at(scene, room.id, (x, y), floor)
        low, high = (
            (x, y, floor + 0.1),
            (x, y, floor + TABLE_HEIGHT_M if top is None else top + lift),
        )
        share = 1.0 / len(cells)
        found.append(Region(f"{room.id}:{i},{j}", room.id, share, (low,), kept=on_floor))
        if not surfaces:
            found.append(Region(f"{room.id}:{i},{j}+", room.id, _SURFACES * share, (high,)))
    if not cells:
        found.append(Region(f"{room.id}:all", room.id, 1.0, ()))
    return [replace(part, tall=tall) for part in found]


def _usual_parts(thing: SceneObject, lift: float, floor: float) -> Iterator[Region]:
    """Yield where things can be in and on something that was found on the way, as is usual.

    Weights are those of a piece of furniture that keeps such things.
    """
    box, key = thing.box, container_key(thing)
    kind = load_household().category(thing.label.top)
    shut = opens(thing)
    boards = kind is not None and kind.boards
    if shut:
        yield Region(key, thing.room, 1.0, spread_over(box, 0.0), thing.id, True)
    elif (hollow := inside_rim(thing, lift)) is not None:
        yield hollow
    elif boards:
        points = tuple((*box.center[:2], z) for z in board_heights(box))
        yield Region(key, thing.room, 1.0, points, thing.id)
    if (shut or boards) and box.top > floor + _OVERHEAD:
        top = spread_over(_top_of(box), lift)
        yield Region(container_key(thing, "on"), thing.room, _UP_THERE, top, thing.id)


def inside_rim(thing: SceneObject, lift: float = _LIFT) -> Region | None:
    """Return the region `lift` [m] above the bottom of a hollow thing; None: it is not hollow."""
    box = thing.box
    bottom = hollow_bottom(thing.label.top, box)
    if bottom is None:
        return None
    depth = box.top - bottom
    points = spread_over(_top_of(box, depth), min(lift, depth / 2.0))
    return Region(container_key(thing), thing.room, 1.0, points, thing.id, rim=box)


def _top_of(box: Box, depth: float = 0.0) -> Box:
    """Return the surface `depth` [m] below the top of a box."""
    return Box((*box.center[:2], box.top - depth), box.size, box.yaw)


def holds_things(thing: SceneObject) -> bool:
    """Tell whether other things can be hidden in a thing, as far as is known."""
    category = load_household().category(thing.label.top)
    hollow = category is not None and (category.depth > 0.0 or category.boards)
    return bool(thing.told_surfaces) or hollow or opens(thing)


def is_found(key: str) -> bool:
    """Tell whether a region is of furniture that the map lacked before: others may not know it."""
    return _FOUND.fullmatch(key) is not None


def _top_at(scene: SceneGraph, room: str, spot: Vec2, floor: float) -> float | None:
    """Return the height [m] of the furniture that is known at a spot (None: none, or too high)."""
    tops = [
        thing.box.top
        for thing in scene.objects.values()
        if thing.room == room and thing.kind != "item" and thing.box.bottom < floor + 1.0
        if thing.box.contains((*spot, thing.box.center[2]))
    ]
    return max(tops) if tops and max(tops) < floor + _OVERHEAD else None


def filled(scene: SceneGraph, regions: Sequence[Region]) -> set[str]:
    """Return the pieces of floor or air (keys) that furniture fills: nothing else can lie there."""
    free = [r for r in regions if not r.owner and len(r.points) == 1]
    rooms = {r.room for r in free}
    solid = [t for t in scene.objects.values() if t.room in rooms and t.kind != "item"]
    points = np.array([r.points[0] for r in free], dtype=float).reshape(-1, 3)
    within = containment([t.box for t in solid], points)
    within &= np.array([[t.room == r.room for t in solid] for r in free], dtype=bool).reshape(
        within.shape
    )
    full = np.flatnonzero(within.any(axis=1))
    return {free[k].key for k in full}


def opens(thing: SceneObject) -> bool:
    """Tell whether a thing is a container that can be opened, as far as is known."""
    if thing.is_open is not None:
        return True
    category = load_household().category(thing.label.top)
    return category is not None and category.opens


def container_key(thing: SceneObject, part: Literal["in", "on"] = "in") -> str:
    """Return the region in or on furniture of which only label and place are known."""
    x, y, _ = thing.box.center
    return f"{thing.room}|{part} {thing.label.top}@{x:.1f},{y:.1f}"


def expected(scene: SceneGraph, room: str, label: str, owners: Collection[str]) -> float:
    """Return how many things of a label a room (id) holds; of any kind on `owners`, if there are.

    Those are ids of furniture that alone counts.
    """
    if not owners:
        return expected_in(scene.rooms[room], label)
    here = [id for id in owners if id in scene.objects and scene.objects[id].room == room]
    return ON_FURNITURE * len(here)


def expected_in(room: Room, label: str) -> float:
    """Return how many things of a label a room holds, as common sense has it.

    With the household's chance p that the room holds any, the mean of the Poisson distribution
    that says the same: lambda = -ln(1 - p).
    """
    chance = load_household().likelihood(label, room.type or room.name)
    return -math.log(1.0 - min(chance, _SURE))


@dataclass
class SearchBelief:
    """The expected number of things of a label that nobody has seen, per room.

    Things are believed to be strewn as a Poisson process: a room r holds lambda_r of them, its
    region k the share w_rk. A look from viewpoint v reports a thing in region k with probability
    h_kv (share of the region in view, detector's recall at that distance), looks from different
    viewpoints independently. What is left unseen is then Poisson, too, whatever was found:

        E_r = lambda_r * sum_k w_rk * prod_v (1 - h_kv),    P(any left) = 1 - exp(-sum_r E_r)

    Args:
        scene: The map that all share.
        label: Label of the things.
        rooms: Ids of the rooms that count.
        owners: Ids of the furniture that alone counts, with whatever is on it (none: all).
    """

    scene: SceneGraph
    label: str
    rooms: tuple[str, ...]
    owners: frozenset[str] = frozenset()
    _missed: dict[str, dict[str, float]] = field(default_factory=dict)
    _regions: dict[str, tuple[Region, ...]] = field(default_factory=dict)

    def hear(self, robot: str, missed: Missed) -> None:
        """Take in what a robot's looks leave open; its newest report counts."""
        self._missed[robot] = dict(missed)

    def of_robots(self) -> dict[str, dict[str, float]]:
        """Return robot -> what its looks leave open."""
        return {robot: dict(missed) for robot, missed in self._missed.items()}

    def left(self, room: str) -> float:
        """Return E_r, the expected number of things in a room that nobody has seen."""
        if room not in self.scene.rooms:
            return 0.0
        if room not in self._regions:
            # What was found on the way is told by those who found it.
            regions = _parts_of(self.scene, self.scene.rooms[room], self.label, self.owners)
            self._regions[room] = tuple(r for r in regions if not is_found(r.key))
        open_ = [(r.kept, r.weight, self._open(r.key)) for r in self._regions[room]]
        if not self.owners:
            open_ += self._containers(room)
        return self.whole(room) * _open_share(open_)

    def whole(self, room: str) -> float:
        """Return how many things a room is expected to hold, seen or not."""
        return expected(self.scene, room, self.label, self.owners)

    def unseen_share(self, room: str) -> float:
        """Return which share of a room nobody has looked at (0..1), weighted as in `left`."""
        whole = self.whole(room)
        return self.left(room) / whole if whole > 0.0 else 0.0

    def total(self) -> float:
        """Return the expected number of things that nobody has seen, in all rooms."""
        return sum(self.left(room) for room in self.rooms)

    def _open(self, key: str) -> float:
        return math.prod(missed.get(key, 1.0) for missed in self._missed.values())

    def _containers(self, room: str) -> list[tuple[bool, float, float]]:
        """Return kept, weight, what is left open of each container that robots report, not the map.

        What one robot tells apart are different containers, however near one another.
        """
        home = load_household()
        usual = home.usual_owners(self.label)
        groups: list[tuple[tuple[str, str], Vec2, set[str], float]] = []
        for robot, missed in self._missed.items():
            for key, value in sorted(missed.items()):
                told = _FOUND.fullmatch(key)
                spot = _spot(told["spot"]) if told is not None else None
                if told is None or told["room"] != room or spot is None:
                    continue
                label = (told["part"], told["label"])
                near = [
                    (math.dist(spot, there), k)
                    for k, (other, there, robots, _) in enumerate(groups)
                    if other == label and robot not in robots
                ]
                away, k = min(near, default=(math.inf, -1))
                if away <= CONTAINER_RADIUS_M:
                    _, there, robots, left = groups[k]
                    groups[k] = (label, there, robots | {robot}, left * value)
                else:
                    groups.append((label, spot, {robot}, value))
        return [
            (
                not usual or home.canonical(label) in usual,
                _UP_THERE if part == "on" else 1.0,
                left,
            )
            for (part, label), _, _, left in groups
        ]


def _open_share(parts: Sequence[tuple[bool, float, float]]) -> float:
    """Return what is left open (0..1) of parts: kept there, weight, what is left open of it."""
    shares = []
    for side in (True, False):
        here = [(weight, left) for kept, weight, left in parts if kept is side]
        total = sum(weight for weight, _ in here)
        shares.append(sum(w * left for w, left in here) / total if total > 0.0 else None)
    kept, stray = shares
    if kept is None or stray is None:
        return kept or stray or 0.0
    return (1.0 - STRAY_FRACTION) * kept + STRAY_FRACTION * stray


def merged(missed: Iterable[Missed]) -> dict[str, float]:
    """Return what the looks of several robots together leave open."""
    out: dict[str, float] = {}
    for one in missed:
        for key, value in one.items():
            out[key] = out.get(key, 1.0) * value
    return out


def _spot(text: str) -> Vec2 | None:
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError:
        return None
    return (x, y)


def spread_over(surface: Box, lift: float) -> tuple[Vec3, ...]:
    """Return five points `lift` above a surface: over its middle, and toward its corners [m]."""
    x, y, z = surface.center
    c, s = math.cos(surface.yaw), math.sin(surface.yaw)
    out = [(x, y, z + lift)]
    for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        dx, dy = a * surface.size[0] / 3.0, b * surface.size[1] / 3.0
        out.append((x + c * dx - s * dy, y + s * dx + c * dy, z + lift))
    return tuple(out)


def _cells(polygon: list[Vec2]) -> list[tuple[int, int, Vec2]]:
    """Return the squares whose middles lie in an outline: column, row, middle [m]."""
    if len(polygon) < 3:
        return []
    xs, ys = [p[0] for p in polygon], [p[1] for p in polygon]
    out = []
    columns = max(1, round((max(xs) - min(xs)) / CELL_SIZE_M))
    rows = max(1, round((max(ys) - min(ys)) / CELL_SIZE_M))
    for i in range(columns):
        for j in range(rows):
            x = min(xs) + (i + 0.5) * (max(xs) - min(xs)) / columns
            y = min(ys) + (j + 0.5) * (max(ys) - min(ys)) / rows
            if within(polygon, (x, y)):
                out.append((i, j, (x, y)))
    return out
