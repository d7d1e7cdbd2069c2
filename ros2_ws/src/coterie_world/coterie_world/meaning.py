"""The labels nearest to a word by meaning, with the probability that the word means one of them."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coterie_core.embedding import MAX_EMBEDDINGS, MAX_MODEL_CHARS, Embedding
from coterie_core.household import normalized
from coterie_llm.embedders import (
    EmbedderError,
    EmbedderOptions,
    Rows,
    TextEmbedder,
    load_embedder,
)
from coterie_world.likeness import fitted
from coterie_world.scene.graph import SceneGraph
from coterie_world.sightings import kind_of

LOCAL_KINDS = ("none", "wordllama", "minilm")
"""Embedders that need no further settings."""
_PHRASE = "a {}, a household object"
"""Sets single words among household things ("plant" is not a factory then)."""
_MAX_CACHED_LABELS = 10_000
"""Most labels whose embeddings are kept."""


@dataclass(frozen=True, slots=True)
class Near:
    """A label near a word.

    Attributes:
        label: The label.
        likeness: Cosine of the two (-1..1).
        probability: Frequency with which such a likeness means that the word is that label, or a
            kind of it (0..1), by words that the tables lack and a dictionary places.
    """

    label: str
    likeness: float
    probability: float


class Meanings:
    """Compares words with labels by an embedder; the labels' embeddings are kept.

    Args:
        embedder: The embedder.
    """

    def __init__(self, embedder: TextEmbedder) -> None:
        self.embedder = embedder
        self._labels: dict[str, Rows] = {}

    def likeness(self, word: str, labels: Sequence[str], scene: SceneGraph | None = None) -> Rows:
        """Return the cosines of a word with labels (n,).

        Args:
            word: The word.
            labels: The labels.
            scene: A map; what it keeps of its labels' meaning is used instead of asking for it.

        Raises:
            EmbedderError: The endpoint did not answer.
        """
        row = self.embedder.embed([_PHRASE.format(word)])[0]
        found: Rows = self._embedded(labels, self._kept(scene, len(row))) @ row
        return found

    def nearest(
        self, word: str, labels: Sequence[str], limit: int = 3, scene: SceneGraph | None = None
    ) -> list[Near]:
        """Return the labels nearest to a word, the nearest first; see `likeness`.

        Raises:
            EmbedderError: The endpoint did not answer.
        """
        if not labels:
            return []
        cosines = self.likeness(word, labels, scene)
        order = np.argsort(-cosines, kind="stable")
        best = [float(cosines[k]) for k in order[: limit + 1]]
        found = []
        for rank, k in enumerate(order[:limit]):
            gap = best[rank] - (best[rank + 1] if rank + 1 < len(best) else 0.0)
            probability = _probability(self.embedder.name, best[rank], gap if rank == 0 else 0.0)
            found.append(Near(labels[k], best[rank], probability * (1.0 if rank == 0 else 0.5)))
        return found

    def learn(self, labels: Iterable[str]) -> None:
        """Embed labels that are new, in one go.

        Raises:
            EmbedderError: The endpoint did not answer.
        """
        self._embedded(list(labels))

    def embedding(self, weights: Mapping[str, float]) -> Embedding | None:
        """Return what the likeliest of labels means; None where there is none.

        Not a mean: means of several labels are all alike, whatever they are of.

        Args:
            weights: Label -> evidence for it.

        Raises:
            EmbedderError: The endpoint did not answer.
        """
        top = min(weights, key=lambda label: (-weights[label], label), default="")
        if not top or weights[top] <= 0.0:
            return None
        (row,) = self._embedded([top])
        return Embedding.of(self.embedder.name[:MAX_MODEL_CHARS], row, "label")

    def keep(self, scene: SceneGraph) -> None:
        """Put into the objects of a map what their labels mean, instead of what they had of it.

        Raises:
            EmbedderError: The endpoint did not answer.
        """
        self.learn({t.label.top for t in scene.objects.values() if t.label.top})
        for thing in scene.objects.values():
            made = self.embedding(thing.label.weights)
            others = [one for one in thing.embeddings if made is None or one.key != made.key]
            thing.embeddings = (*([made] if made else []), *others)[:MAX_EMBEDDINGS]

    def ranked(
        self, text: str, labels: Sequence[str], scene: SceneGraph | None = None
    ) -> dict[str, float]:
        """Return label -> cosine with a whole text, such as a question; see `likeness`.

        Raises:
            EmbedderError: The endpoint did not answer.
        """
        if not labels:
            return {}
        row = self.embedder.embed([text])[0]
        known = self._embedded(labels, self._kept(scene, len(row)))
        return dict(zip(labels, (known @ row).tolist(), strict=True))

    def _kept(self, scene: SceneGraph | None, dimension: int) -> dict[str, Rows]:
        """Return what a map keeps of its labels, of this embedder and of objects of one label."""
        key = (self.embedder.name[:MAX_MODEL_CHARS], "label")
        return {
            label: one.vector
            for thing in (scene.objects.values() if scene is not None else ())
            if len(thing.label.weights) == 1
            for label in thing.label.weights
            for one in thing.embeddings
            if one.key == key and one.dimension == dimension
        }

    def _embedded(self, labels: Sequence[str], kept: Mapping[str, Rows] | None = None) -> Rows:
        if not labels:
            return np.zeros((0, 0), np.float32)
        kept = kept or {}
        new = [
            label
            for label in dict.fromkeys(labels)
            if label not in self._labels and label not in kept
        ]
        if new:
            if len(self._labels) + len(new) > _MAX_CACHED_LABELS:
                self._labels.clear()
                new = [label for label in dict.fromkeys(labels) if label not in kept]
            made = self.embedder.embed([_PHRASE.format(label) for label in new])
            self._labels.update(zip(new, made, strict=True))
        # What a map says holds for that map alone.
        return np.stack([kept[one] if one in kept else self._labels[one] for one in labels])


def local_meanings(kind: str) -> Meanings | None:
    """Return what compares words by an embedder of this machine; None for `none`.

    Raises:
        EmbedderError: There is no such kind, or it is not installed; says what to do.
    """
    if kind not in LOCAL_KINDS:
        raise EmbedderError(f"{kind!r}; one of {', '.join(LOCAL_KINDS)}")
    embedder = load_embedder(EmbedderOptions.model_validate({"kind": kind}))
    return Meanings(embedder) if embedder is not None else None


def _probability(embedder: str, likeness: float, gap: float) -> float:
    """Logistic in likeness and its lead; 0 for an embedder that nothing was measured of."""
    marks = fitted().get(embedder)
    if marks is None:
        return 0.0
    z = marks["base"] + marks["likeness"] * likeness + marks["lead"] * gap
    return 1.0 / (1.0 + math.exp(-z))


NEAREST_LABELS = 8
"""Labels nearest to a text that come before the others where a map has to be cut."""
_LOG = logging.getLogger(__name__)


async def likeness_by_label(
    meanings: Meanings | None, text: str, labels: Iterable[str], scene: SceneGraph | None = None
) -> Mapping[str, float]:
    """Return label -> cosine with a text; nothing without an embedder, or if it does not answer.

    Args:
        meanings: Compares texts by meaning; None: there is no embedder.
        text: Text that the prompt is about.
        labels: The labels; empty ones are passed over.
        scene: A map; embeddings that it keeps are used.
    """
    known = sorted({label for label in labels if label})
    if meanings is None or not known or not text.strip():
        return {}
    try:
        return await asyncio.to_thread(meanings.ranked, text, known, scene)
    except EmbedderError as error:
        _LOG.warning("what a prompt shows is chosen by words alone: %s", error)
        return {}


def label_relevance(words: str, likeness: Mapping[str, float]) -> Callable[[str], int]:
    """Return what tells how much a label has to do with words.

    2: the words name such a thing, or share a word with it; 1: it is among the labels nearest in
    meaning; 0: neither.

    Args:
        words: A label, a request, a goal.
        likeness: Label -> cosine with the words; empty: not compared.
    """
    kinds = {kind for kind in (kind_of(words), *map(kind_of, normalized(words).split())) if kind}
    near = nearest_labels(likeness)

    def relevance(label: str) -> int:
        named = kind_of(label) in kinds or not kinds.isdisjoint(normalized(label).split())
        return 2 if named else int(label in near)

    return relevance


def nearest_labels(likeness: Mapping[str, float], most: int = NEAREST_LABELS) -> frozenset[str]:
    """Return the labels that are nearest to the text."""
    ranked = sorted(likeness, key=lambda label: (-likeness[label], label))
    return frozenset(ranked[:most])
