"""Cross-validation folds that keep all questions on one object together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie_core.answer_table import IntArray


def folds_by_group(groups: Sequence[str], seed: int, folds: int = 10) -> IntArray:
    """Return the fold of each question (N,); questions of one group share theirs."""
    names = sorted(set(groups))
    number = max(2, min(folds, len(names)))
    shuffled = np.random.default_rng([seed, 11]).permutation(len(names)) % number
    place = {name: int(shuffled[i]) for i, name in enumerate(names)}
    return np.array([place[group] for group in groups], dtype=np.int64)
