"""The ROS messages that recordings are made of: definitions, and reading them without ROS."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from mcap.records import Schema
from mcap.well_known import MessageEncoding, SchemaEncoding
from mcap_ros2.decoder import DecoderFactory

IMAGE = "sensor_msgs/msg/Image"
COMPRESSED = "sensor_msgs/msg/CompressedImage"
CAMERA_INFO = "sensor_msgs/msg/CameraInfo"
TF = "tf2_msgs/msg/TFMessage"
DETECTIONS = "coterie_msgs/msg/ImageDetections"
BOXES_2D = "vision_msgs/msg/Detection2DArray"
BOXES_3D = "vision_msgs/msg/Detection3DArray"

_LINE = "=" * 80
_HEADER = "builtin_interfaces/Time stamp\nstring frame_id"
_PARTS = {
    "std_msgs/Header": _HEADER,
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "sensor_msgs/RegionOfInterest": (
        "uint32 x_offset\nuint32 y_offset\nuint32 height\nuint32 width\nbool do_rectify"
    ),
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w",
    "geometry_msgs/Transform": (
        "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation"
    ),
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform"
    ),
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Pose": ("geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation"),
    "geometry_msgs/PoseWithCovariance": "geometry_msgs/Pose pose\nfloat64[36] covariance",
    # vision_msgs 4, that of Humble, Jazzy and later.
    "vision_msgs/ObjectHypothesis": "string class_id\nfloat64 score",
    "vision_msgs/ObjectHypothesisWithPose": (
        "vision_msgs/ObjectHypothesis hypothesis\ngeometry_msgs/PoseWithCovariance pose"
    ),
    "vision_msgs/Point2D": "float64 x\nfloat64 y",
    "vision_msgs/Pose2D": "vision_msgs/Point2D position\nfloat64 theta",
    "vision_msgs/BoundingBox2D": "vision_msgs/Pose2D center\nfloat64 size_x\nfloat64 size_y",
    "vision_msgs/BoundingBox3D": "geometry_msgs/Pose center\ngeometry_msgs/Vector3 size",
    "vision_msgs/Detection2D": (
        "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n"
        "vision_msgs/BoundingBox2D bbox\nstring id"
    ),
    "vision_msgs/Detection3D": (
        "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n"
        "vision_msgs/BoundingBox3D bbox\nstring id"
    ),
    "coterie_msgs/LabelScore": "string label\nfloat32 score",
    "coterie_msgs/ImageDetection": (
        "uint32 x\nuint32 y\nuint32 width\nuint32 height\ncoterie_msgs/LabelScore[] scores\n"
        "uint32[] mask\nfloat32[] embedding\nstring[] attributes"
    ),
}
_WHOLE = {
    IMAGE: (
        "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\n"
        "uint8 is_bigendian\nuint32 step\nuint8[] data"
    ),
    COMPRESSED: "std_msgs/Header header\nstring format\nuint8[] data",
    CAMERA_INFO: (
        "std_msgs/Header header\nuint32 height\nuint32 width\nstring distortion_model\n"
        "float64[] d\nfloat64[9] k\nfloat64[9] r\nfloat64[12] p\nuint32 binning_x\n"
        "uint32 binning_y\nsensor_msgs/RegionOfInterest roi"
    ),
    TF: "geometry_msgs/TransformStamped[] transforms",
    DETECTIONS: (
        "std_msgs/Header header\nstring detector\nuint32 image_width\nuint32 image_height\n"
        "coterie_msgs/ImageDetection[] detections\nstring embedding_model"
    ),
    BOXES_2D: "std_msgs/Header header\nvision_msgs/Detection2D[] detections",
    BOXES_3D: "std_msgs/Header header\nvision_msgs/Detection3D[] detections",
}
_ADDED = {DETECTIONS: "\nstring embedding_model"}
"""Last field of a message that recordings of earlier versions lack."""
TYPES = tuple(_WHOLE)
"""Names of the types that are read."""


@cache
def definition(name: str) -> str:
    """Return a type's definition with those of its parts, as MCAP files hold them."""
    text, todo, done = _WHOLE[name], [_WHOLE[name]], set[str]()
    while todo:
        for line in todo.pop().splitlines():
            part = line.split()[0].split("[")[0]
            if part in _PARTS and part not in done:
                done.add(part)
                todo.append(_PARTS[part])
                text += f"\n{_LINE}\nMSG: {part}\n{_PARTS[part]}"
    return text


def decode(name: str, data: bytes) -> Any:
    """Decode a message (CDR) of one of TYPES.

    By our definition, whatever a recording says of the type: it is none of its business.

    Raises:
        ValueError: The data are damaged.
    """
    try:
        return _decoder(name, definition(name))(data)
    except Exception as error:  # the decoder raises all kinds for damaged data
        if name in _ADDED:
            with suppress(Exception):
                return _decoder(name, definition(name).replace(_ADDED[name], "", 1))(data)
        raise ValueError(f"no {name}: {str(error)[:100]}") from None


@cache
def _decoder(name: str, text: str) -> Callable[[bytes], Any]:
    schema = Schema(1, text.encode(), SchemaEncoding.ROS2, name)
    found = DecoderFactory().decoder_for(MessageEncoding.CDR, schema)
    assert found is not None  # the factory knows CDR
    return found


@dataclass(frozen=True, slots=True)
class Stamped:
    """The head of a message: its stamp [s] and frame, and the bytes' order with the next offset."""

    time: float
    frame: str
    order: str
    offset: int


def head_of(data: bytes) -> Stamped:
    """Read the std_msgs/Header that a message (CDR) begins with, and no more of it.

    Raises:
        ValueError: There is none.
    """
    try:
        order = "<" if data[1] & 1 else ">"
        seconds, nanos, length = struct.unpack_from(f"{order}iII", data, 4)
        if not 1 <= length <= 1000 or 16 + length > len(data):
            raise ValueError("a header whose frame_id does not fit the message")
        frame = bytes(data[16 : 15 + length]).decode()
    except (IndexError, struct.error, UnicodeDecodeError):
        raise ValueError("no std_msgs/Header") from None
    return Stamped(seconds + nanos * 1e-9, frame, order, 16 + length)


def image_head(data: bytes) -> tuple[Stamped, int, int, str]:
    """Read header, height, width [px] and encoding of a sensor_msgs/Image; see `head_of`."""
    head = head_of(data)
    # Positions count from the end of the four bytes before the message.
    at = 4 + (head.offset - 4 + 3) // 4 * 4
    try:
        height, width, length = struct.unpack_from(f"{head.order}III", data, at)
        encoding = bytes(data[at + 12 : at + 11 + min(length, 100)]).decode()
    except (struct.error, UnicodeDecodeError):
        raise ValueError("no sensor_msgs/Image") from None
    return head, height, width, encoding
