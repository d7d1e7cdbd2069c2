"""Drawn scenes for tests: boxes seen by a perfect depth camera and a perfect detector."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.geometry import Vec3

Boxes = Mapping[str, tuple[Vec3, Vec3]]

ROWS, COLS, FOCAL = 200, 160, 140.0
INTRINSICS = (FOCAL, FOCAL, COLS / 2, ROWS / 2)


def looking(x: float, y: float, z: float, yaw: float) -> npt.NDArray[np.float64]:
    """Camera to map: at (x, y, z) [m], level, looking along `yaw` [rad]."""
    c, s = math.cos(yaw), math.sin(yaw)
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2] = (s, -c, 0), (0, 0, -1), (c, s, 0)
    pose[:3, 3] = (x, y, z)
    return pose


def view(
    boxes: Boxes,
    pose: npt.NDArray[np.float64],
    wall: float = 6.0,
    time: float = 0.0,
    robot: str = "r",
) -> tuple[RgbdFrame, list[ImageDetection]]:
    """Cast rays at boxes {label: (low, high)}; return a frame and perfect detections."""
    v, u = np.mgrid[0:ROWS, 0:COLS]
    rays = np.stack(
        [(u + 0.5 - COLS / 2) / FOCAL, (v + 0.5 - ROWS / 2) / FOCAL, np.ones_like(u)], -1
    )
    rays = rays @ pose[:3, :3].T
    origin = pose[:3, 3]
    depth, owner = np.full((ROWS, COLS), wall), np.full((ROWS, COLS), -1)
    for k, (low, high) in enumerate(boxes.values()):
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b = (np.array(low) - origin) / rays, (np.array(high) - origin) / rays
        enter, leave = np.minimum(a, b).max(-1), np.maximum(a, b).min(-1)
        hit = (enter < leave) & (enter > 0) & (enter < depth)
        depth[hit], owner[hit] = enter[hit], k
    found = []
    for k, label in enumerate(boxes):
        rows, cols = np.nonzero(owner == k)
        if len(rows) < 9:
            continue
        u0, v0 = int(cols.min()), int(rows.min())
        width, height = int(cols.max()) - u0 + 1, int(rows.max()) - v0 + 1
        mask = owner[v0 : v0 + height, u0 : u0 + width] == k
        name = label.partition("#")[0]
        found.append(ImageDetection((u0, v0, width, height), {name: 0.9, "thing": 0.05}, mask))
    frame = RgbdFrame(
        depth.astype(np.float32), INTRINSICS, pose, np.zeros((ROWS, COLS, 3), np.uint8), time, robot
    )
    return frame, found


TABLE = ((2.0, -0.6, 0.0), (2.8, 0.6, 0.75))
MUG = ((2.3, -0.1, 0.75), (2.4, 0.0, 0.87))
SIDES = [
    looking(0, 0, 1.4, 0),
    looking(2.4, -2.2, 1.4, math.pi / 2),
    looking(2.4, 2.2, 1.4, -math.pi / 2),
]
