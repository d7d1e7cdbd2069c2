"""Tasks of a robot in a house, and whether they were done, by what is so in the house."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Vec3
from coterie_core.observation import Detection
from coterie_core.skills import LookAround, NavigateTo, Pick, Place, Skill, Target
from coterie_world.scene import SceneObject
from habitat_bridge.embedded.world import EmbeddedWorld

Kind = Literal["drive", "look", "fetch"]
KINDS: tuple[Kind, ...] = ("drive", "look", "fetch")

_ARRIVED = 0.35  # [m] of the true position from the goal
_SEEN_WITHIN = 3.0  # [m]
_CLEAR = 0.6  # visible share of a thing that a look has to find
_AT = 0.75  # [m] of a detection from the thing
_FOUND = 0.5  # share of the things in clear view that a look has to find
_LARGEST, _THINNEST = 0.4, 0.15  # [m] edges of what a hand takes
_SHARE_OF_REACH = 0.85
_ROOM_OF_A_HAND = 0.15  # [m] above a surface, for a thing and the hand that holds it


@dataclass(frozen=True, slots=True)
class LabTask:
    """One task: its steps, and what must be so in the end.

    Attributes:
        kind: What it is about.
        steps: The skills, one after the other.
        spot: Where the robot has to be in the end [m]; None: anywhere.
        item: Id of the thing to fetch.
        support: Id of the thing it has to be on then.
    """

    kind: Kind
    steps: tuple[Skill, ...]
    spot: Vec3 | None = None
    item: str = ""
    support: str = ""


def make_tasks(world: EmbeddedWorld, robot: str, count: int, seed: int) -> list[LabTask]:
    """Return tasks for a robot of a world, kinds in turn; each fetches another thing.

    Args:
        world: The house as it is at the start.
        robot: Who does them.
        count: How many.
        seed: Of the choice.
    """
    rng = np.random.default_rng([seed, 0x1AB])
    body = world.body(robot)
    here = body.pose.position
    space = body.places.space
    spots = [
        spot
        for place in world.place_map.places
        if (spot := body.places.stand(place)) is not None and space.connected(here, spot)
    ]
    pairs = fetches(world, robot, rng)
    tasks: list[LabTask] = []
    for k in range(count):
        kind = KINDS[k % len(KINDS)]
        if kind == "fetch" and pairs:
            tasks.append(_fetch(world, body.embodiment, *pairs.pop()))
            continue
        spot = spots[int(rng.integers(len(spots)))]
        drive = NavigateTo(position=spot)
        if kind == "drive":
            tasks.append(LabTask("drive", (drive,), spot))
        else:
            tasks.append(LabTask("look", (drive, LookAround()), spot))
    return tasks


def fetches(
    world: EmbeddedWorld, robot: str, rng: np.random.Generator
) -> list[tuple[SceneObject, SceneObject]]:
    """Return things that the robot can take, and furniture that it can put each on."""
    body = world.body(robot)
    arm = body.embodiment.arm
    if arm is None:
        return []
    space, here = body.places.space, body.pose.position

    def at_hand(point: Vec3) -> bool:
        floor = world.occupancy.elevation(world.occupancy.floor_index(point[2]))
        reach = _SHARE_OF_REACH * arm.reach
        near = space.nearest_free(point, reach, near=here)
        if near is None or math.dist(near[:2], point[:2]) > reach:
            return False
        return arm.min_height <= point[2] - floor <= arm.max_height

    items = [
        thing
        for thing in world.contents
        if thing.kind == "item"
        and max(thing.box.size) <= _LARGEST
        and min(thing.box.size) <= _THINNEST
        and world.contents.closed_around(thing) is None
        and not world.contents.upon(thing.id)
        and at_hand(thing.box.center)
    ]
    tops = [
        thing
        for thing in world.contents
        if any(not r.inside and at_hand(_over(r.surface.center)) for r in thing.receptacles)
    ]
    if not items or not tops:
        return []
    chosen = rng.permutation(len(items)).tolist()
    return [(items[k], tops[int(rng.integers(len(tops)))]) for k in chosen]


def _over(surface: Vec3) -> Vec3:
    """Return where a hand has to get that puts a thing onto a surface [m]."""
    return (surface[0], surface[1], surface[2] + _ROOM_OF_A_HAND)


def _fetch(world: EmbeddedWorld, body: Embodiment, item: SceneObject, top: SceneObject) -> LabTask:
    assert body.arm is not None
    near = _SHARE_OF_REACH * body.arm.reach
    surface = next(r for r in top.receptacles if not r.inside).surface.center

    def beside(point: Vec3) -> NavigateTo:
        floor = world.occupancy.elevation(world.occupancy.floor_index(point[2]))
        return NavigateTo(position=(point[0], point[1], floor), tolerance=near)

    steps = (
        beside(item.box.center),
        Pick(Target(item.label.top, item.box.center)),
        beside(surface),
        Place(Target(top.label.top, surface)),
    )
    return LabTask("fetch", steps, None, item.id, top.id)


def trouble(
    world: EmbeddedWorld, robot: str, task: LabTask, detections: Iterable[Detection]
) -> str:
    """Return what is not as a task wants it ("": all is), by the true house.

    Args:
        world: The house as it is now.
        robot: Who did the task.
        task: The task.
        detections: What the robot reported last.
    """
    if task.item:
        item = world.contents.things[task.item]
        if item.support == task.support:
            return ""
        where = world.contents.things[item.support].label.top if item.support else "the floor"
        held = " in a hand" if task.item in world.contents.held else f" on {where}"
        return f"the {item.label.top} is{held}"
    off = math.dist(world.state(robot).pose.position[:2], task.spot[:2]) if task.spot else 0.0
    if off > _ARRIVED:
        return f"the robot is {off:.2f} m off"
    if task.kind == "look":
        found, clear = seen(world, robot, detections)
        if found < _FOUND * clear:
            return f"{found} of {clear} things in clear view were reported"
    return ""


def seen(world: EmbeddedWorld, robot: str, detections: Iterable[Detection]) -> tuple[int, int]:
    """Return how many things in clear view were reported near where they are, and how many are."""
    body = world.body(robot)
    before = body.glance
    world.look_around(body)
    assert body.glance is not None
    sightings, body.glance = body.glance.sightings, before
    clear = [s for s in sightings if s.fraction >= _CLEAR and s.distance <= _SEEN_WITHIN]
    told = [(d.label, d.box.center) for d in detections if d.box is not None]
    found = sum(
        any(label == s.label and math.dist(at, s.box.center) <= _AT for label, at in told)
        for s in clear
    )
    return found, len(clear)
