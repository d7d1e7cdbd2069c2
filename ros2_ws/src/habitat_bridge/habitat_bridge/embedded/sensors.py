"""Cameras of the embedded house: images, and what lines of sight meet."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Vec3
from habitat_bridge.embedded.detector import DetectorNoise, Sighting
from habitat_bridge.embedded.things import Showing, Things
from habitat_bridge.render.rays import RayPainter, RayScene
from habitat_bridge.render.solids import Floats, Soup, Surface, make_soup, with_things
from habitat_bridge.render.views import Image, Pillar, Shot, View
from habitat_bridge.simulator import Channel

if TYPE_CHECKING:
    from habitat_bridge.render.painter import Painter

Key = tuple[int, str]  # robot, camera

Mask = npt.NDArray[np.bool_]
_LOG = logging.getLogger(__name__)
_EYE_HEIGHTS = (0.35, 1.0)  # [m] above a place: where one looks whether it is in view


@dataclass(frozen=True, slots=True)
class _Entry:
    shot: Shot
    showing: Showing
    image: Image


class KeptImages:
    """The last image of each camera.

    Args:
        limit: So many are kept; the camera that was asked for longest ago is forgotten.
    """

    def __init__(self, limit: int = 16) -> None:
        self._limit = limit
        self._entries: dict[Key, _Entry] = {}

    def find(self, key: Key, shot: Shot, showing: Showing) -> Image | None:
        """Return the image that was made of the same shot, unless what it shows has changed."""
        entry = self._entries.pop(key, None)
        if entry is None or entry.shot != shot:
            return None
        changed = entry.showing.changes(showing)
        if changed is not None and shot.view.touches(changed).any():
            return None
        self._entries[key] = _Entry(shot, showing, entry.image)
        return entry.image

    def put(self, key: Key, shot: Shot, showing: Showing, image: Image) -> None:
        """Keep an image; its arrays become read-only."""
        pixels: tuple[Any, ...] = (image.color, image.depth, image.semantic)
        for array in pixels:
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        self._entries[key] = _Entry(shot, showing, image)
        while len(self._entries) > self._limit:
            del self._entries[next(iter(self._entries))]


class Sensors:
    """Sight into the house and its contents as they are now.

    What is to be seen is shared by all robots and put together anew only when a thing has moved or
    has been opened. Images are drawn by the compiled rasteriser; lines of sight, which are few, are
    rays, whose acceleration structure is built at the first of them after a change.

    Args:
        structure: Walls, floors, ceilings, stairs.
        instances: Instance number per triangle of the structure.
        contents: The things.
        threads: How many threads draw images and cast rays (0: all cores).

    Attributes:
        by_rays: Whether images are made by rays too, as they are without a C compiler. To be
            set before the first image.
        builds: How often the structure for rays has been built.
    """

    def __init__(
        self,
        structure: Surface,
        instances: npt.NDArray[np.int32],
        contents: Things,
        threads: int = 0,
    ) -> None:
        self._structure = make_soup(structure, instances)
        self._contents = contents
        self._threads = threads
        self._soup: tuple[Showing, Soup] | None = None
        self._scene: RayScene | None = None
        self._rays = RayPainter(threads)
        self._painter: Painter | None = None
        self.by_rays = False
        self._kept = KeptImages()
        self.builds = 0

    def render(
        self,
        views: Sequence[View],
        channels: Sequence[frozenset[Channel]],
        robots: Sequence[Pillar],
        own: Sequence[int],
    ) -> list[Image]:
        """Return the images of several views; those that show nothing new are not made again.

        Args:
            views: Cameras.
            channels: What to make of each.
            robots: Bodies of all robots.
            own: Per view the index in `robots` of the one whose camera it is: it does not see
                itself.

        Returns:
            One image per view. Its arrays are read-only: they may be returned again.
        """
        boxes = np.array([robot.box() for robot in robots]).reshape(-1, 6)
        showing = self._contents.showing
        shots: list[Shot] = []
        images: list[Image | None] = []
        missing = []
        for k, (view, wanted, me) in enumerate(zip(views, channels, own, strict=True)):
            near = np.flatnonzero(view.touches(boxes)).tolist() if len(robots) > 1 else []
            shot = Shot(view, wanted, tuple(robots[n] for n in near if n != me))
            shots.append(shot)
            images.append(self._kept.find((me, view.camera.name), shot, showing))
            if images[-1] is None:
                missing.append(k)
        if missing:
            made = self._images([shots[k] for k in missing])
            for k, image in zip(missing, made, strict=True):
                images[k] = image
                self._kept.put((own[k], views[k].camera.name), shots[k], showing, image)
        return [image for image in images if image is not None]

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
        scene = self._ready()
        far, triangle = scene.cast(rays)
        return far, np.where(triangle >= 0, scene.soup.instances[triangle], 0).astype(np.int32)

    def labels(self, structure: Mapping[int, str]) -> dict[int, str]:
        """Return instance number -> label for the structure and all things."""
        first = self._contents.first_instance
        return {**structure, **{first + k: name for k, name in enumerate(self._contents.labels)}}

    def _images(self, shots: Sequence[Shot]) -> list[Image]:
        if self._painter is None and not self.by_rays:
            try:
                # Here, because it may have to be compiled and not everybody wants images.
                from habitat_bridge.render.painter import Painter

                self._painter = Painter(self._threads)
            except ImportError as error:
                _LOG.warning("images are made by rays, which is slow: %s", error)
                self.by_rays = True
        if self._painter is None:
            return self._rays.images(self._ready(), shots)
        return self._painter.images(self._current(), shots)

    def _ready(self) -> RayScene:
        """Return the structure for rays into what is there now."""
        soup = self._current()
        if self._scene is None or self._scene.soup is not soup:
            self._scene = RayScene(soup, self._threads)
            self.builds += 1
        return self._scene

    def _current(self) -> Soup:
        """Return what is there now, put together anew if something has changed."""
        showing = self._contents.showing
        if self._soup is None or self._soup[0] is not showing:
            first = self._contents.first_instance
            rows = np.flatnonzero(~showing.hidden)
            shown = [(showing.surfaces[row], first + row) for row in rows.tolist()]
            self._soup = showing, with_things(self._structure, shown, showing.boxes[rows])
        return self._soup[1]
