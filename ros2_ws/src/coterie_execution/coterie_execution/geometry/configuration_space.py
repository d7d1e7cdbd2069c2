"""Where one kind of body can stand in a scene, which spots are joined, and what is in its way."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import networkx as nx
import numpy as np
import numpy.typing as npt
from scipy import ndimage

from coterie_core.geometry import Vec2, Vec3
from coterie_execution.geometry.body import Frame
from coterie_execution.geometry.floorplan import ANY_WIDTH, CELL, FloorPlan
from coterie_world.scene import SceneGraph

_SNAP = 1.2  # [m] how far from a wanted spot a robot may stand
_STAIRS_SNAP = 0.6  # [m] how far an end of stairs may lie from free space
_LEAST_PART = 4  # cells; smaller pockets are rounding
_EVERYWHERE = np.ones((3, 3), dtype=bool)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BasePoses:
    """Spots to stand on: x, y [m], clearance around the body [m], joined component; all (n,)."""

    x: Floats
    y: Floats
    clearance: Floats
    component: npt.NDArray[np.intp]

    def of_components(self, components: frozenset[int] | None) -> BasePoses:
        """Return those in certain components only (None: all)."""
        return self if components is None else self.where(self.among(components))

    def among(self, components: frozenset[int]) -> npt.NDArray[np.bool_]:
        """Tell (n,) which are in certain components."""
        return np.isin(self.component, list(components))

    def where(self, keep: npt.NDArray[np.bool_]) -> BasePoses:
        """Return those that a mask (n,) keeps."""
        return BasePoses(self.x[keep], self.y[keep], self.clearance[keep], self.component[keep])

    def __len__(self) -> int:
        """Return the number of spots."""
        return len(self.x)


class ConfigurationSpace:
    """Free space of a body: its spots by floor, and the components that it can walk between.

    Floors whose rooms have no outlines are known by their places and links alone.

    Args:
        plan: Rasters of the scene.
        scene: The scene; its places and connections count.
        frame: The body.
    """

    def __init__(self, plan: FloorPlan, scene: SceneGraph, frame: Frame) -> None:
        self.plan = plan
        self.frame = frame
        self._scene = scene
        self._labels: list[npt.NDArray[np.intp]] = []
        self._clearance: list[Floats] = []
        height, width = plan.shape
        self._xs: Floats = np.arange(width, dtype=np.float64) * CELL + (plan.origin[0] + CELL / 2)
        self._ys: Floats = np.arange(height, dtype=np.float64) * CELL + (plan.origin[1] + CELL / 2)
        count = 1
        for floor in range(len(plan.floors)):
            clearance = plan.clearance(frame, floor).astype(np.float64) - frame.radius
            labels, found = ndimage.label(clearance >= 0.0, _EVERYWHERE)
            sizes = np.bincount(labels.ravel(), minlength=found + 1)
            labels = np.where(sizes[labels] >= _LEAST_PART, labels, 0).astype(np.intp)
            self._labels.append(np.where(labels > 0, labels + count, 0))
            self._clearance.append(clearance)
            count += found + 1
        self._spots: dict[str, tuple[Vec3, int]] = {}
        links: nx.Graph = nx.Graph()
        links.add_nodes_from(range(count))
        self._join_places(links, count)
        for flight in plan.flights:
            way = flight.connection
            if not frame.stairs_trouble(f"stairs {way.id}", way.width, way.riser):
                ends = [
                    self._component_near(end, _STAIRS_SNAP) for end in (flight.bottom, flight.top)
                ]
                if min(ends) > 0:
                    links.add_edge(*ends)
        self._joined = np.zeros(links.number_of_nodes(), dtype=np.intp)
        for number, nodes in enumerate(nx.connected_components(links)):
            self._joined[list(nodes)] = number
        self._joined[0] = -1
        self._labels = [self._joined[labels] for labels in self._labels]
        self._spots = {
            name: (spot, int(self._joined[component]))
            for name, (spot, component) in self._spots.items()
        }
        self._mains: frozenset[int] | None = None
        self._beyond: dict[int, frozenset[int]] | None = None
        self._trouble: dict[tuple[str, str], str] = {}

    @property
    def main(self) -> frozenset[int]:
        """The component with most room, where a robot is while nobody knows where it is."""
        if self._mains is None:
            sizes = Counter(component for _, component in self._spots.values())
            for labels in self._labels:
                found, counts = np.unique(labels[labels >= 0], return_counts=True)
                sizes.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))
            best = max(sizes, key=lambda component: (sizes[component], -component), default=-1)
            self._mains = frozenset({best}) if best >= 0 else frozenset()
        return self._mains

    @property
    def places(self) -> dict[str, tuple[Vec3, int]]:
        """Place id -> where the body stands there [m], and its component; what fits only."""
        return self._spots

    def ignoring_observed_obstacles(self, components: frozenset[int]) -> frozenset[int]:
        """Return components, and those that furniture separates from them that was only seen.

        Boxes of seen furniture are rough, or there is none: only trying tells whether there is a
        way. Where ways between two components were measured, and are too narrow, there is none.
        """
        if not self.plan.rough:
            return components
        if self._beyond is None:
            self._beyond = self._without_seen()
        return components.union(
            *(self._beyond.get(component, frozenset()) for component in components)
        )

    def _without_seen(self) -> dict[int, frozenset[int]]:
        """Return component -> those that are one with it where seen furniture does not count."""
        together: dict[int, set[int]] = {}
        for floor, labels in enumerate(self._labels):
            clearance = self.plan.without_seen().clearance(self.frame, floor) - self.frame.radius
            whole, found = ndimage.label(clearance >= 0.0, _EVERYWHERE)
            pairs = np.unique(np.stack([whole[labels >= 0], labels[labels >= 0]]), axis=1)
            for number in range(1, found + 1):
                group = {int(component) for component in pairs[1, pairs[0] == number]}
                for component in group:
                    together.setdefault(component, set()).update(group)
        for name, (_, component) in self._spots.items():
            for other, link in self._scene.neighbours(name).items():
                # What was measured wide enough has joined them already.
                if other in self._spots and link.width < 2.0 * self.frame.radius:
                    together.get(component, set()).discard(self._spots[other][1])
        return {component: frozenset(group) for component, group in together.items()}

    def component_at(self, point: Vec3) -> int:
        """Return the part that a robot at or near a point [m] is in, -1: nowhere it can be."""
        floor = self.plan.floor_index(point[2])
        if floor in self.plan.outlined:
            row, col = self.plan.cell(point[0], point[1])
            if self._labels[floor][row, col] >= 0:
                return int(self._labels[floor][row, col])
        spot = self.stand(point)
        if spot is None:
            return -1
        if floor in self.plan.outlined:
            return int(self._labels[floor][self.plan.cell(spot[0], spot[1])])
        return min(
            ((math.dist(place, spot), component) for place, component in self._spots.values()),
            default=(0.0, -1),
        )[1]

    def stand(
        self, point: Vec3, tolerance: float = _SNAP, components: frozenset[int] | None = None
    ) -> Vec3 | None:
        """Return the nearest spot [m] to a point [m] within a tolerance [m], or None."""
        x, y, z = point
        floor = self.plan.floor_index(z)
        near = self.within(floor, (x - tolerance, y - tolerance), (x + tolerance, y + tolerance))
        near = near.of_components(components)
        if not len(near):
            return None
        away = np.hypot(near.x - x, near.y - y)
        k = int(np.argmin(away))
        if away[k] > tolerance + CELL:
            return None
        if away[k] < CELL and floor in self.plan.outlined:
            return (x, y, self.plan.elevation(floor))
        return (float(near.x[k]), float(near.y[k]), self.plan.elevation(floor))

    def within(self, floor: int, low: Vec2, high: Vec2, every: int = 1) -> BasePoses:
        """Return the spots of a floor within a rectangle [m], of every so many rows and columns."""
        if floor not in self.plan.outlined:
            return _at_places(
                (spot, component)
                for spot, component in self._spots.values()
                if self.plan.floor_index(spot[2]) == floor
                and low[0] <= spot[0] <= high[0]
                and low[1] <= spot[1] <= high[1]
            )
        r0, c0 = self.plan.cell(*low)
        r1, c1 = self.plan.cell(*high)
        window = np.s_[r0 : r1 + 1 : every, c0 : c1 + 1 : every]
        labels = self._labels[floor][window]
        rows, cols = np.nonzero(labels >= 0)
        clearance = self._clearance[floor][window]
        xs = self._xs[c0 : c1 + 1 : every]
        ys = self._ys[r0 : r1 + 1 : every]
        return BasePoses(xs[cols], ys[rows], clearance[rows, cols], labels[rows, cols])

    def cells(self, floor: int, component: int) -> npt.NDArray[np.bool_]:
        """Tell which cells (rows, columns of the plan) of a floor a part of free space has.

        Of a floor whose rooms have no outlines there are none.
        """
        out: npt.NDArray[np.bool_] = self._labels[floor] == component
        return out

    def in_room(self, room: str) -> BasePoses:
        """Return the spots of a room."""
        floor = self.plan.room_floor(room)
        number = self.plan.room_number.get(room, -1)
        if floor in self.plan.outlined:
            labels, clearance = self._labels[floor], self._clearance[floor]
            rows, cols = at = np.nonzero((self.plan.room_raster(floor) == number) & (labels >= 0))
            return BasePoses(self._xs[cols], self._ys[rows], clearance[at], labels[at])
        spots = self._spots.items()
        return _at_places(at for name, at in spots if self._scene.places[name].room == room)

    def line_free(self, floor: int, a: Vec2, b: Vec2) -> bool:
        """Tell whether the body can go straight from `a` to `b` (x, y) [m] on a floor."""
        return bool(self.lines_free(floor, a, np.array([b]))[0])

    def lines_free(self, floor: int, a: Vec2, ends: Floats) -> npt.NDArray[np.bool_]:
        """Tell to which of several points (n, 2) [m] the body can go straight from `a`."""
        if floor not in self.plan.outlined or not len(ends):
            return np.zeros(len(ends), dtype=bool)
        start = (np.array(a) - self.plan.origin) / CELL
        step = (ends - self.plan.origin) / CELL - start
        count = int(np.abs(step).sum(axis=1).max()) + 2
        t = np.arange(count + 1) / count
        cols = (start[0] + t * step[:, :1]).astype(np.intp)
        rows = (start[1] + t * step[:, 1:]).astype(np.intp)
        height, width = self.plan.shape
        np.clip(rows, 0, height - 1, out=rows)
        np.clip(cols, 0, width - 1, out=cols)
        free: npt.NDArray[np.bool_] = (self._labels[floor][rows, cols] >= 0).all(axis=1)
        return free

    def why_not(self, start: Vec3, goal: Vec3) -> str:
        """Return in words what keeps the body from going from `start` to `goal` [m]."""
        a, b = self._room(start), self._room(goal)
        if (a, b) not in self._trouble:
            self._trouble[a, b] = self._between(a, b)
        return self._trouble[a, b] or (
            f"furniture leaves no way {2.0 * self.frame.radius:.2f} m wide to "
            f"({goal[0]:.2f}, {goal[1]:.2f}, {goal[2]:.2f})"
        )

    def _between(self, a: str, b: str) -> str:
        rooms: nx.Graph = nx.Graph()
        rooms.add_nodes_from(self._scene.rooms)
        for door in self.plan.doors:
            way = door.connection
            trouble = self.frame.door_trouble(_named(way.id, way.kind), way.width)
            _add(rooms, way.room_a, way.room_b, trouble)
        for flight in self.plan.flights:
            way = flight.connection
            trouble = self.frame.stairs_trouble(_named(way.id, "stairs"), way.width, way.riser)
            _add(rooms, way.room_a, way.room_b, trouble)
        if a in rooms and b in rooms and nx.has_path(rooms, a, b):
            path = nx.shortest_path(rooms, a, b, weight="weight")
            for here, there in itertools.pairwise(path):
                if rooms.edges[here, there]["trouble"]:
                    return str(rooms.edges[here, there]["trouble"])
        return ""

    def _room(self, point: Vec3) -> str:
        room = self.plan.room_at(point)
        if room or not self._scene.places:
            return room
        near = min(self._scene.places.values(), key=lambda p: (math.dist(p.position, point), p.id))
        return near.room

    def _component_near(self, point: Vec3, tolerance: float) -> int:
        """Return the not yet joined component near a point, 0: none."""
        floor = self.plan.floor_index(point[2])
        row, col = self.plan.cell(point[0], point[1])
        reach = int(tolerance / CELL) + 1
        window = np.s_[max(0, row - reach) : row + reach + 1, max(0, col - reach) : col + reach + 1]
        labels = self._labels[floor][window]
        cells = np.argwhere(labels > 0)
        if not len(cells):
            return 0
        away = np.hypot(cells[:, 0] - min(row, reach), cells[:, 1] - min(col, reach))
        k = int(np.argmin(away))
        return int(labels[tuple(cells[k])]) if away[k] * CELL <= tolerance else 0

    def _join_places(self, links: nx.Graph, count: int) -> None:
        """Find where the body stands at places; join by links what has no outlines.

        Within a room links whose clear width is known join, too, where furniture was seen only:
        its boxes are rough.
        """
        numbers: dict[str, int] = {}
        inside: list[str] = []
        for place in self._scene.places.values():
            floor = self.plan.floor_index(place.position[2])
            if floor in self.plan.outlined:
                component = self._component_near(place.position, 0.5)
                if component > 0:
                    self._spots[place.id] = (place.position, component)
                    inside.append(place.id)
            else:
                numbers[place.id] = count + len(numbers)
                links.add_node(numbers[place.id])
                self._spots[place.id] = (place.position, numbers[place.id])
        for name in numbers:
            for other, link in self._scene.neighbours(name).items():
                if other not in self._spots or self.link_trouble(name, other):
                    continue
                if link.width >= 2.0 * self.frame.radius:
                    links.add_edge(self._spots[name][1], self._spots[other][1])
        places = self._scene.places
        for name in inside if self.plan.rough else ():
            for other, link in self._scene.neighbours(name).items():
                if other not in self._spots or not places[name].room == places[other].room != "":
                    continue
                if 2.0 * self.frame.radius <= link.width < ANY_WIDTH:
                    links.add_edge(self._spots[name][1], self._spots[other][1])

    def link_trouble(self, a: str, b: str) -> str:
        """Return "" unless a link of places leads up risers that the body does not take."""
        link = self._scene.links[a][b]
        ends = self._scene.places[a].position[2], self._scene.places[b].position[2]
        if link.riser > 0.0 or abs(ends[0] - ends[1]) > 1.5:
            return self.frame.stairs_trouble(f"the way {a} to {b}", link.width, link.riser)
        return ""


def _at_places(spots: Iterable[tuple[Vec3, int]]) -> BasePoses:
    """Return places of a floor without outlines, and their components, as spots."""
    table = np.array([(x, y, 0.5, at) for (x, y, _), at in spots], dtype=float).reshape(-1, 4)
    return BasePoses(table[:, 0], table[:, 1], table[:, 2], table[:, 3].astype(np.intp))


def _named(name: str, kind: str) -> str:
    return name if kind in name else f"{kind} {name}"


def _add(rooms: nx.Graph, a: str, b: str, trouble: str) -> None:
    """Add a way between rooms unless a better one is known."""
    if rooms.has_edge(a, b) and not rooms.edges[a, b]["trouble"]:
        return
    rooms.add_edge(a, b, trouble=trouble, weight=100.0 if trouble else 1.0)
