"""Put furniture and fixtures into rooms: by room type, along walls, ways kept free."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import shapely

from coterie_core.geometry import Box, Vec3
from coterie_core.household import Category, Household
from coterie_world.scene import LabelBelief, Room, SceneObject
from habitat_bridge.house.disturbance import Disturbance
from habitat_bridge.house.furnishing_constraints import GAP, RoomSpace, open_space
from habitat_bridge.house.house import House
from habitat_bridge.house.surfaces import receptacles_of, to_map
from habitat_bridge.house.usual import load_usual

# Spread of the disturbance in log-odds: of a thing in this house, and in one type of room.
HOUSE_SPREAD = 0.5
ROOM_SPREAD = 0.6
# What makes a room what it is keeps at least this likelihood (a kitchen without a sink is none).
ESSENTIAL = 0.93
RARE = 0.06
STRAY = 0.3
PLUMBED = ("tub", "toilet", "shower", "sink", "stove", "hood", "washer", "fridge", "fireplace")


# What is placed first has the best choice; within a rule, larger things come first.
ORDER = (
    "window", "wall", "corner", "center", "around", "beside", "above", "ceiling", "hung", "rug",
)  # fmt: skip
TRIES = 30
USUAL = load_usual()
CHAIR_GAP = 0.02
OPEN_SHARE = 0.07
UNDER_CEILING = 0.05  # [m] that walls show above what stands or hangs at them


@dataclass(slots=True)
class Habits:
    """How likely this house's rooms hold each thing; drawn once per house, in a fixed order."""

    household: Household
    rng: np.random.Generator
    _likelihood: dict[tuple[str, str], float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for category in self.household.categories.values():
            house = float(self.rng.normal(0.0, HOUSE_SPREAD))
            for room_type in self.household.room_types:
                room = float(self.rng.normal(0.0, ROOM_SPREAD))
                prior = self.household.prior(category, room_type)
                self._likelihood[category.label, room_type] = disturbed(prior, house + room)

    def likelihood(self, category: Category, room_type: str) -> float:
        """Return how likely a room of this type in this house holds the thing (0..1).

        Furniture strays less than small things do, and what is plumbed in not at all.
        """
        value = self._likelihood[category.label, room_type]
        if category.kind == "item" or value >= RARE:
            return value
        return 0.0 if category.shape in PLUMBED else value * STRAY

    def wishes(
        self, categories: Iterable[Category], rooms: Iterable[Room], scale: float = 1.0
    ) -> dict[str, list[tuple[Category, int]]]:
        """Draw what each room is to hold: room id -> (category, how many).

        Of what a house has few of, the likeliest rooms get them.
        """
        found: dict[str, list[tuple[Category, int]]] = {}
        rivals: dict[str, list[tuple[float, str]]] = {}
        for room in rooms:
            found[room.id] = []
            for category in categories:
                likelihood = self.likelihood(category, room.type) * scale
                draw = float(self.rng.random())
                count = int(self.rng.integers(category.count[0], category.count[1] + 1))
                if draw >= likelihood:
                    continue
                found[room.id].append((category, count))
                rivals.setdefault(category.label, []).append((-likelihood, room.id))
        for room_id, wished in found.items():
            found[room_id] = [
                (category, count)
                for category, count in wished
                if category.per_house is None
                or any(
                    room_id == name
                    for _, name in sorted(rivals[category.label])[: category.per_house]
                )
            ]
        return found


def disturbed(prior: float, offset: float) -> float:
    """Return the likelihood moved by `offset` in log-odds; essentials stay likely."""
    if prior <= 0.0 or prior >= 1.0:
        return prior
    odds = math.log(prior / (1.0 - prior)) + offset
    moved = 1.0 / (1.0 + math.exp(-odds))
    return max(moved, prior) if prior >= ESSENTIAL else moved


@dataclass(slots=True)
class Furnisher:
    """The state of furnishing one house; things are added to `house.objects` as they find room."""

    rng: np.random.Generator
    household: Household
    house: House
    habits: Habits
    disturbance: Disturbance
    spaces: dict[str, RoomSpace]
    numbers: Counter[str] = field(default_factory=Counter)

    def add(
        self,
        category: Category,
        space: RoomSpace,
        box: Box,
        mount: str,
        support: str = "",
        container: str = "",
        receptacle: str = "",
    ) -> SceneObject:
        """Create the object, note its place as taken, and return it."""
        self.numbers[category.label] += 1
        name = f"{category.label.replace(' ', '-')}-{self.numbers[category.label]}"
        properties = {"mount": mount, "shape": category.shape, "color": self.color(category)}
        if receptacle:
            properties["receptacle"] = receptacle
        level = self.disturbance.level(category.label)
        receptacles = receptacles_of(name, category.shape, box, space.floor_z, level)
        if receptacles:
            properties["level"] = str(level)
        thing = SceneObject(
            id=name,
            label=LabelBelief.of(category.label),
            box=box,
            room=space.room.id,
            kind=category.kind,
            support=support,
            container=container,
            is_open=bool(self.rng.random() < OPEN_SHARE) if category.opens else None,
            receptacles=receptacles,
            properties=properties,
        )
        self.house.objects.append(thing)
        space.take(box)
        return thing

    def color(self, category: Category) -> str:
        """Return a colour of the category as "#rrggbb"."""
        low, high = self.household.colors[str(self.rng.choice(np.array(category.colors)))]
        share = self.rng.random()
        rgb = [round(a + (b - a) * share) for a, b in zip(low, high, strict=True)]
        return "#{:02x}{:02x}{:02x}".format(*rgb)

    def size(self, category: Category, space: RoomSpace) -> Vec3:
        """Return (depth, width, height) [m]: drawn as usual, and disturbed as in this house."""
        width, depth, height = (float(self.rng.uniform(*r)) for r in USUAL[category.label].size)
        depth, width, height = self.disturbance.size(category.label, (depth, width, height))
        return (depth, width, min(height, space.ceiling - space.floor_z - 2.0 * UNDER_CEILING))


def footprint(category: Category) -> float:
    """Return the largest usual footprint of a kind of thing [m^2]."""
    (_, width), (_, depth), _ = USUAL[category.label].size
    return width * depth


def furnish(rng: np.random.Generator, household: Household, house: House) -> Furnisher:
    """Put furniture and fixtures into every room; return what later steps go on with."""
    outlines = {room.id: shapely.Polygon(room.polygon) for room in house.rooms}
    spaces = {
        room.id: open_space(
            house,
            room,
            [outlines[o.id] for o in house.rooms if o.floor == room.floor and o.id != room.id],
        )
        for room in house.rooms
    }
    disturbance = Disturbance(rng.spawn(1)[0], list(household.categories))
    furnisher = Furnisher(rng, household, house, Habits(household, rng), disturbance, spaces)
    large = [
        c
        for c in household.categories.values()
        if c.label in USUAL and c.place not in ("on", "none") and c.label != "door"
    ]
    wishes = furnisher.habits.wishes(large, house.rooms)
    for room in house.rooms:
        _furnish_room(furnisher, spaces[room.id], wishes[room.id])
    return furnisher


def _furnish_room(f: Furnisher, space: RoomSpace, wished: list[tuple[Category, int]]) -> None:
    room_type = space.room.type
    queue: list[tuple[tuple[float, ...], Category, int]] = []
    for category, count in wished:
        if category.label == "chair" and room_type == "dining room":
            count = int(f.rng.integers(4, 7))
        essential = f.habits.likelihood(category, room_type) >= ESSENTIAL
        area = footprint(category)
        key = (float(ORDER.index(category.place)), 0.0, -area)
        if category.place == "wall":
            # What makes the room stands first; the rest by chance, large things a little sooner.
            key = (key[0], 0.0 if essential else 1.0, -area * float(f.rng.uniform(0.5, 1.5)))
        queue.append((key, category, count))
    for _, category, count in sorted(queue, key=lambda w: (w[0], w[1].label)):
        for _ in range(count):
            if not place_one(f, space, category):
                break


def place_one(f: Furnisher, space: RoomSpace, category: Category) -> bool:
    """Find a spot for one more thing of the category; False if there is none."""
    flat_on_wall = category.place in ("window", "hung", "above", "ceiling")
    if space.outdoors and (flat_on_wall or category.place == "beside"):
        return False
    for attempt in range(3):
        size = f.size(category, space)
        if attempt:
            # A smaller one may fit where the first did not.
            w, d, h = (least for least, _ in USUAL[category.label].size)
            d, w, _ = f.disturbance.size(category.label, (d, w, h))
            size = (min(size[0], (size[0] + d) / 2), min(size[1], (size[1] + w) / 2), size[2])
        for box, mount in _candidates(f, space, category, size):
            standing = mount == "floor" and category.shape != "flat"
            if not space.fits(box, floor_standing=standing):
                continue
            if mount == "wall" and not _backed(space, box):
                continue
            if standing or mount == "wall":
                front = _use_zone(category, box)
                if front is not None and not front_free(space, front):
                    continue
                if not space.leaves_way([box]):
                    continue
            f.add(category, space, box, mount)
            return True
    return False


def _backed(space: RoomSpace, box: Box) -> bool:
    """Whether all of the back of what hangs on a wall is at the wall, which may end beside it."""
    depth, width, _ = box.size
    ends = shapely.points([to_map(box, (-depth / 2, side * width / 2)) for side in (-1.0, 1.0)])
    return bool((shapely.distance(space.inner.exterior, ends) <= GAP).all())


def _candidates(
    f: Furnisher, space: RoomSpace, category: Category, size: Vec3
) -> Iterator[tuple[Box, str]]:
    rule = category.place
    if rule in ("wall", "window", "hung"):
        yield from along_walls(f, space, category, size)
    elif rule == "corner":
        yield from _in_corners(f, space, size)
    elif rule == "center":
        yield from _in_front_of(f, space, category, size)
        yield from _in_the_middle(f, space, size)
    elif rule in ("around", "beside", "above"):
        yield from _near(f, space, category, size)
    elif rule == "ceiling":
        yield from _under_ceiling(f, space, size)
    elif rule == "rug":
        yield from _rugs(f, space, size)


def along_walls(
    f: Furnisher, space: RoomSpace, category: Category, size: Vec3
) -> Iterator[tuple[Box, str]]:
    """Yield spots with the back to a wall, or on it for what hangs there."""
    depth, width, height = size
    edges = [e for e in space.edges if e.length >= width + 2 * GAP]
    if category.place == "window":
        edges = [e for e in edges if e.outer]
    if not edges:
        return
    hung = category.place != "wall"
    weights = np.array([e.length for e in edges])
    for k in range(TRIES):
        edge = edges[int(f.rng.choice(len(edges), p=weights / weights.sum()))]
        low, high = width / 2 + GAP, edge.length - width / 2 - GAP
        draw = float(f.rng.random())
        if not hung and k % 3 != 2:
            # Furniture likes corners and its like: from either end, as near as it gets.
            at = low + (high - low) * draw * draw * 0.5
            at = at if f.rng.random() < 0.5 else low + high - at
        else:
            at = low + (high - low) * draw
        away = GAP + depth / 2 if not hung else 0.002 + depth / 2
        x, y = edge.point(at, away)
        if hung:
            # A door has no usual height: it stands on the floor.
            usual = USUAL[category.label].height or (height / 2, height / 2)
            z = _on_wall(space, space.floor_z + float(f.rng.uniform(*usual)), height)
        else:
            z = space.floor_z + height / 2
        yield Box((x, y, z), size, edge.yaw), "wall" if hung else "floor"


def _on_wall(space: RoomSpace, z: float, height: float) -> float:
    """Return the height [m] nearest to `z` at which the middle of what hangs stays on the wall."""
    highest = space.ceiling - UNDER_CEILING - height / 2
    return max(min(z, highest), space.floor_z + height / 2)


def _in_corners(f: Furnisher, space: RoomSpace, size: Vec3) -> Iterator[tuple[Box, str]]:
    depth, width, height = size
    for index in f.rng.permutation(len(space.edges)):
        edge = space.edges[int(index)]
        if edge.length < width + 2 * GAP:
            continue
        ends = [width / 2 + GAP, edge.length - width / 2 - GAP]
        for at in ends if f.rng.random() < 0.5 else ends[::-1]:
            x, y = edge.point(at, GAP + depth / 2)
            yield Box((x, y, space.floor_z + height / 2), size, edge.yaw), "floor"


def _in_the_middle(f: Furnisher, space: RoomSpace, size: Vec3) -> Iterator[tuple[Box, str]]:
    x0, y0, x1, y1 = space.inner.bounds
    middle = space.polygon.centroid
    long_x = (x1 - x0) >= (y1 - y0)
    for k in range(TRIES):
        spread = 0.05 + 0.25 * k / TRIES
        x = float(f.rng.normal(middle.x, spread * (x1 - x0)))
        y = float(f.rng.normal(middle.y, spread * (y1 - y0)))
        # The long side of the thing (its width, along local y) follows the room's long side.
        yaw = math.pi / 2 if long_x else 0.0
        if k % 4 == 3:
            yaw = math.pi / 2 - yaw
        yield Box((x, y, space.floor_z + size[2] / 2), size, yaw), "floor"


def _in_front_of(
    f: Furnisher, space: RoomSpace, category: Category, size: Vec3
) -> Iterator[tuple[Box, str]]:
    """Before what the thing goes with: a coffee table before the sofa."""
    for other in _things(f, space, category.near):
        for away in (0.42, 0.36, 0.55):
            for side in (0.0, 0.15, -0.15):
                x, y = to_map(other.box, (other.box.size[0] / 2 + away + size[0] / 2, side))
                box = Box((x, y, space.floor_z + size[2] / 2), size, other.box.yaw)
                yield box, "floor"


def _near(
    f: Furnisher, space: RoomSpace, category: Category, size: Vec3
) -> Iterator[tuple[Box, str]]:
    depth, width, height = size
    others = _things(f, space, category.near)
    for index in f.rng.permutation(len(others)):
        other = others[int(index)]
        ox, oy, _ = other.box.size
        turn = other.box.yaw
        z = space.floor_z + height / 2
        if category.place == "above":
            usual = USUAL[category.label].height
            assert usual is not None
            z = _on_wall(space, space.floor_z + float(f.rng.uniform(*usual)), height)
            # Flush with the wall behind the thing below, whose back is `GAP` away from it.
            x, y = to_map(other.box, (-ox / 2 - GAP + 0.002 + depth / 2, 0.0))
            yield Box((x, y, z), size, turn), "wall"
        elif category.place == "beside":
            for side in (1.0, -1.0) if f.rng.random() < 0.5 else (-1.0, 1.0):
                away = side * (oy / 2 + width / 2 + 2 * GAP)
                x, y = to_map(other.box, ((-ox + depth) / 2, away))
                if category.label == "curtain":
                    z = _on_wall(space, space.floor_z + 2.3 - height / 2, height)
                    yield Box((x, y, z), size, turn), "wall"
                else:
                    yield Box((x, y, z), size, turn), "floor"
        else:
            yield from _around(f, space, category, size, other)
    if not others and category.label == "chair":
        yield from along_walls(f, space, category.model_copy(update={"place": "wall"}), size)


def _around(
    f: Furnisher, space: RoomSpace, category: Category, size: Vec3, other: SceneObject
) -> Iterator[tuple[Box, str]]:
    """Places at the sides of a table that face it; only at the front of what stands at a wall."""
    depth, width, height = size
    ox, oy, _ = other.box.size
    z = space.floor_z + height / 2
    at_wall = f.household.categories[other.label.top].place == "wall"
    spots: list[tuple[float, float, float]] = []
    slots = max(1, int((oy - 0.1) // (width + 0.12)))
    for sign in (1.0,) if at_wall else (1.0, -1.0):
        for k in range(slots):
            along = (k + 0.5) * oy / slots - oy / 2
            spots.append(
                (sign * (ox / 2 + CHAIR_GAP + depth / 2), along, math.pi if sign > 0 else 0.0)
            )
    if not at_wall:
        for sign in (1.0, -1.0):
            spots.append((0.0, sign * (oy / 2 + CHAIR_GAP + depth / 2), -sign * math.pi / 2))
    for index in f.rng.permutation(len(spots)):
        lx, ly, turn = spots[int(index)]
        x, y = to_map(other.box, (lx, ly))
        yield Box((x, y, z), size, other.box.yaw + turn), "floor"


def _under_ceiling(f: Furnisher, space: RoomSpace, size: Vec3) -> Iterator[tuple[Box, str]]:
    middle = space.polygon.centroid
    x0, y0, x1, y1 = space.inner.bounds
    z = space.ceiling - size[2] / 2
    for k in range(TRIES):
        spread = 0.02 + 0.3 * k / TRIES
        x = float(f.rng.normal(middle.x, spread * (x1 - x0)))
        y = float(f.rng.normal(middle.y, spread * (y1 - y0)))
        yield Box((x, y, z), size, 0.0), "ceiling"


def _rugs(f: Furnisher, space: RoomSpace, size: Vec3) -> Iterator[tuple[Box, str]]:
    """Flat on the floor where nothing stands; smaller and smaller until it fits."""
    x0, y0, x1, y1 = space.inner.bounds
    for k in range(TRIES):
        factor = 1.0 - 0.6 * k / TRIES
        scaled = (size[0] * factor, size[1] * factor, size[2])
        x, y = float(f.rng.uniform(x0, x1)), float(f.rng.uniform(y0, y1))
        yaw = 0.0 if f.rng.random() < 0.5 else math.pi / 2
        yield Box((x, y, space.floor_z + size[2] / 2), scaled, yaw), "floor"


def _things(f: Furnisher, space: RoomSpace, labels: tuple[str, ...]) -> list[SceneObject]:
    return [t for t in f.house.objects if t.room == space.room.id and t.label.top in labels]


def _use_zone(category: Category, box: Box) -> Box | None:
    """The floor before a thing that one must stand on to use it (None: none needed)."""
    deep = {"bed": 0.0, "toilet": 0.5, "sink": 0.5, "desk": 0.55, "counter": 0.7, "stove": 0.7}.get(
        category.shape, 0.5 if category.opens else 0.0
    )
    if not deep or category.place not in ("wall", "corner"):
        return None
    x, y = to_map(box, (box.size[0] / 2 + deep / 2 + GAP, 0.0))
    return Box((x, y, box.bottom + 0.5), (deep, min(box.size[1], 0.7), 0.9), box.yaw)


def front_free(space: RoomSpace, zone: Box) -> bool:
    """Whether nobody stands in the use zone; it may reach over the ways that stay free anyway."""
    return space.fits(zone, floor_standing=False, gap=0.0)
