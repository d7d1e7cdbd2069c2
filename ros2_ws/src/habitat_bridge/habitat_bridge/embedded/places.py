"""Places of a house: spots to stand on in every room, at doors and stairs; ways between them."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import networkx as nx
import numpy as np
from scipy.spatial import cKDTree

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Vec2, Vec3
from coterie_world.scene import Place, PlaceLink
from habitat_bridge.embedded.navigation import BodySpace
from habitat_bridge.embedded.occupancy import BodyKey, Occupancy
from habitat_bridge.house.house import House

WALKER = Embodiment(name="walker", mobility="legs", radius=0.22, height=1.0, step_height=0.22)
"""The body that places and links are laid out for: slim, and it takes stairs."""

_ROOMY = 0.30  # [m] clearance a good place has
_COVER = 2.0  # [m] how far from a place a room counts as covered
_COVERED = 0.92  # share of a room's floor that shall be covered
_DOORSIDE = 0.6  # [m] from a door's centre to the place beside it
_NEAR = 1.0  # [m] closer than this two places are one
_LINK = 5.0  # [m] longest link
_BENT = 1.3  # a link within a room may be so much longer than the straight line
_DETOUR = 1.04  # a link is left out if going by a third place is no longer than this
_COARSE = 4  # candidates lie on every fourth cell


@dataclass(slots=True)
class PlaceMap:
    """Places and links of a house, the same for all robots.

    `links` holds each way once, keyed by the two ids in order; `stairs` tells which of them are
    stairs.
    """

    places: dict[str, Place]
    links: dict[tuple[str, str], PlaceLink]
    stairs: dict[tuple[str, str], str]


def build_places(occupancy: Occupancy) -> PlaceMap:
    """Lay out the places of a house; deterministic.

    Every room gets a place at its most open spot near the middle, one inside each of its doors, one
    at each end of stairs, and as many more as it takes to come within 2 m of nearly all of its
    floor. Links are straight ways free
    for `WALKER`, or within a room ways around furniture that are hardly longer; a link is left out
    where going by a third place is as short. Where links leave parts apart that a walk joins, that
    walk becomes a link.
    """
    return _Builder(occupancy).build()


class _Builder:
    def __init__(self, occupancy: Occupancy) -> None:
        self.occ = occupancy
        self.house: House = occupancy.house
        self.space = BodySpace(occupancy, BodyKey.of(WALKER))
        self.spots: list[Vec3] = []
        self.room_of: list[str] = []

    def build(self) -> PlaceMap:
        ends: dict[str, tuple[int, int]] = {}
        for stairs in self.house.stairs:
            low = self.space.nearest_free(stairs.bottom, 0.5)
            high = self.space.nearest_free(stairs.top, 0.5)
            if low is not None and high is not None:
                ends[stairs.id] = (
                    self._add(low, stairs.room_low),
                    self._add(high, stairs.room_high),
                )
        for index, room in enumerate(self.house.rooms):
            self._fill(index, room.id)
        graph = self._link()
        self._repair(graph)
        self._drop_pockets(graph, ends)
        return self._map(graph, ends)

    def _add(self, point: Vec3, room: str) -> int:
        self.spots.append(point)
        self.room_of.append(room)
        return len(self.spots) - 1

    def _near(self, point: Vec3, room: str, limit: float) -> bool:
        return any(
            owner == room and math.dist(spot, point) < limit
            for spot, owner in zip(self.spots, self.room_of, strict=True)
        )

    def _fill(self, index: int, room: str) -> None:
        occ = self.occ
        floor = next(
            k for k, f in enumerate(self.house.floors) if f.id == self.house.rooms[index].floor
        )
        z = self.space.height(floor)
        clearance = self.space.clearance[floor]
        mine = (occ.room_raster(floor) == index) & self.space.free[floor]
        if not mine.any():
            return
        rows, cols = np.nonzero(mine)
        xs = occ.origin[0] + (cols + 0.5) * 0.05
        ys = occ.origin[1] + (rows + 0.5) * 0.05
        space = clearance[rows, cols]
        off = np.hypot(xs - xs.mean(), ys - ys.mean())
        best = int(np.argmax(np.minimum(space, 1.0) - 0.35 * off))
        centre = (float(xs[best]), float(ys[best]), z)
        if not self._near(centre, room, _NEAR):
            self._add(centre, room)
        for door in self.house.doors:
            if room in (door.room_a, door.room_b) and door.floor == self.house.floors[floor].id:
                self._beside(door.center, door.yaw, index, room, floor)
        self._cover(xs, ys, space, z, room)

    def _beside(self, center: Vec3, yaw: float, index: int, room: str, floor: int) -> None:
        """Add a place inside a door unless one is near that looks straight at it."""
        normal = (-math.sin(yaw), math.cos(yaw))
        for ahead in (_DOORSIDE, 0.75, 0.45, 0.9):
            for sign in (1.0, -1.0):
                x, y = center[0] + sign * ahead * normal[0], center[1] + sign * ahead * normal[1]
                point = (x, y, self.space.height(floor))
                if self.occ.room_index(point) == index and self.space.is_free(point):
                    if not self._near(point, room, _NEAR):
                        self._add(point, room)
                    return

    def _cover(
        self,
        xs: np.ndarray,
        ys: np.ndarray,
        space: np.ndarray,
        z: float,
        room: str,
    ) -> None:
        """Add places until nearly all of a room's floor is within reach of one (greedy cover)."""
        sparse = slice(None, None, _COARSE)
        px, py = xs[sparse], ys[sparse]
        open_ = np.ones(len(px), dtype=bool)
        for spot, owner in zip(self.spots, self.room_of, strict=True):
            if owner == room:
                open_ &= np.hypot(px - spot[0], py - spot[1]) > _COVER
        roomy = space[sparse] >= _ROOMY
        cx, cy = (px[roomy], py[roomy]) if roomy.any() else (px, py)
        cs = space[sparse][roomy] if roomy.any() else space[sparse]
        # Counted down as more is covered: a table of what is within reach of what would have the
        # square of a hall's size.
        floor, chosen = np.stack([px, py], axis=1), np.stack([cx, cy], axis=1)
        candidates = cKDTree(chosen)
        count = cKDTree(floor[open_]).query_ball_point(chosen, _COVER, return_length=True)
        while open_.sum() > (1.0 - _COVERED) * len(px):
            gain = count + 0.5 * np.minimum(cs, 1.0)
            best = int(np.argmax(gain))
            if gain[best] < 1.0:
                return
            point = (float(cx[best]), float(cy[best]), z)
            if not self._near(point, room, _NEAR):
                self._add(point, room)
            new = open_ & ((px - cx[best]) ** 2 + (py - cy[best]) ** 2 <= _COVER**2)
            open_ &= ~new
            near = np.array(candidates.query_ball_point(chosen[best], 2.0 * _COVER + 0.01))
            x, y = cx[near, None] - px[new], cy[near, None] - py[new]
            count[near] -= (x**2 + y**2 <= _COVER**2).sum(axis=1)

    def _link(self) -> nx.Graph:
        graph: nx.Graph = nx.Graph()
        graph.add_nodes_from(range(len(self.spots)))
        self._join(graph)
        for a, b in sorted(graph.edges, key=lambda e: (-graph.edges[e]["length"], e)):
            length = graph.edges[a, b]["length"]
            for c in sorted(set(graph[a]) & set(graph[b])):
                if graph.edges[a, c]["length"] + graph.edges[c, b]["length"] < _DETOUR * length:
                    graph.remove_edge(a, b)
                    break
        return graph

    def _join(self, graph: nx.Graph) -> None:
        """Add all links: straight free ways, and nearly straight ones within a room."""
        for b, pb in enumerate(self.spots):
            floor = self.occ.floor_index(pb[2])
            bent: list[int] = []
            for a, pa in enumerate(self.spots[:b]):
                length = math.dist(pa, pb)
                if floor != self.occ.floor_index(pa[2]) or length > _LINK:
                    continue
                if self.space.line_free(floor, pa[:2], pb[:2]):
                    graph.add_edge(a, b, length=length, points=(pa, pb))
                elif self.room_of[a] == self.room_of[b]:
                    bent.append(a)
            routes = self.space.routes_to(pb, [self.spots[a] for a in bent], _BENT * _LINK)
            for a, route in zip(bent, routes, strict=True):
                if route is not None and route.length <= _BENT * math.dist(self.spots[a], pb):
                    graph.add_edge(a, b, length=route.length, points=route.points)

    def _repair(self, graph: nx.Graph) -> None:
        """Join parts that a walk joins by that walk, the shortest first."""
        for _ in range(len(self.spots)):
            parts = sorted((sorted(p) for p in nx.connected_components(graph)), key=lambda p: p[0])
            pair = self._closest_parts(parts)
            if pair is None:
                return
            route = self.space.plan(self.spots[pair[0]], self.spots[pair[1]])
            graph.add_edge(*pair, length=route.length, points=route.points)

    def _drop_pockets(self, graph: nx.Graph, ends: dict[str, tuple[int, int]]) -> None:
        """Leave out spots that furniture cuts off from the rest of the house."""
        if not self.spots:
            return  # nobody can stand anywhere
        whole = graph.copy()
        whole.add_edges_from(ends.values())
        largest = max(nx.connected_components(whole), key=lambda part: (len(part), -min(part)))
        graph.remove_nodes_from([k for k in range(len(self.spots)) if k not in largest])

    def _closest_parts(self, parts: list[list[int]]) -> tuple[int, int] | None:
        best: tuple[float, int, int] | None = None
        for i, part in enumerate(parts):
            for other in parts[i + 1 :]:
                a, b = self.spots[part[0]], self.spots[other[0]]
                same = self.occ.floor_index(a[2]) == self.occ.floor_index(b[2])
                if not same or not self.space.connected(a, b):
                    continue
                for m in part:
                    for n in other:
                        gap = math.dist(self.spots[m], self.spots[n])
                        if best is None or gap < best[0]:
                            best = (gap, m, n)
        return (best[1], best[2]) if best is not None else None

    def _map(self, graph: nx.Graph, ends: dict[str, tuple[int, int]]) -> PlaceMap:
        order = {room.id: k for k, room in enumerate(self.house.rooms)}
        ranked = sorted(graph.nodes, key=lambda k: (order.get(self.room_of[k], 10**6), k))
        name = {k: f"p{n}" for n, k in enumerate(ranked, start=1)}
        floors = self.house.floors
        places = {}
        for k in ranked:
            x, y, z = self.spots[k]
            floor = floors[self.occ.floor_index(z)]
            places[name[k]] = Place(name[k], (x, y, floor.elevation), self.room_of[k], floor.id)
        links: dict[tuple[str, str], PlaceLink] = {}
        for a, b in sorted(graph.edges):
            pieces = itertools.pairwise(graph.edges[a, b]["points"])
            width = min(self._width(p, q) for p, q in pieces)
            links[_pair(name[a], name[b])] = PlaceLink(
                name[a], name[b], graph.edges[a, b]["length"], width
            )
        stairs: dict[tuple[str, str], str] = {}
        for flight in self.house.stairs:
            if flight.id in ends and ends[flight.id][0] in name:
                low, high = (name[k] for k in ends[flight.id])
                length = math.dist(places[low].position, places[high].position)
                pair = _pair(low, high)
                links[pair] = PlaceLink(low, high, length, flight.width, flight.riser)
                stairs[pair] = flight.id
        return PlaceMap(places, links, stairs)

    def _width(self, a: Vec3, b: Vec3) -> float:
        """Clear width [m] of the straight way: of its door, or of what is narrowest."""
        floor = self.occ.floor_index(a[2])
        width = min(10.0, 2.0 * self.space.narrowest(floor, a[:2], b[:2]))
        for door in self.house.doors:
            if door.floor == self.house.floors[floor].id and _passes(a[:2], b[:2], door.center):
                width = min(width, door.width)
        return round(width, 3)


def _pair(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)


def _passes(a: Vec2, b: Vec2, center: Vec3) -> bool:
    """Tell whether the straight way from `a` to `b` goes within 0.4 m of a door's centre."""
    length2 = (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2
    if length2 == 0.0:
        return False
    t = ((center[0] - a[0]) * (b[0] - a[0]) + (center[1] - a[1]) * (b[1] - a[1])) / length2
    t = min(1.0, max(0.0, t))
    near = (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]))
    return math.dist(near, center[:2]) < 0.4
