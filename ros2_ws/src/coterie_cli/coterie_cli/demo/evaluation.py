"""Scores every way of aggregating on the answers that a team really gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from cam_aggregator.analysis import shuffled_input
from cam_aggregator.base import Aggregator, accuracy
from cam_aggregator.registry import accepted_options, aggregator_names, make_aggregator
from cam_aggregator.splits import split
from coterie_cli.demo.results import Importance, MethodScore
from coterie_cli.figures.charts import TreeNode
from coterie_core.answers import AnswerTable

METHODS = {
    "majority_vote": "Majority vote (MV)",
    "confidence_vote": "Confidence-weighted vote",
    "debate": "Debate, two rounds",
    "decision_tree": "CAM, decision tree",
    "xgboost": "CAM, XGBoost",
    "cam_plus": "CAM+",
    "dawid_skene": "Dawid–Skene, no labels",
}
"""What the demonstration compares, in this order, with their names for people."""

RANDOM_SEEDS = range(5)


@dataclass(slots=True)
class Evaluation:
    """Scores, and each method's answers to the test questions (method -> question id -> answer)."""

    scores: list[MethodScore] = field(default_factory=list)
    answers: dict[str, dict[str, bool | None]] = field(default_factory=dict)
    tree: TreeNode | None = None
    importances: list[Importance] = field(default_factory=list)


def evaluate(
    train: AnswerTable,
    test: AnswerTable,
    everything: AnswerTable,
    *,
    seed: int = 0,
    on_method: Callable[[str], object] = lambda method: None,
) -> Evaluation:
    """Score all methods.

    Args:
        train: Labelled answers to learn from.
        test: Answers to the scored questions; their truth is used for scoring only.
        everything: Both together, for the paper's random split (MELE, section 4.2).
        seed: Of the learners, as the aggregator node has it.
        on_method: Called before each method.
    """
    result = Evaluation()
    for method, title in METHODS.items():
        on_method(title)
        if method not in aggregator_names():
            continue
        aggregator = _made(method, seed)
        score = MethodScore(method, title, learned=aggregator.needs_labels)
        try:
            finals = _fitted(aggregator, train, test).predict(test)
        except ValueError as error:
            score.note = str(error)
        else:
            result.answers[method] = {f.question: f.yes for f in finals}
            score.held_out = _share(test, result.answers[method])
        _random_split(score, everything)
        result.scores.append(score)
        if method == "decision_tree" and score.held_out is not None:
            result.tree = tree_of(aggregator)
        if method == "cam_plus" and score.held_out is not None:
            result.importances = importances(aggregator, test)
    return result


def _made(method: str, seed: int) -> Aggregator:
    options = {"seed": seed} if "seed" in accepted_options(method) else {}
    return make_aggregator(method, **options)


def _fitted(aggregator: Aggregator, train: AnswerTable, test: AnswerTable) -> Aggregator:
    """Fit; a method without labels learns from all answers, and is never shown a truth."""
    if aggregator.needs_labels:
        aggregator.fit(train)
    else:
        aggregator.fit(test)
    return aggregator


def _random_split(score: MethodScore, everything: AnswerTable) -> None:
    shares = []
    for seed in RANDOM_SEEDS:
        try:
            learn, ask = (everything.take(part) for part in split(everything, "random", seed))
            aggregator = _made(score.method, seed)
            aggregator.fit(learn if aggregator.needs_labels else everything)
            shares.append(accuracy(ask.truth, aggregator.p_yes(aggregator.aligned(ask))))
        except ValueError as error:
            score.note = score.note or str(error)
            return
    score.random_mean, score.random_std = float(np.mean(shares)), float(np.std(shares))


def _share(test: AnswerTable, answers: Mapping[str, bool | None]) -> float:
    right = [
        answers.get(question) is bool(truth)
        for question, truth in zip(test.questions, test.truth, strict=True)
    ]
    return float(np.mean(right))


def tree_of(aggregator: Aggregator) -> TreeNode | None:
    """Return the decision tree of a CAM for drawing; None where there is none."""
    model = getattr(aggregator, "model", None)
    tree = getattr(model, "tree_", None)
    if tree is None:
        return None
    labels = [aggregator.objects.labels, aggregator.rooms.labels]  # type: ignore[attr-defined]
    yes_class = list(model.classes_).index(1)  # type: ignore[union-attr]

    def node(i: int) -> TreeNode:
        values = tree.value[i][0]
        count = int(tree.n_node_samples[i])
        share = float(values[yes_class] / values.sum())
        left, right = int(tree.children_left[i]), int(tree.children_right[i])
        if left < 0:
            return TreeNode("", count, share)
        feature, threshold = int(tree.feature[i]), float(tree.threshold[i])
        if feature < 2:  # a code in alphabetical order (MELE, Table 5)
            last = labels[feature][min(max(int(np.floor(threshold)), 0), len(labels[feature]) - 1)]
            asks = f"{('object', 'room')[feature]} ≤ {last}?"
            return TreeNode(asks, count, share, yes=node(left), no=node(right))
        asks = f"{aggregator.agents[feature - 2]} says yes?"
        return TreeNode(asks, count, share, yes=node(right), no=node(left))

    return node(0)


def importances(
    aggregator: Aggregator, table: AnswerTable, *, repeats: int = 20, seed: int = 0
) -> list[Importance]:
    """Return the accuracy lost when one input is shuffled over the questions (MELE, Eq. 3).

    Inputs are the object, the room, and each robot's answer with all that belongs to it.

    Args:
        aggregator: Fitted.
        table: Questions with truth.
        repeats: Shuffles per input.
        seed: Of the shuffles.
    """
    table = aggregator.aligned(table)
    base = accuracy(table.truth, aggregator.p_yes(table))
    rng = np.random.default_rng(seed)
    result = []
    for name in ("object", "room", *table.agents):
        losses = []
        for _ in range(repeats):
            shuffled = shuffled_input(table, name, rng.permutation(len(table)))
            losses.append(base - accuracy(table.truth, aggregator.p_yes(shuffled)))
        result.append(Importance(name, float(np.mean(losses)), float(np.std(losses))))
    return result
