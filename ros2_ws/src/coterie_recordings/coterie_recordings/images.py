"""Images of recordings, checked: color as PNG or JPEG, depth as 16-bit PNG."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from coterie_recordings.types import RecordingError

LONGEST_SIDE = 8192
"""Of an image [px]."""
MILLIMETRES = 0.001
_DEPTH_MODES = ("I;16", "I;16B", "I;16L", "I")
_COPY = "copy it again, or leave the frame out"


def read_color(path: Path) -> npt.NDArray[np.uint8]:
    """Read a colour image (rows, cols, 3) RGB.

    Raises:
        RecordingError: It is missing, no image, damaged or too large.
    """
    return decode_color(_bytes(path), path)


def read_depth(path: Path, scale: float = MILLIMETRES) -> npt.NDArray[np.float32]:
    """Read a depth image (rows, cols) [m] from a 16-bit PNG; 0 where unknown.

    Args:
        path: The file.
        scale: Metres of one unit.

    Raises:
        RecordingError: It is missing, no image of 16 bits, damaged or too large.
    """
    return decode_depth(_bytes(path), path, scale)


def decode_color(data: bytes, source: str | Path) -> npt.NDArray[np.uint8]:
    """Decode a colour image in a file's format; see `read_color`."""
    return _decode(data, source, lambda image: np.asarray(image.convert("RGB"), dtype=np.uint8))


def decode_depth(data: bytes, source: str | Path, scale: float) -> npt.NDArray[np.float32]:
    """Decode a depth image of 16 bits; see `read_depth`."""
    return raw_depth(data, source).astype(np.float32) * np.float32(scale)


def raw_depth(data: bytes, source: str | Path) -> npt.NDArray[np.uint16]:
    """Decode an image of one channel of 16 bits, in its own units; see `read_depth`."""

    def pixels(image: Any) -> npt.NDArray[Any]:
        if image.mode not in _DEPTH_MODES:
            what = f"depth must be one channel of 16 bits, got mode {image.mode}"
            raise RecordingError(source, what, "write depth as a 16-bit gray PNG")
        return np.asarray(image).astype(np.uint16)

    return _decode(data, source, pixels)


def whole(path: Path) -> bool:
    """Whether a PNG or JPEG file has its end; reads a few bytes only.

    False for a missing or an empty file, and for one whose writing was cut off.
    """
    try:
        with path.open("rb") as file:
            head = file.read(8)
            size = file.seek(0, 2)
            file.seek(max(size - 64, 0))
            tail = file.read()
    except OSError:
        return False
    if head.startswith(b"\x89PNG"):
        return b"IEND" in tail
    if head.startswith(b"\xff\xd8"):
        return b"\xff\xd9" in tail
    return size > 0


def resampled(
    color: npt.NDArray[np.uint8],
    intrinsics: tuple[float, float, float, float],
    shape: tuple[int, int],
    target: tuple[float, float, float, float],
) -> npt.NDArray[np.uint8]:
    """Return a colour image as another camera in the same place and direction sees it.

    Args:
        color: (rows, cols, 3).
        intrinsics: (fx, fy, cx, cy) [px] of the colour camera.
        shape: Rows and columns wanted.
        target: (fx, fy, cx, cy) [px] of the camera wanted; black where the colour camera does not
            look.
    """
    fx, fy, cx, cy = intrinsics
    gx, gy, dx, dy = target
    u = np.floor((np.arange(shape[1]) + 0.5 - dx) / gx * fx + cx).astype(np.int64)
    v = np.floor((np.arange(shape[0]) + 0.5 - dy) / gy * fy + cy).astype(np.int64)
    inside_u, inside_v = (u >= 0) & (u < color.shape[1]), (v >= 0) & (v < color.shape[0])
    out = color[v.clip(0, color.shape[0] - 1)][:, u.clip(0, color.shape[1] - 1)]
    out[~inside_v] = 0
    out[:, ~inside_u] = 0
    return out


def check_size(width: int, height: int, source: str | Path) -> None:
    """Refuse sizes that no camera has.

    Raises:
        RecordingError: A side is shorter than 1 or longer than LONGEST_SIDE.
    """
    if not (1 <= width <= LONGEST_SIDE and 1 <= height <= LONGEST_SIDE):
        what = f"an image of {width} x {height} px; sides of 1 to {LONGEST_SIDE} px are read"
        raise RecordingError(source, what, "scale the images down")


def check_camera(
    fx: float, fy: float, cx: float, cy: float, source: str | Path
) -> tuple[float, float, float, float]:
    """Return (fx, fy, cx, cy) [px] if a camera can have them.

    Raises:
        RecordingError: A focal length is not positive, or a number is not finite or absurd.
    """
    most = 100.0 * LONGEST_SIDE
    if not (0.1 <= fx <= most and 0.1 <= fy <= most and abs(cx) <= most and abs(cy) <= most):
        what = f"fx, fy, cx, cy = {fx:g}, {fy:g}, {cx:g}, {cy:g} px are of no camera"
        raise RecordingError(source, what, "give the camera's calibration")
    return (fx, fy, cx, cy)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RecordingError(path, error.strerror or "cannot be read", _COPY) from None


def _decode(data: bytes, source: str | Path, pixels: Callable[[Any], npt.NDArray[Any]]) -> Any:
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as image:
            check_size(image.size[0], image.size[1], source)
            return pixels(image)
    except UnidentifiedImageError:
        raise RecordingError(source, "neither a PNG nor a JPEG image", _COPY) from None
    except (OSError, SyntaxError, ValueError, MemoryError, Image.DecompressionBombError) as error:
        raise RecordingError(source, f"damaged or cut off ({error})", _COPY) from None
