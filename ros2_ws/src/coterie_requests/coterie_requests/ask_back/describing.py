"""Things of a map in words that tell them from one another, for choices and denials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from coterie_core.colors import stated_color
from coterie_core.geometry import distance
from coterie_world.scene import Room, SceneGraph, SceneObject

_BESIDE_RADIUS_M = 1.5
"""Largest distance between a thing and one that describes it ("the mug beside the sink") [m]."""


def described(scene: SceneGraph, things: Sequence[SceneObject]) -> list[str]:
    """Return a phrase for each thing; those that would be alike get more words, at last their id.

    "the red mug on the desk in the office", "the chair in the kitchen, next to the fridge".
    """
    texts = [_phrase(scene, thing) for thing in things]
    for more in (_beside, _named):
        counts = Counter(texts)
        texts = [
            text + more(scene, thing) if counts[text] > 1 else text
            for text, thing in zip(texts, things, strict=True)
        ]
    return texts


def where(scene: SceneGraph, thing: SceneObject) -> str:
    """Return where a thing is: "on the desk in the office"; "" where nothing tells."""
    parts = []
    holder = scene.objects.get(thing.support or thing.container)
    if holder is not None:
        parts.append(f"{'on' if thing.support else 'in'} the {plain_label(holder)}")
    room = room_of(scene, thing)
    if room is not None:
        parts.append(f"in {named_room(room)}")
    return " ".join(parts)


def room_of(scene: SceneGraph, thing: SceneObject) -> Room | None:
    """Return the room of a thing, or of what holds it."""
    holder = scene.objects.get(thing.support or thing.container)
    return scene.rooms.get(thing.room) or (scene.rooms.get(holder.room) if holder else None)


def named_room(room: Room) -> str:
    """Return a room's name as a sentence has it: "the kitchen", "bedroom 2"."""
    return room.name if room.name[-1:].isdigit() else f"the {room.name}"


def plain_label(thing: SceneObject) -> str:
    """Return what a thing is called."""
    return " ".join(thing.label.top.replace("_", " ").split())


def _phrase(scene: SceneGraph, thing: SceneObject) -> str:
    color = stated_color(thing.properties) or ""
    at = where(scene, thing)
    return " ".join(part for part in ("the", color, plain_label(thing), at) if part)


def _beside(scene: SceneGraph, thing: SceneObject) -> str:
    near = [
        (distance(other.box.center, thing.box.center), other.id)
        for other in scene.objects.values()
        if other.kind == "furniture"
        and other.id not in (thing.id, thing.support, thing.container)
        and other.label.top != thing.label.top
    ]
    if not near or min(near)[0] > _BESIDE_RADIUS_M:
        return ""
    return f", next to the {plain_label(scene.objects[min(near)[1]])}"


def _named(scene: SceneGraph, thing: SceneObject) -> str:
    return f" ({thing.id})"
