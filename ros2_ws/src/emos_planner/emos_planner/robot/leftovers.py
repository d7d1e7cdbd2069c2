"""Where a robot puts down what it holds and nobody wants any more."""

from __future__ import annotations

import math

from coterie_core.geometry import Vec3
from coterie_core.skills import NavigateTo, Place, Target
from coterie_core.tasks import SubTask
from coterie_world.sightings import as_thing
from coterie_world.team_map import TeamMap
from emos_planner.geometry.toolbox import Toolbox
from emos_planner.robot.choose import Option

WORDS = "put down what nobody wants any more"
TRIED = 6
"""Pieces of furniture that are asked about, the nearest ones."""
FARTHEST = 6.0
"""Furniture farther than this is not gone to [m]."""


def leftover(
    robot: str, known: TeamMap, tools: Toolbox, position: Vec3, holding: str
) -> Option | None:
    """Return the next step to put down a thing on the nearest surface that it fits on.

    Args:
        robot: Whose hand.
        known: The robot's map.
        tools: For what the robot knows now.
        position: Where it stands [m].
        holding: Id of what the hand holds.

    Returns:
        To go there, or to place it; None: no surface nearby is free and in reach.
    """
    held = known.thing(holding)
    if held is None:
        return None
    tops = [
        t
        for t in known.scene.objects.values()
        if t.kind == "furniture"
        and any(not r.inside for r in t.receptacles)
        and math.dist(t.box.center[:2], position[:2]) <= FARTHEST
        and abs(t.box.bottom - position[2]) < 1.0
    ]
    tops.sort(key=lambda t: (math.dist(t.box.center[:2], position[:2]), t.id))
    for top in tops[:TRIED]:
        item = as_thing(held)
        place = SubTask(id="aside", kind="place", object=item, receptacle=as_thing(top))
        estimate = tools.estimate(robot, place, position, holding=holding)
        if not estimate.feasible or estimate.spot is None:
            continue
        spot, target = estimate.spot, estimate.target or top.box.center
        if math.dist(spot[:2], position[:2]) > 0.3:
            yaw = math.atan2(target[1] - spot[1], target[0] - spot[0])
            return Option("put down", WORDS, skill=NavigateTo.near(spot, yaw=yaw))
        return Option("put down", WORDS, skill=Place(Target(top.label.top, target, top.id)))
    return None
