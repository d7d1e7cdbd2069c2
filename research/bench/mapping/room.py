"""A real room for the mapper: 7-Scenes RedKitchen, with masks from outlines drawn by hand.

The images are not part of this project (non-commercial research only); the outlines are. From them
and the depth images come masks that leak, are missing, or bear a wrong label, by seed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from rich.console import Console
from rich.table import Table
from scipy import ndimage
from shapely import Point, Polygon, contains_xy

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_recordings import RecordingError
from coterie_world.scene import SceneGraph, SceneObject
from research.bench.common.tables import print_whole
from semantic_mapper.mapper import SemanticMapper
from semantic_mapper.options import MapperOptions

LEAST_PIXELS = 150
"""Pixels from which a detector reports an object."""
GROSS = 5
"""A gross leak reaches so many times as far as the others."""
REACH = (0.3, 4.0)
"""Depth that counts [m]."""
NEAR = 0.15
"""A mapped object this near to an outline is the outlined one [m]."""


@dataclass(frozen=True, slots=True)
class RoomErrors:
    """How the drawn detector errs.

    Attributes:
        leak: Pixels by which each mask reaches beyond its object [px].
        gross: Fraction of masks that reach GROSS times as far.
        wrong: Fraction of detections under another label.
        missed: Fraction of objects in view that are not reported.
        masks: False: boxes only.
    """

    leak: int = 2
    gross: float = 0.1
    wrong: float = 0.12
    missed: float = 0.1
    masks: bool = True


USUAL = RoomErrors()


def notes() -> dict[str, Any]:
    """What was measured by hand in the room: outlines [m], heights [m], sizes [m], labels."""
    text = resources.files("research.bench").joinpath("data/red_kitchen.json").read_text("utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def room_frames(
    folder: Path, every: int = 1, errors: RoomErrors = USUAL, seed: int = 0
) -> Iterator[tuple[RgbdFrame, list[ImageDetection]]]:
    """Yield frames of the room with drawn detections.

    Args:
        folder: `frame-NNNNNN.{color.jpg,depth.png,pose.txt}` as 7-Scenes has them.
        every: Every so many-th frame.
        errors: Of the detector.
        seed: Of the errors.

    Raises:
        RecordingError: There are no such frames.
    """
    known = notes()
    rng = np.random.default_rng(seed)
    fx, fy, cx, cy = known["intrinsics"]
    level = np.eye(4)
    level[:3, :3], level[:3, 3] = known["rotation"], known["offset"]
    outlines = [(one, Polygon(one["outline"])) for one in known["things"]]
    labels = sorted({one["label"] for one in known["things"]})
    files = sorted(folder.glob("frame-*.depth.png"))
    if not files:
        raise RecordingError(folder, "no frame-*.depth.png", "give the folder of 7-Scenes frames")
    for k, path in enumerate(files[::every]):
        raw = np.asarray(Image.open(path)).astype(np.float32)
        depth = np.where(raw >= 65535, 0.0, raw / 1000.0).astype(np.float32)
        stem = str(path).removesuffix(".depth.png")
        color = np.asarray(Image.open(f"{stem}.color.jpg").convert("RGB"))
        pose = level @ np.loadtxt(f"{stem}.pose.txt")
        v, u = np.mgrid[0 : depth.shape[0], 0 : depth.shape[1]]
        local = np.stack([(u + 0.5 - cx) / fx * depth, (v + 0.5 - cy) / fy * depth, depth], -1)
        points = local @ pose[:3, :3].T + pose[:3, 3]
        valid = (depth > REACH[0]) & (depth < REACH[1])
        found = []
        for one, outline in outlines:
            inside = _within(points, valid, outline, one["z"])
            if inside.sum() < LEAST_PIXELS or rng.random() < errors.missed:
                continue
            reach = errors.leak * (GROSS if rng.random() < errors.gross else 1)
            label = one["label"]
            if rng.random() < errors.wrong:
                label = str(rng.choice([name for name in labels if name != label]))
            box, mask = _grown(inside, reach)
            found.append(ImageDetection(box, {label: 0.8}, mask if errors.masks else None))
        yield RgbdFrame(depth, (fx, fy, cx, cy), pose, color, float(k), "kinect"), found


def _grown(
    inside: npt.NDArray[np.bool_], reach: int
) -> tuple[tuple[int, int, int, int], npt.NDArray[np.bool_]]:
    """Box and mask of pixels (rows, cols), holes closed, grown by `reach` [px]."""
    rows, cols = np.nonzero(inside)
    margin = reach + 4
    top, left = max(int(rows.min()) - margin, 0), max(int(cols.min()) - margin, 0)
    part = inside[top : int(rows.max()) + margin + 1, left : int(cols.max()) + margin + 1]
    mask = ndimage.binary_closing(part, iterations=3) | part
    mask = ndimage.binary_dilation(mask, iterations=reach) if reach else mask
    rows, cols = np.nonzero(mask)
    height, width = int(np.ptp(rows)) + 1, int(np.ptp(cols)) + 1
    v, u = int(rows.min()), int(cols.min())
    return (left + u, top + v, width, height), mask[v : v + height, u : u + width]


def _within(
    points: npt.NDArray[np.float64], valid: npt.NDArray[np.bool_], outline: Polygon, z: list[float]
) -> npt.NDArray[np.bool_]:
    """Pixels (rows, cols) with points (rows, cols, 3) in an outline and between heights."""
    left, low, right, high = outline.bounds
    x, y, up = points[..., 0], points[..., 1], points[..., 2]
    inside: npt.NDArray[np.bool_] = valid & (up > z[0]) & (up < z[1])
    inside &= (x > left) & (x < right) & (y > low) & (y < high)
    where = np.flatnonzero(inside)
    flat = points.reshape(-1, 3)[where]
    inside.reshape(-1)[where] = contains_xy(outline, flat[:, 0], flat[:, 1])
    opened: npt.NDArray[np.bool_] = ndimage.binary_opening(inside)
    return opened


def map_room(folder: Path, every: int = 2, errors: RoomErrors = USUAL, seed: int = 0) -> SceneGraph:
    """Map the room from its frames; see `room_frames`."""
    return map_frames(room_frames(folder, every, errors, seed))


def map_frames(frames: Iterable[tuple[RgbdFrame, list[ImageDetection]]]) -> SceneGraph:
    """Map frames with what was detected in them."""
    mapper = SemanticMapper(MapperOptions())
    for k, (frame, found) in enumerate(frames):
        mapper.update(frame, found)
        if k % 25 == 24:
            mapper.tidy()
    mapper.tidy()
    return mapper.scene()


@dataclass(frozen=True, slots=True)
class RoomRow:
    """An object of the room, and what the map holds in its place, the most seen first.

    `size` are the true lengths of the sides [m], longest first; of "" (no such object) none.
    """

    id: str
    label: str
    size: tuple[float, ...]
    mapped: tuple[SceneObject, ...]

    @property
    def right(self) -> SceneObject | None:
        """The first of them that bears the right label."""
        return next((one for one in self.mapped if one.label.top == self.label), None)

    @property
    def swelling(self) -> float:
        """Edge of a cube of the mapped box's volume by that of the true one; NaN without box."""
        one = self.right
        return (math.prod(one.box.size) / math.prod(self.size)) ** (1 / 3) if one else math.nan


def measured(scene: SceneGraph) -> list[RoomRow]:
    """Compare a map with what was measured by hand; the last row holds what is nothing of it."""
    things = notes()["things"]
    outlines = {one["id"]: Polygon(one["outline"]) for one in things}
    mapped: dict[str, list[SceneObject]] = {id_: [] for id_ in (*outlines, "")}
    for thing in scene.objects.values():
        x, y, z = thing.box.center
        away = {
            one["id"]: outlines[one["id"]].distance(Point(x, y))
            for one in things
            if one["z"][0] - NEAR <= z <= one["z"][1] + NEAR
        }
        nearest = min(away, key=lambda id_: away[id_]) if away else ""
        mapped[nearest if nearest and away[nearest] < NEAR else ""].append(thing)
    for found in mapped.values():
        found.sort(key=lambda one: (-one.observations, one.id))
    rows = [
        RoomRow(o["id"], o["label"], tuple(sorted(o["size"], reverse=True)), tuple(mapped[o["id"]]))
        for o in things
    ]
    return [*rows, RoomRow("", "", (), tuple(mapped[""]))]


def print_room(scene: SceneGraph, console: Console, title: str) -> None:
    """Print what was found of the room."""
    table = Table(title=title, title_justify="left")
    for column in ("object", "true size [m]", "mapped as", "size [m]", "looks", "too large by"):
        table.add_column(column)
    rows = measured(scene)
    for row in rows[:-1]:
        size = " x ".join(f"{side:.2f}" for side in row.size)
        for k, one in enumerate(row.mapped):
            sides = " x ".join(f"{side:.2f}" for side in sorted(one.box.size, reverse=True))
            times = f"{row.swelling:.2f}" if one is row.right else ""
            head = (row.id, size) if k == 0 else ("", "")
            table.add_row(*head, one.label.top, sides, str(one.observations), times)
        if not row.mapped:
            table.add_row(row.id, size, "-", "", "", "")
    print_whole(table, console)
    found = [row for row in rows[:-1] if row.right]
    over = len(scene.objects) - len(found)
    swelling = float(np.median([row.swelling for row in found])) if found else math.nan
    console.print(
        f"{len(found)} of {len(rows) - 1} objects under their label, {over} others in the map; "
        f"boxes {swelling:.2f} times as large in the median"
    )
