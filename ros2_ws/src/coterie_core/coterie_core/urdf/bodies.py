"""Where a link's shapes are: points on their outside, for bounds, footprints and contact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from coterie_core.urdf.meshes import Meshes
from coterie_core.urdf.reading import MAX_METERS
from coterie_core.urdf.tree import Link, Shape, Tree

Array = npt.NDArray[np.float64]

_RIM = 24
# A solid of this density [kg/m3] and size [m] may be a robot's body; anything else is a number
# that somebody put into <inertial> to keep a simulator quiet.
_DENSITIES = (20.0, 8000.0)
_SIZES = (0.02, 1.5)


class Bodies:
    """Points of the links' shapes, in the links' frames.

    Collision shapes are taken where a link has any that can be read, else visual ones; for
    the robot's own body, where its meshes are missing, the box of the same mass and inertia.

    Args:
        tree: The robot.
        folders: Where meshes may lie: the URDF's folder and those of packages.
    """

    def __init__(self, tree: Tree, folders: Sequence[Path] = ()) -> None:
        self.tree = tree
        self.meshes = Meshes(folders)
        self.missing: dict[str, str] = {}
        self.guessed: list[str] = []
        self._points = {name: self._of(link) for name, link in tree.links.items()}

    def guess(self, body: str) -> None:
        """Take boxes of the same inertia for what is fixed to `body` and not known otherwise."""
        readable = any(len(points) for points in self._points.values())
        for name in self.tree.rigid(body):
            link = self.tree.links[name]
            if not len(self._points[name]) and (link.shapes or not readable):
                self._points[name] = self._from_inertia(link)

    def points(self, link: str) -> Array:
        """Return points (n, 3) on the outside of a link's shapes; n = 0: nothing known."""
        return self._points[link]

    def shapes(self, link: str) -> tuple[Shape, ...]:
        """Return the shapes of a link that count: collision where there are any, else visual."""
        shapes = self.tree.links[link].shapes
        for collision in (True, False):
            chosen = tuple(shape for shape in shapes if shape.collision == collision)
            if any(len(self.outline(shape)) for shape in chosen):
                return chosen
        return ()

    def measured(self, link: str) -> bool:
        """Whether a link's outside is known from its shapes."""
        return len(self._points[link]) > 0 and link not in self.guessed

    def radius_about(self, link: str, axis: Array) -> float | None:
        """Return how far a link's shapes are from its own `axis` [m]; None: not known."""
        points = self._points[link]
        if not self.measured(link):
            return None
        across = points - np.outer(points @ axis, axis)
        radius = float(np.linalg.norm(across, axis=1).max())
        return radius if radius > 0.003 else None

    def _of(self, link: Link) -> Array:
        found = [self.outline(shape) for shape in self.shapes(link.name)]
        return np.concatenate(found) if found else np.empty((0, 3))

    def outline(self, shape: Shape) -> Array:
        """Return points (n, 3) on the outside of a shape, in its link; n = 0: not known."""
        if shape.kind == "mesh":
            corners = self.meshes.corners(shape.file)
            if isinstance(corners, str):
                self.missing[shape.file] = corners
                return np.empty((0, 3))
            points = corners * np.array(shape.size)
            if np.abs(points).max() > MAX_METERS:
                self.missing[shape.file] = "is hundreds of meters large: is its scale right?"
                return np.empty((0, 3))
        else:
            points = outline(shape)
        return points @ shape.pose[:3, :3].T + shape.pose[:3, 3]

    def _from_inertia(self, link: Link) -> Array:
        edges = box_of_inertia(link)
        if edges is None or link.inertia is None or link.centre is None:
            return np.empty((0, 3))
        self.guessed.append(link.name)
        _, axes = np.linalg.eigh(link.inertia)
        return outline(Shape("box", edges, np.eye(4))) @ axes.T + link.centre


def box_of_inertia(link: Link) -> tuple[float, float, float] | None:
    """Return the edges [m] of the solid box with a link's mass and principal moments.

    For a box m (b^2 + c^2) / 12 is the moment about edge a. None where the numbers are no solid's.
    """
    if link.inertia is None or not link.mass or link.mass <= 0.0:
        return None
    moments = np.linalg.eigvalsh(link.inertia)
    squares = 6.0 * (moments.sum() - 2.0 * moments) / link.mass
    if squares.min() <= 0.0:
        return None
    edges = np.sqrt(squares)
    density = link.mass / float(edges.prod())
    if not (_DENSITIES[0] <= density <= _DENSITIES[1]):
        return None
    if edges.min() < _SIZES[0] or edges.max() > _SIZES[1]:
        return None
    return float(edges[0]), float(edges[1]), float(edges[2])


def outline(shape: Shape) -> Array:
    """Return points (n, 3) on the outside of a primitive, about its own centre."""
    size = shape.size
    if min(size) < 0.0 or max(size) <= 0.0:
        return np.empty((0, 3))
    if shape.kind == "box":
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return signs * (np.array(size) / 2.0)
    angles = np.arange(_RIM) * (2.0 * math.pi / _RIM)
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(_RIM)], axis=1)
    if shape.kind == "cylinder":
        ends = [size[0] * ring + [0.0, 0.0, z] for z in (-size[1] / 2.0, size[1] / 2.0)]
        return np.concatenate(ends)
    return size[0] * np.concatenate([ring, ring[:, [0, 2, 1]], ring[:, [2, 0, 1]]])
