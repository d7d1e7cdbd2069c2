"""Draws a house into images by compiled loops, those of raster.c.

They release the interpreter's lock: threads may draw different rows of an image at the same time.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from habitat_bridge.render.solids import Soup

_SOURCE = Path(__file__).with_suffix(".c")
_COMPILERS = ("cc", "gcc", "clang", "c++", "g++", "clang++")
# Without contraction a processor's fused operations do not change what is drawn.
_OPTIONS = ("-O3", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-shared", "-x", "c")


class _Soup(ctypes.Structure):
    """What raster.c calls Soup."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in Soup._fields[:-1]),
        ("count", ctypes.c_int64),
        ("solid", ctypes.c_int64),
    )


def render(
    house: Soup,
    robots: Soup,
    to_pixels: npt.NDArray[np.float64],
    top: int,
    bottom: int,
    near: float,
    far: float,
    sky: npt.NDArray[np.uint8],
    depth: npt.NDArray[np.float32],
    semantic: npt.NDArray[np.int32],
    color: npt.NDArray[np.uint8],
) -> None:
    """Make the rows top..bottom-1 of the images of one camera.

    Args:
        house: What is drawn first.
        robots: What is drawn over it.
        to_pixels: (3, 4): (x, y, z, 1) [m] to (col * depth, row * depth, depth).
        top: First row.
        bottom: The row after the last one.
        near: Least depth that is told [m].
        far: Greatest depth that is told [m].
        sky: Color (3,) of where nothing is.
        depth: Becomes the depth (rows, cols) [m], 0 where it is not within near..far.
        semantic: Becomes the instance number (rows, cols), 0 where nothing is.
        color: Becomes the color (rows, cols, 3); without rows if it is not wanted.

    Raises:
        MemoryError: There is none left.
    """
    first, second = _passed(house), _passed(robots)
    pixels = np.ascontiguousarray(to_pixels, dtype=np.float64)
    drawn = _LIBRARY.render(
        ctypes.byref(first[0]), ctypes.byref(second[0]), len(house.triangles), _address(pixels),
        depth.shape[1], top, bottom, near, far, _address(sky), _address(depth),
        _address(semantic), _address(color) if len(color) else None,
    )  # fmt: skip
    if not drawn:
        raise MemoryError("no memory is left to draw an image")


def _passed(soup: Soup) -> tuple[_Soup, list[npt.NDArray[Any]]]:
    """Return a soup as raster.c takes it, and the arrays that must outlive it."""
    arrays: list[npt.NDArray[Any]] = [
        np.ascontiguousarray(soup.vertices, dtype=np.float32),
        np.ascontiguousarray(soup.triangles, dtype=np.uint32),
        np.ascontiguousarray(soup.colors, dtype=np.uint8),
        np.ascontiguousarray(soup.instances, dtype=np.int32),
        np.ascontiguousarray(soup.groups, dtype=np.int64),
        np.ascontiguousarray(soup.boxes, dtype=np.float64),
    ]
    return _Soup(*map(_address, arrays), len(soup.groups), soup.solid), arrays


def _address(array: npt.NDArray[Any]) -> int:
    if not array.flags.c_contiguous:
        raise ValueError(f"an array of shape {array.shape} is not in one piece of memory")
    return int(array.__array_interface__["data"][0])


def _library() -> Any:
    """Return the compiled loops; they are kept beside the code or in the user's cache.

    Raises:
        ImportError: There is no compiler, or it fails.
    """
    made_for = " ".join([*_OPTIONS, platform.machine(), *platform.libc_ver()])
    digest = hashlib.sha256(_SOURCE.read_bytes() + made_for.encode()).hexdigest()
    name = f"raster-{digest[:16]}.so"
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    places = (_SOURCE.parent / "__pycache__", Path(cache, "coterie"))
    for place in places:
        if (place / name).is_file():
            return _loaded(place / name)
    with tempfile.TemporaryDirectory(prefix="coterie-raster-") as scratch:
        made = Path(scratch, name)
        _compile(made)
        for place in places:
            try:
                place.mkdir(parents=True, exist_ok=True)
                unfinished = place / f"{name}.{os.getpid()}"
                shutil.copyfile(made, unfinished)
                os.replace(unfinished, place / name)
            except OSError:
                continue  # not ours to write, or full
            return _loaded(place / name)
        return _loaded(made)


def _compile(made: Path) -> None:
    named = os.environ.get("CC", "").split()
    found = [shutil.which(one) for one in _COMPILERS]
    compilers: list[Sequence[str]] = [*([named] if named else []), *([one] for one in found if one)]
    if not compilers:
        raise ImportError("no C compiler is installed (apt-get install gcc); CC can name one")
    command = [*compilers[0], *_OPTIONS, str(_SOURCE), "-o", str(made), "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ImportError(f"the C compiler does not start: {error}") from None
    if done.returncode != 0:
        raise ImportError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")


def _loaded(path: Path) -> Any:
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:  # such as of a file system from which nothing may be run
        raise ImportError(f"the compiled rasterizer cannot be loaded: {error}") from None
    pointer, number, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    library.render.argtypes = (
        *(pointer, pointer, ctypes.c_int32, pointer, number, number, number),
        *(real, real, pointer, pointer, pointer, pointer),
    )
    library.render.restype = ctypes.c_int
    return library


_LIBRARY = _library()
