"""Where a link's shapes are: points on their outside, for bounds, footprints and contact."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from emos_planner.resume.tree import Link, Shape, Tree

Array = npt.NDArray[np.float64]

_RIM = 24


class Bodies:
    """Points of the links' shapes, in the links' frames.

    Collision shapes are taken where a link has any that can be read, else visual ones. Meshes are
    only read from `folder` and below.

    Args:
        tree: The robot.
        folder: Where meshes may lie; None: nowhere.
    """

    def __init__(self, tree: Tree, folder: Path | None) -> None:
        self.tree = tree
        self.folder = folder
        self.missing: list[str] = []
        self._points = {name: self._of(link) for name, link in tree.links.items()}

    def points(self, link: str) -> Array:
        """Return points (n, 3) on the outside of a link's shapes; n = 0: nothing known."""
        return self._points[link]

    def known(self, link: str) -> bool:
        """Whether the outside of a link is known."""
        return len(self._points[link]) > 0

    def _of(self, link: Link) -> Array:
        for collision in (True, False):
            shapes = [shape for shape in link.shapes if shape.collision == collision]
            found = [points for shape in shapes if len(points := self._shape(shape))]
            if found:
                return np.concatenate(found)
        return np.empty((0, 3))

    def _shape(self, shape: Shape) -> Array:
        points = outline(shape)
        return points @ shape.pose[:3, :3].T + shape.pose[:3, 3]


def outline(shape: Shape) -> Array:
    """Return points (n, 3) on the outside of a primitive, about its own centre."""
    if shape.kind == "box":
        half = np.array(shape.size) / 2.0
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return signs * half if half.max() > 0.0 else np.empty((0, 3))
    if shape.kind == "cylinder":
        radius, length = shape.size
        angles = np.arange(_RIM) * (2.0 * math.pi / _RIM)
        rim = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        ends = [np.column_stack([rim, np.full(_RIM, z)]) for z in (-length / 2, length / 2)]
        return np.concatenate(ends) if radius > 0.0 else np.empty((0, 3))
    if shape.kind == "sphere":
        angles = np.arange(_RIM) * (2.0 * math.pi / _RIM)
        around = np.stack([np.cos(angles), np.sin(angles), np.zeros(_RIM)], axis=1)
        points = np.concatenate([around, around[:, [0, 2, 1]], around[:, [2, 0, 1]]])
        return points * shape.size[0] if shape.size[0] > 0.0 else np.empty((0, 3))
    return np.empty((0, 3))
