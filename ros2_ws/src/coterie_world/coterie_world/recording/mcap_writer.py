"""Writes recordings as MCAP, as `ros2 bag record` would, without ROS."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
from mcap_ros2.writer import Writer

from coterie_core.detections import ImageDetection, RgbdFrame, runs_of
from coterie_core.geometry import Quaternion
from coterie_world.recording.ros_types import CAMERA_INFO, DETECTIONS, IMAGE, TF, definition
from coterie_world.recording.types import RecordedFrame, RecordingError
from coterie_world.scene import SceneGraph, to_json


class McapRecordingWriter:
    """Writes frames as messages on /<robot>/<camera>/..., with /tf from map to the camera.

    Captions and places have no message and are left out.

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
        self.path = path
        self.camera = camera
        self._scene = scene
        self._count = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("xb")
        except FileExistsError:
            raise RecordingError(path, "exists already", "give another file") from None
        except OSError as error:
            raise RecordingError(path, error.strerror or "cannot be written") from None
        # Small chunks: less is lost where the writing is cut off.
        self._writer = Writer(self._file, chunk_size=256 * 1024)
        self._schemas = {
            name: self._writer.register_msgdef(name, definition(name))
            for name in (IMAGE, CAMERA_INFO, TF, DETECTIONS)
        }

    def __len__(self) -> int:
        """Return the number of frames written."""
        return self._count

    def add(self, recorded: RecordedFrame) -> None:
        """Write a frame.

        Raises:
            RecordingError: The disk is full.
        """
        frame = recorded.frame
        robot = frame.robot or "robot"
        optical = f"{robot}/{self.camera}_optical_frame"
        nanos = round(frame.time * 1e9)
        base = f"/{robot}/{self.camera}"
        head = {"stamp": _stamp(nanos), "frame_id": optical}
        try:
            self._send("/tf", TF, {"transforms": [_transform(frame, head, optical)]}, nanos)
            for channel, pixels in (("depth", frame.depth), ("color", frame.color)):
                if pixels is None:
                    continue
                info = _info(frame, head, pixels.shape)
                self._send(f"{base}/{channel}/camera_info", CAMERA_INFO, info, nanos)
                image = _image(pixels, head)
                self._send(f"{base}/{channel}/image_raw", IMAGE, image, nanos)
            if recorded.detections is not None:
                rows, cols = frame.depth.shape
                named = (o.embedding.model for o in recorded.detections if o.embedding)
                found = {
                    "header": head,
                    "embedding_model": next(named, ""),
                    "detector": "",
                    "image_width": cols,
                    "image_height": rows,
                    "detections": [
                        _detection(one)
                        for one in (_clipped(one, rows, cols) for one in recorded.detections)
                        if one is not None
                    ],
                }
                self._send(f"{base}/detections", DETECTIONS, found, nanos)
        except OSError as error:
            raise RecordingError(self.path, error.strerror or "cannot be written") from None
        self._count += 1

    def close(self) -> None:
        """Finish the file."""
        if not self._file.closed:
            if self._scene is not None:
                # The library's writer of ROS messages has no attachments of its own.
                data = to_json(self._scene).encode()
                writer = self._writer._writer
                writer.add_attachment(0, 0, "scene.json", "application/json", data)
            self._writer.finish()  # type: ignore[no-untyped-call]
            self._file.close()

    def __enter__(self) -> McapRecordingWriter:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the file."""
        self.close()

    def _send(self, topic: str, kind: str, message: dict[str, Any], nanos: int) -> None:
        self._writer.write_message(topic, self._schemas[kind], message, nanos, nanos)


def quaternion_of(rotation: npt.NDArray[np.float64]) -> Quaternion:
    """Return a rotation matrix (3, 3) as (x, y, z, w)."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = (float(v) for v in Rotation.from_matrix(rotation).as_quat())
    return (x, y, z, w)


def _stamp(nanos: int) -> dict[str, int]:
    return {"sec": nanos // 10**9, "nanosec": nanos % 10**9}


def _transform(frame: RgbdFrame, head: dict[str, Any], optical: str) -> dict[str, Any]:
    x, y, z = (float(v) for v in frame.camera_to_map[:3, 3])
    q = quaternion_of(frame.camera_to_map[:3, :3])
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


def _clipped(one: ImageDetection, rows: int, cols: int) -> ImageDetection | None:
    """The part of a detection that lies in the image, as the message wants it."""
    u, v, width, height = one.box
    left, top = max(u, 0), max(v, 0)
    right, bottom = min(u + width, cols), min(v + height, rows)
    if right <= left or bottom <= top:
        return None
    mask = None if one.mask is None else one.mask[top - v : bottom - v, left - u : right - u]
    return replace(one, box=(left, top, right - left, bottom - top), mask=mask)


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
