"""Figures of the object-planning paper, for setting ours beside them [%]."""

from __future__ import annotations

MEASURES = ("top_1", "top_2", "top_3", "top_any")

BASE: dict[str, tuple[float, float, float, float]] = {
    "all": (66.60, 68.67, 69.33, 69.67),
    "scannet": (60.67, 64.67, 66.00, 66.00),
    "scenenn": (71.33, 72.67, 72.67, 73.33),
}
"""Data set -> the four measures of the baseline with Gemini 1.5 Pro, over all queries."""

GAIN: dict[str, tuple[float, float, float, float]] = {
    "self_reflection": (7.67, 8.33, 8.67, 10.00),
    "ensemble": (0.00, 2.67, 4.00, 4.67),
    "multi_agent": (8.33, 8.33, 9.00, 9.67),
}
"""Workflow -> what it adds to the baseline, over both data sets."""

BASE_BY_TYPE: dict[tuple[str, str], tuple[float, float, float, float]] = {
    ("scannet", "descriptive"): (78.0, 82.0, 84.0, 84.0),
    ("scannet", "affordance"): (52.0, 58.0, 60.0, 60.0),
    ("scannet", "negation"): (52.0, 54.0, 54.0, 54.0),
    ("scenenn", "descriptive"): (86.0, 86.0, 86.0, 86.0),
    ("scenenn", "affordance"): (72.0, 76.0, 76.0, 78.0),
    ("scenenn", "negation"): (56.0, 56.0, 56.0, 56.0),
}
"""(data set, query type) -> the four measures of the baseline."""


def paper_figure(method: str, dataset: str, query_type: str, measure: str) -> float | None:
    """Return the paper's figure [%] where it has one in these tables."""
    k = MEASURES.index(measure)
    if method == "baseline":
        if query_type == "all":
            return BASE[dataset][k] if dataset in BASE else None
        row = BASE_BY_TYPE.get((dataset, query_type))
        return row[k] if row else None
    if method in GAIN and (dataset, query_type) == ("all", "all"):
        return round(BASE["all"][k] + GAIN[method][k], 2)
    return None
