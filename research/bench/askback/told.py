"""What was said of houses: how surely, whether it was right, of which house."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coterie_core.answer_table import BoolArray, FloatArray
from coterie_core.conformal import threshold


@dataclass(frozen=True, slots=True)
class Told:
    """What was said of houses (N,): how surely, whether it was right, of which house.

    What is withheld anyway has a confidence of 0 and is no error.
    """

    confidence: FloatArray
    right: BoolArray
    houses: tuple[str, ...]

    @staticmethod
    def joined(parts: Sequence[Told]) -> Told:
        """Return all of it in one."""
        return Told(
            np.concatenate([part.confidence for part in parts]),
            np.concatenate([part.right for part in parts]),
            tuple(house for part in parts for house in part.houses),
        )

    def threshold(self, level: float) -> float:
        """Return the conformal threshold for a level."""
        return threshold(self.confidence, self.right, self.houses, level)
