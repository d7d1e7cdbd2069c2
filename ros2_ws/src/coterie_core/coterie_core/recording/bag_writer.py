"""Writes recordings as MCAP files that `ros2 bag` and Foxglove read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from mcap_ros2.writer import Writer

from coterie_core.detections import ImageDetection, runs_of
from coterie_core.recording.types import RecordedFrame, RecordingError

_TIME = "int32 sec\nuint32 nanosec\n"
_HEADER = "builtin_interfaces/Time stamp\nstring frame_id\n"
_PARTS: dict[str, str] = {
    "builtin_interfaces/Time": _TIME,
    "std_msgs/Header": _HEADER,
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n",
    "geometry_msgs/Transform": (
        "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n"
    ),
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform\n"
    ),
    "sensor_msgs/RegionOfInterest": (
        "uint32 x_offset\nuint32 y_offset\nuint32 height\nuint32 width\nbool do_rectify\n"
    ),
    "coterie_msgs/LabelScore": "string label\nfloat32 score\n",
    "coterie_msgs/ImageDetection": (
        "uint32 x\nuint32 y\nuint32 width\nuint32 height\ncoterie_msgs/LabelScore[] scores\n"
        "uint32[] mask\nfloat32[] embedding\nstring[] attributes\n"
    ),
}
_TYPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "sensor_msgs/msg/Image": (
        "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\n"
        "uint8 is_bigendian\nuint32 step\nuint8[] data\n",
        ("std_msgs/Header", "builtin_interfaces/Time"),
    ),
    "sensor_msgs/msg/CameraInfo": (
        "std_msgs/Header header\nuint32 height\nuint32 width\nstring distortion_model\n"
        "float64[] d\nfloat64[9] k\nfloat64[9] r\nfloat64[12] p\nuint32 binning_x\n"
        "uint32 binning_y\nsensor_msgs/RegionOfInterest roi\n",
        ("std_msgs/Header", "builtin_interfaces/Time", "sensor_msgs/RegionOfInterest"),
    ),
    "tf2_msgs/msg/TFMessage": (
        "geometry_msgs/TransformStamped[] transforms\n",
        (
            "geometry_msgs/TransformStamped",
            "std_msgs/Header",
            "builtin_interfaces/Time",
            "geometry_msgs/Transform",
            "geometry_msgs/Vector3",
            "geometry_msgs/Quaternion",
        ),
    ),
    "coterie_msgs/msg/ImageDetections": (
        "std_msgs/Header header\nstring detector\nuint32 image_width\nuint32 image_height\n"
        "coterie_msgs/ImageDetection[] detections\n",
        (
            "std_msgs/Header",
            "builtin_interfaces/Time",
            "coterie_msgs/ImageDetection",
            "coterie_msgs/LabelScore",
        ),
    ),
}


class BagWriter:
    """Writes frames on the topics of the ROS graph: images, camera_info, detections, /tf.

    Args:
        path: A new file ending in .mcap.
        camera: Name of the camera in topics and frames.

    Raises:
        RecordingError: The file exists, or cannot be written.
    """

    def __init__(self, path: Path, camera: str = "camera") -> None:
        self.path, self.camera = path, camera
        try:
            self._file = path.open("xb")
        except FileExistsError:
            raise RecordingError(path, "exists", "give a new name") from None
        except OSError as error:
            raise RecordingError(path, f"cannot be written: {error.strerror}") from None
        self._writer = Writer(self._file)
        self._schemas = {
            kind: self._writer.register_msgdef(kind, _definition(kind)) for kind in _TYPES
        }
        self._count = 0

    def add(self, recorded: RecordedFrame) -> None:
        """Write a frame."""
        frame = recorded.frame
        robot = frame.robot or "robot"
        base, optical = f"/{robot}/{self.camera}", f"{robot}/{self.camera}_optical_frame"
        head = {"stamp": _stamp(frame.time), "frame_id": optical}
        rows, cols = frame.depth.shape
        fx, fy, cx, cy = frame.intrinsics
        self._write("/tf", "tf2_msgs/msg/TFMessage", _transform(recorded, optical), frame.time)
        info = {
            "header": head,
            "height": rows,
            "width": cols,
            "distortion_model": "plumb_bob",
            "d": [0.0] * 5,
            "k": [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
            "r": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            "p": [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
            "binning_x": 0,
            "binning_y": 0,
            "roi": {
                "x_offset": 0, "y_offset": 0, "height": 0, "width": 0, "do_rectify": False,
            },
        }  # fmt: skip
        self._write(f"{base}/depth/camera_info", "sensor_msgs/msg/CameraInfo", info, frame.time)
        depth = np.ascontiguousarray(frame.depth, dtype="<f4")
        self._image(f"{base}/depth/image_raw", head, "32FC1", depth, frame.time)
        if frame.color is not None:
            color = np.ascontiguousarray(frame.color)
            self._image(f"{base}/color/image_raw", head, "rgb8", color, frame.time)
        if recorded.detections is not None:
            found = {
                "header": head,
                "detector": "recording",
                "image_width": cols,
                "image_height": rows,
                "detections": [_found(one) for one in recorded.detections],
            }
            kind = "coterie_msgs/msg/ImageDetections"
            self._write(f"{base}/detections", kind, found, frame.time)

    def close(self) -> None:
        """Write the index; without it the file counts as cut off."""
        if not self._file.closed:
            self._writer.finish()
            self._file.close()

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Literal[False]:
        self.close()
        return False

    def _image(
        self, topic: str, head: Mapping[str, Any], encoding: str, pixels: Any, time: float
    ) -> None:
        message = {
            "header": head,
            "height": pixels.shape[0],
            "width": pixels.shape[1],
            "encoding": encoding,
            "is_bigendian": 0,
            "step": pixels.strides[0],
            "data": pixels.tobytes(),
        }
        self._write(topic, "sensor_msgs/msg/Image", message, time)

    def _write(self, topic: str, kind: str, message: Mapping[str, Any], time: float) -> None:
        when = int(time * 1e9)
        self._writer.write_message(topic, self._schemas[kind], message, when, when, self._count)
        self._count += 1


def _definition(kind: str) -> str:
    text, parts = _TYPES[kind]
    return text + "".join(f"{'=' * 80}\nMSG: {part}\n{_PARTS[part]}" for part in parts)


def _stamp(time: float) -> dict[str, int]:
    whole = math.floor(time)
    return {"sec": whole, "nanosec": min(round((time - whole) * 1e9), 999_999_999)}


def _transform(recorded: RecordedFrame, optical: str) -> dict[str, Any]:
    from scipy.spatial.transform import Rotation

    frame = recorded.frame
    pose = frame.camera_to_map
    x, y, z, w = Rotation.from_matrix(pose[:3, :3]).as_quat().tolist()
    return {
        "transforms": [
            {
                "header": {"stamp": _stamp(frame.time), "frame_id": "map"},
                "child_frame_id": optical,
                "transform": {
                    "translation": dict(zip("xyz", pose[:3, 3].tolist(), strict=True)),
                    "rotation": {"x": x, "y": y, "z": z, "w": w},
                },
            }
        ]
    }


def _found(one: ImageDetection) -> dict[str, Any]:
    x, y, width, height = one.box
    return {
        "x": x,
        "y": y,
        "width": width,
        "height": height,
        "scores": [{"label": k, "score": float(v)} for k, v in one.scores.items()],
        "mask": [] if one.mask is None else runs_of(one.mask),
        "embedding": [] if one.embedding is None else one.embedding.tolist(),
        "attributes": [f"{k}={v}" for k, v in one.attributes.items()],
    }
