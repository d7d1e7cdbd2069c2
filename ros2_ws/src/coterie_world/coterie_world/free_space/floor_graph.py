"""Shortest ways over the free cells of one floor: a sparse graph and its shortest-path trees."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import dijkstra

Cell = tuple[int, int]
Mask = npt.NDArray[np.bool_]

_COMFORT_CLEARANCE_M = 0.15  # [m] of clearance beyond the radius that ways prefer


@dataclass(slots=True)
class Tree:
    """All shortest ways on a floor to one cell: cost per free cell, next cell on the way."""

    cost: npt.NDArray[np.float32]
    next: npt.NDArray[np.int32]


class FloorGraph:
    """The free cells of one floor as a sparse graph, eight neighbours each.

    Args:
        free: Cells that a body can stand at (rows, cols).
        clearance: Distance of each cell to the nearest obstacle [m].
        radius: The body's radius [m]; cells with little more clearance cost up to half more.
        cell: Edge of a cell [m].
    """

    def __init__(
        self, free: Mask, clearance: npt.NDArray[np.float32], radius: float, cell: float
    ) -> None:
        self.index = np.full(free.shape, -1, dtype=np.int32)
        self.cells = np.argwhere(free).astype(np.int32)
        self.index[free] = np.arange(len(self.cells), dtype=np.int32)
        tight = np.clip(1.0 - (clearance - radius) / _COMFORT_CLEARANCE_M, 0.0, 1.0)
        rows, cols, weights = [], [], []
        height, width = free.shape
        for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
            a = np.s_[: height - dr, max(0, -dc) : width - max(0, dc)]
            b = np.s_[dr:, max(0, dc) : width + min(0, dc)]
            both = free[a] & free[b]
            rows.append(self.index[a][both])
            cols.append(self.index[b][both])
            weights.append(cell * math.hypot(dr, dc) * (1.0 + 0.25 * (tight[a] + tight[b])[both]))
        r, c, w = np.concatenate(rows), np.concatenate(cols), np.concatenate(weights)
        size = len(self.cells)
        one_way = coo_matrix((w, (r, c)), shape=(size, size))
        self.matrix: csr_matrix = (one_way + one_way.T).tocsr()

    def tree(self, cell: Cell, limit: float = np.inf, free: Mask | None = None) -> Tree:
        """Return the shortest ways of all cells to `cell`, not farther than `limit` [m].

        Args:
            cell: Cell that the ways lead to.
            limit: Longest way that matters.
            free: Cells that may be used (None: all that are free for the body).
        """
        matrix = self.matrix
        if free is not None:
            closed = ~free[self.cells[:, 0], self.cells[:, 1]]
            matrix = csr_matrix(
                (
                    np.where(closed[matrix.indices], np.inf, matrix.data),
                    matrix.indices,
                    matrix.indptr,
                ),
                shape=matrix.shape,
            )
        cost, before = dijkstra(
            matrix, indices=int(self.index[cell]), return_predecessors=True, limit=limit
        )
        return Tree(cost.astype(np.float32), before.astype(np.int32))
