"""`./coterie do`: a real process gives a task to a real leader; robots are made by hand."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from coterie_bringup import rundir
from coterie_bringup.errors import CommandError
from coterie_bringup.resources import shipped_team
from coterie_bringup.task_record import TaskRecord
from coterie_cli.do.command import do
from coterie_cli.do.led import LedTask, words_to_resume
from coterie_cli.do.options import DoOptions
from coterie_cli.do.view import TaskView, result_panel, sub_task_table
from coterie_cli.figures.task import save_task
from coterie_core.tasks import RobotReport, SubTask, SubTaskState, Thing
from coterie_fixtures.two_floor_home import STARTS, small_house, small_team

DONE = SubTaskState.DONE
TEAM = """
name: test
world: {kind: embedded, seed: 1}
models: {own: {kind: rules}}
robots: [{name: rover}]
"""


def record() -> TaskRecord:
    mug = Thing(label="mug", id="mug-1", position=(10.0, 3.5, 0.8), room="living")
    desk = Thing(label="desk", id="desk-1", position=(3.0, 0.3, 3.4), room="bedroom")
    made = TaskRecord("Bring the mug <b>& more</b>", message="brought: mug-1", success=True)
    made.sub_tasks = (
        SubTask(id="pick-1", kind="pick", object=mug, robot="walker", state=DONE),
        SubTask(
            id="place-2", kind="place", object=mug, receptacle=desk, robot="walker", state=DONE
        ),
        SubTask(id="x", kind="detect", object=mug, reason="too high", state=SubTaskState.FAILED),
    )
    for x, z in ((5.0, 0.0), (5.02, 0.0), (6.0, 0.0), (6.0, 3.0), (3.0, 3.0)):
        made.take(RobotReport(robot="walker", time=x, position=(x, 2.0, z)))
    made.scene = small_house()
    return made


def test_a_record_is_written_with_result_talk_and_picture(tmp_path) -> None:
    from emos_planner.leader.transcript import Transcript

    made = record()
    made.transcript = Transcript("t", made.words)
    files = {file.name for file in save_task(made, tmp_path)}
    assert files == {"result.json", "discussion.md", "discussion.json", "map.svg"}
    data = json.loads((tmp_path / "result.json").read_text())
    assert data["moves"][0]["target"] == "desk-1" and data["success"] is True
    assert len(data["ways"]["walker"]) == 4  # standing still adds nothing
    drawing = (tmp_path / "map.svg").read_text()
    ElementTree.fromstring(drawing)
    assert "<b>" not in drawing and "other floor" in drawing and "kitchen" in drawing


def test_the_view_shows_who_does_what() -> None:
    from rich.console import Console

    made = record()
    console = Console(width=120, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    view = TaskView(console, made)
    view.news("-- discussion")
    view.news("")
    console.print(view.render())
    console.print(sub_task_table(made))
    console.print(result_panel(made))
    text = console.export_text()
    assert "DONE" in text and "walker" in text and "too high" in text and "nobody" in text


def test_an_empty_task_is_refused() -> None:
    with pytest.raises(CommandError, match="empty"):
        do(DoOptions(("  ",)))


def test_what_ended_early_is_resumed_in_the_words_that_the_team_took(tmp_path) -> None:
    record = TaskRecord("bring the mug", meant="bring mug-2", outcome="cancelled")
    save_task(record, tmp_path)
    assert words_to_resume(tmp_path) == words_to_resume(tmp_path, "bring the mug") == "bring mug-2"
    with pytest.raises(CommandError, match="another task: 'bring the mug'"):
        words_to_resume(tmp_path, "bring the pot")
    save_task(TaskRecord("bring the mug", success=True, outcome="done"), tmp_path)
    with pytest.raises(CommandError, match="nothing is left"):
        words_to_resume(tmp_path)
    for text in ("{", "[]", '{"task": 3}', '{"task": 3, "outcome": "x", "success": false}'):
        (tmp_path / "result.json").write_text(text)
        with pytest.raises(CommandError, match="no result"):
            words_to_resume(tmp_path)
    with pytest.raises(CommandError, match="--out"):
        do(DoOptions(resume=True, out=tmp_path / "nowhere"))


def test_a_missing_team_file_is_named() -> None:
    assert shipped_team(LedTask.team).is_file()
    with pytest.raises(CommandError, match="emoss"):
        shipped_team("emoss")


# -- over ROS -----------------------------------------------------------------------------------


@pytest.fixture
def team(ros, ros_domain, monkeypatch, tmp_path):
    """A leader and three robots that agree to everything; the lazy ones then do nothing."""
    from std_msgs.msg import String

    from coterie_core.tasks import Reflection
    from coterie_msgs.msg import (
        Assignment,
        DiscussionTurn,
        RobotStatus,
        SemanticMap,
    )
    from coterie_ros import conversions
    from coterie_ros.conversions.tasks import (
        assignment_from_msg,
        proposal_from_msg,
        reflection_to_msg,
        report_to_msg,
    )
    from coterie_ros.qos import profile
    from emos_planner.leader.node import LeaderNode

    names = ("rover", "walker", "drone")
    node = ros.node("world")
    leader = LeaderNode("leader", context=ros.context, parameters={"robots": list(names)})
    ros.add(leader)
    ros.wait_active(leader)
    node.lazy, node.leader = False, leader
    node.stopped = 0
    keep = []

    def robot(name, resume):
        turns = node.create_publisher(DiscussionTurn, "discussion", profile("messages"))
        status = node.create_publisher(RobotStatus, f"{name}/status", profile("latched"))
        told = node.create_publisher(String, f"{name}/resume", profile("latched"))
        told.publish(conversions.resume_to_msg(name, resume))
        mine = {"task": "", "sub_tasks": ()}

        def tell():
            report = RobotReport(robot=name, position=STARTS[name], **mine)
            status.publish(report_to_msg(report))

        def hear(turn):
            if turn.kind == DiscussionTurn.PROPOSE and name in turn.recipients:
                asked = proposal_from_msg(turn)
                answer = Reflection(task=asked.task, round=asked.round, robot=name, agrees=True)
                turns.publish(reflection_to_msg(answer))

        def take(message):
            task, _, sub_tasks = assignment_from_msg(message)
            node.stopped += not sub_tasks
            done = {one.id for one in sub_tasks if one.state is DONE}
            own = []
            for one in sub_tasks:
                if one.robot == name:
                    ready = set(one.depends_on) <= done and not node.lazy
                    own.append(one.model_copy(update={"state": DONE}) if ready else one)
            mine.update(task=task, sub_tasks=tuple(own))
            tell()

        keep.append(
            node.create_subscription(DiscussionTurn, "discussion", hear, profile("messages"))
        )
        keep.append(node.create_subscription(Assignment, "assignment", take, profile("latched")))
        keep.append(node.create_timer(0.5, tell))
        tell()

    resumes = small_team()
    for name in names:
        robot(name, resumes[name])
    scene = node.create_publisher(SemanticMap, "semantic_map", profile("latched"))
    scene.publish(conversions.scene_to_msg(small_house()))
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    state = rundir.own_state("test", ros_domain, rundir.new_run("test"), robots=names)
    with rundir.registered(state):
        yield node


def command(ros, words, out):
    return ros.start_process(
        [sys.executable, "-m", "coterie_cli.cli", "do", words, "--out", str(out)],
        {"COTERIE_STATE": os.environ["COTERIE_STATE"], "COLUMNS": "150"},
    )


@pytest.mark.ros
def test_a_task_is_given_shown_and_written_down(ros, team, tmp_path) -> None:
    process = command(ros, "Bring two mugs to the kitchen counter", tmp_path / "out")
    ros.spin_until(lambda: process.exit_code is not None, what="the command to end")
    assert process.wait() == 0, process.output
    assert "leader [propose]" in process.output and "DONE" in process.output
    data = json.loads((tmp_path / "out" / "result.json").read_text())
    assert data["success"] and data["outcome"] == "done" and len(data["moves"]) == 2
    assert "agrees" in (tmp_path / "out" / "discussion.md").read_text()
    assert (tmp_path / "out" / "map.svg").is_file()
    assert "simulated" not in process.output  # nobody tells simulated time


@pytest.mark.ros
def test_only_what_belongs_to_the_task_counts(ros) -> None:
    """What robots and leader have latched is of before it, and stamps of reports are old."""
    from rosgraph_msgs.msg import Clock

    from coterie_bringup.task_watcher import TaskWatcher
    from coterie_msgs.action import ExecuteTask
    from coterie_msgs.msg import Assignment, RobotStatus
    from coterie_ros.agent_node import AgentNode
    from coterie_ros.conversions.basics import time_to_msg
    from coterie_ros.conversions.tasks import assignment_to_msg, report_to_msg, sub_task_to_msg

    made = TaskRecord("go to the hall")
    went = SubTask(id="go-1", kind="go_to", rooms=("kitchen",), robot="beta", state=DONE)
    went = went.model_copy(update={"description": "go to kitchen"})
    goes = went.model_copy(update={"rooms": ("hall",), "description": "go to hall"})

    class Leader(AgentNode):
        time, new = 700.0, ""

        def on_setup(self, parameters) -> None:
            self.clock = self.publisher(Clock, "clock", "clock")
            self.status = self.publisher(RobotStatus, "beta/status", "latched")
            self.told = self.publisher(Assignment, "assignment", "latched")
            self.serve_action(ExecuteTask, "execute_task", self.lead)

        def on_start(self) -> None:
            self.every(0.1, self.tell, "time")

        def tell(self) -> None:
            self.clock.publish(Clock(clock=time_to_msg(self.time)))
            seen = 171.0 if self.time < 720.0 else self.time
            self.status.publish(report_to_msg(RobotReport(robot="beta", time=seen, task=self.new)))

        async def lead(self, goal):
            goal.feedback(ExecuteTask.Feedback(stage="discussion"))
            await self.until(lambda: watcher.stage == "discussion")
            self.told.publish(assignment_to_msg("task-old", 3, (went,)))
            await asyncio.sleep(0.5)
            shares = [sub_task_to_msg(goes, "task-new")]
            goal.feedback(ExecuteTask.Feedback(stage="execution", round=1, sub_tasks=shares))
            await self.until(lambda: made.task == "task-new")
            other = goes.model_copy(update={"id": "go-2", "description": "go to bath"})
            self.told.publish(assignment_to_msg("task-new", 2, (goes, other)))
            self.time, self.new = 730.0, "task-new"
            await self.until(lambda: made.simulated >= 30.0 and made.rounds == 2)
            return goal.succeed(ExecuteTask.Result(outcome=ExecuteTask.Result.DONE, success=True))

        @staticmethod
        async def until(come) -> None:
            for _ in range(100):
                if come():
                    return
                await asyncio.sleep(0.05)

    leader = ros.add(Leader("leader", context=ros.context))
    watcher = ros.add(TaskWatcher(["beta"], made, context=ros.context))
    ros.wait_active(leader, watcher)
    ros.spin_until(lambda: watcher.record.reports and watcher.team_clock.time == 700.0)
    ros.result(watcher.run(watcher.leader_there(20.0), "leader"))
    ros.result(watcher.run(watcher.give(0.0), "task"))
    assert made.success and made.simulated == pytest.approx(30.0)
    assert made.rounds == 2 and made.task == "task-new"
    said = " ".join(made.events)
    assert "beta did go to hall" in said and "go to bath" in said and "kitchen" not in said


@pytest.mark.ros
def test_ctrl_c_cancels_the_task_and_the_robots_stop(ros, team, tmp_path) -> None:
    team.lazy = True
    process = command(ros, "bring mug-1 to the kitchen counter", tmp_path / "out")
    ros.spin_until(lambda: "-- execution" in process.output, what="the execution to begin")
    process.send(signal.SIGINT)
    ros.spin_until(lambda: process.exit_code is not None, what="the command to end")
    assert process.wait() == 130, process.output
    assert "the leader has ended the task, and no robot works on it" in process.output
    assert team.stopped >= 3  # before the command ended


@pytest.mark.ros
def test_ctrl_c_does_not_say_that_a_task_is_over_which_goes_on(ros, team, tmp_path) -> None:
    team.lazy = True
    process = command(ros, "bring mug-1 to the kitchen counter", tmp_path / "out")
    ros.spin_until(lambda: "-- execution" in process.output, what="the execution to begin")
    ros.lose(team.leader)
    process.send(signal.SIGINT)
    ros.spin_until(lambda: process.exit_code is not None, what="the command to end")
    assert process.wait() == 130, process.output
    assert "has not confirmed" in process.output and "./coterie stop" in process.output
    assert "told to stop" not in process.output
