"""The fault matrix: whatever goes wrong, a skill ends in time, by name, and nothing moves after."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("moveit_msgs")

from coterie_core.skills import NavigateTo, Outcome
from coterie_fixtures.lab_rig import LabRig

pytestmark = [pytest.mark.ros, pytest.mark.slow]

NEAR, FAR = (1.15, 1.3, 0.0), (6.0, 2.3, 0.0)
# Fault -> how a drive ends, and a word of the reason. None: it does its work all the same.
NAVIGATE: dict[str, tuple[Outcome, str] | None] = {
    "navigate_rejected": (Outcome.REFUSED, "navigate_to_pose"),
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
    "clock_off": (Outcome.FAULT, "not located"),
    "battery_low": (Outcome.REFUSED, "battery"),
    "link_cut": (Outcome.FAULT, ""),
    "camera_silent": None,
    "camera_flooding:value=4": None,
    "detector_wrong": None,
    "detector_absent": None,
    "arm_in_collision": None,
}


def test_every_fault_of_a_drive_ends_by_name_and_leaves_the_robot_standing(ros):
    rig = LabRig(ros, pace=8.0)
    rig.wait_ready()
    wrong = []
    for fault, expected in NAVIGATE.items():
        rig.fault(fault)
        rig.wait(2.5)  # what lasts begins: servers go, the battery tells
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
