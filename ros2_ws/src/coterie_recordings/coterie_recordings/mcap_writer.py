"""Writes recordings as MCAP, as `ros2 bag record` would, without ROS."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from coterie_core.detections import ImageDetection, RgbdFrame, clipped, runs_of
from coterie_recordings.mcap_log import McapLog
from coterie_recordings.ros_types import CAMERA_INFO, DETECTIONS, IMAGE, TF, encode
from coterie_recordings.types import RecordedFrame, RecordingError
from coterie_world.scene import SceneGraph, to_json


class RecordingWriter:
    """Writes frames as messages on /<robot>/<camera>/..., with /tf from map to the camera.

    Names and places have no message and are left out.

    Args:
        path: The file; must not exist.
        camera: Name of the camera in the topics.
        scene: Rooms and floors known beforehand: an attachment `scene.json`.

    Raises:
        RecordingError: The file exists, or cannot be written.
    """

    def __init__(
        self, path: Path, *, camera: str = "head", scene: SceneGraph | None = None
    ) -> None:
        self.camera = camera
        self._count = 0
        self._log = McapLog(path)
        self._last: dict[str, float] = {}
        if scene is not None:
            self._log.attach("scene.json", "application/json", to_json(scene).encode())

    def __len__(self) -> int:
        """Return the number of frames written."""
        return self._count

    def add(self, recorded: RecordedFrame) -> None:
        """Write a frame.

        Raises:
            RecordingError: It is not later than the robot's frame before, or the disk is full.
        """
        frame = recorded.frame
        robot = frame.robot or "robot"
        if frame.time <= self._last.get(robot, -math.inf):
            what = (
                f"frame {recorded.name!r} of {robot!r} at {frame.time} s is not later than the last"
            )
            raise RecordingError(self._log.path, what, "give each frame a time of its own")
        self._last[robot] = frame.time
        optical = f"{robot}/{self.camera}_optical_frame"
        nanos = round(frame.time * 1e9)
        base = f"/{robot}/{self.camera}"
        stamp = {"sec": nanos // 10**9, "nanosec": nanos % 10**9}
        head = {"stamp": stamp, "frame_id": optical}
        self._send("/tf", TF, {"transforms": [_transform(frame, head, optical)]}, nanos)
        for channel, pixels in (("depth", frame.depth), ("color", frame.color)):
            if pixels is not None:
                info = _info(frame, head, pixels.shape)
                self._send(f"{base}/{channel}/camera_info", CAMERA_INFO, info, nanos)
                self._send(f"{base}/{channel}/image_raw", IMAGE, _image(pixels, head), nanos)
        if recorded.detections is not None:
            rows, cols = frame.depth.shape
            named = (o.embedding.model for o in recorded.detections if o.embedding)
            inside = (clipped(one, cols, rows) for one in recorded.detections)
            found = {
                "header": head,
                "image_width": cols,
                "image_height": rows,
                "detections": [_detection(one) for one in inside if one is not None],
                "embedding_model": next(named, ""),
            }
            self._send(f"{base}/detections", DETECTIONS, found, nanos)
        self._count += 1

    def close(self) -> None:
        """Finish the file.

        Raises:
            RecordingError: The disk is full.
        """
        self._log.close()

    def __enter__(self) -> RecordingWriter:
        """Return the writer."""
        return self

    def __exit__(self, *error: object) -> None:
        """Finish the file."""
        self.close()

    def _send(self, topic: str, kind: str, message: dict[str, Any], nanos: int) -> None:
        self._log.add(topic, kind, encode(kind, message), nanos)


def _transform(frame: RgbdFrame, head: dict[str, Any], optical: str) -> dict[str, Any]:
    x, y, z = (float(v) for v in frame.camera_to_map[:3, 3])
    q = Rotation.from_matrix(frame.camera_to_map[:3, :3]).as_quat().tolist()
    return {
        "header": {**head, "frame_id": "map"},
        "child_frame_id": optical,
        "transform": {
            "translation": {"x": x, "y": y, "z": z},
            "rotation": dict(zip("xyzw", q, strict=True)),
        },
    }


def _info(frame: RgbdFrame, head: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    fx, fy, cx, cy = frame.intrinsics
    cx, cy = cx - 0.5, cy - 0.5  # ROS counts from the middle of the first pixel
    return {
        "header": head,
        "height": shape[0],
        "width": shape[1],
        "distortion_model": "plumb_bob",
        "d": [0.0] * 5,
        "k": [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        "r": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        "p": [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    }


def _image(pixels: npt.NDArray[Any], head: dict[str, Any]) -> dict[str, Any]:
    little = np.ascontiguousarray(pixels.astype(pixels.dtype.newbyteorder("<"), copy=False))
    return {
        "header": head,
        "height": pixels.shape[0],
        "width": pixels.shape[1],
        "encoding": "rgb8" if pixels.ndim == 3 else "32FC1",
        "is_bigendian": 0,
        "step": pixels.nbytes // max(pixels.shape[0], 1),
        "data": little.tobytes(),
    }


def _detection(one: ImageDetection) -> dict[str, Any]:
    u, v, width, height = one.box
    return {
        "x": u,
        "y": v,
        "width": width,
        "height": height,
        "scores": [{"label": k, "score": float(s)} for k, s in one.scores.items()],
        "mask": [] if one.mask is None else runs_of(one.mask),
        "embedding": [] if one.embedding is None else one.embedding.vector.tolist(),
        "attributes": [f"{k}={value}" for k, value in one.attributes.items()],
    }
