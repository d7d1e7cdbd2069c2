"""Sub-tasks of hands: from where a thing is picked, put down, opened, or why it is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Box, Vec2, Vec3
from coterie_core.tasks import Obstacle, Thing
from coterie_execution.geometry.bodies import Asked
from coterie_execution.geometry.body import Hand
from coterie_execution.geometry.grasp import FEW, Grip, gap_to, reach_of
from coterie_execution.geometry.line_of_sight import Sightlines, points_of
from coterie_execution.geometry.results import Estimate, Reach
from coterie_execution.geometry.things import FLOOR, ResolvedObject, Surface, surfaces_of
from coterie_execution.geometry.viewpoints import eyes_toward
from coterie_safety.guard.mass import object_mass
from coterie_world.sizes import oversize
from coterie_world.surfaces import free_points

WORK = {"pick": 2.0, "place": 2.0, "open": 1.5, "close": 1.5, "detect": 0.5, "go_to": 0.0}
"""How long skills take at the spot [s]."""
LARGEST = 0.6
"""Longest edge [m] of what a hand holds."""
_SHARES = (0.6, 0.3, 0.08)  # of a thing's points in view, from good to hardly
_POINTS = 12  # free points of a surface, nearest first, that are tried from a spot; as many beyond
_SMALL = 0.08  # [m] edge of a thing that is not known yet
_SOME = Box((0.0, 0.0, 0.0), (_SMALL, _SMALL, _SMALL))
_POINT = Box((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))

Floats = npt.NDArray[np.float64]


def pick(asked: Asked, meant: ResolvedObject) -> Estimate:
    """Return whether a robot takes a thing: in weight and size, in reach, and in its sight."""
    body, box = asked.kind.body, meant.box
    thing = meant.object
    if not body.hands:
        return Estimate(Obstacle.NO_ARM, "it has no arm")
    if thing is not None and thing.kind == "item" and thing.last_seen is not None:
        if oversize(meant.name, box.size) > 1.0:
            # Its box is wrong, not the thing: a hand goes to its middle, and trying tells.
            w, d, h = (min(edge, _SMALL) for edge in box.size)
            box = Box(box.center, (w, d, h), box.yaw)
            meant = replace(meant, box=box)
    if thing is not None and (thing.kind != "item" or max(box.size) > LARGEST):
        size = f"a {meant.name} of {max(box.size):.2f} m"
        reason = f"{size} is more than a hand holds ({LARGEST:.1f} m)"
        return Estimate(Obstacle.TOO_HEAVY, reason)
    mass, payload = object_mass(thing) if thing is not None else None, body.payload
    if mass is not None and payload is not None and mass > payload:
        reason = f"the {meant.name} weighs {mass:.1f} kg, its arm carries {payload:.1f} kg"
        return Estimate(Obstacle.TOO_HEAVY, reason)
    floor = asked.plan.floor_index(box.bottom)
    # Whatever errors its place has, it lies above the floor.
    z = max(box.center[2], asked.plan.elevation(floor) + box.size[2] / 2.0)
    best = None
    # A hand takes a thing by its middle; where it gets to the rim alone, it may get that.
    for reached in (Box(box.center, (0.0, 0.0, 0.0)), box):
        found, trouble = asked.grips(reached, z, floor)
        best = _seen_from(asked, meant, found) if found else None
        if best is not None:
            break
    if not found:
        return _unreached(asked, meant, box, z, floor, trouble)
    if best is None:
        if not body.cameras:
            return Estimate(Obstacle.NO_CAMERA, "it has no camera to grasp by")
        return _hidden(meant)
    grip, k = best
    reach = reach_of(grip, k, asked.plan.elevation(floor), f"the {meant.name}")
    return done("pick", reach.reason, reach.spot, box.center)


def _hidden(meant: ResolvedObject) -> Estimate:
    reason = f"the {meant.name} is hidden from every spot from which the hand reaches it"
    return Estimate(Obstacle.OCCLUDED, reason)


def _seen_from(asked: Asked, meant: ResolvedObject, found: list[Grip]) -> tuple[Grip, int] | None:
    """Return the first spot from which the thing can be seen too: the best, as they are sorted."""
    looks = (_seen_along(lines, asked, meant, found) for lines in asked.tools.lines_to(meant))
    return next((best for best in looks if best is not None), None)


def _seen_along(
    lines: Sightlines, asked: Asked, meant: ResolvedObject, found: list[Grip]
) -> tuple[Grip, int] | None:
    body, box = asked.kind.body, meant.box
    points = points_of(box)
    ignored_ids = asked.tools.catalog.around(meant)
    best: tuple[float, Grip, int] | None = None
    for many in (slice(0, FEW), slice(FEW, None)):
        for grip in found:
            spots = grip.spots[many]
            if not len(spots):
                continue
            z = asked.plan.elevation(grip.floor) + body.frame.base
            for camera in body.cameras:
                x, y = spots[:, 0], spots[:, 1]
                eyes = eyes_toward(camera, x, y, box.center, z + camera.height)
                clear = lines.clear(eyes, points, grip.floor, ignored_ids, meant.id)
                shares = clear.mean(axis=1)
                # What is well in view counts before what is at the edge of being hidden.
                for least in _SHARES:
                    seen = np.flatnonzero(shares >= least)
                    if len(seen) and (best is None or least > best[0]):
                        best = (least, grip, int(seen[0]) + (many.start or 0))
                        break
        if best is not None and best[0] > _SHARES[-1]:
            break
    return best[1:] if best is not None else None


def _unreached(
    asked: Asked, meant: ResolvedObject, box: Box, z: float, floor: int, trouble: Reach
) -> Estimate:
    """Return why a hand does not get there: the body itself, or the way."""
    if trouble.obstacle is Obstacle.TOO_FAR_IN:
        elsewhere, _ = asked.grips(box, z, floor, anywhere=True)
        if elsewhere:
            x, y = elsewhere[0].spots[0]
            spot = (float(x), float(y), asked.plan.elevation(floor))
            return Estimate(Obstacle.NO_PATH, "no way there", spot)
    reason = f"{meant.name}: {trouble.reason}"
    return Estimate(trouble.obstacle, reason, target=box.center)


def place(asked: Asked, meant: ResolvedObject, item: Box | None, inside: bool | None) -> Estimate:
    """Return whether a robot puts an item (None: a small one) where there is room for it.

    `inside`: whether into what it is put; None: as it fits.
    """
    body = asked.kind.body
    if not body.hands:
        return Estimate(Obstacle.NO_ARM, "it has no arm")
    surfaces = surfaces_of(meant, item, inside)
    if not surfaces:
        reason = f"nothing of that size fits on the {meant.name}"
        return Estimate(Obstacle.OTHER, reason)
    floor = asked.plan.floor_index(meant.box.bottom)
    elevation, thing = asked.plan.elevation(floor), item or _SOME
    answers: list[tuple[float, Estimate]] = []
    trouble: Estimate | None = None
    for surface in surfaces:
        opens = surface.closed and meant.id not in asked.opened
        if opens:
            opening = open_or_close(asked, meant)
            if not opening.feasible:
                reason = f"the {meant.name} is closed, and it cannot open it: {opening.reason}"
                trouble = trouble or Estimate(Obstacle.CLOSED, reason)
                continue
        z = surface.box.center[2]
        points, crowded = _room_on(asked, meant, surface, item)
        if not len(points):
            reason = f"there is no room left on the {meant.name}"
            trouble = trouble or Estimate(Obstacle.NO_ROOM, reason)
            continue
        found, why = asked.grips(surface.box, z, floor)
        put = _put_down(asked, found, points, thing, surface.rest)
        if put is None:
            answer = _unreached(asked, meant, surface.box, z, floor, why)
            if found:
                beyond = f"is beyond the hand's reach of {found[0].farthest:.2f} m"
                reason = f"the room left on the {meant.name} {beyond}"
                answer = Estimate(Obstacle.TOO_FAR_IN, reason)
            # That there is no room is said only where there is none for anybody.
            if trouble is None or trouble.obstacle in (Obstacle.CLOSED, Obstacle.NO_ROOM):
                trouble = answer
            continue
        grip, k, (x, y), seen = put
        reach = reach_of(grip, k, elevation, f"the {meant.name}")
        answer = done("place", reach.reason, reach.spot, (x, y, z))
        if opens:
            work = WORK["place"] + WORK["open"]
            answer = replace(answer, opens=meant.id, work=work, time=work)
        # What stands open comes first, then what the robot sees itself put the thing down on.
        worth = 10.0 * (not surface.closed) + 5.0 * seen - 20.0 * crowded
        # A hand that holds a tall thing has to get higher than where its foot shall stand.
        high = z - elevation + thing.size[2] / 2.0
        tall = all(hand.row(high) is None for hand in body.hands)
        worth -= 4.0 * tall
        answers.append((-reach.margin - worth, answer))
        if seen and not (surface.closed or crowded or tall):
            break
    if answers:
        return min(answers, key=lambda a: a[0])[1]
    assert trouble is not None
    return trouble


def put_from(
    asked: Asked, meant: ResolvedObject, spot: Vec3, item: Box | None, inside: bool | None
) -> Vec3 | None:
    """Return the point [m] on what stands open at which a robot at a spot puts an item down.

    What it sees from there comes first, then the nearest; None: its hand gets to none.
    """
    floor, thing = asked.plan.floor_index(meant.box.bottom), item or _SOME
    blind: Vec3 | None = None
    for surface in surfaces_of(meant, item, inside):
        points, _ = _room_on(asked, meant, surface, item)
        z = surface.box.center[2]
        for hand in asked.kind.body.hands if not surface.closed and len(points) else ():
            row = hand.row(z - asked.plan.elevation(floor))
            if row is None:
                continue
            put = _from_spot(asked, hand, row, floor, spot[:2], points, thing, surface.rest)
            if put is not None and put[1]:
                return (*put[0], z)
            blind = blind or ((*put[0], z) if put is not None else None)
    return blind


def _room_on(
    asked: Asked, meant: ResolvedObject, surface: Surface, item: Box | None
) -> tuple[Floats, bool]:
    """Return the points (n, 2) [m] of a surface with room for an item; whether none is free."""
    thing = item or _SOME
    others = [t.box for t in asked.tools.catalog.upon(meant.id) if item is None or t.box != item]
    points = free_points(surface.box, thing, others)
    crowded = not len(points)
    if crowded and not surface.told:
        # What was found on the way has other measures than is thought: trying tells. What fits
        # turned only goes to the middle.
        points = free_points(surface.box, thing, [])
        points = points if len(points) else np.array([surface.box.center[:2]])
    return points, crowded


def _put_down(
    asked: Asked, found: list[Grip], points: Floats, item: Box, surface: Box
) -> tuple[Grip, int, Vec2, bool] | None:
    """Return the grip and spot from which an item gets to one of the points (n, 2), and which.

    Where the robot sees from that spot what it has put down (the last of what is returned) comes
    first; the nearest point else. A hand that holds the item by its middle gets as far as its
    reach; one that holds it by its rim gets farther, which is counted on where nothing else is.
    """
    blind: tuple[Grip, int, Vec2, bool] | None = None
    for held in (_POINT, item):
        for grip in found:
            row = grip.hand.row(grip.height)
            if row is None:
                continue
            for k, (x, y) in enumerate(grip.spots[:FEW]):
                spot = (float(x), float(y))
                put = _from_spot(
                    asked, grip.hand, row, grip.floor, spot, points, item, surface, held
                )
                if put is not None and put[1]:
                    return (grip, k, *put)
                blind = blind or ((grip, k, *put) if put is not None else None)
    return blind


def _from_spot(
    asked: Asked,
    hand: Hand,
    row: npt.NDArray[np.bool_],
    floor: int,
    spot: Vec2,
    points: Floats,
    item: Box,
    surface: Box,
    held: Box = _POINT,
) -> tuple[Vec2, bool] | None:
    """Return to which of some points (n, 2) [m] a hand gets from a spot, and whether in view."""
    # As seen from the point: the box lies about it as the surface does.
    away = Box((*spot, 0.0), (*held.size[:2], 0.0), surface.yaw)
    gaps = gap_to(away, points[:, 0], points[:, 1])
    ok = np.flatnonzero(hand.reaches(row, gaps))
    near = points[ok[np.argsort(gaps[ok], kind="stable")]]
    if not len(near):
        return None
    far = near[_POINTS:]
    some = np.vstack([near[:_POINTS], far[:: max(1, len(far) // _POINTS)]])
    seen = _in_view(asked, floor, spot, some, item, surface)
    return (seen, True) if seen is not None else ((float(near[0, 0]), float(near[0, 1])), False)


def _in_view(
    asked: Asked, floor: int, spot: Vec2, points: Floats, item: Box, surface: Box
) -> Vec2 | None:
    """Return the first of some points (n, 2) [m] at which a robot at a spot sees an item stand."""
    body = asked.kind.body
    height = surface.center[2] + item.size[2] / 2.0
    middles = np.column_stack([points, np.full(len(points), height)])
    first: Vec3 = (float(points[0, 0]), float(points[0, 1]), height)
    meant = ResolvedObject("", Box(first, item.size, surface.yaw))
    ignored_ids = asked.tools.catalog.around(meant)
    here = np.array([spot])
    for camera in body.cameras:
        z = asked.plan.elevation(floor) + body.frame.base + camera.height
        eyes = eyes_toward(camera, here[:, 0], here[:, 1], first, z)
        away = np.hypot(*(middles - eyes[0])[:, :2].T)
        down = np.arctan2(z - middles[:, 2], np.maximum(away, 0.05))
        low, high = min(camera.pitches[0], camera.pitch), max(camera.pitches[1], camera.pitch)
        ok = np.abs(down - np.clip(down, low, high)) <= camera.vfov / 2.0
        ok &= asked.tools.lines.clear(eyes, middles, floor, ignored_ids)[0]
        if ok.any():
            x, y = points[int(np.argmax(ok))]
            return float(x), float(y)
    return None


def place_on_floor(asked: Asked, thing: Thing) -> Estimate:
    """Return whether a robot's hand gets down to the floor, at a thing's position if it has one."""
    if not asked.kind.body.hands:
        return Estimate(Obstacle.NO_ARM, "it has no arm")
    if thing.position is None:
        return done("place", "the floor where it stands", None, None)
    floor = asked.plan.floor_index(thing.position[2])
    z = asked.plan.elevation(floor)
    box = Box((thing.position[0], thing.position[1], z), (0.1, 0.1, 0.0))
    found, trouble = asked.grips(box, z, floor)
    if not found:
        return _unreached(asked, ResolvedObject(FLOOR, box), box, z, floor, trouble)
    reach = reach_of(found[0], 0, z, "the floor")
    return done("place", reach.reason, reach.spot, box.center)


def open_or_close(asked: Asked, meant: ResolvedObject) -> Estimate:
    """Return whether a robot opens or closes a container."""
    if asked.kind.body.hands and (meant.object is None or meant.object.is_open is None):
        reason = f"a {meant.name} cannot be opened or closed"
        return Estimate(Obstacle.OTHER, reason)
    return at_front(asked, meant)


def at_front(asked: Asked, meant: ResolvedObject) -> Estimate:
    """Return whether a robot's hand gets to the front of a thing, anywhere."""
    hands, box = asked.kind.body.hands, meant.box
    if not hands:
        return Estimate(Obstacle.NO_ARM, "it has no arm")
    floor = asked.plan.floor_index(box.bottom)
    elevation = asked.plan.elevation(floor)
    trouble: Estimate | None = None
    heights = [min(max(box.center[2], h.low + elevation), h.high + elevation) for h in hands]
    for height in dict.fromkeys(heights):
        z = min(max(height, box.bottom), box.top)
        found, why = asked.grips(box, z, floor)
        if not found:
            trouble = trouble or _unreached(asked, meant, box, z, floor, why)
            continue
        best = _seen_from(asked, meant, found)
        if best is None:
            trouble = _hidden(meant)
            continue
        grip, k = best
        reach = reach_of(grip, k, elevation, f"the {meant.name}")
        return done("open", reach.reason, reach.spot, (box.center[0], box.center[1], z))
    assert trouble is not None
    return trouble


def done(kind: str, reason: str, spot: Vec3 | None, target: Vec3 | None) -> Estimate:
    """Return that a sub-task of a kind can be done, with the time of its skill."""
    work = WORK[kind]
    return Estimate(None, reason, spot, work, 0.0, target, work=work)
