"""Matches the detections of one look to known things."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coterie_core.geometry import Box, distance, iou
from coterie_core.household import load_household
from coterie_core.observation import Detection
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.sightings import ASSOCIATION_RADIUS_M, is_solid, kind_of

SAME_VOLUME = 0.4
"""Boxes of solid furniture that overlap more than this (IoU, 0..1) are of one piece."""
SAME_ITEM = 0.1
"""Boxes of items that overlap more than this (IoU, 0..1) are of one item, where labels allow it."""
DUPLICATE_RADIUS_M = 0.15
"""Two sightings of one label in one look nearer than this are of one thing [m]."""


def known_things(
    scene: SceneGraph,
    detections: Sequence[Detection],
    was_put_there: Callable[[SceneObject, Box], bool],
) -> list[str]:
    """Return the known thing that each detection of one look shows ("" for a new one).

    Nearest pairs first, each thing once: two plates side by side are two. What is reported a
    second time at the same spot is the same thing. What fills the volume of something else is
    that, misnamed, for no two things are in one place: any furniture of other furniture, and
    an item of another one that it may be as well, as far as its labels tell.

    Args:
        scene: Map of the known things.
        detections: Detections of one look.
        was_put_there: Whether a box shows a thing that was put down and not seen since.
    """
    household = load_household()
    kinds = {kind_of(one.label) for one in detections if one.box is not None}
    known: dict[str, list[SceneObject]] = {}
    items: list[SceneObject] = []
    for thing in scene.objects.values():
        kind = kind_of(thing.label.top)
        if kind in kinds:
            known.setdefault(kind, []).append(thing)
        if thing.kind == "item":
            items.append(thing)
    pairs: list[tuple[float, int, str]] = []
    for k, one in enumerate(detections):
        if one.box is None or not one.label:
            continue
        for thing in known.get(kind_of(one.label), ()):
            away = distance(thing.box.center, one.box.center)
            near = (
                max(ASSOCIATION_RADIUS_M, 0.5 * max(thing.box.size))
                if thing.kind != "item"
                else ASSOCIATION_RADIUS_M
            )
            if one.instance and thing.id == one.instance:
                away = -1.0
            if away <= near or was_put_there(thing, one.box):
                pairs.append((away, k, thing.id))
    solid = [thing for thing in scene.objects.values() if is_solid(thing.label.top)]
    for k, one in enumerate(detections):
        if one.box is None or not one.label or not is_solid(one.label):
            continue
        for thing in solid:
            away = distance(thing.box.center, one.box.center)
            if away <= ASSOCIATION_RADIUS_M and iou(thing.box, one.box) > SAME_VOLUME:
                pairs.append((away, k, thing.id))
    for k, one in enumerate(detections):
        if one.box is None or household.kind(one.label) != "item":
            continue
        for thing in items:
            away = distance(thing.box.center, one.box.center)
            if (
                away <= ASSOCIATION_RADIUS_M
                and _may_be(thing, one)
                and iou(thing.box, one.box) > SAME_ITEM
            ):
                pairs.append((away, k, thing.id))
    found = [""] * len(detections)
    taken: dict[str, int] = {}
    for _, k, id_ in sorted(pairs):
        if found[k]:
            continue
        if id_ not in taken or _twice(detections[taken[id_]], detections[k]):
            found[k] = id_
            taken.setdefault(id_, k)
    return found


def _twice(first: Detection, second: Detection) -> bool:
    """Tell whether two detections of one look are of one thing."""
    if first.box is None or second.box is None:
        return False
    if first.fused and second.fused:
        # The team's map has looked at both: two boxes are two things.
        return first.box == second.box
    fixed = load_household().category(first.label)
    if fixed is not None and fixed.kind != "item":
        return True  # large things are reported in parts
    return distance(first.box.center, second.box.center) <= DUPLICATE_RADIUS_M


def _may_be(thing: SceneObject, one: Detection) -> bool:
    """Whether a thing and a detection may be the same, by any of the labels that either has."""
    labels = {kind_of(label) for label in (one.label, *one.scores)}
    return kind_of(thing.label.top) in labels or kind_of(one.label) in {
        kind_of(label) for label in thing.label.weights
    }
