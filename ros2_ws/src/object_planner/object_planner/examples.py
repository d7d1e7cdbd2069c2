"""Few-shot examples of the prompts: small homes and requests of our own."""

from __future__ import annotations

import json

Numbers = tuple[float, float, float]


def _map(**things: tuple[Numbers, Numbers, int, dict[str, float]]) -> str:
    """Return a map's JSON from id -> center [m], size [m], times seen, labels."""
    return json.dumps(
        {
            id_: {"center": center, "size": size, "seen": seen, "labels": labels}
            for id_, (center, size, seen, labels) in things.items()
        }
    )


_HALL = _map(
    o1=((0.4, 1.2, 0.4), (0.4, 0.4, 0.9), 31, {"chair": 0.9, "stool": 0.1}),
    o2=((2.1, 1.0, 0.9), (0.8, 0.4, 1.8), 44, {"wardrobe": 1.0}),
    o3=((2.1, 3.2, 0.3), (0.5, 0.3, 0.4), 12, {"umbrella": 0.7, "tie": 0.3}),
)
_KITCHEN = _map(
    k1=((1.0, 0.5, 0.9), (0.6, 0.6, 1.8), 80, {"refrigerator": 0.95, "oven": 0.05}),
    k2=((2.0, 0.4, 0.8), (0.6, 0.5, 0.3), 51, {"sink": 1.0}),
    k3=((2.2, 2.1, 0.75), (0.1, 0.1, 0.12), 9, {"cup": 0.8, "bowl": 0.2}),
    k4=((2.2, 2.0, 0.4), (1.4, 0.8, 0.75), 66, {"dining table": 1.0}),
)


def _plan(query: str, ids: list[str], why: str) -> str:
    return json.dumps(
        {
            "reason": why,
            "inferred_query": query,
            "achievable": bool(ids),
            "relevant_objects": ids,
        }
    )


def _said(correctness: str, relevance: str, suggestions: list[str]) -> str:
    return json.dumps(
        {
            "correctness": correctness,
            "relevance": relevance,
            "clarity": "plain",
            "suggestions": suggestions,
            "acceptable": not suggestions,
        }
    )


PLAN_EXAMPLES: tuple[tuple[str, str, str], ...] = (
    (
        _HALL,
        "It is pouring outside, what should I take along?",
        _plan("something against rain", ["o3"], "o3 is most likely an umbrella."),
    ),
    (
        _KITCHEN,
        "Where could the milk go, if not into the sink?",
        _plan(
            "a place that keeps milk, not the sink", ["k1"], "k1 is a refrigerator and keeps cold."
        ),
    ),
    (
        _HALL,
        "I want to play the piano",
        _plan("a piano", [], "There is no piano and nothing that could stand in for one."),
    ),
)
"""Map, request and answer."""

FEEDBACK_EXAMPLES: tuple[tuple[str, str], ...] = (
    (
        f"Map: {_KITCHEN}\nRequest: the cup on the table\nAnswer: ['k4', 'k3']",
        _said("a cup is asked for, k4 is a table", "k4 is over", ["leave out k4, keep k3"]),
    ),
    (
        f"Map: {_HALL}\nRequest: where is the guitar?\nAnswer: []",
        _said("no guitar in the map, none listed", "nothing is missing", []),
    ),
    (
        f"Map: {_HALL}\nRequest: a seat that is no stool\nAnswer: ['o1']",
        _said("o1 is most likely a chair", "nothing is missing, nothing over", []),
    ),
    (
        f"Map: {_KITCHEN}\nRequest: where can I put a hot pan?\nAnswer: ['k3', 'k4']",
        _said("k3 is a cup and holds no pan", "order wrong", ["put k4 first", "leave out k3"]),
    ),
    (
        f"Map: {_HALL}\nRequest: somewhere for my coat\nAnswer: ['o1', 'o2']",
        _said("both serve", "a wardrobe is made for coats", ["put o2 before o1"]),
    ),
    (
        f"Map: {_KITCHEN}\nRequest: something cold to drink\nAnswer: []",
        _said("drinks are kept in refrigerators", "k1 is missing", ["add k1"]),
    ),
    (
        f"Map: {_KITCHEN}\nRequest: rinse this apple\nAnswer: ['k2']",
        _said("a sink is right", "nothing is missing, nothing over", []),
    ),
)
"""What is judged, and the judgement."""

REFINE_EXAMPLES: tuple[tuple[str, str], ...] = (
    (
        f"Map: {_HALL}\nAnswer: ['o1', 'o2'] to: somewhere for my coat\nReview: put o2 before o1",
        _plan("a place for a coat", ["o2", "o1"], "o2 is a wardrobe; a chair will do at a pinch."),
    ),
    (
        f"Map: {_KITCHEN}\nAnswer: ['k4', 'k3'] to: the cup on the table\nReview: leave out k4",
        _plan("the cup that stands on the table", ["k3"], "k3 is most likely a cup on k4."),
    ),
    (
        f"Map: {_HALL}\nAnswer: [] to: where is the guitar?\nReview: no changes",
        _plan("a guitar", [], "There is none in the map."),
    ),
)
"""What is to be improved, and the improved answer."""
