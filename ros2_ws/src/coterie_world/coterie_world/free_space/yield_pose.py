"""The nearest spot at which a robot that yields stands in nobody's way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import networkx as nx
import numpy as np
import numpy.typing as npt
import shapely
from scipy import ndimage

from coterie_core.geometry import Vec3
from coterie_world.free_space.floor_graph import Cell
from coterie_world.free_space.free_cells import FreeCells
from coterie_world.right_of_way import PASSING_GAP_M, YieldRequest
from coterie_world.scene import SceneGraph

MAX_YIELD_DISTANCE_M = 10.0
"""Longest drive of a robot that yields [m]."""
_SPARE = 2  # cells that are better left between a body and what stands around its spot
_APART = 0.5  # [m] a spot is so far from one that was not got to
_LOOKS, _NEXT = 20, 0.2  # spots that are looked at, and how far apart [m]
_TOUCH = 0.05  # [m] two bodies may be so much nearer than they can be: poses are rough
_STOREY = 1.0  # [m] what is not farther up or down lies on the same floor
_EVERYWHERE = np.ones((3, 3), dtype=bool)

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Pieces = Sequence[tuple[Vec3, Vec3]]
"""Straight pieces of ways, from where to where [m]."""


def yield_pose(
    cells: FreeCells,
    here: Vec3,
    radius: float,
    request: YieldRequest,
    ways: Pieces,
    closed: Sequence[Vec3] = (),
    driven: Pieces = (),
    through: bool = False,
) -> Vec3 | None:
    """Return where a robot stands in nobody's way, nearest to where it is; all in the map frame.

    Rather where the other one does not shut it in once that has arrived, and not close to
    furniture, which a robot's own map may have elsewhere; where it did not get to such a spot,
    rather away from the other one, and where it has driven before. It never goes through that one,
    unless that is asked to let it out.

    Args:
        cells: Cells that its middle can be at on this floor.
        here: Position of the robot [m].
        radius: Radius of its own body [m].
        request: Request of the other robot.
        ways: The pieces of that way that lie on this floor [m].
        closed: Spots that it did not get to [m].
        driven: Pieces of this floor that it has driven over [m].
        through: Whether the spot may lie behind the other one, which has to go aside first.

    Returns:
        None: it does not stand in the way, or cannot go, or there is no such spot.
    """
    way, need = request.way, radius + request.radius + PASSING_GAP_M
    begin = cells.cell(here)
    if begin is None or not ways or _line(ways).distance(shapely.Point(here)) > need:
        return None
    near = cells.near(begin, MAX_YIELD_DISTANCE_M)
    free, start = near.free, near.cell(here)
    assert start is not None
    xs, ys = near.axes(np.arange(free.shape[1]), np.arange(free.shape[0]))
    xs, ys = xs[None, :], ys[:, None]

    def away(point: Vec3) -> Floats:
        out: Floats = np.hypot(xs - point[0], ys - point[1])
        return out

    middles = shapely.points(*np.broadcast_arrays(xs, ys))
    off = free & ~shapely.dwithin(_line(ways), middles, need + near.size)
    for spot in closed:
        off &= away(spot) > _APART
    later = free & (away(way[-1]) > radius + request.radius)
    parts, _ = ndimage.label(later, _EVERYWHERE)
    door = np.argmin(np.where(later, away(way[0]), np.inf))  # where the other one came from
    out = parts == parts.ravel()[door]

    def stays_open(spot: Vec3) -> bool:
        """Whether the other one gets back to its way past this one from most of the floor."""
        left = free & (away(spot) > radius + request.radius)
        parts, _ = ndimage.label(left, _EVERYWHERE)
        back = parts.ravel()[np.argmin(np.where(left, away(way[0]), np.inf))]
        return bool((parts == back).sum() > 0.5 * left.sum())

    roomy = ndimage.binary_erosion(free, _EVERYWHERE, iterations=_SPARE)
    tried = shapely.dwithin(_line(driven), middles, near.size)
    # Past the other one there is no way; where they touch, it leads away from that one.
    body = min(radius + request.radius, math.dist(here[:2], way[0][:2]) - 0.5 * near.size)
    past = free & (away(way[0]) > body)
    wishes = [(past, wanted) for wanted in (off & out & roomy, off & out, off)]
    if through:
        wishes = [(free, wanted) for wanted in (off & out & roomy, off & out)]
    elif closed:  # what looked like room beside the other one may have been none
        dx, dy = here[0] - way[0][0], here[1] - way[0][1]
        clear = free & ((xs - here[0]) * dx + (ys - here[1]) * dy > -near.size)
        wishes.insert(0, (past, off & out & tried))
        wishes = [(clear, wanted) for _, wanted in wishes] + wishes
    for ground, wanted in wishes:
        for _ in range(_LOOKS if through else 1):
            found = _nearest(start, ground, wanted, int(MAX_YIELD_DISTANCE_M / near.size))
            if not len(found):
                break
            spots = [(float(xs[0, c]), float(ys[r, 0])) for r, c in found]
            x, y = min(spots, key=lambda spot: (math.dist(spot, here[:2]), spot))
            spot = (x, y, near.elevation)
            if not through or stays_open(spot):
                return spot
            wanted = wanted & (away(spot) > _NEXT)
    return None


def yield_place(
    scene: SceneGraph,
    at: str,
    here: Vec3,
    radius: float,
    request: YieldRequest,
    closed: Sequence[Vec3] = (),
) -> Vec3 | None:
    """Return where a robot stands in nobody's way that knows places and the ways between them only.

    It is the place off that way with the shortest way to it that does not lead through the other
    robot. Where none is known, it is the one farthest from that robot, if it is farther than where
    it stands: more is seen from there, and it may be asked again. All in the map frame.

    Args:
        scene: The places and their links.
        at: The place that it is at.
        here: Position of the robot [m].
        radius: Radius of its own body [m].
        request: Request of the other robot.
        closed: Places that it did not get to [m].

    Returns:
        None: it does not stand in the way, or there is no such place.
    """
    pieces = [
        (a, b)
        for a, b in itertools.pairwise(request.way)
        if min(abs(a[2] - here[2]), abs(b[2] - here[2])) < _STOREY
    ]
    way, need = _line(pieces), radius + request.radius + PASSING_GAP_M
    if not pieces or way.distance(shapely.Point(here)) > need or at not in scene.places:
        return None
    asking = shapely.Point(request.way[0])
    body = min(radius + request.radius, math.dist(here[:2], request.way[0][:2]) - _TOUCH)
    position = {place.id: place.position for place in scene.places.values()}
    roads = nx.Graph()
    roads.add_node("")  # where it stands
    position[""] = here
    links = [("", place) for place in (at, *scene.neighbours(at))]
    links += [(a, b) for a, others in scene.links.items() for b in others if at not in (a, b)]
    for a, b in links:
        ends = (position[a], position[b])
        if shapely.LineString(ends).distance(asking) > body:
            roads.add_edge(a, b, length=math.dist(*ends))
    lengths = nx.single_source_dijkstra_path_length(
        roads, "", cutoff=MAX_YIELD_DISTANCE_M, weight="length"
    )
    spots = [position[place] for place in sorted(lengths, key=lambda one: (lengths[one], one))]
    spots = [spot for spot in spots if all(math.dist(spot, one) > _APART for one in closed)]
    for spot in spots:
        if way.distance(shapely.Point(spot)) > need:
            return spot
    ahead = max(spots, key=lambda spot: asking.distance(shapely.Point(spot)), default=here)
    farther = asking.distance(shapely.Point(ahead)) - asking.distance(shapely.Point(here))
    return ahead if farther > radius + request.radius else None


def _nearest(start: Cell, free: Mask, wanted: Mask, steps: int) -> npt.NDArray[np.intp]:
    """Return the wanted cells (n, 2) that are the fewest steps from a cell through free ones."""
    reached = np.zeros_like(free)
    reached[start] = True
    for _ in range(steps):
        if (reached & wanted).any():
            break
        reached = ndimage.binary_dilation(reached, _EVERYWHERE, mask=free | reached)
    return np.argwhere(reached & wanted)


def _line(ways: Pieces) -> shapely.MultiLineString:
    """Return the straight pieces of a way, seen from above."""
    line = shapely.MultiLineString([(a[:2], b[:2]) for a, b in ways])
    shapely.prepare(line)
    return line
