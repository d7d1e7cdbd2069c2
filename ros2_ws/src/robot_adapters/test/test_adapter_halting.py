"""What halts a robot from outside: which actions it cancels, and that nothing keeps it from it."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import TwistStamped
from nav2_msgs.action import Spin
from rclpy.action import ActionClient
from std_msgs.msg import String

from coterie_ros.agent_node import AgentNode
from robot_adapters.halting import halt_of
from robot_adapters.names import moving_actions
from robot_adapters.settings import AdapterSettings

NAV2 = AdapterSettings()
MOVEIT = AdapterSettings.model_validate(
    {
        "navigation": {"backend": "velocity", "cmd_vel": "base/cmd"},
        "arm": {"backend": "moveit", "namespace": "/lab/arm", "group": "left"},
    }
)
SKILLS = AdapterSettings.model_validate(
    {"navigation": {"backend": "skills"}, "arm": {"backend": "skills", "action": "own/act"}}
)


class Servers(AgentNode):
    """Servers of actions that go on for ever; the type does not matter to who cancels."""

    def __init__(self, names, **options):
        super().__init__("servers", **options)
        self._names, self.ended = names, []

    def on_setup(self, parameters):
        for name in self._names:
            self.serve_action(Spin, name, lambda goal, name=name: self._work(goal, name))

    async def _work(self, goal, name):
        try:
            await asyncio.sleep(3600.0)
        except asyncio.CancelledError:
            self.ended.append(name)
            return goal.cancel(Spin.Result())


def rig(ros, names, settings):
    """Return servers with a goal each, and what halts them, in another namespace's terms."""
    servers = ros.add(Servers(names, namespace="/porter", context=ros.context))
    ros.wait_active(servers)
    client = ros.node("rviz")
    handles = []
    for name in names:
        one = ActionClient(client, Spin, f"/porter/{name}")
        ros.wait_for_matched(one)
        handles.append(ros.result(one.send_goal_async(Spin.Goal())))
        assert handles[-1].accepted
    node = ros.node("halting", "/porter")
    return servers, handles, halt_of(node, settings)


def test_the_outer_actions_are_cancelled_before_those_that_they_use():
    names = moving_actions(NAV2)
    assert names[0] == "navigate_to_pose"
    assert names.index("follow_waypoints") < names.index("follow_path")
    assert {
        "navigate_through_poses", "follow_path", "spin", "backup", "drive_on_heading",
        "assisted_teleop", "wait", "dock_robot", "undock_robot",
    } <= set(names)  # fmt: skip


def test_names_are_those_that_the_backends_use():
    own = AdapterSettings.model_validate(
        {"navigation": {"namespace": "/lab/nav", "action": "/autopilot/go_to"}}
    )
    assert moving_actions(own)[0] == "/autopilot/go_to"
    assert {"/lab/nav/navigate_to_pose", "/lab/nav/follow_path"} <= set(moving_actions(own))
    assert moving_actions(MOVEIT) == (
        "/lab/arm/move_action",
        "/lab/arm/execute_trajectory",
        "/lab/arm/left_controller/follow_joint_trajectory",
        "/lab/arm/gripper_controller/gripper_cmd",
    )
    assert moving_actions(SKILLS) == ("driver/navigate_to", "own/act", "driver/manipulate")
    still = {"navigation": {"backend": "none"}, "arm": {"backend": "trajectory"}}
    assert moving_actions(AdapterSettings.model_validate(still)) == (
        "arm_controller/follow_joint_trajectory",
        "gripper_controller/gripper_cmd",
    )


@pytest.mark.ros
def test_what_others_began_ends_and_all_answer(ros):
    names = ["navigate_to_pose", "follow_path", "backup", "drive_on_heading", "undock_robot"]
    servers, handles, halt = rig(ros, names, NAV2)
    results = [handle.get_result_async() for handle in handles]
    ros.spin_until(lambda: set(halt.under_way) == set(names), what="word of goals")
    halt.send()
    for result in results:
        assert ros.result(result).status == GoalStatus.STATUS_CANCELED
    ros.spin_until(lambda: not halt.unanswered and not halt.under_way, what="answers")
    assert sorted(servers.ended) == sorted(names)
    halt.destroy()


@pytest.mark.ros
def test_the_base_and_moveit_are_told_at_once(ros):
    settings = MOVEIT.model_copy(
        update={"navigation": MOVEIT.navigation.model_copy(update={"stamped_velocity": True})}
    )
    node = ros.node("halting", "/porter")
    halt = halt_of(node, settings)
    robot, velocities, events = ros.node("base", "/porter"), [], []
    ends = [
        robot.create_subscription(TwistStamped, "base/cmd", velocities.append, 10),
        robot.create_subscription(String, "/lab/arm/trajectory_execution_event", events.append, 10),
    ]
    for end in ends:
        ros.spin_until(lambda end=end: node.count_subscribers(end.topic_name))
    ros.spin_until(lambda: robot.count_publishers("base/cmd"))

    def told():
        halt.send()
        ros.spin(0.05)
        return velocities and events

    ros.spin_until(told, what="zero velocities and MoveIt's stop")
    assert all(v.twist.linear.x == v.twist.angular.z == 0.0 for v in velocities)
    assert velocities[0].header.frame_id == "base_link" and velocities[0].header.stamp.sec > 0
    assert events[0].data == "stop"


@pytest.mark.ros
def test_a_server_that_is_not_matched_yet_is_asked_once_it_is(ros):
    servers, _, first = rig(ros, ["follow_path"], NAV2)
    ros.spin_until(lambda: first.under_way)
    halt = halt_of(first._node, NAV2)
    halt.send()  # nothing has been discovered in between
    ros.spin_until(lambda: servers.ended == ["follow_path"], what="a late cancel")


@pytest.mark.ros
def test_one_part_that_fails_keeps_no_other_back(ros):
    servers, _, halt = rig(ros, ["follow_path", "spin"], NAV2)
    ros.spin_until(lambda: len(halt.under_way) == 2)
    broken = next(one for one in halt._servers if one.name == "follow_path")
    halt._node.destroy_client(broken._client)
    halt._node.destroy_publisher(halt._velocity)
    halt.send()
    ros.spin_until(lambda: servers.ended == ["spin"], what="the other cancel")
    assert "follow_path" not in halt.unanswered
