"""A stop, whoever moves the robot: it stands, its goal ends saying so, only a new one moves it."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient
from std_msgs.msg import String
from std_srvs.srv import SetBool

from coterie_core.cooperation import Goal
from coterie_core.tasks import SubTask
from coterie_msgs.action import AskTeam, Cooperate, Explore
from coterie_msgs.msg import Assignment
from coterie_ros.conversions.cooperation import goal_to_msg
from coterie_ros.conversions.tasks import assignment_to_msg
from coterie_ros.qos import profile
from emos_planner.robot.node import RobotNode
from habitat_bridge.factory import make_world
from habitat_bridge.node import BridgeNode
from habitat_bridge.robots import load_embodiment
from mele_explorer.node import ExplorerNode
from openeqa_agent.node import OpenNode
from reveca_agent.node import RevecaNode

pytestmark = pytest.mark.ros

ROBOT = "ann"


class Stage:
    """A bridge in real time with one robot, and a person who stops and releases it."""

    def __init__(self, ros) -> None:
        self.ros, self.node = ros, ros.node("person")
        world = make_world(
            {"kind": "embedded", "seed": 11, "floors": 1, "rooms": 5, "noise": "none"}
        )
        body = load_embodiment("wheels").model_copy(update={"name": ROBOT, "linear_speed": 0.2})
        parameters = {
            "robots": json.dumps([{"name": ROBOT, "embodiment": body.model_dump()}]),
            "mode": "real_time",
            "prior_map": "furniture",
        }
        self.bridge = ros.add(BridgeNode(context=ros.context, world=world, parameters=parameters))
        ros.wait_active(self.bridge)
        self.button = self.node.create_publisher(String, "stop", profile("messages"))
        self.call = self.node.create_client(SetBool, f"{ROBOT}/stop")
        ros.wait_for_matched(self.button, self.call)

    def node_of(self, kind, name, namespace=f"/{ROBOT}", **parameters):
        made = kind(name, namespace=namespace, context=self.ros.context, parameters=parameters)
        self.ros.add(made)
        self.ros.wait_active(made)
        return made

    @property
    def pose(self):
        return self.bridge.world.state(ROBOT).pose

    def until_it_moves(self, what: str) -> None:
        begin = self.pose
        self.ros.spin_until(lambda: self.pose != begin, what=what)

    def stop(self) -> None:
        self.button.publish(String(data="anna: a child came in"))
        self.ros.spin_until(lambda: self.bridge.world.state(ROBOT).linear == (0.0, 0.0, 0.0))

    def release(self) -> None:
        assert self.ros.result(self.call.call_async(SetBool.Request(data=False))).success

    def stands(self) -> None:
        begin = self.pose
        self.ros.spin(1.5)
        assert self.pose == begin


class Exploring:
    """An exploration."""

    def __init__(self, stage: Stage) -> None:
        self.ros = stage.ros
        stage.node_of(ExplorerNode, "explorer")
        self.client = ActionClient(stage.node, Explore, f"{ROBOT}/explore")
        self.ros.wait_for_matched(self.client)

    def begin(self) -> None:
        self.handle = self.ros.result(self.client.send_goal_async(Explore.Goal(max_steps=30)))

    def ended(self) -> str:
        return str(self.ros.result(self.handle.get_result_async()).result.reason)


class Looking:
    """An open question that a robot goes to look for."""

    def __init__(self, stage: Stage) -> None:
        self.ros = stage.ros
        stage.node_of(OpenNode, "open_questions", "", robot=ROBOT, sure=1.0, map_wait=0.1)
        self.client = ActionClient(stage.node, AskTeam, "ask_open")
        self.ros.wait_for_matched(self.client)

    def begin(self) -> None:
        goal = AskTeam.Goal(explore=True)
        goal.question.id, goal.question.text = "q", "Where is the piano?"
        self.handle = self.ros.result(self.client.send_goal_async(goal))

    def ended(self) -> str:
        return str(self.ros.result(self.handle.get_result_async()).result.message)


class Cooperating:
    """A goal that a cooperating robot works on."""

    def __init__(self, stage: Stage) -> None:
        self.ros = stage.ros
        stage.node_of(RevecaNode, "agent", team=[ROBOT])
        self.client = ActionClient(stage.node, Cooperate, f"{ROBOT}/cooperate")
        self.ros.wait_for_matched(self.client)

    def begin(self) -> None:
        goal = goal_to_msg(Goal.parse("tidy", ["ON(unicorn, counter): 1"]))
        request = Cooperate.Goal(name="tidy", goal=goal)
        self.handle = self.ros.result(self.client.send_goal_async(request))

    def ended(self) -> str:
        return str(self.ros.result(self.handle.get_result_async()).result.message)


class Working:
    """An assignment that a leader gave; who died then, so that nobody takes it back."""

    def __init__(self, stage: Stage) -> None:
        self.ros, self.stage, self.tasks = stage.ros, stage, 0
        self.robot = stage.node_of(RobotNode, "robot", robots=[ROBOT])
        self.out = stage.node.create_publisher(Assignment, "assignment", profile("latched"))
        self.ros.wait_for_matched(self.out)
        self.ros.spin_until(lambda: self.robot.agent is not None, what="resume and map")

    def begin(self) -> None:
        self.tasks += 1
        here = self.stage.pose.position
        room = max(
            self.stage.bridge.world.truth().rooms.values(),
            key=lambda r: abs(r.polygon[0][0] - here[0]) + abs(r.polygon[0][1] - here[1]),
        )
        one = SubTask(id="go", kind="go_to", robot=ROBOT, rooms=(room.id,))
        self.out.publish(assignment_to_msg(f"t{self.tasks}", 1, [one]))

    def ended(self) -> str:
        self.ros.spin_until(lambda: self.robot.agent.history, what="the skill's end")
        return self.robot.agent.history[-1].reason


@pytest.mark.parametrize("work", [Exploring, Looking, Cooperating, Working])
def test_a_stop_ends_the_goal_and_only_a_new_one_moves_the_robot(ros, work) -> None:
    stage = Stage(ros)
    doing = work(stage)
    doing.begin()
    stage.until_it_moves("the work to begin")
    stage.stop()
    assert doing.ended().count("stopped by anna: a child came in") == 1
    stage.stands()
    stage.release()
    stage.stands()
    doing.begin()
    stage.until_it_moves("the new goal to begin")


@pytest.mark.parametrize("work", [Exploring, Looking, Cooperating])
def test_a_goal_for_a_stopped_robot_ends_at_once_and_one_released_at_once_ends_too(
    ros, work
) -> None:
    stage = Stage(ros)
    doing = work(stage)
    stage.stop()
    doing.begin()
    assert "stopped by" in doing.ended()
    stage.release()
    doing.begin()
    stage.until_it_moves("the work to begin")
    stage.stop()
    stage.release()
    assert "stopped by" in doing.ended()
    stage.stands()
