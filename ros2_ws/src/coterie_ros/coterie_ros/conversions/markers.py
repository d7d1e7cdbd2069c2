"""Scene graphs as markers: boxes with names, outlines of rooms; for RViz and Foxglove."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from geometry_msgs.msg import Point, Quaternion, Vector3
from geometry_msgs.msg import Pose as PoseMsg
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from coterie_core.geometry import yaw_to_quaternion
from coterie_ros.conversions.basics import point_to_msg
from coterie_world.scene import Receptacle, Room, SceneGraph, SceneObject

Color = Callable[[str], tuple[int, int, int]]

_WHITE = ColorRGBA(r=1.0, g=1.0, b=1.0, a=1.0)
_SURFACE = ColorRGBA(r=0.2, g=0.9, b=0.4, a=0.7)
_THINNEST = 0.01
_LETTER = 0.12
_ROOM_LETTER = 0.3


def objects_to_markers(scene: SceneGraph, color_of: Color) -> MarkerArray:
    """Return a scene's objects: boxes (`boxes`), names (`names`) and support surfaces (`surfaces`).

    Surfaces are as thick as two standard deviations of their height.
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
    surfaces = [one for thing in scene.objects.values() for one in thing.receptacles]
    markers += [_surface(one, number, head) for number, one in enumerate(surfaces)]
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


def _surface(one: Receptacle, number: int, head: Header) -> Marker:
    x, y, z, w = yaw_to_quaternion(one.surface.yaw)
    length, width = (max(float(edge), _THINNEST) for edge in one.surface.size[:2])
    return Marker(
        header=head,
        ns="surfaces",
        id=number,
        type=Marker.CUBE,
        action=Marker.ADD,
        pose=PoseMsg(
            position=point_to_msg(one.surface.center), orientation=Quaternion(x=x, y=y, z=z, w=w)
        ),
        scale=Vector3(x=length, y=width, z=max(2.0 * one.variance**0.5, _THINNEST)),
        color=_SURFACE,
    )


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


_FIELDS = (
    ("x", "f4", PointField.FLOAT32),
    ("y", "f4", PointField.FLOAT32),
    ("z", "f4", PointField.FLOAT32),
    ("rgb", "u4", PointField.FLOAT32),  # packed: three bytes in the place of a number
    ("instance", "u4", PointField.UINT32),
)
_POINT = np.dtype([(name, kind) for name, kind, _ in _FIELDS])


def instances_to_cloud(
    points: Sequence[npt.NDArray[np.float32]],
    colors: Sequence[tuple[int, int, int]],
    head: Header,
    most: int = 500_000,
) -> PointCloud2:
    """Return the points of several things as one cloud with fields x, y, z, rgb, instance.

    `rgb` is packed as point clouds usually have it; `instance` counts the things from 1, in their
    order.

    Args:
        points: Per thing (n, 3) [m], in the header's frame.
        colors: Per thing RGB (0..255).
        head: Stamp and frame.
        most: Most points; of more, every k-th is taken.
    """
    if len(points) != len(colors):
        raise ValueError(f"clouds of {len(points)} things, colours of {len(colors)}")
    total = sum(len(cloud) for cloud in points)
    step = max(-(-total // most), 1)
    thinned = [cloud[::step] for cloud in points]
    out = np.zeros(sum(len(cloud) for cloud in thinned), _POINT)
    if len(out):
        sizes = [len(cloud) for cloud in thinned]
        together = np.concatenate(thinned)
        for k, axis in enumerate("xyz"):
            out[axis] = together[:, k]
        packed = [(red << 16) | (green << 8) | blue for red, green, blue in colors]
        out["rgb"] = np.repeat(np.array(packed, np.uint32), sizes)
        out["instance"] = np.repeat(np.arange(1, len(sizes) + 1, dtype=np.uint32), sizes)
    message = PointCloud2(
        header=head,
        height=1,
        width=len(out),
        fields=[
            PointField(name=name, offset=4 * k, datatype=datatype, count=1)
            for k, (name, _, datatype) in enumerate(_FIELDS)
        ],
        is_bigendian=sys.byteorder == "big",
        point_step=_POINT.itemsize,
        row_step=_POINT.itemsize * len(out),
        is_dense=True,
    )
    message.data = out.tobytes()
    return message
