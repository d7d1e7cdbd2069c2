"""Camera images, camera models and point clouds, to messages and back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2, PointField
from std_msgs.msg import Header, String

from coterie_core.embodiment import Camera
from coterie_recordings.bag_images import color_of, depth_of
from coterie_recordings.types import RecordingError
from coterie_ros.conversions.checks import Checks

T = TypeVar("T", bound=np.generic)

_ENCODINGS: dict[str, tuple[type[np.generic], int]] = {
    "rgb8": (np.uint8, 3),
    "32FC1": (np.float32, 1),
    "32SC1": (np.int32, 1),
}
# What cameras of others send, besides.
_FOREIGN: dict[str, tuple[type[np.generic], int]] = {
    "bgr8": (np.uint8, 3),
    "rgba8": (np.uint8, 4),
    "bgra8": (np.uint8, 4),
    "mono8": (np.uint8, 1),
    "8UC1": (np.uint8, 1),
    "16UC1": (np.uint16, 1),
    "mono16": (np.uint16, 1),
}
_KNOWN = _ENCODINGS | _FOREIGN
_COLORS = ("rgb8", "bgr8", "rgba8", "bgra8", "mono8", "8UC1")
_NAMELESS = {"8UC3": "bgr8 or rgb8", "8UC4": "bgra8 or rgba8"}  # the order of their colors
_LONGEST_SIDE = 8192


def image_to_msg(pixels: npt.NDArray[np.generic], head: Header) -> Image:
    """Return an image as a message.

    Args:
        pixels: (rows, cols, 3) uint8 RGB, (rows, cols) float32 depth [m], or (rows, cols) int32
            instance numbers.
        head: Stamp and optical frame.

    Raises:
        ValueError: An array of another type or shape.
    """
    fitting = [
        name
        for name, (kind, channels) in _ENCODINGS.items()
        if pixels.dtype == kind and pixels.shape[2:] == ((3,) if channels == 3 else ())
    ]
    if not fitting or pixels.ndim < 2:
        raise ValueError(
            "image: expected (rows, cols, 3) uint8, (rows, cols) float32 or (rows, cols) int32, "
            f"got {pixels.shape} {pixels.dtype}"
        )
    message = Image(
        header=head,
        height=pixels.shape[0],
        width=pixels.shape[1],
        encoding=fitting[0],
        is_bigendian=int(sys.byteorder == "big"),
        step=pixels.nbytes // max(pixels.shape[0], 1),
    )
    # From bytes this is a copy; from an array rclpy would look at every single value.
    message.data = np.ascontiguousarray(pixels).tobytes()
    return message


def image_from_msg(message: Image, topic: str = "image") -> npt.NDArray[np.generic]:
    """Return an image's pixels, not writable: (rows, cols), or (rows, cols, channels).

    Besides what `image_to_msg` makes: bgr8, rgba8, bgra8, mono8, 8UC1, 16UC1 and mono16, as they
    are; `depth_from_msg` and `color_from_msg` turn them into metres and RGB.

    Raises:
        ConversionError: An unknown encoding, or a size that does not match the data.
    """
    checks = Checks(topic)
    if message.encoding not in _KNOWN:
        raise checks.fail("encoding", f"one of {', '.join(_KNOWN)}", message.encoding)
    if max(message.width, message.height) > _LONGEST_SIDE:
        came = f"{message.width} x {message.height}"
        raise checks.fail("width, height", f"at most {_LONGEST_SIDE} px", came)
    kind, channels = _KNOWN[message.encoding]
    size = np.dtype(kind).itemsize
    row = message.width * channels * size
    if message.step < row:
        raise checks.fail("step", f"at least {row} bytes", message.step)
    if len(message.data) != message.step * message.height:
        expected = f"{message.step * message.height} bytes"
        raise checks.fail("data", expected, f"{len(message.data)} bytes")
    order: Literal["<", ">"] = ">" if message.is_bigendian else "<"
    rows = np.frombuffer(message.data, np.uint8).reshape(message.height, message.step)[:, :row]
    pixels = np.ascontiguousarray(rows).view(np.dtype(kind).newbyteorder(order))
    shape = (message.height, message.width) + ((channels,) if channels > 1 else ())
    return pixels.reshape(shape)


def semantic_labels_to_msg(labels: Mapping[int, str]) -> String:
    """Return what the numbers of a semantic image stand for: a JSON object, number -> label."""
    return String(data=json.dumps({str(number): labels[number] for number in sorted(labels)}))


def depth_from_msg(
    message: Image | CompressedImage, topic: str = "depth"
) -> npt.NDArray[np.float32]:
    """Return a depth image (rows, cols) [m]: 32FC1 holds metres, 16UC1 and mono16 millimetres.

    A CompressedImage holds a PNG, as compressed_depth_image_transport writes it.

    Raises:
        ConversionError: Another encoding, or a size that does not match the data.
    """
    if isinstance(message, CompressedImage):
        return _unpacked(depth_of, message, topic)
    if message.encoding not in ("32FC1", "16UC1", "mono16"):
        expected = "32FC1 [m], 16UC1 or mono16 [mm]"
        raise Checks(topic).fail("encoding", expected, message.encoding)
    pixels = image_from_msg(message, topic)
    if message.encoding == "32FC1":
        return pixels.astype(np.float32, copy=False)
    return pixels.astype(np.float32) * np.float32(0.001)


def color_from_msg(message: Image | CompressedImage, topic: str = "color") -> npt.NDArray[np.uint8]:
    """Return a colour image (rows, cols, 3) RGB; a CompressedImage holds a JPEG or PNG.

    Raises:
        ConversionError: An encoding without colour or grey values of 8 bits, or a wrong size.
    """
    if isinstance(message, CompressedImage):
        return _unpacked(color_of, message, topic)
    if message.encoding not in _COLORS:
        expected = f"one of {', '.join(_COLORS)}"
        if message.encoding in _NAMELESS:  # as OpenCV calls them
            expected = f"the order of colors in its name, {_NAMELESS[message.encoding]}"
        raise Checks(topic).fail("encoding", expected, message.encoding)
    pixels = image_from_msg(message, topic)
    if pixels.ndim == 2:
        return np.repeat(pixels[:, :, None], 3, axis=2).astype(np.uint8, copy=False)
    rgb = pixels[:, :, 2::-1] if message.encoding.startswith("bgr") else pixels[:, :, :3]
    return np.ascontiguousarray(rgb, np.uint8)


def camera_info_to_msg(camera: Camera, head: Header) -> CameraInfo:
    """Return a camera's model as a message: a pinhole without distortion.

    Pixel centres have whole numbers in ROS, so the principal point of an image of w columns is
    (w - 1) / 2.
    """
    f = camera.focal
    cx, cy = (camera.width - 1) / 2.0, (camera.height - 1) / 2.0
    return CameraInfo(
        header=head,
        height=camera.height,
        width=camera.width,
        distortion_model="plumb_bob",
        d=[0.0] * 5,
        k=[f, 0.0, cx, 0.0, f, cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[f, 0.0, cx, 0.0, 0.0, f, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )


def intrinsics_from_msg(
    message: CameraInfo, topic: str = "camera_info"
) -> tuple[tuple[int, int], tuple[float, float, float, float]]:
    """Return (columns, rows) [px] and (fx, fy, cx, cy) [px] as RgbdFrame has them.

    There the first pixel's corner is 0 and its centre 0.5; in ROS its centre is 0. Images are
    taken for rectified: what `d` says of distortion is not used.

    Raises:
        ConversionError: No size, focal lengths or principal point that a camera can have.
    """
    checks = Checks(topic)
    width = int(checks.number("width", message.width, 1, _LONGEST_SIDE))
    height = int(checks.number("height", message.height, 1, _LONGEST_SIDE))
    fx = checks.number("k[0]", message.k[0], 1.0, 1e5)
    fy = checks.number("k[4]", message.k[4], 1.0, 1e5)
    cx = checks.number("k[2]", message.k[2], -1.0 * width, 2.0 * width) + 0.5
    cy = checks.number("k[5]", message.k[5], -1.0 * height, 2.0 * height) + 0.5
    return (width, height), (fx, fy, cx, cy)


def depth_to_points(depth: npt.NDArray[np.float32], camera: Camera) -> npt.NDArray[np.float32]:
    """Return a depth image's points (N, 3) [m] in the optical frame (x right, y down, z ahead).

    Pixels without depth (0 or not finite) are left out.
    """
    rows, columns = np.nonzero((depth > 0.0) & np.isfinite(depth))
    z = depth[rows, columns]
    x = (columns - (camera.width - 1) / 2.0) * z / camera.focal
    y = (rows - (camera.height - 1) / 2.0) * z / camera.focal
    return np.stack([x, y, z], axis=1).astype(np.float32)


def cloud_to_msg(points: npt.NDArray[np.float32], head: Header) -> PointCloud2:
    """Return points (N, 3) [m] as an unordered cloud in the header's frame."""
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"cloud: expected an array (N, 3), got {points.shape}")
    message = PointCloud2(
        header=head,
        height=1,
        width=len(points),
        fields=[
            PointField(name=name, offset=4 * k, datatype=PointField.FLOAT32, count=1)
            for k, name in enumerate("xyz")
        ],
        is_bigendian=sys.byteorder == "big",
        point_step=12,
        row_step=12 * len(points),
        is_dense=True,
    )
    message.data = np.ascontiguousarray(points, np.float32).tobytes()
    return message


def _unpacked(
    read: Callable[[Any, str], npt.NDArray[T]], message: Any, topic: str
) -> npt.NDArray[T]:
    try:
        return read(message, topic)
    except RecordingError as error:
        raise Checks(topic).fail("data", "a packed image", str(error)) from None
