"""Color pictures from a file, a folder, a camera, a video or a recording, one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from coterie_perception.detector import Pixels
from coterie_recordings import RecordingError, open_recording

SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".ppm"})
VIDEOS = frozenset({".avi", ".mp4", ".mov", ".mkv", ".webm"})
_COLORED = ("RGB", "RGBA", "P", "L", "CMYK", "YCbCr")
_MOST_PIXELS = 50_000_000


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture's name, and its pixels (rows, cols, 3), RGB."""

    name: str
    pixels: Pixels


def pictures(sources: Sequence[str], every: int = 1, most: int | None = None) -> Iterator[Picture]:
    """Yield pictures.

    Args:
        sources: Numbers or devices of cameras, or paths of pictures, folders of pictures, videos
            or recordings.
        every: Step between the pictures taken.
        most: Most of them; None: all, of a camera one.

    Raises:
        RecordingError: A source is none of this, or cannot be read.
    """
    if len(sources) == 1:
        return _pictures(sources[0], every, most)
    found = chain.from_iterable(_pictures(source, 1, None) for source in sources)
    return islice(found, 0, None if most is None else most * every, every)


def how_many(sources: Sequence[str]) -> int | None:
    """Return how many files pictures are read from; None: not only from pictures and folders."""
    paths = [Path(source).expanduser() for source in sources]
    counted = [len(_files(one)) if one.is_dir() else int(_is_picture(one)) for one in paths]
    return sum(counted) if all(counted) else None


def _is_picture(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in SUFFIXES


def _pictures(source: str, every: int, most: int | None) -> Iterator[Picture]:
    path = Path(source).expanduser()
    if source.isdecimal() or source.startswith("/dev/video"):
        most = most or 1
        found = _video(int(source) if source.isdecimal() else source)
    elif path.suffix.lower() in VIDEOS:
        found = _video(str(path))
    elif _is_picture(path):
        found = iter([Picture(path.name, _read(path))])
    elif path.is_dir() and (files := _files(path)):
        found = (Picture(one.name, _read(one)) for one in files[::every])
        every = 1
    else:
        found = _recorded(path)
    yield from islice(found, 0, None if most is None else most * every, every)


def _files(folder: Path) -> list[Path]:
    """The pictures of a folder; those of 16 bits are depth images."""
    return [
        one for one in sorted(folder.iterdir()) if one.suffix.lower() in SUFFIXES and _colored(one)
    ]


def _colored(path: Path) -> bool:
    try:
        with Image.open(path) as opened:
            return opened.mode in _COLORED
    except (OSError, UnidentifiedImageError):
        return False


def _read(path: Path) -> Pixels:
    try:
        with Image.open(path) as opened:
            if opened.width * opened.height > _MOST_PIXELS:
                raise RecordingError(path, f"more than {_MOST_PIXELS} pixels", "make it smaller")
            return np.asarray(ImageOps.exif_transpose(opened).convert("RGB"))
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise RecordingError(path, f"no picture ({error})", "give a JPEG or PNG file") from None


def _video(source: int | str) -> Iterator[Picture]:
    try:
        import cv2
    except ImportError:
        what = "OpenCV, which reads cameras and videos, is not installed"
        raise RecordingError(str(source), what, "run: ./coterie setup --with detector") from None
    opened = cv2.VideoCapture(source)
    try:
        if not opened.isOpened():
            what = "no camera or video that can be opened"
            raise RecordingError(str(source), what, "ls /dev/video* lists cameras")
        for k in count():
            good, pixels = opened.read()
            if not good:
                return
            yield Picture(f"{k:06d}", np.ascontiguousarray(pixels[..., ::-1], np.uint8))
    finally:
        opened.release()


def _recorded(path: Path) -> Iterator[Picture]:
    recording = open_recording(path)
    for k in range(len(recording)):
        one = recording[k]
        if one.frame.color is not None:
            yield Picture(one.name, one.frame.color)
