"""Cameras of the embedded house: images and lines of sight by rays, one structure for all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import open3d as o3d

from coterie_core.embodiment import Camera
from coterie_core.geometry import Pose, Vec3
from habitat_bridge.embedded.detector import DetectorNoise, Sighting
from habitat_bridge.embedded.solids import Floats, Surface
from habitat_bridge.embedded.things import Things
from habitat_bridge.simulator import Channel

_SKY = np.array([176, 205, 235], dtype=np.uint8)
_LIGHT = np.array([0.351, 0.251, 0.902], dtype=np.float32)  # unit length
Mask = npt.NDArray[np.bool_]

_EYE_HEIGHTS = (0.35, 1.0)  # [m] above a place: where one looks whether it is in view


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


@dataclass(slots=True)
class Image:
    """What `Sensors.render` made of one view; channels that were not asked for are None."""

    color: npt.NDArray[np.uint8] | None
    depth: npt.NDArray[np.float32] | None
    semantic: npt.NDArray[np.int32] | None


class Sensors:
    """Ray casting into the house and its contents as they are now.

    The acceleration structure is shared by all robots and rebuilt only when a thing has moved or
    has been opened, at the next ray after that.

    Args:
        structure: Walls, floors, ceilings, stairs.
        instances: Instance number per triangle of the structure.
        contents: The things.
        threads: How many threads cast rays (0: all cores).
    """

    def __init__(
        self,
        structure: Surface,
        instances: npt.NDArray[np.int32],
        contents: Things,
        threads: int = 0,
    ) -> None:
        self._structure = structure
        self._structure_instances = instances
        self._contents = contents
        self._threads = threads
        self._built = -1
        self._scene: o3d.t.geometry.RaycastingScene | None = None
        self._instance: npt.NDArray[np.int32] = instances
        self._color: npt.NDArray[np.uint8] = structure.color
        self._directions: dict[tuple[int, int, float], Floats] = {}
        self.builds = 0

    def render(
        self,
        views: Sequence[View],
        channels: Sequence[frozenset[Channel]],
        others: Sequence[Surface],
        other_instances: Sequence[int],
        own: Sequence[int],
    ) -> list[Image]:
        """Return the images of several views, cast as one batch of rays.

        Args:
            views: Cameras.
            channels: What to make of each.
            others: Robots' bodies, which move too often to be part of the shared structure.
            other_instances: Their instance numbers.
            own: Per view the index in `others` that must not be seen (the robot itself), or -1.
        """
        batches = []
        for view in views:
            matrix = view.matrix()
            local = self._pinhole(view.camera)
            rays = np.empty((local.shape[0], 6), dtype=np.float32)
            rays[:, :3] = matrix[:3, 3]
            turn = matrix[:3, :3].astype(np.float32)
            for k in range(3):  # BLAS would wait for threads that other programs hold up
                rays[:, 3 + k] = local[:, 0] * turn[k, 0]
                rays[:, 3 + k] += local[:, 1] * turn[k, 1]
                rays[:, 3 + k] += local[:, 2] * turn[k, 2]
            batches.append(rays)
        if not batches:
            return []
        rays = batches[0] if len(batches) == 1 else np.concatenate(batches)
        shaded = any("color" in wanted for wanted in channels)
        hit = self._cast(rays)
        far = hit["t_hit"].numpy()
        triangle = hit["primitive_ids"].numpy()
        normals = hit["primitive_normals"].numpy() if shaded else None
        found = np.isfinite(far)
        triangle = np.where(found, triangle, 0)
        images, start = [], 0
        for k, (view, wanted) in enumerate(zip(views, channels, strict=True)):
            camera = view.camera
            span = slice(start, start + camera.width * camera.height)
            start = span.stop
            images.append(
                self._image(
                    camera,
                    wanted,
                    far[span],
                    triangle[span],
                    found[span],
                    normals[span] if normals is not None else None,
                )
            )
            self._add_robots(
                images[-1], view, rays[span], far[span], others, other_instances, own[k]
            )
        return images

    def look(
        self, view: View, noise: DetectorNoise, places: npt.NDArray[np.float64]
    ) -> tuple[list[Sighting], Mask]:
        """Return the things in view, and which of the places (N, 3) [m] are in line of sight.

        A thing is in view if it is within range, large enough in the image, not in a closed
        container or a hand, and if enough of the rays to points all over it meet it first.
        """
        contents, camera = self._contents, view.camera
        eye = np.asarray(view.eye)
        reach = min(camera.far, noise.max_range)
        away = np.linalg.norm(contents.centers - eye, axis=1)
        pixels = camera.focal * contents.extents / np.maximum(away, 0.05)
        rows = np.flatnonzero(~contents.hidden & (away <= reach) & (pixels >= noise.min_pixels))
        offsets = contents.points[rows] - eye.astype(np.float32)
        inside = view.inside(offsets)
        spots = np.repeat(places[:, None, :], len(_EYE_HEIGHTS), axis=1) - eye
        spots[:, :, 2] += np.asarray(_EYE_HEIGHTS)
        flat = spots.copy()
        flat[:, :, 2] = 0.0  # a place counts as in view if it is in view sideways
        sideways = View(view.eye, view.yaw, camera.model_copy(update={"pitch": 0.0}))
        watched = sideways.inside(flat) & (np.linalg.norm(spots, axis=2) <= reach)
        targets = np.concatenate([offsets[inside], spots[watched].astype(np.float32)])
        if not len(targets):
            return [], np.zeros(len(places), dtype=bool)
        far, instance = self.meets(view.eye, targets)
        count = int(inside.sum())
        met = instance[:count] - contents.first_instance
        own = np.broadcast_to(rows[:, None], inside.shape)[inside]
        shares = np.zeros(inside.shape, dtype=np.float32)
        shares[inside] = met == own
        fraction = shares.mean(axis=1)
        clear = np.zeros(watched.shape, dtype=bool)
        clear[watched] = far[count:] > 1.0 - 1e-3
        sightings = []
        for k in np.flatnonzero(fraction >= max(noise.min_fraction, 1e-6)):
            row = int(rows[k])
            name = contents.ids[row]
            sightings.append(
                Sighting(
                    name,
                    contents.labels[row],
                    contents.things[name].box,
                    float(fraction[k]),
                    float(away[row]),
                    float(pixels[row]),
                )
            )
        seen: Mask = np.any(clear, axis=1)
        return sightings, seen

    def sees(self, eye: Vec3, name: str) -> bool:
        """Tell whether a line of sight leads from `eye` [m] to any point of a thing."""
        row = self._contents.rows[name]
        if self._contents.hidden[row]:
            return False
        targets = self._contents.points[row] - np.asarray(eye, dtype=np.float32)
        _, instance = self.meets(eye, targets)
        return bool(np.any(instance == self._contents.first_instance + row))

    def meets(self, eye: Vec3, targets: Floats) -> tuple[Floats, npt.NDArray[np.int32]]:
        """Return what lines of sight from `eye` [m] meet first, however far.

        Args:
            eye: Where they begin.
            targets: Points (N, 3) relative to the eye [m] that they go through.

        Returns:
            Where it is met (N,), 1 at the target and infinite for nothing; and the instance
            number of what is met (N,), 0 for nothing.
        """
        rays = np.empty((len(targets), 6), dtype=np.float32)
        rays[:, :3] = eye
        rays[:, 3:] = targets
        hit = self._cast(rays)
        far: Floats = hit["t_hit"].numpy()
        found = np.isfinite(far)
        triangle = np.where(found, hit["primitive_ids"].numpy(), 0)
        return far, np.where(found, self._instance[triangle], 0).astype(np.int32)

    def labels(self, structure: Mapping[int, str]) -> dict[int, str]:
        """Return instance number -> label for the structure and all things."""
        first = self._contents.first_instance
        return {**structure, **{first + k: name for k, name in enumerate(self._contents.labels)}}

    def _cast(self, rays: Floats) -> Mapping[str, o3d.core.Tensor]:
        scene = self._ready()
        out: Mapping[str, o3d.core.Tensor] = scene.cast_rays(
            o3d.core.Tensor.from_numpy(rays), nthreads=self._threads
        )
        return out

    def _ready(self) -> o3d.t.geometry.RaycastingScene:
        """Return the structure of what is there now, built anew if something has changed."""
        if self._scene is None or self._built != self._contents.revision:
            shown = [
                (self._contents.surfaces[row], self._contents.first_instance + row)
                for row in np.flatnonzero(~self._contents.hidden)
            ]
            parts = [self._structure, *(surface for surface, _ in shown)]
            shift = np.cumsum([0, *(len(part.vertices) for part in parts)])
            triangles = [p.triangles + np.uint32(s) for p, s in zip(parts, shift, strict=False)]
            self._instance = np.concatenate(
                [
                    self._structure_instances,
                    *(np.full(len(s.triangles), n, dtype=np.int32) for s, n in shown),
                ]
            )
            self._color = np.concatenate([part.color for part in parts])
            self._scene = _scene(
                np.concatenate([part.vertices for part in parts]), np.concatenate(triangles)
            )
            self._built = self._contents.revision
            self.builds += 1
        return self._scene

    def _pinhole(self, camera: Camera) -> Floats:
        """Return the rays (rows * cols, 3) of a camera in its optical frame, one unit deep."""
        key = (camera.width, camera.height, camera.hfov)
        if key not in self._directions:
            if len(self._directions) > 32:
                self._directions.clear()
            xs = (np.arange(camera.width) + 0.5 - camera.width / 2.0) / camera.focal
            ys = (np.arange(camera.height) + 0.5 - camera.height / 2.0) / camera.focal
            grid_x, grid_y = np.meshgrid(xs, ys)
            rays = np.stack([grid_x, grid_y, np.ones_like(grid_x)], axis=-1)
            self._directions[key] = rays.reshape(-1, 3).astype(np.float32)
        return self._directions[key]

    def _image(
        self,
        camera: Camera,
        wanted: frozenset[Channel],
        far: Floats,
        triangle: npt.NDArray[np.integer],
        found: npt.NDArray[np.bool_],
        normals: Floats | None,
    ) -> Image:
        shape = (camera.height, camera.width)
        color = depth = semantic = None
        if "depth" in wanted:
            depth = np.where((far >= camera.near) & (far <= camera.far), far, 0.0)
            depth = depth.astype(np.float32).reshape(shape)
        if "semantic" in wanted:
            semantic = np.where(found, self._instance[triangle], 0).astype(np.int32).reshape(shape)
        if "color" in wanted and normals is not None:
            flat = self._color[triangle] * _shade(normals)[:, None]
            flat[~found] = _SKY
            color = flat.astype(np.uint8).reshape(*shape, 3)
        return Image(color, depth, semantic)

    def _add_robots(
        self,
        image: Image,
        view: View,
        rays: Floats,
        far: Floats,
        others: Sequence[Surface],
        numbers: Sequence[int],
        own: int,
    ) -> None:
        """Draw the other robots over what lies behind them."""
        near = [k for k, body in enumerate(others) if k != own and self._in_view(view, body)]
        if not near:
            return
        shift = np.cumsum([0, *(len(others[k].vertices) for k in near)])
        scene = _scene(
            np.concatenate([others[k].vertices for k in near]),
            np.concatenate(
                [others[k].triangles + np.uint32(s) for k, s in zip(near, shift, strict=False)]
            ),
        )
        hit = scene.cast_rays(o3d.core.Tensor.from_numpy(rays), nthreads=self._threads)
        t = hit["t_hit"].numpy()
        front = np.flatnonzero(t < far)
        if not len(front):
            return
        triangle = hit["primitive_ids"].numpy()[front]
        owner = np.concatenate([np.full(len(others[k].triangles), k) for k in near])[triangle]
        row, col = np.divmod(front, view.camera.width)
        if image.depth is not None:
            ok = (t[front] >= view.camera.near) & (t[front] <= view.camera.far)
            image.depth[row, col] = np.where(ok, t[front], 0.0)
        if image.semantic is not None:
            image.semantic[row, col] = np.asarray(numbers, dtype=np.int32)[owner]
        if image.color is not None:
            colors = np.concatenate([others[k].color for k in near])[triangle]
            shade = _shade(hit["primitive_normals"].numpy()[front])
            image.color[row, col] = (colors * shade[:, None]).astype(np.uint8)

    @staticmethod
    def _in_view(view: View, body: Surface) -> bool:
        offsets = body.vertices - np.asarray(view.eye, dtype=np.float32)
        ahead = offsets @ view.matrix()[:3, 2].astype(np.float32)
        return bool((ahead > 0.0).any())


def _shade(normals: Floats) -> Floats:
    """Return brightness (0..1) per normal (N, 3): two-sided Lambert with ambient light."""
    lit = 0.62 + 0.38 * np.abs(normals @ _LIGHT)
    return lit.astype(np.float32)


def _scene(vertices: Floats, triangles: npt.NDArray[np.uint32]) -> o3d.t.geometry.RaycastingScene:
    scene = o3d.t.geometry.RaycastingScene()
    scene.add_triangles(
        o3d.core.Tensor.from_numpy(np.ascontiguousarray(vertices, dtype=np.float32)),
        o3d.core.Tensor.from_numpy(np.ascontiguousarray(triangles, dtype=np.uint32)),
    )
    return scene
