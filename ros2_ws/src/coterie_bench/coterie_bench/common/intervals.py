"""95 % intervals of means over episodes that share houses, and which differences are draws."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

from scipy.stats import t as student


def mean_interval(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None
) -> tuple[float, float]:
    """Return the mean and the half width of its 95 % interval: Student's t over clusters.

    Deviations are summed within clusters first (the sandwich estimator of a clustered mean), since
    episodes of one house are not independent.

    Args:
        values: One per episode.
        clusters: What each episode shares with others, such as its house; None: nothing.

    Returns:
        Mean and half width; the half width is NaN for fewer than two clusters.
    """
    if not values:
        return math.nan, math.nan
    mean = sum(values) / len(values)
    sums: dict[Hashable, float] = {}
    for k, value in enumerate(values):
        cluster = clusters[k] if clusters is not None else k
        sums[cluster] = sums.get(cluster, 0.0) + value - mean
    count = len(sums)
    if count < 2:
        return mean, math.nan
    spread = sum(total * total for total in sums.values()) * count / (count - 1)
    return mean, float(student.ppf(0.975, count - 1)) * math.sqrt(spread) / len(values)


def difference(
    one: Mapping[Hashable, float],
    other: Mapping[Hashable, float],
    clusters: Mapping[Hashable, Hashable],
) -> tuple[float, float, bool]:
    """Return how far `one` lies above `other` on the episodes of both, and whether that is a draw.

    Args:
        one: Episode -> value.
        other: Episode -> value.
        clusters: Episode -> what it shares with others.

    Returns:
        Mean difference, half width of its 95 % interval, and whether the interval holds 0.
    """
    shared = [key for key in one if key in other]
    mean, half = mean_interval([one[k] - other[k] for k in shared], [clusters[k] for k in shared])
    return mean, half, not abs(mean) > half
