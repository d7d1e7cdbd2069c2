"""An adapter drives a base through Nav2's real interfaces; every way to fail has a name."""

from __future__ import annotations

import asyncio
import json
import math
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("coterie_msgs")

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import TwistStamped
from nav2_msgs.action import NavigateToPose
from rclpy.action import ActionClient as RclpyActionClient
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from coterie_core.geometry import Pose
from coterie_core.skills import NavigateTo, Outcome
from coterie_fixtures.adapter_rig import AdapterRig, outcome
from coterie_fixtures.nav2_base import Nav2Base
from coterie_msgs.action import Manipulate
from coterie_msgs.action import NavigateTo as NavigateToAction
from coterie_ros import conversions
from coterie_ros.qos import profile
from coterie_safety.guard import Fences
from robot_adapters.backends.nav2 import Nav2Navigation
from robot_adapters.codes import DOCK, NAVIGATE, PLANNER, SPIN
from robot_adapters.settings_motion import NavigationSettings

pytestmark = pytest.mark.ros


@pytest.fixture
def rig(ros):
    return AdapterRig(ros)


def test_it_drives_says_where_it_is_and_observes(rig):
    first = rig.seen[-1]
    assert (first.pose.position.x, first.pose.position.y) == pytest.approx((1.0, 1.0), abs=0.01)
    assert len(first.neighbours) > 0 and first.place
    status, result = rig.go(6.0, 4.5, yaw=1.0)
    assert status == GoalStatus.STATUS_SUCCEEDED, outcome(result)
    assert (result.pose.pose.position.x, result.pose.pose.position.y) == pytest.approx(
        (6.0, 4.5), abs=0.05
    )
    assert result.distance_left < 0.05 and abs(result.yaw_left) < 0.1
    assert 4.0 < result.result.distance < 8.0
    rig.ros.spin_until(lambda: rig.seen[-1].step > first.step)
    last = rig.seen[-1]
    assert last.pose.position.x == pytest.approx(6.0, abs=0.05)
    # To a place of the map, by its name.
    other = last.neighbours[0]
    goal = NavigateToAction.Goal(place=other.id)
    status, result = rig.finish(rig.send(rig.drive, goal))
    assert status == GoalStatus.STATUS_SUCCEEDED, outcome(result)
    assert math.dist(rig.base.pose.position[:2], (other.position.x, other.position.y)) < 0.1


def test_a_robot_that_is_not_located_does_not_say_where_a_drive_ended(rig):
    goal = NavigateToAction.Goal(place="atlantis")
    _, result = rig.finish(rig.send(rig.drive, goal))
    assert result.pose.header.frame_id == "map" and result.pose.pose.position.x > 0.5
    rig.base.publishes_tf = False
    rig.ros.spin_until(lambda: rig.adapter._position() is None, what="its pose to be too old")
    _, result = rig.finish(rig.send(rig.drive, goal))
    assert result.pose.header.frame_id == "" and math.isnan(result.distance_left)


def test_a_drive_that_loses_its_pose_does_not_tell_that_of_its_beginning(rig):
    rig.base.faults = {"navigate_to_pose": "slow"}
    skill = NavigateTo(position=(6.0, 4.5, 0.0))
    handle = rig.send(rig.drive, conversions.navigate_to_msg(skill))
    rig.ros.spin_until(lambda: rig.base.pose.position[0] > 1.1, what="the drive")
    rig.base.publishes_tf = False
    rig.ros.spin_until(lambda: rig.adapter._position() is None, what="its pose to be too old")
    rig.ros.result(handle.cancel_goal_async())
    _, result = rig.finish(handle)
    assert result.result.outcome != Outcome.SUCCEEDED
    assert result.pose.header.frame_id == "" and math.isnan(result.distance_left)


def test_a_robot_that_was_carried_tells_so_when_it_is_to_detect_and_asks_nobody(ros):
    rig = AdapterRig(ros, permits='{"team": {"otherwise": "ask"}}')
    first = rig.seen[-1]
    rig.base.pose = Pose((6.0, 4.5, 0.0))
    ros.spin_until(lambda: rig.adapter._position()[0] > 5.9, what="tf to tell it")
    assert rig.seen[-1].step == first.step  # nobody asked
    rig.finish(rig.send(rig.act, Manipulate.Goal(skill=Manipulate.Goal.DETECT)))
    ros.spin_until(lambda: rig.seen[-1].step > first.step, what="an observation")
    assert rig.seen[-1].pose.position.x == pytest.approx(6.0, abs=0.05)


def test_a_goal_in_furniture_is_driven_near_to_and_exactly_it_is_refused(rig):
    status, result = rig.go(4.0, 3.0, tolerance=1.2)  # the middle of the table
    assert status == GoalStatus.STATUS_SUCCEEDED, outcome(result)
    assert 0.5 < result.distance_left <= 1.2
    status, result = rig.go(4.0, 3.0, tolerance=0.25)
    assert outcome(result)[0] is Outcome.UNREACHABLE
    assert "GOAL_OCCUPIED (206)" in outcome(result)[1]
    status, result = rig.go(20.0, 3.0)
    assert outcome(result)[0] is Outcome.UNREACHABLE
    assert "GOAL_OUTSIDE_MAP" in outcome(result)[1]


@pytest.mark.parametrize(
    ("free", "tolerance", "target"),
    [((0.8, 1.0), 1.2, 0.8), ((1.1, 0.9), 1.2, 0.9), ((0.2,), 0.25, 0.2), ((), 0.25, 0.0)],
)
def test_where_nav2_stops_before_its_goal_is_still_near_enough(free, tolerance, target):
    class Where:
        def free_points(self, position, within):
            return [(x, 0.0, 0.0) for x in free if x <= within]

    base = object.__new__(Nav2Navigation)
    base._must_plan, base._settings, base._where = False, NavigationSettings(), Where()
    base._plan = SimpleNamespace(there=False)
    skill = NavigateTo(position=(0.0, 0.0, 0.0), tolerance=tolerance)
    point, _ = asyncio.run(base._reachable(skill, Pose((0.0, 0.0, 0.0))))
    assert point == (target, 0.0, 0.0)


def test_every_code_of_a_drive_and_of_planning_has_its_outcome(rig):
    for action, codes in (("navigate_to_pose", NAVIGATE), ("compute_path_to_pose", PLANNER)):
        for number, code in list(codes.items())[::7]:
            rig.base.faults = {action: number}
            status, result = rig.go(2.0, 1.0)
            name, reason = outcome(result)
            assert name is code.outcome, (number, reason)
            assert f"{code.name} ({number})" in reason and f"{action}:" in reason
            assert status == GoalStatus.STATUS_ABORTED
    rig.base.faults = {"navigate_to_pose": 4321}
    assert outcome(rig.go(2.0, 1.0)[1])[0] is Outcome.FAULT
    rig.base.faults = {"navigate_to_pose": 0}
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.FAULT and "aborted without a code" in reason
    assert "default_server_timeout" in reason


def test_a_drive_that_is_aborted_without_a_code_is_tried_once_more(rig):
    rig.base.faults = {"navigate_to_pose": (0, None)}
    status, result = rig.go(6.0, 1.0)
    assert status == GoalStatus.STATUS_SUCCEEDED, outcome(result)
    assert len(rig.base.goals["navigate_to_pose"]) == 2
    assert len(rig.base.goals["compute_path_to_pose"]) == 2  # checked again, too
    rig.base.faults = {"navigate_to_pose": 0}
    assert outcome(rig.go(1.0, 1.0)[1])[0] is Outcome.FAULT
    assert len(rig.base.goals["navigate_to_pose"]) == 4
    rig.base.faults = {"navigate_to_pose": 105}
    assert outcome(rig.go(1.0, 1.0)[1])[0] is Outcome.BLOCKED
    assert len(rig.base.goals["navigate_to_pose"]) == 5


def test_of_several_planners_the_first_is_asked_or_the_one_that_is_named(ros):
    rig = AdapterRig(ros)
    rig.base.planners = ("Careful", "GridBased")
    for x in (6.0, 1.0):
        status, result = rig.go(x, 1.0)
        assert status == GoalStatus.STATUS_SUCCEEDED, outcome(result)
    asked = [goal.planner_id for goal in rig.base.goals["compute_path_to_pose"]]
    assert asked == ["", "Careful", "Careful"]


def test_the_planner_that_the_settings_name_is_asked(ros):
    rig = AdapterRig(ros, **{"navigation.planner_id": "GridBased"})
    rig.base.planners = ("Careful", "GridBased")
    assert rig.go(6.0, 1.0)[0] == GoalStatus.STATUS_SUCCEEDED
    assert [g.planner_id for g in rig.base.goals["compute_path_to_pose"]] == ["GridBased"]


def test_what_no_path_leads_to_is_not_driven_to(rig):
    rig.base.ends_off = 0.4  # planners may end a path so far from its goal
    name, reason = outcome(rig.go(6.0, 1.0)[1])
    assert name is Outcome.UNREACHABLE and "0.40 m" in reason and "0.25 m" in reason
    assert "navigate_to_pose" not in rig.base.goals
    assert rig.go(6.0, 1.0, tolerance=1.0)[0] == GoalStatus.STATUS_SUCCEEDED
    rig.base.ends_off, rig.base.has_paths = 0.0, False
    name, reason = outcome(rig.go(1.0, 1.0)[1])
    assert name is Outcome.UNREACHABLE and "without a pose" in reason


@pytest.mark.parametrize(("own", "told"), [(0.2, 0.2), (0.5, 0.3), (None, None)])
def test_a_speed_limit_only_ever_lowers_and_is_lifted_at_the_end(ros, own, told):
    rig = AdapterRig(ros, limits='{"team": {"area": "anywhere", "speed": 0.3}}')
    rig.base.own_speed = own
    rig.base.limits.clear()
    assert rig.go(2.0, 1.0)[0] == GoalStatus.STATUS_SUCCEEDED
    figure = rig.adapter.navigation.describe()["speed_limit"]
    if told is None:
        assert not rig.base.limits and "cannot be passed on" in figure
        assert "desired_linear_vel" in figure
        return
    assert figure == f"{told:g} m/s"
    rig.ros.spin_until(lambda: rig.base.limits)
    assert rig.base.limits == pytest.approx([told] * len(rig.base.limits))
    rig.adapter.trigger_deactivate()
    rig.ros.spin_until(lambda: rig.base.limits[-1] == 0.0, what="the end of the limit")


def test_silence_of_a_server_that_told_a_lot_ends_the_drive(ros):
    rig = AdapterRig(ros, **{"navigation.stall_timeout": 600.0, "navigation.server_timeout": 60.0})
    rig.base.faults = {"navigate_to_pose": "hushed"}
    name, reason = outcome(rig.go(6.0, 1.0)[1])
    assert name is Outcome.FAULT and "navigate_to_pose has told nothing for" in reason


def test_undocking_from_no_dock_is_done_unless_the_battery_charges(ros):
    rig = AdapterRig(ros, **{"navigation.dock": "home"})
    dock = rig.node.create_client(Trigger, "/porter/dock")
    rig.ros.wait_for_matched(dock)
    assert rig.ros.result(dock.call_async(Trigger.Request())).success
    rig.base.faults = {"undock_robot": 0}  # as Jazzy's server, of a robot that was pushed out
    rig.ros.spin_until(lambda: (rig.base.say_battery(0.8, 1), rig.adapter.battery.charging)[1])
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.FAULT and "battery charges" in reason
    rig.ros.spin_until(lambda: (rig.base.say_battery(0.8, 2), not rig.adapter.battery.charging)[1])
    assert rig.go(2.0, 1.0)[0] == GoalStatus.STATUS_SUCCEEDED
    assert rig.go(3.0, 1.0)[0] == GoalStatus.STATUS_SUCCEEDED
    assert len(rig.base.goals["undock_robot"]) == 2


def test_every_code_of_turning_and_docking_has_its_outcome(ros):
    rig = AdapterRig(ros, **{"navigation.dock": "home"})
    for number, code in SPIN.items():
        rig.base.faults = {"spin": number}
        result = rig.look()
        assert Outcome(result.outcome) is code.outcome and f"({number})" in result.reason
    rig.base.faults = {}
    assert Outcome(rig.look().outcome) is Outcome.SUCCEEDED
    dock = rig.node.create_client(Trigger, "/porter/dock")
    rig.ros.wait_for_matched(dock)
    for number, code in DOCK.items():
        rig.base.faults = {"dock_robot": number}
        answer = rig.ros.result(dock.call_async(Trigger.Request()))
        assert not answer.success and code.name in answer.message
    rig.base.faults = {}
    assert rig.ros.result(dock.call_async(Trigger.Request())).success
    assert rig.base.goals["dock_robot"][-1].dock_id == "home"
    # What stands in its dock leaves it before it drives.
    assert rig.go(2.0, 1.0)[0] == GoalStatus.STATUS_SUCCEEDED
    assert len(rig.base.goals["undock_robot"]) == 1


def test_rejected_lying_and_hanging_servers(ros):
    rig = AdapterRig(ros, **{"navigation.stall_timeout": 1.0})
    rig.base.faults = {"navigate_to_pose": "reject"}
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.FAULT and "rejected" in reason
    rig.base.faults = {"navigate_to_pose": "lie"}
    name, reason = outcome(rig.go(6.0, 1.0)[1])
    assert name is Outcome.BLOCKED and "5.00 m" in reason
    rig.base.faults = {"navigate_to_pose": "hang"}
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.TIMED_OUT and "no progress" in reason
    rig.base.faults = {"compute_path_to_pose": "hang"}
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.TIMED_OUT and "compute_path_to_pose" in reason


def test_a_lost_robot_does_not_drive_and_one_that_gets_lost_stops(rig):
    rig.base.localize(2.0)
    rig.ros.spin_until(lambda: "not localized" in rig.adapter.navigation.ready())
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.FAULT and "2.00 m" in reason
    rig.base.localize(0.05)
    rig.ros.spin_until(lambda: rig.adapter.navigation.ready() == "")
    rig.base.faults = {"navigate_to_pose": "slow"}
    skill = NavigateTo(position=(6.0, 1.0, 0.0))
    handle = rig.send(rig.drive, conversions.navigate_to_msg(skill))
    rig.ros.spin_until(lambda: rig.base.pose.position[0] > 1.1)
    rig.base.localize(0.05, yaw=2.0)
    name, reason = outcome(rig.finish(handle)[1])
    assert name is Outcome.FAULT and "not localized" in reason
    stood = rig.base.pose
    rig.ros.spin_until(lambda: not rig.adapter.loop.running or True)
    assert rig.base.pose.position[0] < 6.0 and rig.base.pose == stood


def test_an_inactive_nav2_is_named(rig):
    rig.base.lifecycle_active = False
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.FAULT and "is_active" in reason and "not active" in reason


def test_a_person_takes_over(ros):
    rig = AdapterRig(ros, **{"navigation.paused": "paused"})
    rig.base.faults = {"navigate_to_pose": "slow"}
    goal = conversions.navigate_to_msg(NavigateTo(position=(6.0, 1.0, 0.0)))

    def driving():
        handle = rig.send(rig.drive, goal)
        count = len(rig.base.goals.get("navigate_to_pose", []))
        rig.ros.spin_until(lambda: len(rig.base.goals.get("navigate_to_pose", [])) > count - 1)
        at = rig.base.pose.position[0]
        rig.ros.spin_until(lambda: rig.base.pose.position[0] != at)
        return handle

    # By another goal of Nav2, as RViz sends it.
    handle = driving()
    other = RclpyActionClient(rig.node, NavigateToPose, "/porter/navigate_to_pose")
    rig.ros.spin_until(other.server_is_ready)
    theirs = NavigateToPose.Goal()
    theirs.pose.pose.position.x = 1.0
    theirs.pose.pose.position.y = 5.0
    second = rig.send(other, theirs)
    name, reason = outcome(rig.finish(handle)[1])
    assert name is Outcome.CANCELLED and "another client's goal" in reason
    # By a cancel that is not ours.
    rig.ros.result(second.cancel_goal_async())
    handle = driving()
    rig.adapter.navigation._cancel()
    name, reason = outcome(rig.finish(handle)[1])
    assert name is Outcome.CANCELLED and "somebody else cancelled" in reason
    # By the joystick's topic.
    handle = driving()
    rig.base.say_paused(True)
    name, reason = outcome(rig.finish(handle)[1])
    assert name is Outcome.CANCELLED and "a person drives" in reason
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.CANCELLED and "a person drives" in reason


def test_a_newer_goal_takes_the_place_of_one_that_runs_and_a_cancelled_one_stops(rig):
    rig.base.faults = {"navigate_to_pose": "slow"}
    goal = conversions.navigate_to_msg(NavigateTo(position=(6.0, 1.0, 0.0)))
    first = rig.send(rig.drive, goal)
    rig.ros.spin_until(lambda: rig.base.pose.position[0] > 1.1)
    second = rig.send(rig.drive, goal)
    status, result = rig.finish(first)
    assert outcome(result) == (Outcome.CANCELLED, "a newer goal took its place")
    rig.ros.spin_until(lambda: len(rig.base.goals["navigate_to_pose"]) == 2)
    rig.ros.result(second.cancel_goal_async())
    status, result = rig.finish(second)
    assert status == GoalStatus.STATUS_CANCELED
    assert outcome(result) == (Outcome.CANCELLED, "cancelled")
    assert rig.base.pose.position[0] < 6.0


def test_a_server_that_dies_and_one_that_returns(rig):
    rig.base.faults = {"navigate_to_pose": "slow"}
    goal = conversions.navigate_to_msg(NavigateTo(position=(6.0, 1.0, 0.0)))
    handle = rig.send(rig.drive, goal)
    rig.ros.spin_until(lambda: rig.base.pose.position[0] > 1.1)
    rig.ros.remove(rig.base)
    name, reason = outcome(rig.finish(handle)[1])
    assert name is Outcome.FAULT, reason
    # What a server aborts while it goes is tried once more, and then there is none.
    assert "server is gone" in reason or "no server of" in reason, reason
    rig.ros.spin_until(lambda: "no server" in rig.adapter.navigation.ready())
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.FAULT and "no server of /porter/navigate_to_pose" in reason
    rig.base = rig.ros.add(Nav2Base(namespace="/porter", context=rig.ros.context))
    rig.ros.spin_until(lambda: rig.adapter.navigation.ready() == "")
    status, result = rig.go(2.0, 1.0)
    assert status == GoalStatus.STATUS_SUCCEEDED, outcome(result)


def test_a_low_battery_refuses_work_and_docks(ros):
    rig = AdapterRig(ros, **{"navigation.dock": "home"})
    rig.ros.spin_until(lambda: (rig.base.say_battery(0.1), rig.adapter.battery.low)[1])
    rig.ros.spin_until(lambda: "dock_robot" in rig.base.goals)
    rig.ros.spin_until(lambda: rig.adapter.docking.docked)
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.REFUSED and "battery is low: 10 %" in reason
    told = {one.key: one.value for one in rig.adapter.diagnostics.status().values}
    assert told["robot.battery"] == "10 %"  # the console's page shows that
    rig.ros.spin_until(lambda: (rig.base.say_battery(0.2), rig.adapter.battery.charge > 0.15)[1])
    assert outcome(rig.go(2.0, 1.0)[1])[0] is Outcome.REFUSED
    rig.ros.spin_until(lambda: (rig.base.say_battery(0.9), not rig.adapter.battery.low)[1])
    assert rig.go(2.0, 1.0)[0] == GoalStatus.STATUS_SUCCEEDED


def test_limits_hold_and_nav2_is_told_the_speed(ros):
    area = '{"team": {"area": [[[0, 0], [5, 0], [5, 6], [0, 6]]], "speed": 0.3}}'
    rig = AdapterRig(ros, limits=area)
    name, reason = outcome(rig.go(6.0, 1.0)[1])
    assert name is Outcome.REFUSED, reason
    assert rig.go(2.0, 1.0)[0] == GoalStatus.STATUS_SUCCEEDED
    rig.ros.spin_until(lambda: 0.3 in rig.base.limits)


def test_a_path_through_what_is_kept_out_of_is_not_driven(ros):
    limits = {"area": "anywhere", "keep_out": [{"polygon": [[3, 0], [4, 0], [4, 2], [3, 2]]}]}
    rig = AdapterRig(ros, limits=json.dumps({"team": limits}))
    told: list = []
    rig.node.create_subscription(
        String,
        "/porter/fences",
        lambda one: told.append(Fences.from_json(one.data, "fences")),
        profile("latched"),
    )
    name, reason = outcome(rig.go(6.0, 1.0)[1])
    assert name is Outcome.REFUSED, reason
    assert "navigate_to_pose" not in rig.base.goals
    rig.ros.spin_until(lambda: told)
    assert [one.where for one in told[-1].fences] == ["limits.keep_out[0]"]
    assert told[-1].fences[0].pieces[0].rings and not told[-1].trouble
    assert rig.go(2.0, 1.0)[0] == GoalStatus.STATUS_SUCCEEDED
    # A robot whose path nobody tells must not drive at all.
    rig.adapter.navigation._plan._client._client.destroy()
    name, reason = outcome(rig.go(1.0, 1.0)[1])
    assert name is Outcome.REFUSED and "limits.keep_out" in reason


def test_a_robot_that_strays_from_its_planned_path_is_stopped(ros):
    limits = {"area": "anywhere", "keep_out": [{"polygon": [[3, 0], [4, 0], [4, 2], [3, 2]]}]}
    rig = AdapterRig(ros, limits=json.dumps({"team": limits}))
    rig.base.detour = [(1.0, 3.0), (6.0, 3.0)]  # as planned; what is driven is another way
    rig.base.faults = {"navigate_to_pose": "slow"}
    name, reason = outcome(rig.go(6.0, 1.0)[1])
    assert name is Outcome.REFUSED, reason
    assert reason.startswith("stopped on its way") and "limits.keep_out[0]" in reason
    assert 2.9 <= rig.base.pose.position[0] < 4.0  # zones reach a little farther
    stood = rig.base.pose.position
    # Somebody has put it there: it may leave.
    rig.base.detour = []
    rig.base.faults = {}
    assert rig.go(2.0, 1.0)[0] == GoalStatus.STATUS_SUCCEEDED
    assert stood != rig.base.pose.position


def test_without_limits_it_does_not_move(ros):
    rig = AdapterRig(ros, limits="")
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.REFUSED and "no area is allowed" in reason
    assert "navigate_to_pose" not in rig.base.goals


def test_a_stop_sends_zeros_and_cancels_what_others_sent(rig):
    rig.base.faults = {"navigate_to_pose": "slow"}
    goal = conversions.navigate_to_msg(NavigateTo(position=(6.0, 1.0, 0.0)))
    handle = rig.send(rig.drive, goal)
    rig.ros.spin_until(lambda: rig.base.pose.position[0] > 1.1)
    rig.adapter._send_halts()
    rig.finish(handle)
    rig.ros.spin_until(lambda: len(rig.base.velocities) >= 3)
    assert all(v.linear.x == 0.0 and v.angular.z == 0.0 for v in rig.base.velocities)


def test_the_zeros_of_a_stop_for_a_base_that_takes_stamps_are_stamped(ros):
    rig = AdapterRig(
        ros, **{"navigation.stamped_velocity": True, "navigation.cmd_vel": "cmd_vel_stamped"}
    )
    came: list = []
    rig.node.create_subscription(TwistStamped, "/porter/cmd_vel_stamped", came.append, 10)
    ros.spin_until(lambda: rig.adapter.navigation._halt._velocity.get_subscription_count())
    before = rig.adapter.now()
    rig.adapter._send_halts()
    ros.spin_until(lambda: len(came) >= 3)
    for one in came:
        assert before - 1e-6 <= conversions.time_from_msg(one.header.stamp) <= rig.adapter.now()
        assert one.header.frame_id == "base_link" and one.twist.linear.x == 0.0


def test_a_stop_is_obeyed_at_once_and_holds_until_a_person_releases_it(rig):
    rig.base.faults = {"navigate_to_pose": "slow"}
    goal = conversions.navigate_to_msg(NavigateTo(position=(6.0, 1.0, 0.0)))
    handle = rig.send(rig.drive, goal)
    rig.ros.spin_until(lambda: rig.base.pose.position[0] > 1.1)
    stop = rig.node.create_publisher(String, "/stop", 10)  # the whole team's
    rig.ros.wait_for_matched(stop)
    stop.publish(String(data="Ada: a child in the room"))
    status, result = rig.finish(handle)
    name, reason = outcome(result)
    assert name is Outcome.CANCELLED and reason.startswith("stopped by Ada: a child in the room")
    stood = rig.base.pose
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.REFUSED and "./coterie release porter" in reason
    # Whoever sends Nav2 a goal meanwhile does not move the robot either.
    other = RclpyActionClient(rig.node, NavigateToPose, "/porter/navigate_to_pose")
    rig.ros.spin_until(other.server_is_ready)
    theirs = NavigateToPose.Goal()
    theirs.pose.pose.position.x = 7.0
    theirs.pose.pose.position.y = 1.0
    status, _ = rig.finish(rig.send(other, theirs))
    assert status == GoalStatus.STATUS_CANCELED
    assert math.dist(rig.base.pose.position, stood.position) < 0.5
    release = rig.node.create_client(SetBool, "/porter/stop")
    rig.ros.wait_for_matched(release)
    assert rig.ros.result(release.call_async(SetBool.Request(data=False))).success
    rig.base.faults = {}
    assert rig.go(2.0, 1.0)[0] == GoalStatus.STATUS_SUCCEEDED


def test_a_robot_that_loses_its_position_stands_where_there_are_fences(ros):
    limits = {"area": "anywhere", "keep_out": [{"polygon": [[3, 4], [4, 4], [4, 5], [3, 5]]}]}
    rig = AdapterRig(ros, limits=json.dumps({"team": limits}), **{"navigation.lost_after": 0.3})
    rig.base.faults = {"navigate_to_pose": "slow"}
    skill = NavigateTo(position=(7.5, 1.0, 0.0))
    handle = rig.send(rig.drive, conversions.navigate_to_msg(skill))
    rig.ros.spin_until(lambda: rig.base.pose.position[0] > 1.1)
    rig.base.publishes_tf = False
    name, reason = outcome(rig.finish(handle)[1])
    assert name is Outcome.FAULT, reason
    assert reason.startswith("stopped on its way: nobody knows where the robot is")
    assert rig.base.pose.position[0] < 7.0


def test_stale_frames_are_named(rig):
    rig.base.publishes_tf = False
    rig.ros.spin_until(lambda: "stale" in rig.adapter._located_trouble())
    name, reason = outcome(rig.go(2.0, 1.0)[1])
    assert name is Outcome.FAULT and "stale" in reason
    assert math.isnan(rig.adapter._here().position[0])
