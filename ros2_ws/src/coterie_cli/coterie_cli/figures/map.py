"""The picture of a map that was made of a recording: what is free, rooms, things, the way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coterie_core.geometry import Vec3
from coterie_world.scene import SceneGraph
from semantic_mapper.grid import FloorGrids


def draw_map(scene: SceneGraph, grids: FloorGrids, way: Sequence[Vec3], path: Path) -> None:
    """Draw a map from above, floors side by side.

    Args:
        scene: The map.
        grids: Of the floors, may be empty.
        way: Where the camera was [m], in order.
        path: A .png or .svg file.

    Raises:
        OSError: It cannot be written.
    """
    from coterie.floor_plan import Grid, Plan, draw_plans

    known = {
        id_: Grid(grid.values(), grid.options.cell, grid.origin)
        for id_, grid in grids.grids.items()
        if grid.free.size
    }
    floors = [floor for floor in grids.floors.values() if floor.id in known]
    below = [(x, y, z - 0.5) for x, y, z in way]  # a camera is above the floor that it is on
    plan = Plan(
        scene,
        floors or list(grids.floors.values()),
        known,
        {"camera": below} if below else {},
        names=True,
    )
    draw_plans(plan, f"{len(scene.objects)} things").savefig(path, dpi=130)
