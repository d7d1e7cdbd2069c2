"""Detectors without a fixed list of labels: one object under several words that mean the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal

import numpy as np

from coterie_core.detections import ImageDetection
from coterie_core.household import load_household, normalized

Words = Literal["tables", "unlisted"]
"""Names that the household's tables know, or words that no table lists."""


def other_names(words: Words) -> dict[str, tuple[str, ...]]:
    """Return label -> other words for such a thing; labels without any are left out."""
    names: dict[str, list[str]] = {}
    if words == "tables":
        for thing in load_household().categories.values():
            names[thing.label] = list(thing.synonyms)
    else:
        # Words that WordNet has for one kind of thing, or for kinds of it.
        text = resources.files("research.bench").joinpath("data/unlisted_words.tsv").read_text()
        rows = [row.split("\t") for row in text.splitlines() if not row.startswith("#")]
        for word, kinds, _ in rows:
            if ", " not in kinds:
                names.setdefault(kinds, []).append(word)
    return {label: tuple(sorted(found)) for label, found in names.items() if found}


@dataclass(frozen=True, slots=True)
class FreeNaming:
    """Names a share of the detections by other words for the same thing, each anew.

    Attributes:
        rate: Share of the detections (0..1).
        names: Label -> other words for it.
        most: Most words that are used for one label.
    """

    rate: float
    names: Mapping[str, Sequence[str]]
    most: int = 3
    kinds: dict[str, str] = field(default_factory=dict)

    def rename(
        self, found: Sequence[ImageDetection], rng: np.random.Generator
    ) -> list[ImageDetection]:
        """Return detections as such a detector would name them."""
        renamed = []
        for one in found:
            words = self.names.get(one.label, ())[: self.most]
            if words and rng.random() < self.rate:
                word = words[int(rng.integers(len(words)))]
                self.kinds[normalized(word)] = one.label
                scores = {word if k == one.label else k: v for k, v in one.scores.items()}
                one = dataclasses.replace(one, scores=scores)
            renamed.append(one)
        return renamed

    def kind_of(self, label: str) -> str:
        """Return the label that a name stands for."""
        return self.kinds.get(normalized(label), label)
