"""The front door, and railings around the wells of stairs."""

from __future__ import annotations

import math

import shapely

from coterie_core.geometry import Box, Vec3
from habitat_bridge.house.furnish import Furnisher, along_walls, front_free
from habitat_bridge.house.furnishing_constraints import span_of
from habitat_bridge.house.surfaces import to_map


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
            category = door.model_copy(update={"place": "window", "height": None})
            for _ in range(6):
                size = f.size(door)
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
