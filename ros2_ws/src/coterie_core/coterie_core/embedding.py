"""Embeddings of objects: directions in the space of one network, small, and never mixed."""

from __future__ import annotations

import base64
import binascii
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

Source = Literal["image", "label"]
"""Input of the network: pictures of the object, or the words of its labels."""

MAX_DIMENSION = 8192
MAX_MODEL_CHARS = 200
MAX_EMBEDDINGS = 4
"""Most embeddings of one object; no two of them are of one model and source."""
UNNAMED = "unnamed"
"""Model of embeddings whose detector does not tell its network."""

Vector = npt.NDArray[np.float32]
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Embedding:
    """A direction in the space of a network: `dimension` half-precision numbers, length 1.

    Attributes:
        model: Name of the network.
        source: Input of the network.
        dimension: Number of components.
        data: The numbers as little-endian float16 in base64, as files hold them.
    """

    model: str
    source: Source
    dimension: int
    data: str

    @staticmethod
    def of(
        model: str, values: Sequence[float] | npt.NDArray[Any], source: Source = "image"
    ) -> Embedding:
        """Return the embedding of a vector, whatever its length.

        Raises:
            ValueError: No name, or no finite numbers with a direction, or too many.
        """
        vector = np.asarray(values, np.float64).reshape(-1)
        if not 0 < len(model) <= MAX_MODEL_CHARS:
            raise ValueError(f"model: expected 1 to {MAX_MODEL_CHARS} characters, got {len(model)}")
        if not 0 < len(vector) <= MAX_DIMENSION:
            raise ValueError(f"expected 1 to {MAX_DIMENSION} numbers, got {len(vector)}")
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or not 1e-9 <= length <= 1e9:
            raise ValueError(f"expected finite numbers, not all of them 0; length {length:g}")
        if abs(length - 1.0) > 1e-3:  # what was rounded already stays as it is
            vector = vector / length
        halves = vector.astype("<f2")
        return Embedding(model, source, len(vector), base64.b64encode(halves.tobytes()).decode())

    @property
    def key(self) -> tuple[str, Source]:
        """Model and source: only embeddings of one key are compared."""
        return self.model, self.source

    @property
    def vector(self) -> Vector:
        """The numbers (d,), length 1; not to be written to."""
        return _vector(self.data)

    def problem(self) -> str:
        """Return what is wrong with it, as data from elsewhere may be; empty: nothing."""
        if not 0 < len(self.model) <= MAX_MODEL_CHARS:
            return f"model: expected 1 to {MAX_MODEL_CHARS} characters"
        if not 0 < self.dimension <= MAX_DIMENSION:
            return f"dimension: expected 1 to {MAX_DIMENSION}, got {self.dimension}"
        try:
            vector = self.vector
        except (ValueError, binascii.Error):
            return "data: expected float16 numbers in base64"
        if len(vector) != self.dimension:
            return f"data: expected {self.dimension} numbers, got {len(vector)}"
        if not 0.5 <= float(np.linalg.norm(vector)) <= 2.0:
            return "data: expected finite numbers of length 1"
        return ""


def cosine(a: Embedding, b: Embedding) -> float:
    """Return how alike two embeddings are (-1..1).

    Raises:
        ValueError: They are of two networks, or of two sizes.
    """
    if a.key != b.key or a.dimension != b.dimension:
        raise ValueError(
            f"embeddings of {a.model} ({a.source}, {a.dimension} numbers) and {b.model} "
            f"({b.source}, {b.dimension}) cannot be compared"
        )
    return float(a.vector @ b.vector)


def in_common(a: Iterable[Embedding], b: Iterable[Embedding]) -> list[tuple[Embedding, Embedding]]:
    """Return the pairs of embeddings of one model, source and dimension."""
    others = {one.key: one for one in b}
    return [
        (one, other)
        for one in a
        if (other := others.get(one.key)) is not None and other.dimension == one.dimension
    ]


def averaged(
    a: Sequence[Embedding], weight_a: float, b: Sequence[Embedding], weight_b: float
) -> tuple[Embedding, ...]:
    """Return the mean of two objects' embeddings, each model by itself; weights above 0.

    Of one model in two dimensions the one of more weight stays. What only one has stays as it is;
    there are at most MAX_EMBEDDINGS, the first object's first.
    """
    kept = {one.key: one for one in a}
    for one in b:
        mine = kept.get(one.key)
        if mine is None:
            if len(kept) < MAX_EMBEDDINGS:
                kept[one.key] = one
        elif mine.dimension != one.dimension:
            kept[one.key] = mine if weight_a >= weight_b else one
        elif mine.data != one.data:
            mean = weight_a * mine.vector + weight_b * one.vector
            if float(np.linalg.norm(mean)) > 1e-6:  # two opposite ones have no mean
                kept[one.key] = Embedding.of(one.model, mean, one.source)
    return tuple(kept.values())


class Embedded(Protocol):
    """What has embeddings, such as an object of a map."""

    embeddings: tuple[Embedding, ...]


def keep_one_dimension(things: Iterable[Embedded]) -> None:
    """Leave of each model's embeddings those of one dimension: that of most things, then the least.

    One name for two networks is a detector's or a person's mistake. Their embeddings can never be
    compared, and no map may hold both; it is said once in the log which are left out.
    """
    every = list(things)
    counts = Counter((one.key, one.dimension) for thing in every for one in thing.embeddings)
    if len(counts) == len({key for key, _ in counts}):
        return
    kept: dict[tuple[str, Source], int] = {}
    for (key, dimension), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0][1])):
        if kept.setdefault(key, dimension) != dimension:
            _warn_of_two(*key, kept[key], dimension)
    for thing in every:
        thing.embeddings = tuple(o for o in thing.embeddings if o.dimension == kept[o.key])


@lru_cache(maxsize=256)
def _warn_of_two(model: str, source: Source, kept: int, dimension: int) -> None:
    _LOG.warning(
        "embeddings of %r (%s) have %d and %d numbers, so they are of two networks: those of %d "
        "are left out; give each network a name of its own",
        model, source, kept, dimension, dimension,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _vector(data: str) -> Vector:
    raw = base64.b64decode(data, validate=True)
    if len(raw) % 2:
        raise ValueError("an odd number of bytes")
    vector = np.frombuffer(raw, "<f2").astype(np.float32)
    vector.setflags(write=False)
    return vector
