"""Figures of the OpenEQA paper, for setting ours beside them [%]."""

from __future__ import annotations

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

EM_BY_CATEGORY: dict[str, dict[str, float]] = {
    "object_recognition": {
        "blind": 15.4,
        "captions": 36.5,
        "scene_graph": 30.0,
        "frames": 43.4,
        "human": 87.9,
    },
    "object_localization": {
        "blind": 20.3,
        "captions": 31.9,
        "scene_graph": 20.0,
        "frames": 42.0,
        "human": 77.3,
    },
    "attribute_recognition": {
        "blind": 31.5,
        "captions": 45.8,
        "scene_graph": 49.6,
        "frames": 57.2,
        "human": 87.9,
    },
    "spatial_understanding": {
        "blind": 31.4,
        "captions": 36.1,
        "scene_graph": 31.7,
        "frames": 33.6,
        "human": 86.7,
    },
    "object_state_recognition": {
        "blind": 51.0,
        "captions": 56.0,
        "scene_graph": 55.5,
        "frames": 63.2,
        "human": 98.7,
    },
    "functional_reasoning": {
        "blind": 52.2,
        "captions": 54.8,
        "scene_graph": 45.4,
        "frames": 57.4,
        "human": 81.8,
    },
    "world_knowledge": {
        "blind": 34.2,
        "captions": 44.8,
        "scene_graph": 40.8,
        "frames": 50.7,
        "human": 87.2,
    },
}
"""Table IV: category -> agent -> C."""

ACTIVE_BY_CATEGORY: dict[str, dict[str, float]] = {
    "object_recognition": {
        "blind": 25.3,
        "captions": 25.0,
        "scene_graph": 29.0,
        "frames": 34.0,
        "human": 89.7,
    },
    "object_localization": {
        "blind": 28.4,
        "captions": 24.0,
        "scene_graph": 17.2,
        "frames": 34.3,
        "human": 72.8,
    },
    "attribute_recognition": {
        "blind": 27.3,
        "captions": 34.1,
        "scene_graph": 31.5,
        "frames": 51.5,
        "human": 85.4,
    },
    "spatial_understanding": {
        "blind": 37.7,
        "captions": 34.4,
        "scene_graph": 31.5,
        "frames": 39.5,
        "human": 84.8,
    },
    "object_state_recognition": {
        "blind": 47.2,
        "captions": 56.9,
        "scene_graph": 54.2,
        "frames": 51.9,
        "human": 97.8,
    },
    "functional_reasoning": {
        "blind": 54.2,
        "captions": 53.5,
        "scene_graph": 39.8,
        "frames": 45.6,
        "human": 78.9,
    },
    "world_knowledge": {
        "blind": 29.5,
        "captions": 40.6,
        "scene_graph": 38.9,
        "frames": 36.6,
        "human": 88.5,
    },
}
"""Table V: the same exploring."""


def paper_category(setting: str, method: str, category: str) -> float | None:
    """Return the paper's C [%] of a method in a category, where it has one."""
    table = EM_BY_CATEGORY if setting == "em" else ACTIVE_BY_CATEGORY
    return table[category].get(method)


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
