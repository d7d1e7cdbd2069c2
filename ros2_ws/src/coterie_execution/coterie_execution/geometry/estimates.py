"""Whether a body can do each kind of sub-task, from where, and how long the work itself takes."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from coterie_core.geometry import Box, Vec3
from coterie_core.skill_registry import SKILLS
from coterie_core.tasks import BY_HAND, Obstacle, SubTask, Thing
from coterie_execution.geometry.bodies import BodiesInScene
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

Components = frozenset[int]


def estimate_for(
    tools: BodiesInScene,
    robot: str,
    sub_task: SubTask,
    components: Components,
    holding: str,
    opened: Collection[str],
) -> Estimate:
    """Return the estimate without the way from the start; see `Toolbox.estimate`.

    An infeasible one with NO_PATH may name in `spot` where the robot would have to stand.
    """
    kind = sub_task.kind
    if kind == "pick" and holding:
        if sub_task.object is not None and sub_task.object.id == holding:
            return Estimate(True, reason="it holds it already", thing=holding)
        return Estimate(False, Obstacle.HANDS_FULL, f"its hand holds {holding}; place that first")
    if kind == "search":
        return _search(tools, robot, sub_task, components)
    thing = sub_task.target
    if thing is None:
        return _go_to_room(tools, robot, sub_task.rooms, components)
    if kind == "place" and thing.label == FLOOR and not thing.id:
        return place_on_floor(tools, robot, thing, components)
    candidates = tools.catalog.meant_by(thing)
    if not candidates:
        return _not_known(tools, robot, sub_task, thing)
    if kind == "detect" and sub_task.receptacle is not None:
        candidates += _anywhere_on(tools, candidates[0], sub_task.receptacle)
    answers = [_one(tools, robot, sub_task, m, components, opened) for m in candidates[:12]]
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
    looks = (_detect(tools, robot, one, components) for one in _anywhere_on(tools, meant, holder))
    return [look for look in looks if look.feasible]


def put_at(tools: BodiesInScene, robot: str, sub_task: SubTask, spot: Vec3) -> Vec3 | None:
    """Return where [m] a robot at a spot [m] puts down what a place is about; None: nowhere."""
    receptacle = sub_task.receptacle
    owners = tools.catalog.meant_by(receptacle) if receptacle is not None else []
    if not owners:
        return None
    return put_from(tools, robot, owners[0], spot, _item_of(tools, sub_task), sub_task.inside)


def _item_of(tools: BodiesInScene, sub_task: SubTask) -> Box | None:
    """Return the box of the one thing that a sub-task puts down; None: which is not known."""
    found = tools.catalog.meant_by(sub_task.object) if sub_task.object is not None else []
    return found[0].box if len(found) == 1 else None


def _one(
    tools: BodiesInScene,
    robot: str,
    sub_task: SubTask,
    meant: ResolvedObject,
    components: Components,
    opened: Collection[str],
) -> Estimate:
    kind = tools.kind(robot)
    item = _item_of(tools, sub_task) if sub_task.kind == "place" else None
    key = (
        "estimate", sub_task.kind, sub_task.skill, meant.key, components,
        item.size if item else None, frozenset(opened), sub_task.inside,
    )  # fmt: skip
    if key not in kind.answers:
        kind.answers[key] = _work_out(tools, robot, sub_task, meant, components, opened, item)
    out: Estimate = kind.answers[key]
    return out


def _work_out(
    tools: BodiesInScene,
    robot: str,
    sub_task: SubTask,
    meant: ResolvedObject,
    components: Components,
    opened: Collection[str],
    item: Box | None,
) -> Estimate:
    if sub_task.kind == "go_to":
        return _go_to(tools, robot, meant, components)
    if sub_task.kind == "place":
        return place(tools, robot, meant, components, opened, item, sub_task.inside)
    if sub_task.kind == "use":
        spec = SKILLS.get(sub_task.skill)
        if spec is None:
            why = f"no package that does {sub_task.skill!r} is installed here"
            return Estimate(False, Obstacle.OTHER, why)
        front = at_front(tools, robot, meant, components)
        return replace(front, time=spec.seconds, work=spec.seconds) if front.feasible else front
    if sub_task.kind in ("open", "close"):
        return open_or_close(tools, robot, meant, components)
    shut = tools.catalog.closed_around(meant.object)
    if shut is not None and shut.id in opened:
        shut = None
    answer = (
        _detect(tools, robot, meant, components)
        if sub_task.kind == "detect"
        else pick(tools, robot, meant, components)
    )
    if shut is None or not answer.feasible:
        return answer
    opening = open_or_close(
        tools, robot, ResolvedObject(shut.label.top, shut.box, shut), components
    )
    if not opening.feasible:
        return Estimate(
            False,
            Obstacle.CLOSED,
            f"the {meant.name} is in a closed {shut.label.top}, and it cannot open that: "
            f"{opening.reason}",
            thing=answer.thing,
        )
    work = answer.work + opening.work
    return replace(
        answer,
        opens=shut.id,
        work=work,
        time=work,
        reason=f"{answer.reason}; opens the {shut.label.top} first",
    )


def _detect(
    tools: BodiesInScene, robot: str, meant: ResolvedObject, components: Components
) -> Estimate:
    name = meant.id
    sight = tools.view(robot, meant, components)
    if sight.feasible:
        reason = f"{meant.name}: {sight.reason}"
        return done("detect", reason, sight.spot, meant.box.center, name)
    if sight.obstacle is not Obstacle.NO_CAMERA:
        elsewhere = tools.view(robot, meant, None)
        if elsewhere.feasible:
            return Estimate(
                False, Obstacle.NO_PATH, "no way there", spot=elsewhere.spot, thing=name
            )
    return Estimate(
        False, sight.obstacle, f"{meant.name}: {sight.reason}", target=meant.box.center, thing=name
    )


def _go_to(
    tools: BodiesInScene, robot: str, meant: ResolvedObject, components: Components
) -> Estimate:
    kind, box = tools.kind(robot), meant.box
    name = meant.id
    floor = tools.plan.floor_index(box.bottom)
    near = around(kind.space, box, floor, AT_OBJECT, 2)
    near = near.where(gap_to(box, near.x, near.y) <= AT_OBJECT)
    if floor in tools.plan.outlined:
        # Beyond a wall is not there, unless the thing itself is in a wall.
        row, col = tools.plan.cell(box.center[0], box.center[1])
        own = (
            tools.plan.numbers_at(floor, near.x, near.y)
            == (tools.plan.room_raster(floor)[row, col])
        )
        near = near.where(own) if own.any() else near
    chosen = near.of_components(components)
    elevation = tools.plan.elevation(floor)
    if not len(chosen):
        if len(near):
            k = int(np.argmin(gap_to(box, near.x, near.y)))
            spot = (float(near.x[k]), float(near.y[k]), elevation)
            return Estimate(False, Obstacle.NO_PATH, "no way there", spot=spot, thing=name)
        return Estimate(
            False,
            Obstacle.NO_PATH,
            f"there is no spot to stand on within {AT_OBJECT:.1f} m of the {meant.name}",
            thing=name,
        )
    # Rather a little off than squeezed in.
    gaps = gap_to(box, chosen.x, chosen.y)
    score = np.minimum(chosen.clearance, 0.15) - 0.5 * np.maximum(gaps - 0.3, 0.0)
    k = int(np.argmax(score))
    spot = (float(chosen.x[k]), float(chosen.y[k]), elevation)
    away = float(gaps[k])
    return done("go_to", f"stands {away:.2f} m from the {meant.name}", spot, box.center, name)


def _go_to_room(
    tools: BodiesInScene, robot: str, rooms: tuple[str, ...], components: Components
) -> Estimate:
    room = tools.scene.rooms.get(rooms[0]) or tools.scene.room_named(rooms[0])
    if room is None:
        return Estimate(False, Obstacle.UNKNOWN_THING, f"there is no room {rooms[0]!r}")
    spot, blocked = room_spot(tools, robot, room.id, components)
    if spot is None:
        return Estimate(
            False, Obstacle.NO_PATH, f"it does not get into the {room.name}", spot=blocked
        )
    return done("go_to", f"a free spot in the {room.name}", spot, spot, "")


def room_spot(
    tools: BodiesInScene, robot: str, room: str, components: Components
) -> tuple[Vec3 | None, Vec3 | None]:
    """Return where a robot stands in a room [m], or None and where it would."""
    kind = tools.kind(robot)
    key = ("room", room, components)
    if key not in kind.answers:
        kind.answers[key] = _room_spot(tools, robot, room, components)
    out: tuple[Vec3 | None, Vec3 | None] = kind.answers[key]
    return out


def _room_spot(
    tools: BodiesInScene, robot: str, room: str, components: Components
) -> tuple[Vec3 | None, Vec3 | None]:
    stands = tools.kind(robot).space.in_room(room)
    if not len(stands):
        return None, None
    z = tools.plan.elevation(tools.plan.room_floor(room))
    mine = stands.of_components(components)
    some = mine if len(mine) else stands
    middle = (float(np.mean(stands.x)), float(np.mean(stands.y)))
    away = np.hypot(some.x - middle[0], some.y - middle[1]) - 2.0 * np.minimum(some.clearance, 0.3)
    k = int(np.argmin(away))
    spot = (float(some.x[k]), float(some.y[k]), z)
    return (spot, None) if len(mine) else (None, spot)


def _search(
    tools: BodiesInScene, robot: str, sub_task: SubTask, components: Components
) -> Estimate:
    """Return the tour through rooms: from each to the nearest that is left, looking around."""
    kind = tools.kind(robot)
    if not kind.body.cameras:
        return Estimate(False, Obstacle.NO_CAMERA, "it has no camera")
    wanted = sub_task.rooms or tuple(tools.scene.rooms)
    key = ("search", wanted, bool(sub_task.rooms), components)
    if key not in kind.answers:
        kind.answers[key] = _tour(tools, robot, wanted, bool(sub_task.rooms), components)
    out: Estimate = kind.answers[key]
    return out


def _tour(
    tools: BodiesInScene, robot: str, wanted: tuple[str, ...], named: bool, components: Components
) -> Estimate:
    kind = tools.kind(robot)
    spots: dict[str, Vec3] = {}
    for room in wanted:
        if room not in tools.scene.rooms:
            return Estimate(False, Obstacle.UNKNOWN_THING, f"there is no room {room!r}")
        spot, blocked = room_spot(tools, robot, room, components)
        if spot is not None:
            spots[room] = spot
        elif named:
            name = tools.scene.rooms[room].name
            return Estimate(
                False, Obstacle.NO_PATH, f"it does not get into the {name}", spot=blocked
            )
    if not spots:
        return Estimate(False, Obstacle.NO_PATH, "it gets into none of the rooms")
    order = [next(iter(spots))]
    length = 0.0
    points = list(spots.values())
    names = list(spots)
    lengths = kind.ways.matrix(points)
    left = set(range(1, len(names)))
    here = 0
    while left:
        there = min(left, key=lambda k: (lengths[here, k], k))
        step = float(lengths[here, there])
        length += step if math.isfinite(step) else _UNKNOWN_WAY
        order.append(names[there])
        left.remove(there)
        here = there
    turn = math.tau / kind.body.turn
    looks = sum(_looks(tools, room) for room in spots)
    work = kind.ways.time(length) + looks * (turn + WORK["detect"])
    missing = len(wanted) - len(spots)
    note = f"; {missing} rooms are out of its reach" if missing else ""
    return Estimate(
        True,
        None,
        f"looks around {looks} times in {len(spots)} rooms, {length:.0f} m between them{note}",
        work,
        length,
        points[0],
        None,
        known=False,
        work=work,
    )


def _looks(tools: BodiesInScene, room: str) -> int:
    """Return how often one looks around in a room, by its size."""
    polygon = tools.scene.rooms[room].polygon
    if len(polygon) < 3:
        return 1
    xs, ys = [p[0] for p in polygon], [p[1] for p in polygon]
    area = (max(xs) - min(xs)) * (max(ys) - min(ys))
    return max(1, round(area / (2.0 * _LOOK_SPACING) ** 2))


def _not_known(tools: BodiesInScene, robot: str, sub_task: SubTask, thing: Thing) -> Estimate:
    """Return what the body alone tells about a thing that nobody has found yet."""
    kind = tools.kind(robot)
    if sub_task.kind in BY_HAND and not kind.body.hands:
        return Estimate(False, Obstacle.NO_ARM, "it has no arm")
    if sub_task.kind == "detect" and not kind.body.cameras:
        return Estimate(False, Obstacle.NO_CAMERA, "it has no camera")
    if not sub_task.depends_on:
        named = f"{thing.label} {thing.id}".strip()
        return Estimate(
            False,
            Obstacle.UNKNOWN_THING,
            f"nobody knows where the {named} is; search for it first",
            known=False,
        )
    work = WORK.get(sub_task.kind, 0.0)
    time = work + kind.ways.time(_UNKNOWN_WAY)
    return Estimate(
        True,
        None,
        f"where the {thing.label} is will be known when it is found; its body has what it takes",
        time,
        _UNKNOWN_WAY,
        known=False,
        work=work,
    )
