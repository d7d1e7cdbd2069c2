"""The ROS messages that recordings are made of, read and written by rosbags without ROS."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

IMAGE = "sensor_msgs/msg/Image"
COMPRESSED = "sensor_msgs/msg/CompressedImage"
CAMERA_INFO = "sensor_msgs/msg/CameraInfo"
TF = "tf2_msgs/msg/TFMessage"
DETECTIONS = "coterie_msgs/msg/ImageDetections"
BOXES_2D = "vision_msgs/msg/Detection2DArray"
BOXES_3D = "vision_msgs/msg/Detection3DArray"
TYPES = (IMAGE, COMPRESSED, CAMERA_INFO, TF, DETECTIONS, BOXES_2D, BOXES_3D)
"""Names of the types that are read."""

EARLIER = "coterie_msgs/msg/EarlierImageDetections"
"""Detections of recordings of earlier versions, which do not name the network."""
_FOUND = (
    "std_msgs/Header header\nstring detector\nuint32 image_width\nuint32 image_height\n"
    "ImageDetection[] detections\n"
)
_MORE = {
    "coterie_msgs/msg/LabelScore": "string label\nfloat32 score",
    "coterie_msgs/msg/ImageDetection": (
        "uint32 x\nuint32 y\nuint32 width\nuint32 height\nLabelScore[] scores\n"
        "uint32[] mask\nfloat32[] embedding\nstring[] attributes"
    ),
    DETECTIONS: f"{_FOUND}string embedding_model",
    EARLIER: _FOUND,
    # vision_msgs 4, that of Humble, Jazzy and later.
    "vision_msgs/msg/ObjectHypothesis": "string class_id\nfloat64 score",
    "vision_msgs/msg/ObjectHypothesisWithPose": (
        "ObjectHypothesis hypothesis\ngeometry_msgs/PoseWithCovariance pose"
    ),
    "vision_msgs/msg/Point2D": "float64 x\nfloat64 y",
    "vision_msgs/msg/Pose2D": "Point2D position\nfloat64 theta",
    "vision_msgs/msg/BoundingBox2D": "Pose2D center\nfloat64 size_x\nfloat64 size_y",
    "vision_msgs/msg/BoundingBox3D": "geometry_msgs/Pose center\ngeometry_msgs/Vector3 size",
    **{
        f"vision_msgs/msg/Detection{n}D": (
            "std_msgs/Header header\nObjectHypothesisWithPose[] results\n"
            f"BoundingBox{n}D bbox\nstring id"
        )
        for n in (2, 3)
    },
    BOXES_2D: "std_msgs/Header header\nDetection2D[] detections",
    BOXES_3D: "std_msgs/Header header\nDetection3D[] detections",
}


@cache
def _store() -> Typestore:
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register({k: v for n, t in _MORE.items() for k, v in get_types_from_msg(t, n).items()})
    return store


@cache
def definition(name: str) -> str:
    """Return a type's definition with those of its parts, as MCAP files hold them."""
    return str(_store().generate_msgdef(name, ros_version=2)[0])


def decode(name: str, data: bytes) -> Any:
    """Decode a message (CDR) of one of TYPES.

    By our definition, whatever a recording says of the type: it is none of its business.

    Raises:
        ValueError: The data are damaged.
    """
    try:
        return _store().deserialize_cdr(data, name)
    except Exception as error:  # damaged data raise all kinds
        if name == DETECTIONS:
            with suppress(Exception):
                return _store().deserialize_cdr(data, EARLIER)
        raise ValueError(f"no {name}: {str(error)[:100]}") from None


def encode(name: str, fields: Mapping[str, Any]) -> bytes:
    """Encode a message (CDR); fields that are not given are zero or empty."""
    return bytes(_store().serialize_cdr(_built((Nodetype.NAME, name), fields), name))


def _built(kind: Any, value: Any) -> Any:
    """A value of a field as rosbags wants it, from plain data."""
    node, of = kind
    if node == Nodetype.BASE:
        return value if value is not None else "" if of[0] == "string" else 0
    if node == Nodetype.NAME:
        parts = _store().fielddefs[of][1]
        return _store().types[of](*(_built(part, (value or {}).get(name)) for name, part in parts))
    (inner, named), size = of
    if inner == Nodetype.BASE and named[0] != "string":
        kind = np.dtype(named[0])
        if isinstance(value, bytes):
            return np.frombuffer(value, kind)
        return np.array(value if value is not None else [0] * size, kind)
    return [_built((inner, named), one) for one in value or ()]
