"""Pictures of things and frames: asked for on a topic, sent by the nodes that keep them."""

from __future__ import annotations

import asyncio
import math
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import Header, String

from coterie_core.geometry import Vec3
from coterie_core.plain_data import schema_problems
from coterie_ros.conversions.hardware import packed_color_to_msg
from coterie_ros.conversions.images import color_from_msg

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

SHOW = "show_pictures"
"""Topic on which pictures are asked for: `Wanted` as JSON (std_msgs/String)."""
SHOWN = "pictures"
"""Topic of the pictures (sensor_msgs/CompressedImage); `header.frame_id` is a `shown_as`."""
MAX_PICTURES = 8
"""Things, and frames, that are asked for at a time."""
_MAX_REQUEST_CHARS = 20_000
_MAX_SIDE_PX = 480
"""Longest side of a picture that is sent [px]."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class WantedThing(_Part):
    """A thing: its label, and its centre in the map frame [m]."""

    label: str = Field(max_length=200)
    at: Vec3


class Wanted(_Part):
    """What pictures are asked for; `id` names the request."""

    id: str = Field(pattern=r"^[0-9a-z]{1,40}$")
    things: Annotated[tuple[WantedThing, ...], Field(max_length=MAX_PICTURES)] = ()
    frames: Annotated[
        tuple[Annotated[str, Field(max_length=300)], ...], Field(max_length=MAX_PICTURES)
    ] = ()


class PictureServer:
    """Sends pictures that a node keeps to whoever asks; for `on_start`.

    Args:
        node: The node.
        asked: Called with what is asked for, in the loop's thread; it calls `show`.
    """

    def __init__(self, node: AgentNode, asked: Callable[[Wanted], Awaitable[None] | None]) -> None:
        self._out = node.publisher(CompressedImage, SHOWN, "messages")
        node.subscribe(String, SHOW, "messages", asked, convert=_read)

    def show(
        self, wanted: Wanted, what: str, number: int, color: npt.NDArray[Any], by: str = ""
    ) -> None:
        """Send the picture of a `thing` or `frame` of a request; from any thread.

        Args:
            wanted: The request.
            what: thing or frame.
            number: Index of the thing or frame within the request.
            color: (rows, cols, 3) RGB; or the bytes of a JPEG file, which go out as they are.
            by: Name of the robot that took it.
        """
        head = Header(frame_id=f"{wanted.id}/{what}/{number}/{by}")
        if color.ndim == 1:
            packed = CompressedImage(header=head, format="rgb8; jpeg compressed bgr8")
            packed.data = color.tobytes()
            self._out.publish(packed)
            return
        step = max(math.ceil(max(color.shape[:2]) / _MAX_SIDE_PX), 1)
        small = np.ascontiguousarray(color[::step, ::step])
        self._out.publish(packed_color_to_msg(small, head))


class PictureClient:
    """Asks the mapper for pictures of things of the map; for `on_start`."""

    def __init__(self, node: AgentNode) -> None:
        self._out = node.publisher(String, SHOW, "messages")
        self._came: dict[tuple[str, int], npt.NDArray[np.uint8]] = {}
        self._asked, self._news = "", asyncio.Event()
        node.subscribe(CompressedImage, SHOWN, "messages", self._take)

    def _take(self, message: CompressedImage) -> None:
        try:
            request, what, number, _ = shown_as(message)
            if request == self._asked and what == "thing" and number < MAX_PICTURES:
                self._came[request, number] = color_from_msg(message, SHOWN)
                self._news.set()
        except ValueError:
            return  # not for us, or no picture

    async def of(
        self, things: Sequence[WantedThing], patience: float = 1.5
    ) -> dict[int, npt.NDArray[np.uint8]]:
        """Return the pictures of things by their index, as far as they come in time.

        Args:
            things: At most `MAX_PICTURES`.
            patience: Longest time without a further picture [s].
        """
        wanted = Wanted(id=uuid.uuid4().hex, things=tuple(things[:MAX_PICTURES]))
        self._asked = wanted.id
        self._came.clear()
        self._out.publish(String(data=wanted.model_dump_json()))
        while len(self._came) < len(wanted.things):
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), patience)
            except asyncio.TimeoutError:
                break
        return {number: color for (_, number), color in self._came.items()}


def shown_as(message: CompressedImage) -> tuple[str, str, int, str]:
    """Return what a picture is of: request, `thing` or `frame`, its number, who took it.

    Raises:
        ValueError: It does not say so.
    """
    parts = str(message.header.frame_id)[:200].split("/", 3)
    if len(parts) != 4 or parts[1] not in ("thing", "frame") or not parts[2].isdecimal():
        raise ValueError(f"{SHOWN}: frame_id: expected REQUEST/thing|frame/NUMBER/WHO")
    return parts[0], parts[1], int(parts[2]), parts[3]


def _read(message: String) -> Wanted:
    try:
        return Wanted.model_validate_json(str(message.data)[:_MAX_REQUEST_CHARS])
    except ValidationError as error:
        raise ValueError(f"{SHOW}: {schema_problems(error)}") from None
