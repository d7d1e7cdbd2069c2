"""A robot's own driver: cancels are heard whatever blocks, and its end stops the robot."""

from __future__ import annotations

import signal
import sys
import textwrap
import threading

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from geometry_msgs.msg import Twist
from rclpy.action import ActionClient
from std_srvs.srv import Trigger

from coterie_msgs.action import NavigateTo
from coterie_msgs.msg import SkillResult
from coterie_ros.robot_driver import RobotDriver

pytestmark = pytest.mark.ros

PROGRAM = """
    import os, threading, time
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before rclpy counts them

    from coterie_ros.robot_driver import RobotDriver, run
    from geometry_msgs.msg import Twist

    class Driver(RobotDriver):
        def connect(self):
            self.out = self.create_publisher(Twist, "cmd_vel", 10)
            self.stopped = threading.Event()

        def stop(self):
            self.out.publish(Twist())
            print("stops", flush=True)
            self.stopped.set()

        def drive(self, x, y, yaw):
            print(f"drives to {x}", flush=True)
            if x < 0.0:
                raise SystemExit("a library ends the thread")
            if x == 0.0:
                while not os.path.exists(os.environ["LET_GO"]):  # one that even `stop` does not end
                    time.sleep(0.01)
            elif x > 1.0:
                self.wait(600.0)
            else:
                self.stopped.wait(600.0)  # a call of a library, which only `stop` ends
            print("is there", flush=True)

        def pose(self):
            if self.stopped.is_set() and os.environ.get("BREAKS"):
                raise RuntimeError("no pose any more")

    run(Driver)
"""


class Blocks(RobotDriver):
    """Its `drive` hears nothing until the test lets it go."""

    def connect(self):
        self.began, self.stops = [], 0
        self.may_return = threading.Event()

    def drive(self, x, y, yaw):
        self.began.append(x)
        if x < 3.0:
            self.may_return.wait(600.0)

    def stop(self):
        self.stops += 1


class Base:
    """Clients of a driver in this process or in another one."""

    def __init__(self, ros, driver=None):
        self.ros = ros
        self.driver = driver and ros.add(driver(namespace="/own", context=ros.context))
        self.node = ros.node()
        self.drive = ActionClient(self.node, NavigateTo, "/own/driver/navigate_to")
        ros.spin_until(self.drive.server_is_ready)

    def send(self, x):
        goal = NavigateTo.Goal()
        goal.pose.pose.position.x = x
        handle = self.ros.result(self.drive.send_goal_async(goal))
        return handle, handle.get_result_async()

    def end(self, future):
        told = self.ros.result(future).result.result
        return told.outcome, told.reason

    def cancel(self, handle):
        return len(self.ros.result(handle.cancel_goal_async()).goals_canceling)


@pytest.fixture
def process(ros, tmp_path):
    def start(**environment):
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(PROGRAM))
        environment["LET_GO"] = str(tmp_path / "let_go")
        command = [sys.executable, str(file), "--ros-args", "-r", "__ns:=/own"]
        driver = ros.start_process(command, environment)
        return driver, Base(ros)

    return start


@pytest.mark.parametrize("x", [1.0, 2.0])  # in a call of a library, in self.wait
def test_a_cancel_is_heard_on_one_cpu(ros, process, x):
    driver, base = process()
    handle, ended = base.send(x)
    ros.spin_until(lambda: f"drives to {x}" in driver.output)
    assert base.cancel(handle) == 1
    assert base.end(ended) == (SkillResult.CANCELLED, "cancelled")
    ros.spin_until(lambda: "stops" in driver.output)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_end_stops_the_robot_and_begins_nothing(ros, process, tmp_path, number):
    driver, base = process()
    heard = []
    zeros = base.node.create_subscription(Twist, "/own/cmd_vel", heard.append, 10)
    ros.spin_until(lambda: base.node.count_publishers("/own/cmd_vel"))
    base.send(0.0)
    ros.spin_until(lambda: "drives to 0.0" in driver.output)
    base.send(2.0)
    ros.spin_until(lambda: heard, what="the stop for the newer goal")
    told = len(heard)
    driver.send(number)
    ros.spin_until(lambda: len(heard) > told, what="the zero velocity at the end")
    (tmp_path / "let_go").touch()
    assert driver.wait() == 0, driver.output
    assert "drives to 2.0" not in driver.output
    assert zeros is not None


def test_a_callback_that_raises_stops_the_robot(ros, process):
    driver, base = process(BREAKS="1")
    handle, _ = base.send(2.0)
    ros.spin_until(lambda: "drives to 2.0" in driver.output)
    base.cancel(handle)
    assert driver.wait() == 1 and "no pose any more" in driver.output
    ros.spin_until(lambda: "stops" in driver.output)


def test_a_skill_that_ends_its_thread_leaves_the_driver_working(ros, process):
    _, base = process()
    assert base.end(base.send(-1.0)[1])[0] == SkillResult.FAULT
    assert base.end(base.send(1.0)[1])[0] == SkillResult.SUCCEEDED


def test_a_cancel_is_answered_while_drive_blocks_and_only_the_newest_goal_is_next(ros):
    base = Base(ros, Blocks)
    driver = base.driver
    first, first_ended = base.send(1.0)
    ros.spin_until(lambda: driver.began)
    assert base.cancel(first) == 1  # `drive` still blocks
    ros.spin_until(lambda: driver.stops)
    _, older = base.send(3.0)
    fourth, cancelled = base.send(4.0)
    assert base.end(older) == (SkillResult.CANCELLED, "a newer goal took its place")
    # One that waits is cancelled at once, and never begins.
    assert base.cancel(fourth) == 1
    assert base.end(cancelled) == (SkillResult.CANCELLED, "cancelled")
    _, newest = base.send(5.0)
    assert not first_ended.done()
    driver.may_return.set()
    # It returned as if all were well; the robot was stopped long before.
    assert base.end(first_ended) == (SkillResult.CANCELLED, "cancelled")
    assert base.end(newest)[0] == SkillResult.SUCCEEDED
    assert driver.began == [1.0, 5.0]


def test_the_cancel_of_a_goal_does_not_end_the_next_one(ros):
    class Waits(Blocks):
        def drive(self, x, y, yaw):
            self.began.append(x)
            self.wait_for(self.may_return.is_set, 600.0, "the test")

    base = Base(ros, Waits)
    first, ended = base.send(1.0)
    ros.spin_until(lambda: base.driver.began)
    _, newest = base.send(2.0)
    assert base.end(ended) == (SkillResult.CANCELLED, "a newer goal took its place")
    ros.spin_until(lambda: base.driver.began == [1.0, 2.0])
    base.cancel(first)  # late: it has ended
    base.driver.may_return.set()
    assert base.end(newest)[0] == SkillResult.SUCCEEDED


def test_stop_may_call_a_service_and_fail(ros):
    class Calls(Blocks):
        def connect(self):
            super().connect()
            self.wait(0.01)
            self.halt = self.create_client(Trigger, "halt")

        def drive(self, x, y, yaw):
            self.began.append(x)
            self.wait(600.0)

        def stop(self):
            super().stop()
            if self.may_return.is_set():
                return  # the test is over, and nobody spins
            assert self.call(self.halt, Trigger.Request(), timeout=60.0).success
            raise RuntimeError("as a library does")

    base, asked = Base(ros, Calls), []

    def halted(request, response):
        asked.append(base.driver.stops)
        response.success = True
        return response

    server = base.node.create_service(Trigger, "/own/halt", halted)
    for count in (1, 2):
        handle, ended = base.send(float(count))
        ros.spin_until(lambda n=count: len(base.driver.began) == n)
        before = len(asked)
        assert base.cancel(handle) == 1
        assert base.end(ended)[0] == SkillResult.CANCELLED
        assert len(asked) > before  # the result came after the robot's answer
    base.driver.may_return.set()
    assert server is not None
