"""Whether a body can do each kind of sub-task, from where, and how long the work itself takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from coterie_core.geometry import Box, Vec2, Vec3
from coterie_core.skill_registry import SKILLS
from coterie_core.tasks import BY_HAND, Obstacle, SubTask, Thing
from coterie_execution.geometry.bodies import Asked, BodiesInScene, Components
from coterie_execution.geometry.grasp import around, gap_to
from coterie_execution.geometry.manipulation import (
    WORK,
    at_front,
    done,
    open_or_close,
    pick,
    place,
    place_on_floor,
    put_from,
)
from coterie_execution.geometry.results import Estimate
from coterie_execution.geometry.things import FLOOR, ResolvedObject, surfaces_of
from coterie_world.search_belief import spread_over

AT_OBJECT = 1.5
"""How near [m] a robot has to be to be at a thing."""
_LOOK_SPACING = 2.5  # [m] between spots from which a room is searched
_UNKNOWN_WAY = 8.0  # [m] taken for the way to what nobody has found yet


def estimate_for(asked: Asked, sub_task: SubTask, holding: str) -> Estimate:
    """Return the estimate without the way from the start; see `Toolbox.estimate`.

    An infeasible one with NO_PATH may name in `spot` where the robot would have to stand.
    """
    kind = sub_task.kind
    if kind == "pick" and holding:
        if sub_task.object is not None and sub_task.object.id == holding:
            return Estimate(reason="it holds it already")
        return Estimate(Obstacle.HANDS_FULL, f"its hand holds {holding}; place that first")
    if kind == "search":
        return _search(asked, sub_task)
    thing = sub_task.target
    if thing is None:
        return _go_to_room(asked, sub_task.rooms)
    if kind == "place" and thing.label == FLOOR and not thing.id:
        return place_on_floor(asked, thing)
    candidates = asked.tools.catalog.meant_by(thing)
    if not candidates:
        return _not_known(asked, sub_task, thing)
    if kind == "detect" and sub_task.receptacle is not None:
        candidates += _anywhere_on(asked.tools, candidates[0], sub_task.receptacle)
    answers = [_one(asked, sub_task, meant) for meant in candidates[:12]]
    feasible = [a for a in answers if a.feasible]
    return min(feasible, key=lambda a: a.work) if feasible else answers[0]


def _anywhere_on(
    tools: BodiesInScene, meant: ResolvedObject, holder: Thing
) -> list[ResolvedObject]:
    """Return a thing at points all over what it was put on: where on it is not known."""
    owners = tools.catalog.meant_by(holder)
    return [
        replace(meant, box=Box(point, meant.box.size, meant.box.yaw))
        for surface in (surfaces_of(owners[0], None) if owners else [])
        if not surface.closed
        for point in spread_over(surface.rest, meant.box.size[2] / 2.0)
    ]


def views_on(
    tools: BodiesInScene, robot: str, meant: ResolvedObject, holder: Thing, components: Components
) -> list[Estimate]:
    """Return whence a robot sees what lies on or in something, for points all over that."""
    asked = Asked(tools, robot, components)
    looks = (_detect(asked, one) for one in _anywhere_on(tools, meant, holder))
    return [look for look in looks if look.feasible]


def put_at(tools: BodiesInScene, robot: str, sub_task: SubTask, spot: Vec3) -> Vec3 | None:
    """Return where [m] a robot at a spot [m] puts down what a place is about; None: nowhere."""
    receptacle = sub_task.receptacle
    owners = tools.catalog.meant_by(receptacle) if receptacle is not None else []
    if not owners:
        return None
    asked = Asked(tools, robot, frozenset())
    return put_from(asked, owners[0], spot, _item_of(tools, sub_task), sub_task.inside)


def _item_of(tools: BodiesInScene, sub_task: SubTask) -> Box | None:
    """Return the box of the one thing that a sub-task puts down; None: which is not known."""
    found = tools.catalog.meant_by(sub_task.object) if sub_task.object is not None else []
    return found[0].box if len(found) == 1 else None


def _one(asked: Asked, sub_task: SubTask, meant: ResolvedObject) -> Estimate:
    item = _item_of(asked.tools, sub_task) if sub_task.kind == "place" else None
    key = (
        "estimate", sub_task.kind, sub_task.skill, meant.key, asked.components,
        item.size if item else None, frozenset(asked.opened), sub_task.inside,
    )  # fmt: skip
    return asked.kind.kept(key, partial(_work_out, asked, sub_task, meant, item))


def _work_out(asked: Asked, sub_task: SubTask, meant: ResolvedObject, item: Box | None) -> Estimate:
    if sub_task.kind == "go_to":
        return _go_to(asked, meant)
    if sub_task.kind == "place":
        return place(asked, meant, item, sub_task.inside)
    if sub_task.kind == "use":
        spec = SKILLS.get(sub_task.skill)
        if spec is None:
            why = f"no package that does {sub_task.skill!r} is installed here"
            return Estimate(Obstacle.OTHER, why)
        front = at_front(asked, meant)
        return replace(front, time=spec.seconds, work=spec.seconds) if front.feasible else front
    if sub_task.kind in ("open", "close"):
        return open_or_close(asked, meant)
    shut = asked.tools.catalog.closed_around(meant.object)
    answer = _detect(asked, meant) if sub_task.kind == "detect" else pick(asked, meant)
    if shut is None or shut.id in asked.opened or not answer.feasible:
        return answer
    opening = open_or_close(asked, ResolvedObject(shut.label.top, shut.box, shut))
    if not opening.feasible:
        closed = f"the {meant.name} is in a closed {shut.label.top}, and it cannot open that"
        return Estimate(Obstacle.CLOSED, f"{closed}: {opening.reason}")
    work = answer.work + opening.work
    reason = f"{answer.reason}; opens the {shut.label.top} first"
    return replace(answer, opens=shut.id, work=work, time=work, reason=reason)


def _detect(asked: Asked, meant: ResolvedObject) -> Estimate:
    sight = asked.tools.view(asked.robot, meant, asked.components)
    reason = f"{meant.name}: {sight.reason}"
    if sight.feasible:
        return done("detect", reason, sight.spot, meant.box.center)
    if sight.obstacle is not Obstacle.NO_CAMERA:
        elsewhere = asked.tools.view(asked.robot, meant, None)
        if elsewhere.feasible:
            return Estimate(Obstacle.NO_PATH, "no way there", elsewhere.spot)
    return Estimate(sight.obstacle, reason, target=meant.box.center)


def _go_to(asked: Asked, meant: ResolvedObject) -> Estimate:
    plan, box = asked.plan, meant.box
    floor = plan.floor_index(box.bottom)
    near = around(asked.kind.space, box, floor, AT_OBJECT, 2)
    near = near.where(gap_to(box, near.x, near.y) <= AT_OBJECT)
    if floor in plan.outlined:
        # Beyond a wall is not there, unless the thing itself is in a wall.
        cell = plan.cell(box.center[0], box.center[1])
        own = plan.numbers_at(floor, near.x, near.y) == plan.room_raster(floor)[cell]
        near = near.where(own) if own.any() else near
    chosen = near.of_components(asked.components)
    elevation = plan.elevation(floor)
    if not len(chosen):
        if len(near):
            k = int(np.argmin(gap_to(box, near.x, near.y)))
            spot = (float(near.x[k]), float(near.y[k]), elevation)
            return Estimate(Obstacle.NO_PATH, "no way there", spot)
        reason = f"there is no spot to stand on within {AT_OBJECT:.1f} m of the {meant.name}"
        return Estimate(Obstacle.NO_PATH, reason)
    # Rather a little off than squeezed in.
    gaps = gap_to(box, chosen.x, chosen.y)
    score = np.minimum(chosen.clearance, 0.15) - 0.5 * np.maximum(gaps - 0.3, 0.0)
    k = int(np.argmax(score))
    spot = (float(chosen.x[k]), float(chosen.y[k]), elevation)
    away = float(gaps[k])
    return done("go_to", f"stands {away:.2f} m from the {meant.name}", spot, box.center)


def _go_to_room(asked: Asked, rooms: tuple[str, ...]) -> Estimate:
    scene = asked.tools.scene
    room = scene.rooms.get(rooms[0]) or scene.room_named(rooms[0])
    if room is None:
        return Estimate(Obstacle.UNKNOWN_THING, f"there is no room {rooms[0]!r}")
    spot, blocked = room_spot(asked, room.id)
    if spot is None:
        return Estimate(Obstacle.NO_PATH, f"it does not get into the {room.name}", blocked)
    return done("go_to", f"a free spot in the {room.name}", spot, spot)


def room_spot(asked: Asked, room: str) -> tuple[Vec3 | None, Vec3 | None]:
    """Return where a robot stands in a room [m], or None and where it would."""
    key = ("room", room, asked.components)
    return asked.kind.kept(key, partial(_room_spot, asked, room))


def _room_spot(asked: Asked, room: str) -> tuple[Vec3 | None, Vec3 | None]:
    stands = asked.kind.space.in_room(room)
    if not len(stands):
        return None, None
    z = asked.plan.elevation(asked.plan.room_floor(room))
    mine = stands.of_components(asked.components)
    some = mine if len(mine) else stands
    middle = (float(np.mean(stands.x)), float(np.mean(stands.y)))
    away = np.hypot(some.x - middle[0], some.y - middle[1]) - 2.0 * np.minimum(some.clearance, 0.3)
    k = int(np.argmin(away))
    spot = (float(some.x[k]), float(some.y[k]), z)
    return (spot, None) if len(mine) else (None, spot)


def _search(asked: Asked, sub_task: SubTask) -> Estimate:
    """Return the tour through rooms: from each to the nearest that is left, looking around."""
    if not asked.kind.body.cameras:
        return Estimate(Obstacle.NO_CAMERA, "it has no camera")
    key = ("search", sub_task.rooms, asked.components)
    return asked.kind.kept(key, partial(_tour, asked, sub_task.rooms))


def _tour(asked: Asked, named: tuple[str, ...]) -> Estimate:
    """Return the tour through rooms that were named; none: through those that it gets into."""
    kind, rooms = asked.kind, asked.tools.scene.rooms
    wanted = named or tuple(rooms)
    spots: dict[str, Vec3] = {}
    for room in wanted:
        if room not in rooms:
            return Estimate(Obstacle.UNKNOWN_THING, f"there is no room {room!r}")
        spot, blocked = room_spot(asked, room)
        if spot is not None:
            spots[room] = spot
        elif named:
            reason = f"it does not get into the {rooms[room].name}"
            return Estimate(Obstacle.NO_PATH, reason, blocked)
    if not spots:
        return Estimate(Obstacle.NO_PATH, "it gets into none of the rooms")
    points = list(spots.values())
    lengths = kind.ways.matrix(points)
    left = set(range(1, len(points)))
    length, here = 0.0, 0
    while left:
        there = min(left, key=lambda k: (lengths[here, k], k))
        step = float(lengths[here, there])
        length += step if math.isfinite(step) else _UNKNOWN_WAY
        left.remove(there)
        here = there
    turn = math.tau / kind.body.turn
    looks = sum(_looks(rooms[room].polygon) for room in spots)
    work = kind.ways.time(length) + looks * (turn + WORK["detect"])
    missing = len(wanted) - len(spots)
    note = f"; {missing} rooms are out of its reach" if missing else ""
    reason = f"looks around {looks} times in {len(spots)} rooms, {length:.0f} m between them{note}"
    return Estimate(None, reason, points[0], work, length, work=work)


def _looks(polygon: Sequence[Vec2]) -> int:
    """Return how often one looks around in a room of an outline, by its size."""
    if len(polygon) < 3:
        return 1
    area = float(np.prod(np.ptp(polygon, axis=0)))
    return max(1, round(area / (2.0 * _LOOK_SPACING) ** 2))


def _not_known(asked: Asked, sub_task: SubTask, thing: Thing) -> Estimate:
    """Return what the body alone tells about a thing that nobody has found yet."""
    body = asked.kind.body
    if sub_task.kind in BY_HAND and not body.hands:
        return Estimate(Obstacle.NO_ARM, "it has no arm")
    if sub_task.kind == "detect" and not body.cameras:
        return Estimate(Obstacle.NO_CAMERA, "it has no camera")
    if not sub_task.depends_on:
        named = f"{thing.label} {thing.id}".strip()
        reason = f"nobody knows where the {named} is; search for it first"
        return Estimate(Obstacle.UNKNOWN_THING, reason)
    work = WORK.get(sub_task.kind, 0.0)
    time = work + asked.kind.ways.time(_UNKNOWN_WAY)
    found = f"where the {thing.label} is will be known when it is found"
    reason = f"{found}; its body has what it takes"
    return Estimate(None, reason, None, time, _UNKNOWN_WAY, work=work)
