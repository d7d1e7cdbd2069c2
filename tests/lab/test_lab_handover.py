"""A robot of a lab that fails: its leader gives the work to the other one."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("moveit_msgs")

from rclpy.action import ActionClient

from coterie_core.tasks import SubTaskState
from coterie_fixtures.lab_rig import TEAM, LabRig
from coterie_msgs.action import ExecuteTask
from coterie_msgs.msg import RobotStatus, SemanticMap
from coterie_ros import conversions, observations
from coterie_ros.conversions.tasks import assignment_from_msg, report_from_msg
from coterie_ros.qos import profile
from emos_planner.leader.node import LeaderNode
from emos_planner.robot.node import RobotNode
from habitat_bridge.prior import prior_map

pytestmark = [pytest.mark.ros, pytest.mark.slow]

_FIRST = TEAM[TEAM.index("  - name: slim") :]
_OTHER = _FIRST.replace("name: slim", "name: other").replace("x: 1.15, y: 1.3", "x: 5.6, y: 2.4")
NAMES = ("slim", "other")


class Team:
    """Two robots of a lab: `slim` stands beside the mug, `other` in the next room; their leader."""

    def __init__(self, ros, folder) -> None:
        self.ros = ros
        self.rig = LabRig(ros, TEAM + _OTHER, pace=3.0, camera_rate=1.0)
        common = {
            "robots": list(NAMES),
            "use_sim_time": True,
            "state_directory": str(folder),
        }
        self.leader = ros.add(
            LeaderNode(
                "leader", context=ros.context, parameters={**common, "heartbeat_timeout": 30.0}
            )
        )
        workers = [
            ros.add(
                RobotNode("robot", namespace=f"/{name}", context=ros.context, parameters=common)
            )
            for name in NAMES
        ]
        ros.wait_active(self.leader, *workers, timeout=60.0)
        node = self.node = ros.node("person")
        known = prior_map(self.rig.world.truth(), "everything")
        self.map = node.create_publisher(SemanticMap, "semantic_map", profile("latched"))
        self.map.publish(conversions.scene_to_msg(known, time=0.0))
        self.working: set[str] = set()
        for name in NAMES:
            node.create_subscription(
                RobotStatus, f"{name}/status", self._report, profile("latched")
            )
        self.client = ActionClient(node, ExecuteTask, "execute_task")
        ros.wait_for_matched(self.client)
        ros.spin_until(
            lambda: all(self.rig.seen.values()) and all(
                adapter.navigation.ready() == "" for adapter in self.rig.adapters.values()
            ),
            timeout=60.0,
            what="observations and servers",
        )  # fmt: skip

    def _report(self, message) -> None:
        report = report_from_msg(message)
        if report.skill:
            self.working.add(report.robot)

    def give(self, words):
        return self.ros.result(self.client.send_goal_async(ExecuteTask.Goal(task=words)))

    def end(self, handle):
        result = self.ros.result(handle.get_result_async(), 400.0).result
        return result, assignment_from_msg(result.assignment)[2]

    def first(self) -> str:
        """Wait for a robot to begin; return its name."""
        self.ros.spin_until(lambda: self.working, timeout=120.0, what="a robot to begin")
        return min(self.working)


def test_what_one_robot_cannot_do_the_other_does(ros, tmp_path) -> None:
    team = Team(ros, tmp_path)
    handle = team.give("put the mug on the coffee table")
    first = team.first()
    team.rig.fault(f"arm_aborted:robot={first}")
    result, sub_tasks = team.end(handle)
    assert result.outcome == ExecuteTask.Result.DONE, result.message
    assert team.rig.world.contents.things["o_mug"].support == "o_table"
    placed = {one.robot for one in sub_tasks if one.kind == "place"}
    assert placed == set(NAMES) - {first}
    assert all(one.state == SubTaskState.DONE for one in sub_tasks)


def test_the_work_of_a_robot_that_is_cut_off_goes_to_the_other(ros, tmp_path, monkeypatch) -> None:
    """It stands where it was, and may be in the way: only that the other takes up is asked."""
    # Time passes three times as fast here, and all that it tries ends without an observation.
    monkeypatch.setattr(observations, "TIMEOUT_S", observations.TIMEOUT_S / 5.0)
    team = Team(ros, tmp_path)
    team.give("put the mug on the coffee table")
    first = team.first()
    team.rig.fault(f"link_cut:robot={first}")
    (other,) = set(NAMES) - {first}
    ros.spin_until(lambda: other in team.working, timeout=240.0, what=f"{other} to take over")
