"""The numbers that a robot's model judges a sub-task by: heights, reach, ways; no verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from networkx import Graph, NetworkXNoPath, NodeNotFound, shortest_path

from coterie_core.geometry import Vec3
from coterie_core.tasks import BY_HAND, SubTask, Thing
from coterie_execution.geometry.toolbox import Toolbox
from coterie_llm import inline_data
from coterie_world.scene import SceneGraph, SceneObject
from emos_planner.map_view import floor_height, thing_line, way_text

_FARTHEST = 5.0  # [m] from a thing that a spot to stand on is looked for
_MOST_WAYS = 12


def share_facts(
    toolbox: Toolbox,
    robot: str,
    one: SubTask,
    position: Vec3 | None,
    *,
    numbers: bool = True,
) -> dict[str, Any]:
    """Return what is known of a sub-task, for a robot's model: lengths in metres, rounded.

    Args:
        toolbox: Bodies in the scene, as the robot knows it.
        robot: Its name.
        one: The sub-task.
        position: Where the robot is [m]; None: not known.
        numbers: Whether those of the body are told (the paper's ablation takes them away).
    """
    scene = toolbox.scene
    told: dict[str, Any] = {"id": one.id, "what": one.kind.replace("_", " ")}
    if one.description:
        told["words"] = inline_data(one.description, limit=200)
    for name, thing in (("object", one.object), ("onto", one.receptacle)):
        if thing is not None:
            told[name] = _thing(thing, scene, position)
    if one.rooms:
        told["rooms"] = list(one.rooms)
    target = one.target
    found = scene.objects.get(target.id) if target is not None else None
    goal = found.room if found is not None else next(iter(one.rooms), "")
    if position is not None and goal:
        told["way there"] = way_there(scene, toolbox.plan.room_at(position), goal)
    if found is not None and numbers:
        told |= _numbers(toolbox, robot, one, found, position)
    if one.depends_on:
        told["after"] = list(one.depends_on)
    return told


def _thing(thing: Thing, scene: SceneGraph, position: Vec3 | None) -> str:
    found = scene.objects.get(thing.id)
    if found is not None:
        return thing_line(found, scene, position)
    return f"{inline_data(thing.label)}, whereabouts not on the map"


def _numbers(
    toolbox: Toolbox, robot: str, one: SubTask, thing: SceneObject, position: Vec3 | None
) -> dict[str, Any]:
    """Return how near the body gets to a thing, and how far the hand gets at its heights."""
    kind = toolbox.kind(robot)
    parts = None if position is None else toolbox.components_of(robot, position)
    spot = kind.space.stand(thing.box.center, _FARTHEST, parts)
    told: dict[str, Any] = {}
    if spot is None:
        told["nearest you can stand"] = f"more than {_FARTHEST:.0f} m away"
    else:
        away = math.dist(spot[:2], thing.box.center[:2])
        told["nearest you can stand, sideways from its middle [m]"] = round(away, 2)
    if one.kind in BY_HAND:
        floor = floor_height(toolbox.scene, thing)
        heights = [thing.box.center[2] - floor]
        if one.kind == "place":
            tops = [r.surface.center[2] - floor for r in thing.receptacles]
            heights = tops or [thing.box.top - floor]
        told["your hand's farthest reach from your middle, by height [m]"] = {
            f"{height:.2f}": _farthest(kind.body.hands, height) for height in heights[:6]
        }
    return told


def _farthest(hands: Sequence[Any], height: float) -> float | str:
    rows = [(hand, hand.row(height)) for hand in hands]
    found = [hand.farthest(row) for hand, row in rows if row is not None]
    return round(max(found), 2) if found else "none"


def way_there(scene: SceneGraph, start: str, goal: str) -> str:
    """Return the doors and stairs between two rooms (ids), by the fewest, with their measures."""
    if not start or start == goal:
        return "in the same room" if start else "you are in no room of the map"
    ways = {frozenset((way.room_a, way.room_b)): way for way in scene.connections.values()}
    try:
        rooms = shortest_path(Graph(tuple(ends) for ends in ways if len(ends) > 1), start, goal)
    except (NetworkXNoPath, NodeNotFound):
        return "the map shows no way"
    steps = [way_text(ways[frozenset(pair)]) for pair in pairwise(rooms)]
    more = f", and {len(steps) - _MOST_WAYS} more" if len(steps) > _MOST_WAYS else ""
    return "; then ".join(steps[:_MOST_WAYS]) + more
