"""Events of objects: acts and views of robots that change where the team believes them to be."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from coterie_core.geometry import Vec3
from coterie_world.scene import SceneObject

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


def event_of(
    kind: EventKind, thing: SceneObject, robot: str, time: float, task: str = ""
) -> ObjectEvent:
    """Return what a robot did to a thing, or saw of it, as its own map has it; not yet with an id.

    Args:
        kind: Kind of the event; the map tells where a placed thing is now, and where another was.
        thing: The thing on the robot's map.
        robot: Name of the robot.
        time: The world's clock [s].
        task: Id of the task that it was done for.
    """
    placed = kind == "placed"
    x, y, z = thing.box.center
    return ObjectEvent(
        id="not told yet",
        kind=kind,
        robot=robot,
        object=thing.id,
        label=thing.label.top,
        time=time,
        position=(x, y, thing.box.bottom if placed else z),
        from_room="" if placed else thing.room,
        to_room=thing.room if placed else "",
        holder=(thing.container or thing.support) if placed else "",
        task=task,
    )
