"""Figures of the OpenEQA paper, for setting ours beside them [%]."""

from __future__ import annotations

from openeqa_agent.categories import CATEGORIES

EM: dict[str, tuple[float, float, float]] = {
    "blind": (32.5, 35.5, 33.5),
    "captions": (45.4, 40.0, 43.6),
    "scene_graph": (40.9, 35.0, 38.9),
    "frames": (51.3, 46.6, 49.6),
    "human": (87.7, 85.1, 86.8),
}
"""Table II, EM-EQA: C on ScanNet, on HM3D, on all; GPT-4 (scene graph: sparse voxel maps)."""

ACTIVE: dict[str, tuple[float, float | None]] = {
    "blind": (35.5, None),
    "captions": (38.1, 7.0),
    "scene_graph": (34.2, 6.4),
    "frames": (41.8, 7.5),
    "human": (85.1, None),
}
"""Table II, A-EQA: C and E on HM3D, after frontier exploration."""

EM_BY_CATEGORY: dict[str, tuple[float, ...]] = {
    "blind": (15.4, 20.3, 31.5, 31.4, 51.0, 52.2, 34.2),
    "captions": (36.5, 31.9, 45.8, 36.1, 56.0, 54.8, 44.8),
    "scene_graph": (30.0, 20.0, 49.6, 31.7, 55.5, 45.4, 40.8),
    "frames": (43.4, 42.0, 57.2, 33.6, 63.2, 57.4, 50.7),
    "human": (87.9, 77.3, 87.9, 86.7, 98.7, 81.8, 87.2),
}
"""Table IV: C per category in the order of openeqa_agent.categories."""

ACTIVE_BY_CATEGORY: dict[str, tuple[float, ...]] = {
    "blind": (25.3, 28.4, 27.3, 37.7, 47.2, 54.2, 29.5),
    "captions": (25.0, 24.0, 34.1, 34.4, 56.9, 53.5, 40.6),
    "scene_graph": (29.0, 17.2, 31.5, 31.5, 54.2, 39.8, 38.9),
    "frames": (34.0, 34.3, 51.5, 39.5, 51.9, 45.6, 36.6),
    "human": (89.7, 72.8, 85.4, 84.8, 97.8, 78.9, 88.5),
}
"""Table V: the same exploring."""


def paper_category(setting: str, method: str, category: str) -> float | None:
    """Return the paper's C [%] of a method in a category, where it has one."""
    table = EM_BY_CATEGORY if setting == "em" else ACTIVE_BY_CATEGORY
    row = table.get(method)
    return row[list(CATEGORIES).index(category)] if row else None  # type: ignore[arg-type]


def paper_score(setting: str, method: str, source: str) -> float | None:
    """Return the paper's C [%] of a method over all categories, where it has one.

    Args:
        setting: "em" or "active".
        method: Name of the agent.
        source: "scannet-v0", "hm3d-v0", or "all".
    """
    if setting == "active":
        return ACTIVE[method][0] if method in ACTIVE else None
    row = EM.get(method)
    if row is None:
        return None
    return {"scannet-v0": row[0], "hm3d-v0": row[1]}.get(source, row[2])


def paper_efficiency(method: str) -> float | None:
    """Return the paper's E [%] of a method, where it has one."""
    return ACTIVE[method][1] if method in ACTIVE else None
