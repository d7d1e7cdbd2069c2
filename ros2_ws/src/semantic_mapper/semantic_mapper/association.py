"""Association of detections with instances: by place and size, labels and embeddings."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.embedding import Embedding
from coterie_llm.embedders import EmbedderError
from coterie_world.association import assign
from coterie_world.likeness import MIN_LIKENESS, Background, likeness
from coterie_world.meaning import Meanings
from coterie_world.perception.backprojection import Lifted
from coterie_world.scene import LabelBelief, label_agreement
from coterie_world.sightings import is_solid
from coterie_world.sizes import oversize
from semantic_mapper.instances import (
    Instance,
    box_overlap,
    box_similarity,
    boxes_near,
    corners,
    point_overlap,
)
from semantic_mapper.options import MapperOptions

APART = 0.1
"""Fraction of the looks in which two were seen at once, from which they are two objects."""
SAME_LABEL = 0.5
"""Least agreement of the labels of two parts of one object."""
TOUCHING = 0.05
"""Least fraction of the smaller part's points that touch the other."""
MISTAKEN = 0.2
"""An instance with no more than this fraction of another's looks may be a mistake about it."""
WITHIN = 0.8
"""Fraction of such an instance's points that lie on the other."""
MUCH = 10.0
"""So many times more evidence has furniture than what depth has put in its place."""
SILENCE = 60.0
"""Time for which an embedder that failed is not asked again [s]."""
_LOG = logging.getLogger(__name__)

Corner = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Traits:
    """What a detection or an instance is taken for, and how it looks."""

    labels: LabelBelief
    embeddings: tuple[Embedding, ...]


class Association:
    """Tells whether a detection and an instance, or two instances, are one object.

    Place and size count beside labels and embeddings; `MapperOptions` says how. What embeddings of
    different objects have in common is learned from objects that are seen at once.

    Args:
        options: How.
        meanings: Compares labels by meaning; None: by letters and the household's tables.
    """

    def __init__(self, options: MapperOptions, meanings: Meanings | None = None) -> None:
        self.options = options
        self.meanings = meanings
        self.background = Background()
        self._silent_until = 0.0

    def meaning(self, labels: LabelBelief) -> tuple[Embedding, ...]:
        """Return what labels mean; nothing without an embedder, or while it does not answer."""
        if self.meanings is None or time.monotonic() < self._silent_until:
            return ()
        try:
            made = self.meanings.embedding(labels.weights)
        except EmbedderError as error:
            self._silent_until = time.monotonic() + SILENCE
            _LOG.warning("labels are compared without their meaning for %g s: %s", SILENCE, error)
            return ()
        return () if made is None else (made,)

    def traits(self, thing: Instance) -> Traits:
        """Return an instance's labels, and its embeddings with that of the labels."""
        return Traits(thing.labels, (*self.meaning(thing.labels), *thing.embeddings))

    def alike(self, a: Traits, b: Traits, size: float) -> float:
        """Return how far labels or embeddings speak for one object (0..1).

        Embeddings do the less, the less alike the sizes are: words and pictures of a plate and of
        the table under it are alike.

        Args:
            a: One.
            b: Another.
            size: How alike their sizes are (0..1).
        """
        agreement = label_agreement(a.labels, b.labels)
        near = likeness(a.embeddings, b.embeddings, self.background)
        return max(agreement, near * size if near >= MIN_LIKENESS else 0.0)

    def matches(
        self,
        lifted: Sequence[Lifted],
        things: Mapping[str, Instance],
        order: Sequence[str],
        lows: Corner,
        highs: Corner,
    ) -> dict[int, str]:
        """Match detections to instances, each at most once a frame.

        Args:
            lifted: The detections of a frame.
            things: The instances, by id.
            order: Their ids, in the order of `lows` and `highs`.
            lows: Lower corners of their boxes (n, 3) [m].
            highs: Upper corners of their boxes (n, 3) [m].

        Returns:
            Index of a detection -> id of its instance; the others are new.
        """
        seen = [self._seen(one) for one in lifted]
        known: dict[str, Traits] = {}
        scores: dict[tuple[int, str], float] = {}
        for k, one in enumerate(lifted):
            low, high = corners(one.points)
            for index in boxes_near(low, high, lows, highs, self.options.touch):
                thing = things[order[index]]
                where = self._place(thing, one.points, low, high)
                if where < self.options.least_overlap:
                    continue
                if thing.id not in known:
                    known[thing.id] = self.traits(thing)
                size = box_similarity(thing.low, thing.high, low, high)
                alike = self.alike(seen[k], known[thing.id], size)
                if self._fits(where, alike, size):
                    scores[k, thing.id] = where + alike
        self._learn(seen)
        return assign(scores)

    def one(self, thing: Instance, other: Instance) -> bool:
        """Whether two instances are one object, by place, labels, and having been seen at once."""
        if self._misplaced(thing, other):
            return True
        at_once = thing.beside.get(other.id, 0)
        if at_once >= max(2, APART * min(thing.observations, other.observations)):
            return False
        where = self._place(thing, other.points, other.low, other.high)
        similar = box_similarity(thing.low, thing.high, other.low, other.high)
        alike = self.alike(self.traits(thing), self.traits(other), similar)
        if where >= self.options.least_overlap and self._fits(where, alike, similar):
            return True
        if at_once:
            return False
        if other.observations <= MISTAKEN * thing.observations:
            # A part of it, under another label at times, and never beside it: a mistake.
            if point_overlap(thing.points, other.points, self.options.touch) >= WITHIN:
                return True
        # Parts of one object (back and seat of a chair) touch and are never seen at once.
        if alike < SAME_LABEL or min(thing.observations, other.observations) < 2:
            return False
        touching = point_overlap(thing.points, other.points, 2.0 * self.options.touch)
        size = np.maximum(thing.high, other.high) - np.minimum(thing.low, other.low)
        return touching > TOUCHING and oversize(thing.labels.top, tuple(size.tolist())) <= 1.0

    def _misplaced(self, thing: Instance, other: Instance) -> bool:
        """Whether depth has put other furniture, seen behind this one, in its place.

        A box around a dishwasher behind a chair shows the chair as well. Solid furniture shares no
        surface with other furniture, however often both are seen at once.
        """
        if MUCH * other.labels.total > thing.labels.total:
            return False
        if not (is_solid(thing.labels.top) and is_solid(other.labels.top)):
            return False
        return point_overlap(thing.points, other.points, self.options.touch) >= WITHIN

    def _seen(self, one: Lifted) -> Traits:
        labels, look = LabelBelief(dict(one.detection.scores)), one.detection.embedding
        return Traits(labels, (*self.meaning(labels), *((look,) if look is not None else ())))

    def _learn(self, seen: Sequence[Traits]) -> None:
        """Take in how alike objects of one image are that nobody takes for one."""
        for k, one in enumerate(seen):
            for other in seen[:k]:
                if label_agreement(one.labels, other.labels) == 0.0:
                    self.background.note(one.embeddings, other.embeddings)

    def _place(
        self, thing: Instance, points: npt.NDArray[np.float32], low: Corner, high: Corner
    ) -> float:
        """How much two things are in one place (0..1): overlap of boxes, confirmed by points.

        Boxes overlap where a cup stands under a table's box, and points do not; points of two
        sides of one thing do not touch, and its boxes do. The mean of both tells them apart.
        """
        boxes = box_overlap(thing.low, thing.high, low, high)
        if boxes == 0.0:
            return 0.0
        return 0.5 * boxes + 0.5 * point_overlap(thing.points, points, self.options.touch)

    def _fits(self, where: float, alike: float, size: float) -> bool:
        """Whether place and look say that two are one; see MapperOptions.

        Without labels that agree the sizes must: a cup's box lies within that of its table.
        """
        if where * size >= self.options.same_place:
            return True
        return alike > 0.05 and where * max(size, alike) + alike >= self.options.match
