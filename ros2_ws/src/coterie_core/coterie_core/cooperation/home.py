"""Rooms and ways of a home that cooperating agents know: distances and A* routes between spots."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from coterie_core.geometry import Vec2, Vec3


class Spot(NamedTuple):
    """Where somebody stands: room id and position in the map frame [m]."""

    room: str
    position: Vec3


@dataclass(frozen=True, slots=True)
class HomeRoom:
    """A room: id, name, kind of room, centre and outline (x, y) in the map frame [m]."""

    id: str
    name: str
    type: str
    center: Vec3
    outline: tuple[Vec2, ...] = ()

    @property
    def spot(self) -> Spot:
        """The middle of the room."""
        return Spot(self.id, self.center)


@dataclass(frozen=True, slots=True)
class Gate:
    """A way between two rooms: where one stands on either side [m] (the same point for a door)."""

    id: str
    room_a: str
    room_b: str
    point_a: Vec3
    point_b: Vec3


class NoRoute(ValueError):
    """There is no way between two rooms."""


class Walkways:
    """The map that all agents of a home share: rooms, gates, and how far it is between spots.

    Within a room one walks straight; between rooms through gates, along shortest paths that are
    precomputed once (distances) and found by A* on first use (routes).

    Args:
        rooms: All rooms.
        gates: Doors, openings, stairs.

    Attributes:
        rooms: Room by id.
        gates: All ways between rooms.
    """

    def __init__(self, rooms: Iterable[HomeRoom], gates: Iterable[Gate]) -> None:
        import networkx as nx  # half a second: team files are read without it

        self.rooms: Mapping[str, HomeRoom] = {room.id: room for room in rooms}
        self.gates: tuple[Gate, ...] = tuple(gates)
        self._points: dict[tuple[str, str], Vec3] = {}
        self._sides: dict[str, list[tuple[str, str]]] = {name: [] for name in self.rooms}
        graph: Any = nx.Graph()
        for gate in self.gates:
            sides = ((gate.id, gate.room_a), (gate.id, gate.room_b))
            for side, point in zip(sides, (gate.point_a, gate.point_b), strict=True):
                if side[1] not in self.rooms:
                    raise ValueError(f"gate {gate.id!r}: there is no room {side[1]!r}")
                self._points[side] = point
                self._sides[side[1]].append(side)
                graph.add_node(side)
            graph.add_edge(*sides, weight=math.dist(gate.point_a, gate.point_b))
        for sides_here in self._sides.values():
            for a, b in itertools.combinations(sides_here, 2):
                graph.add_edge(a, b, weight=math.dist(self._points[a], self._points[b]))
        self._graph = graph
        self._between: dict[tuple[str, str], dict[tuple[str, str], float]] = {
            a: dict(found) for a, found in nx.all_pairs_dijkstra_path_length(graph)
        }
        self._pairs: dict[tuple[str, str], list[tuple[Vec3, float, Vec3, Any, Any]]] = {}
        self.distance = lru_cache(maxsize=20_000)(self._distance)
        self._passage = lru_cache(maxsize=4_000)(self._find_passage)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        del state["distance"], state["_passage"]  # caches do not travel between processes
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.distance = lru_cache(maxsize=20_000)(self._distance)
        self._passage = lru_cache(maxsize=4_000)(self._find_passage)

    def _distance(self, a: Spot, b: Spot) -> float:
        """Return the length of the shortest way between two spots [m] (inf where there is none)."""
        if a.room == b.room:
            return math.dist(a.position, b.position)
        best = math.inf
        for near, between, far, _, _ in self._connections(a.room, b.room):
            length = math.dist(a.position, near) + between + math.dist(far, b.position)
            if length < best:
                best = length
        return best

    def route(self, a: Spot, b: Spot) -> list[Spot]:
        """Return the spots to walk through from `a` to `b`; the room is that of the leg before.

        Raises:
            NoRoute: The rooms are not connected.
        """
        if a.room == b.room:
            return [b]
        options = self._connections(a.room, b.room)
        if not options:
            raise NoRoute(f"there is no way from room {a.room!r} to room {b.room!r}")
        _, _, _, first, last = min(
            options,
            key=lambda o: math.dist(a.position, o[0]) + o[1] + math.dist(o[2], b.position),
        )
        return [*self._passage(first, last), b]

    def rooms_between(self, a: Spot, b: Spot) -> list[str]:
        """Return the rooms that the shortest way leads through, both ends included."""
        return list(dict.fromkeys([a.room, *(spot.room for spot in self.route(a, b))]))

    def _connections(
        self, room_a: str, room_b: str
    ) -> list[tuple[Vec3, float, Vec3, tuple[str, str], tuple[str, str]]]:
        key = (room_a, room_b)
        found = self._pairs.get(key)
        if found is None:
            found = [
                (self._points[g], self._between[g][h], self._points[h], g, h)
                for g in self._sides.get(room_a, ())
                for h in self._sides.get(room_b, ())
                if h in self._between[g]
            ]
            self._pairs[key] = found
        return found

    def _find_passage(self, first: tuple[str, str], last: tuple[str, str]) -> tuple[Spot, ...]:
        import networkx as nx

        points = self._points
        path = nx.astar_path(
            self._graph, first, last, heuristic=lambda u, v: math.dist(points[u], points[v])
        )
        return tuple(Spot(room, points[(gate, room)]) for gate, room in path)


def advance(position: Spot, legs: list[Spot], stride: float) -> tuple[Spot, float]:
    """Walk along `legs` (consumed as they are passed) for at most `stride` [m].

    Returns:
        The new position, and the distance walked [m].
    """
    room, here = position
    left = stride
    while legs and left > 1e-9:
        goal = legs[0]
        length = math.dist(here, goal.position)
        if length <= left + 1e-9:
            room, here = goal.room, goal.position
            left -= length
            legs.pop(0)
            continue
        share = left / length
        here = tuple(p + share * (q - p) for p, q in zip(here, goal.position, strict=True))  # type: ignore[assignment]
        room = goal.room if goal.room == room else room
        left = 0.0
    return Spot(room, here), stride - max(left, 0.0)
