"""What is wrong with a plan: ids, order, robots, and what a body cannot do."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coterie_core.geometry import Vec3
from coterie_core.tasks import Obstacle, SubTask
from coterie_execution.geometry.toolbox import Toolbox
from emos_planner.allocation.problem import OPEN, depths


class Trouble(str, enum.Enum):
    """Kinds of mistakes in plans."""

    TWICE = "twice"  # two sub-tasks of one id
    FORGOTTEN = "forgotten"  # nobody has it
    INVENTED = "invented"  # it was not asked for
    UNKNOWN_ROBOT = "unknown_robot"
    UNKNOWN_THING = "unknown_thing"
    UNKNOWN_SUB_TASK = "unknown_sub_task"  # depends_on or same_robot_as
    CIRCLE = "circle"
    ORDER = "order"  # placed before it is picked, or by another robot
    CONFLICT = "conflict"  # two robots take one thing
    INFEASIBLE = "infeasible"  # its body cannot


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake: in which sub-task (id), what, and in words with what to do."""

    sub_task: str
    trouble: Trouble
    reason: str
    obstacle: Obstacle | None = None


def check_plan(
    sub_tasks: Sequence[SubTask],
    toolbox: Toolbox,
    *,
    starts: Mapping[str, Vec3 | None] | None = None,
    wanted: Sequence[SubTask] | None = None,
) -> list[Problem]:
    """Return what is wrong with a plan; empty if nothing is.

    Args:
        sub_tasks: The plan, robots filled in.
        toolbox: Robots and scene.
        starts: The robots that take part -> where they are [m]; None: all, where the scene says.
        wanted: The sub-tasks that were to be assigned; None: not compared.
    """
    team = dict.fromkeys(toolbox.robots) if starts is None else dict(starts)
    problems = _ids(sub_tasks, wanted)
    known = {s.id: s for s in sub_tasks}
    problems += _links(sub_tasks, known)
    opened = {
        s.object.id for s in sub_tasks if s.kind == "open" and s.object is not None and s.object.id
    }
    for task in sub_tasks:
        if task.state not in OPEN:
            continue
        if not task.robot:
            problems.append(Problem(task.id, Trouble.FORGOTTEN, "no robot does it; name one"))
        elif task.robot not in team or task.robot not in toolbox.resumes:
            names = ", ".join(sorted(team))
            problems.append(
                Problem(
                    task.id,
                    Trouble.UNKNOWN_ROBOT,
                    f"there is no robot {task.robot!r}; choose one of {names}",
                )
            )
        else:
            problems += _body(task, toolbox, team[task.robot], sub_tasks, opened)
    return problems + _order(sub_tasks, known) + _conflicts(sub_tasks)


def _ids(sub_tasks: Sequence[SubTask], wanted: Sequence[SubTask] | None) -> list[Problem]:
    problems = []
    seen: set[str] = set()
    for task in sub_tasks:
        if task.id in seen:
            problems.append(Problem(task.id, Trouble.TWICE, "it is in the plan twice"))
        seen.add(task.id)
    if wanted is not None:
        asked = {s.id for s in wanted}
        problems += [
            Problem(s.id, Trouble.FORGOTTEN, "it is missing; assign it")
            for s in wanted
            if s.id not in seen
        ]
        problems += [
            Problem(name, Trouble.INVENTED, "nobody asked for it; leave it out")
            for name in sorted(seen - asked)
        ]
    return problems


def _links(sub_tasks: Sequence[SubTask], known: Mapping[str, SubTask]) -> list[Problem]:
    problems = []
    for task in sub_tasks:
        for other in (*task.depends_on, *([task.same_robot_as] if task.same_robot_as else [])):
            if other not in known:
                problems.append(
                    Problem(task.id, Trouble.UNKNOWN_SUB_TASK, f"there is no sub-task {other!r}")
                )
        other = task.same_robot_as
        if other in known and task.robot and known[other].robot not in ("", task.robot):
            problems.append(
                Problem(
                    task.id,
                    Trouble.ORDER,
                    f"{task.robot} is to do it, but {other} is done by {known[other].robot}; give "
                    "both to one robot",
                )
            )
    number = {task.id: k for k, task in enumerate(sub_tasks)}
    waits = [[number[d] for d in task.depends_on if d in number] for task in sub_tasks]
    deep = depths(waits)
    ring = [task.id for task, d in zip(sub_tasks, deep, strict=True) if d >= len(sub_tasks) > 0]
    if ring:
        problems.append(
            Problem(ring[0], Trouble.CIRCLE, f"{', '.join(ring)} wait for each other in a circle")
        )
    return problems


def _body(
    task: SubTask,
    toolbox: Toolbox,
    start: Vec3 | None,
    sub_tasks: Sequence[SubTask],
    opened: set[str],
) -> list[Problem]:
    """Return what keeps the robot's body from a sub-task."""
    agent = toolbox.scene.agents.get(task.robot)
    held = agent.holding if agent is not None else ""
    if any(s.kind == "place" and s.object and s.object.id == held for s in sub_tasks):
        held = ""
    answer = toolbox.estimate(task.robot, task, start, holding=held, opened=opened)
    if answer.feasible:
        return []
    trouble = (
        Trouble.UNKNOWN_THING if answer.obstacle is Obstacle.UNKNOWN_THING else Trouble.INFEASIBLE
    )
    return [
        Problem(task.id, trouble, f"{task.robot} cannot do it: {answer.reason}", answer.obstacle)
    ]


def _order(sub_tasks: Sequence[SubTask], known: Mapping[str, SubTask]) -> list[Problem]:
    """Return places that do not wait for a pick of the same thing by the same robot."""
    problems = []
    for task in sub_tasks:
        if task.kind != "place" or task.state not in OPEN or task.object is None:
            continue
        picks = [
            s
            for s in sub_tasks
            if s.kind == "pick" and s.object and s.object.label == task.object.label
        ]
        if not picks:
            continue  # it may hold the thing already
        before = _all_before(task, known)
        if not any(p.id in before and p.robot == task.robot for p in picks):
            problems.append(
                Problem(
                    task.id,
                    Trouble.ORDER,
                    f"{task.robot or 'nobody'} places the {task.object.label} without having "
                    "picked it before; let it wait for a pick by the same robot",
                )
            )
    return problems


def _all_before(task: SubTask, known: Mapping[str, SubTask]) -> set[str]:
    found: set[str] = set()
    left = list(task.depends_on)
    while left:
        name = left.pop()
        if name in known and name not in found:
            found.add(name)
            left += known[name].depends_on
    return found


def _conflicts(sub_tasks: Sequence[SubTask]) -> list[Problem]:
    """Return picks of one thing by two robots, neither of which waits for the other."""
    problems = []
    known = {s.id: s for s in sub_tasks}
    picks = [
        s for s in sub_tasks if s.kind == "pick" and s.state in OPEN and s.object and s.object.id
    ]
    for k, first in enumerate(picks):
        for other in picks[k + 1 :]:
            assert first.object is not None and other.object is not None
            if (
                first.object.id == other.object.id
                and first.robot != other.robot
                and first.id not in _all_before(other, known)
                and other.id not in _all_before(first, known)
            ):
                problems.append(
                    Problem(
                        other.id,
                        Trouble.CONFLICT,
                        f"{first.robot} ({first.id}) and {other.robot} both take "
                        f"{first.object.label} {first.object.id}; leave it to one",
                    )
                )
    return problems
