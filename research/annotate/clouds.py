"""Point clouds for the page: read, thinned, with colors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie_console.map_shapes import Floats

MAX_POINTS = 400_000
"""Points of a cloud that are drawn; of more, evenly every so many."""


def load_cloud(path: Path, origin: Floats) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Return the points (N, 3) [m] of a PLY relative to `origin`, and their colours (N, 3).

    Raises:
        ValueError: It cannot be read, or has no points.
    """
    import trimesh

    try:
        loaded: Any = trimesh.load(str(path), process=False)
        points = np.asarray(loaded.vertices, dtype=float).reshape(-1, 3)
        found: Any = getattr(loaded, "colors", None)
        if found is None:
            found = getattr(getattr(loaded, "visual", None), "vertex_colors", None)
        colors = np.asarray(found)[:, :3] if found is not None and len(found) else None
    except Exception as error:  # trimesh raises all kinds for broken files
        raise ValueError(f"{path}: no PLY that can be read: {str(error)[:200]}") from None
    good = np.isfinite(points).all(axis=1)
    if not good.any():
        raise ValueError(f"{path}: the PLY has no points")
    if colors is None or len(colors) != len(points):
        colors = np.full((len(points), 3), 150)
    rows = np.flatnonzero(good)
    rows = rows[:: max(1, -(-len(rows) // MAX_POINTS))]
    return (points[rows] - origin).astype(np.float32), colors[rows].astype(np.uint8)
