"""Inverse kinematics of many postures at once: damped least squares towards a target.

Targets are points, rings about the base, or points with a rotation of the tip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.kinematics.chain import Chain

Array = npt.NDArray[np.float64]

_DAMPING = 1e-3
_STEP = 0.5
LEVER = 0.1
"""An error of rotation counts as the way of a point so far from the tip [m]."""


@dataclass(frozen=True)
class Target:
    """Where the tip shall be: points (n, 3), or rings (n, 2) of radius and height [m].

    A robot that turns on the spot reaches a point when it reaches the ring through it about its
    axis, so a ring asks for radius and height alone. With a rotation (3, 3), the tip link shall be
    turned so, too.
    """

    values: Array
    ring: bool = False
    rotation: Array | None = None

    @staticmethod
    def point(point: npt.ArrayLike, rotation: Array | None = None) -> Target:
        """Return the target of one point (3,), with a rotation (3, 3) of the tip link or any."""
        values = np.asarray(point, dtype=np.float64).reshape(1, 3)
        return Target(values, rotation=rotation)

    def errors(self, tips: Array) -> Array:
        """Return what is left to go (n, 3) or (n, 2) [m]."""
        if not self.ring:
            return self.values - tips
        radius = np.hypot(tips[:, 0], tips[:, 1])
        return self.values - np.column_stack([radius, tips[:, 2]])

    def project(self, tips: Array, jacobians: Array) -> Array:
        """Return the Jacobians (n, m, joints) of what the target asks for."""
        if not self.ring:
            return jacobians
        radius = np.maximum(np.hypot(tips[:, 0], tips[:, 1]), 1e-9)
        outward = (tips[:, :2] / radius[:, None])[:, None, :] @ jacobians[:, :2]
        return np.concatenate([outward, jacobians[:, 2:3]], axis=1)


@dataclass(frozen=True)
class Solution:
    """Postures (n, joints) within the limits, and how far off their tips are (n,) [m].

    An error of rotation [rad] counts times LEVER.
    """

    positions: Array
    errors: Array


def solve(chain: Chain, target: Target, start: Array, *, steps: int = 30) -> Solution:
    """Move postures towards the target, each on its own, and keep the best of each.

    Damped least squares: dq = J^T (J J^T + d I)^-1 e, steps of at most 0.5 [rad, m] per joint,
    joints held within their limits.

    Args:
        chain: The joints.
        target: One target for all postures, or one for each.
        start: (n, joints).
        steps: Rounds.
    """
    from scipy.spatial.transform import Rotation

    lower, upper = chain.lower, chain.upper
    turning = upper - lower >= 2.0 * np.pi - 1e-6
    positions = start.copy()
    best = positions.copy()
    least = np.full(len(positions), np.inf)
    for _ in range(steps):
        moved = chain.jacobians(positions)
        errors = target.errors(moved.tips)
        projected = target.project(moved.tips, moved.linear)
        if target.rotation is not None:
            left = Rotation.from_matrix(target.rotation @ moved.rotations.transpose(0, 2, 1))
            errors = np.hstack([errors, LEVER * left.as_rotvec()])
            projected = np.concatenate([projected, LEVER * moved.angular], axis=1)
        size = np.linalg.norm(errors, axis=1)
        better = size < least
        best[better] = positions[better]
        least = np.minimum(least, size)
        if least.max() < 1e-6:
            break
        # A joint at its limit that would be pushed through it does not count for this step.
        gradient = np.einsum("nmj,nm->nj", projected, errors)
        blocked = ((positions <= lower) & (gradient < 0.0)) | (
            (positions >= upper) & (gradient > 0.0)
        )
        blocked &= ~turning
        free = np.where(blocked[:, None, :], 0.0, projected)
        square = free @ free.transpose(0, 2, 1)
        damping = _DAMPING + 0.1 * np.minimum(size, 1.0) ** 2
        square[:, range(square.shape[1]), range(square.shape[1])] += damping[:, None]
        change = np.einsum("nmj,nm->nj", free, np.linalg.solve(square, errors[..., None])[..., 0])
        scale = _STEP / np.maximum(np.abs(change).max(axis=1, initial=0.0), _STEP)
        positions = positions + change * scale[:, None]
        positions = np.where(
            turning, (positions - lower) % (2.0 * np.pi) + lower, np.clip(positions, lower, upper)
        )
    return Solution(best, least)
