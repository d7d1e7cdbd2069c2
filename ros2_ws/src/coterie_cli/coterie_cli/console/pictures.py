"""Pictures for the pages: what cameras see while somebody looks, and what an answer rests on."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import re
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image as Picture
from sensor_msgs.msg import CompressedImage, Image
from std_msgs.msg import String

from coterie_console.team.page import Refused, Said, Tab
from coterie_console.team.records import Talk
from coterie_console.team.state import ConsoleState
from coterie_console.text import plain
from coterie_core.waiting import in_time
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.conversions import color_from_msg
from coterie_ros.pictures import MAX_PICTURES, SHOW, SHOWN, Wanted, WantedThing, shown_as
from coterie_ros.subscribing import subscribe

_RATE = 3.0
"""Pictures a second that are read, and sent [1/s]."""
_WIDTH, _QUALITY = 480, 70
_TYPES = {"sensor_msgs/msg/Image": Image, "sensor_msgs/msg/CompressedImage": CompressedImage}
_NO_COLOR = re.compile(r"depth|semantic|mask|infra|disparity|theora|confidence", re.I)
_END = re.compile(r"/(color/)?(image|image_raw|image_color|image_rect|rgb)?(/compressed)?$")
Key = tuple[str, str]

_WITHIN = 4.0
"""How long pictures may take [s]: a thing that nobody has a picture of is not heard of."""
_MOST_PICTURES, _MOST_ASKED = 12, 4
"""Pictures of an answer; answers whose pictures a page waits for at a time."""
_MOST_BYTES = 2_000_000
Shown = tuple[tuple[str, str, int, str], npt.NDArray[np.uint8]]


@dataclass(slots=True)
class _Request:
    """Pictures that a page waits for."""

    talk: str
    tab: Tab
    wanted: Wanted
    sent: int = 0
    had: set[str] = field(default_factory=set)
    all: asyncio.Event = field(default_factory=asyncio.Event)


class Pictures:
    """Asks for pictures, and passes them on to the page that wants them; for `on_start`.

    Args:
        node: The console's node.
        state: What was asked and answered.
    """

    def __init__(self, node: AgentNode, state: ConsoleState) -> None:
        self._state, self._waiting = state, dict[str, _Request]()
        self._out = node.publisher(String, SHOW, "messages")
        node.subscribe(CompressedImage, SHOWN, "messages", self._hear, convert=_read)

    @property
    def there(self) -> bool:
        """Whether somebody keeps pictures."""
        return self._out.subscribers > 0

    async def show(self, said: Said, tab: Tab) -> str:
        """Send a page the pictures of what an answer rests on."""
        talk = next((one for one in self._state.talks if one.id == said.get("talk")), None)
        if talk is None:
            raise Refused("this answer is not kept any more")
        wanted = self._wanted(talk)
        count = len(wanted.things) + len(wanted.frames)
        if not count:
            raise Refused("this answer rests on nothing that there could be a picture of")
        under_way = [one.talk for one in self._waiting.values() if one.tab is tab]
        if talk.id in under_way:
            raise Refused("its pictures are on their way already")
        if len(under_way) >= _MOST_ASKED:
            raise Refused(f"pictures of {_MOST_ASKED} answers are on their way; wait for them")
        request = self._waiting[wanted.id] = _Request(talk.id, tab, wanted)
        try:
            self._out.publish(String(data=wanted.model_dump_json()))
            with contextlib.suppress(asyncio.TimeoutError):
                await in_time(request.all.wait(), _WITHIN)
        finally:
            del self._waiting[wanted.id]
        if not request.sent:
            raise Refused("nobody keeps a picture of what this answer rests on")
        return ""

    def _wanted(self, talk: Talk) -> Wanted:
        lit: dict[str, Any] = talk.answer.get("lit", {})
        objects = self._state.scene.objects
        known = [objects[id_] for id_ in lit.get("things", ()) if id_ in objects]
        things = [WantedThing(label=one.label.top[:200], at=one.box.center) for one in known]
        for mark in lit.get("marks", ()):
            things.append(WantedThing(label=mark["thing"], at=tuple(mark["at"])))
        return Wanted(
            id=uuid.uuid4().hex[:12],
            things=tuple(dict.fromkeys(things))[:MAX_PICTURES],
            frames=tuple(talk.answer.get("frames", ()))[:MAX_PICTURES],
        )

    async def _hear(self, picture: Shown) -> None:
        (id_, what, number, by), color = picture
        request = self._waiting.get(id_)
        if request is None or request.sent >= _MOST_PICTURES:
            return
        names = [one.label for one in request.wanted.things]
        names = list(request.wanted.frames) if what == "frame" else names
        if number >= len(names):
            return
        request.sent += 1
        jpeg = await asyncio.to_thread(packed, color)
        news = {
            "talk": request.talk,
            "of": plain(names[number], 100),
            "by": plain(by),
            "jpeg": base64.b64encode(jpeg).decode(),
        }
        await request.tab.send(json.dumps({"evidence": news}))
        request.had.add(f"{what} {number}")
        if len(request.had) == len(request.wanted.things) + len(request.wanted.frames):
            request.all.set()


def _read(message: CompressedImage) -> Shown:
    if len(message.data) > _MOST_BYTES:
        raise ValueError(f"{SHOWN}: {len(message.data)} bytes; at most {_MOST_BYTES}")
    return shown_as(message), color_from_msg(message, SHOWN)


class Cameras:
    """Sends pictures to the pages that watch a camera; for the loop of its node.

    Args:
        node: The console's node.
        state: Is told which cameras there are.
        tabs: Returns the pages that are open.
    """

    def __init__(
        self, node: AgentNode, state: ConsoleState, tabs: Callable[[], Iterable[Tab]]
    ) -> None:
        self._node, self._state, self._tabs = node, state, tabs
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
            wanted = {tab.watched for tab in self._tabs() if tab.watched}
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
            watching = [tab for tab in self._tabs() if tab.watched == key]
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
