"""Ways through a house for a body: shortest paths on rasters, stairs, and why there is no way."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from scipy import ndimage

from coterie_core.geometry import Vec2, Vec3
from coterie_world.free_space.floor_graph import FloorGraph, Tree
from habitat_bridge.embedded.occupancy import CELL, BodyKey, Cell, Mask, Occupancy
from habitat_bridge.house.house import House, Stairs

Disc = tuple[float, float, float]
"""A round obstacle: centre (x, y) [m] and radius [m]."""

_TREES = 48  # shortest-path trees kept per body; each a few hundred kB
_SNAP = 0.5  # [m] how far an end of stairs may lie from free space
_EVERYWHERE = np.ones((3, 3), dtype=bool)


class NoWay(Exception):
    """There is no way for a body; the text says what is in its way."""


@dataclass(frozen=True, slots=True)
class Route:
    """A way as straight pieces: points [m] of base_link, the first is where the robot stands."""

    points: tuple[Vec3, ...]

    @property
    def length(self) -> float:
        """Length of the way [m]."""
        return sum(math.dist(a, b) for a, b in itertools.pairwise(self.points))


class BodySpace:
    """Where one kind of body can stand and go in a house.

    Args:
        occupancy: The house's rasters.
        key: The body.
    """

    def __init__(self, occupancy: Occupancy, key: BodyKey) -> None:
        self.occupancy = occupancy
        self.house: House = occupancy.house
        self.key = key
        self.clearance = occupancy.clearance(key)
        self.free: list[Mask] = [c >= key.radius for c in self.clearance]
        self._parts = [ndimage.label(free, _EVERYWHERE)[0] for free in self.free]
        self._graphs: dict[int, FloorGraph] = {}
        self._trees: OrderedDict[tuple[int, Cell], Tree] = OrderedDict()
        self._stairs: dict[str, tuple[Stairs, Vec3, Vec3]] = {}
        for stairs in self.house.stairs:
            if not self.stairs_trouble(stairs):
                low, high = (
                    self.nearest_free(stairs.bottom, _SNAP),
                    self.nearest_free(stairs.top, _SNAP),
                )
                if low is not None and high is not None:
                    self._stairs[stairs.id] = (stairs, low, high)
        self._joined = self._join_parts()

    def stairs_trouble(self, stairs: Stairs) -> str:
        """Return "" if the body can take the stairs, else why not."""
        key = self.key
        if key.moves == "wheels":
            return (
                f"stairs {stairs.id}: risers {stairs.riser:.3g} m, wheels with step height "
                f"{key.step:.2f} m do not take stairs"
            )
        if key.moves != "air" and stairs.riser > key.step + 1e-9:
            return f"stairs {stairs.id}: risers {stairs.riser:.3g} m, step height {key.step:.2f} m"
        if stairs.width < 2.0 * key.radius:
            return (
                f"stairs {stairs.id} ({stairs.width:.2f} m) are too narrow for radius "
                f"{key.radius:.2f} m"
            )
        return ""

    def takes(self, stairs: str) -> bool:
        """Tell whether the body can use these stairs (by id)."""
        return stairs in self._stairs

    def height(self, floor: int) -> float:
        """Height of base_link in the map frame on a floor [m]."""
        return self.occupancy.elevation(floor) + self.key.base

    def is_free(self, point: Vec3) -> bool:
        """Tell whether the body fits at a point [m]."""
        return bool(
            self.free[self.occupancy.floor_index(point[2])][self.occupancy.cell(*point[:2])]
        )

    def line_free(self, floor: int, a: Vec2, b: Vec2, free: Mask | None = None) -> bool:
        """Tell whether the body can go straight from `a` to `b` (x, y) [m] on a floor."""
        mask = self.free[floor] if free is None else free
        count = max(2, int(math.dist(a, b) / (CELL / 2.0)) + 2)
        origin = self.occupancy.origin
        cols = ((np.linspace(a[0], b[0], count) - origin[0]) / CELL).astype(np.intp)
        rows = ((np.linspace(a[1], b[1], count) - origin[1]) / CELL).astype(np.intp)
        inside = (rows >= 0) & (cols >= 0) & (rows < mask.shape[0]) & (cols < mask.shape[1])
        return bool(inside.all()) and bool(mask[rows, cols].all())

    def narrowest(self, floor: int, a: Vec2, b: Vec2) -> float:
        """Least distance [m] to an obstacle along the straight way from `a` to `b`."""
        count = max(2, int(math.dist(a, b) / CELL) + 2)
        cells = [
            self.occupancy.cell(a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]))
            for t in np.linspace(0.0, 1.0, count)
        ]
        return float(min(self.clearance[floor][cell] for cell in cells))

    def nearest_free(
        self, point: Vec3, tolerance: float, near: Vec3 | None = None, same_room: bool = True
    ) -> Vec3 | None:
        """Return the nearest point [m] where the body fits, or None.

        Args:
            point: Wanted position of base_link or of a thing, in the map frame [m].
            tolerance: How far to look (x, y) [m].
            near: Only points that can be reached from here [m].
            same_room: Whether walls may not be jumped: the point found lies in the same room.
        """
        occ = self.occupancy
        floor = occ.floor_index(point[2])
        row, col = occ.cell(point[0], point[1])
        reach = int(tolerance / CELL) + 1
        r0, c0 = max(0, row - reach), max(0, col - reach)
        window = np.s_[r0 : row + reach + 1, c0 : col + reach + 1]
        ok = self.free[floor][window].copy()
        if near is not None:
            ok &= np.isin(self._parts[floor][window], self._reachable(near, floor))
        if same_room:
            ok &= occ.room_raster(floor)[window] == occ.room_raster(floor)[row, col]
        cells = np.argwhere(ok)
        if not len(cells):
            return None
        xs = occ.origin[0] + (cells[:, 1] + c0 + 0.5) * CELL
        ys = occ.origin[1] + (cells[:, 0] + r0 + 0.5) * CELL
        far = np.hypot(xs - point[0], ys - point[1])
        best = int(np.argmin(far))
        if far[best] > tolerance + CELL:
            return None
        if self.free[floor][row, col] and ok[row - r0, col - c0]:
            return (point[0], point[1], self.height(floor))
        return (float(xs[best]), float(ys[best]), self.height(floor))

    def connected(self, a: Vec3, b: Vec3) -> bool:
        """Tell whether there is a way between two free points [m]."""
        floor = self.occupancy.floor_index(b[2])
        part = self._parts[floor][self.occupancy.cell(b[0], b[1])]
        return part > 0 and part in self._reachable(a, floor)

    def plan(self, start: Vec3, goal: Vec3, avoid: Sequence[Disc] = ()) -> Route:
        """Return the shortest way between two points [m] where the body fits.

        Args:
            start: Where base_link is.
            goal: Where it shall be.
            avoid: Round obstacles (other robots) on the start's floor, beside the house.

        Raises:
            NoWay: There is none; says what is in the way.
        """
        if not self.connected(start, goal):
            raise NoWay(self.why_not(start, goal))
        if self.is_free(start):
            return self._plan(start, goal, avoid)
        # It stopped on stairs, or was put where it does not fit: out of there first.
        exits = [point for point in self._exits(start) if self.connected(point, goal)]
        routes = [self._plan(point, goal, ()) for point in exits]
        return min((Route((start, *r.points)) for r in routes), key=lambda route: route.length)

    def _plan(self, start: Vec3, goal: Vec3, avoid: Sequence[Disc]) -> Route:
        occ = self.occupancy
        first, last = occ.floor_index(start[2]), occ.floor_index(goal[2])
        if first == last:
            piece = self._piece(first, start, goal, avoid)
            if piece is not None:
                return Route(tuple(piece))
            raise NoWay(f"another robot is in the way to ({goal[0]:.2f}, {goal[1]:.2f})")
        points: list[Vec3] = [start]
        for low, high in self._flights(start, goal):
            floor = occ.floor_index(points[-1][2])
            piece = self._piece(floor, points[-1], low, avoid if len(points) == 1 else ())
            if piece is None:
                raise NoWay(f"another robot is in the way to ({low[0]:.2f}, {low[1]:.2f})")
            points += [*piece[1:], high]
        piece = self._piece(last, points[-1], goal, ())
        if piece is None:
            raise NoWay(self.why_not(start, goal))
        return Route(tuple(points + piece[1:]))

    def near_way(self, a: Vec3, b: Vec3, limit: float) -> float | None:
        """Length [m] of the way between free points on one floor if at most `limit`, else None."""
        floor = self.occupancy.floor_index(a[2])
        if self.line_free(floor, a[:2], b[:2]):
            return math.dist(a, b)
        if not self.connected(a, b):
            return None
        route = self.routes_to(b, [a], 1.5 * limit)[0]
        return route.length if route is not None and route.length <= limit else None

    def routes_to(self, goal: Vec3, starts: Sequence[Vec3], limit: float) -> list[Route | None]:
        """Return the ways from several points to one on the same floor [m].

        None stands for those that cost more than `limit` [m] (narrow ways cost up to half more).
        """
        if not starts:
            return []
        floor = self.occupancy.floor_index(goal[2])
        graph = self._graph(floor)
        tree = graph.tree(self.occupancy.cell(goal[0], goal[1]), limit)
        out: list[Route | None] = []
        for start in starts:
            points = self._follow(graph, tree, start, goal)
            out.append(
                Route(tuple(self._shorten(floor, points, self.free[floor]))) if points else None
            )
        return out

    def why_not(self, start: Vec3, goal: Vec3) -> str:
        """Return what keeps the body from going from `start` to `goal`."""
        occ = self.occupancy
        rooms: nx.Graph = nx.Graph()
        rooms.add_nodes_from(room.id for room in self.house.rooms)
        for door in self.house.doors:
            trouble = self.key.passes(door)
            rooms.add_edge(
                door.room_a, door.room_b, trouble=trouble, weight=100.0 if trouble else 1.0
            )
        for stairs in self.house.stairs:
            trouble = self.stairs_trouble(stairs)
            rooms.add_edge(
                stairs.room_low, stairs.room_high, trouble=trouble, weight=100.0 if trouble else 1.0
            )
        a, b = occ.room_id(start), occ.room_id(goal)
        if a in rooms and b in rooms and nx.has_path(rooms, a, b):
            path = nx.shortest_path(rooms, a, b, weight="weight")
            for here, there in itertools.pairwise(path):
                trouble = rooms.edges[here, there]["trouble"]
                if trouble:
                    return str(trouble)
        return (
            f"furniture leaves no way of {2.0 * self.key.radius:.2f} m from "
            f"({start[0]:.2f}, {start[1]:.2f}) to ({goal[0]:.2f}, {goal[1]:.2f})"
        )

    def _graph(self, floor: int) -> FloorGraph:
        if floor not in self._graphs:
            self._graphs[floor] = FloorGraph(
                self.free[floor], self.clearance[floor], self.key.radius, CELL
            )
        return self._graphs[floor]

    def _tree(self, floor: int, cell: Cell) -> Tree:
        key = (floor, cell)
        if key in self._trees:
            self._trees.move_to_end(key)
        else:
            self._trees[key] = self._graph(floor).tree(cell)
            if len(self._trees) > _TREES:
                self._trees.popitem(last=False)
        return self._trees[key]

    def _cost(self, floor: int, a: Vec3, b: Vec3) -> float:
        graph, occ = self._graph(floor), self.occupancy
        node = int(graph.index[occ.cell(a[0], a[1])])
        return float(self._tree(floor, occ.cell(b[0], b[1])).cost[node]) if node >= 0 else math.inf

    def _piece(
        self, floor: int, start: Vec3, goal: Vec3, avoid: Sequence[Disc]
    ) -> list[Vec3] | None:
        """Return straight pieces from `start` to `goal` on one floor, None if there are none."""
        occ, free = self.occupancy, self.free[floor]
        there = occ.cell(goal[0], goal[1])
        if avoid:
            free = free.copy()
            for x, y, radius in avoid:
                self._block(free, x, y, radius, start)
            if not free[there]:
                return None
        if self.line_free(floor, start[:2], goal[:2], free):
            return [start, goal]
        graph = self._graph(floor)
        if avoid:
            limit = 2.0 * self._cost(floor, start, goal) + 3.0
            tree = graph.tree(there, limit, free)
        else:
            tree = self._tree(floor, there)
        points = self._follow(graph, tree, start, goal)
        return self._shorten(floor, points, free) if points else None

    def _follow(self, graph: FloorGraph, tree: Tree, start: Vec3, goal: Vec3) -> list[Vec3] | None:
        """Return the cells' centres on the way from `start` to the root of a tree, `goal`."""
        occ = self.occupancy
        node = int(graph.index[occ.cell(start[0], start[1])])
        if node < 0 or not np.isfinite(tree.cost[node]):
            return None
        points: list[Vec3] = [start]
        while tree.next[node] >= 0:
            node = int(tree.next[node])
            x, y = occ.point((int(graph.cells[node][0]), int(graph.cells[node][1])))
            points.append((x, y, start[2]))
        points[-1] = goal
        return points if len(points) > 1 else [start, goal]

    def _block(self, free: Mask, x: float, y: float, radius: float, start: Vec3) -> None:
        """Mark a disc as not free; one that reaches `start` is made so small that it does not."""
        occ = self.occupancy
        reach = min(radius + self.key.radius, math.hypot(start[0] - x, start[1] - y) - CELL / 2.0)
        if reach <= 0.0:
            return
        r0, c0 = occ.cell(x - reach, y - reach)
        r1, c1 = occ.cell(x + reach, y + reach)
        ys = occ.origin[1] + (np.arange(r0, r1 + 1) + 0.5) * CELL
        xs = occ.origin[0] + (np.arange(c0, c1 + 1) + 0.5) * CELL
        disc = (xs[None, :] - x) ** 2 + (ys[:, None] - y) ** 2 < reach**2
        here = occ.cell(start[0], start[1])
        kept = free[here]
        free[r0 : r1 + 1, c0 : c1 + 1] &= ~disc
        free[here] = kept

    def _shorten(self, floor: int, points: list[Vec3], free: Mask) -> list[Vec3]:
        """Cut corners wherever the straight line is free; keeps the ends."""
        out, at = [points[0]], 0
        while at < len(points) - 1:
            step, far = 1, at + 1
            while at + step < len(points):
                if self.line_free(floor, points[at][:2], points[at + step][:2], free):
                    far = at + step
                elif step > 24:
                    break
                step += 1 if step < 4 else 4
            last = len(points) - 1
            if last - far <= 4 and self.line_free(floor, points[at][:2], points[last][:2], free):
                far = last
            out.append(points[far])
            at = far
        return out

    def _join_parts(self) -> nx.Graph:
        """Return the graph of connected parts (floor, number) joined by the stairs it can take."""
        joined: nx.Graph = nx.Graph()
        occ = self.occupancy
        for _, low, high in self._stairs.values():
            ends = []
            for end in (low, high):
                floor = occ.floor_index(end[2])
                ends.append((floor, int(self._parts[floor][occ.cell(end[0], end[1])])))
            joined.add_edge(*ends)
        return joined

    def _reachable(self, point: Vec3, floor: int) -> list[int]:
        """Numbers of the parts of `floor` that can be reached from a point."""
        spots = [point] if self.is_free(point) else self._exits(point)
        found: set[int] = set()
        for spot in spots:
            here = self.occupancy.floor_index(spot[2])
            part = (here, int(self._parts[here][self.occupancy.cell(spot[0], spot[1])]))
            parts = (
                nx.node_connected_component(self._joined, part) if part in self._joined else {part}
            )
            found.update(number for level, number in parts if level == floor)
        return sorted(found)

    def _exits(self, point: Vec3) -> list[Vec3]:
        """Return where a body can go at once from a point where it cannot stand, as on stairs."""
        for _, low, high in self._stairs.values():
            a, d = np.array(low), np.array(high) - np.array(low)
            t = min(1.0, max(0.0, float((np.array(point) - a) @ d) / float(d @ d)))
            if math.dist((a + t * d).tolist(), point) < 0.2:
                return [low, high]
        near = self.nearest_free(point, _SNAP, same_room=False)
        return [near] if near is not None else []

    def _flights(self, start: Vec3, goal: Vec3) -> list[tuple[Vec3, Vec3]]:
        """Return the stairs to take, each as (where it is entered, where it is left)."""
        graph: nx.DiGraph = nx.DiGraph()
        ends: dict[object, Vec3] = {"start": start, "goal": goal}
        for name, (_, low, high) in self._stairs.items():
            ends[(name, 0)], ends[(name, 1)] = low, high
            length = math.dist(low, high)
            graph.add_edge((name, 0), (name, 1), weight=length)
            graph.add_edge((name, 1), (name, 0), weight=length)
        level = {k: self.occupancy.floor_index(p[2]) for k, p in ends.items()}
        for b in ends:
            if b == "start":
                continue
            for a in ends:
                if a not in ("goal", b) and level[a] == level[b]:
                    cost = self._cost(level[a], ends[a], ends[b])
                    if math.isfinite(cost):
                        graph.add_edge(
                            a,
                            b,
                            weight=min(cost, graph.edges[a, b]["weight"])
                            if graph.has_edge(a, b)
                            else cost,
                        )
        path = nx.shortest_path(graph, "start", "goal", weight="weight")
        return [
            (ends[a], ends[b])
            for a, b in itertools.pairwise(path)
            if isinstance(a, tuple) and isinstance(b, tuple) and a[0] == b[0]
        ]
