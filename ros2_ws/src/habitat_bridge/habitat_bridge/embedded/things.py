"""The things in a house as they are now: where they stand, what is open, their surfaces."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Box, Vec3
from coterie_world.scene import SceneObject
from habitat_bridge.house.house import House
from habitat_bridge.render.mesh import ObjectMesh, object_mesh
from habitat_bridge.render.solids import Floats

SAMPLES = 16
"""Points per thing that rays are sent to when its visible share is measured."""
_ON_SURFACE = 0.1
"""Farthest that the bottom of a thing is from the surface that it stands on [m]."""


@dataclass(frozen=True, slots=True, eq=False)
class Showing:
    """What of the things can show in images at one time; its arrays never change.

    surfaces (N,) are the things' surfaces; boxes (N, 6) [m] their low and high corners; hidden
    (N,) tells which are in a hand or a closed container.
    """

    surfaces: tuple[ObjectMesh, ...]
    boxes: npt.NDArray[np.float64]
    hidden: npt.NDArray[np.bool_]

    def changes(self, later: Showing) -> npt.NDArray[np.float64] | None:
        """Return the boxes (M, 6) [m] within which there was or is another sight later, or None."""
        if later is self:
            return None
        moved = [a is not b for a, b in zip(self.surfaces, later.surfaces, strict=True)]
        changed = np.array(moved) | (self.hidden != later.hidden)
        before = self.boxes[changed & ~self.hidden]
        after = later.boxes[changed & ~later.hidden]
        return np.concatenate([before, after]) if len(before) + len(after) else None


class Things:
    """All things of a house and their state; `revision` counts the changes.

    A thing's row is its index in `ids`; its instance number in images is `first_instance` + row.
    What a robot holds is in `held` (thing -> robot): it is in a hand and in no image.
    `showing` is what can show in images now, another object after every change.
    """

    def __init__(self, house: House, first_instance: int) -> None:
        self.things: dict[str, SceneObject] = {t.id: copy.deepcopy(t) for t in house.objects}
        self.ids: list[str] = list(self.things)
        self.rows: dict[str, int] = {name: k for k, name in enumerate(self.ids)}
        self.first_instance = first_instance
        self.revision = 0
        self.held: dict[str, str] = {}
        self.labels: list[str] = [self.things[name].label.top for name in self.ids]
        count = len(self.ids)
        self.surfaces: list[ObjectMesh] = []
        self.points: Floats = np.zeros((count, SAMPLES, 3), dtype=np.float32)
        self.centers = np.zeros((count, 3))
        self.extents = np.zeros(count)
        self.hidden = np.zeros(count, dtype=bool)
        self._boxes = np.zeros((count, 6))
        for row, name in enumerate(self.ids):
            self.surfaces.append(object_mesh(self.things[name]))
            self._measure(row)
        self._hide()

    def __iter__(self) -> Iterator[SceneObject]:
        """Iterate over all things."""
        return iter(self.things.values())

    def upon(self, support: str) -> list[SceneObject]:
        """Return what stands on or in a thing, at any depth."""
        out: list[SceneObject] = []
        for thing in self.things.values():
            if support in (thing.support, thing.container):
                out += [thing, *self.upon(thing.id)]
        return out

    def boxes_on(self, owner: str, height: float, besides: str = "") -> list[Box]:
        """Return the boxes of what stands on or in furniture, on its surface at a height [m].

        Args:
            owner: Id of the furniture.
            height: Of the surface, in the house [m].
            besides: Id of a thing that does not count.
        """
        return [
            thing.box
            for thing in self
            if thing.id not in (besides, *self.held)
            and owner in (thing.support, thing.container)
            and abs(thing.box.bottom - height) < _ON_SURFACE
        ]

    def closed_around(self, thing: SceneObject) -> SceneObject | None:
        """Return the closed container that hides a thing, or None."""
        seen: set[str] = set()
        owner = thing.container or thing.support
        while owner and owner in self.things and owner not in seen:
            seen.add(owner)
            holder = self.things[owner]
            if thing.container == owner and holder.is_open is False:
                return holder
            thing, owner = holder, holder.container or holder.support
        return None

    def set_open(self, name: str, is_open: bool) -> None:
        """Open or close a container."""
        self.things[name].is_open = is_open
        self._changed([name])

    def change(self, name: str, properties: Mapping[str, str]) -> None:
        """Note what a thing is now, such as {"state": "clean"}."""
        self.things[name].properties.update(properties)
        self._changed([name])

    def take(self, name: str, robot: str) -> None:
        """Put a thing, and what stands on or in it, into a robot's hand."""
        thing = self.things[name]
        for item in (thing, *self.upon(name)):
            self.held[item.id] = robot
        thing.support, thing.container, thing.room = "", "", ""
        thing.properties.pop("receptacle", None)
        self._changed([name])

    def put(self, name: str, box: Box, room: str, support: str = "", container: str = "") -> None:
        """Take a thing out of a hand and put it somewhere; what stands on or in it goes along."""
        thing = self.things[name]
        old, riders = thing.box, self.upon(name)
        thing.box, thing.room, thing.support, thing.container = box, room, support, container
        for rider in riders:
            rider.box, rider.room = _carried(rider.box, old, box), room
        for item in (thing, *riders):
            self.held.pop(item.id, None)
        self._changed([name, *(rider.id for rider in riders)])

    def carry(self, name: str, center: Vec3, yaw: float) -> None:
        """Tell where a held thing is now; no change that images or detectors see."""
        thing = self.things[name]
        moved = replace(thing.box, center=center, yaw=yaw)
        for rider in self.upon(name):
            rider.box = _carried(rider.box, thing.box, moved)
        thing.box = moved

    def _changed(self, names: Iterable[str]) -> None:
        self.revision += 1
        for name in names:
            row = self.rows[name]
            self.surfaces[row] = object_mesh(self.things[name])
            self._measure(row)
        self._hide()

    def _hide(self) -> None:
        for row, name in enumerate(self.ids):
            thing = self.things[name]
            self.hidden[row] = name in self.held or self.closed_around(thing) is not None
        self.showing = Showing(tuple(self.surfaces), self._boxes.copy(), self.hidden.copy())

    def _measure(self, row: int) -> None:
        """Spread sample points over a thing's surface, the same ones on every run."""
        surface = self.surfaces[row]
        corners = surface.vertices[surface.triangles].astype(np.float64)
        area = np.linalg.norm(
            np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
        )
        rng = np.random.default_rng(zlib.crc32(self.ids[row].encode()))
        share = np.cumsum(area) / max(float(area.sum()), 1e-12)
        picks = np.searchsorted(share, (np.arange(SAMPLES) + 0.5) / SAMPLES)
        u, v = rng.random((2, SAMPLES))
        over = u + v > 1.0
        u, v = np.where(over, 1.0 - u, u), np.where(over, 1.0 - v, v)
        chosen = corners[np.minimum(picks, len(corners) - 1)]
        points = (
            chosen[:, 0]
            + u[:, None] * (chosen[:, 1] - chosen[:, 0])
            + v[:, None] * (chosen[:, 2] - chosen[:, 0])
        )
        box = self.things[self.ids[row]].box
        self.points[row] = points.astype(np.float32)
        self._boxes[row] = (*surface.vertices.min(axis=0), *surface.vertices.max(axis=0))
        self.centers[row] = box.center
        a, b = sorted(box.size)[1:]
        self.extents[row] = float(np.sqrt(a * b))


def _carried(rider: Box, old: Box, new: Box) -> Box:
    """Return where a box that stood on `old` is when that has moved to `new`."""
    turn = new.yaw - old.yaw
    c, s = float(np.cos(turn)), float(np.sin(turn))
    dx, dy, dz = (r - o for r, o in zip(rider.center, old.center, strict=True))
    center = (
        new.center[0] + c * dx - s * dy,
        new.center[1] + s * dx + c * dy,
        new.center[2] + dz,
    )
    return replace(rider, center=center, yaw=rider.yaw + turn)
