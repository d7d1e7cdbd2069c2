"""Joint positions that bring a hand to a point, compared with pinocchio's."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("control_msgs")
pytest.importorskip("coterie_msgs")
pytest.importorskip("pinocchio")

import pinocchio as pin

from coterie_core.kinematics.arm import OutOfReach
from coterie_fixtures.arm_servers import ARM_URDF
from robot_adapters.kinematics import Hand, arm_of_urdf


@pytest.fixture(scope="module")
def arm():
    return arm_of_urdf(ARM_URDF, "base_link")


def by_pinocchio(arm, positions):
    model = pin.buildModelFromXML(ARM_URDF)
    data, q = model.createData(), pin.neutral(model)
    for name, value in positions.items():
        q[model.joints[model.getJointId(name)].idx_q] = value
    pin.framesForwardKinematics(model, data, q)
    frame = data.oMf[model.getFrameId(arm.link)]
    return frame.act(np.array(arm.point))


def test_the_hand_of_the_description(arm):
    hand = Hand.of(arm)
    assert hand.link == "palm" and hand.direction == pytest.approx((1.0, 0.0, 0.0), abs=1e-6)
    assert arm.names == ("pan", "lift", "elbow", "turn")
    tree = pin.buildModelFromXML(ARM_URDF)
    assert len(arm.links) >= len(arm.names) and arm.links[-1] == "palm"
    moved = [link for link in arm.links if tree.frames[tree.getFrameId(link)].parentJoint > 0]
    assert moved == list(arm.links), "what does not move with the arm is none of it"
    assert hand.pointing("z").direction == (0.0, 0.0, 1.0)
    assert hand.pointing("any").direction is None


@pytest.mark.parametrize("point", [(0.5, 0.2, 0.5), (0.3, -0.4, 0.2), (0.6, 0.0, 0.9)])
def test_it_reaches_a_point_and_stays_near_to_where_it_was(arm, point):
    start = dict.fromkeys(arm.names, 0.1)
    found = arm.reach(point, start)[0]
    assert by_pinocchio(arm, found) == pytest.approx(point, abs=0.006)
    assert arm.pose(found)[:3, 3] == pytest.approx(by_pinocchio(arm, found), abs=1e-6)
    again = arm.reach(point, found)[0]
    assert max(abs(again[name] - found[name]) for name in arm.names) < 0.05
    assert arm.duration(start, found, 0.5) > arm.duration(start, found, 1.0) >= 0.1


def test_what_is_out_of_reach_is_told_with_the_distance(arm):
    with pytest.raises(OutOfReach, match=r"stays 1\.\d+ m away"):
        arm.reach((2.0, 1.0, 0.5), {})


def test_descriptions_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"arm\.tip: the URDF has no link 'grasp'"):
        arm_of_urdf(ARM_URDF, "base_link", "grasp")
    with pytest.raises(ValueError, match=r"frames\.base: the URDF has no link 'base'"):
        arm_of_urdf(ARM_URDF, "base")
    with pytest.raises(ValueError, match="urdf: "):
        arm_of_urdf("<robot", "base_link")
