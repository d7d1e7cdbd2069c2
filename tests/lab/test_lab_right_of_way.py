"""A robot of a lab that stands idle in the only door goes aside for one that is sent through."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("moveit_msgs")

from rclpy.action import ActionClient
from std_srvs.srv import SetBool

from coterie_core.tasks import SubTask, SubTaskState, Thing
from coterie_fixtures.lab_rig import TEAM, LabRig
from coterie_msgs.action import AskTeam, ExecuteTask
from coterie_msgs.msg import Assignment, SemanticMap, TeamMessage
from coterie_ros import conversions
from coterie_ros.qos import profile
from coterie_world.right_of_way import YieldRequest
from emos_planner.leader.node import LeaderNode
from emos_planner.robot.node import RobotNode
from habitat_bridge.prior import prior_map
from mele_explorer.node import ExplorerNode
from openeqa_agent.node import OpenNode
from reveca_agent.node import RevecaNode

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOOR = (4.0, 2.0, 0.0)
"""Between kitchen and living room [m]: the only way there."""
# On a busy machine the lab's 15 s until it says what is in the way take longer than 8 s.
_PATIENT = TEAM.replace("stall_timeout: 8", "stall_timeout: 60").replace(
    "timeout: 30}", "timeout: 120}"
)
_FIRST = _PATIENT[_PATIENT.index("  - name: slim") :]
_OTHER = _FIRST.replace("name: slim", "name: other").replace("x: 1.15, y: 1.3", "x: 4.0, y: 2.0")
NAMES = ("slim", "other")


class Team:
    """`slim` in the kitchen, `other` in its door, and their leader."""

    def __init__(self, ros) -> None:
        self.ros = ros
        self.rig = LabRig(ros, _PATIENT + _OTHER, pace=3.0, camera_rate=1.0)
        common = {"robots": list(NAMES), "use_sim_time": True}
        leader = LeaderNode(
            "leader", context=ros.context, parameters={**common, "heartbeat_timeout": 30.0}
        )
        self.workers = {
            name: RobotNode("robot", namespace=f"/{name}", context=ros.context, parameters=common)
            for name in NAMES
        }
        ros.wait_active(*(ros.add(node) for node in (leader, *self.workers.values())), timeout=60.0)
        node = ros.node("person")
        known = prior_map(self.rig.world.truth(), "everything")
        self.map = node.create_publisher(SemanticMap, "semantic_map", profile("latched"))
        self.map.publish(conversions.scene_to_msg(known, time=0.0))
        self.said: list[TeamMessage] = []
        node.create_subscription(TeamMessage, "slim/message", self.said.append, profile("messages"))
        self.button = node.create_client(SetBool, "/other/stop")
        self.client = ActionClient(node, ExecuteTask, "execute_task")
        ros.wait_for_matched(self.client, self.button)
        self.rig.wait_ready()
        assert math.dist(self.other.pose.position, DOOR) < 0.3

    @property
    def other(self):
        return self.rig.world.state("other")

    @property
    def ways(self) -> int:
        """How often `slim` has asked for its way."""
        return sum(message.kind == TeamMessage.WAY for message in self.said)

    def send_through(self):
        goal = ExecuteTask.Goal(task="slim, go to the sofa")
        return self.ros.result(self.client.send_goal_async(goal))

    def arrives(self, handle) -> None:
        result = self.ros.result(handle.get_result_async(), 400.0).result
        assert result.outcome == ExecuteTask.Result.DONE, result.message
        assert self.rig.world.state("slim").pose.position[0] > DOOR[0] + 0.5

    def stop(self, stopped: bool) -> None:
        answer = self.ros.result(self.button.call_async(SetBool.Request(data=stopped)))
        assert answer.success, answer.message


def test_who_stands_idle_in_the_only_door_makes_way(ros) -> None:
    team = Team(ros)
    team.arrives(team.send_through())
    assert 1 <= team.ways <= 2, "it was asked once, or once more while it drove"
    assert math.dist(team.other.pose.position, DOOR) > 0.3 and team.other.travelled > 0.3


def test_who_is_stopped_makes_way_for_nobody_until_it_is_released(ros) -> None:
    team = Team(ros)
    team.stop(True)
    handle, before = team.send_through(), team.rig.posture("other")
    ros.spin_until(lambda: team.ways, timeout=120.0, what="slim to ask for its way")
    team.rig.wait(5.0)
    assert team.rig.posture("other") == before
    assert team.workers["other"].agent.aside.asked is None, "it would move at its release"
    team.stop(False)
    team.arrives(handle)
    assert team.other.travelled > 0.3


ROLES = {
    "explorer": (ExplorerNode, {"robots": list(NAMES)}),
    "worker": (RobotNode, {"robots": ["other"], "others": ["slim"]}),
    "cooperator": (RevecaNode, {"team": list(NAMES)}),
    "cooperator of its own": (RevecaNode, {"team": ["other"], "others": ["slim"]}),
}


@pytest.mark.parametrize("role", ROLES)
def test_whatever_its_role_an_idle_robot_makes_way_unless_it_is_stopped(ros, role) -> None:
    rig = LabRig(ros, _PATIENT + _OTHER, pace=3.0, camera_rate=1.0)
    make, parameters = ROLES[role]
    agent = ros.add(
        make(
            "agent",
            namespace="/other",
            context=ros.context,
            parameters={**parameters, "use_sim_time": True},
        )
    )
    ros.wait_active(agent, timeout=60.0)
    person = ros.node("person")
    voice = person.create_publisher(TeamMessage, "slim/message", profile("messages"))
    button = person.create_client(SetBool, "/other/stop")
    known = person.create_publisher(SemanticMap, "semantic_map", profile("latched"))
    known.publish(conversions.scene_to_msg(prior_map(rig.world.truth(), "rooms"), time=0.0))
    ros.wait_for_matched(voice, button)
    rig.wait_ready()
    ready = {
        ExplorerNode: lambda: len(agent.memory.graph.places) > 2,
        RobotNode: lambda: agent.agent is not None and agent.agent.position is not None,
        RevecaNode: lambda: agent._knows_house(),
    }
    ros.spin_until(ready[make], timeout=60.0, what="what it needs to know")

    def stop(stopped: bool) -> None:
        answer = ros.result(button.call_async(SetBool.Request(data=stopped)))
        assert answer.success, answer.message
        ros.spin_until(lambda: agent._stop_watch.stopped is stopped, what="the agent to hear it")

    def ask(id_: str) -> None:
        way = (rig.world.state("slim").pose.position, DOOR, (5.5, 2.0, 0.0))
        voice.publish(conversions.yield_request_to_msg(YieldRequest(id_, "slim", way, 0.2), 1.0))

    if role == "worker":  # its last sub-task is over, and its leader tells so once more
        over = SubTask(
            id="s", kind="detect", object=Thing(label="mug"), robot="other", state=SubTaskState.DONE
        )
        news = person.create_publisher(Assignment, "assignment", profile("latched"))
        agent.agent.assign("t", "", (over,))
        agent.agent.share.current = "s"
    if role != "worker":  # after a stop that waits for its leader, which the test above has
        stop(True)
        before = rig.posture("other")
        ask("slim-way-1")
        rig.wait(5.0)
        stop(False)
        rig.wait(5.0)
        assert rig.posture("other") == before, "its release does not move it either"
    asked: list[float] = []

    def until(so, what) -> None:
        """Ask for the way until something is so, as who is blocked does: a late request is void."""

        def asked_again() -> bool:
            if not asked or rig.world.time > asked[-1] + 10.0:
                asked.append(rig.world.time)
                ask(f"slim-way-{len(asked) + 1}")
            return so()

        ros.spin_until(asked_again, timeout=60.0, what=what)

    if role == "worker":
        until(lambda: agent._skill is not None, "it to begin")
        news.publish(conversions.assignment_to_msg("t", 2, (over,)))
    until(lambda: math.dist(rig.world.state("other").pose.position, DOOR) > 0.3, "it to go aside")
    assert agent.diagnostics.counter("forged_messages") == 0


def test_who_looks_for_an_answer_gets_through_the_door_in_which_an_explorer_stands(ros) -> None:
    rig = LabRig(ros, _PATIENT + _OTHER, pace=3.0, camera_rate=1.0)
    common = {"use_sim_time": True}
    idle = ros.add(
        ExplorerNode(
            "explorer",
            namespace="/other",
            context=ros.context,
            parameters={**common, "robots": list(NAMES)},
        )
    )
    looks = ros.add(
        OpenNode(
            "open_questions",
            context=ros.context,
            parameters={**common, "robot": "slim", "map_wait": 0.2, "ask_back": False},
        )
    )
    ros.wait_active(idle, looks, timeout=60.0)
    person = ros.node("person")
    known = person.create_publisher(SemanticMap, "semantic_map", profile("latched"))
    known.publish(conversions.scene_to_msg(prior_map(rig.world.truth(), "rooms"), time=0.0))
    said: list[TeamMessage] = []
    person.create_subscription(TeamMessage, "slim/message", said.append, profile("messages"))
    client = ActionClient(person, AskTeam, "ask_open")
    ros.wait_for_matched(client, known)
    rig.wait_ready()
    ros.spin_until(
        lambda: looks._scene is not None and len(idle.memory.graph.places) > 2,
        timeout=60.0,
        what="what they need to know",
    )
    question = AskTeam.Goal(explore=True)
    question.question.id, question.question.text = "q", "What colour is the bed?"
    ros.result(client.send_goal_async(question))
    ros.spin_until(
        lambda: rig.world.state("slim").pose.position[0] > DOOR[0] + 0.3,
        timeout=240.0,
        what="slim to get through the door",
    )
    assert any(message.kind == TeamMessage.WAY for message in said)
    assert math.dist(rig.world.state("other").pose.position, DOOR) > 0.3
