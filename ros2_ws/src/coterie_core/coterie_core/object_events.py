"""What robots did to objects, or saw of them, that changes where the team believes them to be."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from coterie_core.geometry import Vec3

EventKind = Literal["picked", "placed", "opened", "closed", "gone", "doubted"]
EVENT_KINDS: tuple[EventKind, ...] = get_args(EventKind)


class ObjectEvent(BaseModel):
    """One event; the fields are those of coterie_msgs/ObjectEvent.

    `time` [s, the world's clock]; `object` is the sender's id of the object, `from_room` and
    `to_room` are room ids ("" where unknown, or in a hand), `holder` the id of what it stands on or
    lies in afterwards, `position` [m, map frame] where it was (picked, gone, doubted) or now is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1, max_length=200)
    kind: EventKind
    robot: str = Field(min_length=1)
    object: str
    label: str
    time: float
    position: Vec3
    from_room: str = ""
    to_room: str = ""
    holder: str = ""
    task: str = ""
