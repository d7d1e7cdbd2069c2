"""The watchdog: it halts a robot whose adapter is silent, hears stops, and never lets go first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")

from action_msgs.msg import GoalStatus
from nav2_msgs.action import NavigateToPose
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Bool, Header, String
from std_srvs.srv import SetBool

from coterie_core.skills import NavigateTo, Outcome
from coterie_fixtures.adapter_rig import AdapterRig, outcome
from coterie_fixtures.nav2_base import Nav2Base
from coterie_ros import conversions
from coterie_ros.qos import profile
from robot_adapters.heartbeat import BEATS, HALTED, HEARTBEAT
from robot_adapters.node import AdapterNode
from robot_adapters.watchdog_node import RESTARTED, Watch, make_watchdog

pytestmark = pytest.mark.ros

COMMAND = [sys.executable, "-m", "robot_adapters.watchdog_node", "--robots", "porter"]


class Robot:
    """A base of Nav2 that follows a goal of somebody's, and an adapter that is nothing but topics.

    Args:
        ros: The test's corner of ROS.
    """

    def __init__(self, ros):
        self.ros = ros
        self.base = ros.add(Nav2Base(namespace="/porter", context=ros.context))
        self.base.faults["navigate_to_pose"] = "hang"
        self.node = ros.node("adapter", "/porter")
        self.beats = self.node.create_publisher(Header, HEARTBEAT, profile(BEATS))
        self.stopped = self.node.create_publisher(Bool, "stopped", profile("latched"))
        self.heard, self.passed_on = [], []
        self.node.create_subscription(String, HALTED, self.heard.append, 10)
        self.node.create_subscription(String, "stop", self.passed_on.append, 10)
        self._goals = ActionClient(self.node, NavigateToPose, "navigate_to_pose")
        ros.wait_active(self.base)
        ros.wait_for_matched(self._goals)

    def wait_for_watchdog(self):
        self.ros.wait_for_matched(self.beats, self.stopped)
        self.ros.spin_until(lambda: self.base.count_publishers("/porter/cmd_vel"))

    def drive(self):
        """Begin a drive; return the future of its end."""
        handle = self.ros.result(self._goals.send_goal_async(NavigateToPose.Goal()))
        return handle.get_result_async()

    def beat(self, end=lambda: False, timeout=0.5):
        """Beat until something has happened; tell whether it did."""
        until = time.monotonic() + timeout
        while not end() and time.monotonic() < until:
            self.beats.publish(Header())
            self.ros.spin(0.1)
        return end()


class Inside:
    """A watchdog that is run by a thread of the test's process."""

    def __init__(self, ros, **parameters):
        self.dog = make_watchdog(
            namespace="/porter", context=ros.context, parameters=parameters or None
        )
        self.watch = Watch(ros.context, [self.dog], 0)
        self._thread = threading.Thread(target=self.watch.run, daemon=True)
        self._thread.start()

    def close(self):
        self.dog._closing = (
            time.monotonic() - 60.0
        )  # nobody waits for servers of a test that is over
        self._thread.join(20.0)
        assert not self._thread.is_alive()
        self.dog.node.destroy_node()


@pytest.fixture
def inside(ros):
    made = []

    def make(**parameters):
        made.append(Inside(ros, **parameters))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_silent_adapter_has_its_robot_halted_until_it_is_back(ros, inside):
    robot = Robot(ros)
    inside()
    robot.wait_for_watchdog()
    end = robot.drive()
    ros.spin(1.5)  # nobody has been heard yet: it is not for the watchdog to judge
    assert not end.done() and not robot.base.velocities
    assert not robot.beat(end.done, timeout=2.0), "a beating adapter's robot was halted"
    assert ros.result(end).status == GoalStatus.STATUS_CANCELED
    assert robot.base.velocities and all(v.linear.x == 0.0 for v in robot.base.velocities)
    ros.spin_until(lambda: robot.heard, what="word of it")
    assert "silent for 1 s" in robot.heard[0].data
    again = robot.drive()
    assert ros.result(again).status == GoalStatus.STATUS_CANCELED, "it is still silent"
    ros.spin_until(lambda: robot.beat(timeout=0.3) or inside_alive(robot), what="a heartbeat")
    kept = robot.drive()
    assert not robot.beat(kept.done, timeout=1.5), "the adapter is back"
    assert len(robot.heard) == 1


def inside_alive(robot):
    """Whether the watchdog has stopped to send zero velocities."""
    before = len(robot.base.velocities)
    robot.beat(timeout=0.6)
    return len(robot.base.velocities) == before


def test_one_that_was_started_again_halts_a_robot_whose_adapter_is_silent(ros, inside, monkeypatch):
    """Both died within seconds of each other, and the robot drives on."""
    robot = Robot(ros)
    end = robot.drive()
    monkeypatch.setenv(RESTARTED, "1")
    inside()
    assert ros.result(end).status == GoalStatus.STATUS_CANCELED


def test_it_lets_go_of_a_robot_that_has_no_goal_and_stands(ros, inside):
    robot = Robot(ros)
    dog = inside().dog
    robot.wait_for_watchdog()
    robot.beat(lambda: dog.alive, timeout=30.0)
    ros.spin_until(lambda: robot.heard, what="a halt")
    ros.spin_until(lambda: dog._stands, what="the end of halting")
    end = robot.drive()  # a person takes over
    ros.spin(1.0)
    assert not end.done()


@pytest.mark.parametrize("reliability", ["BEST_EFFORT", "RELIABLE"])
@pytest.mark.parametrize("topic", ["/stop", "/porter/stop"])
def test_a_stop_halts_and_is_passed_on_until_the_adapter_answers(ros, inside, reliability, topic):
    robot = Robot(ros)
    dog = inside().dog
    robot.wait_for_watchdog()
    robot.stopped.publish(Bool(data=False))
    button = ros.node("button").create_publisher(
        String, topic, QoSProfile(depth=1, reliability=ReliabilityPolicy[reliability])
    )
    ros.spin_until(lambda: ros.executor and button.get_subscription_count() >= 1)
    end = robot.drive()
    assert not robot.beat(end.done)
    button.publish(String(data="button: pressed"))
    assert robot.beat(end.done, timeout=30.0) and not robot.heard
    # Goals of others do not live while nobody has said that the robot is stopped.
    assert robot.beat(robot.drive().done, timeout=30.0)
    told = "button: pressed"
    assert robot.beat(lambda: told in [m.data for m in robot.passed_on], timeout=30.0)
    robot.stopped.publish(Bool(data=False))  # as an adapter that begins again says
    assert robot.beat(robot.drive().done, timeout=30.0)
    robot.stopped.publish(Bool(data=True))
    assert robot.beat(lambda: dog._stopped, timeout=30.0)
    assert robot.beat(robot.drive().done, timeout=30.0), "it is stopped"
    robot.stopped.publish(Bool(data=False))
    assert robot.beat(lambda: not dog._stopped, timeout=30.0)
    assert not robot.beat(robot.drive().done, timeout=2.0), "it was released"


@pytest.fixture
def late(ros):
    """A robot and a watchdog that a busy machine lets read what came when `catch_up` is called."""
    robot = Robot(ros)
    given = {"silence": 60.0}  # looks come thick and fast here
    dog = make_watchdog(namespace="/porter", context=ros.context, parameters=given)
    executor = SingleThreadedExecutor(context=ros.context)
    executor.add_node(dog.node)

    def catch_up(over=lambda: False):
        ros.spin(0.3)  # all is there to be read
        for _ in range(60):
            executor.spin_once(timeout_sec=0.01)
            dog._looked = time.monotonic() - 0.2  # a look is due
            dog.look()
            if over():
                return

    robot.wait_for_watchdog()
    robot.beats.publish(Header())
    catch_up(lambda: dog.alive)
    yield robot, dog, catch_up
    executor.shutdown()
    dog.node.destroy_node()


def test_a_stop_that_was_released_before_it_is_read_is_not_passed_on(ros, late):
    robot, dog, catch_up = late
    button = ros.node("button").create_publisher(String, "/stop", profile("messages"))
    ros.wait_for_matched(button, count=2)
    button.publish(String(data="anna"))
    for value in (True, False):
        robot.stopped.publish(Bool(data=value))
    catch_up(lambda: dog._stops and dog._answered and not dog._stopped)
    catch_up()
    assert not dog._pending and not dog._stopped
    button.publish(String(data="anna"))  # the next one is one
    catch_up(lambda: dog._pending)
    assert dog._pending == "anna"


def test_what_begins_after_a_release_is_not_halted_by_who_has_not_read_of_it(ros, late):
    robot, dog, catch_up = late
    robot.stopped.publish(Bool(data=True))
    catch_up(lambda: dog._stopped)
    catch_up()
    robot.stopped.publish(Bool(data=False))
    end = robot.drive()
    robot.beats.publish(Header())
    dog._sent = 0.0  # a halt is due
    catch_up(lambda: not dog._stopped)
    ros.spin(1.0)
    assert not dog._stopped and not end.done()


def test_an_executor_that_fails_is_replaced(ros, inside):
    robot = Robot(ros)
    dog = inside().dog
    robot.wait_for_watchdog()
    failures = []

    def fail():
        failures.append(1)
        raise RuntimeError("as ordered")

    dog.node.create_timer(0.05, fail)
    end = robot.drive()
    robot.beat(lambda: dog.alive, timeout=30.0)
    assert ros.result(end).status == GoalStatus.STATUS_CANCELED
    assert len(failures) > 1


def test_a_loop_that_is_blocked_has_its_robot_halted_and_goes_on_with_nothing(ros, inside):
    rig = AdapterRig(ros)
    rig.base.faults["navigate_to_pose"] = "slow"
    dog = inside().dog
    ros.spin_until(lambda: dog.alive, what="a heartbeat")
    x = rig.base.pose.position[0]
    far = conversions.navigate_to_msg(NavigateTo(position=(7.0, 1.0, 0.0)))
    handle = rig.send(rig.drive, far)
    ros.spin_until(lambda: rig.base.pose.position[0] > x, what="a drive")
    blocked = threading.Event()
    rig.adapter.loop.call(blocked.wait, 60.0)

    def at_rest():
        before = rig.base.pose
        ros.spin(0.3)
        return rig.base.pose == before

    ros.spin_until(at_rest, what="a stand, while the loop is blocked")
    stood = rig.base.pose
    blocked.set()
    _, result = rig.finish(handle)
    ended, why = outcome(result)
    assert ended is Outcome.CANCELLED and "watchdog halted" in why, (ended, why)
    ros.spin(0.5)
    assert rig.base.pose == stood
    ros.spin_until(lambda: dog.alive and not dog._lost, what="a heartbeat")
    assert rig.go(2.0, 1.5)[0] == GoalStatus.STATUS_SUCCEEDED


def test_a_stop_and_a_release_are_the_adapters(ros, inside):
    rig = AdapterRig(ros)
    dog = inside().dog
    button = rig.node.create_client(SetBool, "/porter/stop")
    ros.wait_for_matched(button)
    ros.spin_until(lambda: dog.alive, what="a heartbeat")
    assert ros.result(button.call_async(SetBool.Request(data=True))).success
    ros.spin_until(lambda: dog._stopped, what="word of the stop")
    assert ros.result(button.call_async(SetBool.Request(data=False))).success
    ros.spin_until(lambda: not dog._stopped, what="word of the release")
    assert rig.go(2.0, 1.5)[0] == GoalStatus.STATUS_SUCCEEDED


def test_an_adapter_that_begins_after_a_stop_is_stopped(ros, inside):
    inside()
    button = ros.node("button").create_publisher(String, "/stop", 10)
    ros.spin_until(lambda: button.get_subscription_count() >= 1)
    button.publish(String(data="button: pressed"))
    ros.spin(0.2)
    adapter = ros.add(
        AdapterNode(
            namespace="/porter",
            context=ros.context,
            parameters={"permits": '{"team": {"otherwise": "allow"}}', "limits": "{}"},
        )
    )
    ros.wait_active(adapter)
    ros.spin_until(lambda: "button" in adapter.stops.refusal("porter"), what="the stop")


def test_told_to_end_it_waits_for_its_adapter_and_halts_then(ros):
    robot = Robot(ros)
    process = ros.start_process(COMMAND)
    robot.wait_for_watchdog()
    robot.beat(timeout=1.0)
    end = robot.drive()
    process.send(signal.SIGINT)
    assert not robot.beat(end.done, timeout=1.5) and process.exit_code is None
    assert ros.result(end).status == GoalStatus.STATUS_CANCELED, "the adapter has ended"
    ros.spin_until(lambda: process.exit_code is not None, what="its end")
    assert process.exit_code == 0, process.output


def test_beside_an_adapter_that_lives_it_ends_without_a_halt(ros):
    robot = Robot(ros)
    process = ros.start_process(COMMAND)
    robot.wait_for_watchdog()
    robot.beat(timeout=1.0)
    end = robot.drive()
    process.send(signal.SIGTERM)
    assert robot.beat(lambda: process.exit_code is not None, timeout=60.0)
    assert process.exit_code == 0 and not end.done()


def test_when_its_supervisor_is_killed_it_halts_and_ends(ros):
    robot = Robot(ros)
    supervisor = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, subprocess, sys; os.environ['COTERIE_PARENT'] = str(os.getpid());"
            "child = subprocess.Popen(sys.argv[1:]); print(child.pid, flush=True); child.wait()",
            *COMMAND,
        ],
        env={
            **os.environ,
            "ROS_DOMAIN_ID": str(ros.domain),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        child = int(supervisor.stdout.readline())
        robot.wait_for_watchdog()
        end = robot.drive()
        assert not robot.beat(end.done)
        supervisor.kill()
        supervisor.wait()
        assert robot.beat(end.done, timeout=30.0), "even beside an adapter that lives"
        ros.spin_until(lambda: not os.path.exists(f"/proc/{child}"), what="its end")
    finally:
        supervisor.kill()
        supervisor.wait()
