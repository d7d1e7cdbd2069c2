"""Points of a mapped object with evidence for each: masks leak, and what leaked in goes again.

Every look at an object is evidence for each of its points in view: the depth image confirms that
a surface is there, and the mask says whether it belongs to the object. A point that lies outside
of the masks more often than within is background, a flying pixel or another object's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from coterie_core.detections import RgbdFrame
from coterie_core.open3d_library import o3d
from coterie_world.perception.backprojection import Lifted

Points = npt.NDArray[np.float32]
Counts = npt.NDArray[np.float32]

CONFIRMED = 2.0
"""Looks that a point needs once its object has several: one look's strays are never confirmed."""
SETTLED = 5
"""Looks at an object from which single looks no longer count."""
RIM = (0.02, 0.03)
"""Points of a single look count so far beyond those that several confirm: [m], and of the size."""
MEMBER = 0.5
"""Least fraction of the looks at a point that put it within the object."""
BESIDE = 3.0
"""Looks as which one counts that has a point beside the object's box, without a drawn mask."""
KEPT_SHARE = 0.2
"""Points below this after `FORGOTTEN` looks at them are forgotten."""
FORGOTTEN = 8.0
LEAST = 4
"""Fewest points that make an object."""
DEPTH_SLACK = (0.03, 0.01)
"""Noise of depth that still confirms a surface: [m], and per squared metre of distance [1/m]."""


@dataclass(slots=True)
class EvidenceCloud:
    """Points (n, 3) [m], one per voxel, and how many looks put each inside and outside.

    Attributes:
        points: All candidates, members or not.
        inside: Looks that saw the point within the object's mask, (n,).
        outside: Looks that saw it beside the mask, or saw through it, (n,).
    """

    points: Points
    inside: Counts = field(default_factory=lambda: np.empty(0, np.float32))
    outside: Counts = field(default_factory=lambda: np.empty(0, np.float32))

    def __post_init__(self) -> None:
        """New points have been seen once."""
        if len(self.inside) != len(self.points):
            self.inside = np.ones(len(self.points), np.float32)
            self.outside = np.zeros(len(self.points), np.float32)

    @property
    def share(self) -> Counts:
        """Fraction of its looks that put each point within the object, (n,)."""
        share: Counts = self.inside / np.maximum(self.inside + self.outside, 1e-6)
        return share

    def members(self, looks: int) -> Points:
        """Points that belong to the object, which was looked at `looks` times.

        Where the evidence would leave next to nothing, the better half is kept: an object that is
        reported has a place.
        """
        share = self.share
        kept = share >= MEMBER
        if looks >= SETTLED:
            sure = kept & (self.inside >= CONFIRMED)
            if sure.any():  # single looks at the rim are as good; far from what is sure are strays
                core = self.points[sure]
                low, high = core.min(axis=0), core.max(axis=0)
                rim = RIM[0] + RIM[1] * (high - low)
                low, high = low - rim, high + rim
                kept &= sure | ((self.points >= low) & (self.points <= high)).all(axis=1)
        if int(kept.sum()) < min(max(LEAST, len(self.points) // 20), len(self.points)):
            kept = share >= np.median(share)
        return self.points[kept]

    def agreed(self, often: float, share: float) -> Points:
        """Points that more looks put within the object than its members need.

        Args:
            often: Least looks that did, as a share (0..1) of those at the points most looked at.
            share: Least fraction (0..1) of the looks at a point.
        """
        member = self.share >= MEMBER
        most = float(np.percentile(self.inside[member], 90)) if member.any() else 0.0
        return self.points[(self.share >= share) & (self.inside >= often * most)]

    def look(
        self,
        frame: RgbdFrame,
        to_camera: npt.NDArray[np.float64],
        found: Lifted,
    ) -> None:
        """Count a look at the object: which points are within its mask, and which are not.

        What is in a box may be another thing's, what is beside it is not this one's: where depth
        gave the mask, points beside the box count `BESIDE` times.

        Args:
            frame: The frame that the object was found in.
            to_camera: Map to optical frame (4, 4).
            found: The object in that frame; a box without mask counts as a mask.
        """
        local = self.points @ to_camera[:3, :3].T.astype(np.float32)
        local += to_camera[:3, 3].astype(np.float32)
        rows, cols = frame.depth.shape
        fx, fy, cx, cy = frame.intrinsics
        z = np.maximum(local[:, 2], 1e-3)
        u = np.floor(local[:, 0] / z * fx + cx)
        v = np.floor(local[:, 1] / z * fy + cy)
        seen = np.flatnonzero((local[:, 2] > 0.1) & (u >= 0) & (u < cols) & (v >= 0) & (v < rows))
        u, v, z = u[seen].astype(np.int64), v[seen].astype(np.int64), z[seen]
        measured = frame.depth[v, u]
        slack = DEPTH_SLACK[0] + DEPTH_SLACK[1] * z * z
        with np.errstate(invalid="ignore"):
            known = np.isfinite(measured) & (measured > 0.0)
            there = known & (np.abs(measured - z) <= slack)
            through = known & (measured > z + 2.0 * slack)
        zone = _zones(found)
        left, top, _, _ = found.detection.box
        row, column = v - top + 1, u - left + 1
        near = (row >= 0) & (row < zone.shape[0]) & (column >= 0) & (column < zone.shape[1])
        where = np.zeros(len(u), np.int8)
        where[near] = zone[row[near], column[near]]
        self.inside[seen] += there & (where == 2)
        weight = np.where(near | found.drawn, 1.0, BESIDE)
        self.outside[seen] += np.where(there & (where == 0), weight, through)

    def add(self, new: Points, voxel: float, most: int) -> None:
        """Add the points of a look; of each voxel the first point stays, with its evidence.

        Args:
            new: (m, 3) [m].
            voxel: Edge of a voxel [m].
            most: Points kept; those that belong to the object least go first.
        """
        points = np.concatenate([self.points, new.astype(np.float32)])
        _, first = np.unique(voxel_keys(points, voxel), return_index=True)
        fresh = len(new)
        inside = np.concatenate([self.inside, np.ones(fresh, np.float32)])
        outside = np.concatenate([self.outside, np.zeros(fresh, np.float32)])
        self.points, self.inside, self.outside = points[first], inside[first], outside[first]
        looks = self.inside + self.outside
        self._keep(np.flatnonzero((looks < FORGOTTEN) | (self.share >= KEPT_SHARE)))
        if len(self.points) > most:
            better = self.share >= MEMBER
            if better.sum() >= most:
                chosen = np.flatnonzero(better)
                self._keep(chosen[np.linspace(0, len(chosen) - 1, most).astype(np.int64)])
            else:
                self._keep(np.sort(np.argsort(-self.share, kind="stable")[:most]))

    def join(self, other: EvidenceCloud, voxel: float, most: int) -> None:
        """Add another object's cloud: it turned out to be the same object."""
        self.points = np.concatenate([self.points, other.points])
        self.inside = np.concatenate([self.inside, other.inside])
        self.outside = np.concatenate([self.outside, other.outside])
        _, first = np.unique(voxel_keys(self.points, voxel), return_index=True)
        self._keep(first)
        if len(self.points) > most:
            self._keep(np.linspace(0, len(self.points) - 1, most).astype(np.int64))

    def part(self, chosen: npt.NDArray[np.bool_]) -> EvidenceCloud:
        """A cloud of some of the points, with their evidence."""
        return EvidenceCloud(self.points[chosen], self.inside[chosen], self.outside[chosen])

    def _keep(self, chosen: npt.NDArray[np.int64]) -> None:
        self.points = self.points[chosen]
        self.inside, self.outside = self.inside[chosen], self.outside[chosen]

    def clusters(self, eps: float, least: float = 0.15) -> Sequence[npt.NDArray[np.bool_]]:
        """Parts of the members that no chain of points joins, the largest first.

        Args:
            eps: Points nearer than this are neighbors [m].
            least: Least fraction of the members that makes a further part.
        """
        member = self.share >= 0.5 * MEMBER
        chosen = np.flatnonzero(member)
        if len(chosen) < 2 * LEAST:
            return [member]
        pile = o3d.geometry.PointCloud(
            o3d.utility.Vector3dVector(self.points[chosen].astype(np.float64))
        )
        labels = np.asarray(pile.cluster_dbscan(eps, LEAST))
        if labels.max(initial=-1) < 1:
            return [member]
        sizes = np.bincount(labels[labels >= 0])
        largest, *smaller = np.argsort(-sizes, kind="stable")
        parts = []
        for k in (largest, *(k for k in smaller if sizes[k] >= least * len(chosen))):
            part = np.zeros(len(self.points), bool)
            part[chosen[labels == k]] = True
            parts.append(part)
        return parts


def _zones(found: Lifted) -> npt.NDArray[np.int8]:
    """Of the box grown by a pixel: 2 within the mask, 0 outside, 1 (no evidence) next to it.

    What another box has as well is no evidence, either.
    """
    _, _, width, height = found.detection.box
    mask = found.detection.mask
    zone = np.zeros((height + 2, width + 2), np.int8)
    if mask is None:
        zone[1:-1, 1:-1] = 2
    else:
        for part in (zone[:-2, 1:-1], zone[2:, 1:-1], zone[1:-1, :-2], zone[1:-1, 2:]):
            part[mask] = 1
        zone[1:-1, 1:-1][mask] = 2
    if found.shared is not None:
        zone[1:-1, 1:-1][found.shared] = 1
    return zone


def voxel_keys(points: Points, voxel: float) -> npt.NDArray[np.int64]:
    """One number per voxel of edge `voxel` [m] that a point (n, 3) [m] lies in."""
    keys = np.floor(points / voxel).astype(np.int64)
    keys -= keys.min(axis=0)
    span = keys.max(axis=0) + 1
    flat: npt.NDArray[np.int64] = (keys[:, 0] * span[1] + keys[:, 1]) * span[2] + keys[:, 2]
    return flat
