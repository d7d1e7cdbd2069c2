"""Places of a floor laid out over its free space; ids stay as the map grows."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import networkx as nx
import numpy as np
import numpy.typing as npt
from scipy import ndimage
from scipy.spatial import cKDTree

from coterie_core.geometry import Vec2
from coterie_world.free_space.floor_graph import Mask
from robot_adapters.sensing.grid_space import GridSpace

Labels = npt.NDArray[np.int32]

_BLIND_M = 2.0
"""How far from the robot the nearest cells may lie that it has seen [m]."""


@dataclass(frozen=True, slots=True)
class PlaceSpacing:
    """How places lie; the same lengths as in generated houses, so that explorers behave alike.

    Attributes:
        near: Closer than this two places are one [m].
        cover: How far from a place a room counts as covered [m].
        covered: Share of a room's floor to be covered (0..1).
        roomy: Clearance a good place has [m].
        door_side: From a passage's middle to the place beside it [m].
        shift: How far a place may give way to something in its spot and stay that place [m].
        link: Longest link [m].
        bent: A link within a room may be so much longer than the straight line.
        detour: A link is left out if going by a third place is no longer than this share.
        frontier: Narrowest edge of the unknown that is worth a place [m].
    """

    near: float = 1.0
    cover: float = 2.0
    covered: float = 0.92
    roomy: float = 0.30
    door_side: float = 0.6
    shift: float = 0.4
    link: float = 5.0
    bent: float = 1.3
    detour: float = 1.04
    frontier: float = 0.5


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the robot's own map: id, (x, y) [m], region number, whether unknown is near."""

    id: str
    at: Vec2
    region: int
    frontier: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A way between two places: length and clear width [m]."""

    length: float
    width: float


@dataclass(slots=True)
class FloorPlaces:
    """The places of one floor; `update` takes the next version of its map.

    Attributes:
        spacing: How they lie.
        spots: Places by id; where the body fits now.
        links: (id, id), in order -> link.
    """

    spacing: PlaceSpacing = field(default_factory=PlaceSpacing)
    spots: dict[str, Spot] = field(default_factory=dict)
    links: dict[tuple[str, str], Link] = field(default_factory=dict)

    def update(
        self, space: GridSpace, regions: Labels, here: Vec2 | None, name: Callable[[Vec2], str]
    ) -> None:
        """Lay out places for what is known now.

        A place stays, with its id, while the body fits within `shift` of it. New ones are added in
        the part of the free space that the robot is in: at each region's most open spot, at either
        side of passages between regions, where a region is not covered, and at the edge of the
        unknown.

        Args:
            space: The floor.
            regions: Region number per cell, 0 for none.
            here: Where the robot is (x, y) [m]; None: not on this floor, or not known.
            name: Makes the id of a new place from where it lies (x, y) [m].
        """
        layout = _Layout(space, regions, _reachable(space, here, self.spots), self.spacing)
        for spot in self.spots.values():
            layout.keep(spot)
        for region in np.unique(regions[layout.reachable]).tolist():
            if region > 0:
                layout.add_middle(region)
        layout.add_door_sides()
        for region in np.unique(regions[layout.reachable]).tolist():
            layout.add_cover(region)
        layout.add_frontiers()
        self.spots = layout.named(name)
        self.links = _links(space, self.spots, self.spacing)

    def neighbors(self, place: str) -> dict[str, float]:
        """Return neighbor -> length of the way [m], nearest first."""
        found = {
            b if a == place else a: link.length
            for (a, b), link in self.links.items()
            if place in (a, b)
        }
        return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))


class Naming:
    """Makes ids of places from where they lie in the team's map, each one once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def name(self, prefix: str, at: Vec2) -> str:
        """Return a new id: the same spot of one map gets the same id with every robot."""
        base = f"{prefix}{round(at[0] * 10)}_{round(at[1] * 10)}"
        name, n = base, 2
        while name in self._taken:
            name, n = f"{base}_{n}", n + 1
        self._taken.add(name)
        return name


def _reachable(space: GridSpace, here: Vec2 | None, spots: dict[str, Spot]) -> Mask:
    """The part of the free space that the robot is in; else that with most places, or largest."""
    # Cameras and scanners do not see the floor at the robot's feet: it may stand in the unknown.
    start = space.nearest_fit(here, _BLIND_M) if here is not None else None
    part = space.part_at(start) if start is not None else 0
    if not part and spots:
        votes = [space.part_at(spot.at) for spot in spots.values()]
        counts = np.bincount(votes, minlength=1)
        counts[0] = 0
        part = int(counts.argmax()) if counts.any() else 0
    if not part and space.fits.any():
        counts = np.bincount(space.parts.ravel())
        counts[0] = 0
        part = int(counts.argmax())
    reachable: Mask = space.parts == part if part else np.zeros(space.shape, dtype=bool)
    return reachable


class _Layout:
    """Places of one floor while they are laid out; new ones have no id yet."""

    def __init__(
        self, space: GridSpace, regions: Labels, reachable: Mask, spacing: PlaceSpacing
    ) -> None:
        self.space, self.regions, self.reachable, self.spacing = space, regions, reachable, spacing
        self.spots: list[Spot] = []

    def keep(self, spot: Spot) -> None:
        at = self.space.nearest_fit(spot.at, self.spacing.shift)
        # What was pushed next to another place is that place.
        if at is not None and all(math.dist(at, s.at) > 0.3 for s in self.spots):
            self.spots.append(replace(spot, at=at, region=self._region(at), frontier=False))

    def add_middle(self, region: int) -> None:
        if any(spot.region == region for spot in self.spots):
            return
        points, clearance = self._points(region)
        if len(points) * self.space.cell**2 < 0.1:
            return
        off = np.hypot(*(points - points.mean(axis=0)).T)
        best = int(np.argmax(np.minimum(clearance, 1.0) - 0.35 * off))
        self._add((float(points[best, 0]), float(points[best, 1])))

    def add_door_sides(self) -> None:
        """Add a place on either side of each passage, from where one looks through it."""
        for a, b, center in passages(self.regions, self.reachable, self.space):
            for region in (a, b):
                self._beside(center, region)

    def _beside(self, center: Vec2, region: int) -> None:
        points, clearance = self._points(region)
        away = np.hypot(*(points - center).T)
        ring = np.flatnonzero((away >= 0.4) & (away <= 0.95))
        if not len(ring):
            return
        # Near the distance wanted, and as free as there is: straight through the passage.
        merit = np.minimum(clearance[ring], 0.6) - np.abs(away[ring] - self.spacing.door_side)
        for k in ring[np.argsort(-merit, kind="stable")[:40]].tolist():
            at = (float(points[k, 0]), float(points[k, 1]))
            if self.space.line_fits(at, center):
                if not self._near(at, region, self.spacing.near):
                    self._add(at)
                return

    def add_cover(self, region: int) -> None:
        """Add places until nearly all of a region is within reach of one (greedy cover)."""
        points, clearance = self._points(region, pitch=0.2)
        if not len(points):
            return
        cover = self.spacing.cover
        open_ = np.ones(len(points), dtype=bool)
        tree = cKDTree(points)
        for spot in self.spots:
            if spot.region == region:
                open_[tree.query_ball_point(spot.at, cover)] = False
        if open_.sum() <= (1.0 - self.spacing.covered) * len(points):
            return
        roomy = np.flatnonzero(clearance >= self.spacing.roomy)
        chosen = roomy if len(roomy) else np.arange(len(points))
        reach = [np.asarray(r, dtype=np.intp) for r in tree.query_ball_point(points[chosen], cover)]
        bonus = 0.5 * np.minimum(clearance[chosen], 1.0)
        # Gains only shrink as more is covered: what is still best when counted anew is best.
        heap = [(-(open_[r].sum() + bonus[k]), k) for k, r in enumerate(reach)]
        heapq.heapify(heap)
        while heap and open_.sum() > (1.0 - self.spacing.covered) * len(points):
            _, k = heapq.heappop(heap)
            gain = open_[reach[k]].sum() + bonus[k]
            if heap and gain < -heap[0][0]:
                heapq.heappush(heap, (-gain, k))
                continue
            if gain < 1.0:
                return
            at = (float(points[chosen[k], 0]), float(points[chosen[k], 1]))
            if not self._near(at, region, self.spacing.near):
                self._add(at)
            open_[reach[k]] = False

    def add_frontiers(self) -> None:
        """Mark places from where unknown cells are near; add one where none is."""
        edge = self.space.frontier(self.reachable)
        groups, count = ndimage.label(edge, np.ones((3, 3)))
        at_edge: set[int] = set()
        for cells in _cells_of(groups, count):
            if len(cells) * self.space.cell < self.spacing.frontier:
                continue
            middle = cells[np.argmin(np.hypot(*(cells - cells.mean(axis=0)).T))]
            point = self.space.point_of(middle)
            close = [
                k
                for k, spot in enumerate(self.spots)
                if math.dist(spot.at, point) <= self.spacing.cover
                and self.space.line_fits(spot.at, point)
            ]
            if not close:
                self._add(point)
                close = [len(self.spots) - 1]
            at_edge.add(min(close, key=lambda k: math.dist(self.spots[k].at, point)))
        for k in at_edge:
            self.spots[k] = replace(self.spots[k], frontier=True)

    def named(self, name: Callable[[Vec2], str]) -> dict[str, Spot]:
        """Return the places by id; new ones get theirs now."""
        named = [s if s.id else replace(s, id=name(s.at)) for s in self.spots]
        return {spot.id: spot for spot in named}

    def _add(self, at: Vec2) -> None:
        self.spots.append(Spot("", at, self._region(at)))

    def _region(self, at: Vec2) -> int:
        cell = self.space.cell_of(at)
        return int(self.regions[cell]) if cell is not None else 0

    def _near(self, at: Vec2, region: int, limit: float) -> bool:
        return any(s.region == region and math.dist(s.at, at) < limit for s in self.spots)

    def _points(
        self, region: int, pitch: float = 0.0
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float32]]:
        """Reachable points (n, 2) [m] of a region and their clearance [m]; every `pitch` [m]."""
        step = max(1, round(pitch / self.space.cell))
        mine = (self.regions == region) & self.reachable
        cells = np.argwhere(mine[::step, ::step]) * step
        if not len(cells):  # narrower than the pitch
            cells = np.argwhere(mine)
        points = (cells[:, ::-1] + 0.5) * self.space.cell + self.space.origin
        clearance = self.space.clearance[cells[:, 0], cells[:, 1]]
        return np.asarray(points, dtype=np.float64), clearance


def passages(regions: Labels, reachable: Mask, space: GridSpace) -> list[tuple[int, int, Vec2]]:
    """Return where one drives from one region into another: both numbers, middle (x, y) [m]."""
    layer = np.where(reachable, regions, 0)
    found: dict[tuple[int, int], list[Sequence[float]]] = {}
    for dr, dc in ((1, 0), (0, 1)):
        a = layer[: layer.shape[0] - dr, : layer.shape[1] - dc]
        b = layer[dr:, dc:]
        for r, c in np.argwhere((a != b) & (a > 0) & (b > 0)).tolist():
            pair = (int(min(a[r, c], b[r, c])), int(max(a[r, c], b[r, c])))
            found.setdefault(pair, []).append((r + dr / 2.0, c + dc / 2.0))
    out = []
    for (low, high), borders in sorted(found.items()):
        points = np.asarray(borders)
        graph = nx.Graph()
        graph.add_nodes_from(range(len(points)))
        graph.add_edges_from(cKDTree(points).query_pairs(2.0))
        for group in nx.connected_components(graph):
            member = points[sorted(group)]
            middle = member[np.argmin(np.hypot(*(member - member.mean(axis=0)).T))]
            out.append((low, high, space.point_of(middle)))
    return out


def _cells_of(groups: npt.NDArray[np.int32], count: int) -> Iterable[npt.NDArray[np.int64]]:
    for number, window in enumerate(ndimage.find_objects(groups, count), start=1):
        if window is not None:
            corner = (window[0].start, window[1].start)
            yield np.argwhere(groups[window] == number) + corner


def _links(
    space: GridSpace, spots: dict[str, Spot], spacing: PlaceSpacing
) -> dict[tuple[str, str], Link]:
    """Join places by ways that the body can drive: straight ones, bent ones, and what is left."""
    ids = sorted(spots)
    at = [spots[k].at for k in ids]
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(range(len(ids)))
    bent: dict[int, list[int]] = {}
    if len(ids) > 1:
        for a, b in sorted(cKDTree(at).query_pairs(spacing.link)):
            if space.line_fits(at[a], at[b]):
                graph.add_edge(a, b, length=math.dist(at[a], at[b]))
            elif spots[ids[a]].region == spots[ids[b]].region:
                bent.setdefault(a, []).append(b)
    for a, others in bent.items():
        limit = 1.5 * spacing.bent * spacing.link
        lengths = space.path_lengths(at[a], [at[b] for b in others], limit)
        for b, length in zip(others, lengths, strict=True):
            if length <= spacing.bent * math.dist(at[a], at[b]):
                graph.add_edge(a, b, length=length)
    for a, b in sorted(graph.edges, key=lambda e: (-graph.edges[e]["length"], e)):
        length = graph.edges[a, b]["length"]
        for c in sorted(set(graph[a]) & set(graph[b])):
            by = graph.edges[a, c]["length"] + graph.edges[c, b]["length"]
            if by < spacing.detour * length:
                graph.remove_edge(a, b)
                break
    _join_parts(space, graph, at)
    out = {}
    for a, b, data in graph.edges(data=True):
        low, high = sorted((a, b))
        straight = space.line_fits(at[a], at[b])
        width = space.width(at[a], at[b]) if straight else 2.0 * space.radius
        out[ids[low], ids[high]] = Link(round(float(data["length"]), 3), width)
    return out


def _join_parts(space: GridSpace, graph: nx.Graph, at: list[Vec2]) -> None:
    """Join groups of places that a drive joins by that drive, from the smallest group on."""
    stuck: set[int] = set()
    while True:
        groups = sorted(nx.connected_components(graph), key=lambda g: (len(g), min(g)))
        group = next((g for g in groups[:-1] if min(g) not in stuck), None)
        if group is None:
            return
        part = space.part_at(at[min(group)])
        others = [k for k in graph if k not in group and space.part_at(at[k]) == part]
        best: tuple[float, int, int] | None = None
        for a in sorted(group, key=lambda k: (_nearest(at, k, others), k))[:3] if others else ():
            lengths = space.path_lengths(at[a], [at[b] for b in others])
            length, b = min(zip(lengths, others, strict=True))
            if math.isfinite(length) and (best is None or length < best[0]):
                best = (length, a, b)
        if best is None:
            stuck.add(min(group))
        else:
            graph.add_edge(best[1], best[2], length=best[0])


def _nearest(at: list[Vec2], k: int, others: list[int]) -> float:
    return min((math.dist(at[k], at[b]) for b in others), default=math.inf)
