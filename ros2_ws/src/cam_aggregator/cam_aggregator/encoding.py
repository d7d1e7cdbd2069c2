"""Inputs of the paper's central answer model: [object code, room code, s_1, ..., s_K]."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from coterie_core.answer_table import AnswerTable, FloatArray

MISSING = -1.0
"""Input value of an answer that was not given, in training."""


@dataclass(frozen=True, slots=True)
class Codes:
    """Label -> number, counted from 0 in alphabetical order (MELE, Table 5)."""

    labels: tuple[str, ...]

    @staticmethod
    def of(labels: Iterable[str]) -> Codes:
        """Return the codes of these labels."""
        return Codes(tuple(sorted(set(labels))))

    def code(self, label: str) -> float:
        """Return the code of a label.

        A label that was never heard of gets the place where it would stand in the alphabet, half a
        step before its successor: it belongs to no known label, and trees treat it as a neighbour.
        """
        place = bisect.bisect_left(self.labels, label)
        known = place < len(self.labels) and self.labels[place] == label
        return float(place) if known else place - 0.5


def paper_inputs(table: AnswerTable, objects: Codes, rooms: Codes) -> FloatArray:
    """Return the inputs of CAM (N, 2 + K) (MELE, section 3.4.2): codes, then answers 0/1."""
    columns = [
        np.array([objects.code(label) for label in table.objects], dtype=float),
        np.array([rooms.code(label) for label in table.rooms], dtype=float),
    ]
    answers = np.where(table.present, table.answers.astype(float), MISSING)
    return (
        np.column_stack([*columns, answers]) if len(table) else np.zeros((0, 2 + answers.shape[1]))
    )


def input_names(agents: Iterable[str]) -> list[str]:
    """Return the names of the columns of `paper_inputs`."""
    return ["object", "room", *agents]
