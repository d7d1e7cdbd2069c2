"""Whatever ends, the robot stands: real adapters and watchdogs, run by a real supervisor.

Three robots are busy at once, each with one thing: `nav` drives by Nav2 and has an arm by
trajectories, `vel` drives by velocities and has MoveIt, `own` has a node of its own for both. Each
event strikes them all, several times; they take turns at what they do:

| event | limit [s] | nav | vel | own |
|---|---|---|---|---|
| SIGINT | 2 | drive | reach | wait |
| SIGTERM | 2 | reach | wait | drive |
| SIGKILL | 5 | wait, drive | drive, reach | reach, wait |
| deactivate, cleanup after it | 2 | drive, reach, wait | reach, wait, drive | wait, drive, reach |
| loop blocked for 5 s | 2 | drive, reach, wait | reach, wait, drive | wait, drive, reach |
| exception in a callback of the executor | 5 | drive | reach | wait |
| exception in each halt of the adapter, at a stop | 2 | reach, wait | wait, drive | drive, reach |
| server accepts late | 2 | drive, reach | reach | drive, reach |
| supervisor killed | 5 | reach | drive | drive |
| supervisor told to end | 2 | drive | reach | drive |

`wait` is waiting for a person's permit. Limits are of the robot's own time: the ticks in which it
moves, which are late on a busy machine as all else is.
"""

from __future__ import annotations

import os
import signal
import sys

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("moveit_msgs")

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from std_msgs.msg import Header, String
from std_srvs.srv import SetBool

from coterie_bringup.supervisor import alive
from coterie_core.skills import MoveArmTo, NavigateTo, Outcome, Pick, Target
from coterie_fixtures.arm_servers import ARM_URDF
from coterie_fixtures.lab_clients import ActionUser
from coterie_fixtures.moving_robots import DrivenBase, OwnNode, SlowArm, VelocityBase
from coterie_fixtures.ros_harness import RosHarness, take_domain
from coterie_msgs.action import Manipulate
from coterie_msgs.action import NavigateTo as NavigateToAction
from coterie_ros import conversions
from coterie_ros.qos import profile

pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(600)]

TEAM = """
name: endings
world: {kind: real}
limits: {area: anywhere, unknown_mass: allow}
permits: {rules: [{skills: [pick], answer: ask}], otherwise: allow}
robots:
  - name: nav
    urdf: arm.urdf
    overrides: wheels.yaml
    adapter:
      navigation: {look_on_arrival: false, server_timeout: 1.5}
      arm: {backend: trajectory, velocity: 0.05, server_timeout: 1.5}
      sensors: {settle: 0.05}
      frames: {tf: tf}
  - name: vel
    embodiment: slim
    adapter:
      navigation: {backend: velocity, obstacles: none, look_on_arrival: false}
      arm: {backend: moveit, tip: palm, server_timeout: 1.5}
      sensors: {settle: 0.05}
      frames: {tf: tf}
  - name: own
    embodiment: slim
    adapter:
      navigation: {backend: skills, look_on_arrival: false, server_timeout: 1.5}
      arm: {backend: skills, server_timeout: 1.5}
      sensors: {settle: 0.05}
      frames: {tf: tf}
"""
NAMES = ("nav", "vel", "own")
DOES = ("drive", "reach", "wait")
QUICK, KILLED = 2.0, 5.0


class Robot:
    """One of the robots, and who sends it.

    Args:
        ros: The test's corner of ROS.
        name: Its name.
    """

    def __init__(self, ros, name):
        self.ros, self.name, self.handle, self.result, self.heard = ros, name, None, None, 0
        options = {"namespace": f"/{name}", "context": ros.context}
        kind = {"nav": DrivenBase, "vel": VelocityBase, "own": OwnNode}[name]
        self.base = ros.add(kind(tf="tf", **options))
        self.parts = [self.base]
        if name != "own":
            self.parts.append(ros.add(SlowArm(**options)))
        node = self.node = ros.node("client", f"/{name}")
        self.order = node.create_publisher(String, "order", 10)
        self.state = node.create_client(ChangeState, "adapter/change_state")
        self.stop = node.create_client(SetBool, "stop")
        node.create_subscription(Header, "heartbeat", self._beat, profile("sensor_data"))
        self.drive = self.act = None

    def connect(self):
        """Wait for the adapter: six processes begin at once."""
        heard = self.heard
        self.ros.spin_until(lambda: self.heard > heard, timeout=300.0, what="a heartbeat")
        self.drive = ActionUser(self.ros, self.node, NavigateToAction, "navigate_to")
        self.act = ActionUser(self.ros, self.node, Manipulate, "manipulate")
        self.ros.wait_for_matched(self.order, self.state, self.stop)

    def _beat(self, message):
        self.heard += 1

    @property
    def moved(self):
        """For how long it has moved [s], by its own ticks."""
        return sum(part.moved for part in self.parts)

    @property
    def begun(self):
        return sum(part.begun for part in self.parts)

    def set_late(self, late):
        for part in self.parts:
            part.late = late

    def send(self, does):
        """Send a goal; tell whether it was accepted."""
        x, y, _ = self.base.pose.position
        if does == "drive":
            goal = NavigateTo(position=(7.0 if x < 4.0 else 1.5, 1.0, 0.0))
            user, message = self.drive, conversions.navigate_to_msg(goal)
        else:
            near = (x + 0.5, y + 0.1, 0.6)
            skill = Pick(Target("cup", near)) if does == "wait" else MoveArmTo(near)
            user, message = self.act, conversions.manipulate_to_msg(skill)
            user.feedback.clear()
        sent = user.client.send_goal_async(message, feedback_callback=user.feedback.append)
        self.ros.spin_until(lambda: sent.done() or not user.client.server_is_ready())
        if not sent.done() or not sent.result().accepted:
            return False
        self.handle = sent.result()
        self.result = self.handle.get_result_async()
        return True

    def engage(self, does):
        """Have it do something, however often it refuses while it starts."""
        why = []

        def busy():
            moved = self.moved
            if not self.send(does):
                self.ros.spin(0.2)
                return False

            def is_at_it():
                if does == "wait":
                    return any(m.feedback.waiting_for for m in self.act.feedback)
                return self.moved > moved + 0.2

            self.ros.spin_until(lambda: is_at_it() or self.result.done(), what=f"{does} {why}")
            if self.result.done():
                why.append(self.result.result().result.result.reason)
                self.ros.spin(0.2)
            return is_at_it() and not self.result.done()

        for _ in range(30):
            if busy():
                return
        pytest.fail(f"{self.name} does not {does}: {why[-1]}")

    def change(self, transition):
        return self.state.call_async(ChangeState.Request(transition=Transition(id=transition)))


class Team:
    """The robots, and the processes that drive them."""

    def __init__(self, ros, folder):
        self.ros, self.folder = ros, folder
        (folder / "arm.urdf").write_text(ARM_URDF)
        (folder / "wheels.yaml").write_text("mobility: {kind: wheels, linear_speed: 1.0}")
        (folder / "team.yaml").write_text(TEAM)
        self.robots = [Robot(ros, name) for name in NAMES]
        self.start()

    def start(self):
        file, state = str(self.folder / "team.yaml"), str(self.folder / "state")
        self.process = self.ros.start_process(
            [sys.executable, "-m", "coterie_fixtures.adapter_team", file, str(self.folder)],
            {"COTERIE_STATE": state},
        )
        for robot in self.robots:
            robot.connect()

    def pid(self, program):
        """Return the process of a program: the last one that was started."""
        found = ""

        def look():
            nonlocal found
            for line in list(self.process.lines):
                words = line.split()
                if words[:3] == ["event", "started", program]:
                    found = words[-1]
            return found

        self.ros.spin_until(look, what=f"the process of {program}")
        return int(found)

    def pids(self):
        return [self.pid(f"{kind}.{name}") for kind in ("adapter", "watchdog") for name in NAMES]

    def busy(self, turn, waiting=True):
        """Have each robot do something else; what depends on the turn."""
        for k, robot in enumerate(self.robots):
            does = DOES[(k + turn) % 3]
            robot.engage(does if waiting or does != "wait" else "drive")

    def strike(self, event, limit):
        """Let something happen to all of them; they stand soon, and nothing begins afterwards."""
        before = {robot.name: (robot.moved, robot.begun) for robot in self.robots}
        for robot in self.robots:
            event(robot)
        self.stand(before, limit)
        return before

    def stand(self, before, limit, late=0):
        """Wait until all stand; none has moved for too long, and begun more than `late` motions."""

        def still():
            moved = [robot.moved for robot in self.robots]
            self.ros.spin(0.5)
            return moved == [robot.moved for robot in self.robots]

        self.ros.spin_until(still, what="a stand of all")
        took = {r.name: round(r.moved - before[r.name][0], 2) for r in self.robots}
        assert all(one <= limit for one in took.values()), (took, self.process.output[-3000:])
        begun = {r.name: r.begun - before[r.name][1] for r in self.robots}
        assert all(one <= late for one in begun.values()), begun

    def nothing_begins(self):
        """Wait until the adapters are back; nothing begins by itself."""
        begun = [(robot.begun, robot.moved) for robot in self.robots]
        heard = [robot.heard + 10 for robot in self.robots]
        self.ros.spin_until(
            lambda: all(r.heard >= h for r, h in zip(self.robots, heard, strict=True)),
            timeout=300.0,
            what="heartbeats",
        )
        self.ros.spin(0.5)
        assert [(robot.begun, robot.moved) for robot in self.robots] == begun


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    """All share one team: six processes take long to begin."""
    domain, lock = take_domain()
    harness = RosHarness(domain)
    try:
        yield Team(harness, tmp_path_factory.mktemp("endings"))
    finally:
        harness.close()
        lock.close()


@pytest.mark.parametrize(
    ("number", "turn", "limit"),
    [
        (signal.SIGINT, 0, QUICK),
        (signal.SIGTERM, 1, QUICK),
        (signal.SIGKILL, 2, KILLED),
        (signal.SIGKILL, 0, KILLED),
    ],
)
def test_an_adapter_that_gets_a_signal(team, number, turn, limit):
    team.busy(turn)
    pids = {name: team.pid(f"adapter.{name}") for name in NAMES}
    team.strike(lambda robot: os.kill(pids[robot.name], number), limit)
    team.nothing_begins()


@pytest.mark.parametrize("turn", range(3))
def test_an_adapter_that_is_deactivated_and_cleaned_up(team, turn):
    team.busy(turn)
    answers = []
    before = team.strike(
        lambda robot: answers.append(robot.change(Transition.TRANSITION_DEACTIVATE)), QUICK
    )
    for step in (
        Transition.TRANSITION_CLEANUP,
        Transition.TRANSITION_CONFIGURE,
        Transition.TRANSITION_ACTIVATE,
    ):
        assert all(team.ros.result(answer).success for answer in answers)
        team.stand(before, QUICK)
        answers = [robot.change(step) for robot in team.robots]
    assert all(team.ros.result(answer).success for answer in answers)
    team.nothing_begins()


@pytest.mark.parametrize("turn", range(3))
def test_an_adapter_whose_loop_is_blocked(team, turn):
    team.busy(turn)
    team.strike(lambda robot: robot.order.publish(String(data="block")), QUICK)
    team.nothing_begins()


@pytest.mark.parametrize("turn", [1, 2])
def test_a_stop_while_all_halts_of_the_adapter_fail(team, turn):
    for robot in team.robots:
        robot.order.publish(String(data="halts fail"))
    team.busy(turn)
    asked = []
    team.strike(
        lambda robot: asked.append(robot.stop.call_async(SetBool.Request(data=True))), QUICK
    )
    team.nothing_begins()
    for robot in team.robots:
        assert team.ros.result(robot.stop.call_async(SetBool.Request(data=False))).success
    team.nothing_begins()


def test_an_exception_in_a_callback_of_the_executor(team):
    team.busy(0)
    team.strike(lambda robot: robot.order.publish(String(data="raise")), KILLED)
    team.nothing_begins()


@pytest.mark.parametrize("does", ["drive", "reach"])
def test_a_goal_that_a_server_accepts_when_nobody_waits_for_it_any_more(team, does):
    for robot in team.robots:
        if robot.name == "vel" and does == "drive":
            continue  # by velocities: no server is asked
        robot.engage(does)  # all is loaded and connected
        team.ros.result(robot.handle.cancel_goal_async())
        team.ros.result(robot.result)
        robot.set_late(3.0)
        moved = robot.moved
        team.ros.spin_until(lambda: robot.send(does), what="a goal")  # noqa: B023
        ended = team.ros.result(robot.result, 120.0).result.result
        assert Outcome(ended.outcome) is Outcome.FAULT, ended
        robot.set_late(0.0)
        team.stand({r.name: (r.moved, r.begun) for r in team.robots}, QUICK, late=1)
        assert robot.moved - moved <= QUICK
    team.nothing_begins()


@pytest.mark.parametrize(
    ("number", "turn", "limit"), [(signal.SIGKILL, 1, KILLED), (signal.SIGINT, 0, QUICK)]
)
def test_the_supervisor_ends(team, number, turn, limit):
    if team.process.exit_code is not None:
        team.start()
        team.nothing_begins()
    team.busy(turn, waiting=False)
    pids = team.pids()
    before = {robot.name: (robot.moved, robot.begun) for robot in team.robots}
    team.process.send(number)
    team.stand(before, limit)
    team.ros.spin_until(lambda: not any(alive(pid) for pid in pids), what="the ends of all")
    team.ros.spin(1.0)
    team.stand(before, limit)
