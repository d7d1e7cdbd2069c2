"""The rule's plan: every sub-task to a robot that can do it, so that the last one ends soonest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from networkx import DiGraph, simple_cycles

from coterie_core.geometry import Vec3
from coterie_core.tasks import SubTask, SubTaskState, Verdict
from coterie_execution.geometry.toolbox import Toolbox
from emos_planner.allocation.handover import insert_hand_overs
from emos_planner.allocation.problem import (
    OPEN,
    Estimates,
    Pair,
    Problem,
    build,
    waits_for,
    why_nobody,
)
from emos_planner.allocation.schedule import Times, greedy, improve, play


@dataclass(frozen=True, slots=True)
class Share:
    """Who does what.

    Attributes:
        sub_tasks: All of them, `robot` filled ("" for those that nobody can do), with hand-overs
            added; sorted by when they begin, so that each robot's come in the order to do them in.
        unassigned: Id of a sub-task that nobody can do -> robot -> why not.
        finish: Id of an open sub-task -> when it is done [s].
        makespan: When the last one is [s].
        total: Time that all robots spend together, ways included [s].
        hand_overs: Ids of the sub-tasks added for hand-overs.
    """

    sub_tasks: tuple[SubTask, ...]
    unassigned: dict[str, dict[str, Verdict]] = field(default_factory=dict)
    finish: dict[str, float] = field(default_factory=dict)
    makespan: float = 0.0
    total: float = 0.0
    hand_overs: tuple[str, ...] = ()


def assign(
    sub_tasks: Sequence[SubTask],
    starts: Mapping[str, Vec3 | None],
    toolbox: Toolbox,
    *,
    forbidden: Mapping[Pair, str] = MappingProxyType({}),
    seed: int = 0,
    search: bool = True,
) -> Share:
    """Assign open sub-tasks to robots; what is done or running stays as it is.

    Least makespan, then least time of all robots; times are those of the tools: ways and work by
    embodiment. Greedy by urgency, then a search with a seed: the same input gives the same plan.
    Where no single robot can both pick and place, a hand-over is put in between.

    Args:
        sub_tasks: All sub-tasks of the task. `robot` of open ones is not looked at.
        starts: The robots that take part -> where they are [m] (None: where the scene has them).
        toolbox: Resumes of all of them, and the scene.
        forbidden: (sub-task id, robot) pairs that are not to be -> why: refused, or failed.
        seed: Of the search.
        search: Whether to search; without, the greedy plan.

    Raises:
        UnknownRobot: A robot has no resume.
        ValueError: Two sub-tasks have the same id, or they wait for each other in a circle.
    """
    _check(sub_tasks)
    estimates = Estimates(toolbox, starts, sub_tasks, forbidden)
    bound = {s.id: s.robot for s in sub_tasks if s.state not in OPEN and s.robot}
    tasks, hand_overs = insert_hand_overs(sub_tasks, estimates)
    jobs = [s for s in tasks if s.state in OPEN]
    problem = build(jobs, bound, estimates)
    doable, unassigned = _doable(problem, estimates, bound)
    plan = greedy(problem, doable)
    if search:
        plan = improve(problem, plan, seed)
    times = play(problem, plan)
    return _share(tasks, problem, plan.robot, doable, times, unassigned, hand_overs)


def _check(sub_tasks: Sequence[SubTask]) -> None:
    twice = sorted(id for id, n in Counter(s.id for s in sub_tasks).items() if n > 1)
    if twice:
        raise ValueError(f"sub-tasks share ids: {', '.join(twice)}; give each its own")
    waits = DiGraph((d, s.id) for s in sub_tasks for d in s.depends_on)
    if ring := next(simple_cycles(waits), None):
        raise ValueError(
            f"sub-tasks wait for each other in a circle: {', '.join(sorted(ring))}; mend depends_on"
        )


def _doable(
    problem: Problem,
    estimates: Estimates,
    bound: Mapping[str, str],
) -> tuple[list[int], dict[str, dict[str, Verdict]]]:
    """Return the units that can be done, and why the others cannot."""
    unassigned: dict[str, dict[str, Verdict]] = {}
    names = problem.robots.names
    out = {u for u in range(len(problem.units)) if not problem.options[u]}
    for u in sorted(out):
        why = why_nobody(problem.units[u], problem.jobs, estimates, bound)
        for j in problem.units[u]:
            name = problem.jobs[j].id
            unassigned[name] = {r: v.model_copy(update={"sub_task": name}) for r, v in why.items()}
    unit_of = {j: u for u, unit in enumerate(problem.units) for j in unit}
    pairs = [(unit_of[j], d) for j, others in enumerate(problem.waits) for d in others]
    while lost := next((p for p in pairs if p[0] not in out and unit_of[p[1]] in out), None):
        out.add(lost[0])
        for k in problem.units[lost[0]]:
            name = problem.jobs[k].id
            unassigned[name] = waits_for(name, problem.jobs[lost[1]].id, names)
    return [u for u in range(len(problem.units)) if u not in out], unassigned


def _share(
    tasks: Sequence[SubTask],
    problem: Problem,
    robot: Sequence[int],
    doable: Sequence[int],
    times: Times,
    unassigned: dict[str, dict[str, Verdict]],
    hand_overs: tuple[str, ...],
) -> Share:
    names = problem.robots.names
    who = {problem.jobs[j].id: names[robot[u]] for u in doable for j in problem.units[u]}
    finish = {problem.jobs[j].id: times.finish[j] for u in doable for j in problem.units[u]}
    place = {task.id: k for k, task in enumerate(tasks)}
    out = []
    for task in tasks:
        if task.state in OPEN:
            fresh = {"robot": who.get(task.id, ""), "state": SubTaskState.PENDING, "reason": ""}
            task = task.model_copy(update=fresh)
        out.append(task)
    out.sort(
        key=lambda t: (finish.get(t.id, -1.0 if t.id not in unassigned else 1e18), place[t.id])
    )
    return Share(
        tuple(out),
        unassigned,
        finish,
        max(finish.values(), default=0.0),
        times.total,
        hand_overs,
    )
