"""What the real Nav2 was seen to do, done by the lab's: the robot stands when a drive has ended."""

from __future__ import annotations

import json
import math

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("moveit_msgs")

from geometry_msgs.msg import Point
from nav2_msgs.action import BackUp
from std_srvs.srv import SetBool

from coterie_core.skills import NavigateTo, Outcome
from coterie_fixtures.lab_clients import ActionUser
from coterie_fixtures.lab_rig import TEAM, LabRig

pytestmark = [pytest.mark.ros, pytest.mark.slow]

FAR, NEAR = NavigateTo(position=(6.0, 2.3, 0.0)), NavigateTo(position=(1.15, 1.3, 0.0))
WITHOUT_ARM = TEAM.replace("backend: moveit", "backend: none")


def position(rig):
    return rig.world.state("slim").pose.position


def moved(rig, far=0.4):
    """Wait until the robot is on its way."""
    begin = position(rig)
    rig.ros.spin_until(lambda: math.dist(position(rig), begin) > far, what="a drive")


def stop(rig):
    client = rig.node.create_client(SetBool, "/slim/stop")
    rig.ros.wait_for_matched(client)
    assert rig.ros.result(client.call_async(SetBool.Request(data=True))).success


def stands(rig, within):
    """Show that the robot comes to rest within a time of its own clock [s]."""
    rig.wait(within)
    return rig.still(duration=0.4)


def test_a_stop_stops_a_robot_whose_navigator_is_gone(ros):
    rig = LabRig(ros, WITHOUT_ARM, pace=1.0, camera_rate=1.0)
    rig.wait_ready()
    rig.send(FAR)
    moved(rig)
    rig.fault("navigator_dies")
    ros.spin_until(lambda: rig.lab._navigation[0]._killed is not None)
    at = position(rig)
    stop(rig)
    assert stands(rig, 2.0), "its controller drives on"
    assert math.dist(position(rig), at) < 1.0 and math.dist(position(rig), FAR.position) > 1.0


def test_a_stop_ends_what_other_clients_have_behaviors_do(ros):
    rig = LabRig(ros, WITHOUT_ARM, pace=1.0, camera_rate=1.0)
    rig.wait_ready()
    assert rig.end(NavigateTo(position=(2.2, 1.8, 0.0), yaw=0.0)).ok
    back = ActionUser(ros, rig.node, BackUp, "/slim/backup")
    _, ended = back.send(BackUp.Goal(target=Point(x=1.5), speed=0.2))
    moved(rig, 0.1)
    stop(rig)
    assert stands(rig, 2.0)
    assert ros.result(ended).status != 4
    inner = rig.lab._navigation[0].inner
    ros.spin_until(lambda: all(one.cancels for one in inner.values()), what="every cancel")


def test_a_drive_that_its_tree_abandons_is_tried_again_and_leaves_nothing_moving(ros):
    rig = LabRig(ros, WITHOUT_ARM, pace=2.0, camera_rate=1.0)
    rig.wait_ready()
    rig.fault("navigate_abandoned:nth=1")
    done = rig.end(FAR)
    assert done.ok, done
    rig.fault("navigate_abandoned")
    ended = rig.end(NEAR)
    assert ended.outcome is Outcome.FAULT and "without a code" in ended.reason, ended
    assert rig.still(duration=0.5), "the controller drives on"
    assert math.dist(position(rig), NEAR.position) > 1.0


def test_a_drive_whose_navigator_is_killed_ends_long_before_the_graph_knows(ros):
    rig = LabRig(ros, WITHOUT_ARM, pace=1.0, camera_rate=1.0)
    rig.wait_ready()
    _, result = rig.send(FAR)
    moved(rig)
    rig.fault("navigator_dies")
    ended = rig.result(result)
    assert ended.outcome is Outcome.FAULT and "has told nothing for" in ended.reason, ended
    assert rig.still(duration=0.5)
    assert math.dist(position(rig), FAR.position) > 1.0, "it was not driven to its end"


def test_a_limit_above_nav2s_own_speed_makes_no_robot_faster(ros):
    limits = json.dumps({"team": {"area": "anywhere", "speed": 0.9}})
    rig = LabRig(ros, WITHOUT_ARM, pace=2.0, limits=limits)
    rig.wait_ready()
    _, result = rig.send(FAR)
    fastest = []

    def done():
        fastest.append(rig.lab.plant.body("slim").embodiment.linear_speed)
        return result.done()

    ros.spin_until(done, timeout=60.0, what="the drive")
    assert rig.result(result).ok
    assert max(fastest) == pytest.approx(0.5)


def test_a_limit_below_nav2s_own_speed_holds_and_is_lifted_when_the_adapter_ends(ros):
    limits = json.dumps({"team": {"area": "anywhere", "speed": 0.25}})
    rig = LabRig(ros, WITHOUT_ARM, pace=4.0, limits=limits)
    rig.wait_ready()
    speed = lambda: rig.lab.plant.body("slim").embodiment.linear_speed  # noqa: E731
    ros.spin_until(lambda: speed() == pytest.approx(0.25), what="the limit")
    ros.remove(rig.adapters["slim"])
    ros.spin_until(lambda: speed() == pytest.approx(0.5), what="the end of the limit")


def test_a_goal_too_near_to_furniture_is_refused_before_the_robot_moves(ros):
    rig = LabRig(ros, WITHOUT_ARM, pace=2.0, camera_rate=1.0)
    rig.wait_ready()
    at = position(rig)
    ended = rig.end(NavigateTo(position=(0.6, 1.2, 0.0), tolerance=0.1))
    assert ended.outcome is Outcome.UNREACHABLE and "ends 0." in ended.reason, ended
    assert position(rig) == at


@pytest.mark.parametrize("namespace", ["''", "/"])
def test_nav2_at_the_root_is_driven(ros, namespace):
    team = WITHOUT_ARM.replace("{stall_timeout", f"{{namespace: {namespace}, stall_timeout")
    rig = LabRig(ros, team.replace("settle: 0.1", "settle: 0.1\n        map: /map"), pace=4.0)
    rig.wait_ready()
    assert rig.end(FAR).ok
    names = {name for name, _ in rig.node.get_service_names_and_types()}
    assert "/navigate_to_pose/_action/send_goal" in names
    assert "/slim/navigate_to_pose/_action/send_goal" not in names
