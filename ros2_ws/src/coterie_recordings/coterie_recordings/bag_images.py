"""Images, cameras and detections of a bag's messages, without ROS; contents are checked."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie_core.detections import ImageDetection, mask_of
from coterie_core.embedding import MAX_MODEL_CHARS, UNNAMED, Embedding
from coterie_recordings.images import (
    MILLIMETRES,
    check_camera,
    check_size,
    decode_color,
    raw_depth,
)
from coterie_recordings.types import RecordingError

COLORS = {"rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1, "8UC3": 3}
"""Encodings of colour images and their channels."""
DEPTHS = {"16UC1": np.uint16, "mono16": np.uint16, "32FC1": np.float32}
"""Encodings of depth images: 16 bits are millimetres, 32 bits metres."""
_MOST_DETECTIONS = 1000
_MOST_MASKED = 200_000_000


def color_of(message: Any, source: str | Path) -> npt.NDArray[np.uint8]:
    """Return (rows, cols, 3) RGB of a sensor_msgs/Image or CompressedImage.

    Raises:
        RecordingError: An unknown encoding, or data that do not fit the size.
    """
    if hasattr(message, "format"):
        # image_transport packs bgr8 into JPEG and PNG as these want it: in the order of RGB.
        return decode_color(bytes(message.data), source)
    channels = COLORS.get(message.encoding)
    if channels is None:
        raise RecordingError(source, f"encoding {message.encoding!r}; {', '.join(COLORS)} are read")
    pixels = _pixels(message, np.dtype(np.uint8), channels, source)
    if channels == 1:
        return np.repeat(pixels, 3, axis=2)
    rgb = pixels[:, :, 2::-1] if message.encoding.startswith("bgr") else pixels[:, :, :3]
    return np.ascontiguousarray(rgb)


def depth_of(message: Any, source: str | Path) -> npt.NDArray[np.float32]:
    """Return (rows, cols) [m] of a sensor_msgs/Image, or a CompressedImage of compressedDepth.

    Raises:
        RecordingError: An unknown encoding, or data that do not fit the size.
    """
    if hasattr(message, "format"):
        return _compressed_depth(message, source)
    kind = DEPTHS.get(message.encoding)
    if kind is None:
        raise RecordingError(source, f"encoding {message.encoding!r}; {', '.join(DEPTHS)} are read")
    there = np.dtype(kind).newbyteorder(">" if message.is_bigendian else "<")
    pixels = _pixels(message, there, 1, source)[:, :, 0]
    depth = pixels.astype(np.float32)
    return depth if kind is np.float32 else depth * np.float32(MILLIMETRES)


def camera_of(message: Any, source: str | Path) -> tuple[float, float, float, float]:
    """Return (fx, fy, cx, cy) [px] of a sensor_msgs/CameraInfo, pixel centres at halves.

    Raises:
        RecordingError: It is not calibrated.
    """
    k = [float(v) for v in message.k]
    # ROS counts from the middle of the first pixel.
    return check_camera(k[0], k[4], k[2] + 0.5, k[5] + 0.5, source)


def detections_of(message: Any, source: str | Path) -> tuple[ImageDetection, ...]:
    """Return what a coterie_msgs/ImageDetections holds.

    Raises:
        RecordingError: A box, mask, score or attribute that no detector can mean.
    """
    found, masked = [], 0
    # Recordings of earlier versions do not name the network.
    named = getattr(message, "embedding_model", "") or message.detector
    model = named[:MAX_MODEL_CHARS] or UNNAMED
    try:
        check_size(message.image_width, message.image_height, source)
        if len(message.detections) > _MOST_DETECTIONS:
            raise ValueError(f"over {_MOST_DETECTIONS} detections in one image")
        for one in message.detections:
            masked += one.width * one.height
            inside = one.x + one.width <= message.image_width
            if not inside or one.y + one.height > message.image_height or masked > _MOST_MASKED:
                raise ValueError(f"box {one.x}, {one.y}, {one.width}, {one.height} is not within")
            mask = mask_of(one.mask, one.width, one.height) if len(one.mask) else None
            look = np.array(one.embedding, dtype=np.float32)
            usable = len(look) and 1e-6 <= float(np.linalg.norm(look)) <= 1e6
            found.append(
                ImageDetection(
                    (one.x, one.y, one.width, one.height),
                    {item.label: min(max(item.score, 0.0), 1.0) for item in one.scores},
                    mask,
                    Embedding.of(model, look) if usable else None,
                    dict(text.split("=", 1) for text in one.attributes if "=" in text),
                )
            )
    except ValueError as error:
        raise RecordingError(source, f"detections: {error}") from None
    return tuple(found)


def _pixels(
    message: Any, kind: np.dtype[Any], channels: int, source: str | Path
) -> npt.NDArray[Any]:
    """Pixels (rows, cols, channels) of an uncompressed image."""
    rows, cols, step = int(message.height), int(message.width), int(message.step)
    check_size(cols, rows, source)
    row = cols * channels * kind.itemsize
    if step < row or len(message.data) < step * rows:
        what = f"{len(message.data)} bytes with {step} a row for {cols} x {rows} {message.encoding}"
        raise RecordingError(source, what, "the message is damaged; record again")
    flat = np.frombuffer(message.data, np.uint8, step * rows).reshape(rows, step)[:, :row]
    return np.ascontiguousarray(flat).view(kind).reshape(rows, cols, channels)


def _compressed_depth(message: Any, source: str | Path) -> npt.NDArray[np.float32]:
    """Depth as compressed_depth_image_transport packs it: 12 bytes, then a PNG of 16 bits."""
    data = bytes(message.data)
    if "compressedDepth" not in message.format or len(data) <= 12:
        return raw_depth(data, source).astype(np.float32) * np.float32(MILLIMETRES)
    values = raw_depth(data[12:], source).astype(np.float32)
    if not message.format.strip().startswith("32FC1"):
        return values * np.float32(MILLIMETRES)
    _, a, b = struct.unpack_from("<iff", data)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values > 0.0, a / (values - b), 0.0).astype(np.float32)
