"""The fault matrix: whatever goes wrong, a skill ends in time, by name, and nothing moves after."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("moveit_msgs")

from coterie_core.skills import NavigateTo, Outcome, Pick, Place, Target
from coterie_fixtures.lab_rig import LabRig
from habitat_bridge.lab.faults import GOAL_FAULTS, parse_fault

pytestmark = [pytest.mark.ros, pytest.mark.slow]

NEAR, FAR = (1.15, 1.3, 0.0), (6.0, 2.3, 0.0)
# Faults -> how a drive ends, and a word of the reason. None: it does its work all the same.
NAVIGATE: dict[str, tuple[Outcome, str] | None] = {
    "navigate_rejected": (Outcome.FAULT, "rejected"),
    "navigate_aborted": (Outcome.BLOCKED, "105"),
    "navigate_aborted:code=100": (Outcome.FAULT, "100"),
    "navigate_aborted:code=104": (Outcome.BLOCKED, "104"),
    "navigate_aborted:code=107": (Outcome.TIMED_OUT, "107"),
    "navigate_aborted:code=202": (Outcome.FAULT, "202"),
    "navigate_aborted:code=208": (Outcome.UNREACHABLE, "208"),
    "navigate_aborted:code=4321": (Outcome.FAULT, "4321"),
    "navigate_hangs": (Outcome.TIMED_OUT, "navigate_to_pose"),
    "navigate_preempted": (Outcome.FAULT, "without a code"),
    "path_aborted:code=207": (Outcome.TIMED_OUT, "207"),
    "navigation_inactive": (Outcome.FAULT, "active"),
    "navigation_dies": (Outcome.FAULT, "navigate_to_pose"),
    "other_types": (Outcome.FAULT, "navigate_to_pose"),
    "localization_lost": (Outcome.FAULT, "amcl_pose"),
    "tf_stale": (Outcome.FAULT, "tf"),
    "tf_missing": (Outcome.FAULT, "tf"),
    "clock_off": (Outcome.FAULT, "ahead of the clock here"),
    "clock_off:value=-20": (Outcome.FAULT, "behind the clock here"),
    "battery_low": (Outcome.REFUSED, "battery"),
    "link_cut": (Outcome.FAULT, ""),
    "camera_silent detector_absent": None,
    "camera_flooding:value=4 detector_wrong arm_in_collision": None,
}

# The same of a grasp, and of putting something down.
GRASP: dict[str, tuple[Outcome, str] | None] = {
    "arm_rejected": (Outcome.FAULT, "rejected"),
    "arm_aborted": (Outcome.FAULT, "-4"),
    "arm_aborted:code=-1": (Outcome.OUT_OF_REACH, "-1"),
    "arm_aborted:code=-7": (Outcome.CANCELLED, "-7"),
    "arm_aborted:code=-31": (Outcome.OUT_OF_REACH, "-31"),
    "arm_aborted:code=4321": (Outcome.FAULT, "4321"),
    "arm_hangs": (Outcome.TIMED_OUT, "move_action"),
    "arm_in_collision": (Outcome.BLOCKED, "-10"),
    "arm_dies": (Outcome.FAULT, "no server"),
    "gripper_aborted": (Outcome.FAULT, "gripper"),
    "gripper_misses": (Outcome.HAND_EMPTY, ""),
    "battery_low": (Outcome.REFUSED, "battery"),
    "link_cut": (Outcome.FAULT, ""),
    "camera_silent detector_absent navigation_dies": None,
}


def strike(rig: LabRig, faults: str) -> None:
    """Let things go wrong; what lasts has begun then: servers are gone, the battery has told."""
    for text in faults.split():
        rig.fault(text)
    if not all(parse_fault(text).kind in GOAL_FAULTS for text in faults.split()):
        rig.wait(2.5)


def test_every_fault_of_a_drive_ends_by_name_and_leaves_the_robot_standing(ros):
    rig = LabRig(ros, pace=8.0)
    rig.wait_ready()
    wrong = []
    for fault, expected in NAVIGATE.items():
        strike(rig, fault)
        goal = FAR if rig.world.state("slim").room == "r_kitchen" else NEAR
        result = rig.end(NavigateTo(position=goal))
        if expected is None:
            good = result.ok
        else:
            good = result.outcome is expected[0] and expected[1] in result.reason
        if not good:
            wrong.append(f"{fault}: {result.outcome.name}: {result.reason}")
        if not rig.still():
            wrong.append(f"{fault}: the robot moves on")
        rig.recover()
    assert not wrong, "\n".join(wrong)
    assert rig.end(NavigateTo(position=NEAR)).ok


def test_every_fault_of_a_grasp_ends_by_name_and_leaves_the_arm_standing(ros):
    rig = LabRig(ros, pace=8.0)
    rig.wait_ready()
    wrong = []
    pick, place = Pick(Target("mug", (0.5, 1.2, 0.95))), Place(Target("counter", (0.5, 1.2, 0.9)))
    for fault, expected in GRASP.items():
        strike(rig, fault)
        result = rig.end(pick)
        if expected is None:
            good = result.ok
        else:
            good = result.outcome is expected[0] and expected[1] in result.reason
        if not good:
            wrong.append(f"{fault}: {result.outcome.name}: {result.reason}")
        if not rig.still():
            wrong.append(f"{fault}: the arm moves on")
        rig.recover()
        if result.ok:
            put = rig.end(place)
            if not put.ok:
                wrong.append(f"{fault}: put back: {put.outcome.name}: {put.reason}")
    assert not wrong, "\n".join(wrong)


def test_what_slips_out_of_the_hand_is_noticed(ros):
    rig = LabRig(ros, pace=8.0)
    rig.wait_ready()
    assert rig.end(Pick(Target("mug", (0.5, 1.2, 0.95)))).ok
    rig.fault("object_slips:duration=1")
    ros.spin_until(lambda: not rig.world.state("slim").holding)
    result = rig.end(Place(Target("counter", (0.5, 1.5, 0.9))))
    assert result.outcome is Outcome.HAND_EMPTY, result
    assert "slipped" in result.reason
