"""Cameras of a team's robots, listened to only while somebody looks."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image as Picture
from sensor_msgs.msg import CompressedImage, Image

from coterie_console.team.page import Refused, Said, Tab
from coterie_console.team.state import ConsoleState
from coterie_console.text import plain
from coterie_ros import conversions
from coterie_ros.subscribing import subscribe

if TYPE_CHECKING:
    from coterie_cli.console.node import ConsoleNode

_RATE = 3.0
"""Pictures a second that are read, and sent [1/s]."""
_WIDTH, _QUALITY = 480, 70
_TYPES = {"sensor_msgs/msg/Image": Image, "sensor_msgs/msg/CompressedImage": CompressedImage}
_NO_COLOR = re.compile(r"depth|semantic|mask|infra|disparity|theora|confidence", re.I)
_END = re.compile(r"/(color/)?(image|image_raw|image_color|image_rect|rgb)?(/compressed)?$")

Key = tuple[str, str]


class Cameras:
    """Sends pictures to the pages that watch a camera; for the loop of its node.

    Args:
        node: The console's node.
        state: Is told which cameras there are.
    """

    def __init__(self, node: ConsoleNode, state: ConsoleState) -> None:
        self._node, self._state = node, state
        self._topics: dict[Key, tuple[str, Any]] = {}
        self._open: dict[Key, Any] = {}
        self._busy: set[Key] = set()
        self._turn = asyncio.Lock()

    def look(self, space: str, topics: Sequence[tuple[str, list[str]]]) -> dict[Key, Any]:
        """Return the cameras whose pictures somebody publishes; for the executor's thread.

        Args:
            space: The team's namespace, with its slash.
            topics: All topics, with their types.
        """
        cameras: dict[Key, tuple[str, Any]] = {}
        for name, types in sorted(topics):
            kind = next((_TYPES[one] for one in types if one in _TYPES), None)
            robot, _, rest = name.removeprefix(f"{space}/").partition("/")
            if kind is None or robot not in self._state.robots or _NO_COLOR.search(rest):
                continue
            key = (robot, _END.sub("", "/" + rest).strip("/") or "camera")
            if key not in cameras and self._node.count_publishers(name):
                cameras[key] = (name, kind)  # raw images come before compressed ones
        return cameras

    def found(self, cameras: dict[Key, tuple[str, Any]]) -> None:
        """Take the cameras that there are now."""
        self._topics = cameras
        for robot in self._state.robots:
            self._state.cameras(robot, [camera for who, camera in cameras if who == robot])

    async def watch(self, said: Said, tab: Tab) -> str:
        """Begin to watch a camera, or end it where none is named."""
        robot, camera = said.get("robot"), said.get("camera")
        if robot is None and camera is None:
            tab.watched = None
        elif isinstance(robot, str) and isinstance(camera, str) and (robot, camera) in self._topics:
            tab.watched = robot, camera
        else:
            raise Refused("no such camera is known")
        await self.update()
        return ""

    async def update(self) -> None:
        """Listen to what pages watch, and to nothing else."""
        async with self._turn:
            wanted = {tab.watched for tab in self._node.page.tabs if tab.watched}
            for key in set(self._open) - wanted:
                await self._node.in_executor(self._open.pop(key))
            for key in wanted - set(self._open):
                if key in self._topics:
                    topic, kind = self._topics[key]
                    make = partial(
                        subscribe,
                        self._node,
                        kind,
                        topic,
                        "sensor_data",
                        partial(self._show, key),
                        convert=partial(conversions.color_from_msg, topic=topic),
                        limit=2,
                        rate=_RATE,
                        sampled=True,
                    )
                    self._open[key] = await self._node.in_executor(make)

    async def _show(self, key: Key, pixels: npt.NDArray[np.uint8]) -> None:
        if key in self._busy:
            return
        self._busy.add(key)
        try:
            jpeg = await asyncio.to_thread(packed, pixels)
            robot, camera = key
            news = {
                "robot": robot,
                "camera": plain(camera),
                "at": round(time.time(), 1),
                "jpeg": base64.b64encode(jpeg).decode(),
            }
            text = json.dumps({"picture": news})
            watching = [tab for tab in self._node.page.tabs if tab.watched == key]
            await asyncio.gather(*(tab.send(text) for tab in watching))
        finally:
            self._busy.discard(key)


def packed(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Return an image (rows, cols, 3) as a JPEG of at most 480 columns."""
    picture = Picture.fromarray(pixels)
    if picture.width > _WIDTH:
        picture = picture.resize((_WIDTH, max(picture.height * _WIDTH // picture.width, 1)))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
