"""Where a robot goes and faces for a thing: spots from which it sees or reaches it otherwise."""

from __future__ import annotations

import math
from dataclasses import replace

from coterie_core.geometry import Box, Vec3, wrap_angle
from coterie_core.skill_registry import spec_of
from coterie_core.skills import NavigateTo, Skill, Target
from coterie_execution.geometry.estimates import put_at, views_on
from coterie_execution.geometry.grasp import FEW, Grip, grips
from coterie_execution.geometry.results import Sight
from coterie_execution.geometry.things import ResolvedObject
from coterie_execution.geometry.toolbox import Toolbox
from coterie_execution.geometry.viewpoints import BEST_AWAY, FAR_AWAY
from coterie_execution.options import Option, Purpose, Step
from coterie_execution.situation import Situation
from coterie_execution.yield_behavior import cells_of
from coterie_world.free_space.free_cells import beside
from coterie_world.scene import SceneObject

APART = 0.35
"""Spots nearer to one another than this are the same try [m]."""
_BEFORE = 0.4
"""A hand gets to the floor so far from the robot's middle [m]."""
BESIDE = math.radians(30.0)
"""An arm may not reach what lies farther from straight ahead: the robot turns first [rad]."""
_BELOW = 0.05
"""What is nearer to the robot's middle lies in no direction [m]."""


def other_views(now: Situation, thing: SceneObject) -> list[tuple[Vec3, Vec3]]:
    """Return spots from which other parts of what a thing was put on are seen, and these parts."""
    holder = now.sub_task.receptacle
    if holder is None:
        return []
    meant = ResolvedObject(thing.label.top, thing.box, thing)
    parts = now.tools.components_of(now.robot, now.position)
    stood = [spot for spot in (now.position, *now.stood) if spot is not None]
    views: list[tuple[Vec3, Vec3]] = []
    for look in views_on(now.tools, now.robot, meant, holder, parts):
        if look.spot is None or look.target is None:
            continue
        others = (*stood, *(spot for spot, _ in views))
        if all(math.dist(look.spot[:2], other[:2]) > APART for other in others):
            views.append((look.spot, look.target))
    return views


def view_of(now: Situation, thing: SceneObject, away: float = BEST_AWAY) -> Sight:
    """Return how a thing gets into view from where the robot gets to, from so far at best [m]."""
    parts = now.tools.components_of(now.robot, now.position)
    meant = ResolvedObject(thing.label.top, thing.box, thing)
    return now.tools.view(now.robot, meant, parts, away)


def from_afar(now: Situation, thing: SceneObject) -> NavigateTo | None:
    """Go where one sees below what hides a thing from near by: the next board of a shelf."""
    spot = view_of(now, thing, FAR_AWAY).spot
    if spot is None or any(math.dist(spot, other) <= APART for other in now.stood):
        return None
    return NavigateTo.facing(spot, thing.box.center)


def in_view(now: Situation, thing: SceneObject) -> NavigateTo | None:
    """Go where a thing is well in view, if one is not there: where a hand reaches it may be not."""
    spot = view_of(now, thing).spot
    if spot is None or now.position is None or math.dist(spot[:2], now.position[:2]) <= APART:
        return None
    return NavigateTo.facing(spot, thing.box.center)


def floor_before(
    tools: Toolbox, robot: str, position: Vec3, heading: float, toward: Vec3 | None = None
) -> Target:
    """Return the floor before a robot, where there is room.

    Args:
        tools: What the robot knows.
        robot: Its name.
        position: Where it stands [m].
        heading: Where it faces [rad].
        toward: On the side of this point [m]; None: ahead.
    """
    if toward is not None and math.dist(position[:2], toward[:2]) >= _BEFORE:
        heading = math.atan2(toward[1] - position[1], toward[0] - position[0])
    cells = cells_of(tools, robot, position)
    return Target("floor", beside(cells, position, heading, _BEFORE))


def turn_to(skill: Skill | None, position: Vec3 | None, heading: float) -> NavigateTo | None:
    """Return the turn on the spot that makes a robot face what its hand is to do; None: none.

    Args:
        skill: What it does next.
        position: Where it stands [m].
        heading: Where it faces [rad].
    """
    if skill is None or position is None or not (spec := spec_of(skill)).arm:
        return None
    at: Vec3 = (spec.target(skill) or skill).position  # type: ignore[union-attr, assignment]
    if math.dist(position[:2], at[:2]) < _BELOW:
        return None
    yaw = math.atan2(at[1] - position[1], at[0] - position[0])
    return NavigateTo.near(position, yaw) if abs(wrap_angle(yaw - heading)) > BESIDE else None


def face_first(now: Situation, option: Option) -> Option:
    """Return a step, or the turn that comes before it: an arm reaches what is before the robot."""
    turn = turn_to(option.skill, now.position, now.heading)
    if turn is None or (now.attempts and now.attempts[-1].step.purpose is Purpose.TURN):
        return option  # it turned just now, as far as it gets
    words = f"turn, to {option.words}"
    return replace(option, words=words, skill=turn, step=Step(Purpose.TURN))


def facing(now: Situation, thing: SceneObject) -> NavigateTo:
    """Go as near to a thing as one gets, and face it."""
    if now.position is None:
        return NavigateTo.near(thing.box.center)
    x, y, _ = thing.box.center
    yaw = math.atan2(y - now.position[1], x - now.position[0])
    return NavigateTo.near(thing.box.center, yaw=yaw)


def other_sides(now: Situation, thing: SceneObject) -> list[NavigateTo]:
    """Ways to spots from which the hand reaches a thing too, away from those it was tried from.

    Where the robot saw what bears things on it, spots from which the hand reaches that.
    """
    tools, bears = now.tools, now.bears_at
    box = thing.box if bears is None else Box(bears, (0.0, 0.0, 0.0))
    kind = tools.kind(now.robot)
    floor = tools.plan.floor_index(thing.box.bottom)
    parts = tools.components_of(now.robot, now.position)
    height = now.estimate.target[2] if now.estimate.target is not None else box.center[2]
    height = height if bears is None else bears[2]
    middle = Box(box.center, (0.0, 0.0, 0.0))
    found: list[Grip] = []
    for among in (parts, kind.space.ignoring_observed_obstacles(parts)):
        for reached in (middle, box) if now.sub_task.kind == "pick" else (box,):
            found = found or grips(kind.space, kind.body, reached, height, floor, among)[0]
    stood = (now.position, now.estimate.spot, *now.stood) if bears is None else ()
    tried = [spot for spot in stood if spot is not None]
    tried += [a.goal for a in now.attempts if a.goal is not None and not a.ok]
    ways: list[NavigateTo] = []
    for grip in found:
        for x, y in grip.spots[:FEW]:
            if all(math.dist((x, y), other[:2]) > APART for other in tried):
                spot = (float(x), float(y), tools.plan.elevation(floor))
                tried.append(spot)
                if now.sub_task.kind == "place" and bears is None and put_here(now, spot) is None:
                    continue  # the hand gets to the furniture, and to nothing free on it
                ways.append(NavigateTo.facing(spot, box.center))
            if len(ways) == 2:
                return ways
    return ways


def put_here(now: Situation, spot: Vec3) -> Vec3 | None:
    """Return where [m] the robot puts its thing down from a spot [m]; None: nowhere.

    Where it saw what bears things, it is there.
    """
    return now.bears_at or put_at(now.tools, now.robot, now.sub_task, spot)
