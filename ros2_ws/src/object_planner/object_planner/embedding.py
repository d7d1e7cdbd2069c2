"""Objects of a map by how they look: words or a picture against the embeddings in the map."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from coterie_core.embedding import Embedding, cosine
from coterie_llm.embedders import EmbedderError, EmbedderOptions, OpenAIEmbedder
from coterie_world.scene import SceneGraph

MAX_PIXELS = 50_000_000


class EmbeddingError(ValueError):
    """A query by embedding cannot be answered: says why and what to do."""


Vector = Sequence[float] | npt.NDArray[np.floating[Any]]


class Embedder(Protocol):
    """A network that puts words and pictures into the space of the detector's embeddings.

    An attribute `model` names the network, as the detector does; without it the map's embeddings
    have to be of one network.
    """

    def embed_text(self, words: str) -> Vector:
        """Return the embedding of a text."""
        ...

    def embed_image(self, image: npt.NDArray[np.uint8]) -> Vector:
        """Return the embedding of a picture (rows, cols, 3) RGB."""
        ...


class EndpointEmbedder:
    """Words by an OpenAI-compatible endpoint that serves the text half of the detector's network.

    Args:
        base_url: URL of the endpoint, often ending in /v1.
        model: Name of the network there, and in the map.

    Raises:
        EmbeddingError: The endpoint cannot be used.
    """

    def __init__(self, base_url: str, model: str) -> None:
        self.model = model
        try:
            options = EmbedderOptions(kind="openai", base_url=base_url, model=model)
            self._embedder = OpenAIEmbedder(options, os.environ)
        except ValueError as error:
            raise EmbeddingError(f"{base_url}: {error}") from None

    def embed_text(self, words: str) -> Vector:
        """Return the embedding of a text."""
        try:
            row: Vector = self._embedder.embed([words])[0]
        except EmbedderError as error:
            raise EmbeddingError(str(error)) from None
        return row

    def embed_image(self, image: npt.NDArray[np.uint8]) -> Vector:
        """Refuse pictures: the protocol has words only.

        Raises:
            EmbeddingError: Always.
        """
        raise EmbeddingError(
            "an endpoint embeds words only; for a picture give --embedder MODULE:FUNCTION"
        )


def most_alike(scene: SceneGraph, query: Vector, model: str = "") -> list[tuple[str, float]]:
    """Return (id, cosine -1..1) of the objects whose looks are known, the most alike first.

    Args:
        scene: The map.
        query: The embedding that is looked for.
        model: Name of the query's network; empty: the one network of the map's embeddings.

    Raises:
        EmbeddingError: No object has an embedding of the query's network.
    """
    looks = [
        (id_, one)
        for id_, thing in scene.objects.items()
        for one in thing.embeddings
        if one.source == "image"
    ]
    if not looks:
        raise EmbeddingError(
            "no object of the map has an embedding of its looks; map with a detector that gives "
            "them (ImageDetection.embedding)"
        )
    models = sorted({one.model for _, one in looks})
    if (not model and len(models) > 1) or (model and model not in models):
        raise EmbeddingError(
            f"the embedder's network is {model or 'not named'}, and the map's embeddings are of "
            f"{', '.join(models)}; use the network that the detector used, with its name as the "
            "embedder's `model`"
        )
    try:
        sought = Embedding.of(model or models[0], query)
    except ValueError as error:
        raise EmbeddingError(
            f"the embedder gave no finite vector with a direction ({error})"
        ) from None
    fitting = [(id_, one) for id_, one in looks if one.model == sought.model]
    sizes = sorted({one.dimension for _, one in fitting})
    if sizes != [sought.dimension]:
        raise EmbeddingError(
            f"the embedder gives {sought.dimension} numbers, and the map's embeddings have "
            f"{', '.join(map(str, sizes))}; use the network that the detector used"
        )
    found = [(id_, cosine(sought, one)) for id_, one in fitting]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def read_picture(path: Path) -> npt.NDArray[np.uint8]:
    """Return a picture (rows, cols, 3) RGB.

    Raises:
        EmbeddingError: It cannot be read.
    """
    try:
        with Image.open(path) as image:
            if image.width * image.height > MAX_PIXELS:
                raise EmbeddingError(f"{path}: over {MAX_PIXELS} pixels")
            return np.asarray(image.convert("RGB"))
    except (OSError, SyntaxError, ValueError, MemoryError, Image.DecompressionBombError) as error:
        raise EmbeddingError(f"{path}: no picture that can be read ({error})") from None
