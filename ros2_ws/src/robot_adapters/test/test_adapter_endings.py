"""Whatever ends, the robot stands; what comes before a stop, or is not as it was, never begins."""

from __future__ import annotations

import asyncio
import time

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("coterie_msgs")

from action_msgs.srv import CancelGoal
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from nav2_msgs.action import NavigateToPose
from rclpy.action import ActionClient
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool

from coterie_core.skills import NavigateTo, Outcome
from coterie_fixtures.adapter_rig import AdapterRig, outcome
from coterie_fixtures.nav2_base import Nav2Base
from coterie_ros import conversions
from coterie_ros.qos import profile
from robot_adapters.node import AdapterNode

pytestmark = pytest.mark.ros

FAR = conversions.navigate_to_msg(NavigateTo(position=(7.0, 1.0, 0.0), tolerance=0.25))


def rig_of(ros, **parameters):
    rig = AdapterRig(ros, **parameters)
    rig.base.faults["navigate_to_pose"] = "slow"
    rig.change = rig.node.create_client(ChangeState, "/porter/adapter/change_state")
    rig.call = rig.node.create_client(SetBool, "/porter/stop")
    rig.stop = rig.node.create_publisher(String, "/stop", profile("messages"))
    rig.stopped: list[bool] = []
    rig.node.create_subscription(
        Bool, "/porter/stopped", lambda m: rig.stopped.append(m.data), profile("latched")
    )
    ros.wait_for_matched(rig.change, rig.call, rig.stop)
    return rig


def drive(rig):
    """Send the robot far away; return the goal once the robot drives."""
    before = rig.base.pose.position[0]
    handle = rig.send(rig.drive, FAR)
    rig.ros.spin_until(lambda: rig.base.pose.position[0] > before + 0.05, what="the robot to drive")
    return handle


def stands(rig) -> bool:
    """Whether the base works on no goal."""
    return not any(one.busy for one in rig.base.servers.values())


def shift(rig, number):
    request = ChangeState.Request(transition=Transition(id=number))
    return rig.ros.result(rig.change.call_async(request)).success


def test_a_deactivated_adapter_leaves_nothing_moving_and_works_again(ros):
    rig = rig_of(ros)
    for _ in range(3):
        handle = drive(rig)
        assert shift(rig, Transition.TRANSITION_DEACTIVATE)
        assert stands(rig) and rig.adapter.state_label == "inactive"
        result = rig.finish(handle)[1]
        assert outcome(result)[0] is Outcome.CANCELLED
        rig.base.pose = type(rig.base.pose)((1.0, 1.0, 0.0))
        assert shift(rig, Transition.TRANSITION_ACTIVATE)
        ros.spin_until(lambda: rig.adapter.navigation.ready() == "")
    drive(rig)


def test_a_loop_that_is_blocked_keeps_no_deactivation_from_halting(ros):
    rig = rig_of(ros)
    drive(rig)
    rig.adapter.loop.call(time.sleep, 6.0)
    done = rig.change.call_async(
        ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE))
    )
    ros.spin_until(lambda: stands(rig), what="the base to stand")
    assert rig.base.pose.position[0] < 6.0  # and not because it has arrived
    assert ros.result(done).success


def test_what_is_found_under_way_is_cancelled_before_goals_are_taken(ros):
    base = ros.add(Nav2Base(namespace="/porter", context=ros.context))
    base.faults["navigate_to_pose"] = "slow"
    other = ActionClient(ros.node("other"), NavigateToPose, "/porter/navigate_to_pose")
    ros.spin_until(other.server_is_ready)
    goal = NavigateToPose.Goal()
    goal.pose.pose.position.x, goal.pose.pose.position.y = 7.0, 1.0
    handle = ros.result(other.send_goal_async(goal))
    ros.spin_until(lambda: base.pose.position[0] > 1.05)
    given = {"limits": '{"team": {"area": "anywhere"}}', "permits": '{"team": {}}'}
    ros.add(AdapterNode(namespace="/porter", context=ros.context, parameters=given))
    assert ros.result(handle.get_result_async()).status == 5  # CANCELED
    assert base.pose.position[0] < 6.0


@pytest.mark.parametrize("backend", ["navigation", "halts"])
def test_a_halt_that_fails_ends_neither_stops_nor_the_goal(ros, backend):
    rig = rig_of(ros)
    handle = drive(rig)

    def fail():
        raise RuntimeError("a driver's library")

    if backend == "navigation":
        rig.adapter.navigation.halt = fail
    else:  # the first way is gone altogether; the second one shares nothing with it
        rig.adapter._halts[0].send = fail
    rig.stop.publish(String(data="anna: a child"))
    assert outcome(rig.finish(handle)[1])[0] is Outcome.CANCELLED
    ros.spin_until(lambda: stands(rig) and rig.stopped[-1:] == [True])
    assert ros.result(rig.call.call_async(SetBool.Request(data=False))).message == "released"
    ros.spin_until(lambda: rig.stopped[-1] is False)


def test_a_dead_thread_of_stops_is_no_way_out_of_a_stop(ros):
    rig = rig_of(ros)
    drive(rig)
    urgent = rig.adapter.urgent
    urgent.post(urgent._ended.set)
    ros.spin_until(lambda: not urgent.alive)
    rig.stop.publish(String(data="anna"))
    ros.spin_until(lambda: stands(rig) and rig.stopped[-1:] == [True], what="the stop")


def test_a_button_that_sends_best_effort_is_heard(ros):
    rig = rig_of(ros)
    drive(rig)
    button = rig.node.create_publisher(String, "/porter/stop", profile("sensor_data"))
    ros.wait_for_matched(button)
    button.publish(String(data="button"))
    ros.spin_until(lambda: stands(rig) and rig.stopped[-1:] == [True], what="the stop")


def test_a_goal_from_before_a_stop_does_not_begin_after_its_release(ros):
    rig = rig_of(ros)
    released = []

    def blocked():
        while not released:
            time.sleep(0.01)

    rig.adapter.loop.call(blocked)
    handle = rig.send(rig.drive, FAR)
    rig.stop.publish(String(data="anna"))
    ros.spin_until(lambda: rig.stopped[-1:] == [True])
    call = rig.call.call_async(SetBool.Request(data=False))
    ros.spin_until(lambda: rig.stopped[-1] is False)
    released.append(True)
    what, why = outcome(rig.finish(handle)[1])
    assert what is Outcome.REFUSED and "stopped after this goal was sent" in why
    assert not rig.base.goals.get("navigate_to_pose")
    assert ros.result(call).message == "released"
    drive(rig)  # what is sent after the release begins


def test_a_server_that_was_started_again_is_asked_again(ros):
    rig = rig_of(ros)
    name = "wait/_action/cancel_goal"
    hung = ros.node("hung", "/porter")
    hung.create_service(CancelGoal, name, lambda _, answer: answer).send_response = lambda *_: None
    halts = rig.adapter._halts
    ros.spin_until(lambda: all(s.there for h in halts for s in h._servers if s.name == "wait"))
    rig.stop.publish(String(data="anna"))
    ros.spin_until(lambda: rig.stopped[-1:] == [True])
    ros.result(rig.call.call_async(SetBool.Request(data=False)))
    assert outcome(rig.finish(rig.send(rig.drive, FAR))[1])[0] is Outcome.FAULT
    ros.remove(hung)
    ros.spin_until(lambda: not any(h.unanswered for h in halts), what="the server to be gone")
    ros.spin_until(
        lambda: all(time.monotonic() > server.until for one in halts for server in one._servers)
    )
    again = ros.node("again", "/porter")
    again.create_service(CancelGoal, name, lambda _, answer: answer)
    ros.spin_until(lambda: any(h.unanswered == ("wait",) for h in halts), what="the server")
    drive(rig)


def test_a_goal_is_checked_again_when_its_turn_comes(ros):
    rig = rig_of(ros, **{"battery.low": 0.2, "sensors.battery": "battery_state"})
    drive(rig)
    settled, low = rig.adapter.jobs._settled, []

    async def settled_late():
        rig.base.say_battery(0.03, 2)
        while not rig.adapter.battery.trouble:
            await asyncio.sleep(0.01)
        low.append(True)
        await settled()

    rig.adapter.jobs._settled = settled_late
    what, why = outcome(rig.finish(rig.send(rig.drive, FAR))[1])
    assert low and what is Outcome.REFUSED and "battery" in why
    assert len(rig.base.goals["navigate_to_pose"]) == 1


def test_who_released_is_in_the_log(ros, tmp_path):
    from coterie_safety.ledger import entries

    rig = rig_of(ros, log_directory=str(tmp_path))
    rig.stop.publish(String(data="anna@desk: a child"))
    ros.spin_until(lambda: rig.stopped[-1:] == [True])
    who = rig.node.create_publisher(String, "/porter/released_by", profile("messages"))
    ros.wait_for_matched(who)
    who.publish(String(data="bert@desk"))
    ros.spin_until(lambda: rig.adapter.stops._named)
    ros.result(rig.call.call_async(SetBool.Request(data=False)))
    ros.spin_until(lambda: any(e.kind == "release" for e in entries(tmp_path)))
    assert [e.body["by"] for e in entries(tmp_path) if e.kind == "release"] == ["bert@desk"]
