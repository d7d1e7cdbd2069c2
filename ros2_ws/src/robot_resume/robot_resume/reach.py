"""What an arm truly reaches: sampled, freed of self-collision, and grown until no hole is left."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.kinematics.chain import Chain
from coterie_core.kinematics.collision import SelfCollision
from coterie_core.kinematics.inverse import Target, solve
from coterie_core.kinematics.sampling import postures
from coterie_core.workspace import Workspace

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Key = tuple[int, int]

CELL = 0.02
_PER_CELL = 24
_ROUNDS = 12
_MOST_GROWN = 32
_SPREAD = 1
_NEAR = 2
_SHAKES = 4
_SHAKE = 0.4
_BEARINGS = 180
_DIRECTIONS = 240
_FLOOR_SLACK = 0.005


@dataclass(frozen=True)
class Reach:
    """A workspace and how it was found.

    Attributes:
        workspace: The result.
        grown: Cells that samples had missed and inverse kinematics reached.
        barred: Cells that are reached only by postures in which the robot hits itself or the floor.
    """

    workspace: Workspace
    grown: int
    barred: int


class Prober:
    """Decides which postures are allowed.

    Args:
        chain: The arm.
        collision: Its check against the rest of the robot.
        floor: Whether the hand and the joints must stay above z = 0.
    """

    def __init__(self, chain: Chain, collision: SelfCollision, floor: bool) -> None:
        self.chain = chain
        self.collision = collision
        self.floor = floor

    def allowed(self, positions: Array) -> Mask:
        """Return whether each posture (n, joints) is free (n,)."""
        if not len(positions):
            return np.zeros(0, dtype=bool)
        free = np.ones(len(positions), dtype=bool)
        if self.floor:
            low = self.chain.lowest_joint(positions)
            free = low >= min(-_FLOOR_SLACK, self._lowest_mount())
            free &= self.chain.points(positions)[:, 2] >= 0.0
        free[free] = ~self.collision.hits(positions[free])
        return free

    def _lowest_mount(self) -> float:
        return float(self.chain.steps[0].before[2, 3]) - _FLOOR_SLACK if self.chain.steps else 0.0


def workspace_of(
    prober: Prober, *, samples: int, seed: int, turns: bool, cell: float = CELL
) -> Reach | None:
    """Return what an arm reaches; None where no posture is allowed.

    Args:
        prober: The arm and its limits.
        samples: Postures to draw.
        seed: Same seed, same result.
        turns: Whether the robot can turn on the spot; else bearings are kept.
        cell: Edge of a cell [m].
    """
    chain = prober.chain
    positions = postures(chain.lower, chain.upper, samples, seed)
    points = chain.points(positions)
    above = points[:, 2] >= 0.0 if prober.floor else np.ones(len(points), dtype=bool)
    positions, points = positions[above], points[above]
    if not len(points):
        return None
    cells = _Cells(cell, seed)
    sampled = cells.settle(prober, positions, points)
    if not cells.taken:
        return None
    grown = cells.grow(prober)
    hull = _hull(prober, positions, points)
    bearings = ((-math.pi, math.pi),) if turns else _bearings(prober, positions, points)
    keys = np.array(sorted(cells.taken))
    centres = (keys + 0.5) * cell
    flat = np.column_stack([centres[:, 0], np.zeros(len(keys)), centres[:, 1]])
    space = Workspace.from_samples(flat, cell=cell, bearings=bearings, hull=hull)
    return Reach(
        space.model_copy(update={"samples": len(above)}), grown, len(sampled - cells.taken.keys())
    )


class _Cells:
    """Cells (radius, height) with one allowed posture each."""

    def __init__(self, cell: float, seed: int) -> None:
        self.cell = cell
        self._random = np.random.default_rng(seed)
        self.taken: dict[Key, Array] = {}
        self._positions: Array = np.empty((0, 0))
        self._order: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._ranges: dict[Key, tuple[int, int]] = {}

    def keys(self, points: Array) -> npt.NDArray[np.int64]:
        """Return the cells (n, 2) of points (n, 3)."""
        radius = np.hypot(points[:, 0], points[:, 1])
        return np.floor(np.column_stack([radius, points[:, 2]]) / self.cell).astype(np.int64)

    def add(self, positions: Array, points: Array) -> int:
        """Keep allowed postures; return how many cells are new."""
        before = len(self.taken)
        for (r, z), posture in zip(self.keys(points).tolist(), positions, strict=True):
            self.taken.setdefault((r, z), posture)
        return len(self.taken) - before

    def settle(self, prober: Prober, positions: Array, points: Array) -> set[Key]:
        """Find an allowed posture per sampled cell; return the sampled cells.

        A cell needs one allowed posture, so postures are checked cell by cell in the order of
        sampling until one is found or 24 failed, which is far fewer checks than samples.
        """
        keys = self.keys(points)
        self._positions = positions
        flat = (keys[:, 1] - keys[:, 1].min()) * (keys[:, 0].max() + 1) + keys[:, 0]
        order = np.argsort(flat, kind="stable")
        _, first, count = np.unique(flat[order], return_index=True, return_counts=True)
        cells: list[Key] = [(r, z) for r, z in keys[order[first]].tolist()]
        self._order = order
        self._ranges = dict(
            zip(cells, zip(first.tolist(), count.tolist(), strict=True), strict=True)
        )
        open_ = np.ones(len(first), dtype=bool)
        for rank in range(_PER_CELL):
            todo = np.flatnonzero(open_ & (count > rank))
            if not len(todo):
                break
            chosen = order[first[todo] + rank]
            free = prober.allowed(positions[chosen])
            open_[todo[free]] = False
            self.add(positions[chosen[free]], points[chosen[free]])
        return set(cells)

    def grow(self, prober: Prober) -> int:
        """Try empty cells at the border and in holes by inverse kinematics until none yields.

        First from the postures of the cells beside; then, where collisions may be in the way,
        from many postures of the surroundings, sampled ones and allowed ones shaken.
        """
        start = len(self.taken)
        for many in (False, True):
            tried: set[Key] = set()
            if prober.chain.size > _MOST_GROWN:
                break  # each step costs by the joints; samples alone must do
            for _ in range(2 if many else _ROUNDS):
                wanted = [key for key in self._border(prober.floor) if key not in tried]
                if not wanted:
                    break
                tried.update(wanted)
                if not self._try(prober, wanted, many):
                    break
        return len(self.taken) - start

    def _border(self, floor: bool) -> list[Key]:
        from scipy.ndimage import binary_dilation

        cells = np.array(sorted(self.taken))
        low = cells.min(axis=0) - 2
        grid = np.zeros(cells.max(axis=0) - low + 3, dtype=bool)
        grid[tuple((cells - low).T)] = True
        border = np.argwhere(binary_dilation(grid, np.ones((3, 3))) & ~grid) + low
        return [(r, z) for r, z in border.tolist() if r >= 0 and not (floor and z < 0)]

    def _try(self, prober: Prober, wanted: list[Key], many: bool) -> int:
        starts, targets = [], []
        for r, z in wanted:
            beside = [(r + dr, z + dz) for dr in (-1, 0, 1) for dz in (-1, 0, 1)]
            if many:
                found = [row for key in beside for row in self._sampled(key)]
                for key in [key for key in beside if key in self.taken][:_NEAR]:
                    shaken = self._random.normal(0.0, _SHAKE, (_SHAKES, prober.chain.size))
                    found += list(np.clip(self.taken[key] + shaken, *prober.chain.limits))
                starts += found
                targets += [(r + 0.5, z + 0.5)] * len(found)
                continue
            for key in [key for key in beside if key in self.taken][:3]:
                starts.append(self.taken[key])
                # Towards the side that it comes from, where a cell half out of reach is reached.
                targets.append((r + 0.5 + 0.45 * (key[0] - r), z + 0.5 + 0.45 * (key[1] - z)))
        if not starts:
            return 0
        target = Target(np.array(targets) * self.cell, ring=True)
        solved = solve(prober.chain, target, np.array(starts), steps=15).positions
        points = prober.chain.points(solved)
        new = np.array([tuple(key) not in self.taken for key in self.keys(points).tolist()])
        if prober.floor:
            new &= points[:, 2] >= 0.0
        free = np.flatnonzero(new)
        free = free[prober.allowed(solved[free])]
        return self.add(solved[free], points[free])

    def _sampled(self, key: Key) -> Array:
        """Return a few sampled postures (n, joints) of a cell, allowed or not."""
        first, count = self._ranges.get(key, (0, 0))
        chosen = self._order[first : first + count][:: max(count // _SPREAD, 1)][:_SPREAD]
        return self._positions[chosen]


def _hull(
    prober: Prober, positions: Array, points: Array
) -> tuple[tuple[float, float, float], ...]:
    """Return the corners of the hull of allowed samples."""
    from scipy.spatial import ConvexHull, QhullError

    alive = np.ones(len(points), dtype=bool)
    corners = np.empty(0, dtype=np.int64)
    known: dict[int, bool] = {}
    for _ in range(6):
        index = np.flatnonzero(alive)
        try:
            corners = index[ConvexHull(points[index]).vertices]
        except (QhullError, ValueError):
            return ()
        fresh = np.array([i for i in corners.tolist() if i not in known], dtype=np.int64)
        for i, free in zip(fresh.tolist(), prober.allowed(positions[fresh]), strict=True):
            known[i] = bool(free)
        bad = [i for i in corners.tolist() if not known[i]]
        if not bad:
            break
        alive[bad] = False
    corners = np.array([i for i in corners.tolist() if known[i]], dtype=np.int64)
    if len(corners) < 4:
        return ()
    chosen = np.unique(corners[np.argmax(points[corners] @ _sphere(_DIRECTIONS).T, axis=0)])
    rounded = np.unique(points[chosen].round(3), axis=0)
    return tuple((float(x), float(y), float(z)) for x, y, z in rounded)


def _sphere(count: int) -> Array:
    """Return directions (count, 3) spread evenly over the sphere (golden spiral)."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    angle = k * math.pi * (3.0 - math.sqrt(5.0))
    flat = np.sqrt(1.0 - z * z)
    return np.column_stack([flat * np.cos(angle), flat * np.sin(angle), z])


def _bearings(prober: Prober, positions: Array, points: Array) -> tuple[tuple[float, float], ...]:
    """Return the directions about the base axis that allowed samples cover, as intervals [rad]."""
    radius = np.hypot(points[:, 0], points[:, 1])
    # Beside its own axis an arm points everywhere; that says nothing of where it reaches.
    far = np.flatnonzero(radius > 0.25 * radius.max())
    if radius.max() < 0.05:
        return ((-math.pi, math.pi),)
    step = 2.0 * math.pi / _BEARINGS
    angle = np.arctan2(points[far, 1], points[far, 0])
    index = np.floor((angle + math.pi) / step).astype(np.int64) % _BEARINGS
    order = np.argsort(index, kind="stable")
    bins, first, count = np.unique(index[order], return_index=True, return_counts=True)
    covered = np.zeros(_BEARINGS, dtype=bool)
    for rank in range(_PER_CELL):
        todo = np.flatnonzero((count > rank) & ~covered[bins])
        if not len(todo):
            break
        free = prober.allowed(positions[far[order[first[todo] + rank]]])
        covered[bins[todo[free]]] = True
    covered |= np.roll(covered, 1) & np.roll(covered, -1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], covered.astype(np.int8), [0]])))
    return tuple(
        (max(-math.pi, -math.pi + a * step), min(math.pi, -math.pi + b * step))
        for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    )
