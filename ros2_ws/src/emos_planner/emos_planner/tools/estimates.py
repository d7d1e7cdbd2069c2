"""Whether a body can do each kind of sub-task, from where, and how long the work itself takes."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coterie_core.geometry import Box, Vec3
from coterie_core.tasks import Obstacle, SubTask, Thing
from emos_planner.tools.grasp import FEW, Grip, around, gap_to, grips, reach_of
from emos_planner.tools.lines import points_of
from emos_planner.tools.results import Estimate, Reach
from emos_planner.tools.things import FLOOR, Meant, surfaces_of

if TYPE_CHECKING:
    from emos_planner.tools.toolbox import Toolbox

WORK = {"pick": 2.0, "place": 2.0, "open": 1.5, "close": 1.5, "detect": 0.5, "go_to": 0.0}
"""How long skills take at the spot [s]."""
AT_OBJECT = 1.5
"""How near [m] a robot has to be to be at a thing."""
LARGEST = 0.6
"""Longest edge [m] of what a hand holds."""
_SHARES = (0.6, 0.3, 0.08)  # of a thing's points in view, from good to hardly
_LOOK_SPACING = 2.5  # [m] between spots from which a room is searched
_UNKNOWN_WAY = 8.0  # [m] taken for the way to what nobody has found yet

Parts = frozenset[int]


def estimate_for(
    tools: Toolbox,
    robot: str,
    sub_task: SubTask,
    parts: Parts,
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
        return _search(tools, robot, sub_task, parts)
    thing = sub_task.target
    if thing is None:
        return _go_to_room(tools, robot, sub_task.rooms, parts)
    if kind == "place" and thing.label == FLOOR and not thing.id:
        return _place_on_floor(tools, robot, thing, parts)
    candidates = tools.catalog.meant_by(thing)
    if not candidates:
        return _not_known(tools, robot, sub_task, thing)
    answers = [_one(tools, robot, sub_task, m, parts, opened) for m in candidates[:12]]
    feasible = [a for a in answers if a.feasible]
    return min(feasible, key=lambda a: a.work) if feasible else answers[0]


def _one(
    tools: Toolbox,
    robot: str,
    sub_task: SubTask,
    meant: Meant,
    parts: Parts,
    opened: Collection[str],
) -> Estimate:
    kind = tools.kind(robot)
    item = None
    if sub_task.kind == "place" and sub_task.object is not None:
        found = tools.catalog.meant_by(sub_task.object)
        item = found[0].box if len(found) == 1 else None
    key = (
        "estimate", sub_task.kind, meant.key, parts, item.size if item else None,
        frozenset(opened),
    )  # fmt: skip
    if key not in kind.answers:
        kind.answers[key] = _work_out(tools, robot, sub_task, meant, parts, opened, item)
    out: Estimate = kind.answers[key]
    return out


def _work_out(
    tools: Toolbox,
    robot: str,
    sub_task: SubTask,
    meant: Meant,
    parts: Parts,
    opened: Collection[str],
    item: Box | None,
) -> Estimate:
    if sub_task.kind == "go_to":
        return _go_to(tools, robot, meant, parts)
    if sub_task.kind == "place":
        return _place(tools, robot, meant, parts, opened, item)
    if sub_task.kind in ("open", "close"):
        return _swing(tools, robot, meant, parts)
    shut = tools.catalog.closed_around(meant.object)
    if shut is not None and shut.id in opened:
        shut = None
    answer = (
        _detect(tools, robot, meant, parts)
        if sub_task.kind == "detect"
        else _pick(tools, robot, meant, parts)
    )
    if shut is None or not answer.feasible:
        return answer
    opening = _swing(tools, robot, Meant(shut.label.top, shut.box, shut), parts)
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


def _pick(tools: Toolbox, robot: str, meant: Meant, parts: Parts) -> Estimate:
    kind, box = tools.kind(robot), meant.box
    thing = meant.object
    name = thing.id if thing is not None else ""
    if not kind.body.hands:
        return Estimate(False, Obstacle.NO_ARM, "it has no arm", thing=name)
    if thing is not None and (thing.kind != "item" or max(box.size) > LARGEST):
        return Estimate(
            False,
            Obstacle.TOO_HEAVY,
            f"a {meant.name} of {max(box.size):.2f} m is more than a hand holds ({LARGEST:.1f} m)",
            thing=name,
        )
    mass, payload = mass_of(meant), kind.body.payload
    if mass is not None and payload is not None and mass > payload:
        return Estimate(
            False,
            Obstacle.TOO_HEAVY,
            f"the {meant.name} weighs {mass:.1f} kg, its arm carries {payload:.1f} kg",
            thing=name,
        )
    floor = tools.plan.floor_index(box.bottom)
    found, trouble = grips(kind.space, kind.body, box, box.center[2], floor, parts)
    if not found:
        return _unreached(tools, robot, meant, box, box.center[2], floor, trouble)
    best = _seen_from(tools, robot, meant, found)
    if best is None:
        if not kind.body.cameras:
            return Estimate(False, Obstacle.NO_CAMERA, "it has no camera to grasp by", thing=name)
        return Estimate(
            False,
            Obstacle.OCCLUDED,
            f"the {meant.name} is hidden from every spot from which the hand reaches it",
            thing=name,
        )
    grip, k = best
    reach = reach_of(grip, k, tools.plan.elevation(floor), f"the {meant.name}")
    return _done("pick", reach.reason, reach.spot, box.center, name)


def _seen_from(
    tools: Toolbox, robot: str, meant: Meant, found: list[Grip]
) -> tuple[Grip, int] | None:
    """Return the first spot from which the thing can be seen too: the best, as they are sorted."""
    kind, box = tools.kind(robot), meant.box
    points = points_of(box)
    through = tools.catalog.around(meant)
    best: tuple[float, Grip, int] | None = None
    for many in (slice(0, FEW), slice(FEW, None)):
        for grip in found:
            spots = grip.spots[many]
            if not len(spots):
                continue
            z = tools.plan.elevation(grip.floor) + kind.body.frame.base
            heading = np.arctan2(box.center[1] - spots[:, 1], box.center[0] - spots[:, 0])
            for camera in kind.body.cameras:
                eyes = np.stack(
                    [
                        spots[:, 0] + camera.forward * np.cos(heading),
                        spots[:, 1] + camera.forward * np.sin(heading),
                        np.full(len(heading), z + camera.height),
                    ],
                    axis=1,
                )
                clear = tools.lines.clear(eyes, points, grip.floor, through, meant.id)
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
    tools: Toolbox, robot: str, meant: Meant, box: Box, z: float, floor: int, trouble: Reach
) -> Estimate:
    """Return why a hand does not get there: the body itself, or the way."""
    kind = tools.kind(robot)
    name = meant.id
    if trouble.obstacle is Obstacle.TOO_FAR_IN:
        elsewhere, _ = grips(kind.space, kind.body, box, z, floor, None)
        if elsewhere:
            x, y = elsewhere[0].spots[0]
            spot = (float(x), float(y), tools.plan.elevation(floor))
            return Estimate(False, Obstacle.NO_PATH, "no way there", spot=spot, thing=name)
    return Estimate(
        False, trouble.obstacle, f"{meant.name}: {trouble.reason}", target=box.center, thing=name
    )


def _place(
    tools: Toolbox,
    robot: str,
    meant: Meant,
    parts: Parts,
    opened: Collection[str],
    item: Box | None,
) -> Estimate:
    kind = tools.kind(robot)
    name = meant.id
    if not kind.body.hands:
        return Estimate(False, Obstacle.NO_ARM, "it has no arm", thing=name)
    surfaces = surfaces_of(meant, item)
    if not surfaces:
        return Estimate(
            False, Obstacle.OTHER, f"nothing of that size fits on the {meant.name}", thing=name
        )
    floor = tools.plan.floor_index(meant.box.bottom)
    answers: list[tuple[float, Estimate]] = []
    trouble: Estimate | None = None
    for surface in surfaces:
        if surface.closed and name not in opened:
            opening = _swing(tools, robot, meant, parts)
            if not opening.feasible:
                trouble = trouble or Estimate(
                    False,
                    Obstacle.CLOSED,
                    f"the {meant.name} is closed, and it cannot open it: {opening.reason}",
                    thing=name,
                )
                continue
        z = surface.box.center[2]
        edge = _without_rim(surface.box, item)
        found, why = grips(kind.space, kind.body, edge, z, floor, parts)
        if not found:
            answer = _unreached(tools, robot, meant, edge, z, floor, why)
            if trouble is None or trouble.obstacle is Obstacle.CLOSED:
                trouble = answer
            continue
        reach = reach_of(found[0], 0, tools.plan.elevation(floor), f"the {meant.name}")
        assert reach.spot is not None
        target = _nearest_on(edge, reach.spot, z)
        done = _done("place", reach.reason, reach.spot, target, name)
        if surface.closed and name not in opened:
            work = WORK["place"] + WORK["open"]
            done = replace(done, opens=name, work=work, time=work)
        answers.append((-reach.margin - 10.0 * (not surface.closed), done))
        if not surface.closed:
            break
    if answers:
        return min(answers, key=lambda a: a[0])[1]
    assert trouble is not None
    return trouble


def _without_rim(surface: Box, item: Box | None) -> Box:
    """Return a surface less half an item along its edges: where the item's middle may lie."""
    if item is None:
        return surface
    rim = min(item.size[:2])
    x, y, z = surface.size
    # The hand goes to the near face of the item, so that its depth does not count.
    return Box(surface.center, (max(x - 0.02 * rim, 0.0), max(y - 0.02 * rim, 0.0), z), surface.yaw)


def _nearest_on(surface: Box, spot: Vec3, z: float) -> Vec3:
    """Return the point of a surface nearest to where the robot stands [m]."""
    c, s = math.cos(surface.yaw), math.sin(surface.yaw)
    dx, dy = spot[0] - surface.center[0], spot[1] - surface.center[1]
    a = min(max(c * dx + s * dy, -surface.size[0] / 2.0), surface.size[0] / 2.0)
    b = min(max(-s * dx + c * dy, -surface.size[1] / 2.0), surface.size[1] / 2.0)
    return (surface.center[0] + c * a - s * b, surface.center[1] + s * a + c * b, z)


def _place_on_floor(tools: Toolbox, robot: str, thing: Thing, parts: Parts) -> Estimate:
    kind = tools.kind(robot)
    if not kind.body.hands:
        return Estimate(False, Obstacle.NO_ARM, "it has no arm")
    if thing.position is None:
        return Estimate(True, reason="the floor where it stands", time=WORK["place"], work=2.0)
    floor = tools.plan.floor_index(thing.position[2])
    z = tools.plan.elevation(floor)
    box = Box((thing.position[0], thing.position[1], z), (0.1, 0.1, 0.0))
    found, trouble = grips(kind.space, kind.body, box, z, floor, parts)
    if not found:
        return _unreached(tools, robot, Meant(FLOOR, box), box, z, floor, trouble)
    reach = reach_of(found[0], 0, z, "the floor")
    return _done("place", reach.reason, reach.spot, box.center, "")


def _swing(tools: Toolbox, robot: str, meant: Meant, parts: Parts) -> Estimate:
    """Return whether a robot opens or closes a container: a hand gets to its front anywhere."""
    kind, box = tools.kind(robot), meant.box
    name = meant.id
    if not kind.body.hands:
        return Estimate(False, Obstacle.NO_ARM, "it has no arm", thing=name)
    if meant.object is None or meant.object.is_open is None:
        return Estimate(
            False, Obstacle.OTHER, f"a {meant.name} cannot be opened or closed", thing=name
        )
    floor = tools.plan.floor_index(box.bottom)
    elevation = tools.plan.elevation(floor)
    trouble: Estimate | None = None
    heights = [
        min(max(box.center[2], h.low + elevation), h.high + elevation) for h in kind.body.hands
    ]
    for height in dict.fromkeys(heights):
        z = min(max(height, box.bottom), box.top)
        found, why = grips(kind.space, kind.body, box, z, floor, parts)
        if not found:
            trouble = trouble or _unreached(tools, robot, meant, box, z, floor, why)
            continue
        best = _seen_from(tools, robot, meant, found)
        if best is None:
            trouble = Estimate(
                False,
                Obstacle.OCCLUDED,
                f"the {meant.name} is hidden from every spot from which the hand reaches it",
                thing=name,
            )
            continue
        grip, k = best
        reach = reach_of(grip, k, elevation, f"the {meant.name}")
        return _done("open", reach.reason, reach.spot, (box.center[0], box.center[1], z), name)
    assert trouble is not None
    return trouble


def _detect(tools: Toolbox, robot: str, meant: Meant, parts: Parts) -> Estimate:
    name = meant.id
    sight = tools.view(robot, meant, parts)
    if sight.feasible:
        reason = f"{meant.name}: {sight.reason}"
        return _done("detect", reason, sight.spot, meant.box.center, name)
    if sight.obstacle is not Obstacle.NO_CAMERA:
        elsewhere = tools.view(robot, meant, None)
        if elsewhere.feasible:
            return Estimate(
                False, Obstacle.NO_PATH, "no way there", spot=elsewhere.spot, thing=name
            )
    return Estimate(
        False, sight.obstacle, f"{meant.name}: {sight.reason}", target=meant.box.center, thing=name
    )


def _go_to(tools: Toolbox, robot: str, meant: Meant, parts: Parts) -> Estimate:
    kind, box = tools.kind(robot), meant.box
    name = meant.id
    floor = tools.plan.floor_index(box.bottom)
    near = around(kind.space, box, floor, AT_OBJECT, 2)
    gaps = gap_to(box, near.x, near.y)
    mine = near.among(parts) & (gaps <= AT_OBJECT)
    chosen = near.where(mine)
    elevation = tools.plan.elevation(floor)
    if not len(chosen):
        if (gaps <= AT_OBJECT).any():
            k = int(np.argmin(gaps))
            spot = (float(near.x[k]), float(near.y[k]), elevation)
            return Estimate(False, Obstacle.NO_PATH, "no way there", spot=spot, thing=name)
        return Estimate(
            False,
            Obstacle.NO_PATH,
            f"there is no spot to stand on within {AT_OBJECT:.1f} m of the {meant.name}",
            thing=name,
        )
    # Rather a little off than squeezed in; not behind a wall, where that can be.
    score = np.minimum(chosen.spare, 0.15) - 0.5 * np.maximum(gaps[mine] - 0.3, 0.0)
    rooms = tools.plan.room_raster(floor) if floor in tools.plan.outlined else None
    if rooms is not None:
        own = rooms[tools.plan.cell(box.center[0], box.center[1])]
        cells = [tools.plan.cell(x, y) for x, y in zip(chosen.x, chosen.y, strict=True)]
        score = score + np.array([rooms[cell] == own for cell in cells])
    k = int(np.argmax(score))
    spot = (float(chosen.x[k]), float(chosen.y[k]), elevation)
    away = float(gaps[mine][k])
    return _done("go_to", f"stands {away:.2f} m from the {meant.name}", spot, box.center, name)


def _go_to_room(tools: Toolbox, robot: str, rooms: tuple[str, ...], parts: Parts) -> Estimate:
    room = tools.scene.rooms.get(rooms[0]) or tools.scene.room_named(rooms[0])
    if room is None:
        return Estimate(False, Obstacle.UNKNOWN_THING, f"there is no room {rooms[0]!r}")
    spot, blocked = room_spot(tools, robot, room.id, parts)
    if spot is None:
        return Estimate(
            False, Obstacle.NO_PATH, f"it does not get into the {room.name}", spot=blocked
        )
    return _done("go_to", f"a free spot in the {room.name}", spot, spot, "")


def room_spot(
    tools: Toolbox, robot: str, room: str, parts: Parts
) -> tuple[Vec3 | None, Vec3 | None]:
    """Return where a robot stands in a room [m], or None and where it would."""
    kind = tools.kind(robot)
    key = ("room", room, parts)
    if key not in kind.answers:
        kind.answers[key] = _room_spot(tools, robot, room, parts)
    out: tuple[Vec3 | None, Vec3 | None] = kind.answers[key]
    return out


def _room_spot(
    tools: Toolbox, robot: str, room: str, parts: Parts
) -> tuple[Vec3 | None, Vec3 | None]:
    stands = tools.kind(robot).space.in_room(room)
    if not len(stands):
        return None, None
    z = tools.plan.elevation(tools.plan.room_floor(room))
    mine = stands.of_parts(parts)
    some = mine if len(mine) else stands
    middle = (float(np.mean(stands.x)), float(np.mean(stands.y)))
    away = np.hypot(some.x - middle[0], some.y - middle[1]) - 2.0 * np.minimum(some.spare, 0.3)
    k = int(np.argmin(away))
    spot = (float(some.x[k]), float(some.y[k]), z)
    return (spot, None) if len(mine) else (None, spot)


def _search(tools: Toolbox, robot: str, sub_task: SubTask, parts: Parts) -> Estimate:
    """Return the tour through rooms: from each to the nearest that is left, looking around."""
    kind = tools.kind(robot)
    if not kind.body.cameras:
        return Estimate(False, Obstacle.NO_CAMERA, "it has no camera")
    wanted = sub_task.rooms or tuple(tools.scene.rooms)
    key = ("search", wanted, bool(sub_task.rooms), parts)
    if key not in kind.answers:
        kind.answers[key] = _tour(tools, robot, wanted, bool(sub_task.rooms), parts)
    out: Estimate = kind.answers[key]
    return out


def _tour(
    tools: Toolbox, robot: str, wanted: tuple[str, ...], named: bool, parts: Parts
) -> Estimate:
    kind = tools.kind(robot)
    spots: dict[str, Vec3] = {}
    for room in wanted:
        if room not in tools.scene.rooms:
            return Estimate(False, Obstacle.UNKNOWN_THING, f"there is no room {room!r}")
        spot, blocked = room_spot(tools, robot, room, parts)
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


def _looks(tools: Toolbox, room: str) -> int:
    """Return how often one looks around in a room, by its size."""
    polygon = tools.scene.rooms[room].polygon
    if len(polygon) < 3:
        return 1
    xs, ys = [p[0] for p in polygon], [p[1] for p in polygon]
    area = (max(xs) - min(xs)) * (max(ys) - min(ys))
    return max(1, round(area / (2.0 * _LOOK_SPACING) ** 2))


def _not_known(tools: Toolbox, robot: str, sub_task: SubTask, thing: Thing) -> Estimate:
    """Return what the body alone tells about a thing that nobody has found yet."""
    kind = tools.kind(robot)
    if sub_task.kind in ("pick", "place", "open", "close") and not kind.body.hands:
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


def mass_of(meant: Meant) -> float | None:
    """Return a thing's mass [kg] where its properties tell it (`mass` or `mass_kg`)."""
    if meant.object is None:
        return None
    for name in ("mass", "mass_kg"):
        text = meant.object.properties.get(name, "")
        try:
            mass = float(text)
        except ValueError:
            continue
        if math.isfinite(mass) and mass >= 0.0:
            return mass
    return None


def _done(kind: str, reason: str, spot: Vec3 | None, target: Vec3 | None, thing: str) -> Estimate:
    work = WORK[kind]
    return Estimate(True, None, reason, work, 0.0, spot, target, thing, work=work)
