"""A robot draws its arm in before its base moves, where its settings say how."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("moveit_msgs")
pytest.importorskip("coterie_msgs")

from control_msgs.action import FollowJointTrajectory

from coterie_core.skills import LookAround, MoveArmTo, NavigateTo, Outcome, Pick
from coterie_fixtures.arm_rig import CUP, FOLLOW, MOVE, ArmRig
from coterie_fixtures.arm_servers import ARM_URDF
from robot_adapters.backends.trajectory import TrajectoryMover
from robot_adapters.kinematics import arm_of_urdf
from robot_adapters.settings_motion import ArmSettings

pytestmark = pytest.mark.ros

DRAWN_IN = {"pan": 0.0, "lift": -1.2, "elbow": 2.2}
CARRY = {"arm.carry": json.dumps(DRAWN_IN)}


def moved(rig):
    """Return the goals that the base has had."""
    return [name for name in ("spin", "navigate_to_pose") if rig.base.goals.get(name)]


def test_the_base_waits_until_a_trajectory_has_drawn_the_arm_in(ros):
    rig = ArmRig(ros, **{"arm.backend": "trajectory"}, **CARRY)
    assert rig.do(Pick(CUP)) == (Outcome.SUCCEEDED, "", "cup")
    before, turn = len(rig.arm.goals[FOLLOW]), rig.arm.joints["turn"]
    rig.arm.faults = {FOLLOW: FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED}
    outcome, reason, holding = rig.do(LookAround())
    assert outcome is not Outcome.SUCCEEDED and "not in the posture of arm.carry" in reason
    assert moved(rig) == [] and holding == "cup"
    rig.arm.faults = {}
    assert rig.do(LookAround())[0] is Outcome.SUCCEEDED
    assert {name: rig.arm.joints[name] for name in DRAWN_IN} == pytest.approx(DRAWN_IN, abs=0.01)
    assert rig.arm.joints["turn"] == pytest.approx(turn, abs=0.01), "nothing is said of it"
    assert moved(rig) == ["spin"] and len(rig.arm.goals[FOLLOW]) == before + 2
    # What is drawn in already needs no goal of the controller.
    assert rig.do(LookAround())[0] is Outcome.SUCCEEDED
    assert len(rig.arm.goals[FOLLOW]) == before + 2
    assert rig.do(MoveArmTo((1.5, 1.2, 0.6)))[0] is Outcome.SUCCEEDED


def test_moveit_draws_the_arm_in_by_its_joints_before_a_drive(ros):
    rig = ArmRig(ros, **CARRY)
    skill = NavigateTo(position=(2.0, 2.0, 0.0))
    result = ros.result(rig.adapter.run(rig.adapter._drive(skill, skill.position, lambda _: None)))
    assert result.ok, result.reason
    assert moved(rig) == ["spin", "navigate_to_pose"]
    assert len(rig.arm.goals[MOVE]) == 2, "MoveIt is asked each time: others may move the arm, too"
    for goal in (one.request.goal_constraints[0] for one in rig.arm.goals[MOVE]):
        wanted = {one.joint_name: one.position for one in goal.joint_constraints}
        assert wanted == DRAWN_IN and not goal.position_constraints


def test_without_a_posture_nothing_is_asked_of_the_arm(ros):
    rig = ArmRig(ros)
    assert rig.do(LookAround())[0] is Outcome.SUCCEEDED
    assert MOVE not in rig.arm.goals


def test_a_joint_that_the_arm_has_not_is_named(ros):
    settings = ArmSettings(backend="trajectory", carry={"shoulder": 0.5})
    with pytest.raises(
        ValueError, match=r"arm\.carry: the arm has no joint 'shoulder'; it has pan"
    ):
        TrajectoryMover(ros.node(), settings, arm_of_urdf(ARM_URDF, "base_link"))
