"""Which thing of a scene a sub-task means, what it is in, and where things can be put on it."""

from __future__ import annotations

from dataclasses import dataclass

from coterie_core.geometry import Box, Vec3
from coterie_core.scene import SceneGraph, SceneObject
from coterie_core.tasks import Thing

FLOOR = "floor"
"""Label of the receptacle that every room has."""
_AT = 0.6  # [m] how far a thing of the scene may be from where a sub-task has it


@dataclass(frozen=True, slots=True)
class Meant:
    """A thing that a sub-task may mean; `object` is None if the scene does not hold it."""

    name: str
    box: Box
    object: SceneObject | None = None

    @property
    def key(self) -> tuple[str, Vec3, Vec3]:
        """What answers about it are kept under."""
        return self.object.id if self.object else "", self.box.center, self.box.size


def meant_by(scene: SceneGraph, thing: Thing) -> list[Meant]:
    """Return the things of the scene that fit, best first; empty: nobody knows where it is.

    By id; else the nearest thing of that label to the position given; else the position alone; else
    all things of that label (in the room given).
    """
    found = scene.objects.get(thing.id) if thing.id else None
    if found is not None and (found.box.volume > 0.0 or thing.position is None):
        return [_meant(found)]
    alike = [
        other
        for other in scene.objects.values()
        if other.label.top == thing.label and (not thing.room or other.room == thing.room)
    ]
    if thing.position is not None:
        x, y, z = thing.position
        near = [
            (sum((p - q) ** 2 for p, q in zip(o.box.center, (x, y, z), strict=True)), o.id, o)
            for o in alike
            if o.box.contains((x, y, z), _AT)
        ]
        if near:
            return [_meant(min(near)[2])]
        return [Meant(thing.label, Box(thing.position, (0.0, 0.0, 0.0)))]
    if thing.id:
        return []
    return [_meant(other) for other in sorted(alike, key=lambda o: o.id)]


def _meant(thing: SceneObject) -> Meant:
    return Meant(thing.label.top or thing.id, thing.box, thing)


def closed_around(scene: SceneGraph, thing: SceneObject | None) -> SceneObject | None:
    """Return the closed container that a thing is in, however deep, or None."""
    for _ in range(8):
        if thing is None:
            return None
        outer = scene.objects.get(thing.container)
        if outer is not None and outer.is_open is False:
            return outer
        thing = outer or scene.objects.get(thing.support)
    return None


def around_it(scene: SceneGraph, meant: Meant) -> tuple[str, ...]:
    """Return the ids of the furniture that a thing is or is within: that does not hide it whole."""
    x, y, _ = meant.box.center
    heights = (meant.box.center[2], meant.box.top - 0.1 * meant.box.size[2])
    inside = [
        other.id
        for other in scene.objects.values()
        if other.kind != "item" and any(other.box.contains((x, y, z), 0.01) for z in heights)
    ]
    own = [meant.object.id] if meant.object is not None and meant.object.kind != "item" else []
    return tuple(dict.fromkeys([*own, *inside]))


@dataclass(frozen=True, slots=True)
class Surface:
    """Where something can be put: the surface [m], and whether it lies behind a closed door."""

    box: Box
    closed: bool


def surfaces_of(meant: Meant, item: Box | None) -> list[Surface]:
    """Return the surfaces of a receptacle that an item's box fits on, reachable ones first.

    What has no receptacles in the scene is taken to have one: its upper face.
    """
    thing = meant.object
    if thing is None or not thing.receptacles:
        x, y, _ = meant.box.center
        w, d, _ = meant.box.size
        return [Surface(Box((x, y, meant.box.top), (w, d, 0.0), meant.box.yaw), False)]
    need = sorted(item.size[:2]) if item is not None else [0.0, 0.0]
    out = []
    for receptacle in thing.receptacles:
        have = sorted(receptacle.surface.size[:2])
        if need[0] <= have[0] and need[1] <= have[1]:
            out.append(Surface(receptacle.surface, receptacle.inside and thing.is_open is False))
    return sorted(out, key=lambda s: s.closed)
