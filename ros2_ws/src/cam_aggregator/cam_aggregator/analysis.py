"""What the paper measures of an aggregator: agreement, importance, the picture of its tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from cam_aggregator.base import Aggregator, AggregatorError, accuracy
from cam_aggregator.cam import CentralAnswerModel
from cam_aggregator.encoding import input_names
from coterie_core.answers import AnswerTable, FloatArray, IntArray


def agreement(table: AnswerTable, p: FloatArray) -> FloatArray:
    """Return how often each agent's answer is the final one (K,), over answers given (MELE, Eq. 2).

    Args:
        table: The agents' answers to N questions.
        p: P(yes) of the final answers (N,); NaN (no answer) agrees with nobody.
    """
    final = p > 0.5
    same = (table.answers == final[:, None]) & table.present & ~np.isnan(p)[:, None]
    return cast(FloatArray, same.sum(axis=0) / np.maximum(table.present.sum(axis=0), 1))


def permutation_importance(
    predict: Callable[[AnswerTable], FloatArray],
    table: AnswerTable,
    *,
    repeats: int = 10,
    seed: int = 0,
) -> dict[str, float]:
    """Return |accuracy - accuracy with one input shuffled| per input (MELE, Eq. 3).

    Inputs are object, room and each robot; a robot's answer is shuffled with its evidence. The
    value is the mean over `repeats` shuffles, each taken as in Eq. 3.
    """
    base = accuracy(table.truth, predict(table))
    rng = np.random.default_rng([seed, 3])
    result: dict[str, float] = {}
    for name in input_names(table.agents):
        changes = []
        for _ in range(repeats):
            shuffled = shuffled_input(table, name, rng.permutation(len(table)))
            changes.append(abs(base - accuracy(table.truth, predict(shuffled))))
        result[name] = float(np.mean(changes))
    return result


_PER_ROBOT = (
    "present",
    "answers",
    "confidence",
    "evidence",
    "looks",
    "visited_fraction",
    "elsewhere",
    "prior",
    "sightings",
)


def shuffled_input(table: AnswerTable, name: str, order: Sequence[int] | IntArray) -> AnswerTable:
    """Return the table with one input ("object", "room" or a robot) taken from other questions."""
    rows = np.asarray(order, dtype=np.int64)
    if name == "object":
        return replace(table, objects=tuple(table.objects[i] for i in rows))
    if name == "room":
        return replace(table, rooms=tuple(table.rooms[i] for i in rows))
    k = table.column(name)
    columns = {}
    for column in _PER_ROBOT:
        values = getattr(table, column).copy()
        values[:, k] = values[rows, k]
        columns[column] = values
    return replace(table, **columns)


def forge(table: AnswerTable, agent: str) -> AnswerTable:
    """Return the table in which one robot lies about its evidence too.

    Harder than the paper's malicious agent (`AnswerTable.invert`): it says the opposite, claims to
    have seen what it did not, and hides what it saw.
    """
    k = table.column(agent)
    lie = table.invert(agent)
    seen = table.evidence[:, k] == 0
    evidence, sightings = lie.evidence.copy(), lie.sightings.copy()
    evidence[:, k] = np.where(seen, 1, 0)
    sightings[:, k] = np.where(seen, 0, 1)
    return replace(lie, evidence=evidence, sightings=sightings)


def with_missing(table: AnswerTable, share: float, seed: int) -> AnswerTable:
    """Return the table in which each answer is lost with probability `share` (0..1)."""
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share of missing answers must be within 0..1, got {share!r}")
    lost = np.random.default_rng([seed, 5]).random(table.present.shape) < share
    return replace(table, present=table.present & ~lost)


def draw_tree(aggregator: Aggregator, path: Path, *, depth: int = 4) -> None:
    """Write a picture of a decision-tree CAM (format by suffix: .svg, .png, .pdf).

    Deeper levels than `depth` are cut off. Codes of objects and rooms are explained by `legend`.

    Raises:
        AggregatorError: The aggregator holds no decision tree.
    """
    model = aggregator.model if isinstance(aggregator, CentralAnswerModel) else None
    if not isinstance(aggregator, CentralAnswerModel) or not hasattr(model, "tree_"):
        raise AggregatorError(f"{aggregator.name} is no decision tree; only decision_tree is drawn")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from sklearn.tree import plot_tree

    figure = Figure(figsize=(4.0 * 2 ** min(depth, 3), 2.2 * (depth + 1)), layout="constrained")
    FigureCanvasAgg(figure)  # plot_tree measures its text
    plot_tree(
        model,
        max_depth=depth,
        feature_names=input_names(aggregator.agents),
        class_names=["NO", "YES"],
        filled=True,
        rounded=True,
        impurity=False,
        ax=figure.add_subplot(),
    )
    figure.savefig(path)


def legend(aggregator: CentralAnswerModel) -> dict[str, dict[str, int]]:
    """Return label -> code of objects and rooms (MELE, Table 5)."""
    return {
        "object": {label: i for i, label in enumerate(aggregator.objects.labels)},
        "room": {label: i for i, label in enumerate(aggregator.rooms.labels)},
    }
