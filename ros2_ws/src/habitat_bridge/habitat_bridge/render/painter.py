"""Makes images with the compiled rasteriser, several at a time."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np

from coterie_core.embodiment import Camera
from habitat_bridge.render import raster
from habitat_bridge.render.solids import Soup, join
from habitat_bridge.render.views import SKY, Image, Shot, View
from habitat_bridge.simulator import Channel

_ROWS = 64
"""Least rows of an image that are worth a thread of their own [px]."""

_Job: TypeAlias = tuple[Any, ...]


class Painter:
    """Draws what is in view of cameras.

    Args:
        threads: Threads that draw (0: as many as there are cores).
    """

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads or len(os.sched_getaffinity(0))
        self._pool: ThreadPoolExecutor | None = None

    def images(self, house: Soup, shots: Sequence[Shot]) -> list[Image]:
        """Return the images of several shots."""
        images: list[Image] = []
        work: list[_Job] = []
        bands = -(-self._threads // max(len(shots), 1))
        for shot in shots:
            camera = shot.view.camera
            rows, cols = camera.height, camera.width
            robots = join([robot.soup() for robot in shot.robots])
            depth = np.empty((rows, cols), dtype=np.float32)
            semantic = np.empty((rows, cols), dtype=np.int32)
            color = np.empty((rows if "color" in shot.channels else 0, cols, 3), dtype=np.uint8)
            pixels = shot.view.to_pixels()
            limits = np.linspace(0, rows, min(bands, -(-rows // _ROWS)) + 1).astype(int).tolist()
            for top, bottom in itertools.pairwise(limits):
                work.append(
                    (house, robots, pixels, top, bottom, camera.near, camera.far, SKY,
                     depth, semantic, color)
                )  # fmt: skip
            images.append(
                Image(
                    color if "color" in shot.channels else None,
                    depth if "depth" in shot.channels else None,
                    semantic if "semantic" in shot.channels else None,
                )
            )
        helpers = min(self._threads, len(work)) - 1
        jobs = iter(work)
        if helpers > 0 and self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads - 1, "painter")
        waiting = [self._pool.submit(_drain, jobs) for _ in range(helpers) if self._pool]
        _drain(jobs)
        for other in waiting:
            other.result()
        return images


def _drain(jobs: Iterator[_Job]) -> None:
    """Do jobs until none is left; threads may share the iterator of a list."""
    for job in jobs:
        raster.render(*job)


def compile_ahead() -> None:
    """Have the rasteriser compiled, which the first image would have to wait for.

    The result is kept beside the code or in the user's cache; the set-up calls this once.
    """
    view = View((0.0, 0.0, 1.0), 0.0, Camera(width=8, height=8))
    channels: frozenset[Channel] = frozenset(("color", "depth", "semantic"))
    Painter(1).images(join([]), [Shot(view, channels, ())])


if __name__ == "__main__":
    compile_ahead()
