"""Hand-overs: where one robot puts a thing down for another that gets where the first does not."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from coterie_core.geometry import Vec3
from coterie_core.tasks import SubTask, Thing
from coterie_execution.geometry.results import Estimate
from coterie_execution.geometry.things import FLOOR
from coterie_world.sightings import as_thing
from emos_planner.allocation.problem import OPEN, Estimates

_MOST = 40  # places looked at for one hand-over
_ENOUGH = 3  # of which so many that will do
_FLOOR_COST = 15.0  # [s] that a surface may cost more than the floor, where one stumbles
ON_SURFACE = 0.05
"""Height above a surface at which the middle of a small thing lies [m]."""
_NAMES = ("{}-over", "{}-take")
_TAKEN_OVER = re.compile(r"(-(over|take)(-\d+)?)+$")
"""End of the id of a sub-task that is part of a hand-over itself."""


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to hand over: who gives and takes (classes), onto what, and its time [s]."""

    time: float
    place: SubTask
    pick: SubTask


def insert_hand_overs(
    sub_tasks: Sequence[SubTask], estimates: Estimates
) -> tuple[list[SubTask], tuple[str, ...]]:
    """Return the sub-tasks with a hand-over wherever no single robot can both pick and place.

    Between the two come a place by who picks, on a surface or spot of floor that both reach, and a
    pick by who places (EMOS, section 4.2: each robot can do a part of the sub-goals only). Pairs
    for which there is no such spot stay as they are.

    Returns:
        The sub-tasks, and the ids of those added.
    """
    by_id = {s.id: s for s in sub_tasks}
    out: list[SubTask] = []
    added: list[str] = []
    for task in sub_tasks:
        pick, way = by_id.get(task.same_robot_as), None
        if task.kind == "place" and task.state in OPEN and pick and pick.kind == "pick":
            both = set(estimates.able(pick)).intersection(estimates.able(task))
            if pick.state in OPEN and not both:
                way = _best(estimates, pick, task, set(by_id) | set(added))
        if way is None or pick is None:
            out.append(task)
            continue
        waits = (*(d for d in task.depends_on if d != pick.id), way.pick.id)
        last = task.model_copy(update={"depends_on": waits, "same_robot_as": way.pick.id})
        out += [way.place, way.pick, last]
        added += [way.place.id, way.pick.id]
    return out, tuple(added)


def _able(estimates: Estimates, task: SubTask) -> list[tuple[int, Estimate]]:
    """Return the classes of robots that can do a sub-task, with their estimates."""
    groups = {estimates.robots.class_of[r] for r in estimates.able(task)}
    return [(group, estimates.of(group, task)) for group in sorted(groups)]


def _best(
    estimates: Estimates,
    pick: SubTask,
    place: SubTask,
    taken: Collection[str],
) -> _Way | None:
    givers = _able(estimates, pick)
    takers = _able(estimates, place)
    if not givers or not takers:
        return None
    best: _Way | None = None
    found = 0
    for receptacle in _spots(estimates, (*givers, *takers))[:_MOST]:
        if found >= _ENOUGH:
            break
        will_do = False
        put = _put(pick, receptacle, taken)
        for giver, first in givers:
            given = estimates.of(giver, put)
            if not given.feasible or given.target is None:
                continue
            # Where the thing will lie: on the surface, at the edge that the giver stands at.
            x, y, z = given.target
            take = _take(pick, place, put, (x, y, z + ON_SURFACE), receptacle, taken)
            for taker, last in takers:
                if taker == giver:
                    continue
                answer = estimates.of(taker, take)
                if not answer.feasible:
                    continue
                will_do = True
                time = _time(estimates, giver, first, given) + _time(estimates, taker, answer, last)
                time += _FLOOR_COST if receptacle.label == FLOOR else 0.0
                if best is None or time < best.time - 1e-9:
                    best = _Way(time, put, take)
        found += will_do
    return best


def _spots(estimates: Estimates, first: Sequence[tuple[int, Estimate]]) -> list[Thing]:
    """Return surfaces and spots of floor, the nearest to where robots have to be first."""
    scene = estimates.toolbox.scene
    ends = [answer.spot for _, answer in first if answer.spot is not None]

    def far(point: Vec3) -> float:
        return sum(math.dist(point, end) for end in ends)

    found = [
        (far(thing.box.center), thing.id, as_thing(thing))
        for thing in scene.objects.values()
        if thing.kind != "item" and any(not r.inside for r in thing.receptacles)
    ]
    for place in scene.places.values():
        meant = Thing(label=FLOOR, position=place.position, room=place.room)
        # Rather on a table than on the floor: as if it were so much farther away.
        found.append((far(place.position) + 4.0, place.id, meant))
    return [meant for _, _, meant in sorted(found, key=lambda f: f[:2])]


def _put(pick: SubTask, receptacle: Thing, taken: Collection[str]) -> SubTask:
    assert pick.object is not None
    return SubTask(
        id=_free(_NAMES[0], pick, taken),
        kind="place",
        object=pick.object,
        receptacle=receptacle,
        depends_on=(pick.id,),
        same_robot_as=pick.id,
        description=f"put the {pick.object.label} on the {receptacle.label} for another robot",
    )


def _take(
    pick: SubTask,
    place: SubTask,
    put: SubTask,
    lies: Vec3,
    receptacle: Thing,
    taken: Collection[str],
) -> SubTask:
    assert pick.object is not None
    return SubTask(
        id=_free(_NAMES[1], pick, taken),
        kind="pick",
        # Without its id: the scene still has it where it was.
        object=Thing(label=pick.object.label, position=lies, room=receptacle.room),
        depends_on=(put.id,),
        description=f"take the {pick.object.label} that another robot puts on the "
        f"{receptacle.label}, for {place.id}",
    )


def _time(estimates: Estimates, group: int, a: Estimate, b: Estimate) -> float:
    """Return the time [s] of two sub-tasks one after the other for a class of robots."""
    robots = estimates.robots
    name = robots.names[robots.first[group]]
    way = 0.0
    if a.spot is not None and b.spot is not None:
        way = estimates.toolbox.path(name, a.spot, b.spot).time
    return a.work + b.work + way


def _free(form: str, pick: SubTask, taken: Collection[str]) -> str:
    """Return an id that nobody has; it does not grow where what was taken over is handed on."""
    root = _TAKEN_OVER.sub("", pick.id)[:40]
    name = form.format(root)
    out, n = name, 2
    while out in taken:
        out, n = f"{name}-{n}", n + 1
    return out
