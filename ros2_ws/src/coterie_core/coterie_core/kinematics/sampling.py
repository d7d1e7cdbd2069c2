"""Sample an arm's joints evenly, and grow the result until its occupancy has no holes."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_CORNERS = 12


def postures(lower: Array, upper: Array, count: int, seed: int) -> Array:
    """Return at least `count` joint positions (n, joints) that fill the ranges evenly.

    A scrambled Sobol sequence, which leaves smaller gaps than independent draws, and the corners
    of the range, where the extremes of reach often lie.

    Args:
        lower: Lower ends (joints,).
        upper: Upper ends (joints,).
        count: Postures wanted; the corners come on top.
        seed: Same seed, same postures.
    """
    from scipy.stats import qmc  # takes a second

    size = len(lower)
    sobol = qmc.Sobol(size, scramble=True, rng=np.random.default_rng(seed))
    power = max(int(np.ceil(np.log2(max(count, 2)))), 1)
    unit = sobol.random_base2(power)[:count]
    values = lower + unit * (upper - lower)
    if size <= _CORNERS:
        corners = np.array(list(itertools.product(*zip(lower, upper, strict=True))))
        values = np.concatenate([values, corners])
    return np.clip(values, lower, upper)
