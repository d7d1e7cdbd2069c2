"""Figures that the MELE paper reports, for setting ours beside them."""

from __future__ import annotations

COLUMNS: tuple[str, ...] = (
    "neural_network",
    "random_forest",
    "decision_tree",
    "xgboost",
    "svm_rbf",
    "svm_linear",
    "logistic_regression",
    "majority_vote",
    "debate",
)
"""Methods in the order of the paper's Table 1."""

TABLE_1: dict[int, tuple[float, ...]] = {
    20: (65.56, 63.33, 73.33, 73.33, 64.44, 43.33, 53.33, 58.89, 58.89),
    43: (61.00, 63.00, 86.00, 82.00, 62.00, 60.00, 64.00, 41.00, 40.00),
    53: (50.83, 68.33, 78.75, 81.25, 64.17, 50.83, 50.83, 44.58, 44.17),
    58: (50.00, 74.00, 84.00, 87.00, 74.00, 55.00, 53.00, 54.00, 53.00),
    78: (65.00, 70.45, 85.45, 86.36, 70.45, 57.27, 55.91, 42.27, 41.82),
    114: (64.06, 77.19, 81.25, 87.50, 70.94, 55.63, 60.31, 51.88, 47.19),
    145: (65.33, 75.33, 83.00, 87.67, 69.00, 58.33, 59.33, 46.67, 45.33),
    215: (66.33, 72.67, 79.67, 88.33, 69.67, 56.00, 56.33, 42.00, 43.00),
}
"""Nodes of the house -> accuracy [%] with three honest agents."""

TABLE_1_MALICIOUS: dict[int, tuple[float, ...]] = {
    20: (61.11, 62.22, 73.33, 73.33, 64.44, 44.44, 53.33, 61.11, 58.89),
    53: (60.42, 68.33, 78.75, 81.25, 64.17, 49.58, 50.83, 46.67, 44.17),
    145: (68.00, 75.33, 83.00, 87.67, 69.00, 59.33, 59.33, 47.67, 45.67),
    215: (64.33, 73.67, 79.67, 88.33, 69.67, 56.33, 56.33, 43.67, 43.00),
}
"""Nodes of the house -> accuracy [%] with one of three agents inverted."""

TABLE_2: dict[str, tuple[float, float, float]] = {
    "xgboost": (38.0, 38.0, 38.0),
    "majority_vote": (97.0, 95.0, 96.0),
    "debate": (97.0, 93.0, 91.0),
}
"""Agreement [%] of agents 1-3 with the final answers in the house of 215 nodes."""

TABLE_4: dict[int, tuple[float, float]] = {53: (41.67, 42.00), 215: (44.17, 44.58)}
"""Nodes of the house -> accuracy [%] of one agent, and of the majority of three."""


def paper_accuracy(nodes: int, method: str, *, malicious: bool = False) -> float | None:
    """Return the paper's accuracy [%] for a house of so many nodes, None where it has none."""
    row = (TABLE_1_MALICIOUS if malicious else TABLE_1).get(nodes)
    return row[COLUMNS.index(method)] if row is not None and method in COLUMNS else None
