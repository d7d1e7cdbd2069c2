"""Making way: a robot in another's way steps aside, and comes back when it has passed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from coterie_core.geometry import Pose, Vec3
from habitat_bridge.embedded.body import Body, SkillFailed, Walk, YieldManeuver
from habitat_bridge.embedded.navigation import BodySpace, NoWay, Route
from habitat_bridge.embedded.occupancy import CELL

_FAR = ((2.5, 3.0), (10.0, math.inf))
"""How far a robot goes to make way, and how much of the other's route it keeps free then [m].

A step aside is best; out of a narrow hallway it takes more.
"""
_ROOM = 0.12  # [m] left between two robots that pass
_PATIENCE = 12.0  # [s] until a robot that made way comes back in any case


def make_way(asker: Body, blocker: Body, bodies: Sequence[Body]) -> bool:
    """Have `blocker` step aside for `asker` if it is its turn to; tell whether it does.

    An idle robot makes way for anybody, also on its way back from having made way. Of two that
    walk toward each other the one that was added later does, or the other one where that has
    nowhere to go, as in a dead end. A robot that looks, grasps or waits on purpose is left in
    peace. It goes rather where the other does not shut it in once that has arrived, and nowhere
    beyond its fence.
    """
    stays = blocker.halted or blocker.embodiment.mobility == "fixed"
    before = blocker.aside
    if (before is not None and not before.returning) or asker.walk is None or stays:
        return False
    if blocker.job is not None:
        walk = blocker.walk
        waiting = walk is not None and blocker.job.stages[0] is walk and walk.waited > 0.0
        if not waiting:
            return False
        if bodies.index(blocker) < bodies.index(asker) and _way_aside(blocker, asker, bodies):
            return False
    walk = _way_aside(asker, blocker, bodies)
    if walk is not None:
        home, glance = blocker.pose, blocker.glance
        if before is not None:
            home, glance = before.home, before.glance
        blocker.aside = YieldManeuver(asker, walk, home, glance)
    return walk is not None


def _way_aside(asker: Body, blocker: Body, bodies: Sequence[Body]) -> Walk | None:
    """Return where `blocker` goes to make way for `asker`; None: nowhere."""
    if asker.walk is None:
        return None
    need = asker.embodiment.radius + blocker.embodiment.radius + _ROOM
    others = [
        (b.pose.position[0], b.pose.position[1], b.embodiment.radius + 0.03)
        for b in bodies
        if b is not blocker and abs(b.pose.position[2] - blocker.pose.position[2]) < 1.0
    ]
    space = blocker.places.space
    x, y, _ = asker.walk.route.points[-1]
    arrived = [(x, y, asker.embodiment.radius + 0.03)]
    shut_in: Walk | None = None
    for far, ahead in _FAR:
        path = _ahead(asker, ahead)
        for spot in _spots(space, blocker.pose.position, far, path, need, others):
            try:
                route = space.plan(blocker.pose.position, spot, others)
            except NoWay:
                continue
            if route.length > 2.0 * far or _fenced(blocker, route):
                continue
            walk = Walk(route, asker.walk.blocker, asker.walk.replan, asker.walk.ask)
            if _leads(space, spot, asker.pose.position, arrived):
                return walk
            shut_in = shut_in or walk
    return shut_in


def _fenced(body: Body, route: Route) -> bool:
    """Tell whether a route leads where the limits of a robot do not let it be."""
    guard = body.guard
    return guard is not None and bool(guard.path_trouble(route.points, body.pose.position))


def _leads(
    space: BodySpace, here: Vec3, there: Vec3, others: Sequence[tuple[float, float, float]]
) -> bool:
    """Tell whether a body gets from a spot to another one past others."""
    try:
        space.plan(here, there, others)
    except NoWay:
        return False
    return True


def advance_aside(body: Body, dt: float) -> None:
    """Let a robot that makes way go on for `dt` [s]."""
    aside = body.aside
    assert aside is not None
    try:
        _, over = aside.walk.advance(body, dt)
    except SkillFailed:
        body.aside = None
        return
    if aside.returning:
        if over:
            body.pose = Pose(body.pose.position, aside.home.yaw)
            body.glance = aside.glance
            body.aside = None
        return
    if not over:
        return
    aside.waited += dt
    if aside.waited < _PATIENCE and not _passed(aside, body):
        return
    if body.job is not None and body.walk is not None:
        body.walk.resume(body)
        body.aside = None
        return
    try:
        route = body.places.space.plan(body.pose.position, aside.home.position)
    except NoWay:
        route = None
    if route is None or _fenced(body, route):
        body.aside = None
        return
    aside.walk = Walk(route, aside.walk.blocker, aside.walk.replan, aside.walk.ask)
    aside.returning = True


def _ahead(asker: Body, ahead: float) -> list[Vec3]:
    """Return a robot's route as far as `ahead` [m]."""
    assert asker.walk is not None
    points, length = [asker.pose.position], 0.0
    for point in asker.walk.route.points[asker.walk.at :]:
        length += math.dist(points[-1], point)
        points.append(point)
        if length > ahead:
            break
    return points


def _passed(aside: YieldManeuver, body: Body) -> bool:
    """Tell whether the way home is free of the robot that asked."""
    asker = aside.asker
    need = asker.embodiment.radius + body.embodiment.radius + _ROOM
    if math.dist(asker.pose.position, aside.home.position) < need:
        return False
    if asker.walk is None:
        return True
    home = np.array([aside.home.position[:2]])
    return bool(_clearance(home, _ahead(asker, _FAR[0][1]))[0] > need)


def _spots(
    space: BodySpace,
    here: Vec3,
    far: float,
    path: Sequence[Vec3],
    need: float,
    others: Sequence[tuple[float, float, float]],
) -> list[Vec3]:
    """Return a few free spots within `far` [m] off the other's path, nearest first."""
    occ = space.occupancy
    floor = occ.floor_index(here[2])
    row, col = occ.cell(here[0], here[1])
    reach = int(far / CELL)
    r0, c0 = max(0, row - reach), max(0, col - reach)
    window = space.free[floor][r0 : row + reach + 1 : 2, c0 : col + reach + 1 : 2]
    cells = np.argwhere(window)
    if not len(cells):
        return []
    xy = np.stack(
        [
            occ.origin[0] + (2 * cells[:, 1] + c0 + 0.5) * CELL,
            occ.origin[1] + (2 * cells[:, 0] + r0 + 0.5) * CELL,
        ],
        axis=1,
    )
    ok = _clearance(xy, path) > need
    for x, y, radius in others:
        ok &= np.hypot(xy[:, 0] - x, xy[:, 1] - y) > radius + space.key.radius
    away = np.hypot(xy[:, 0] - here[0], xy[:, 1] - here[1])
    ok &= away <= far
    order = np.flatnonzero(ok)[np.argsort(away[ok], kind="stable")]
    spread = order[:: max(1, len(order) // 12)][:12]
    return [(float(xy[k, 0]), float(xy[k, 1]), here[2]) for k in spread]


def _clearance(xy: np.ndarray, path: Sequence[Vec3]) -> np.ndarray:
    """Distance [m] of points (N, 2) to a path."""
    out = np.full(len(xy), np.inf)
    for p, q in itertools.pairwise([*path, path[-1]]):
        a, d = np.array(p[:2]), np.array(q[:2]) - np.array(p[:2])
        t = np.clip(((xy - a) @ d) / max(float(d @ d), 1e-12), 0.0, 1.0)
        gap = np.linalg.norm(xy - (a + t[:, None] * d), axis=1)
        out = np.minimum(out, gap)
    return out
