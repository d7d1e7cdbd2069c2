"""Pictures of what an answer rests on, asked for when somebody wants to see them."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import String

from coterie_cli.console.cameras import packed
from coterie_console.team.page import Refused, Said, Tab
from coterie_console.team.records import Talk
from coterie_console.team.state import ConsoleState
from coterie_console.text import plain
from coterie_core.waiting import in_time
from coterie_ros.conversions import color_from_msg
from coterie_ros.pictures import MAX_PICTURES, SHOW, SHOWN, Wanted, WantedThing, shown_as

if TYPE_CHECKING:
    from coterie_cli.console.node import ConsoleNode

_WITHIN = 4.0
"""How long pictures may take [s]: a thing that nobody has a picture of is not heard of."""
_MOST_PICTURES, _MOST_ASKED = 12, 4
"""Pictures of an answer; answers whose pictures a page waits for at a time."""
_MOST_BYTES = 2_000_000
Picture = tuple[tuple[str, str, int, str], npt.NDArray[np.uint8]]


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

    def __init__(self, node: ConsoleNode, state: ConsoleState) -> None:
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

    async def _hear(self, picture: Picture) -> None:
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


def _read(message: CompressedImage) -> Picture:
    if len(message.data) > _MOST_BYTES:
        raise ValueError(f"{SHOWN}: {len(message.data)} bytes; at most {_MOST_BYTES}")
    return shown_as(message), color_from_msg(message, SHOWN)
