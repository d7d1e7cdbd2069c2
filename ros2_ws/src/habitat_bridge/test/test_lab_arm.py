"""Arms of descriptions: forward and inverse kinematics, hands and their fingers."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from habitat_bridge.lab.arm import NoSolution, arm_of
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.urdf import urdf_of


def described(name):
    return (resources.files("coterie_description") / "urdf" / f"{name}.urdf").read_text("utf-8")


@pytest.mark.parametrize("name", ["fetch", "stretch", "spot"])
def test_an_arm_reaches_where_its_own_postures_are(name):
    arm = arm_of(described(name))
    assert arm is not None and len(arm.joints) >= 3
    rng = np.random.default_rng(5)
    for _ in range(4):
        values = {
            j.name: float(rng.uniform(max(j.lower, -2.0), min(j.upper, 2.0))) for j in arm.joints
        }
        point = arm.hand(values)[:3, 3]
        found = arm.solve(tuple(point.tolist()), None, arm.rest())
        assert arm.hand(found)[:3, 3] == pytest.approx(point, abs=0.004)
        for joint in arm.joints:
            assert joint.lower - 1e-9 <= found[joint.name] <= joint.upper + 1e-9


def test_a_hand_of_six_joints_takes_the_attitude_asked_for():
    arm = arm_of(described("fetch"))
    values = {j.name: 0.3 for j in arm.joints}
    pose = arm.hand(values)
    found = arm.solve(tuple(pose[:3, 3].tolist()), pose[:3, :3], arm.rest())
    assert arm.hand(found)[:3, :3] == pytest.approx(pose[:3, :3], abs=0.08)


def test_presets_reach_their_cylinder_and_not_beyond():
    body = EMBODIMENTS["wheels"]
    arm = arm_of(urdf_of("r", body))
    assert arm.tip == "hand_link" and arm.fingers == ("finger_link_joint",)
    assert arm.opening == pytest.approx(0.2)
    found = arm.solve((-0.3, 0.6, 1.0), None, arm.rest())
    assert arm.hand(found)[:3, 3] == pytest.approx((-0.3, 0.6, 1.0), abs=0.004)
    with pytest.raises(NoSolution, match="comes within"):
        arm.solve((2.0, 0.0, 1.0), None, arm.rest())


def test_a_robot_without_an_arm_has_none():
    assert arm_of(urdf_of("r", EMBODIMENTS["air"])) is None
    assert arm_of(described("m100")) is None
