"""Fences of robots as a page shows them: outlines by floor, in words, and as walls in space."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie_console.text import plain
from coterie_safety.guard import Fence, Fences
from coterie_safety.guard.fences import FencePiece
from coterie_world.scene import Floor, SceneGraph

MAX_FENCES, _MAX_RINGS, _MAX_CORNERS = 100, 200, 500
_MIN_OVERLAP_M = 0.1
"""A fence that reaches less than this into a floor's heights is none of that floor [m]."""
_WALL_HEIGHT_M = 0.8
"""Height of a fence in space [m]."""


def fences_of(
    told: Mapping[str, Fences], scene: SceneGraph, team: Collection[str]
) -> dict[str, Any]:
    """Return the fences of a team as plain data: positions in the map frame [m].

    Args:
        told: Fences that each robot's guard enforces.
        scene: The map whose floors they are on.
        team: All robots.

    Returns:
        `fences`: each with `whose` it is, `keep_out`, `text`, and `pieces` of `rings`
        on `floors` (none: on all). `held`: which robots must not move at all, and why.
    """
    shared: dict[Fence, list[str]] = {}
    for robot, fences in told.items():
        for fence in fences.fences:
            shared.setdefault(fence, []).append(robot)
    floors = list(scene.floors.values())
    return {
        "fences": [
            {"whose": _whose(robots, team)} | _fence(fence, floors)
            for fence, robots in list(shared.items())[:MAX_FENCES]
        ],
        "held": [
            {"robot": plain(robot), "why": plain(fences.trouble, 400)}
            for robot, fences in told.items()
            if fences.trouble
        ],
    }


def walls(
    told: Mapping[str, Fences], scene: SceneGraph
) -> dict[bool, tuple[npt.NDArray[np.float32], npt.NDArray[np.uint32]]]:
    """Return fences as walls: whether they keep out -> corners (N, 3) [m] and triangles (M, 3)."""
    floors = list(scene.floors.values())
    quads: dict[bool, list[list[list[float]]]] = {True: [], False: []}
    for fence in dict.fromkeys(f for fences in told.values() for f in fences.fences):
        for piece in fence.pieces[:_MAX_RINGS]:
            for z in [one.elevation for one in floors if _on(piece, one)] or [_bottom(piece)]:
                for ring in piece.rings[:_MAX_RINGS]:
                    corners = ring[:_MAX_CORNERS]
                    for (x, y), (u, v) in zip(corners, (*corners[1:], corners[0]), strict=True):
                        top = z + _WALL_HEIGHT_M
                        quad = [[x, y, z], [u, v, z], [u, v, top], [x, y, top]]
                        quads[fence.keep_out].append(quad)
    return {
        keep_out: (
            np.array(one, np.float32).reshape(-1, 3),
            (4 * np.arange(len(one))[:, None, None] + np.array([[0, 1, 2], [0, 2, 3]]))
            .reshape(-1, 3)
            .astype(np.uint32),
        )
        for keep_out, one in quads.items()
        if one
    }


def _whose(robots: Sequence[str], team: Collection[str]) -> str:
    if len(robots) > 1 and set(team) <= set(robots):
        return "all robots"
    return plain(", ".join(robots), 300)


def _fence(fence: Fence, floors: Sequence[Floor]) -> dict[str, Any]:
    pieces = fence.pieces[:_MAX_RINGS]
    return {
        "keep_out": fence.keep_out,
        "text": plain(_in_words(fence, floors), 300),
        "pieces": [
            {
                "floors": [one.id for one in floors if _on(piece, one)] if piece.z else [],
                "rings": [
                    [[round(x, 2), round(y, 2)] for x, y in ring[:_MAX_CORNERS]]
                    for ring in piece.rings[:_MAX_RINGS]
                ],
            }
            for piece in pieces
            if piece.z is None or not floors or any(_on(piece, one) for one in floors)
        ],
    }


def _in_words(fence: Fence, floors: Sequence[Floor]) -> str:
    """Return what a fence says, with its place in the team file."""
    if fence.keep_out:
        said = f"keep out of {fence.name or 'a zone'}"
    elif any(not piece.rings for piece in fence.pieces):
        names = [
            f"Floor {k}"
            for k, one in enumerate(sorted(floors, key=lambda one: (one.elevation, one.id)))
            if any(_on(piece, one) for piece in fence.pieces)
        ]
        said = f"stay on {', '.join(names) or 'some heights'}"
    else:
        said = "stay inside"
    return f"{said}{'' if fence.pieces else ', which the map does not know'} ({fence.where})"


def _on(piece: FencePiece, floor: Floor) -> bool:
    """Whether a piece reaches into a floor's heights."""
    if piece.z is None:
        return True
    low, high = floor.elevation, floor.elevation + max(floor.ceiling_height, 3 * _MIN_OVERLAP_M)
    return piece.z[0] < high - _MIN_OVERLAP_M and piece.z[1] > low + _MIN_OVERLAP_M


def _bottom(piece: FencePiece) -> float:
    return piece.z[0] if piece.z else 0.0
