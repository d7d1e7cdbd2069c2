"""Episodes of `bench emos` that the world has verified: only the right assignment succeeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from research.bench.common.processes import spread
from research.bench.emos.episodes import Episode, Family, make_episode
from research.bench.emos.jobs import Job, run_job

MAX_HOUSES = 20
"""Houses looked at per episode that is wanted, before the search ends."""


def verified(family: Family, house: int) -> Episode | None:
    """Return the episode of a house if the right assignment succeeds and the swapped one fails.

    Both are carried out in the world (XOR check of EMOS, appendix B.3).
    """
    episode = make_episode(family, house)
    if episode is None:
        return None
    right = run_job(Job(episode, "oracle"))
    if not right["success"] or run_job(Job(episode, "swapped"))["success"]:
        return None
    return episode


def find_episodes(
    family: Family,
    count: int,
    seed: int,
    *,
    kept: Sequence[Episode] = (),
    workers: int = 1,
    on_found: Callable[[list[Episode]], None] | None = None,
) -> list[Episode]:
    """Return `count` verified episodes of a family, fewer if the houses offer no more.

    Houses are taken in order from the seed, so that the number of workers changes nothing.

    Args:
        family: 1 to 4.
        count: How many.
        seed: Episodes of different seeds are of different houses.
        kept: The first of them, found before.
        workers: Processes.
        on_found: Called with those found so far, whenever there is one more.
    """
    found = list(kept[:count])
    first, last = seed * 10_000, seed * 10_000 + MAX_HOUSES * count
    if kept:
        first = kept[-1].house + 1
    if len(found) == count:
        return found
    for one in spread(verified, [(family, house) for house in range(first, last)], workers):
        if one is not None:
            found.append(one)
            if on_found:
                on_found(found)
        if len(found) == count:
            break
    return found
