"""Scene graphs as markers: boxes with names, outlines of rooms; for RViz and Foxglove."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from geometry_msgs.msg import Point, Quaternion, Vector3
from geometry_msgs.msg import Pose as PoseMsg
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from coterie_core.geometry import yaw_to_quaternion
from coterie_ros.conversions.basics import point_to_msg
from coterie_world.scene import Room, SceneGraph, SceneObject

Color = Callable[[str], tuple[int, int, int]]

_WHITE = ColorRGBA(r=1.0, g=1.0, b=1.0, a=1.0)
_THINNEST = 0.01
_LETTER = 0.12
_ROOM_LETTER = 0.3


def objects_to_markers(scene: SceneGraph, color_of: Color) -> MarkerArray:
    """Return a scene's objects: per object a box (`boxes`) and its name above it (`names`).

    The first marker deletes what was shown before. Stamps are 0, so that a viewer that comes late,
    with any fixed frame, takes them as they are.

    Args:
        scene: The scene.
        color_of: Label -> RGB (0..255).
    """
    head = Header(frame_id=scene.frame)
    markers = [Marker(header=head, action=Marker.DELETEALL)]
    for number, thing in enumerate(scene.objects.values()):
        markers += _object(thing, number, head, color_of)
    return MarkerArray(markers=markers)


def rooms_to_markers(scene: SceneGraph, color_of: Color) -> MarkerArray:
    """Return a scene's rooms: per room its outline (`rooms`) and its name (`room_names`)."""
    head = Header(frame_id=scene.frame)
    markers = [Marker(header=head, action=Marker.DELETEALL)]
    heights = {floor.id: floor.elevation for floor in scene.floors.values()}
    for number, room in enumerate(scene.rooms.values()):
        if len(room.polygon) >= 3:
            markers += _room(room, number, head, color_of, heights)
    return MarkerArray(markers=markers)


def _object(thing: SceneObject, number: int, head: Header, color_of: Color) -> list[Marker]:
    x, y, z, w = yaw_to_quaternion(thing.box.yaw)
    edges = [max(float(edge), _THINNEST) for edge in thing.box.size]
    label = thing.label.top
    red, green, blue = (part / 255.0 for part in color_of(label))
    box = Marker(
        header=head,
        ns="boxes",
        id=number,
        type=Marker.CUBE,
        action=Marker.ADD,
        pose=PoseMsg(
            position=point_to_msg(thing.box.center), orientation=Quaternion(x=x, y=y, z=z, w=w)
        ),
        scale=Vector3(x=edges[0], y=edges[1], z=edges[2]),
        color=ColorRGBA(r=red, g=green, b=blue, a=0.4),
    )
    sure = thing.label.probability(label)
    center = thing.box.center
    name = Marker(
        header=head,
        ns="names",
        id=number,
        type=Marker.TEXT_VIEW_FACING,
        action=Marker.ADD,
        pose=_at((center[0], center[1], thing.box.top + _LETTER)),
        scale=Vector3(z=_LETTER),
        color=_WHITE,
        text=f"{label or '?'} {100.0 * sure:.0f}%\n{thing.id}",
    )
    return [box, name]


def _room(
    room: Room, number: int, head: Header, color_of: Color, heights: Mapping[str, float]
) -> list[Marker]:
    height = heights.get(room.floor, 0.0) + 0.02
    red, green, blue = (part / 255.0 for part in color_of(room.type))
    corners = [*room.polygon, room.polygon[0]]
    outline = Marker(
        header=head,
        ns="rooms",
        id=number,
        type=Marker.LINE_STRIP,
        action=Marker.ADD,
        pose=_at((0.0, 0.0, 0.0)),
        scale=Vector3(x=0.05),
        color=ColorRGBA(r=red, g=green, b=blue, a=1.0),
        points=[Point(x=float(x), y=float(y), z=height) for x, y in corners],
    )
    x = sum(x for x, _ in room.polygon) / len(room.polygon)
    y = sum(y for _, y in room.polygon) / len(room.polygon)
    name = Marker(
        header=head,
        ns="room_names",
        id=number,
        type=Marker.TEXT_VIEW_FACING,
        action=Marker.ADD,
        pose=_at((x, y, height + _ROOM_LETTER)),
        scale=Vector3(z=_ROOM_LETTER),
        color=_WHITE,
        text=room.name or room.id,
    )
    return [outline, name]


def _at(position: tuple[float, float, float]) -> PoseMsg:
    return PoseMsg(position=point_to_msg(position), orientation=Quaternion(w=1.0))
