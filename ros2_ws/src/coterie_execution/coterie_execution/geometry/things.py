"""Which thing of a scene a sub-task means, what it is in, and where things can be put on it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from coterie_core.geometry import Box, Vec3
from coterie_core.tasks import Thing
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.surfaces import hollow_bottom, usual_surfaces

FLOOR = "floor"
"""Label of the receptacle that every room has."""
_AT = 0.6  # [m] how far a thing of the scene may be from where a sub-task has it

_TOUCH = 0.003  # [m] that boxes are taken smaller when it is asked what is in them


@dataclass(frozen=True, slots=True)
class ResolvedObject:
    """A thing that a sub-task may mean; `object` is None if the scene does not hold it."""

    name: str
    box: Box
    object: SceneObject | None = None

    @property
    def id(self) -> str:
        """Its id in the scene, "" if the scene does not hold it."""
        return self.object.id if self.object is not None else ""

    @property
    def key(self) -> tuple[str, Vec3, Vec3]:
        """What answers about it are kept under."""
        return self.id, self.box.center, self.box.size


class Catalog:
    """The things of a scene, found by label and by what is around them.

    Args:
        scene: The scene; must not change afterwards.
    """

    def __init__(self, scene: SceneGraph) -> None:
        self._scene = scene
        self._alike: dict[str, list[SceneObject]] = {}
        for name in sorted(scene.objects):
            thing = scene.objects[name]
            self._alike.setdefault(thing.label.top, []).append(thing)
        solid = [t for t in scene.objects.values() if t.box.volume > 0.0]
        self._upon: dict[str, list[SceneObject]] | None = None
        self._solid = [thing.id for thing in solid]
        self._center = np.array([t.box.center for t in solid]).reshape(-1, 3)
        self._half = np.array([t.box.size for t in solid]).reshape(-1, 3) / 2.0 - _TOUCH
        yaw = np.array([t.box.yaw for t in solid])
        self._cos, self._sin = np.cos(yaw), np.sin(yaw)

    def meant_by(self, thing: Thing) -> list[ResolvedObject]:
        """Return the things that fit, best first; empty: nobody knows where it is.

        By id; else the nearest thing of that label to the position given; else the position alone;
        else all things of that label (in the room given).
        """
        found = self._scene.objects.get(thing.id) if thing.id else None
        if found is not None and (found.box.volume > 0.0 or thing.position is None):
            return [_meant(found)]
        alike = [
            other
            for other in self._alike.get(thing.label, ())
            if not thing.room or other.room == thing.room
        ]
        if thing.position is not None:
            here = thing.position
            near = [
                (math.dist(other.box.center, here), other.id)
                for other in alike
                if other.box.contains(here, _AT)
            ]
            if near:
                return [_meant(self._scene.objects[min(near)[1]])]
            return [ResolvedObject(thing.label, Box(here, (0.0, 0.0, 0.0)))]
        return [] if thing.id else [_meant(other) for other in alike]

    def around(self, meant: ResolvedObject) -> tuple[str, ...]:
        """Return the ids of a thing itself and of what fills its place too.

        That is the furniture that it is in, or one of two names that detectors give to one thing.
        """
        x, y, z = meant.box.center
        dx, dy = x - self._center[:, 0], y - self._center[:, 1]
        inside = np.abs(self._cos * dx + self._sin * dy) <= self._half[:, 0]
        inside &= np.abs(-self._sin * dx + self._cos * dy) <= self._half[:, 1]
        low = np.abs(z - self._center[:, 2]) <= self._half[:, 2]
        top = meant.box.top - 0.1 * meant.box.size[2]
        high = np.abs(top - self._center[:, 2]) <= self._half[:, 2]
        names = [self._solid[k] for k in np.flatnonzero(inside & (low | high))]
        if meant.object is not None:
            names = [meant.object.id, *(name for name in names if name != meant.object.id)]
        return tuple(names)

    def upon(self, owner: str) -> list[SceneObject]:
        """Return the things that stand on or in another one (by id)."""
        if self._upon is None:
            self._upon = {}
            for thing in self._scene.objects.values():
                for below in {thing.support, thing.container} - {""}:
                    self._upon.setdefault(below, []).append(thing)
        return self._upon.get(owner, [])

    def closed_around(self, thing: SceneObject | None) -> SceneObject | None:
        """Return the closed container that a thing is in, however deep, or None."""
        for _ in range(8):
            if thing is None:
                return None
            outer = self._scene.objects.get(thing.container)
            if outer is not None and outer.is_open is False:
                return outer
            thing = outer or self._scene.objects.get(thing.support)
        return None


def _meant(thing: SceneObject) -> ResolvedObject:
    return ResolvedObject(thing.label.top or thing.id, thing.box, thing)


_SHELF = 0.3
"""Between heights at which shelves are taken to be of which nobody knows where they are [m]."""


@dataclass(frozen=True, slots=True)
class Surface:
    """Where something can be put: the surface [m], and whether it lies behind a closed door.

    `told` is whether the map has it; that of furniture found on the way is only as is usual.
    `falls_to` is the height [m] at which things lie that are let go there, into a tub or a basket;
    None: they stay on it.
    """

    box: Box
    closed: bool
    told: bool = True
    falls_to: float | None = None

    @property
    def rest(self) -> Box:
        """Where things come to lie."""
        x, y, z = self.box.center
        return replace(self.box, center=(x, y, z if self.falls_to is None else self.falls_to))


def surfaces_of(
    meant: ResolvedObject, item: Box | None, inside: bool | None = None
) -> list[Surface]:
    """Return the surfaces of a receptacle that an item's box fits on, reachable ones first.

    They are those of the map; those `inside` it, or not, where that is asked for and there are such
    ones. What the map has none of, as no camera has looked down on it, is taken to have those usual
    for its kind.
    """
    thing = meant.object
    known = thing.receptacles if thing is not None else []
    told = thing is not None and bool(thing.told_surfaces)
    if inside and not told and thing is not None and thing.is_open is not None:
        if not any(one.inside for one in known):
            return _shelves(thing)
    need = sorted(item.size[:2]) if item is not None else [0.0, 0.0]
    wanted = [one for one in known if inside is None or one.inside is inside] or known
    mapped = [
        Surface(one.surface, one.inside and thing is not None and thing.is_open is False)
        for one in wanted
        if all(a <= b for a, b in zip(need, sorted(one.surface.size[:2]), strict=True))
    ]
    if mapped or told:
        return sorted(mapped, key=lambda s: s.closed)
    bottom = hollow_bottom(meant.name, meant.box)
    usual = usual_surfaces(meant.name, meant.box, item)
    return [Surface(one, False, False, bottom) for one in usual]


def _shelves(thing: SceneObject) -> list[Surface]:
    """Return what may be shelves of a container that nobody has looked into."""
    heights = np.arange(thing.box.bottom + _SHELF, thing.box.top - _SHELF, _SHELF)
    x, y, _ = thing.box.center
    size = (*thing.box.size[:2], 0.0)
    shelves = [Box((x, y, float(z)), size, thing.box.yaw) for z in heights]
    return [Surface(one, thing.is_open is False, False) for one in shelves]
