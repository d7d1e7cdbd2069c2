"""Objects of a map by how they look: words or a picture against the embeddings in the map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from coterie_core.scene import SceneGraph

MAX_PIXELS = 50_000_000


class EmbeddingError(ValueError):
    """A query by embedding cannot be answered: says why and what to do."""


Vector = Sequence[float] | npt.NDArray[np.floating[Any]]


class Embedder(Protocol):
    """A network that puts words and pictures into the space of the detector's embeddings."""

    def embed_text(self, words: str) -> Vector:
        """Return the embedding of a text."""
        ...

    def embed_image(self, image: npt.NDArray[np.uint8]) -> Vector:
        """Return the embedding of a picture (rows, cols, 3) RGB."""
        ...


def most_alike(scene: SceneGraph, query: Vector) -> list[tuple[str, float]]:
    """Return (id, cosine -1..1) of the objects that have an embedding, the most alike first.

    Args:
        scene: The map.
        query: The embedding that is looked for.

    Raises:
        EmbeddingError: No object has one, or none of the query's length: another network.
    """
    vector = np.asarray(query, np.float64).reshape(-1)
    norm = float(np.linalg.norm(vector))
    if not np.isfinite(vector).all() or norm <= 0.0:
        raise EmbeddingError("the embedder gave no finite vector with a direction")
    having = {id_: thing.embedding for id_, thing in scene.objects.items() if thing.embedding}
    if not having:
        raise EmbeddingError(
            "no object of the map has an embedding; map with a detector that gives them "
            "(ImageDetection.embedding)"
        )
    fitting = {id_: np.array(e) for id_, e in having.items() if len(e) == len(vector)}
    if not fitting:
        lengths = sorted({len(embedding) for embedding in having.values()})
        raise EmbeddingError(
            f"the embedder gives {len(vector)} numbers, and the map's embeddings have {lengths}; "
            "use the network that the detector used"
        )
    found = [
        (id_, float(vector @ e / (norm * max(float(np.linalg.norm(e)), 1e-9))))
        for id_, e in fitting.items()
    ]
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
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise EmbeddingError(f"{path}: no picture that can be read ({error})") from None
