"""Furniture of the team's map, by which a robot's partial views of it are told as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from coterie_core.geometry import Box, distance, share_inside
from coterie_core.observation import Detection
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.sightings import INSIDE_FRACTION, is_solid, kind_of

_MARGIN = 0.2
"""A view whose middle is farther outside of a box than this does not show that thing [m]."""
_LIKELY = 0.1
"""Least probability of a label that a thing of the map may be meant by."""


@dataclass(slots=True)
class MappedFurniture:
    """What the team's map holds that stands still; the map fuses the views of all robots."""

    things: list[SceneObject] = field(default_factory=list)

    def update(self, scene: SceneGraph) -> None:
        """Take the team's map."""
        self.things = [
            thing
            for thing in scene.objects.values()
            if thing.kind != "item" and thing.box.volume > 0.0
        ]

    def shown_by(self, scores: Mapping[str, float], box: Box) -> SceneObject | None:
        """Return the thing of the map that a view shows, None for none.

        Args:
            scores: Labels of the view and their scores (0..1).
            box: What the view shows of the thing, in the team's map [m].
        """
        label = max(scores, key=lambda k: (scores[k], k), default="")
        kinds = {kind_of(one) for one in scores}
        found: list[tuple[bool, float, str, SceneObject]] = []
        for thing in self.things:
            if not thing.box.contains(box.center, _MARGIN):
                continue
            same = kind_of(thing.label.top) == kind_of(label)
            may_be = kind_of(thing.label.top) in kinds or any(
                kind_of(one) == kind_of(label) and share >= _LIKELY
                for one, share in thing.label.distribution().items()
            )
            both_solid = is_solid(label) and is_solid(thing.label.top)
            if same or may_be or (both_solid and share_inside(box, thing.box) > INSIDE_FRACTION):
                away = distance(thing.box.center, box.center)
                found.append((not same, away, thing.id, thing))
        return min(found, key=lambda one: one[:3])[3] if found else None


def pieces_once(detections: Iterable[Detection]) -> list[Detection]:
    """Return detections with each piece of the team's map once, as the nearest view shows it.

    Several views show a piece: its seat and its back are tracks of their own.
    """
    out: dict[object, Detection] = {}
    for k, one in enumerate(detections):
        key = (one.label, one.box) if one.fused else k
        if key not in out or one.distance < out[key].distance:
            out[key] = one
    return list(out.values())
