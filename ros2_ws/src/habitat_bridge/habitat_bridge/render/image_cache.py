"""Images that are not made again as long as nothing in view has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from habitat_bridge.embedded.things import Showing
from habitat_bridge.render.views import Image, Shot

Key = tuple[int, str]  # robot, camera


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
