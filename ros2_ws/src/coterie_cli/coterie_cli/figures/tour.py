"""What RViz shows of a map, drawn without it: from above and at a slant, from the same messages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import PointCloud2
from visualization_msgs.msg import Marker, MarkerArray

from coterie_cli.tour.map_watch import Shown
from coterie_core.geometry import Vec3
from coterie_ros.conversions import grid_from_msg
from coterie_world.scene import SceneGraph

Array = npt.NDArray[np.float64]

WAYS = ("#ff7f0e", "#f2f2f2", "#4aa3ff", "#ff5c8d", "#40d0c0")
"""Colours of robots, told apart by people who see red and green alike."""
LEG_M = 3.0
"""Longest line between two looks of a robot [m]; links of places are shorter."""
_BACK, _LIGHT, _MARK = "#303030", "#e8e8e8", "#ffe14d"
_TURN, _TILT = math.radians(25.0), math.radians(40.0)
_MOST_POINTS = 150_000
_MOST_NAMES = 70
_SQUARE = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
_EDGES = [(k, (k + 1) % 4) for k in range(4)]
_EDGES += [(a + 4, b + 4) for a, b in _EDGES] + [(k, k + 4) for k in range(4)]


@dataclass(frozen=True, slots=True)
class _Box:
    """A box as its marker says it: corners (8, 3) [m], lower four first; colour; name."""

    corners: Array
    color: tuple[float, float, float]
    name: str

    @property
    def area(self) -> float:
        """Of its footprint [m^2]."""
        a, b, _, d = self.corners[:4, :2]
        return float(np.linalg.norm(b - a) * np.linalg.norm(d - a))


def draw(
    shown: Shown,
    ways: Mapping[str, Sequence[Vec3]],
    marked: Mapping[str, str],
    path: Path,
    dpi: float = 100.0,
) -> None:
    """Draw a map: every floor from above, and all of it at a slant.

    Args:
        shown: What the mapper published.
        ways: Robot -> where it was [m], in order.
        marked: Id of a thing -> what to write at it.
        path: A .png or .svg file.
        dpi: Pixels per inch; the picture is nine inches high.

    Raises:
        OSError: It cannot be written.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    boxes = _boxes(shown.objects)
    rooms = _rooms(shown.rooms)
    grids = sorted(shown.grids.values(), key=lambda g: float(g.info.origin.position.z))
    floors = [float(g.info.origin.position.z) for g in grids] or [0.0]
    spread = _spread(boxes, rooms)
    views = [spread[:, :2]] * len(floors) + [_slanted(spread)]
    spans = [np.ptp(view, axis=0) + 0.6 for view in views]
    height = 9.0
    widths = [height * float(x / y) for x, y in spans]
    figure, axes = plt.subplots(
        1, len(views), figsize=(sum(widths), height), squeeze=False, facecolor=_BACK,
        gridspec_kw={"width_ratios": widths},
    )  # fmt: skip
    spots = _spots(shown.scene, marked)
    for k, elevation in enumerate(floors):
        upper = floors[k + 1] if k + 1 < len(floors) else math.inf
        low = -math.inf if k == 0 else elevation - 0.3
        axis = axes[0, k]
        if grids:
            _draw_grid(axis, grids[k])
        here = [box for box in boxes if low <= box.corners[:, 2].min() < upper - 0.3]
        _draw_above(axis, here, [r for r in rooms if low <= r[0][0, 2] < upper - 0.3])
        _draw_ways(axis, ways, lambda p: p[:, :2], low, upper)
        for x, y, z, text in spots:
            if low <= z < upper - 0.3:
                _mark(axis, (x, y), text)
    _draw_slanted(axes[0, -1], shown, boxes, rooms, ways, spots)
    for axis, view in zip(axes[0], views, strict=True):
        (left, low), (right, high) = view.min(axis=0) - 0.3, view.max(axis=0) + 0.3
        axis.set(aspect="equal", xlim=(left, right), ylim=(low, high))
        axis.axis("off")
    figure.subplots_adjust(0.0, 0.0, 1.0, 1.0, 0.0)
    figure.savefig(path, dpi=dpi, facecolor=_BACK)
    plt.close(figure)


def _boxes(markers: MarkerArray | None) -> list[_Box]:
    """Boxes of objects, the largest first."""
    found: dict[int, Marker] = {}
    names: dict[int, str] = {}
    for marker in markers.markers if markers is not None else ():
        if marker.action == Marker.ADD and marker.type == Marker.CUBE:
            found[marker.id] = marker
        elif marker.action == Marker.ADD and marker.type == Marker.TEXT_VIEW_FACING:
            names[marker.id] = str(marker.text).partition("\n")[0].rpartition(" ")[0]
    boxes = []
    for id_, marker in found.items():
        p, q, s = marker.pose.position, marker.pose.orientation, marker.scale
        yaw = 2.0 * math.atan2(q.z, q.w)
        turn = np.array([(math.cos(yaw), -math.sin(yaw)), (math.sin(yaw), math.cos(yaw))])
        flat = (_SQUARE * (s.x, s.y)) @ turn.T + (p.x, p.y)
        heights = np.repeat((p.z - s.z / 2.0, p.z + s.z / 2.0), 4)
        corners = np.column_stack([np.vstack([flat, flat]), heights])
        color = (marker.color.r, marker.color.g, marker.color.b)
        boxes.append(_Box(corners, color, names.get(id_, "")))
    return sorted(boxes, key=lambda box: -box.area)


def _rooms(markers: MarkerArray | None) -> list[tuple[Array, tuple[float, float, float], str]]:
    """Outlines of rooms (n, 3) [m], their colours and names."""
    names = {}
    outlines = []
    for marker in markers.markers if markers is not None else ():
        if marker.type == Marker.TEXT_VIEW_FACING:
            names[marker.id] = str(marker.text)
        elif marker.type == Marker.LINE_STRIP and marker.points:
            outlines.append(marker)
    return [
        (
            np.array([(p.x, p.y, p.z) for p in m.points]),
            (m.color.r, m.color.g, m.color.b),
            names.get(m.id, ""),
        )
        for m in outlines
    ]


def _spread(
    boxes: Sequence[_Box], rooms: Sequence[tuple[Array, tuple[float, float, float], str]]
) -> Array:
    """Points (n, 3) [m] as far out as anything that is drawn."""
    corners = [box.corners for box in boxes] + [outline for outline, _, _ in rooms]
    return np.vstack(corners) if corners else np.array([(0.0, 0.0, 0.0), (1.0, 1.0, 1.0)])


def _spots(
    scene: SceneGraph | None, marked: Mapping[str, str]
) -> list[tuple[float, float, float, str]]:
    things = scene.objects if scene is not None else {}
    return [
        (*things[id_].box.center[:2], things[id_].box.top, text)
        for id_, text in marked.items()
        if id_ in things
    ]


def _shades(values: npt.NDArray[np.int8]) -> Array:
    """Colours (rows, cols, 3) as RViz's scheme `map` has them: free light, full black."""
    full = np.clip(values, 0, 100)[..., None] / 100.0
    return np.where(values[..., None] < 0, (0.29, 0.32, 0.32), 0.78 * (1.0 - full) + 0.02)


def _draw_grid(axis: Any, message: OccupancyGrid) -> None:
    values, cell, (x, y, _) = grid_from_msg(message)
    rows, cols = values.shape
    extent = (x, x + cols * cell, y, y + rows * cell)
    axis.imshow(_shades(values), origin="lower", extent=extent, alpha=0.75, interpolation="nearest")


def _draw_above(
    axis: Any,
    boxes: Sequence[_Box],
    rooms: Iterable[tuple[Array, tuple[float, float, float], str]],
) -> None:
    from matplotlib.patches import Polygon

    for k, box in enumerate(boxes):
        corners = box.corners[:4, :2]
        axis.add_patch(Polygon(corners, facecolor=(*box.color, 0.55), edgecolor="k", linewidth=0.5))
        if k < _MOST_NAMES:
            x, y = corners.mean(axis=0)
            axis.text(x, y, _plain(box.name), fontsize=6.5, ha="center", va="center", color="k")
    for outline, color, name in rooms:
        axis.plot(*outline[:, :2].T, color=color, linewidth=2.5)
        x = outline[:, 0].mean()
        y = outline[:, 1].max() - 0.12
        axis.text(
            x, y, _plain(name), fontsize=13, ha="center", va="top", color=_LIGHT, weight="bold",
            bbox={"facecolor": _BACK, "alpha": 0.6, "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip


def _draw_ways(
    axis: Any,
    ways: Mapping[str, Sequence[Vec3]],
    project: Any,
    low: float = -math.inf,
    upper: float = math.inf,
) -> None:
    from matplotlib.patheffects import withStroke

    rim = [withStroke(linewidth=3.0, foreground="k")]
    for k, (robot, way) in enumerate(sorted(ways.items())):
        points = np.array([p for p in way if low <= p[2] < upper - 0.3]).reshape(-1, 3)
        if not len(points):
            continue
        # All go by the same places: side by side, so that none hides another.
        points[:, :2] += 0.09 * (k - (len(ways) - 1) / 2.0)
        flat, color = project(points), WAYS[k % len(WAYS)]
        for begin, end in legs(points):
            axis.plot(*flat[begin:end].T, color=color, linewidth=1.4, path_effects=rim)
        if not low <= way[-1][2] < upper - 0.3:
            continue  # it is on another floor now
        axis.plot(*flat[-1], "o", color=color, markersize=11, markeredgecolor="k", zorder=5)
        axis.annotate(
            _plain(robot), flat[-1], xytext=(9, 14 - 15 * k), textcoords="offset points",
            color=color, fontsize=11, weight="bold", path_effects=rim, zorder=6,
        )  # fmt: skip


def legs(way: Array) -> list[tuple[int, int]]:
    """Parts of a way (n, 3) [m] that were seen, as (begin, end) indices.

    A robot tells where it is when it looks. Where it went unseen from one look to one farther off
    than LEG_M, a straight line would lead through walls: there is none.
    """
    far = np.linalg.norm(np.diff(way, axis=0), axis=1) > LEG_M
    ends = [0, *(int(k) + 1 for k in np.flatnonzero(far)), len(way)]
    return list(itertools.pairwise(ends))


def _mark(axis: Any, at: Sequence[float], text: str) -> None:
    axis.plot(*at, "o", markersize=15, markerfacecolor=_MARK, markeredgecolor="k", zorder=7)
    axis.text(
        *at, _plain(text), fontsize=8, ha="center", va="center", weight="bold", color="k", zorder=8
    )


def _slanted(points: Array) -> Array:
    """Points (n, 3) [m] as seen at a slant, (n, 2)."""
    c, s = math.cos(_TURN), math.sin(_TURN)
    x = c * points[:, 0] - s * points[:, 1]
    depth = s * points[:, 0] + c * points[:, 1]
    return np.column_stack([x, depth * math.sin(_TILT) + points[:, 2] * math.cos(_TILT)])


def _draw_slanted(
    axis: Any,
    shown: Shown,
    boxes: Sequence[_Box],
    rooms: Iterable[tuple[Array, tuple[float, float, float], str]],
    ways: Mapping[str, Sequence[Vec3]],
    spots: Iterable[tuple[float, float, float, str]],
) -> None:
    from matplotlib.collections import LineCollection

    for message in shown.grids.values():
        cells, colors = _cells(message)
        axis.scatter(*_slanted(cells).T, s=2.2, marker="s", c=colors, linewidths=0, alpha=0.5)
    for outline, color, _ in rooms:
        axis.plot(*_slanted(outline).T, color=color, linewidth=2.0)
    if shown.points is not None and shown.points.width:
        points, colors = cloud_points(shown.points)
        c, s = math.cos(_TURN), math.sin(_TURN)
        order = np.argsort(-(s * points[:, 0] + c * points[:, 1]))
        axis.scatter(*_slanted(points[order]).T, s=1.2, c=colors[order], linewidths=0)
    lines, shades = [], []
    for box in boxes:
        flat = _slanted(box.corners)
        lines += [(flat[a], flat[b]) for a, b in _EDGES]
        shades += [(*box.color, 0.9)] * len(_EDGES)
    axis.add_collection(LineCollection(lines, colors=shades, linewidths=0.7))
    for box in boxes[:_MOST_NAMES]:
        x, y = _slanted(box.corners[4:].mean(axis=0, keepdims=True))[0]
        axis.text(x, y + 0.08, _plain(box.name), fontsize=5.5, ha="center", color="w")
    _draw_ways(axis, ways, _slanted)
    for x, y, z, text in spots:
        _mark(axis, _slanted(np.array([(x, y, z)]))[0], text)


def _cells(message: OccupancyGrid) -> tuple[Array, Array]:
    """Known cells of a floor plan that nothing occupies: centres (n, 3) [m], colours (n, 3)."""
    values, cell, (x, y, z) = grid_from_msg(message)
    rows, cols = np.nonzero((values >= 0) & (values < 50))
    across, along = x + (cols + 0.5) * cell, y + (rows + 0.5) * cell
    return np.column_stack([across, along, np.full(len(cols), z)]), _shades(values)[rows, cols]


def cloud_points(message: PointCloud2) -> tuple[Array, Array]:
    """Return points (n, 3) [m] and colours (n, 3), 0..1, of a cloud with the field `rgb`."""
    order = ">" if message.is_bigendian else "<"
    offsets = {f.name: f.offset for f in message.fields}
    form = np.dtype(
        {
            "names": ["x", "y", "z", "rgb"],
            "formats": [f"{order}f4"] * 3 + [f"{order}u4"],
            "offsets": [offsets[name] for name in ("x", "y", "z", "rgb")],
            "itemsize": message.point_step,
        }
    )
    data = np.frombuffer(bytes(message.data), form)
    data = data[:: -(-len(data) // _MOST_POINTS) or 1]
    points = np.column_stack([data[name] for name in "xyz"]).astype(np.float64)
    packed = data["rgb"][:, None] >> np.array([16, 8, 0], np.uint32)
    return points, (packed & 255) / 255.0


def _plain(text: str) -> str:
    """Text of a map for a picture: no formulas, no control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)[:40].replace("$", r"\$")
