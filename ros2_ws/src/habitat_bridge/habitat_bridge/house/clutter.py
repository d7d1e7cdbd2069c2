"""Put small things on and into the furniture of a house, or on its floors (seeded)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from coterie_core.geometry import Box, Vec3
from coterie_core.household import Category
from coterie_world.scene import Receptacle, SceneObject
from habitat_bridge.house.furnish import USUAL, Furnisher, footprint
from habitat_bridge.house.furnishing_constraints import RoomSpace, overlap, span_of
from habitat_bridge.house.surfaces import clearances, level_of, to_map

TRIES = 14
MARGIN = 0.008
# Share of all small things that lie where nobody would look for them.
EXCEPTIONS = 0.06
FLOOR_REACH = 0.5

Rect = tuple[float, float, float, float]


@dataclass(slots=True)
class _Surface:
    """A receptacle with what already stands on it, in the owner's frame [m]."""

    owner: SceneObject
    receptacle: Receptacle
    clearance: float
    taken: list[Rect] = field(default_factory=list)


@dataclass(slots=True)
class _RoomSurfaces:
    space: RoomSpace
    by_label: dict[str, list[_Surface]] = field(default_factory=dict)

    def add(self, owner: SceneObject) -> None:
        """Add the surfaces of a thing."""
        free = clearances(owner.properties.get("shape", ""), owner.box, level_of(owner))
        for receptacle in owner.receptacles:
            clearance = free[receptacle.id.rsplit("/", 1)[1]]
            surface = _Surface(owner, receptacle, clearance)
            self.by_label.setdefault(owner.label.top, []).append(surface)


def fill(f: Furnisher, clutter: float = 1.0) -> None:
    """Put small things into all rooms; `clutter` scales how likely each is (1 as usual)."""
    surfaces = {room_id: _RoomSurfaces(space) for room_id, space in f.spaces.items()}
    for thing in list(f.house.objects):
        surfaces[thing.room].add(thing)
    items = [c for c in f.household.categories.values() if c.label in USUAL and c.place == "on"]
    # What others stand on or in comes first, then what needs most room.
    items.sort(key=lambda c: (c.shape not in ("oven", "open box"), -footprint(c), c.label))
    placed = 0
    wishes = f.habits.wishes(items, f.house.rooms, clutter)
    for room in f.house.rooms:
        for category, count in wishes[room.id]:
            for _ in range((count + 1) // 2):
                if not put(f, surfaces[room.id], category):
                    break
                placed += 1
    small = [c for c in items if footprint(c) < 0.06]
    rooms = list(surfaces)
    for _ in range(int(f.rng.poisson(EXCEPTIONS * placed))):
        category = small[int(f.rng.integers(len(small)))]
        here = surfaces[rooms[int(f.rng.integers(len(rooms)))]]
        anywhere = category.model_copy(update={"on": (*sorted(here.by_label), "floor")})
        put(f, here, anywhere)


def put(f: Furnisher, here: _RoomSurfaces, category: Category) -> bool:
    """Put one more thing of the category into the room; False if there is no place for it."""
    labels = [label for name in category.on for label in f.household.members(name)]
    options: list[_Surface | None] = []
    weights: list[float] = []
    for rank, label in enumerate(labels):
        # The first owners named are the usual ones, more or less so in this house.
        weight = f.disturbance.habit(category.label, label) / (1.0 + 0.25 * rank)
        if label == "floor":
            options.append(None)
            weights.append(weight)
        for surface in here.by_label.get(label, ()):
            options.append(surface)
            weights.append(weight)
    for _ in range(min(4, len(options))):
        chance = np.array(weights)
        index = int(f.rng.choice(len(options), p=chance / chance.sum()))
        spot = options.pop(index)
        weights.pop(index)
        size = f.size(category, here.space)
        done = (
            _put_on_floor(f, here, category, size)
            if spot is None
            else _put_on(f, here, category, size, spot)
        )
        if done:
            return True
    return False


def _put_on(
    f: Furnisher, here: _RoomSurfaces, category: Category, size: Vec3, surface: _Surface
) -> bool:
    if size[2] > surface.clearance or surface.owner.label.top == category.label:
        return False
    area = surface.receptacle.surface
    for yaw, ex, ey in _turns(f, size):
        free_x, free_y = (area.size[0] - ex) / 2, (area.size[1] - ey) / 2
        if free_x < 0 or free_y < 0:
            continue
        for _ in range(TRIES):
            x = float(f.rng.uniform(-free_x, free_x))
            y = float(f.rng.uniform(-free_y, free_y))
            rect = (x - ex / 2, y - ey / 2, x + ex / 2, y + ey / 2)
            if any(_touch(rect, other) for other in surface.taken):
                continue
            center = (*to_map(area, (x, y)), area.center[2] + size[2] / 2)
            box = Box(center, size, _wrap(area.yaw + yaw))
            if not surface.receptacle.inside and not _clear(here.space, box, surface.owner):
                continue
            _finish(f, here, category, box, surface)
            surface.taken.append(rect)
            return True
    return False


def _finish(
    f: Furnisher, here: _RoomSurfaces, category: Category, box: Box, surface: _Surface
) -> None:
    owner = surface.owner.id
    inside = surface.receptacle.inside
    thing = f.add(
        category,
        here.space,
        box,
        "surface",
        support=owner,
        container=owner if inside else "",
        receptacle=surface.receptacle.id,
    )
    here.add(thing)


def _turns(f: Furnisher, size: Vec3) -> Iterator[tuple[float, float, float]]:
    """Yaw [rad] against the owner and extents along its axes [m]: a little askew, then straight."""
    quarter = math.pi / 2 if f.rng.random() < 0.3 else 0.0
    askew = float(f.rng.uniform(-0.3, 0.3))
    for yaw in (quarter + askew, quarter, math.pi / 2 - quarter):
        c, s = abs(math.cos(yaw)), abs(math.sin(yaw))
        yield yaw, c * size[0] + s * size[1], s * size[0] + c * size[1]


def _touch(a: Rect, b: Rect) -> bool:
    return (
        a[0] < b[2] + MARGIN
        and b[0] < a[2] + MARGIN
        and a[1] < b[3] + MARGIN
        and b[1] < a[3] + MARGIN
    )


def _clear(space: RoomSpace, box: Box, owner: SceneObject) -> bool:
    """Whether the thing meets nothing in the room but the piece that it stands on."""
    span, own = span_of(box), span_of(owner.box)
    if not space.inside(span) or any(overlap(span, c) for c in space.keep_clear):
        return False
    return not any(other != own and overlap(span, other) for other in space.taken)


def _put_on_floor(f: Furnisher, here: _RoomSurfaces, category: Category, size: Vec3) -> bool:
    """Near a wall, where it hinders nobody."""
    space = here.space
    for _ in range(TRIES):
        edge = space.edges[int(f.rng.integers(len(space.edges)))]
        reach = math.hypot(size[0], size[1]) / 2 + 0.01
        if edge.length < 2 * reach:
            continue
        at = float(f.rng.uniform(reach, edge.length - reach))
        x, y = edge.point(at, reach + float(f.rng.uniform(0.0, FLOOR_REACH)) ** 2)
        yaw = _wrap(edge.yaw + float(f.rng.uniform(-0.4, 0.4)))
        box = Box((x, y, space.floor_z + size[2] / 2), size, yaw)
        if space.fits(box) and space.leaves_way([box]):
            here.add(f.add(category, space, box, "floor"))
            return True
    return False


def _wrap(yaw: float) -> float:
    return math.remainder(yaw, math.tau)
