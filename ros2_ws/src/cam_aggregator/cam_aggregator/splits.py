"""Training and test parts: the paper's random 90/10 split, and one that keeps objects together."""

from __future__ import annotations

import math

import numpy as np

from coterie_core.answers import AnswerTable, IntArray

SPLITS: tuple[str, ...] = ("random", "grouped")


def split(
    table: AnswerTable, kind: str, seed: int, *, test_share: float = 0.1
) -> tuple[IntArray, IntArray]:
    """Return positions of the training and the test questions.

    `random` (MELE, section 4.3): all questions shuffled, ceil(test_share * N) for the test. The NO
    twin of a YES question can be on the other side, which tells a model a good deal of its answer.
    `grouped`: whole groups (objects) go to the test until it has at least that many questions;
    no object is on both sides.

    Raises:
        ValueError: Unknown kind, or too few questions or groups to have both parts.
    """
    n = len(table)
    wanted = math.ceil(test_share * n)
    if n < 2 or not 0 < wanted < n:
        raise ValueError(f"{n} questions of {table.house!r} cannot be split at {test_share:.0%}")
    rng = np.random.default_rng([seed, SPLITS.index(kind) if kind in SPLITS else 0])
    if kind == "random":
        order = rng.permutation(n)
        return np.sort(order[wanted:]), np.sort(order[:wanted])
    if kind != "grouped":
        raise ValueError(f"no split named {kind!r}; splits: {', '.join(SPLITS)}")
    names = sorted(set(table.groups))
    if len(names) < 2:
        raise ValueError(f"all questions of {table.house!r} belong to one group: cannot be split")
    groups = np.array([names.index(group) for group in table.groups])
    chosen: list[int] = []
    count = 0
    for group in rng.permutation(len(names)):
        if count >= wanted or len(chosen) == len(names) - 1:
            break
        chosen.append(int(group))
        count += int((groups == group).sum())
    test = np.isin(groups, chosen)
    return np.flatnonzero(~test), np.flatnonzero(test)
