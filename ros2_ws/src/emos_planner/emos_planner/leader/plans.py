"""The solver for what is open of a task, and what it leaves open given to robots that offer it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from coterie_core.geometry import Vec3
from coterie_core.tasks import SubTask
from emos_planner.allocation.solver import Share, assign
from emos_planner.geometry.toolbox import Toolbox
from emos_planner.leader.discussion import Pair
from emos_planner.leader.progress import Progress


def solver_of(
    progress: Progress,
    starts: Mapping[str, Vec3 | None],
    toolbox: Callable[[], Toolbox],
    seed: int,
) -> Callable[..., Share]:
    """Return the solver for what is still open; what is done or running stays as it is.

    Args:
        progress: Of the task.
        starts: Robots -> where they are [m], None: unknown.
        toolbox: Returns the tools as they are when it solves.
        seed: Of the solver.
    """

    def solve(
        sub_tasks: Sequence[SubTask],
        robots: Iterable[str],
        load: Mapping[str, float],
        forbidden: Iterable[Pair],
    ) -> Share:
        ids = {one.id for one in sub_tasks}
        fixed = [one for one in progress.begun() if one.id not in ids]
        share = assign(
            [*fixed, *sub_tasks],
            {robot: starts.get(robot) for robot in robots},
            toolbox(),
            load=load,
            forbidden=frozenset(forbidden),
            seed=seed,
        )
        kept = {one.id for one in fixed}
        mine = tuple(one for one in share.sub_tasks if one.id not in kept)
        return replace(share, sub_tasks=mine)

    return solve


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
