"""A map from above: what is free and what is not, rooms, things with names, the camera's way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coterie_core.geometry import Vec3
from coterie_world.scene import Floor, SceneGraph
from semantic_mapper.files import color_of
from semantic_mapper.grid import FloorGrids

MOST_NAMES = 150
"""Things that are named on a floor, the largest first."""


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
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    floors = list(grids.floors.values()) or [Floor("ground", 0, 0.0, 100.0)]
    seen = [f for f in floors if f.id in grids.grids]
    floors = sorted(seen or floors, key=_elevation)
    figure, axes = plt.subplots(1, len(floors), figsize=(11.0 * len(floors), 10.0), squeeze=False)
    for axis, floor in zip(axes[0], floors, strict=True):
        _draw_floor(axis, scene, grids, floor, floors, way)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_floor(  # type: ignore[no-untyped-def]
    axis, scene: SceneGraph, grids: FloorGrids, floor: Floor, floors: Sequence[Floor],
    way: Sequence[Vec3],
) -> None:  # fmt: skip
    from matplotlib.patches import Polygon

    grid = grids.grids.get(floor.id)
    if grid is not None and grid.free.size:
        values = grid.values().astype(np.float64)
        shade = np.where(values < 0, 0.93, 1.0 - 0.45 * values / 100.0)
        x, y = grid.origin
        cell = grid.options.cell
        rows, cols = shade.shape
        extent = (x, x + cols * cell, y, y + rows * cell)
        axis.imshow(shade, cmap="gray", vmin=0.0, vmax=1.0, origin="lower", extent=extent)
    for room in scene.rooms.values():
        if len(room.polygon) >= 3 and room.floor in ("", floor.id):
            axis.add_patch(Polygon(room.polygon, fill=False, edgecolor="0.35", linewidth=1.2))
            low, high = np.min(room.polygon, axis=0), np.max(room.polygon, axis=0)
            spot = (float(low[0] + high[0]) / 2.0, float(high[1]) - 0.12)
            name = _plain(room.name)
            axis.text(*spot, name, color="0.2", fontsize=10, ha="center", va="top", weight="bold")
    things = [t for t in scene.objects.values() if _floor_at(t.box.center[2], floors) is floor]
    things.sort(key=lambda t: -t.box.volume)
    for k, thing in enumerate(things):
        color = tuple(v / 255.0 for v in color_of(thing.label.top))
        corners = thing.box.footprint()
        axis.add_patch(Polygon(corners, facecolor=(*color, 0.35), edgecolor=color, linewidth=0.8))
        if k < MOST_NAMES:
            name = _plain(thing.label.top)
            axis.text(*thing.box.center[:2], name, fontsize=6, ha="center", va="center")
    points = [p for p in way if _floor_at(p[2] - 0.5, floors) is floor]
    if points:
        axis.plot(*np.array(points)[:, :2].T, color="tab:blue", linewidth=0.8, alpha=0.6)
    axis.set_aspect("equal")
    axis.autoscale_view()
    axis.set_title(f"{floor.id}: {len(things)} things", fontsize=10)
    axis.set_xlabel("x [m]")
    axis.set_ylabel("y [m]")


def _floor_at(z: float, floors: Sequence[Floor]) -> Floor:
    below = [f for f in floors if f.elevation <= z + 0.3]
    return max(below, key=lambda f: f.elevation) if below else min(floors, key=_elevation)


def _elevation(floor: Floor) -> float:
    return floor.elevation


def _plain(name: str) -> str:
    """A label of a map for a picture: no formulas, no control characters."""
    text = "".join(c if c.isprintable() else "?" for c in name)[:40]
    return text.replace("$", r"\$")
