"""Generate a house: rooms, doors, stairs, furniture and small things, from a seed."""

from __future__ import annotations

import math

import numpy as np
import shapely

from coterie_core.geometry import Box, Vec3
from coterie_core.household import load_household
from habitat_bridge.house.clutter import fill
from habitat_bridge.house.furnish import Furnisher, along_walls, front_free, furnish
from habitat_bridge.house.furnishing_constraints import span_of
from habitat_bridge.house.house import House
from habitat_bridge.house.layout import plan_layout
from habitat_bridge.house.room_program import choose_rooms, choose_size
from habitat_bridge.house.structure import build_structure
from habitat_bridge.house.surfaces import to_map

# Separates this use of a seed from others', so that a world's noise is not the house's.
_STREAM = 0xC07E


def add_fixtures(f: Furnisher) -> None:
    """Add what belongs to the building: the front door, and railings around stairwells."""
    hang_front_door(f)
    for stairs in f.house.stairs:
        put_railings(f, stairs.room_high, stairs.well, stairs.bottom, stairs.top)


def hang_front_door(f: Furnisher) -> None:
    """Hang the front door on an outer wall of the entryway, else of a hub, on the ground floor."""
    ground = [room for room in f.house.rooms if room.floor == f.house.floors[0].id]
    order = ("entryway", "hallway", "living room")
    door = f.household.categories["door"]
    for kind in (*order, *sorted({r.type for r in ground} - set(order))):
        for room in (r for r in ground if r.type == kind):
            space = f.spaces[room.id]
            category = door.model_copy(update={"place": "window"})
            for _ in range(6):
                size = f.size(door, space)
                for box, mount in along_walls(f, space, category, size):
                    if space.fits(box) and front_free(space, _door_zone(box)):
                        f.add(door, space, box, mount)
                        span = span_of(_door_zone(box))
                        space.keep_free.append(span)
                        space.doors.append(to_map(box, (0.4, 0.0)))
                        return


def _door_zone(box: Box) -> Box:
    x, y = to_map(box, (0.45, 0.0))
    return Box((x, y, box.center[2]), (0.8, box.size[1], 1.9), box.yaw)


def put_railings(
    f: Furnisher,
    room_id: str,
    well: list[tuple[float, float]],
    bottom: Vec3,
    top: Vec3,
) -> None:
    """Guard a well on all sides but the one where one steps off, unless a wall is there."""
    space = f.spaces[room_id]
    category = f.household.categories["railing"]
    x0, y0 = min(p[0] for p in well), min(p[1] for p in well)
    x1, y1 = max(p[0] for p in well), max(p[1] for p in well)
    sides = {
        (-1, 0): ((x0, y0), (x0, y1)),
        (1, 0): ((x1, y0), (x1, y1)),
        (0, -1): ((x0, y0), (x1, y0)),
        (0, 1): ((x0, y1), (x1, y1)),
    }
    ahead = (top[0] - bottom[0], top[1] - bottom[1])
    exit_side = (
        (int(math.copysign(1, ahead[0])), 0)
        if abs(ahead[0]) > abs(ahead[1])
        else (0, int(math.copysign(1, ahead[1])))
    )
    color = f.color(category)
    for (nx, ny), (p, q) in sides.items():
        if (nx, ny) == exit_side:
            continue
        thick, tall = 0.05, 1.0
        middle = ((p[0] + q[0]) / 2 + nx * thick / 2, (p[1] + q[1]) / 2 + ny * thick / 2)
        box = Box(
            (middle[0], middle[1], space.floor_z + tall / 2),
            (thick, math.dist(p, q), tall),
            math.atan2(ny, nx),
        )
        if space.inner.covers(shapely.Polygon(box.footprint())):
            f.add(category, space, box, "floor").properties["color"] = color


def generate_house(
    seed: int, *, floors: int | None = None, rooms: int | None = None, clutter: float = 1.0
) -> House:
    """Return a house; the same arguments give the same house.

    Args:
        seed: Any integer from 0 up.
        floors: 1 to 3; None: the seed decides.
        rooms: 4 to 25 in all, hallways and landings included; None: the seed decides.
        clutter: How many small things there are, 1.0 as usual, 0 for none but what furniture needs.

    Raises:
        ValueError: An argument is out of range, or the rooms are too few for the floors.
    """
    if seed < 0:
        raise ValueError(f"seed: expected an integer from 0 up, got {seed!r}")
    if not 0.0 <= clutter <= 3.0:
        raise ValueError(f"clutter: expected 0 to 3, got {clutter!r}")
    household = load_household()
    rng = np.random.default_rng([_STREAM, seed])
    n_floors, n_rooms = choose_size(rng, floors, rooms)
    program = choose_rooms(rng, household, n_floors, n_rooms)
    layout = plan_layout(rng, household, program)
    house = build_structure(rng, household, layout, seed)
    furnisher = furnish(rng, household, house)
    add_fixtures(furnisher)
    fill(furnisher, clutter)
    return house
