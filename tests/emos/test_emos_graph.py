"""Bridge, leader and robots as nodes: what was asked for is so in the world; cancel."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.ros

pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

from coterie_core.tasks import RobotReport, Thing  # noqa: E402
from coterie_msgs.action import ExecuteTask  # noqa: E402
from coterie_msgs.msg import RobotStatus  # noqa: E402
from coterie_ros.conversions.tasks import report_from_msg  # noqa: E402
from coterie_ros.qos import profile  # noqa: E402
from coterie_safety.why import (  # noqa: E402
    JournalSettings,
    close_journal,
    explain,
    open_journal,
    read_story,
)
from emos_planner.leader.node import LeaderNode  # noqa: E402
from emos_planner.robot.node import RobotNode  # noqa: E402
from habitat_bridge.factory import make_world  # noqa: E402
from habitat_bridge.node import BridgeNode  # noqa: E402
from habitat_bridge.robots import load_embodiment  # noqa: E402

TEAM = {"rover": "wheels", "walker": "legs", "drone": "air"}
SUCCEEDED, CANCELED = 4, 5


class Graph:
    """A team's nodes in one process, and a person who gives it tasks."""

    def __init__(self, ros, tmp_path) -> None:
        self.ros = ros
        world = make_world({"kind": "embedded", "seed": 7, "floors": 1, "noise": "none"})
        self.things = world.truth()
        robots = [
            {
                "name": name,
                "embodiment": load_embodiment(body).model_copy(update={"name": name}).model_dump(),
            }
            for name, body in TEAM.items()
        ]
        self.bridge = ros.add(
            BridgeNode(
                context=ros.context,
                world=world,
                parameters={
                    "robots": json.dumps(robots),
                    "mode": "lockstep",
                    "prior_map": "everything",
                    "log_directory": str(tmp_path / "log"),
                },
            )
        )
        common = {"robots": list(TEAM), "state_directory": str(tmp_path)}
        self.leader = ros.add(
            LeaderNode(
                "leader", context=ros.context, parameters={**common, "heartbeat_timeout": 10.0}
            )
        )
        self.robots = {
            name: ros.add(
                RobotNode("robot", namespace=f"/{name}", context=ros.context, parameters=common)
            )
            for name in TEAM
        }
        ros.wait_active(self.bridge, self.leader, *self.robots.values())
        node = ros.node("person")
        self.reports = {}
        for name in TEAM:
            node.create_subscription(RobotStatus, f"{name}/status", self._hear, profile("latched"))
        self.client = ActionClient(node, ExecuteTask, "execute_task")
        ros.wait_for_matched(self.client)

    def _hear(self, message) -> None:
        report = report_from_msg(message)
        self.reports[report.robot] = report

    def an_item(self):
        """Return a small thing that stands somewhere open and low, and a table or the like."""
        held = {t.container for t in self.things.objects.values() if t.container}
        tops = [
            t
            for t in self.things.objects.values()
            if t.id not in held
            and t.kind == "furniture"
            and t.label.top in ("table", "bed", "desk")
        ]
        item = next(
            t
            for t in sorted(self.things.objects.values(), key=lambda t: t.id)
            if t.kind == "item"
            and t.support in {top.id for top in tops}
            and 0.3 < t.box.center[2] < 0.9
        )
        goal = next(t for t in tops if t.id != item.support)
        return item, goal

    def give(self, words):
        return self.ros.result(self.client.send_goal_async(ExecuteTask.Goal(task=words)))

    def end(self, handle):
        answer = self.ros.result(handle.get_result_async(), 240.0)
        return answer.status, answer.result

    def where(self, id_) -> str:
        thing = self.bridge.world.truth().objects[id_]
        return thing.support or thing.container


@pytest.fixture
def graph(ros, tmp_path):
    return Graph(ros, tmp_path)


def test_what_is_brought_is_there_and_the_chain_from_words_to_motor_is_kept(ros, tmp_path) -> None:
    open_journal(JournalSettings(str(tmp_path / "why")), "team")
    try:
        graph = Graph(ros, tmp_path)
        item, goal = graph.an_item()
        words = f"put {item.id} on {goal.id}"
        status, result = graph.end(graph.give(words))
        assert status == SUCCEEDED and result.success, result.message
        assert graph.where(item.id) == goal.id
        graph.ros.spin_until(
            lambda: any(one.kind == "outcome" for one in read_story(tmp_path / "why").records),
            what="the outcome to be kept",
        )
    finally:
        close_journal()
    story = read_story(tmp_path / "why", tmp_path / "log")
    assert (story.damaged, story.lost, story.log_fault) == (0, 0, "")
    (task,) = [one for one in story.records if one.kind == "task"]
    assert task.body["words"] == words

    # Every physical goal of the log was sent by somebody who kept why.
    goals = {entry.body["action"] for entry in story.entries if entry.kind == "goal"}
    sent = {one.id: one for one in story.records if one.kind == "sent" and one.body["physical"]}
    assert goals == set(sent)

    # The pick: from the person's words to the motors' result, each step there.
    pick = next(
        entry.body["action"]
        for entry in story.entries
        if entry.kind == "goal" and str(entry.body["skill"]) == "pick"
    )
    told = explain(pick[:12], tmp_path / "why", tmp_path / "log")
    kinds = [step.kind for step in told.steps]
    assert kinds[0] == "task"
    *told_first, one, other = (k for k in kinds[1:] if k != "decision")
    assert told_first == ["assignment", "action", "sent", "log goal", "log permit"]
    # The bridge logs the result while the robot takes it in.
    assert {one, other} == {"log result", "ended"}
    assert told.gaps == ()
    assert words in told.steps[0].text
    who = sent[pick].who
    assert all(step.who in (who, "leader") for step in told.steps)

    # The others: why they did not get it.
    pick_task = story.get(sent[pick].of.because).of.sub_task
    told = explain(pick_task, tmp_path / "why", tmp_path / "log")
    details = " ".join(detail for step in told.steps for detail in step.details)
    for robot in TEAM:
        assert robot == who or f"not {robot}: " in details
    assert "arm" in details, "the drone has none"

    # What came of it.
    assert "ended done" in explain("last", tmp_path / "why").steps[-1].text


def test_a_robot_that_is_stopped_stands_others_go_on_and_it_does_when_released(graph) -> None:
    item, goal = graph.an_item()
    node = graph.ros.node("supervisor")
    stop = node.create_publisher(String, "stop", profile("messages"))
    graph.ros.wait_for_matched(stop)
    calls = {name: node.create_client(SetBool, f"{name}/stop") for name in TEAM}
    handle = graph.give(f"put {item.id} on {goal.id}")
    graph.ros.spin_until(
        lambda: any(report.skill for report in graph.reports.values()), what="a robot to begin"
    )
    stop.publish(String(data="anna: a child came in"))
    graph.ros.spin(1.0)  # what was under way arrives
    before = {name: graph.bridge.world.state(name).pose for name in TEAM}
    graph.ros.spin(2.0)
    assert {name: graph.bridge.world.state(name).pose for name in TEAM} == before
    assert graph.where(item.id) in (item.support, "")
    for call in calls.values():
        graph.ros.result(call.call_async(SetBool.Request(data=False)))
    status, result = graph.end(handle)
    assert status == SUCCEEDED and graph.where(item.id) == goal.id, result.message


def test_cancel_stops_the_robots(graph) -> None:
    item, goal = graph.an_item()
    handle = graph.give(f"put {item.id} on {goal.id}")
    graph.ros.spin_until(
        lambda: any(report.skill for report in graph.reports.values()), what="a robot to begin"
    )
    handed = graph.leader.leader
    graph.ros.result(handle.cancel_goal_async())
    status, result = graph.end(handle)
    assert status == CANCELED and not result.success
    graph.ros.spin_until(
        lambda: all(not r.skill and r.waiting for r in graph.reports.values()),
        what="all robots to wait",
    )
    # A report that was under way while the task was cancelled does not set it going again.
    seen = Thing(label=goal.label.top, id="walker-9", position=(1.0, 1.0, 0.4), room=goal.room)
    graph.leader._on_report(RobotReport(robot="walker", task=handed.task, found=(seen,)))
    graph.ros.spin(1.5)
    assert all(not report.skill and report.waiting for report in graph.reports.values())
    assert graph.where(item.id) == item.support
