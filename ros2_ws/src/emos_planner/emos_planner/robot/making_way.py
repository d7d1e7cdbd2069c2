"""Making way: who is blocked tells all which way it wants to go; who stands there goes aside."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from coterie_core.geometry import Vec3
from coterie_core.language import inline_data
from coterie_core.skills import NavigateTo, Outcome, Skill, SkillResult, Wait
from emos_planner.geometry.floorplan import CELL
from emos_planner.geometry.toolbox import Toolbox
from emos_planner.robot.choose import Option
from emos_planner.robot.messages import MOST_POINTS, HelpMessage

ASIDE = "aside"
"""Id of the option to go aside."""
ROOM = 0.12
"""Room that two robots leave between them when they pass [m]."""
FAR = 10.0
"""How far a robot goes to make way at most [m]."""
PAUSE = 5.0
"""Least time from one time that a robot goes aside to the next one [s]."""
TOLERANCE = 0.1
"""How far from its spot aside a robot may end [m]; it is less than `ROOM`."""
_SPARE = 2  # cells that are better left between a body and what stands around its spot
_SPOTS = 4  # spots that are tried for one request, one after the other
_APART = 0.5  # [m] a spot is so far from one that was not got to
_EVERYWHERE = np.ones((3, 3), dtype=bool)

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


class MakingWay:
    """When a robot asks for its way, and when it goes aside for another one.

    Args:
        robot: Its name.

    Attributes:
        blocked: Whether its own last drive ended because something stood in its way.
        asked: The request that it has to look into; None: there is none.
        whom: For whom it goes aside now; "": for nobody.
    """

    def __init__(self, robot: str) -> None:
        self.robot = robot
        self.blocked = False
        self.asked: HelpMessage | None = None
        self.whom = ""
        self._heard: deque[str] = deque(maxlen=200)
        self._asked_at = self._last = -math.inf
        self._goal: Vec3 | None = None
        self._request: HelpMessage | None = None
        self._tries = 0
        self._closed: deque[Vec3] = deque(maxlen=10)

    def hear(self, message: HelpMessage, now: float) -> None:
        """Take in a request for the way at a time `now` [s]; not one that was heard before."""
        if message.id in self._heard or message.sender == self.robot:
            return
        self._heard.append(message.id)
        concerned = not message.recipients or self.robot in message.recipients
        if concerned and not 0.0 <= now - self._last < PAUSE:  # before: the world began anew
            self.asked, self._asked_at, self._tries = message, now, 0

    def wants_way(
        self, skill: Skill, result: SkillResult, tools: Callable[[], Toolbox], here: Vec3 | None
    ) -> tuple[tuple[Vec3, ...], float] | None:
        """Take in how an own skill ended; return the way to ask for and the body's radius [m].

        Args:
            skill: The skill.
            result: How it ended.
            tools: Return what this robot knows.
            here: Where it stands now [m].
        """
        if isinstance(skill, Wait):
            return None  # where it stood before
        self.blocked = isinstance(skill, NavigateTo) and result.outcome is Outcome.BLOCKED
        if not self.blocked:
            self.asked = None  # that was before what it has done since
        if not self.blocked or not isinstance(skill, NavigateTo) or here is None:
            return None
        known = tools()
        place = known.scene.places.get(skill.place)
        goal = place.position if place is not None else skill.position
        if goal is None:
            return None
        way = known.way(self.robot, here, goal)
        return way[:MOST_POINTS], known.kind(self.robot).body.frame.radius

    def option(self, tools: Toolbox, here: Vec3 | None, idle: bool) -> Option | None:
        """Return how to go aside for who has asked; None: nobody has, or there is no need.

        A robot that is blocked itself goes aside for one whose name sorts before its own only: of
        two that stand before one another, one moves.

        Args:
            tools: What this robot knows.
            here: Where it stands [m].
            idle: Whether it has nothing else to do.
        """
        request, self.asked = self.asked, None
        if request is None or here is None:
            return None
        if not idle and not (self.blocked and request.sender < self.robot):
            return None
        spot = spot_aside(tools, self.robot, here, request.way, request.radius, self._closed)
        if spot is None:
            return None
        self.whom, self._goal, self._last = inline_data(request.sender), spot, self._asked_at
        self._request, self._tries = request, self._tries + 1
        skill = NavigateTo(position=spot, tolerance=TOLERANCE)
        return Option(ASIDE, f"makes way for {self.whom}", skill=skill)

    def ended(self, result: SkillResult) -> None:
        """Take in how going aside ended: where it did not get to it goes no more.

        Where no way led there, it goes elsewhere at once: its own map of the floor is rough.
        """
        if result.ok:
            self._closed.clear()
        elif self._goal is not None and result.outcome in (Outcome.UNREACHABLE, Outcome.BLOCKED):
            self._closed.append(self._goal)
            if result.outcome is Outcome.UNREACHABLE and self._tries < _SPOTS:
                self.asked = self._request
        self.whom, self._goal = "", None


def spot_aside(
    tools: Toolbox,
    robot: str,
    here: Vec3,
    way: Sequence[Vec3],
    radius: float,
    closed: Sequence[Vec3] = (),
) -> Vec3 | None:
    """Return where a robot stands in nobody's way, nearest to where it is; all in the map frame.

    Rather where the other one does not shut it in once that has arrived, and not close to
    furniture, which a robot's own map may have elsewhere; where it did not get to such a spot,
    rather where it has driven before. It does not go through the other one.

    Args:
        tools: What it knows.
        robot: Its name.
        here: Where it stands [m].
        way: Where the other one is, and the points that it wants to go through [m].
        radius: Of the other one's body [m].
        closed: Spots that it did not get to [m].

    Returns:
        None: it does not stand in the way, or cannot go, or there is no such spot.
    """
    kind = tools.kind(robot)
    space, plan = kind.space, tools.plan
    floor, own = plan.floor_index(here[2]), kind.body.frame.radius
    need = own + radius + ROOM
    ways = [
        (a, b)
        for a, b in itertools.pairwise(way)
        if floor in (plan.floor_index(a[2]), plan.floor_index(b[2]))
    ]
    start = space.stand(here)
    if kind.body.frame.kind == "fixed" or start is None or not ways:
        return None
    if _clearance(np.array([here[0]]), np.array([here[1]]), ways)[0] > need:
        return None
    row, col = plan.cell(start[0], start[1])
    reach = int(FAR / CELL)
    r0, c0 = max(row - reach, 0), max(col - reach, 0)
    free = space.cells(floor, space.part_at(start))[r0 : row + reach + 1, c0 : col + reach + 1]
    ys: Floats = plan.origin[1] + CELL * (np.arange(r0, r0 + free.shape[0], dtype=float) + 0.5)
    xs: Floats = plan.origin[0] + CELL * (np.arange(c0, c0 + free.shape[1], dtype=float) + 0.5)
    xs, ys = xs[None, :], ys[:, None]

    def away(point: Vec3) -> Floats:
        out: Floats = np.hypot(xs - point[0], ys - point[1])
        return out

    off = free & (_clearance(xs, ys, ways) > need + CELL)
    for spot in closed:
        off &= away(spot) > _APART
    later = free & (away(way[-1]) > own + radius)
    parts, _ = ndimage.label(later, _EVERYWHERE)
    door = np.argmin(np.where(later, away(way[0]), np.inf))  # where the other one came from
    out = parts == parts.ravel()[door]
    roomy = ndimage.binary_erosion(free, _EVERYWHERE, iterations=_SPARE)
    trail = [piece for piece in plan.driven.ways if plan.floor_index(piece[0][2]) == floor]
    driven = _clearance(xs, ys, trail) <= CELL
    body = min(own + radius, math.dist(start[:2], way[0][:2]) - 2.0 * CELL)
    free = free & (away(way[0]) > body)
    sure = (off & out & driven,) if closed else ()
    for wanted in (*sure, off & out & roomy, off & out, off):
        found = _nearest((row - r0, col - c0), free, wanted)
        if len(found):
            spots = [(float(xs[0, c]), float(ys[r, 0])) for r, c in found]
            x, y = min(spots, key=lambda spot: (math.dist(spot, start[:2]), spot))
            return (x, y, plan.elevation(floor))
    return None


def _nearest(start: tuple[int, int], free: Mask, wanted: Mask) -> npt.NDArray[np.intp]:
    """Return the wanted cells (n, 2) that are the fewest steps from a cell through free ones."""
    reached = np.zeros_like(free)
    reached[start] = True
    for _ in range(int(FAR / CELL)):
        if (reached & wanted).any():
            break
        reached = ndimage.binary_dilation(reached, _EVERYWHERE, mask=free | reached)
    return np.argwhere(reached & wanted)


def _clearance(xs: Floats, ys: Floats, ways: Sequence[tuple[Vec3, Vec3]]) -> Floats:
    """Return how far points [m] are from the straight pieces of a way [m]."""
    out: Floats = np.full(np.broadcast(xs, ys).shape, np.inf)
    for (ax, ay, _), (bx, by, _) in ways:
        dx, dy = bx - ax, by - ay
        share = ((xs - ax) * dx + (ys - ay) * dy) / max(dx * dx + dy * dy, 1e-12)
        share = np.clip(share, 0.0, 1.0)
        np.minimum(out, np.hypot(xs - ax - share * dx, ys - ay - share * dy), out=out)
    return out
