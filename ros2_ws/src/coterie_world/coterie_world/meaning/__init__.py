"""Nearness of words by meaning, for words that no table lists. See docs/objects.md."""

from coterie_world.meaning.embedders import (
    EmbedderError,
    EmbedderOptions,
    OpenAIEmbedder,
    load_embedder,
)
from coterie_world.meaning.nearness import Meanings, Near, local_meanings
from coterie_world.meaning.relevance import label_relevance, likeness_by_label, nearest_labels

__all__ = [
    "EmbedderError",
    "EmbedderOptions",
    "label_relevance",
    "likeness_by_label",
    "load_embedder",
    "local_meanings",
    "Meanings",
    "Near",
    "nearest_labels",
    "OpenAIEmbedder",
]
