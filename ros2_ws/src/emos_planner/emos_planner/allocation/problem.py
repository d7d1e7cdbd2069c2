"""The assignment as numbers: who can do what, how long it takes, and what has to wait for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType

import numpy as np
from networkx import DiGraph, Graph, connected_components, topological_generations

from coterie_core.geometry import Vec3
from coterie_core.tasks import Obstacle, SubTask, SubTaskState, Verdict
from coterie_execution.geometry.results import Estimate
from coterie_execution.geometry.toolbox import Toolbox
from emos_planner.lookups import opened_by

NOBODY_KNOWS_WAY = 12.0
"""Time [s] taken for the way to or from what nobody has found yet."""
_NO_WAY = 1e6  # [s] where the network of places knows no way: never chosen if there is a choice

OPEN = (SubTaskState.PENDING, SubTaskState.FAILED)
Pair = tuple[str, str]
"""A sub-task and a robot."""


@dataclass(frozen=True, slots=True)
class Robots:
    """Robots by class: those of one class have equal bodies, and get to the same places.

    Attributes:
        names: Of all robots.
        starts: Where they are [m].
        class_of: Index of each robot's class.
        first: A robot of each class, whose answers hold for all of it.
    """

    names: tuple[str, ...]
    starts: tuple[Vec3 | None, ...]
    class_of: tuple[int, ...]
    first: tuple[int, ...]


@dataclass(slots=True)
class Problem:
    """Units of sub-tasks that one robot does in a row, and what they cost each class of robots.

    Attributes:
        jobs: The open sub-tasks; numbers below are indices into them.
        robots: The robots.
        units: Jobs that one robot does in this order (who picks, places).
        options: Robots that can do each unit; empty: nobody can.
        waits: Jobs that must be finished before a job.
        work: Per class and job, time at the spot [s].
        travel: Per class, node and job, time of the way [s]. Nodes are jobs and then robots: where
            one is after a job, or at first.
    """

    jobs: list[SubTask]
    robots: Robots
    units: list[list[int]]
    options: list[list[int]]
    waits: list[list[int]]
    work: list[list[float]] = field(default_factory=list)
    travel: list[list[list[float]]] = field(default_factory=list)


class Estimates:
    """What the tools say of every open sub-task for every class of robots, asked once.

    `forbidden` pairs are not to be, with the reason.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        starts: Mapping[str, Vec3 | None],
        sub_tasks: Sequence[SubTask],
        forbidden: Mapping[Pair, str] = MappingProxyType({}),
    ) -> None:
        self.toolbox, self.forbidden = toolbox, forbidden
        names = tuple(starts)
        places = tuple(toolbox.start_of(name, starts[name]) for name in names)
        classes: dict[tuple[str, frozenset[int], str], int] = {}
        class_of, first = [], []
        planned = {s.object.id for s in sub_tasks if s.kind == "place" and s.object and s.object.id}
        self._opened = opened_by(sub_tasks)
        for k, name in enumerate(names):
            agent = toolbox.scene.agents.get(name)
            held = agent.holding if agent is not None else ""
            # What the plan puts down does not keep the hand full.
            held = "" if held in planned else held
            key = (toolbox.kind_key(name), toolbox.components_of(name, places[k]), held)
            if key not in classes:
                classes[key] = len(classes)
                first.append(k)
            class_of.append(classes[key])
        self._held = [key[2] for key in classes]
        self.robots = Robots(names, places, tuple(class_of), tuple(first))
        self._known: dict[tuple[int, SubTask], Estimate] = {}

    def able(self, task: SubTask) -> list[int]:
        """Return the robots (indices) that can do a sub-task."""
        able = [self.of(group, task).feasible for group in range(len(self.robots.first))]
        return [
            r
            for r, (name, group) in enumerate(
                zip(self.robots.names, self.robots.class_of, strict=True)
            )
            if able[group] and (task.id, name) not in self.forbidden
        ]

    def of(self, group: int, sub_task: SubTask) -> Estimate:
        """Return the estimate for a class, without the way from where a robot starts."""
        key = (group, sub_task)
        if key not in self._known:
            robot = self.robots.first[group]
            self._known[key] = self.toolbox.estimate_work(
                self.robots.names[robot],
                sub_task,
                self.robots.starts[robot],
                holding=self._held[group],
                opened=self._opened,
            )
        return self._known[key]


def units_of(jobs: Sequence[SubTask], waits: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the jobs joined by `same_robot_as`, each group in an order that dependencies allow."""
    number = {job.id: k for k, job in enumerate(jobs)}
    pairs = Graph()
    pairs.add_nodes_from(range(len(jobs)))
    pairs.add_edges_from(
        (k, number[job.same_robot_as]) for k, job in enumerate(jobs) if job.same_robot_as in number
    )
    depth = depths(waits)
    return [sorted(unit, key=lambda k: (depth[k], k)) for unit in connected_components(pairs)]


def depths(waits: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return job -> how many jobs in a row come before it; no jobs wait for each other."""
    before = DiGraph()
    before.add_nodes_from(range(len(waits)))
    before.add_edges_from((other, k) for k, others in enumerate(waits) for other in others)
    return {k: depth for depth, jobs in enumerate(topological_generations(before)) for k in jobs}


def build(
    jobs: list[SubTask],
    bound: Mapping[str, str],
    estimates: Estimates,
) -> Problem:
    """Return the problem of the open sub-tasks.

    Args:
        jobs: The open ones.
        bound: Id of a sub-task that is done or running -> its robot, for `same_robot_as`.
        estimates: What robots can do.
    """
    number = {job.id: k for k, job in enumerate(jobs)}
    waits = [[number[d] for d in job.depends_on if d in number] for job in jobs]
    robots = estimates.robots
    units = units_of(jobs, waits)
    options = []
    for unit in units:
        must = {bound[jobs[j].same_robot_as] for j in unit if jobs[j].same_robot_as in bound}
        able = set.intersection(*(set(estimates.able(jobs[j])) for j in unit))
        options.append([r for r in sorted(able) if must <= {robots.names[r]}])
    problem = Problem(jobs, robots, units, options, waits)
    needed = {robots.class_of[r] for option in options for r in option}
    for group in range(len(robots.first)):
        work, travel = _costs(problem, estimates, group, group in needed)
        problem.work.append(work)
        problem.travel.append(travel)
    return problem


def _costs(
    problem: Problem, estimates: Estimates, group: int, needed: bool
) -> tuple[list[float], list[list[float]]]:
    """Return a class's work per job, and travel per node and job [s]."""
    jobs, robots = problem.jobs, problem.robots
    count, nodes = len(jobs), len(jobs) + len(robots.names)
    if not needed:
        return [0.0] * count, [[_NO_WAY] * count for _ in range(nodes)]
    answers = [estimates.of(group, job) for job in jobs]
    work = [answer.work if answer.feasible else 0.0 for answer in answers]
    kind = estimates.toolbox.kind(robots.names[robots.first[group]])
    spots: list[Vec3 | None] = [a.spot if a.feasible else None for a in answers]
    spots += [
        start if of == group else None
        for of, start in zip(robots.class_of, robots.starts, strict=True)
    ]
    known = {k: spot for k, spot in enumerate(spots) if spot is not None}
    row = {spot: k for k, spot in enumerate(dict.fromkeys(known.values()))}
    times = kind.ways.time_of(kind.ways.matrix([*row])).clip(max=_NO_WAY)
    rows = [row[spot] for spot in known.values()]
    columns = [k for k in known if k < count]
    travel = np.full((nodes, count), NOBODY_KNOWS_WAY)
    travel[np.ix_([*known], columns)] = times[np.ix_(rows, rows[: len(columns)])]
    return work, travel.tolist()


def why_nobody(
    unit: Sequence[int],
    jobs: Sequence[SubTask],
    estimates: Estimates,
    bound: Mapping[str, str],
) -> dict[str, Verdict]:
    """Return robot -> why it cannot do a unit."""
    out: dict[str, Verdict] = {}
    pairs = zip(estimates.robots.names, estimates.robots.class_of, strict=True)
    for (name, group), j in product(pairs, unit):
        if name in out:
            continue
        job = jobs[j]
        answer, other = estimates.of(group, job), bound.get(job.same_robot_as, name)
        if not answer.feasible:
            out[name] = answer.verdict(job.id)
        elif (job.id, name) in estimates.forbidden:
            out[name] = _no(job.id, estimates.forbidden[job.id, name][:500])
        elif other != name:
            out[name] = _no(job.id, f"{other} has begun with {job.same_robot_as}")
    return out


def _no(sub_task: str, reason: str) -> Verdict:
    return Verdict(sub_task=sub_task, feasible=False, obstacle=Obstacle.OTHER, reason=reason)


def waits_for(sub_task: str, other: str, robots: Sequence[str]) -> dict[str, Verdict]:
    """Return robot -> that a sub-task waits for one that nobody can do."""
    reason = f"it waits for {other}, which nobody can do"
    return {name: _no(sub_task, reason) for name in robots}
