"""The fault matrix: whatever goes wrong, a skill ends in time, by name, and nothing moves after."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("moveit_msgs")

from std_srvs.srv import Trigger

from coterie_core.skills import (
    Detect,
    LookAround,
    NavigateTo,
    Outcome,
    Pick,
    Place,
    Skill,
    SkillResult,
    Target,
)
from coterie_fixtures.lab_rig import TEAM, LabRig
from habitat_bridge.lab.faults import GOAL_FAULTS, KINDS, parse_fault
from habitat_bridge.robots import load_embodiment
from habitat_bridge.urdf import urdf_of

pytestmark = [pytest.mark.ros, pytest.mark.slow]

NEAR, FAR = (1.15, 1.3, 0.0), (6.0, 2.3, 0.0)
PICK, PLACE = Pick(Target("mug", (0.5, 1.2, 0.95))), Place(Target("counter", (0.5, 1.2, 0.9)))
Cells = Mapping[str, "tuple[Outcome, str] | None"]
"""Faults -> how a skill ends, and a word of the reason. None: it does its work all the same."""

NAVIGATE: Cells = {
    "navigate_rejected": (Outcome.FAULT, "rejected"),
    "navigate_aborted": (Outcome.BLOCKED, "105"),
    "navigate_aborted:code=100": (Outcome.FAULT, "100"),
    "navigate_aborted:code=104": (Outcome.BLOCKED, "104"),
    "navigate_aborted:code=107": (Outcome.TIMED_OUT, "107"),
    "navigate_aborted:code=202": (Outcome.FAULT, "202"),
    "navigate_aborted:code=208": (Outcome.UNREACHABLE, "208"),
    "navigate_aborted:code=4321": (Outcome.FAULT, "4321"),
    "navigate_hangs": (Outcome.TIMED_OUT, "navigate_to_pose"),
    "navigate_abandoned": (Outcome.FAULT, "without a code"),
    "navigate_abandoned:times=1": None,  # it is tried once more
    "navigator_dies": (Outcome.FAULT, "navigate_to_pose"),
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
    "spin_aborted": None,  # it has arrived, and could not look around
    "camera_silent detector_absent": None,
    "camera_flooding:value=16 detector_wrong arm_in_collision": None,
}

# The same for a drive that is on its way.
UNDERWAY: Cells = {
    "localization_lost": (Outcome.FAULT, "the drive was ended"),
    "tf_stale": (Outcome.FAULT, "tf"),
    "navigation_inactive": (Outcome.FAULT, "not active"),
    "navigator_dies": (Outcome.FAULT, "has told nothing for"),
    "battery_low": None,  # it brings to an end what it is at
    "navigation_dies": (Outcome.FAULT, "navigate_to_pose"),
    "link_cut": (Outcome.FAULT, "navigate_to_pose"),
    "localization_jumps": (Outcome.BLOCKED, "1.00 m"),
}

# Another client drives the robot on: it is the only fault after which something moves.
TAKEN_OVER = "navigate_preempted"

LOOK: Cells = {
    "spin_aborted": (Outcome.BLOCKED, "703"),
    "spin_aborted:code=701": (Outcome.TIMED_OUT, "701"),
    "spin_aborted:code=4321": (Outcome.FAULT, "4321"),
    "navigation_dies": (Outcome.FAULT, "spin"),
    "localization_lost": (Outcome.FAULT, "amcl_pose"),
    "camera_silent": None,
}

# The reason alone: the service that sends a robot to its dock tells no outcome.
DOCK: Cells = {
    "dock_aborted": (Outcome.FAULT, "905"),
    "dock_aborted:code=901": (Outcome.UNKNOWN_TARGET, "901"),
    "dock_aborted:code=903": (Outcome.UNREACHABLE, "903"),
    "dock_aborted:code=904": (Outcome.NOT_VISIBLE, "904"),
    "navigation_dies": (Outcome.FAULT, "dock_robot"),
}

# Of looking for the mug on the counter, which is in view.
DETECT: Cells = {
    "camera_silent": (Outcome.FAULT, "no detections come"),
    "detector_absent": (Outcome.NOT_VISIBLE, "mug"),
    "detector_wrong": (Outcome.NOT_VISIBLE, "mug"),
    "camera_flooding:value=4": None,
    "navigation_dies arm_dies": None,
}

# The same of a grasp, and of putting something down.
GRASP: Cells = {
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

# The same of a grasp without MoveIt: the adapter plans, and ros2_control follows.
TRAJECTORY: Cells = {
    "arm_rejected": (Outcome.FAULT, "rejected"),
    "arm_aborted": (Outcome.BLOCKED, "-5"),
    "arm_aborted:code=-1": (Outcome.FAULT, "-1"),
    "arm_hangs": (Outcome.TIMED_OUT, "follow_joint_trajectory"),
    "arm_dies": (Outcome.FAULT, "no server"),
    "gripper_aborted": (Outcome.FAULT, "gripper"),
    "gripper_misses": (Outcome.HAND_EMPTY, ""),
    "link_cut": (Outcome.FAULT, ""),
    "arm_in_collision navigation_dies": None,  # what MoveIt finds is nothing to it
}

SLIPS = "object_slips:duration=1"

WITHOUT_MOVEIT = TEAM.replace("backend: moveit", "backend: trajectory").replace(
    "timeout: 25", "timeout: 20\n        velocity: 1.0"
)
DOCKING = TEAM.replace("timeout: 30}", "timeout: 30, dock: home}")


def strike(rig: LabRig, faults: str) -> None:
    """Let things go wrong; what lasts has begun then: servers are gone, the battery has told."""
    for text in faults.split():
        rig.fault(text)
    if not all(parse_fault(text).kind in GOAL_FAULTS for text in faults.split()):
        rig.wait(2.5)


def wrong(
    faults: str, expected: tuple[Outcome, str] | None, result: SkillResult, rig: LabRig
) -> list[str]:
    """Return what is not as it must be at the end of a skill, and right after it."""
    if expected is None:
        good = result.ok
    else:
        good = result.outcome is expected[0] and expected[1] in result.reason
    found = [] if good else [f"{faults}: {result.outcome.name}: {result.reason}"]
    return found + ([] if rig.still() else [f"{faults}: the robot moves on"])


def hold(rig: LabRig, cells: Cells, skill: Callable[[], Skill]) -> list[str]:
    """Hold each fault against a skill; return what is not as it must be."""
    found = []
    for faults, expected in cells.items():
        strike(rig, faults)
        found += wrong(faults, expected, rig.end(skill()), rig)
        rig.recover()
    return found


def away(rig: LabRig) -> NavigateTo:
    """Return a drive to the other room."""
    goal = FAR if rig.world.state("slim").room == "r_kitchen" else NEAR
    return NavigateTo(position=goal)


def begin_drive(rig: LabRig, goal: NavigateTo):
    """Send the robot off; return the future of the result once it is on its way."""
    at = rig.world.state("slim").pose.position
    _, result = rig.send(goal)

    def moved() -> bool:
        return math.dist(rig.world.state("slim").pose.position, at) > 0.3

    rig.ros.spin_until(lambda: moved() or result.done(), what="a drive")
    assert moved(), rig.result(result)
    return result


def described() -> str:
    """Return the URDF of the robot, by which the adapter itself plans where there is no MoveIt.

    Without the laser's shape: the simulator has it within the first part of the arm.
    """
    urdf = urdf_of("slim", load_embodiment("slim"))
    return re.sub(r'(<link name="laser_link">).*?(</link>)', r"\1\2", urdf, flags=re.DOTALL)


def test_the_matrix_holds_every_fault():
    tables = (NAVIGATE, UNDERWAY, LOOK, DOCK, DETECT, GRASP, TRAJECTORY)
    texts = [*(text for cells in tables for text in cells), TAKEN_OVER, SLIPS]
    assert {parse_fault(one).kind for text in texts for one in text.split()} == set(KINDS)


def test_every_fault_of_a_drive_ends_by_name_and_leaves_the_robot_standing(ros):
    rig = LabRig(ros, pace=8.0, camera_rate=1.0)
    rig.wait_ready()
    found = hold(rig, NAVIGATE, lambda: away(rig))
    assert not found, "\n".join(found)
    assert rig.end(NavigateTo(position=NEAR)).ok


def test_what_goes_wrong_on_the_way_ends_the_drive_by_name_or_it_goes_on(ros):
    rig = LabRig(ros, pace=8.0, camera_rate=1.0, **{"navigation.look_on_arrival": False})
    rig.wait_ready()
    found = []
    for faults, expected in UNDERWAY.items():
        result = begin_drive(rig, away(rig))
        rig.fault(faults)
        found += wrong(faults, expected, rig.result(result), rig)
        if faults == "battery_low":
            refused = rig.end(away(rig))
            if refused.outcome is not Outcome.REFUSED or "battery" not in refused.reason:
                found.append(f"{faults}, afterwards: {refused}")
        rig.recover()
        rig.wait(2.5)  # all servers are back, and all that was said of the fault has come
    assert not found, "\n".join(found)
    # Nav2 dies and comes back: nobody has to do anything for the robot to drive again.
    result = begin_drive(rig, away(rig))
    rig.fault("navigation_dies:duration=20")
    died = rig.result(result)
    assert died.outcome is Outcome.FAULT and "navigate_to_pose" in died.reason, died
    navigation = rig.adapters["slim"].navigation
    ros.spin_until(lambda: navigation.ready() == "", what="Nav2 to be back")
    assert rig.lab.faults.faults, "nothing was cleared: the fault has passed"
    drive = rig.end(away(rig))
    assert drive.ok, drive


def test_another_clients_goal_takes_the_robot_over(ros):
    rig = LabRig(ros, pace=4.0, camera_rate=1.0)
    rig.wait_ready()
    rig.fault(TAKEN_OVER)
    ended = rig.end(NavigateTo(position=FAR))
    assert ended.outcome is Outcome.CANCELLED and "another client's goal" in ended.reason, ended
    assert not rig.still(), "the other client drives it on"
    rig.recover()
    ours = rig.end(NavigateTo(position=NEAR))
    assert ours.ok, ours
    assert rig.still()


def test_what_was_seen_while_localization_was_off_is_dropped(ros):
    rig = LabRig(ros, pace=4.0)
    rig.wait_ready()
    observer = rig.adapters["slim"].sensors.observer
    things = list(rig.world.truth().objects.values())

    def displaced(label, x, y):
        """Whether something is said to be where nothing of its kind is, nor a part of it."""
        return not any(
            thing.box.contains((x, y, thing.box.center[2]), 0.4)
            for thing in things
            if thing.label.top == label
        )

    def tracks():
        return [(t.label, *t.box.center[:2]) for t in list(observer.objects.items)]

    result = begin_drive(rig, NavigateTo(position=FAR))
    rig.fault("localization_jumps:value=1.5")
    assert rig.result(result).outcome is Outcome.BLOCKED
    assert observer.jumps == 1
    ros.spin_until(lambda: any(displaced(*t) for t in tracks()), what="things seen displaced")
    rig.recover()
    ros.spin_until(lambda: observer.jumps == 2, what="localization to be right again")
    count = len(rig.seen["slim"])
    looked = rig.end(LookAround())
    assert looked.ok, looked
    ros.spin_until(lambda: len(rig.seen["slim"]) > count, what="an observation")
    told = [d for o in rig.seen["slim"][count:] for d in o.detections if d.has_box]
    assert told
    places = [(d.label, d.box.center.x, d.box.center.y) for d in told]
    assert not [place for place in places if displaced(*place)]


def test_every_fault_of_a_look_around_and_of_detection_ends_by_name(ros):
    rig = LabRig(ros, pace=8.0)
    rig.wait_ready()
    found = hold(rig, LOOK, LookAround)
    assert rig.end(NavigateTo(position=(1.6, 1.2, 0.0), yaw=math.pi)).ok
    clean = rig.end(Detect("mug"))
    assert clean.ok, clean
    found += hold(rig, DETECT, lambda: Detect("mug"))
    assert not found, "\n".join(found)


def test_every_fault_of_docking_ends_by_name_and_leaves_the_robot_standing(ros):
    rig = LabRig(ros, DOCKING, pace=8.0, camera_rate=1.0)
    rig.wait_ready()
    asked = rig.node.create_client(Trigger, "/slim/dock")
    ros.wait_for_matched(asked)

    def dock():
        return ros.result(asked.call_async(Trigger.Request()))

    found = []
    for faults, expected in DOCK.items():
        assert expected is not None
        strike(rig, faults)
        answer = dock()
        if answer.success or expected[1] not in answer.message:
            found.append(f"{faults}: {answer}")
        if not rig.still():
            found.append(f"{faults}: the robot moves on")
        rig.recover()
    assert not found, "\n".join(found)
    answer = dock()
    assert answer.success, answer.message
    assert rig.end(NavigateTo(position=(2.2, 1.8, 0.0))).ok, "it leaves the dock by itself"


@pytest.mark.parametrize("backend", ["moveit", "trajectory"])
def test_every_fault_of_a_grasp_ends_by_name_and_leaves_the_arm_standing(ros, backend):
    team, cells = {"moveit": (TEAM, GRASP), "trajectory": (WITHOUT_MOVEIT, TRAJECTORY)}[backend]
    urdf = described() if backend == "trajectory" else ""
    rig = LabRig(ros, team, pace=8.0, camera_rate=1.0, urdf=urdf)
    rig.wait_ready()
    assert rig.end(NavigateTo(position=NEAR, yaw=math.pi)).ok, "it faces what it reaches for"
    found = []
    for faults, expected in cells.items():
        strike(rig, faults)
        result = rig.end(PICK)
        found += wrong(faults, expected, result, rig)
        rig.recover()
        if result.ok:
            put = rig.end(PLACE)
            for _ in range(3):  # what it has not seen for a while, or saw amiss, is looked at again
                if not put.ok and rig.end(LookAround()).ok:
                    put = rig.end(PLACE)
            if not put.ok:
                found.append(f"{faults}: put back: {put.outcome.name}: {put.reason}")
    assert not found, "\n".join(found)


def test_what_the_hand_holds_is_in_view_and_nowhere_in_the_house(ros):
    rig = LabRig(ros, pace=4.0)
    rig.wait_ready()
    assert rig.end(NavigateTo(position=NEAR, yaw=math.pi)).ok
    assert rig.end(PICK).ok
    assert rig.end(NavigateTo(position=FAR)).ok
    looked = rig.end(Detect("mug"))
    assert looked.outcome is Outcome.NOT_VISIBLE, looked
    assert not [t for t in rig.adapters["slim"].sensors.observer.objects.items if t.label == "mug"]
    # Without an arm that tells what it holds, it is taken for a mug of that room.
    rig.adapters["slim"].sensors.observer.own_arm.arm = None
    taken_for_one = rig.end(Detect("mug"))
    assert taken_for_one.ok, taken_for_one


def test_what_slips_out_of_the_hand_is_noticed(ros):
    rig = LabRig(ros, pace=8.0)
    rig.wait_ready()
    assert rig.end(PICK).ok
    rig.fault(SLIPS)
    ros.spin_until(lambda: not rig.world.state("slim").holding)
    result = rig.end(Place(Target("counter", (0.5, 1.5, 0.9))))
    assert result.outcome is Outcome.HAND_EMPTY, result
    assert "slipped" in result.reason
