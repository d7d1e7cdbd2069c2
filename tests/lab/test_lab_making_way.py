"""A robot of a lab that stands idle in the only door goes aside for one that is sent through."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("moveit_msgs")

from rclpy.action import ActionClient

from coterie_fixtures.lab_rig import TEAM, LabRig
from coterie_msgs.action import ExecuteTask
from coterie_msgs.msg import SemanticMap, TeamMessage
from coterie_ros import conversions
from coterie_ros.qos import profile
from emos_planner.leader.node import LeaderNode
from emos_planner.robot.node import RobotNode
from habitat_bridge.embedded import skills
from habitat_bridge.prior import prior_map

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOOR = (4.0, 2.0, 0.0)
"""Between kitchen and living room [m]: the only way there."""
_FIRST = TEAM[TEAM.index("  - name: slim") :]
_OTHER = _FIRST.replace("name: slim", "name: other").replace("x: 1.15, y: 1.3", "x: 4.0, y: 2.0")
NAMES = ("slim", "other")


def test_who_stands_idle_in_the_only_door_makes_way(ros, monkeypatch) -> None:
    # Robots of the simulator step aside by themselves; real ones, which a lab stands for, do not.
    monkeypatch.setattr(skills, "make_way", lambda *_: False)
    rig = LabRig(ros, TEAM + _OTHER, pace=3.0, camera_rate=1.0)
    common = {"robots": list(NAMES), "use_sim_time": True}
    leader = ros.add(
        LeaderNode("leader", context=ros.context, parameters={**common, "silence": 30.0})
    )
    workers = [
        ros.add(RobotNode("robot", namespace=f"/{name}", context=ros.context, parameters=common))
        for name in NAMES
    ]
    ros.wait_active(leader, *workers, timeout=60.0)
    node = ros.node("person")
    known = prior_map(rig.world.truth(), "everything")
    house = node.create_publisher(SemanticMap, "semantic_map", profile("latched"))
    house.publish(conversions.scene_to_msg(known, time=0.0))
    said: list[TeamMessage] = []
    node.create_subscription(TeamMessage, "slim/message", said.append, profile("messages"))
    client = ActionClient(node, ExecuteTask, "execute_task")
    ros.wait_for_matched(client)
    rig.wait_ready()
    assert math.dist(rig.world.state("other").pose.position, DOOR) < 0.3
    goal = ExecuteTask.Goal(task="slim, go to the sofa")
    handle = ros.result(client.send_goal_async(goal))
    result = ros.result(handle.get_result_async(), 400.0).result
    assert result.outcome == ExecuteTask.Result.DONE, result.message
    assert rig.world.state("slim").pose.position[0] > DOOR[0] + 0.5
    ways = [message for message in said if message.kind == TeamMessage.WAY]
    assert 1 <= len(ways) <= 2, "who made way was asked once, or once more while it drove"
    other = rig.world.state("other")
    assert math.dist(other.pose.position, DOOR) > 0.3 and other.travelled > 0.3
