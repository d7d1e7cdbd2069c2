"""A stop that is pressed while a robot of the lab does anything: it stands until released."""

from __future__ import annotations

import json
import math

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("moveit_msgs")

from action_msgs.msg import GoalStatus, GoalStatusArray
from std_srvs.srv import SetBool, Trigger

from coterie_core.skills import MoveArmTo, NavigateTo, Outcome, Pick, Target
from coterie_fixtures.lab_rig import TEAM, LabRig
from coterie_ros.qos import profile
from coterie_safety.permits import make_key, public_half

pytestmark = [pytest.mark.ros, pytest.mark.slow]

FAR = NavigateTo(position=(6.0, 2.3, 0.0))
REACH = MoveArmTo((0.6, 1.5, 1.1))
GRASP = Pick(Target("mug", (0.5, 1.2, 0.95)))
DOCKING = TEAM.replace("timeout: 30}", "timeout: 30, dock: home}")
ASKING = json.dumps({"team": {"rules": [{"skills": ["move_arm_to"], "answer": "ask"}]}})
ENDS = (Outcome.CANCELLED, Outcome.REFUSED)


class Button:
    """The stop button of a robot, and what may be seen before and after it is pressed."""

    def __init__(self, rig: LabRig) -> None:
        self.rig = rig
        self._client = rig.node.create_client(SetBool, "/slim/stop")
        rig.ros.wait_for_matched(self._client)
        self._goals: dict[str, list[list[int]]] = {}
        for action in ("gripper_controller/gripper_cmd", "spin", "dock_robot"):
            book = self._goals.setdefault(action, [])
            status = rig.node.create_subscription(
                GoalStatusArray,
                f"/slim/{action}/_action/status",
                lambda message, book=book: book.append([s.status for s in message.status_list]),
                profile("latched"),
            )
            rig.ros.wait_for_matched(status)

    def press(self, stopped: bool) -> None:
        answer = self.rig.ros.result(self._client.call_async(SetBool.Request(data=stopped)))
        assert answer.success, answer.message

    def wait_for(self, action: str, count: int) -> None:
        """Wait until one of the robot's own servers is at its `count`-th goal of this test."""
        book = self._goals[action]

        def at_it() -> bool:
            now = book[-1] if book else []
            return len(now) >= count and GoalStatus.STATUS_EXECUTING in now

        self.rig.ros.spin_until(at_it, what=f"goal {count} of {action}")

    def goals(self, action: str) -> int:
        """Return how many goals a server has told of."""
        return max((len(entry) for entry in self._goals[action]), default=0)

    def posture(self) -> tuple:
        """Return base, joints and how far the hand is open."""
        gap = self.rig.lab.plant.manipulators["slim"].grip.gap
        return (*self.rig.posture(), gap)

    def still(self) -> bool:
        before = self.posture()
        self.rig.ros.spin(0.2)
        return self.posture() == before

    def holds(self, refused) -> None:
        """Show that the robot stands, takes nothing, and that a release alone moves nothing."""
        self.rig.ros.spin(0.3)  # what was under way when it was pressed has ended
        assert self.still()
        refused()
        assert self.still()
        self.press(False)
        self.rig.ros.spin(0.3)
        assert self.still(), "a release alone moves nothing"

    def refuses(self, skill) -> None:
        refused = self.rig.end(skill)
        assert refused.outcome is Outcome.REFUSED and "stopped" in refused.reason, refused


def test_a_stop_at_any_moment_of_a_drive_or_a_reach_holds_until_it_is_released(ros):
    rig = LabRig(ros, pace=2.0)
    rig.wait_ready()
    button = Button(rig)
    for skill, moment in ((REACH, 0.3), (REACH, 1.0), (FAR, 0.2), (FAR, 1.5)):
        _, result = rig.send(skill)
        rig.wait(moment)
        button.press(True)
        ended = rig.result(result)
        assert ended.outcome in ENDS, (skill, moment, ended)
        button.holds(lambda skill=skill: button.refuses(skill))
    done = rig.end(FAR)
    assert done.ok, done


def test_a_stop_holds_within_a_grasp_a_turn_on_arrival_and_docking(ros):
    rig = LabRig(ros, DOCKING, pace=2.0)
    rig.wait_ready()
    button = Button(rig)

    # The hand opens first: the second goal closes it around the mug.
    before = button.goals("gripper_controller/gripper_cmd")
    _, result = rig.send(GRASP)
    button.wait_for("gripper_controller/gripper_cmd", before + 2)
    button.press(True)
    ended = rig.result(result)
    assert ended.outcome in ENDS, ended
    button.holds(lambda: button.refuses(GRASP))
    assert rig.world.state("slim").holding == ""

    # The drive has got there, and the robot turns to look around.
    goal = NavigateTo(position=(2.2, 1.8, 0.0))
    before = button.goals("spin")
    _, result = rig.send(goal)
    button.wait_for("spin", before + 1)
    assert math.dist(rig.world.state("slim").pose.position, goal.position) < 0.4
    yaw = rig.world.state("slim").pose.yaw
    ros.spin_until(lambda: rig.world.state("slim").pose.yaw != yaw, what="a turn")
    button.press(True)
    ended = rig.result(result)
    assert ended.outcome in ENDS, ended
    button.holds(lambda: button.refuses(goal))

    # On its way to the dock.
    asked = rig.node.create_client(Trigger, "/slim/dock")
    ros.wait_for_matched(asked)
    at = rig.world.state("slim").pose.position
    answer = asked.call_async(Trigger.Request())
    button.wait_for("dock_robot", 1)
    ros.spin_until(lambda: rig.world.state("slim").pose.position != at, what="a drive")
    button.press(True)
    answered = ros.result(answer)
    assert not answered.success and "stopped" in answered.message, answered

    def refused():
        again = ros.result(asked.call_async(Trigger.Request()))
        assert not again.success and "stopped" in again.message, again

    button.holds(refused)
    assert rig.end(NavigateTo(position=(1.15, 1.3, 0.0), yaw=0.0)).ok
    picked = rig.end(GRASP)
    assert picked.ok, picked


def test_a_stop_ends_what_waits_for_a_permit(ros, tmp_path):
    rig = LabRig(
        ros,
        pace=2.0,
        permits=ASKING,
        permit_key=str(public_half(make_key(tmp_path / "permits.key"))),
        log_directory=str(tmp_path / "log"),
    )
    rig.wait_ready()
    button = Button(rig)
    heard = rig._act["slim"].feedback
    _, result = rig.send(REACH)
    ros.spin_until(lambda: any(m.feedback.waiting_for for m in heard), what="word that it waits")
    before = button.posture()
    button.press(True)
    ended = rig.result(result)
    assert ended.outcome in ENDS and "stopped" in ended.reason, ended
    button.holds(lambda: button.refuses(REACH))
    assert button.posture() == before, "it never began"
    asked = rig.adapters["slim"].gate.waiting
    assert not asked, asked
