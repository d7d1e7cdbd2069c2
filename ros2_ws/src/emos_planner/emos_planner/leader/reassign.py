"""Decision `emos.reassign`: who takes what somebody refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from coterie_core.tasks import SubTask
from coterie_llm import CheckFailed, Decision, Message, Tool, as_data, inline_data
from emos_planner.leader.split_task import MOST_PROBLEMS, meant_by
from emos_planner.lookups import Lookups, opened_by
from emos_planner.map_view import thing_line, whole_lines

_MOST_SAID = 60


class Given(BaseModel):
    """Who takes one sub-task."""

    sub_task: str = Field(max_length=60, description="its id")
    robot: str = Field(max_length=60, description='name of a robot; "" if none can do it')


class ReassignReply(BaseModel):
    """Who takes the sub-tasks that were refused."""

    reason: str = Field("", max_length=1200, description="who can do what, in a few sentences")
    assignments: list[Given] = Field(max_length=300)


@dataclass(frozen=True)
class ReassignState:
    """Sub-tasks that need another robot.

    Attributes:
        words: The task as a person gave it.
        robots: Robot -> its body in words.
        now: Robot -> where it stands and what it holds.
        lookups: Bodies in the scene.
        second: The open sub-tasks with a solver's robots.
        refused: (sub-task, robot) pairs that must not come again.
        said: What robots said in this discussion, in order, a line each.
        busy: Robot -> what it has agreed to do already, in words.
        able: Sub-task -> robots whose bodies can do it and that have not refused it.
    """

    words: str
    robots: Mapping[str, str]
    now: Mapping[str, str]
    lookups: Lookups
    second: tuple[SubTask, ...]
    refused: Collection[tuple[str, str]]
    said: tuple[str, ...] = ()
    busy: Mapping[str, Sequence[str]] = field(default_factory=dict)
    able: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Reassign(Decision[ReassignState, ReassignReply]):
    """Give refused sub-tasks to other robots."""

    name: ClassVar[str] = "emos.reassign"
    reply_type: ClassVar[type[BaseModel]] = ReassignReply
    max_tokens: ClassVar[int] = 2000

    def prompt(self, state: ReassignState) -> Sequence[Message]:
        """Show the bodies, what was said so far, and what is to be given."""
        scene = state.lookups.toolbox.scene
        about = {
            thing.id: None
            for one in state.second
            for thing in (one.object, one.receptacle)
            if thing is not None and thing.id in scene.objects
        }
        things = whole_lines([thing_line(scene.objects[id], scene) for id in about], 4000, "things")
        busy = {robot: list(work)[:12] or ["nothing"] for robot, work in state.busy.items()}
        parts = [
            as_data(f"robot {name}", text, limit=2500)
            for name, text in sorted(state.robots.items())
        ]
        parts.append(as_data("robots now", dict(state.now)))
        parts.append(as_data("task", state.words[:1000], limit=50_000))
        parts.append(as_data("things", things or "none", limit=5000))
        parts.append(as_data("what each has agreed to do already", busy))
        parts.append(as_data("what was said so far", list(state.said[-_MOST_SAID:]), limit=6000))
        parts.append(as_data("sub-tasks to give", to_give(state.second), limit=6000))
        return (
            Message.system(
                "You lead a team of household robots. Robots have refused some sub-tasks; others "
                "go with those. Name for each sub-task the robot that does it now: one whose body "
                "can do it, that has not refused it, and that has not too much to do. What one "
                "robot says of the way or of a thing may hold for others too. Think first. Lengths "
                "are in metres, heights count from the floor, a camera's pitch is positive "
                "downward. Leave robot empty only where no robot is left that can."
            ),
            Message.user("\n".join(parts)),
        )

    def options(self, state: ReassignState) -> Mapping[str, Sequence[str]]:
        """Return the sub-tasks and the robots."""
        return {
            "assignments[].sub_task": [one.id for one in state.second],
            "assignments[].robot": [*sorted(state.robots), ""],
        }

    def tools(self, state: ReassignState) -> Sequence[Tool[Any]]:
        """Return look-ups on the map, and of what bodies reach, see and get to."""
        return state.lookups.tools()

    def only_reply(self, state: ReassignState) -> ReassignReply | None:
        """No choice is left where one robot at most can do each."""
        if any(len(state.able.get(one.id, ())) > 1 for one in state.second):
            return None
        return self.rule(state)

    def check(self, state: ReassignState, reply: ReassignReply) -> None:
        """Every sub-task once, by a robot that can and has not refused it; pairs stay together.

        Raises:
            CheckFailed: Names the mistakes, with the numbers where a body cannot do it.
        """
        problems = []
        wanted = {one.id: one for one in state.second}
        robots: dict[str, str] = {}
        for item in reply.assignments:
            able = state.able.get(item.sub_task, ())
            if item.sub_task not in wanted:
                problems.append(f"{inline_data(item.sub_task)} is none of the sub-tasks")
            elif item.sub_task in robots:
                problems.append(f"{item.sub_task} comes twice")
            elif item.robot and item.robot not in state.robots:
                problems.append(f"there is no robot {inline_data(item.robot)}")
            elif (item.sub_task, item.robot) in state.refused:
                problems.append(f"{item.robot} has refused {item.sub_task}")
            elif item.robot and item.robot not in able:
                problems.append(self._cannot(state, wanted[item.sub_task], item.robot))
            elif not item.robot and able:
                problems.append(f"{item.sub_task}: no robot is named; {' or '.join(able)} can")
            robots[item.sub_task] = item.robot
        for one in state.second:
            if one.id not in robots:
                problems.append(f"{one.id} is forgotten")
            partner = one.same_robot_as
            if partner in robots and robots.get(one.id) and robots[partner] != robots[one.id]:
                problems.append(f"{one.id} must go to the robot that does {partner}")
        if problems:
            raise CheckFailed("; ".join(problems[:MOST_PROBLEMS]))

    def _cannot(self, state: ReassignState, one: SubTask, robot: str) -> str:
        found = state.lookups.estimates(one, (robot,), opened_by(state.second))[robot]
        why = found.reason if not found.feasible else "it cannot do what goes with it"
        return f"{robot} cannot do {one.id}: {inline_data(why, limit=300)}"

    def rule(self, state: ReassignState) -> ReassignReply:
        """Return the solver's choice."""
        return ReassignReply(
            assignments=[Given(sub_task=one.id, robot=one.robot) for one in state.second]
        )


def to_give(sub_tasks: Sequence[SubTask]) -> str:
    """Return sub-tasks as a prompt lists them: without robots."""
    lines = []
    for one in sub_tasks:
        parts = [f"{one.id}: {one.kind} {inline_data(meant_by(one), limit=60)}"]
        if one.receptacle is not None:
            parts.append(f"on {inline_data(one.receptacle.id, limit=60)}")
        if one.rooms:
            parts.append(f"in {', '.join(one.rooms)}")
        if one.depends_on:
            parts.append(f"after {', '.join(one.depends_on)}")
        if one.same_robot_as:
            parts.append(f"by the robot of {one.same_robot_as}")
        lines.append(" ".join(parts))
    return "\n".join(lines)


def able_robots(
    sub_tasks: Sequence[SubTask],
    robots: Sequence[str],
    refused: Collection[tuple[str, str]],
    lookups: Lookups,
) -> dict[str, tuple[str, ...]]:
    """Return sub-task -> robots that can do it and all that must be done by the same robot.

    Those that a solver has given them to are among them: it also knows of hand-overs.
    """
    opened = opened_by(sub_tasks)
    can = {
        one.id: {
            robot
            for robot, found in lookups.estimates(one, robots, opened).items()
            if (found.feasible or robot == one.robot) and (one.id, robot) not in refused
        }
        for one in sub_tasks
    }
    for one in sub_tasks:
        partner = one.same_robot_as
        if partner in can:
            can[one.id] = can[partner] = can[one.id] & can[partner]
    return {id: tuple(robot for robot in robots if robot in who) for id, who in can.items()}
