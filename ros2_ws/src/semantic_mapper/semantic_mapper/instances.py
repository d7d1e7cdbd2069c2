"""Instances of the map: points, evidence for labels, sightings; how alike two of them are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from coterie_core.embedding import Embedding
from coterie_core.geometry import Box, Vec3
from coterie_core.household import load_household
from coterie_world.association import PICTURE, PICTURE_RENAMED
from coterie_world.perception.backprojection import Lifted
from coterie_world.perception.lift_options import LiftOptions
from coterie_world.perception.support_surfaces import SupportSurface, support_surfaces
from coterie_world.scene import LabelBelief, Receptacle, size_similarity
from coterie_world.sizes import known_size, oversize
from semantic_mapper.cloud import LEAST, EvidenceCloud, Points

State = Literal["present", "moved", "gone"]
ELSEWHERE = 0.15
"""A camera that moved by so much looks from another viewpoint [m]."""
_MOST_BOXES = 20
"""Boxes that count for the mean of an instance that moves or turns."""
_FEET_M = 0.08
"""Surfaces lower than this in an object are its feet, or the floor beside it [m]."""
_MAX_LEVELS = 8
"""Surfaces that an object tells."""
STRICTER = ((0.1, 0.5), (0.1, 0.7), (0.2, 0.8))
"""Shares of the looks that agree on points of what is too large for its kind (`agreed`)."""
CUT = 1.0
"""Percentage of the points that may lie beyond each face of a box: strays of the depth camera."""


@dataclass(slots=True)
class Instance:
    """A thing of the map.

    Attributes:
        points: Points that belong to it, (n, 3) [m].
        low, high: Corners of the box about them [m].
        labels: Evidence per label.
        embeddings: Mean look, by network.
        seen_through: Times in a row its place was seen and it was not there.
        reports, misses: Viewpoints, no farther than `reach` [m], from which something is in its
            place, and it was reported or was not.
        viewpoint: The last of them [m].
        crop: Its best picture, of `crop_quality`: the bytes of a JPEG file.
        colors: Evidence per colour name.
        openings: Evidence for "open" and "closed"; the latest counts most.
        cloud: All points with their evidence.
        beside: How often others were seen next to it in one image, by id.
        clustered: Points it had when it was last looked at whether it is one.
        boxed: Boxes in space, found by a detector, whose mean its points show; 0: no such thing.
        levels: Its support surfaces, estimated after so many observations.
    """

    id: str
    points: Points
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    labels: LabelBelief = field(default_factory=LabelBelief)
    embeddings: tuple[Embedding, ...] = ()
    observations: int = 0
    robot: str = ""
    time: float = 0.0
    state: State = "present"
    seen_through: int = 0
    reports: int = 0
    misses: int = 0
    reach: float = 0.0
    viewpoint: npt.NDArray[np.float64] | None = None
    crop: npt.NDArray[np.uint8] | None = None
    crop_quality: float = 0.0
    colors: LabelBelief = field(default_factory=LabelBelief)
    openings: LabelBelief = field(default_factory=LabelBelief)
    cloud: EvidenceCloud = field(
        default_factory=lambda: EvidenceCloud(np.empty((0, 3), np.float32))
    )
    beside: dict[str, int] = field(default_factory=dict)
    clustered: int = 0
    boxed: int = 0
    levels: tuple[int, tuple[SupportSurface, ...]] = (0, ())

    def __post_init__(self) -> None:
        """Points without evidence have been seen once."""
        if not len(self.cloud.points):
            self.cloud = EvidenceCloud(self.points)

    def settle(self) -> None:
        """Take points and box from the evidence."""
        self.points = self.cloud.members(self.observations)
        self.low, self.high = corners(self.points)
        if oversize(self.labels.top, self.box.size) > 1.0:
            self._shrink()

    def _shrink(self) -> None:
        """Leave out of what is too large for its kind what fewer looks agree on, until it fits.

        Without a mask a box takes in the floor before a thing and what stands on it or beside it,
        from a few sides: with the legs of a chair a rug is higher than any. What fits in no way
        stays as it is.
        """
        label = self.labels.top
        size = known_size(label)
        highest = size[2][1] if size is not None else math.inf
        for often, share in STRICTER:
            points = self.cloud.agreed(often, share)
            for some in (points, _within_height(points, highest)):
                if len(some) < LEAST:
                    continue
                low, high = corners(some)
                if oversize(label, (high - low).tolist()) <= 1.0:
                    self.points, self.low, self.high = some, low, high
                    return

    def viewed_anew(self, eye: npt.NDArray[np.float64]) -> bool:
        """Whether a camera at `eye` [m] looks from elsewhere than at the last count."""
        last = self.viewpoint
        if last is not None and float(np.linalg.norm(eye - last)) < ELSEWHERE:
            return False
        self.viewpoint = eye.copy()
        return True

    def take_box(self, points: Points) -> None:
        """Take a box that a detector found in space, as points on its faces: boxes are averaged."""
        low, high = points.min(axis=0), points.max(axis=0)
        share = 1.0 / (self.boxed + 1.0)
        self.boxed = min(self.boxed + 1, _MOST_BOXES)
        mean_low = self.low + share * (low - self.low)
        mean_high = self.high + share * (high - self.high)
        fitted = (points - low) / np.maximum(high - low, 1e-6) * (mean_high - mean_low) + mean_low
        self.points = fitted.astype(np.float32)
        self.low, self.high = mean_low, mean_high
        self.cloud = EvidenceCloud(self.points)

    def receptacles(self) -> list[Receptacle]:
        """Return the level surfaces that cameras looked down on, the largest first.

        Boxes that a detector found in space have no surfaces of their own, and items bear little.
        """
        category = load_household().category(self.labels.top)
        if category is None or self.boxed or (category.kind == "item" and not category.depth):
            return []
        if self.levels[0] != self.observations:
            eye = self.viewpoint[2] if self.viewpoint is not None else math.inf
            found = support_surfaces(self.points, float(self.low[2]) + _FEET_M, float(eye))
            self.levels = (self.observations, tuple(found[:_MAX_LEVELS]))
        top = float(self.high[2]) - _FEET_M
        return [
            Receptacle(
                f"{self.id}/level_{k}",
                one.box,
                category.opens and one.box.center[2] < top,
                one.variance,
            )
            for k, one in enumerate(self.levels[1], 1)
        ]

    @property
    def is_open(self) -> bool | None:
        """Whether it is open, by its latest looks; None where no detector ever said."""
        return self.openings.top == "open" if self.openings.total > 0.0 else None

    @property
    def properties(self) -> dict[str, str]:
        """What else is known of it: `color`, a name, and `state` where it was moved or is gone."""
        known: dict[str, str] = {} if self.state == "present" else {"state": self.state}
        return {**known, "color": self.colors.top} if self.colors.total > 0.0 else known

    @property
    def box(self) -> Box:
        """The upright box about its points [m]."""
        center = (self.low + self.high) / 2.0
        size = np.maximum(self.high - self.low, 0.01)
        return Box(
            (float(center[0]), float(center[1]), float(center[2])),
            (float(size[0]), float(size[1]), float(size[2])),
        )


def _within_height(points: Points, most: float) -> Points:
    """Return the points of the layer so high [m] that holds most of a cloud's."""
    heights = points[:, 2]
    floors = np.sort(heights)
    held = np.searchsorted(floors, floors + most, side="right") - np.arange(len(floors))
    low = floors[held.argmax()] if len(floors) else 0.0
    return points[(heights >= low) & (heights <= low + most)]


def corners(points: Points) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Lowest and highest corner [m] of a cloud, strays cut off where there are enough points."""
    if len(points) < 50:
        return points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    k = max(int(len(points) * CUT / 100.0), 1)
    ordered = np.partition(points, (k, len(points) - 1 - k), axis=0)
    return ordered[k].astype(np.float64), ordered[-1 - k].astype(np.float64)


def boxes_near(
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    lows: npt.NDArray[np.float64],
    highs: npt.NDArray[np.float64],
    slack: float,
) -> npt.NDArray[np.int64]:
    """Indices of boxes that come within `slack` [m] of one."""
    return np.flatnonzero(((lows <= high + slack) & (highs >= low - slack)).all(axis=1))


def box_overlap(
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    other_low: npt.NDArray[np.float64],
    other_high: npt.NDArray[np.float64],
    slack: float = 0.02,
) -> float:
    """Intersection over the smaller volume of two boxes (0..1), each at least `slack` thick."""
    shared = np.minimum(high, other_high) - np.maximum(low, other_low) + slack
    if (shared <= 0.0).any():
        return 0.0
    volumes = (np.prod(high - low + slack), np.prod(other_high - other_low + slack))
    return float(min(np.prod(shared) / min(volumes), 1.0))


def point_overlap(a: Points, b: Points, within: float) -> float:
    """Share of the smaller cloud's points that have one of the other's within a distance [m]."""
    small, large = (a, b) if len(a) <= len(b) else (b, a)
    away, _ = cKDTree(large).query(small, distance_upper_bound=within)
    return float(np.isfinite(away).mean())


def box_similarity(
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    other_low: npt.NDArray[np.float64],
    other_high: npt.NDArray[np.float64],
) -> float:
    """How alike two boxes' sizes are (0..1), each at least 2 cm thick."""
    volumes = (np.prod(high - low + 0.02), np.prod(other_high - other_low + 0.02))
    return size_similarity(float(volumes[0]), float(volumes[1]))


def meant(things: Sequence[Instance], label: str, at: Vec3) -> Instance | None:
    """Return the thing that somebody else's map has, by its label and centre [m].

    Maps of several robots differ by a little; a thing that a person renamed stays in its place.
    """
    named = PICTURE.nearest(at, ((k, t.box) for k, t in enumerate(things) if t.labels.top == label))
    if named is None:
        named = PICTURE_RENAMED.nearest(at, ((k, t.box) for k, t in enumerate(things)))
    return things[named] if named is not None else None


NEXT_TO = 0.3
"""Gap up to which objects of one image are noted as being next to one another [m]."""
MAX_NEIGHBORS = 60
"""Neighbors that an instance remembers."""
IN_TURNS = 1.4
"""Two clusters whose mean fractions sum to no more were seen in turns, not at once."""


def note_beside(lifted: Sequence[Lifted], things: Sequence[Instance]) -> None:
    """Note which objects were found next to one another in one image: they are several.

    Args:
        lifted: What was found in the image.
        things: Their instances, in the same order.
    """
    if len(lifted) < 2:
        return
    ends = [corners(one.points) for one in lifted]
    lows, highs = np.array([low for low, _ in ends]), np.array([high for _, high in ends])
    for k, (low, high) in enumerate(ends):
        for i in boxes_near(low, high, lows[:k], highs[:k], NEXT_TO):
            # Two detections of one object overlap and are of one size.
            overlap = box_overlap(low, high, lows[i], highs[i])
            if overlap * box_similarity(low, high, lows[i], highs[i]) >= 0.5:
                continue
            for one, other in ((things[k], things[i]), (things[i], things[k])):
                if other.id in one.beside or len(one.beside) < MAX_NEIGHBORS:
                    one.beside[other.id] = one.beside.get(other.id, 0) + 1


def split(thing: Instance, id_: str, options: LiftOptions) -> Instance | None:
    """Take one part out of an instance whose points have fallen into clusters; None: it is one.

    Clusters that masks hold at once are parts of one object; those that they hold in turns are
    several objects.

    Args:
        thing: The instance; what is left of it stays.
        id_: Of the part.
        options: Of the lifting: how near neighbors are.
    """
    cloud = thing.cloud
    if thing.state == "gone" or len(cloud.points) < 1.5 * thing.clustered:
        return None
    thing.clustered = len(cloud.points)
    eps = max(options.eps, 2.5 * options.voxel, 0.03 * thing.reach)
    main, *others = cloud.clusters(eps)
    for part in others:
        # Seen at once their fractions are near one each, in turns they sum to one.
        turns = float(cloud.share[main].mean() + cloud.share[part].mean())
        inside = float(cloud.inside[part].mean())
        if turns <= IN_TURNS and inside >= 2.0:
            fraction = inside / float(cloud.inside[main | part].mean()) / 2.0
            own = _part(thing, id_, cloud.part(part), min(fraction, 0.5))
            thing.cloud = cloud.part(~part)
            thing.settle()
            return own
    return None


def _part(thing: Instance, id_: str, cloud: EvidenceCloud, fraction: float) -> Instance:
    """A part of an instance as one of its own, with a fraction of the evidence."""
    looks = max(round(fraction * thing.observations), 1)
    own = Instance(
        id_, cloud.points, thing.low, thing.high, cloud=cloud, observations=looks,
        labels=_scaled(thing.labels, fraction), colors=_scaled(thing.colors, fraction),
        embeddings=thing.embeddings, robot=thing.robot, time=thing.time,
        reports=max(round(fraction * thing.reports), 1), reach=thing.reach,
    )  # fmt: skip
    own.settle()
    thing.labels = _scaled(thing.labels, 1.0 - fraction)
    thing.colors = _scaled(thing.colors, 1.0 - fraction)
    thing.observations = max(thing.observations - looks, 1)
    own.beside[thing.id] = thing.beside[own.id] = looks
    return own


def _scaled(belief: LabelBelief, fraction: float) -> LabelBelief:
    return LabelBelief({name: weight * fraction for name, weight in belief.weights.items()})
