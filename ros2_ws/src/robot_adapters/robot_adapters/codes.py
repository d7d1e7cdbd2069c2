"""Result codes of Nav2, MoveIt and ros2_control, and the outcomes that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coterie_core.skills import Outcome, SkillResult


@dataclass(frozen=True, slots=True)
class Code:
    """A result code: its name where it is published, the outcome, and what to do about it."""

    name: str
    outcome: Outcome
    hint: str = ""


_TF = "look at the robot's tf and clocks"

CONTROLLER = {
    100: Code("UNKNOWN", Outcome.FAULT, "the controller server's log says more"),
    101: Code("INVALID_CONTROLLER", Outcome.FAULT, "mend Nav2's configuration"),
    102: Code("TF_ERROR", Outcome.FAULT, _TF),
    103: Code("INVALID_PATH", Outcome.UNREACHABLE, "the planned path cannot be followed"),
    104: Code("PATIENCE_EXCEEDED", Outcome.BLOCKED, "something is in the way"),
    105: Code("FAILED_TO_MAKE_PROGRESS", Outcome.BLOCKED, "the robot does not get on"),
    106: Code("NO_VALID_CONTROL", Outcome.BLOCKED, "something is in the way"),
    107: Code("CONTROLLER_TIMED_OUT", Outcome.TIMED_OUT, "the controller took too long"),
}
"""nav2_msgs/FollowPath."""

PLANNER = {
    200: Code("UNKNOWN", Outcome.FAULT, "the planner server's log says more"),
    201: Code("INVALID_PLANNER", Outcome.FAULT, "mend Nav2's configuration"),
    202: Code("TF_ERROR", Outcome.FAULT, _TF),
    203: Code("START_OUTSIDE_MAP", Outcome.FAULT, "the robot is not where it believes to be"),
    204: Code("GOAL_OUTSIDE_MAP", Outcome.UNREACHABLE, "the goal is outside of the robot's map"),
    205: Code("START_OCCUPIED", Outcome.BLOCKED, "the robot stands in what its map calls occupied"),
    206: Code("GOAL_OCCUPIED", Outcome.UNREACHABLE, "something stands at the goal"),
    207: Code("TIMEOUT", Outcome.TIMED_OUT, "planning took too long"),
    208: Code("NO_VALID_PATH", Outcome.UNREACHABLE, "there is no way to the goal"),
}
"""nav2_msgs/ComputePathToPose."""

THROUGH_POSES = {
    300: Code("UNKNOWN", Outcome.FAULT, "the planner server's log says more"),
    301: Code("INVALID_PLANNER", Outcome.FAULT, "mend Nav2's configuration"),
    302: Code("TF_ERROR", Outcome.FAULT, _TF),
    303: Code("START_OUTSIDE_MAP", Outcome.FAULT, "the robot is not where it believes to be"),
    304: Code("GOAL_OUTSIDE_MAP", Outcome.UNREACHABLE, "the goal is outside of the robot's map"),
    305: Code("START_OCCUPIED", Outcome.BLOCKED, "the robot stands in what its map calls occupied"),
    306: Code("GOAL_OCCUPIED", Outcome.UNREACHABLE, "something stands at the goal"),
    307: Code("TIMEOUT", Outcome.TIMED_OUT, "planning took too long"),
    308: Code("NO_VALID_PATH", Outcome.UNREACHABLE, "there is no way to the goal"),
    309: Code("NO_VIAPOINTS_GIVEN", Outcome.FAULT, "mend Nav2's behavior tree"),
}
"""nav2_msgs/ComputePathThroughPoses, for behavior trees that use it."""

ROUTE = {
    400: Code("UNKNOWN", Outcome.FAULT, "the route server's log says more"),
    401: Code("TF_ERROR", Outcome.FAULT, _TF),
    402: Code("NO_VALID_GRAPH", Outcome.FAULT, "mend the route server's graph"),
    403: Code("INDETERMINANT_NODES_ON_GRAPH", Outcome.UNREACHABLE, "no node of the graph is near"),
    404: Code("TIMEOUT", Outcome.TIMED_OUT, "planning a route took too long"),
    405: Code("NO_VALID_ROUTE", Outcome.UNREACHABLE, "there is no route to the goal"),
    406: Code("OPERATION_FAILED", Outcome.FAULT, "the route server's log says more"),
    407: Code("INVALID_EDGE_SCORER_USE", Outcome.FAULT, "mend Nav2's configuration"),
}
"""nav2_msgs/ComputeRoute and ComputeAndTrackRoute, for behavior trees with a route server."""

SMOOTHER = {
    500: Code("UNKNOWN", Outcome.FAULT, "the smoother server's log says more"),
    501: Code("INVALID_SMOOTHER", Outcome.FAULT, "mend Nav2's configuration"),
    502: Code("TIMEOUT", Outcome.TIMED_OUT, "smoothing the path took too long"),
    503: Code("SMOOTHED_PATH_IN_COLLISION", Outcome.BLOCKED, "something is in the way"),
    504: Code("FAILED_TO_SMOOTH_PATH", Outcome.FAULT, "the smoother server's log says more"),
    505: Code("INVALID_PATH", Outcome.UNREACHABLE, "the planned path cannot be followed"),
}
"""nav2_msgs/SmoothPath."""

SPIN = {
    700: Code("UNKNOWN", Outcome.FAULT, "the behavior server's log says more"),
    701: Code("TIMEOUT", Outcome.TIMED_OUT, "turning took too long"),
    702: Code("TF_ERROR", Outcome.FAULT, _TF),
    703: Code("COLLISION_AHEAD", Outcome.BLOCKED, "there is no room to turn here"),
}
"""nav2_msgs/Spin."""

BEHAVIORS = {
    **SPIN,
    710: Code("BACK_UP_UNKNOWN", Outcome.FAULT, "the behavior server's log says more"),
    711: Code("BACK_UP_TIMEOUT", Outcome.TIMED_OUT, "backing up took too long"),
    712: Code("BACK_UP_TF_ERROR", Outcome.FAULT, _TF),
    713: Code("BACK_UP_INVALID_INPUT", Outcome.FAULT, "mend Nav2's behavior tree"),
    714: Code("BACK_UP_COLLISION_AHEAD", Outcome.BLOCKED, "something is behind the robot"),
    720: Code("DRIVE_ON_HEADING_UNKNOWN", Outcome.FAULT, "the behavior server's log says more"),
    721: Code("DRIVE_ON_HEADING_TIMEOUT", Outcome.TIMED_OUT, "driving on took too long"),
    722: Code("DRIVE_ON_HEADING_TF_ERROR", Outcome.FAULT, _TF),
    723: Code("DRIVE_ON_HEADING_COLLISION_AHEAD", Outcome.BLOCKED, "something is in the way"),
    724: Code("DRIVE_ON_HEADING_INVALID_INPUT", Outcome.FAULT, "mend Nav2's behavior tree"),
    730: Code("ASSISTED_TELEOP_UNKNOWN", Outcome.FAULT, "the behavior server's log says more"),
    731: Code("ASSISTED_TELEOP_TIMEOUT", Outcome.TIMED_OUT, "the time to drive by hand is over"),
    732: Code("ASSISTED_TELEOP_TF_ERROR", Outcome.FAULT, _TF),
}
"""Recovery behaviors, whose codes a behavior tree may pass on."""

NAVIGATE = {**CONTROLLER, **PLANNER, **THROUGH_POSES, **ROUTE, **SMOOTHER, **BEHAVIORS}
"""nav2_msgs/NavigateToPose: it passes on the code of the server that failed."""

DOCK = {
    901: Code("DOCK_NOT_IN_DB", Outcome.UNKNOWN_TARGET, "name a dock of Nav2's dock database"),
    902: Code("DOCK_NOT_VALID", Outcome.UNKNOWN_TARGET, "mend the dock in Nav2's dock database"),
    903: Code("FAILED_TO_STAGE", Outcome.UNREACHABLE, "the robot did not get in front of the dock"),
    904: Code("FAILED_TO_DETECT_DOCK", Outcome.NOT_VISIBLE, "the dock was not seen"),
    905: Code("FAILED_TO_CONTROL", Outcome.FAULT, "the docking server's log says more"),
    906: Code("FAILED_TO_CHARGE", Outcome.FAULT, "it stands in the dock and does not charge"),
    999: Code("UNKNOWN", Outcome.FAULT, "the docking server's log says more"),
}
"""nav2_msgs/DockRobot, and UndockRobot, which has some of them."""

_STATE = "look at the robot's joint states and URDF"
_MOVEIT = "mend MoveIt's configuration"

MOVEIT = {
    0: Code("UNDEFINED", Outcome.FAULT, "move_group's log says more"),
    # OMPL that plans several times at once, as arm.attempts has it, says no more than this.
    99999: Code(
        "FAILURE", Outcome.OUT_OF_REACH, "no motion there was found, or move_group's log says more"
    ),
    -1: Code("PLANNING_FAILED", Outcome.OUT_OF_REACH, "no motion there was found: go nearer"),
    -2: Code("INVALID_MOTION_PLAN", Outcome.FAULT, "move_group's log says more"),
    -3: Code(
        "MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE",
        Outcome.BLOCKED,
        "something came into the arm's way",
    ),
    -4: Code("CONTROL_FAILED", Outcome.FAULT, "the arm's controller gave up; its log says why"),
    -5: Code("UNABLE_TO_AQUIRE_SENSOR_DATA", Outcome.FAULT, "look at MoveIt's sensors"),
    -6: Code("TIMED_OUT", Outcome.TIMED_OUT, "planning or moving took too long"),
    -7: Code("PREEMPTED", Outcome.CANCELLED, "somebody else moves the arm, or stopped it"),
    -10: Code("START_STATE_IN_COLLISION", Outcome.BLOCKED, "the arm touches something now"),
    -11: Code("START_STATE_VIOLATES_PATH_CONSTRAINTS", Outcome.FAULT, _STATE),
    -12: Code("GOAL_IN_COLLISION", Outcome.BLOCKED, "the hand would hit something there"),
    -13: Code("GOAL_VIOLATES_PATH_CONSTRAINTS", Outcome.OUT_OF_REACH, "go to another side of it"),
    -14: Code("GOAL_CONSTRAINTS_VIOLATED", Outcome.OUT_OF_REACH, "the hand did not get there"),
    -15: Code("INVALID_GROUP_NAME", Outcome.FAULT, "give arm.group as MoveIt's SRDF has it"),
    -16: Code("INVALID_GOAL_CONSTRAINTS", Outcome.FAULT, "look at arm.tip and arm.frame"),
    -17: Code("INVALID_ROBOT_STATE", Outcome.FAULT, _STATE),
    -18: Code("INVALID_LINK_NAME", Outcome.FAULT, "give arm.tip as MoveIt's URDF has it"),
    -19: Code("INVALID_OBJECT_NAME", Outcome.UNKNOWN_TARGET, "MoveIt does not know the object"),
    -21: Code("FRAME_TRANSFORM_FAILURE", Outcome.FAULT, "look at arm.frame and the robot's tf"),
    -22: Code("COLLISION_CHECKING_UNAVAILABLE", Outcome.FAULT, _MOVEIT),
    -23: Code("ROBOT_STATE_STALE", Outcome.FAULT, _STATE),
    -24: Code("SENSOR_INFO_STALE", Outcome.FAULT, "look at MoveIt's sensors"),
    -25: Code("COMMUNICATION_FAILURE", Outcome.FAULT, "is the robot's driver running?"),
    -26: Code("START_STATE_INVALID", Outcome.FAULT, _STATE),
    -27: Code("GOAL_STATE_INVALID", Outcome.OUT_OF_REACH, "the arm cannot be so"),
    -28: Code("UNRECOGNIZED_GOAL_TYPE", Outcome.FAULT, _MOVEIT),
    -29: Code("CRASH", Outcome.FAULT, "MoveIt's planner crashed; start move_group again"),
    -30: Code("ABORT", Outcome.FAULT, "move_group's log says more"),
    -31: Code("NO_IK_SOLUTION", Outcome.OUT_OF_REACH, "the hand cannot be there: go nearer"),
}
"""moveit_msgs/MoveItErrorCodes; 1 is success."""

TRAJECTORY = {
    -1: Code("INVALID_GOAL", Outcome.FAULT, "the controller does not take the trajectory"),
    -2: Code("INVALID_JOINTS", Outcome.FAULT, "the controller has other joints than the URDF"),
    -3: Code("OLD_HEADER_TIMESTAMP", Outcome.FAULT, "the robot's clock differs from this one"),
    -4: Code("PATH_TOLERANCE_VIOLATED", Outcome.BLOCKED, "the arm was held back on its way"),
    -5: Code("GOAL_TOLERANCE_VIOLATED", Outcome.BLOCKED, "the arm did not get there"),
}
"""control_msgs/FollowJointTrajectory; 0 is success."""


def explain(server: str, codes: Mapping[int, Code], number: int, said: str = "") -> SkillResult:
    """Return the outcome of a result code of a server, with a reason that names both.

    Args:
        server: Name of the action.
        codes: Of this kind of action.
        number: What it returned.
        said: Its own words; data.
    """
    words = f": {said.strip()[:200]}" if said.strip() else ""
    code = codes.get(number)
    if code is None:
        reason = f"{server}: code {number} is none of Jazzy's; is it of another distribution?"
        return SkillResult(Outcome.FAULT, reason + words, details={"code": str(number)})
    hint = f"; {code.hint}" if code.hint else ""
    return SkillResult(
        code.outcome,
        f"{server}: {code.name} ({number}){words}{hint}",
        details={"server": server, "code": str(number), "name": code.name},
    )
