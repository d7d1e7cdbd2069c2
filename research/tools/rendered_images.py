"""Pictures of generated houses with the boxes of what is in them, to train detectors with."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely

from coterie_core.embodiment import Camera
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.house import House
from habitat_bridge.image_detector import NO_THINGS
from habitat_bridge.render.imaging import Imaging
from habitat_bridge.render.views import Pillar, View
from habitat_bridge.simulator import Channel

SIZE = (320, 240)
"""Columns and rows of the pictures [px]."""
LEAST_PIXELS = 20
"""Pixels of a thing from which it counts; of smaller ones nothing can be asked."""
_LEAST_SIDE = 3
_REACH = 6.0
"""Farthest things that count [m], as told detections have it."""
_CLEAR, _BODY = 0.25, 1.5
"""Room around a camera, and how high the body below it is [m]."""
_CHANNELS: frozenset[Channel] = frozenset(("color", "depth", "semantic"))


@dataclass(frozen=True, slots=True)
class Picture:
    """Color (rows, cols, 3), and what is in it.

    `labels` and `boxes` (N, 4) left, top, right, bottom [px] are of the visible part of each
    thing; `counts` (N,) tells which are large and near enough to be asked for.
    """

    color: npt.NDArray[np.uint8]
    labels: list[str]
    boxes: npt.NDArray[np.float32]
    counts: npt.NDArray[np.bool_]


def pictures_of(seed: int, number: int) -> Iterator[Picture]:
    """Yield pictures of a generated house, from cameras as robots carry them.

    Args:
        seed: Of the house, of where cameras stand, of what is open and where robots are.
        number: How many.
    """
    rng = np.random.default_rng([seed, 47])
    house = generate_house(seed, floors=1)
    imaging = Imaging(house, threads=1)
    contents = imaging.contents
    for thing in list(contents):
        if thing.is_open is False and rng.random() < 0.3:
            contents.set_open(thing.id, True)
    names = imaging.sensors.labels(imaging.structure_labels)
    free = _free_areas(house)
    for _ in range(number):
        x, y, z = _spot(free, rng)
        wide = math.radians(rng.uniform(60.0, 95.0))
        camera = Camera(width=SIZE[0], height=SIZE[1], hfov=wide, pitch=rng.uniform(-0.1, 0.6))
        view = View((x, y, z + rng.uniform(0.35, 1.6)), rng.uniform(-math.pi, math.pi), camera)
        robots = [
            Pillar(_spot(free, rng), rng.uniform(0.15, 0.35), rng.uniform(0.3, 1.4),
                   imaging.first_robot + k)
            for k in range(2)
        ]  # fmt: skip
        (image,) = imaging.sensors.render([view], [_CHANNELS], robots, [-1])
        assert image.color is not None and image.semantic is not None and image.depth is not None
        yield _picture(image.color, image.semantic, image.depth, names)


def _free_areas(house: House) -> list[tuple[shapely.Geometry, float]]:
    """Where cameras can stand in each room, and the height of its floor [m]."""
    floors = {floor.id: floor.elevation for floor in house.floors}
    areas = []
    for room in house.rooms:
        low = floors[room.floor]
        taken = [
            shapely.Polygon(thing.box.footprint())
            for thing in house.objects
            if thing.room == room.id and thing.box.bottom < low + _BODY
        ]
        free = shapely.Polygon(room.polygon).buffer(-_CLEAR)
        areas.append((free.difference(shapely.union_all(taken).buffer(_CLEAR)), low))
    return [(area, low) for area, low in areas if area.area > 0.05]


def _spot(
    areas: list[tuple[shapely.Geometry, float]], rng: np.random.Generator
) -> tuple[float, float, float]:
    area, low = areas[int(rng.integers(len(areas)))]
    left, bottom, right, top = area.bounds
    while True:
        x, y = float(rng.uniform(left, right)), float(rng.uniform(bottom, top))
        if shapely.contains_xy(area, x, y):
            return x, y, low


def _picture(
    color: npt.NDArray[np.uint8],
    semantic: npt.NDArray[np.int32],
    depth: npt.NDArray[np.float32],
    names: dict[int, str],
) -> Picture:
    labels, boxes, counts = [], [], []
    for number in np.unique(semantic).tolist():
        label = names.get(number, "")
        if not label or label in NO_THINGS:
            continue
        mask = semantic == number
        rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        box = (cols[0], rows[0], cols[-1] + 1, rows[-1] + 1)
        small = min(box[2] - box[0], box[3] - box[1]) < _LEAST_SIDE
        near = np.median(depth[mask]) <= _REACH
        labels.append(label)
        boxes.append(box)
        counts.append(bool(mask.sum() >= LEAST_PIXELS and near and not small))
    whole = np.array(boxes, np.float32).reshape(-1, 4)
    return Picture(color, labels, whole, np.array(counts, bool))
