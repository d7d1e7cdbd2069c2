"""Where the rooms of each floor lie: rectangles around a hub, stairwells at its ends (seeded).

The plan is drawn in a frame of its own: the hub (a hallway, or the living room of a small home) is
a band along x, rooms stand in a strip above and one below it, stairs in wings at the band's ends.
At the end it is mirrored and turned at random. Outlines lie on the middle of the walls.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from coterie_core.geometry import Vec2
from coterie_core.household import Household
from habitat_bridge.house.room_program import Program

Rect = tuple[float, float, float, float]  # x0, y0, x1, y1 [m]

RISER = (0.165, 0.19)
TREAD = 0.27
LANDING = 1.15
LANE = 1.05
SMALL = ("closet", "toilet", "pantry", "laundry room", "bathroom", "entryway")
# Small rooms that are entered from the room they were cut out of.
INNER = {"closet": ("bedroom", "office"), "pantry": ("kitchen",)}
STRETCH = 1.4


@dataclass(slots=True)
class PlannedRoom:
    """A room: its rectangles, and the room it is entered from if not from the hub."""

    type: str
    floor: int
    rects: list[Rect]
    parent: int | None = None
    hub: bool = False


@dataclass(slots=True)
class PlannedFlight:
    """A flight from `floor` to the next: rectangle of the treads, first and last point [m]."""

    floor: int
    rect: Rect
    start: Vec2
    end: Vec2
    wing: Rect = (0.0, 0.0, 0.0, 0.0)


@dataclass(slots=True)
class Layout:
    """All floors' rooms and flights; heights [m] that all floors share."""

    rooms: list[PlannedRoom]
    flights: list[PlannedFlight]
    ceiling: float
    slab: float
    risers: int

    @property
    def storey(self) -> float:
        """Height from one floor to the next [m]."""
        return self.ceiling + self.slab


@dataclass(slots=True)
class _Cell:
    """A room in a strip with at most one small room cut out of a corner."""

    type: str
    area: float
    child: str = ""
    child_area: float = 0.0
    width: float = 0.0
    child_size: tuple[float, float] = (0.0, 0.0)
    child_at_hub: bool = False


def snap(value: float) -> float:
    """Round to the plan's grid of 0.1 m."""
    return round(value * 10.0) / 10.0


def plan_layout(rng: np.random.Generator, household: Household, program: Program) -> Layout:
    """Return the rectangles of all rooms and flights of a program."""
    ceiling = snap(float(rng.uniform(2.5, 2.8)))
    slab = 0.3
    floors = len(program.floors)
    risers = round((ceiling + slab) / float(rng.uniform(*RISER)))
    living_hub = program.floors[0][0] == "living room"
    band = snap(float(rng.uniform(3.9, 4.5) if living_hub else rng.uniform(1.4, 1.9)))
    depths = (snap(float(rng.uniform(3.4, 4.4))), snap(float(rng.uniform(3.4, 4.4))))
    # Above a living room lies a landing as wide as a hallway; the lower strip's rooms are deeper.
    bases = [0.0 if k == 0 or not living_hub else snap(band - 1.7) for k in range(floors)]
    strips: list[tuple[list[_Cell], list[_Cell]]] = []
    for names, base in zip(program.floors, bases, strict=True):
        cells = _cells(rng, household, names[1:], (depths[0], depths[1] + base))
        strips.append(_two_strips(rng, household, cells))
    length = max(sum(c.width for c in strip) for pair in strips for strip in pair)
    length = snap(max(length, 3.2, 2.2 * min(len(program.floors[0]), 3)))
    run = (risers - 1) * TREAD
    flights = [_flight(rng, k, length, band, depths, run) for k in range(floors - 1)]
    rooms: list[PlannedRoom] = []
    for floor, names in enumerate(program.floors):
        base = bases[floor]
        wings = [f for f in flights if floor in (f.floor, f.floor + 1)]
        sides = {f.floor % 2 for f in wings}
        hub = PlannedRoom(names[0], floor, [], hub=True)
        rooms.append(hub)
        laid: list[PlannedRoom] = []
        for side, strip in enumerate(strips[floor]):
            # A strip that is shorter than the hub stands at the stairs.
            if len(sides) == 1:
                right = 1 in sides
            else:
                right = side == 1 if sides else bool(rng.random() < 0.5)
            depth = depths[0] if side == 0 else snap(depths[1] + base)
            edges = (band, snap(band + depth)) if side == 0 else (base, -depths[1])
            start = len(rooms) + len(laid)
            laid += _lay_strip(rng, strip, edges, floor, length, start, right=right)
        rooms += laid
        x0, x1 = 0.0, length
        if floor > 0:
            # An upper hall is no longer than it must be.
            x0 = 0.0 if 0 in sides else min(r[0] for room in laid for r in room.rects)
            x1 = length if 1 in sides else max(r[2] for room in laid for r in room.rects)
        hub.rects = [(x0, base, x1, band), *(f.wing for f in wings)]
        for name in names[1:]:
            if name == "balcony":
                _balcony(rng, rooms, floor, band, depths)
    layout = Layout(rooms, flights, ceiling, slab, risers)
    _turn(rng, layout)
    return layout


def _flight(
    rng: np.random.Generator,
    k: int,
    length: float,
    band: float,
    depths: tuple[float, float],
    run: float,
) -> PlannedFlight:
    """Place flight `k` in a wing at the left (even) or right (odd) end of the band."""
    wing_width = snap(LANE + float(rng.uniform(1.1, 1.3)) + 0.1)
    wing_depth = snap(run + 2.0 * LANDING + 0.1)
    low, high = band - wing_depth, 0.0
    inside = (max(low, -depths[1]), min(high, band + depths[0] - wing_depth))
    if inside[0] <= inside[1]:
        low, high = inside
    y0 = snap(float(rng.uniform(low, high)))
    y0 = min(max(y0, snap(low)), high)
    y1 = snap(y0 + wing_depth)
    if k % 2 == 0:
        wing = (-wing_width, y0, 0.0, y1)
        lane = (-wing_width + 0.05, -wing_width + 0.05 + LANE)
    else:
        wing = (length, y0, snap(length + wing_width), y1)
        lane = (wing[2] - 0.05 - LANE, wing[2] - 0.05)
    up = bool(rng.random() < 0.5)
    middle = (lane[0] + lane[1]) / 2.0
    # The treads lie in the middle of the wing; whoever arrives stands half a landing away.
    t0 = (y0 + y1 - run) / 2.0
    t1 = t0 + run
    ends = ((middle, t0 - 0.4), (middle, t1 + 0.4))
    start, end = ends if up else (ends[1], ends[0])
    return PlannedFlight(k, (lane[0], t0, lane[1], t1), start, end, wing)


def _cells(
    rng: np.random.Generator,
    household: Household,
    names: list[str],
    depths: tuple[float, float],
) -> list[_Cell]:
    """Make a cell of each large room and cut the small ones out of those they go well with."""
    kinds = household.room_types
    depth = sum(depths) / 2.0
    large = [
        _Cell(name, float(rng.uniform(*kinds[name].area)))
        for name in names
        if name not in SMALL and name != "balcony"
    ]
    alone: list[_Cell] = []
    small = [name for name in names if name in SMALL]
    for name in small:
        area = float(rng.uniform(*kinds[name].area))
        hosts = [c for c in large if not c.child and c.type != "garage"]
        if name in INNER:
            hosts = [c for c in hosts if c.type in INNER[name]] or hosts
        weights = [kinds[name].adjacent.get(c.type, 0.1) for c in hosts]
        wants_cell = name in ("entryway", "bathroom") and rng.random() < 0.6
        if not hosts or wants_cell:
            alone.append(_Cell(name, area))
            continue
        best = max(weights)
        host = hosts[weights.index(best)]
        host.child, host.child_area = name, min(area, 6.0)
    for cell in large + alone:
        kind = kinds[cell.type]
        least = {"bedroom": 2.7, "living room": 3.4, "garage": 3.2, "kitchen": 2.5}.get(
            cell.type, 1.6 if cell.type in SMALL else 2.5
        )
        width = max(least, cell.area / depth)
        longest = kind.aspect * depth
        width = min(width, longest)
        if cell.child:
            cell_depth = snap(float(rng.uniform(1.6, min(2.3, depth - 1.6))))
            child_width = max(1.4, cell.child_area / cell_depth)
            child_width = min(child_width, 3.0)
            inner = cell.child in INNER
            cell.child_at_hub = not inner or bool(rng.random() < 0.35)
            cell.child_size = (snap(child_width), cell_depth)
            width = max(
                width + child_width * cell_depth / depth * 0.9,
                child_width + (1.4 if cell.child_at_hub else 1.2),
            )
        cell.width = snap(width)
    return large + alone


def _two_strips(
    rng: np.random.Generator,
    household: Household,
    cells: list[_Cell],
) -> tuple[list[_Cell], list[_Cell]]:
    """Share the cells between the strips, equally long, wanted neighbours side by side."""
    best: tuple[float, list[_Cell], list[_Cell]] | None = None
    for _ in range(40 if len(cells) > 2 else 8):
        order = [cells[int(i)] for i in rng.permutation(len(cells))]
        total = sum(c.width for c in cells)
        strips: tuple[list[_Cell], list[_Cell]] = ([], [])
        filled = 0.0
        for cell in order:
            top = filled + cell.width / 2.0 <= total / 2.0
            strips[0 if top else 1].append(cell)
            filled += cell.width
        widths = [sum(c.width for c in strip) for strip in strips]
        score = -abs(widths[0] - widths[1]) * 0.8
        for strip in strips:
            for a, b in itertools.pairwise(strip):
                score += household.room_types[a.type].adjacent.get(b.type, 0.0)
                score += household.room_types[b.type].adjacent.get(a.type, 0.0)
        if best is None or score > best[0]:
            best = (score, strips[0], strips[1])
    assert best is not None
    return best[1], best[2]


def _lay_strip(
    rng: np.random.Generator,
    strip: list[_Cell],
    edges: tuple[float, float],
    floor: int,
    length: float,
    first: int,
    *,
    right: bool,
) -> list[PlannedRoom]:
    """Return the rooms of a strip between `edges`: y at the hub and at the back [m].

    A strip that is shorter than the hub's `length` stands at its left end, or at its `right` end.
    `first` is the index of the strip's first room in the plan.
    """
    rooms: list[PlannedRoom] = []
    total = sum(cell.width for cell in strip)
    if not strip:
        return rooms
    factor = min(STRETCH, length / total)
    widths = [snap(cell.width * factor) for cell in strip]
    target = snap(min(length, sum(widths)) if factor == STRETCH else length)
    widths[-1] = snap(widths[-1] + target - sum(widths))
    x = snap(length - target) if right else 0.0
    hub_y, back_y = edges

    def rect(x0: float, y0: float, x1: float, y1: float) -> Rect:
        return (snap(x0), snap(min(y0, y1)), snap(x1), snap(max(y0, y1)))

    for cell, width in zip(strip, widths, strict=True):
        x1 = snap(x + width)
        parent = first + len(rooms)
        if not cell.child or width < cell.child_size[0] + 1.0:
            rooms.append(PlannedRoom(cell.type, floor, [rect(x, hub_y, x1, back_y)]))
            if cell.child:
                raise ValueError(f"cell of {cell.type} too narrow ({width} m) for {cell.child}")
        else:
            w, d = cell.child_size
            sign = 1.0 if back_y > hub_y else -1.0
            near, far = (
                (hub_y, hub_y + sign * d) if cell.child_at_hub else (back_y - sign * d, back_y)
            )
            left = bool(rng.random() < 0.5)
            c0, c1 = (x, x + w) if left else (x1 - w, x1)
            o0, o1 = (x + w, x1) if left else (x, x1 - w)
            beyond = (far, back_y) if cell.child_at_hub else (hub_y, near)
            rooms.append(
                PlannedRoom(
                    cell.type,
                    floor,
                    [rect(o0, hub_y, o1, back_y), rect(c0, beyond[0], c1, beyond[1])],
                )
            )
            entered_from = parent if cell.child in INNER or not cell.child_at_hub else None
            rooms.append(PlannedRoom(cell.child, floor, [rect(c0, near, c1, far)], entered_from))
        x = x1
    return rooms


def _balcony(
    rng: np.random.Generator,
    rooms: list[PlannedRoom],
    floor: int,
    band: float,
    depths: tuple[float, float],
) -> None:
    """Hang a balcony on the outer wall of a bedroom, or of whatever room the floor has."""
    top, bottom = snap(band + depths[0]), -depths[1]
    taken = {room.parent for room in rooms if room.type == "balcony"}
    hosts: list[tuple[float, int, Rect]] = []
    for index, room in enumerate(rooms):
        if room.floor != floor or room.hub or index in taken or room.type in (*SMALL, "balcony"):
            continue
        for r in room.rects:
            if (r[1] == bottom or r[3] == top) and r[2] - r[0] >= 1.6:
                hosts.append((0.0 if room.type in ("bedroom", "living room") else 1.0, index, r))
    if not hosts:
        # Every floor has a hub with free ends or sides; the balcony goes to the band's free side.
        hosts = [
            (2.0, i, r)
            for i, room in enumerate(rooms)
            if room.floor == floor and not room.hub
            for r in room.rects
            if r[1] == bottom or r[3] == top
        ]
    least = min(h[0] for h in hosts)
    options = [h for h in hosts if h[0] == least]
    _, index, r = options[int(rng.integers(len(options)))]
    depth = snap(float(rng.uniform(1.3, 1.7)))
    x0, x1 = r[0], min(r[2], snap(r[0] + 4.0))
    rect = (x0, r[3], x1, snap(r[3] + depth)) if r[3] == top else (x0, snap(r[1] - depth), x1, r[1])
    rooms.append(PlannedRoom("balcony", floor, [rect], parent=index))


def _turn(rng: np.random.Generator, layout: Layout) -> None:
    """Mirror and turn the whole plan at random and move its lowest corner to the origin."""
    flip_x, flip_y, swap = (bool(v) for v in rng.random(3) < 0.5)

    def point(p: Vec2) -> Vec2:
        x, y = (-p[0] if flip_x else p[0]), (-p[1] if flip_y else p[1])
        return (y, x) if swap else (x, y)

    def turned(r: Rect) -> Rect:
        a, b = point((r[0], r[1])), point((r[2], r[3]))
        return (min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]))

    for room in layout.rooms:
        room.rects = [turned(r) for r in room.rects]
    dx = -min(r[0] for room in layout.rooms for r in room.rects)
    dy = -min(r[1] for room in layout.rooms for r in room.rects)

    def moved(r: Rect) -> Rect:
        return (r[0] + dx, r[1] + dy, r[2] + dx, r[3] + dy)

    for room in layout.rooms:
        room.rects = [(snap(a), snap(b), snap(c), snap(d)) for a, b, c, d in map(moved, room.rects)]
    for flight in layout.flights:
        flight.rect, flight.wing = moved(turned(flight.rect)), moved(turned(flight.wing))
        (sx, sy), (ex, ey) = point(flight.start), point(flight.end)
        flight.start, flight.end = (sx + dx, sy + dy), (ex + dx, ey + dy)
