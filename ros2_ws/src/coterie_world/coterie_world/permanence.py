"""Confidence that a remembered object still is where it was seen: age, sightings, misses.

The confidence c that an object is there now, `age` seconds after it was last seen `n` times, with
`k` looks at its place since then that did not show it:

    q = R(n) S(age)        R(n) = 1 - f^n,   S(age) = 2^(-age / T)
    c = q m^k / (q m^k + 1 - q)

R is the probability that it is no phantom (f: share of single reports that are of nothing; a map
that was given, and a robot that had it in its hand, count as reports too). S is the survival of its
kind with half-life T, as in the persistence filter (Rosen, Mason, Leonard, ICRA 2016): fixtures
stay for years, small things for days. m is the probability that a look at its place misses an
object that was seen there before.
"""

from __future__ import annotations

import math
from functools import lru_cache

from coterie_world.scene import SceneObject
from coterie_world.sizes import known_size

DAY_S = 86400.0
HALF_LIFE = {
    "fixture": 3650.0 * DAY_S,
    "furniture": 90.0 * DAY_S,
    "large": 14.0 * DAY_S,
    "small": 3.0 * DAY_S,
}
"""Time after which half of such things are no longer where they were [s]."""
LARGE_ITEM_M = 0.5
"""An item of at least this length is large: a chair is moved less often than a cup [m]."""
FALSE_REPORT_PROBABILITY = 0.1
"""Probability that a single report is of nothing."""
MISS_PROBABILITY = 0.3
"""Probability that a look at an object's place misses it although it was seen there before."""


def mobility(thing: SceneObject) -> str:
    """Return the key of HALF_LIFE that a thing belongs to, by its kind and its kind's size."""
    if thing.kind != "item":
        return thing.kind
    longest = max(thing.box.size)
    return "large" if max(longest, _usual_length(thing.label.top)) >= LARGE_ITEM_M else "small"


def confidence(thing: SceneObject, age: float, sightings: int, misses: float = 0.0) -> float:
    """Return the probability (0..1) that a thing is where the map has it; see the module.

    Args:
        thing: Its kind, size and label count.
        age: Time since it was last known to be there [s].
        sightings: Reports n of it.
        misses: Looks k at its place since then that did not show it.
    """
    survival = 0.5 ** (max(age, 0.0) / HALF_LIFE[mobility(thing)])
    there = (1.0 - FALSE_REPORT_PROBABILITY ** max(sightings, 1)) * survival
    seen = there * MISS_PROBABILITY**misses
    return seen / (seen + 1.0 - there) if seen < 1.0 else 1.0


def age_text(seconds: float) -> str:
    """Return an age in words: "just now", "5 min ago", "3 h ago", "2 days ago"."""
    if seconds < 60.0:
        return "just now"
    if seconds < 3600.0:
        return f"{seconds / 60.0:.0f} min ago"
    if seconds < 2 * DAY_S:
        return f"{seconds / 3600.0:.0f} h ago"
    return f"{math.floor(seconds / DAY_S)} days ago"


@lru_cache(maxsize=4096)
def _usual_length(label: str) -> float:
    size = known_size(label)
    return 0.0 if size is None else max(high for _, high in size)
