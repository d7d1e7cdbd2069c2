"""Few-shot examples of the prompts: small homes and requests of our own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

Numbers = tuple[float, float, float]


@dataclass(frozen=True)
class Example:
    """A question about a small map, and the reply to it; `asked` holds `{map}`."""

    asked: str
    map: Mapping[str, Mapping[str, object]]
    reply: str

    def question(self, *, lean: bool = False) -> str:
        """Return the question with its map; lean: only what and where things are."""
        shown = {
            id_: {name: value for name, value in told.items() if not lean or name in _BAREST}
            for id_, told in self.map.items()
        }
        return self.asked.replace("{map}", json.dumps(shown))


_BAREST = ("center", "label", "labels")


def _map(
    **things: tuple[Numbers, Numbers, int, dict[str, float]],
) -> dict[str, dict[str, object]]:
    """Return a map: id -> center [m], size [m], times seen, labels."""
    return {
        id_: {"center": center, "size": size, "seen": seen, "labels": labels}
        for id_, (center, size, seen, labels) in things.items()
    }


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


PLAN_EXAMPLES: tuple[Example, ...] = (
    Example(
        "Example map: {map}\nExample request: It is pouring outside, what should I take along?",
        _HALL,
        _plan("something against rain", ["o3"], "o3 is most likely an umbrella."),
    ),
    Example(
        "Example map: {map}\nExample request: Where could the milk go, if not into the sink?",
        _KITCHEN,
        _plan(
            "a place that keeps milk, not the sink", ["k1"], "k1 is a refrigerator and keeps cold."
        ),
    ),
    Example(
        "Example map: {map}\nExample request: I want to play the piano",
        _HALL,
        _plan("a piano", [], "There is no piano and nothing that could stand in for one."),
    ),
)

FEEDBACK_EXAMPLES: tuple[Example, ...] = (
    Example(
        "Example. Map: {map}\nRequest: the cup on the table\nAnswer: ['k4', 'k3']",
        _KITCHEN,
        _said("a cup is asked for, k4 is a table", "k4 is over", ["leave out k4, keep k3"]),
    ),
    Example(
        "Example. Map: {map}\nRequest: where is the guitar?\nAnswer: []",
        _HALL,
        _said("no guitar in the map, none listed", "nothing is missing", []),
    ),
    Example(
        "Example. Map: {map}\nRequest: a seat that is no stool\nAnswer: ['o1']",
        _HALL,
        _said("o1 is most likely a chair", "nothing is missing, nothing over", []),
    ),
    Example(
        "Example. Map: {map}\nRequest: where can I put a hot pan?\nAnswer: ['k3', 'k4']",
        _KITCHEN,
        _said("k3 is a cup and holds no pan", "order wrong", ["put k4 first", "leave out k3"]),
    ),
    Example(
        "Example. Map: {map}\nRequest: somewhere for my coat\nAnswer: ['o1', 'o2']",
        _HALL,
        _said("both serve", "a wardrobe is made for coats", ["put o2 before o1"]),
    ),
    Example(
        "Example. Map: {map}\nRequest: something cold to drink\nAnswer: []",
        _KITCHEN,
        _said("drinks are kept in refrigerators", "k1 is missing", ["add k1"]),
    ),
    Example(
        "Example. Map: {map}\nRequest: rinse this apple\nAnswer: ['k2']",
        _KITCHEN,
        _said("a sink is right", "nothing is missing, nothing over", []),
    ),
)

REFINE_EXAMPLES: tuple[Example, ...] = (
    Example(
        "Example. Map: {map}\nAnswer: ['o1', 'o2'] to: somewhere for my coat\n"
        "Review: put o2 before o1",
        _HALL,
        _plan("a place for a coat", ["o2", "o1"], "o2 is a wardrobe; a chair will do at a pinch."),
    ),
    Example(
        "Example. Map: {map}\nAnswer: ['k4', 'k3'] to: the cup on the table\nReview: leave out k4",
        _KITCHEN,
        _plan("the cup that stands on the table", ["k3"], "k3 is most likely a cup on k4."),
    ),
    Example(
        "Example. Map: {map}\nAnswer: [] to: where is the guitar?\nReview: no changes",
        _HALL,
        _plan("a guitar", [], "There is none in the map."),
    ),
)
