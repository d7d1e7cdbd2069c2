"""Arms of descriptions: forward and inverse kinematics, hands and their fingers."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from coterie_core.kinematics.arm import OutOfReach
from coterie_core.urdf.tree import tree_of
from habitat_bridge.lab.arm import lab_arm
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.urdf import urdf_of


def described(name):
    return (resources.files("coterie_description") / "urdf" / f"{name}.urdf").read_text("utf-8")


@pytest.mark.parametrize("name", ["fetch", "stretch", "spot"])
def test_an_arm_reaches_where_its_own_postures_are(name):
    arm = lab_arm(tree_of(described(name)))
    assert arm is not None and arm.chain.size >= 3
    rng = np.random.default_rng(5)
    for _ in range(4):
        lower, upper = arm.chain.limits
        values = arm.chain.named(rng.uniform(np.maximum(lower, -2.0), np.minimum(upper, 2.0)))
        point = arm.pose(values)[:3, 3]
        found = arm.reach(point, arm.rest)[0]
        assert arm.pose(found)[:3, 3] == pytest.approx(point, abs=0.006)
        row = np.array([found[name] for name in arm.names])
        assert (row >= lower - 1e-9).all() and (row <= upper + 1e-9).all()


def test_a_hand_of_six_joints_takes_the_attitude_asked_for():
    arm = lab_arm(tree_of(described("fetch")))
    values = dict.fromkeys(arm.names, 0.3)
    pose = arm.pose(values)
    found = arm.reach(pose[:3, 3], arm.rest, rotation=pose[:3, :3])[0]
    assert arm.pose(found)[:3, :3] == pytest.approx(pose[:3, :3], abs=0.08)


def test_presets_reach_their_cylinder_and_not_beyond():
    body = EMBODIMENTS["wheels"]
    arm = lab_arm(tree_of(urdf_of("r", body)))
    assert arm.link == "hand_link" and arm.fingers == ("finger_link_joint",)
    assert arm.opening == pytest.approx(0.2)
    found = arm.reach((-0.3, 0.6, 1.0), arm.rest)[0]
    assert arm.pose(found)[:3, 3] == pytest.approx((-0.3, 0.6, 1.0), abs=0.006)
    with pytest.raises(OutOfReach, match="stays"):
        arm.reach((2.0, 0.0, 1.0), arm.rest)


def test_a_robot_without_an_arm_has_none():
    assert lab_arm(tree_of(urdf_of("r", EMBODIMENTS["air"]))) is None
    assert lab_arm(tree_of(described("m100"))) is None
