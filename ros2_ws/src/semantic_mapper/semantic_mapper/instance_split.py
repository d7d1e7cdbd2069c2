"""What speaks for two objects instead of one: side by side in one image, or points apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie_world.perception.backprojection import Lifted
from coterie_world.perception.lift_options import LiftOptions
from coterie_world.scene import LabelBelief
from semantic_mapper.cloud import EvidenceCloud
from semantic_mapper.instances import (
    Instance,
    box_overlap,
    box_similarity,
    boxes_near,
    corners,
)

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
