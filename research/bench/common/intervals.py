"""95 % intervals of means over episodes that share houses, and which differences are draws."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

from scipy.stats import norm
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
    squares = sum(total * total for total in sums.values()) * count / (count - 1)
    return mean, float(student.ppf(0.975, count - 1)) * math.sqrt(squares) / len(values)


def share_interval(
    hits: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> tuple[float, float, float]:
    """Return the share of hits (0..1) and the ends of its 95 % interval: Wilson's (1927).

    Episodes of one house count for less than as many houses: their number is divided by how much
    the variance over clusters exceeds that of independent episodes. The interval of no hit, or of
    hits alone, has a width, too.

    Args:
        hits: One per episode.
        clusters: What each episode shares with others, such as its house; None: nothing.

    Returns:
        Share, lower and upper end; NaN where there are no episodes.
    """
    if not hits:
        return math.nan, math.nan, math.nan
    count, share = float(len(hits)), sum(hits) / len(hits)
    _, half = mean_interval([float(hit) for hit in hits], clusters)
    independent = share * (1.0 - share) / max(count - 1.0, 1.0)
    if independent > 0.0 and not math.isnan(half):
        groups = len(set(clusters)) if clusters is not None else len(hits)
        variance = (half / float(student.ppf(0.975, groups - 1))) ** 2
        count /= max(1.0, variance / independent)
    z = float(norm.ppf(0.975))
    scale = 1.0 + z * z / count
    middle = (share + z * z / (2.0 * count)) / scale
    half = z / scale * math.sqrt(share * (1.0 - share) / count + z * z / (4.0 * count * count))
    return share, max(0.0, middle - half), min(1.0, middle + half)


def paired_interval(
    one: Sequence[bool], other: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> tuple[float, float]:
    """Return how far the share of hits of `one` lies above that of `other`, in the same episodes.

    The half width is the larger one of `mean_interval` and of Agresti and Min's (2005) interval
    for matched pairs, which adds half an episode to each of the four cells: pairs that all agree
    do not show that there is no difference.

    Args:
        one: One per episode.
        other: Of the same episodes, in the same order.
        clusters: What each episode shares with others, such as its house; None: nothing.

    Returns:
        Difference of the shares and half width of its 95 % interval; NaN without episodes.
    """
    mean, half = mean_interval(
        [float(a) - float(b) for a, b in zip(one, other, strict=True)], clusters
    )
    if math.isnan(mean):
        return mean, half
    count = len(one) + 2.0
    apart = sum(a != b for a, b in zip(one, other, strict=True)) + 1.0
    shift = sum(map(float, one)) - sum(map(float, other))
    pairs = float(norm.ppf(0.975)) * math.sqrt(apart - shift * shift / count) / count
    return mean, max(pairs, half) if not math.isnan(half) else pairs


def spread(half: float, digits: int = 1) -> str:
    """Return the half width of an interval as it stands behind its mean ("": there is none)."""
    return "" if math.isnan(half) else f" ± {half:.{digits}f}"


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
