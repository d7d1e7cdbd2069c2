"""Embeddings to messages and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from coterie_core.embedding import MAX_DIMENSION, MAX_EMBEDDINGS, Embedding, Source
from coterie_msgs.msg import Embedding as EmbeddingMsg
from coterie_ros.conversions.checks import Checks

_SOURCES: dict[int, Source] = {EmbeddingMsg.IMAGE: "image", EmbeddingMsg.LABEL: "label"}
_SOURCE_NUMBERS = {source: number for number, source in _SOURCES.items()}


def embeddings_to_msgs(embeddings: Iterable[Embedding]) -> list[EmbeddingMsg]:
    """Return embeddings as messages."""
    return [
        EmbeddingMsg(source=_SOURCE_NUMBERS[one.source], model=one.model, values=one.vector)
        for one in embeddings
    ]


def embeddings_from_msgs(messages: Sequence[EmbeddingMsg], checks: Checks) -> tuple[Embedding, ...]:
    """Return embeddings.

    Raises:
        ConversionError: Too many, a model or source twice, an unknown source, numbers without
            direction.
    """
    found: dict[tuple[str, Source], Embedding] = {}
    for k, message in enumerate(checks.items("embeddings", messages, MAX_EMBEDDINGS)):
        part = checks.at(f"embeddings[{k}]")
        model = part.text("model", message.model, empty=False)
        source = part.choice("source", message.source, _SOURCES)
        values = np.asarray(part.items("values", message.values, MAX_DIMENSION), np.float32)
        try:
            one = Embedding.of(model, values, source)
        except ValueError as error:
            raise part.fail("values", str(error), f"{len(values)} numbers of {model!r}") from None
        if one.key in found:
            raise part.fail("model", "each model once for a source", model)
        found[one.key] = one
    return tuple(found.values())
