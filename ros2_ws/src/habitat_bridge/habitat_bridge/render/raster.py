"""Compiled loops that draw a house into images: what ray casting gives, in another order.

A camera at the origin sends through the pixel (col, row) the ray d = (col, row, 1), if space is
measured in the homogeneous pixel coordinates of `View.to_pixels`. The plane through the origin and
the edge of a triangle from u to v has the normal u x v, so d meets the triangle where d . (u x v)
has one sign for all three edges; with D = u . (v x w), the reciprocal of the depth of the hit is
d . (u x v + v x w + w x u) / D. All of these are linear in col and row. So each row of a triangle
is one span without any test in it, no triangle is cut at a near plane, and a pixel on an edge that
two triangles share belongs to exactly one of them.

The functions keep nothing between calls and release the interpreter's lock: threads may draw
different rows of an image at the same time. The result does not depend on how rows are divided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

TILE = 16
"""Rows and columns of the tiles of which the farthest depth is kept [px]."""

_AHEAD = 1e-6  # [m] what is not farther ahead of the eye has no place in the image's plane
_PAD = 1e-3  # [px] by which bounds are widened, for rounding
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiled(function: _Function) -> _Function:
    """Compile a function at its first call; the result is kept on disk where that is possible."""
    compiler: Any = numba.njit
    options = {"nogil": True, "error_model": "numpy"}
    try:
        made: _Function = compiler(function, cache=True, **options)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written to
        made = compiler(function, **options)
    return made


@_compiled
def _outside(box: Any, to_pixels: Any, cols: int, top: int, bottom: int, found: Any) -> bool:
    """Tell whether a box (x0, y0, z0, x1, y1, z1) [m] is out of the rows top..bottom-1.

    If it is not, `found` (5,) gets its first and last column, its first and last row, and the
    reciprocal of its least depth [1/m]. Where the box reaches behind the eye these are the bounds
    of the image and infinity.
    """
    left = right = above = below = behind = 0
    x0, x1, y0, y1, least = np.inf, -np.inf, np.inf, -np.inf, np.inf
    for k in range(8):
        x = box[3] if k & 1 else box[0]
        y = box[4] if k & 2 else box[1]
        z = box[5] if k & 4 else box[2]
        u = to_pixels[0, 0] * x + to_pixels[0, 1] * y + to_pixels[0, 2] * z + to_pixels[0, 3]
        v = to_pixels[1, 0] * x + to_pixels[1, 1] * y + to_pixels[1, 2] * z + to_pixels[1, 3]
        s = to_pixels[2, 0] * x + to_pixels[2, 1] * y + to_pixels[2, 2] * z + to_pixels[2, 3]
        left += u < -_PAD * s
        right += u > (cols - 1 + _PAD) * s
        above += v < (top - _PAD) * s
        below += v > (bottom - 1 + _PAD) * s
        behind += s <= _AHEAD
        least = min(least, s)
        x0, x1 = min(x0, u / s), max(x1, u / s)
        y0, y1 = min(y0, v / s), max(y1, v / s)
    if max(left, right, above, below, behind) == 8:
        return True
    if behind:
        found[0], found[1], found[2], found[3], found[4] = 0, cols - 1, top, bottom - 1, np.inf
    else:
        found[0], found[1] = max(x0 - _PAD, 0.0), min(x1 + _PAD, cols - 1.0)
        found[2], found[3] = max(y0 - _PAD, float(top)), min(y1 + _PAD, bottom - 1.0)
        found[4] = (1.0 + 1e-6) / least
    return False


@_compiled
def _hidden(found: Any, tiles: Any, top: int) -> bool:
    """Tell whether all within the bounds that `_outside` found is behind what has been drawn."""
    for i in range((int(found[2]) - top) // TILE, (int(found[3]) - top) // TILE + 1):
        for j in range(int(found[0]) // TILE, int(found[1]) // TILE + 1):
            if found[4] > tiles[i, j]:
                return False
    return True


@_compiled
def _measure_tiles(nearness: Any, top: int, bottom: int, tiles: Any) -> None:
    """Write the least nearness [1/m] in each tile of the rows top..bottom-1 into `tiles`."""
    tiles[:] = np.inf
    for row in range(top, bottom):
        i = (row - top) // TILE
        for j in range(tiles.shape[1]):
            least = tiles[i, j]
            for col in range(j * TILE, min(j * TILE + TILE, nearness.shape[1])):
                least = min(least, nearness[row, col])
            tiles[i, j] = least


@_compiled
def _clip(edge: Any, row: int, low: int, high: int) -> tuple[int, int]:
    """Return the columns low..high of a row as far as a * col + b * row + c > 0 for an edge.

    A pixel on the line itself belongs to one of its two sides, whichever way the edge runs.
    """
    a, b, c = edge
    if a > 0.0:
        root = -(b / a) * row - c / a
        if root > low:
            low = int(np.ceil(root)) if root <= high else high + 1
    elif a < 0.0:
        root = -(b / a) * row - c / a
        if root <= high:
            high = int(np.ceil(root)) - 1 if root > low else low - 1
    else:
        side = b * row + c
        if side < 0.0 or (side == 0.0 and b <= 0.0):
            high = low - 1
    return low, high


@_compiled
def _fill(nearness: Any, number: Any, ramp: Any, start: Any, slope: Any, triangle: Any) -> None:
    """Draw a span where its nearness, start + slope * k at pixel k, exceeds what is there."""
    for k in range(len(nearness)):
        value = start + slope * ramp[k]
        if value > nearness[k]:
            nearness[k] = value
            number[k] = triangle


@_compiled
def _draw(
    soup: Any, first: int, to_pixels: Any, top: int, bottom: int, nearness: Any, number: Any
) -> None:
    """Draw a soup over what is in the rows top..bottom-1; its first triangle has number `first`."""
    cols = nearness.shape[1]
    vertices, triangles, groups = soup.vertices, soup.triangles, soup.groups
    ramp = np.arange(cols).astype(np.float32)
    tiles = np.zeros(((bottom - top - 1) // TILE + 1, (cols - 1) // TILE + 1), dtype=np.float32)
    found = np.empty(5)
    most = 0
    for g in range(len(groups)):
        most = max(most, groups[g, 1] - groups[g, 0])
    points = np.empty((most, 3))  # in homogeneous pixel coordinates
    places = np.empty((most, 2))  # in the image
    for g in range(len(groups)):
        if g == soup.solid:
            _measure_tiles(nearness, top, bottom, tiles)
        if _outside(soup.boxes[g], to_pixels, cols, top, bottom, found):
            continue
        if g >= soup.solid and _hidden(found, tiles, top):
            continue
        base = groups[g, 0]
        for n in range(groups[g, 1] - base):
            x, y, z = vertices[base + n]
            for k in range(3):
                points[n, k] = (
                    to_pixels[k, 0] * x
                    + to_pixels[k, 1] * y
                    + to_pixels[k, 2] * z
                    + to_pixels[k, 3]
                )
            places[n, 0] = points[n, 0] / points[n, 2]
            places[n, 1] = points[n, 1] / points[n, 2]
        for t in range(groups[g, 2], groups[g, 3]):
            i, j, k = triangles[t, 0] - base, triangles[t, 1] - base, triangles[t, 2] - base
            left, right, high, low = 0, cols - 1, top, bottom - 1
            if min(points[i, 2], points[j, 2], points[k, 2]) > _AHEAD:
                x0 = min(places[i, 0], places[j, 0], places[k, 0]) - _PAD
                x1 = max(places[i, 0], places[j, 0], places[k, 0]) + _PAD
                y0 = min(places[i, 1], places[j, 1], places[k, 1]) - _PAD
                y1 = max(places[i, 1], places[j, 1], places[k, 1]) + _PAD
                if x0 > right or x1 < left or y0 > low or y1 < high:
                    continue
                left, right = max(left, int(np.ceil(x0))), min(right, int(np.floor(x1)))
                high, low = max(high, int(np.ceil(y0))), min(low, int(np.floor(y1)))
                if left > right or high > low:
                    continue
            elif max(points[i, 2], points[j, 2], points[k, 2]) <= 0.0:
                continue
            xi, yi, zi = points[i]
            xj, yj, zj = points[j]
            xk, yk, zk = points[k]
            one = (yj * zk - zj * yk, zj * xk - xj * zk, xj * yk - yj * xk)
            two = (yk * zi - zk * yi, zk * xi - xk * zi, xk * yi - yk * xi)
            three = (yi * zj - zi * yj, zi * xj - xi * zj, xi * yj - yi * xj)
            volume = xi * one[0] + yi * one[1] + zi * one[2]
            if volume == 0.0:
                continue
            a = (one[0] + two[0] + three[0]) / volume
            b = (one[1] + two[1] + three[1]) / volume
            c = (one[2] + two[2] + three[2]) / volume
            if volume < 0.0:
                one = (-one[0], -one[1], -one[2])
                two = (-two[0], -two[1], -two[2])
                three = (-three[0], -three[1], -three[2])
            for row in range(high, low + 1):
                begin, end = _clip(one, row, left, right)
                begin, end = _clip(two, row, begin, end)
                begin, end = _clip(three, row, begin, end)
                if begin <= end:
                    _fill(
                        nearness[row, begin : end + 1],
                        number[row, begin : end + 1],
                        ramp,
                        np.float32(a * begin + b * row + c),
                        np.float32(a),
                        np.int32(first + t),
                    )


@_compiled
def render(
    house: Any,
    robots: Any,
    to_pixels: Any,
    top: int,
    bottom: int,
    near: float,
    far: float,
    sky: Any,
    depth: Any,
    semantic: Any,
    color: Any,
) -> None:
    """Make the rows top..bottom-1 of the images of one camera.

    Args:
        house: A `Soup`.
        robots: Another one, of what is drawn over it.
        to_pixels: (3, 4) float64: (x, y, z, 1) [m] to (col * depth, row * depth, depth).
        top: First row.
        bottom: The row after the last one.
        near: Least depth that is told [m].
        far: Greatest depth that is told [m].
        sky: Colour (3,) uint8 of where nothing is.
        depth: Becomes the depth (rows, cols) float32 [m], 0 where it is not within near..far.
        semantic: Becomes the instance number (rows, cols) int32, 0 where nothing is.
        color: Becomes the colour (rows, cols, 3) uint8; without rows if it is not wanted.
    """
    # While drawing, the depth's memory holds its reciprocal, the semantic one's the triangle.
    depth[top:bottom] = 0.0
    semantic[top:bottom] = -1
    shift = len(house.triangles)
    _draw(house, 0, to_pixels, top, bottom, depth, semantic)
    if len(robots.groups):
        _draw(robots, shift, to_pixels, top, bottom, depth, semantic)
    if len(color):
        for row in range(top, bottom):
            for col in range(color.shape[1]):
                t = semantic[row, col]
                for k in range(3):
                    if t < 0:
                        color[row, col, k] = sky[k]
                    elif t < shift:
                        color[row, col, k] = house.colors[t, k]
                    else:
                        color[row, col, k] = robots.colors[t - shift, k]
    for row in range(top, bottom):
        for col in range(depth.shape[1]):
            value = np.float32(1.0) / depth[row, col]
            depth[row, col] = value if near <= value <= far else np.float32(0.0)
            t = semantic[row, col]
            if t < 0:
                semantic[row, col] = 0
            elif t < shift:
                semantic[row, col] = house.instances[t]
            else:
                semantic[row, col] = robots.instances[t - shift]
