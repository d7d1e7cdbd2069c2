"""Building blocks of meshes: boxes, prisms and round things, collected with a colour each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from habitat_bridge.house.surfaces import Level

Rgb = tuple[int, int, int]

_BOX_CORNERS = np.array(
    [(x, y, z) for z in (0.0, 1.0) for y in (0.0, 1.0) for x in (0.0, 1.0)], dtype=np.float64
)
# Counter-clockwise seen from outside.
_BOX_FACES = np.array(
    [
        (0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4),
        (2, 6, 3), (3, 6, 7), (0, 4, 2), (2, 4, 6), (1, 3, 5), (3, 7, 5),
    ],
    dtype=np.int64,
)  # fmt: skip


@dataclass(slots=True)
class Parts:
    """Triangles being collected; coordinates in whatever frame the caller uses [m].

    `levels` are the surfaces of the furniture that is built.
    """

    levels: Sequence[Level] = ()
    vertices: list[npt.NDArray[np.float64]] = field(default_factory=list)
    triangles: list[npt.NDArray[np.int64]] = field(default_factory=list)
    colors: list[npt.NDArray[np.uint8]] = field(default_factory=list)
    count: int = 0

    def add(self, vertices: npt.ArrayLike, triangles: npt.ArrayLike, color: Rgb) -> None:
        """Add triangles (M, 3) over vertices (N, 3)."""
        points = np.asarray(vertices, dtype=np.float64).reshape(-1, 3)
        faces = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
        self.vertices.append(points)
        self.triangles.append(faces + self.count)
        self.colors.append(np.tile(np.array(color, dtype=np.uint8), (len(faces), 1)))
        self.count += len(points)

    def box(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        z: tuple[float, float],
        color: Rgb,
    ) -> None:
        """Add a box between the given limits; one without extent is left out."""
        low = np.array([x[0], y[0], z[0]])
        extent = np.array([x[1], y[1], z[1]]) - low
        if np.all(extent > 1e-6):
            self.add(low + _BOX_CORNERS * extent, _BOX_FACES, color)

    def round(
        self,
        center: tuple[float, float],
        profile: Sequence[tuple[float, float]],
        radii: tuple[float, float],
        color: Rgb,
        sides: int = 10,
    ) -> None:
        """Add a body of revolution about z, stretched to an ellipse.

        Args:
            center: Axis (x, y) [m].
            profile: (share of the radius 0..1, z [m]) from the bottom up; both ends are closed.
            radii: Half extents in x and y at share 1 [m].
            color: RGB.
            sides: Number of corners of a ring.
        """
        angles = np.arange(sides) * (math.tau / sides)
        ring = np.column_stack([np.cos(angles) * radii[0], np.sin(angles) * radii[1]])
        points = [
            np.column_stack([ring * share + center, np.full(sides, z)]) for share, z in profile
        ]
        points += [np.array([[*center, profile[0][1]]]), np.array([[*center, profile[-1][1]]])]
        faces: list[tuple[int, int, int]] = []
        last = (len(profile) - 1) * sides
        bottom, top = len(profile) * sides, len(profile) * sides + 1
        for k in range(sides):
            n = (k + 1) % sides
            for level in range(len(profile) - 1):
                a, b = level * sides + k, level * sides + n
                faces += [(a, b, a + sides), (b, b + sides, a + sides)]
            faces += [(bottom, n, k), (top, last + k, last + n)]
        self.add(np.vstack(points), faces, color)

    def cylinder(
        self,
        center: tuple[float, float],
        z: tuple[float, float],
        radii: tuple[float, float],
        color: Rgb,
        *,
        top: float = 1.0,
        sides: int = 10,
    ) -> None:
        """Add a cylinder, or a cone's frustum whose upper radius is `top` times the lower."""
        widest = max(1.0, top)
        profile = [(1.0 / widest, z[0]), (top / widest, z[1])]
        self.round(center, profile, (radii[0], radii[1]), color, sides)

    def ball(
        self,
        center: tuple[float, float],
        z: tuple[float, float],
        radii: tuple[float, float],
        color: Rgb,
        sides: int = 10,
    ) -> None:
        """Add an ellipsoid between two heights."""
        middle, half = (z[0] + z[1]) / 2.0, (z[1] - z[0]) / 2.0
        profile = [
            (math.cos(a), middle + half * math.sin(a))
            for a in (-math.pi / 2 + 0.15, -0.8, -0.35, 0.0, 0.35, 0.8, math.pi / 2 - 0.15)
        ]
        self.round(center, profile, radii, color, sides)

    def ring(
        self,
        z: tuple[float, float],
        outer: tuple[float, float],
        inner: tuple[float, float],
        color: Rgb,
        sides: int = 14,
    ) -> None:
        """Add a flat ring around the origin: half extents outside and inside [m]."""
        angles = np.arange(sides) * (math.tau / sides)
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        points = [
            np.column_stack([circle * np.array(r), np.full(sides, h)])
            for r, h in ((outer, z[0]), (outer, z[1]), (inner, z[1]), (inner, z[0]))
        ]
        faces = []
        for k in range(sides):
            n = (k + 1) % sides
            for level in range(4):
                a, b = level * sides + k, level * sides + n
                c, d = ((level + 1) % 4) * sides + k, ((level + 1) % 4) * sides + n
                faces += [(a, b, c), (b, d, c)]
        self.add(np.vstack(points), faces, color)

    def arrays(
        self,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Return vertices (N, 3), triangles (M, 3), colours (M, 3)."""
        if not self.vertices:
            return np.zeros((0, 3)), np.zeros((0, 3), np.int64), np.zeros((0, 3), np.uint8)
        return np.vstack(self.vertices), np.vstack(self.triangles), np.vstack(self.colors)


def shade(color: Rgb, factor: float) -> Rgb:
    """Return the colour made darker (factor < 1) or brighter (> 1)."""
    r, g, b = (min(255, max(0, round(c * factor))) for c in color)
    return (r, g, b)


def parse_color(text: str, default: Rgb = (160, 160, 160)) -> Rgb:
    """Return the RGB of "#rrggbb"; `default` for anything else."""
    if len(text) == 7 and text.startswith("#"):
        try:
            return (int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16))
        except ValueError:
            return default
    return default
