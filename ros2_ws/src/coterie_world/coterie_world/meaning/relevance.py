"""Relevance of a map's labels to a task in words, for prompts that have to be cut."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from coterie_core.household import normalized
from coterie_world.meaning.embedders import EmbedderError
from coterie_world.meaning.nearness import Meanings
from coterie_world.scene.graph import SceneGraph
from coterie_world.sightings import kind_of

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
