"""An arm that is moved by trajectories: only what its own joints say tells where it is."""

from __future__ import annotations

import asyncio
import math
from types import SimpleNamespace

import pytest

pytest.importorskip("control_msgs")
pytest.importorskip("coterie_msgs")

from sensor_msgs.msg import JointState

from coterie_core.skills import Outcome
from coterie_fixtures.arm_servers import ARM_URDF
from robot_adapters.backends import trajectory
from robot_adapters.backends.goals import Ended
from robot_adapters.kinematics import arm_of_urdf
from robot_adapters.settings_motion import ArmSettings

POINT = (0.5, 0.2, 0.6)


class Stand:
    """A mover with a clock and joint states that tests set; its controller takes what comes."""

    def __init__(self, monkeypatch):
        self.time, self.sent, self.hear = 100.0, [], None
        monkeypatch.setattr(trajectory, "RobotAction", lambda *args: self)
        self.there, self.name = True, "controller"
        self.arm = arm_of_urdf(ARM_URDF, "base_link")
        node = SimpleNamespace(now=lambda: self.time, subscribe=self.subscribe)
        self.mover = trajectory.TrajectoryMover(node, ArmSettings(), self.arm)

    def subscribe(self, message_type, topic, qos, callback):
        self.hear = callback

    def say(self, **positions):
        self.hear(JointState(name=list(positions), position=list(positions.values())))

    async def run(self, goal, *, timeout):
        self.sent.append(goal)
        return SimpleNamespace(succeeded=True, result=SimpleNamespace(error_code=0))

    def move(self):
        asyncio.run(self.mover.move(POINT, None))


def test_joints_that_were_silent_are_stale_whoever_else_speaks(monkeypatch):
    stand = Stand(monkeypatch)
    stand.say(**dict.fromkeys(stand.arm.names, 0.1))
    stand.move()
    assert len(stand.sent) == 1
    stand.time += 600.0
    stand.say(wheel_left=1.0, wheel_right=2.0)
    stand.say(**dict.fromkeys(stand.arm.names[1:], 0.1))
    with pytest.raises(Ended, match=r"nothing came of 'pan' for 600\.0 s") as ended:
        stand.move()
    assert ended.value.result.outcome is Outcome.FAULT and len(stand.sent) == 1
    stand.say(pan=0.1)
    stand.move()
    assert len(stand.sent) == 2


def test_a_joint_that_does_not_know_its_position_says_nothing(monkeypatch):
    stand = Stand(monkeypatch)
    stand.say(**dict.fromkeys(stand.arm.names, math.nan))
    assert "does not tell the joint 'pan'" in stand.mover.ready()
    stand.say(**dict.fromkeys(stand.arm.names, 0.1))
    stand.time += 5.0
    stand.say(**{**dict.fromkeys(stand.arm.names, 0.1), "lift": math.nan})
    with pytest.raises(Ended, match=r"nothing came of 'lift' for 5\.0 s"):
        stand.move()
