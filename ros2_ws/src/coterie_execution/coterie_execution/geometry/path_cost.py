"""Lengths and times of ways for a body: shortest paths over the places that it can stand at."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from coterie_core.geometry import Vec3
from coterie_execution.geometry.body import Body
from coterie_execution.geometry.configuration_space import ConfigurationSpace
from coterie_world.scene import PlaceLink, SceneGraph

_ENTRIES = 4  # places tried from where a robot stands
_AROUND = 1.3  # a way around furniture is so much longer than the straight line
_TURN_PER_METRE = 0.35  # [rad/m] that ways through rooms bend
_FIRST_TURN = 1.2  # [rad] until a robot faces its way
UNCERTAIN_PATH_PENALTY_S = 30.0
"""Time [s] that a way counts for on top, of which only trying tells whether it is there."""

Floats = npt.NDArray[np.float64]


class Ways:
    """Ways of one body.

    Places that the body fits at are joined by the scene's links; a link too narrow to go straight
    counts a third more, if there is a way around at all. Where a scene has no places, rooms and
    the doors and stairs between them take their part.
    """

    def __init__(self, scene: SceneGraph, space: ConfigurationSpace, body: Body) -> None:
        self.space = space
        self.body = body
        network = _of_places if scene.places else _of_rooms
        names, spots, components, edges = network(scene, space)
        self.rooms_of = names
        self.spots = np.array(spots, dtype=float).reshape(-1, 3)
        self.components = np.array(components, dtype=np.intp)
        self._floors = np.array([space.plan.floor_index(z) for z in self.spots[:, 2]], dtype=int)
        count = len(spots)
        rows = [a for a, _, _ in edges]
        cols = [b for _, b, _ in edges]
        weights = [max(length, 1e-6) for _, _, length in edges]
        if count:
            graph = csr_matrix((weights, (rows, cols)), shape=(count, count))
            self.lengths, self.before = dijkstra(graph, directed=False, return_predecessors=True)
        else:
            self.lengths, self.before = np.zeros((0, 0)), np.zeros((0, 0), dtype=int)
        self._entries: dict[Vec3, tuple[npt.NDArray[np.intp], Floats]] = {}

    def time(self, length: float) -> float:
        """Return how long a way of so many metres takes [s]."""
        return float(self.time_of(np.asarray(length)))

    def time_of(self, lengths: Floats) -> Floats:
        """Return the times [s] of many ways [m], of any shape."""
        turned = np.where(lengths > 1e-6, _FIRST_TURN + _TURN_PER_METRE * lengths, 0.0)
        out: Floats = lengths / self.body.speed + turned / self.body.turn
        return out

    def length(self, start: Vec3, goal: Vec3) -> tuple[float, tuple[str, ...]]:
        """Return the length [m] of the way between two spots of one component, and the rooms on it.

        Infinite where the network has no way although free space has one.
        """
        plan = self.space.plan
        straight = math.dist(start[:2], goal[:2])
        ends = tuple(dict.fromkeys(r for r in (plan.room_at(start), plan.room_at(goal)) if r))
        same = plan.floor_index(start[2]) == plan.floor_index(goal[2])
        if self._is_straight(start, goal):
            return straight, ends
        best, route = self._through(start, goal)
        if same and len(ends) < 2 and straight * _AROUND < best:
            return straight * _AROUND, ends
        if not math.isfinite(best):
            # Parts that only a squeeze joins: what the straight line tells, and no rooms between.
            return (straight * _AROUND if same else math.inf), ends
        rooms = [self.rooms_of[k] for k in route]
        inner = [room for room in rooms if room]
        return best, tuple(dict.fromkeys([*ends[:1], *inner, *ends[-1:]]))

    def points(self, start: Vec3, goal: Vec3) -> tuple[Vec3, ...]:
        """Return the way between two spots as points [m], from `start` to `goal`.

        Where the network has no way it is the straight line.
        """
        route = [] if self._is_straight(start, goal) else self._through(start, goal)[1]
        between = ((float(x), float(y), float(z)) for x, y, z in self.spots[route])
        return (start, *between, goal)

    def _is_straight(self, start: Vec3, goal: Vec3) -> bool:
        """Tell whether the body can go straight from one spot to the other one."""
        floor = self.space.plan.floor_index(start[2])
        if floor != self.space.plan.floor_index(goal[2]):
            return False
        near = math.dist(start[:2], goal[:2]) < 0.1
        return near or self.space.line_free(floor, start[:2], goal[:2])

    def _through(self, start: Vec3, goal: Vec3) -> tuple[float, list[int]]:
        """Return the length [m] of the way through the network, infinite: none; and its nodes."""
        a, to_a = self._enter(start)
        b, to_b = self._enter(goal)
        if not (len(a) and len(b)):
            return math.inf, []
        total = to_a[:, None] + self.lengths[np.ix_(a, b)] + to_b[None, :]
        i, j = np.unravel_index(int(np.argmin(total)), total.shape)
        best = float(total[i, j])
        return best, self._route(int(a[i]), int(b[j])) if math.isfinite(best) else []

    def matrix(self, spots: Sequence[Vec3]) -> Floats:
        """Return the lengths [m] (n, n) of the ways between spots, infinite where none is known.

        As `length`, but without looking whether the straight line is free.
        """
        count = len(spots)
        index = np.full((count, _ENTRIES), -1, dtype=np.intp)
        cost = np.full((count, _ENTRIES), np.inf)
        for k, spot in enumerate(spots):
            places, away = self._enter(spot)
            index[k, : len(places)] = places
            cost[k, : len(places)] = away
        out = np.full((count, count), np.inf)
        if self.lengths.size:
            for i in range(_ENTRIES):
                for j in range(_ENTRIES):
                    way = cost[:, None, i] + self.lengths[index[:, None, i], index[None, :, j]]
                    np.minimum(out, way + cost[None, :, j], out=out)
        points = np.array(spots, dtype=float).reshape(-1, 3)
        straight = np.hypot(
            points[:, None, 0] - points[None, :, 0], points[:, None, 1] - points[None, :, 1]
        )
        plan = self.space.plan
        rooms = np.array(
            [plan.room_number.get(plan.room_at(s), -1 - k) for k, s in enumerate(spots)]
        )
        floors = np.array([plan.floor_index(s[2]) for s in spots])
        if not np.isfinite(out).all():
            tried = self._only_trying_tells(spots) & (floors[:, None] == floors[None, :])
            far = straight * _AROUND + UNCERTAIN_PATH_PENALTY_S * self.body.speed
            out = np.where(tried, np.minimum(out, far), out)
        near = (rooms[:, None] == rooms[None, :]) | (
            (floors[:, None] == floors[None, :]) & (straight < 0.1)
        )
        return np.where(near, np.minimum(out, straight * 1.1), np.maximum(out, straight))

    def _only_trying_tells(self, spots: Sequence[Vec3]) -> npt.NDArray[np.bool_]:
        """Tell (n, n) which spots only furniture separates that was seen."""
        components = [self.space.component_at(spot) for spot in spots]
        beyond = {
            component: self.space.ignoring_observed_obstacles(frozenset({component}))
            for component in set(components)
        }
        return np.array(
            [[a != b and b in beyond[a] for b in components] for a in components], dtype=bool
        )

    def _enter(self, spot: Vec3) -> tuple[npt.NDArray[np.intp], Floats]:
        """Return the places nearest to a spot and the lengths [m] of the ways there."""
        known = self._entries.get(spot)
        if known is not None:
            return known
        floor = self.space.plan.floor_index(spot[2])
        component = self.space.component_at(spot)
        usable = np.flatnonzero((self._floors == floor) & (self.components == component))
        away = np.hypot(self.spots[usable, 0] - spot[0], self.spots[usable, 1] - spot[1])
        order = np.argsort(away, kind="stable")[: 2 * _ENTRIES]
        places, lengths = usable[order], away[order]
        free = self.space.lines_free(floor, (spot[0], spot[1]), self.spots[places, :2])
        lengths = np.where(free, lengths, lengths * _AROUND + 0.5)
        best = np.argsort(lengths, kind="stable")[:_ENTRIES]
        self._entries[spot] = places[best], lengths[best]
        return self._entries[spot]

    def _route(self, a: int, b: int) -> list[int]:
        route = [b]
        while route[-1] != a and self.before[a, route[-1]] >= 0:
            route.append(int(self.before[a, route[-1]]))
        return route[::-1]


_Network = tuple[list[str], list[Vec3], list[int], list[tuple[int, int, float]]]
"""Rooms, spots and components of the nodes, and the edges (a, b, length [m])."""


def _of_places(scene: SceneGraph, space: ConfigurationSpace) -> _Network:
    ids = sorted(space.places)
    number = {name: k for k, name in enumerate(ids)}
    edges = []
    for name in ids:
        for other, link in scene.neighbours(name).items():
            if other in number and name < other:
                length = _link_length(space, name, other, link)
                if math.isfinite(length):
                    edges.append((number[name], number[other], length))
    return (
        [scene.places[name].room for name in ids],
        [space.places[name][0] for name in ids],
        [space.places[name][1] for name in ids],
        edges,
    )


def _link_length(space: ConfigurationSpace, a: str, b: str, link: PlaceLink) -> float:
    (here, component), (there, other) = space.places[a], space.places[b]
    if component != other or space.link_trouble(a, b):
        return math.inf
    plan = space.plan
    floor = plan.floor_index(here[2])
    level = floor == plan.floor_index(there[2])
    if not level or floor not in plan.outlined or space.line_free(floor, here[:2], there[:2]):
        return link.length
    return link.length * _AROUND


def _of_rooms(scene: SceneGraph, space: ConfigurationSpace) -> _Network:
    """Return a network of rooms' middles, both sides of doors, and ends of stairs."""
    rooms: list[str] = []
    spots: list[Vec3] = []
    components: list[int] = []
    inside: dict[str, list[int]] = {}

    def add(point: Vec3, room: str) -> int:
        spot = space.stand(point)
        if spot is None:
            return -1
        rooms.append(room)
        spots.append(spot)
        components.append(space.component_at(spot))
        inside.setdefault(room, []).append(len(spots) - 1)
        return len(spots) - 1

    plan = space.plan
    edges: list[tuple[int, int, float]] = []
    for room in scene.rooms.values():
        if len(room.polygon) >= 3:
            stands = space.in_room(room.id)
            if len(stands):
                x, y = float(np.median(stands.x)), float(np.median(stands.y))
                add((x, y, plan.elevation(plan.room_floor(room.id))), room.id)
    ways = [(d.connection, (d.connection.position, d.connection.position)) for d in plan.doors]
    ways += [(f.connection, (f.bottom, f.top)) for f in plan.flights]
    for way, (low, high) in ways:
        a, b = (way.room_a, way.room_b)
        if plan.room_floor(a) > plan.room_floor(b):
            a, b = b, a
        i, j = add(low, a), add(high, b)
        if i >= 0 and j >= 0:
            edges.append((i, j, max(math.dist(low, high), math.dist(spots[i], spots[j]))))
    for nodes in inside.values():
        for n, i in enumerate(nodes):
            edges += [(i, j, math.dist(spots[i], spots[j])) for j in nodes[n + 1 :]]
    return rooms, spots, components, [e for e in edges if components[e[0]] == components[e[1]]]
