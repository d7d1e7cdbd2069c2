"""What the solver leaves open, given to robots that offered to do it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from emos_planner.allocation.solver import Share
from emos_planner.leader.discussion import Pair


def with_offers(
    share: Share,
    offers: Mapping[str, Iterable[str]],
    robots: Collection[str],
    forbidden: Collection[Pair],
) -> Share:
    """Give what the solver gives to nobody to a robot that offered to do it.

    Who offers knows the place better than the leader's map; it is asked again in the discussion,
    and checks it with its own tools. A thing that is picked and placed goes to one robot.
    """
    given: dict[str, str] = {}
    for one in share.sub_tasks:
        if one.robot or one.id in given:
            continue
        pair = [
            other.id
            for other in share.sub_tasks
            if not other.robot
            and (one.id in (other.id, other.same_robot_as) or one.same_robot_as == other.id)
        ]
        for robot in dict.fromkeys(robot for id in pair for robot in offers.get(id, ())):
            if robot in robots and not any((id, robot) in forbidden for id in pair):
                given |= dict.fromkeys(pair, robot)
                break
    if not given:
        return share
    return replace(
        share,
        sub_tasks=tuple(
            one.model_copy(update={"robot": given[one.id]}) if one.id in given else one
            for one in share.sub_tasks
        ),
        unassigned={id: by for id, by in share.unassigned.items() if id not in given},
    )
