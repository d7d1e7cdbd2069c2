"""Nearness of words by meaning, for words that no table lists. See docs/objects.md."""

from coterie_core.meaning.embedders import (
    EmbedderError,
    EmbedderOptions,
    OpenAIEmbedder,
    TextEmbedder,
    load_embedder,
)
from coterie_core.meaning.nearness import Meanings, Near

__all__ = [
    "EmbedderError",
    "EmbedderOptions",
    "load_embedder",
    "Meanings",
    "Near",
    "OpenAIEmbedder",
    "TextEmbedder",
]
