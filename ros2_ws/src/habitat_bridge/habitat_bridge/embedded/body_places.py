"""Places as one kind of body can use them: where it stands at each, and where it can hop."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np

from coterie_core.geometry import Vec3
from habitat_bridge.embedded.navigation import BodySpace
from habitat_bridge.embedded.places import PlaceMap

_SHIFT = 0.4  # [m] how far from a place a body may stand and still be there
_OTHER_ROOM = 2.0  # [m] added to the distance of places in another room


class BodyPlaces:
    """The places and links of a house for one kind of body.

    A link is usable if the body can stand at both ends and the way between is hardly longer than
    the straight one; stairs, if it can take them.
    """

    def __init__(self, space: BodySpace, places: PlaceMap) -> None:
        self.space = space
        self.map = places
        self.ids = list(places.places)
        self._positions = np.array([places.places[k].position for k in self.ids]).reshape(-1, 3)
        self._rooms = np.array([places.places[k].room for k in self.ids], dtype=object)
        self._floors = np.array(
            [space.occupancy.floor_index(z) for z in self._positions[:, 2]], dtype=int
        )
        self._links: dict[str, list[tuple[str, tuple[str, str]]]] = {k: [] for k in self.ids}
        for pair in places.links:
            self._links[pair[0]].append((pair[1], pair))
            self._links[pair[1]].append((pair[0], pair))
        self._stands: dict[str, Vec3 | None] = {}
        self._ways: dict[tuple[str, str], float] | None = None

    def stand(self, place: str) -> Vec3 | None:
        """Return where base_link is [m] when the body stands at a place; None: it does not fit."""
        if place not in self._stands:
            spot = self.map.places[place].position
            self._stands[place] = self.space.nearest_free(spot, _SHIFT)
        return self._stands[place]

    def ways(self, place: str) -> dict[str, float]:
        """Return neighbour -> way length [m] of the links this body can use, nearest first."""
        if self._ways is None:
            self._ways = self._usable()
        out = {
            other: length
            for other, pair in self._links[place]
            if (length := self._ways.get(pair)) is not None
        }
        return dict(sorted(out.items(), key=lambda kv: (kv[1], kv[0])))

    def nearest(self, position: Vec3) -> str:
        """Return the place nearest to a position [m], rather one in the same room."""
        occ = self.space.occupancy
        floor, room = occ.floor_index(position[2]), occ.room_id(position)
        far = np.hypot(self._positions[:, 0] - position[0], self._positions[:, 1] - position[1])
        far = far + _OTHER_ROOM * (self._rooms != room) + 1e3 * (self._floors != floor)
        return self.ids[int(np.argmin(far))]

    def _usable(self) -> dict[tuple[str, str], float]:
        """Return the links this body can use with their way lengths [m].

        Where only a long way around joins places that the straight link joins for others, that
        way counts, so that hops lead to every place the body can go to.
        """
        ways: dict[tuple[str, str], float] = {}
        spare: list[tuple[str, str]] = []
        for pair in self.map.links:
            length = self._length(pair)
            if length is not None:
                ways[pair] = length
            elif pair not in self.map.stairs:
                spare.append(pair)
        graph: nx.Graph = nx.Graph()
        graph.add_nodes_from(self.ids)
        graph.add_edges_from(ways)
        for pair in spare:
            a, b = self.stand(pair[0]), self.stand(pair[1])
            if a is not None and b is not None and self.space.connected(a, b):
                if not nx.has_path(graph, *pair):
                    ways[pair] = self.space.plan(a, b).length
                    graph.add_edge(*pair)
        return ways

    def _length(self, pair: tuple[str, str]) -> float | None:
        a, b = self.stand(pair[0]), self.stand(pair[1])
        if a is None or b is None:
            return None
        straight = self.map.links[pair].length
        if pair in self.map.stairs:
            return straight if self.space.takes(self.map.stairs[pair]) else None
        return self.space.near_way(a, b, 1.5 * max(straight, math.dist(a, b)) + 0.8)
