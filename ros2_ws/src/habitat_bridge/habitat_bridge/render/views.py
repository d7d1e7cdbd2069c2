"""What cameras look at, and the images that are made of it: shared by all ways of making them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.embodiment import Camera
from coterie_core.geometry import Pose, Vec3
from habitat_bridge.render.solids import Soup, cylinder
from habitat_bridge.simulator import Channel

SKY = np.array([176, 205, 235], dtype=np.uint8)
"""Colour of where nothing is."""

# Where the coordinates of the corners of a box (low corner, high corner) are in it.
_CORNERS = np.array([(x, y, z) for z in (2, 5) for y in (1, 4) for x in (0, 3)])


@dataclass(frozen=True, slots=True)
class View:
    """What a camera looks at: eye [m], yaw [rad] (None: all around), pitch [rad] down positive."""

    eye: Vec3
    yaw: float | None
    camera: Camera

    @staticmethod
    def of(pose: Pose, camera: Camera, around: bool = False) -> View:
        """Return the view of a camera of a base at `pose`; around: turned about the base axis."""
        x, y, z = pose.position
        if around:
            return View((x, y, z + camera.mount_height), None, camera)
        ahead = camera.mount_forward
        eye = (
            x + ahead * math.cos(pose.yaw),
            y + ahead * math.sin(pose.yaw),
            z + camera.mount_height,
        )
        return View(eye, pose.yaw, camera)

    def matrix(self) -> npt.NDArray[np.float64]:
        """Return camera_to_map (4, 4): optical frame (x right, y down, z ahead) to map."""
        yaw, pitch = self.yaw or 0.0, self.camera.pitch
        cy, sy, cp, sp = math.cos(yaw), math.sin(yaw), math.cos(pitch), math.sin(pitch)
        out = np.eye(4)
        out[:3, 0] = (sy, -cy, 0.0)
        out[:3, 1] = (-sp * cy, -sp * sy, -cp)
        out[:3, 2] = (cp * cy, cp * sy, -sp)
        out[:3, 3] = self.eye
        return out

    def to_pixels(self) -> npt.NDArray[np.float64]:
        """Return (3, 4): (x, y, z, 1) [m] in the map to (col * depth, row * depth, depth).

        Columns and rows are whole numbers in the middles of pixels.
        """
        camera, matrix = self.camera, self.matrix()
        right, down, ahead = matrix[:3, :3].T
        out = np.empty((3, 4))
        out[0, :3] = camera.focal * right + (camera.width - 1) / 2.0 * ahead
        out[1, :3] = camera.focal * down + (camera.height - 1) / 2.0 * ahead
        out[2, :3] = ahead
        out[:, 3] = -(out[:, :3] * matrix[:3, 3]).sum(axis=1)
        return out

    def inside(self, offsets: npt.NDArray[np.floating]) -> npt.NDArray[np.bool_]:
        """Tell which points, given relative to the eye (..., 3) [m], are within the image."""
        dx, dy, dz = offsets[..., 0], offsets[..., 1], offsets[..., 2]
        cp, sp = math.cos(self.camera.pitch), math.sin(self.camera.pitch)
        if self.yaw is None:
            ahead = np.hypot(dx, dy)
        else:
            ahead = dx * math.cos(self.yaw) + dy * math.sin(self.yaw)
        depth = ahead * cp - dz * sp
        up = ahead * sp + dz * cp
        ok = (depth > 0.0) & (np.abs(up) <= depth * math.tan(self.camera.vfov / 2.0))
        if self.yaw is not None:
            right = dx * math.sin(self.yaw) - dy * math.cos(self.yaw)
            ok &= np.abs(right) <= depth * math.tan(self.camera.hfov / 2.0)
        return ok

    def touches(self, boxes: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Tell which boxes (N, 6) [m], low and high corners, may show in the image.

        Only those are excluded that lie wholly beyond one of its sides or behind the eye.
        """
        corners = boxes[:, _CORNERS]
        u, v, depth = ((corners * row[:3]).sum(axis=-1) + row[3] for row in self.to_pixels())
        width, height = self.camera.width, self.camera.height
        beyond = (u < -depth, u > width * depth, v < -depth, v > height * depth, depth <= 0.0)
        return ~np.any([side.all(axis=1) for side in beyond], axis=0)


@dataclass(frozen=True, slots=True)
class Pillar:
    """A robot's body in images: where it stands [m], radius and height [m], instance number."""

    position: Vec3
    radius: float
    height: float
    number: int

    def box(self) -> tuple[float, ...]:
        """Return its low and high corner [m]."""
        x, y, z = self.position
        r = self.radius
        return (x - r, y - r, z, x + r, y + r, z + self.height)

    def soup(self) -> Soup:
        """Return its surface."""
        base = cylinder(self.radius, self.height)
        shift = np.array(self.position)
        return base._replace(
            vertices=base.vertices + shift.astype(np.float32),
            boxes=base.boxes + np.tile(shift, 2),
            instances=np.full(len(base.triangles), self.number, dtype=np.int32),
        )


@dataclass(frozen=True, slots=True)
class Shot:
    """An image to be made: the view, what of it is wanted, and the robots that may show in it."""

    view: View
    channels: frozenset[Channel]
    robots: tuple[Pillar, ...]


@dataclass(slots=True)
class Image:
    """What was made of one view; channels that were not asked for are None."""

    color: npt.NDArray[np.uint8] | None
    depth: npt.NDArray[np.float32] | None
    semantic: npt.NDArray[np.int32] | None
