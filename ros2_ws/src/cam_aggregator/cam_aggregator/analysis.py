"""Tables of answers with one input shuffled, which shows what an aggregator makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from coterie_core.answers import AnswerTable, IntArray

_PER_ROBOT = (
    "present",
    "answers",
    "confidence",
    "evidence",
    "looks",
    "visited_fraction",
    "elsewhere",
    "prior",
    "sightings",
)


def shuffled_input(table: AnswerTable, name: str, order: Sequence[int] | IntArray) -> AnswerTable:
    """Return the table with one input ("object", "room" or a robot) taken from other questions."""
    rows = np.asarray(order, dtype=np.int64)
    if name == "object":
        return replace(table, objects=tuple(table.objects[i] for i in rows))
    if name == "room":
        return replace(table, rooms=tuple(table.rooms[i] for i in rows))
    k = table.column(name)
    columns = {}
    for column in _PER_ROBOT:
        values = getattr(table, column).copy()
        values[:, k] = values[rows, k]
        columns[column] = values
    return replace(table, **columns)
