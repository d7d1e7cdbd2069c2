"""Rays into the house: what lines of sight meet, and images where there is no rasteriser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from coterie_core.embodiment import Camera
from coterie_core.open3d_library import o3d
from habitat_bridge.render.solids import Floats, Soup, join
from habitat_bridge.render.views import SKY, Image, Shot

Numbers = npt.NDArray[np.int64]


class RayScene:
    """The acceleration structure over a soup; all robots share it.

    Args:
        soup: What rays can meet.
        threads: How many threads cast rays (0: all cores).
    """

    def __init__(self, soup: Soup, threads: int = 0) -> None:
        self.soup = soup
        self._threads = threads
        self._scene = o3d.t.geometry.RaycastingScene()
        self._scene.add_triangles(
            o3d.core.Tensor.from_numpy(np.ascontiguousarray(soup.vertices, dtype=np.float32)),
            o3d.core.Tensor.from_numpy(np.ascontiguousarray(soup.triangles, dtype=np.uint32)),
        )

    def cast(self, rays: Floats) -> tuple[Floats, Numbers]:
        """Return what rays (N, 6), origin [m] and direction, meet first.

        Returns:
            How many times its direction a ray goes until then (N,), infinite if it meets nothing;
            and the triangle (N,), -1 if there is none.
        """
        hit = self._scene.cast_rays(o3d.core.Tensor.from_numpy(rays), nthreads=self._threads)
        far: Floats = hit["t_hit"].numpy()
        triangle = np.where(np.isfinite(far), hit["primitive_ids"].numpy().astype(np.int64), -1)
        return far, triangle


class RayPainter:
    """Makes images by rays: the reference for `Painter`, and its substitute.

    Args:
        threads: How many threads cast rays (0: all cores).
    """

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads
        self._directions: dict[tuple[int, int, float], Floats] = {}

    def images(self, house: RayScene, shots: Sequence[Shot]) -> list[Image]:
        """Return the images of several shots, cast as one batch of rays."""
        if not shots:
            return []
        batches = [self._rays(shot) for shot in shots]
        far, triangle = house.cast(np.concatenate(batches))
        images, start = [], 0
        for shot, rays in zip(shots, batches, strict=True):
            span = slice(start, start + len(rays))
            start = span.stop
            images.append(self._image(house.soup, shot, rays, far[span], triangle[span]))
        return images

    def _image(
        self, house: Soup, shot: Shot, rays: Floats, far: Floats, triangle: Numbers
    ) -> Image:
        robots = join([robot.soup() for robot in shot.robots])
        if shot.robots:  # they move too often to be part of the shared structure
            nearer, met = RayScene(robots, self._threads).cast(rays)
            front = nearer < far
            far = np.where(front, nearer, far)
            triangle = np.where(front, met + len(house.triangles), triangle)
        camera, wanted = shot.view.camera, shot.channels
        shape = (camera.height, camera.width)
        color = depth = semantic = None
        # Number -1 is the last row of these tables.
        if "depth" in wanted:
            depth = np.where((far >= camera.near) & (far <= camera.far), far, 0.0)
            depth = depth.astype(np.float32).reshape(shape)
        if "semantic" in wanted:
            numbers = np.concatenate([house.instances, robots.instances, np.zeros(1, np.int32)])
            semantic = numbers[triangle].reshape(shape)
        if "color" in wanted:
            colors = np.concatenate([house.colors, robots.colors, SKY[None]])
            color = colors[triangle].reshape(*shape, 3)
        return Image(color, depth, semantic)

    def _rays(self, shot: Shot) -> Floats:
        """Return the rays (rows * cols, 6) of a shot, whose directions are one unit deep."""
        matrix = shot.view.matrix()
        local = self._pinhole(shot.view.camera)
        rays = np.empty((len(local), 6), dtype=np.float32)
        rays[:, :3] = matrix[:3, 3]
        turn = matrix[:3, :3].astype(np.float32)
        for k in range(3):  # BLAS would wait for threads that other programs hold up
            rays[:, 3 + k] = local[:, 0] * turn[k, 0]
            rays[:, 3 + k] += local[:, 1] * turn[k, 1]
            rays[:, 3 + k] += local[:, 2] * turn[k, 2]
        return rays

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
