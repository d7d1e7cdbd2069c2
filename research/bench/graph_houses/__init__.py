"""Topological houses: viewpoints joined by ways, with the objects seen from each (no pixels)."""

from __future__ import annotations

import difflib
from pathlib import Path

from habitat_bridge.simulator import WorldError
from research.bench.graph_houses.files import list_scans
from research.bench.graph_houses.model import DetectorNoise
from research.bench.graph_houses.world import WALKER, GraphWorld, load_graph_world

__all__ = [
    "WALKER",
    "DetectorNoise",
    "list_scans",
    "load_graph_world",
    "make_world",
]

# (miss, wrong label, phantoms per look) of detectors.
_NOISE: dict[str, tuple[float, float, float]] = {
    "none": (0.0, 0.0, 0.0),
    "low": (0.1, 0.03, 0.03),
    "normal": (0.25, 0.08, 0.1),
    "high": (0.45, 0.2, 0.4),
}


def make_world(seed: int, *, directory: str, scan: str, noise: str = "none") -> GraphWorld:
    """Return a house for a team file's `world: {kind: own, maker: ..., options: ...}`.

    Args:
        seed: Seed of the start places and the noise.
        directory: Folder with `connectivity/` (and `objects/`, `rooms.json`).
        scan: Name of a house in it.
        noise: Level of the detector's errors: none, low, normal or high. The files tell what a
            detector saw, so that it errs no more by default.

    Raises:
        WorldError: There is no such folder, house or level.
    """
    folder = Path(directory)
    if not folder.is_dir():
        raise WorldError(f"directory: {folder} is no folder; give one with connectivity/ in it")
    scans = list_scans(folder)
    if scan not in scans:
        close = difflib.get_close_matches(scan, scans, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        known = ", ".join(scans[:8]) or "none"
        raise WorldError(f"scan: no house {scan!r} in {folder}{hint} There are: {known}")
    if noise not in _NOISE:
        raise WorldError(f"noise: {noise!r}: expected one of {', '.join(_NOISE)}")
    return load_graph_world(folder, scan, seed=seed, noise=DetectorNoise(*_NOISE[noise]))
