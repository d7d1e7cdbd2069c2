"""Evidence of embeddings' likeness that two sightings are of one object."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any

from coterie_core.embedding import Embedding, Source, cosine, in_common
from coterie_core.yaml_marks import OWN, read_yaml

MIN_LIKENESS = 0.7
"""Less likeness says nothing of whether two objects are one: joining two costs an object, and a
duplicate does not. At 0.7 one in sixteen pairs of names of different things is taken for one."""
USUAL, USUAL_PAIRS = 0.6, 10
"""Cosine taken for that of two different objects until so many pairs of them were seen."""


@dataclass(slots=True)
class Background:
    """How alike different objects are, by model: what a likeness has to exceed to tell anything.

    Networks differ in that: pictures of any two household objects may have a cosine of 0.2 or 0.7.
    """

    sums: dict[tuple[str, Source], tuple[float, int]] = field(default_factory=dict)

    def note(self, a: Iterable[Embedding], b: Iterable[Embedding]) -> None:
        """Take in two objects that are known to be different."""
        for one, other in in_common(a, b):
            total, count = self.sums.get(one.key, (USUAL * USUAL_PAIRS, USUAL_PAIRS))
            self.sums[one.key] = (total + cosine(one, other), count + 1)

    def of(self, key: tuple[str, Source]) -> float:
        """Return the mean cosine of different objects by a model."""
        total, count = self.sums.get(key, (USUAL, 1))
        return min(total / count, 0.99)


def likeness(a: Sequence[Embedding], b: Sequence[Embedding], background: Background) -> float:
    """Return how far embeddings speak for two objects being one (0..1; 0: none in common).

    Of a network of words whose likeness was measured it is the probability that both labels mean
    one kind of thing; of any other it is how far the cosine exceeds that of different objects.
    """
    return max((_one(pair, background) for pair in in_common(a, b)), default=0.0)


def _one(pair: tuple[Embedding, Embedding], background: Background) -> float:
    model, source = pair[0].key
    near = cosine(*pair)
    same = fitted().get(model, {}).get("same") if source == "label" else None
    if same is not None:
        return 1.0 / (1.0 + math.exp(-(same["base"] + same["likeness"] * near)))
    usual = background.of(pair[0].key)
    return min(max((near - usual) / (1.0 - usual), 0.0), 1.0)


@lru_cache(maxsize=1)
def fitted() -> dict[str, dict[str, Any]]:
    """Return what was measured of embedders of words, by name; see data/meaning.yaml."""
    text = resources.files("coterie_world").joinpath("data/meaning.yaml").read_text("utf-8")
    data: dict[str, dict[str, Any]] = read_yaml(text, OWN)
    return data
