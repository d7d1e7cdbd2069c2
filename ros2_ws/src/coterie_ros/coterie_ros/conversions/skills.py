"""Skills to action goals and back, and how they ended."""

from __future__ import annotations

from typing import TypeVar

from geometry_msgs.msg import PoseStamped

from coterie_core.geometry import Pose, Vec3
from coterie_core.skill_registry import ON_TARGET, SKILLS
from coterie_core.skills import (
    POSITION_TOLERANCE,
    YAW_TOLERANCE,
    Detect,
    LookAround,
    MoveArmTo,
    NavigateTo,
    Outcome,
    Skill,
    SkillResult,
    Target,
    Wait,
)
from coterie_msgs.action import Manipulate
from coterie_msgs.action import NavigateTo as NavigateToAction
from coterie_msgs.msg import SkillResult as SkillResultMsg
from coterie_ros.conversions.basics import (
    duration_from_msg,
    duration_to_msg,
    header,
    point_from_msg,
    point_to_msg,
    pose_from_msg,
    pose_to_msg,
)
from coterie_ros.conversions.checks import FAR, SENTENCE, Checks, ConversionError
from coterie_ros.conversions.frames import MAP
from coterie_safety.stop import one_line

_NUMBERS: dict[str, int] = {
    name: getattr(Manipulate.Goal, name.upper())
    for name in ("look_around", "detect", "move_arm_to", "wait", *ON_TARGET)
    if hasattr(Manipulate.Goal, name.upper())
}
_OTHER = Manipulate.Goal.OTHER
_NAMES = {number: name.upper() for name, number in sorted(_NUMBERS.items(), key=lambda one: one[1])}
_NAMES[_OTHER] = "OTHER"

G = TypeVar("G", NavigateToAction.Goal, Manipulate.Goal)

# Longest wait that a goal may ask for [s].
LONGEST_WAIT = 86400.0


def with_why(goal: G, why: str) -> G:
    """Return a goal of a skill with what it is for, in words."""
    goal.why = one_line(why)
    return goal


def why_from_msg(goal: NavigateToAction.Goal | Manipulate.Goal) -> str:
    """Return what a goal is for as one line of words, which are data; "": it does not say."""
    return one_line(str(getattr(goal, "why", "")))


def position_on_way(feedback: NavigateToAction.Feedback) -> Vec3 | None:
    """Return where a robot is on its way [m], from the feedback of a drive; None: nonsense."""
    try:
        at = feedback.current_pose.pose.position
        return point_from_msg(at, Checks("navigate_to").at("current_pose"))
    except ConversionError:
        return None


def navigate_to_msg(skill: NavigateTo) -> NavigateToAction.Goal:
    """Return a NavigateTo as an action goal.

    Raises:
        ConversionError: Neither a place nor a position.
    """
    if not skill.place and skill.position is None:
        raise ConversionError("navigate_to", "place", "a place or a position", "neither")
    return NavigateToAction.Goal(
        place=skill.place,
        pose=stamped_pose(Pose(skill.position or (0.0, 0.0, 0.0), skill.yaw or 0.0)),
        use_yaw=skill.yaw is not None,
        position_tolerance=float(skill.tolerance),
        yaw_tolerance=float(skill.yaw_tolerance),
    )


def stamped_pose(pose: Pose, *, time: float = 0.0) -> PoseStamped:
    """Return a pose in the map frame, of a time [s]; 0: of any time."""
    return PoseStamped(header=header(time, MAP), pose=pose_to_msg(pose))


def navigate_from_msg(goal: NavigateToAction.Goal, where: str = "navigate_to") -> NavigateTo:
    """Return the NavigateTo that a goal asks for; a place goes before a position.

    Raises:
        ConversionError: A pose in another frame than the team's map, no rotation, a number that is
            not finite, a tolerance out of range, or a place's id that is too long.
    """
    checks = Checks(where)
    place = checks.text("place", goal.place)
    position = yaw = None
    if not place or goal.use_yaw:
        frame = goal.pose.header.frame_id
        if frame != MAP:
            raise checks.fail(
                "pose.header.frame_id",
                f"the team's map frame ({MAP!r}); transform the pose into it with tf",
                repr(frame),
            )
        inner = checks.at("pose")
        if not place:
            position = point_from_msg(goal.pose.pose.position, inner.at("pose"))
        if goal.use_yaw:
            yaw = pose_from_msg(goal.pose.pose, inner).yaw
    return NavigateTo(
        place,
        position,
        yaw,
        _tolerance(checks, "position_tolerance", goal.position_tolerance, FAR, POSITION_TOLERANCE),
        _tolerance(checks, "yaw_tolerance", goal.yaw_tolerance, 10.0, YAW_TOLERANCE),
    )


def _tolerance(checks: Checks, field: str, value: float, most: float, usual: float) -> float:
    return round(checks.number(field, value, 0.0, most), 6) or usual  # single precision


def navigate_result_to_msg(
    result: SkillResult, pose: Pose | None, left: tuple[float, float], *, time: float = 0.0
) -> NavigateToAction.Result:
    """Return how a NavigateTo ended as the result of its action.

    Args:
        result: How it ended.
        pose: Where the robot is, map frame; None: not known, the pose has no frame then.
        left: What is left to the goal, as `NavigateTo.left` has it.
        time: When that was [s].
    """
    return NavigateToAction.Result(
        result=skill_result_to_msg(result),
        pose=stamped_pose(pose, time=time) if pose is not None else PoseStamped(),
        distance_left=float(left[0]),
        yaw_left=float(left[1]),
    )


def manipulate_to_msg(skill: Skill) -> Manipulate.Goal:
    """Return a skill other than NavigateTo and Ask as an action goal.

    Raises:
        ConversionError: The skill is none that the action does.
    """
    name = next((name for name, kind in ON_TARGET.items() if kind is type(skill)), "")
    target = SKILLS[name].target(skill) if name else None
    if target is not None:
        return Manipulate.Goal(
            skill=_NUMBERS.get(name, _OTHER),
            name="" if name in _NUMBERS else name,
            label=target.label,
            position=point_to_msg(target.position),
            instance=target.instance,
        )
    if isinstance(skill, LookAround):
        return Manipulate.Goal(skill=Manipulate.Goal.LOOK_AROUND)
    if isinstance(skill, Detect):
        return Manipulate.Goal(skill=Manipulate.Goal.DETECT, label=skill.label)
    if isinstance(skill, MoveArmTo):
        return Manipulate.Goal(
            skill=Manipulate.Goal.MOVE_ARM_TO, position=point_to_msg(skill.position)
        )
    if isinstance(skill, Wait):
        return Manipulate.Goal(skill=Manipulate.Goal.WAIT, duration=duration_to_msg(skill.duration))
    raise ConversionError("manipulate", "skill", f"one of {_known()}", type(skill).__name__)


def manipulate_from_msg(goal: Manipulate.Goal, where: str = "manipulate") -> Skill:
    """Return the skill that a goal asks for.

    Raises:
        ConversionError: An unknown skill, a number that is not finite, a label that is too long.
    """
    checks = Checks(where)
    checks.choice("skill", goal.skill, _NAMES)
    if goal.skill == Manipulate.Goal.LOOK_AROUND:
        return LookAround()
    if goal.skill == Manipulate.Goal.DETECT:
        return Detect(checks.text("label", goal.label))
    if goal.skill == Manipulate.Goal.WAIT:
        return Wait(duration_from_msg(goal.duration, checks, "duration", LONGEST_WAIT))
    position = point_from_msg(goal.position, checks)
    if goal.skill == Manipulate.Goal.MOVE_ARM_TO:
        return MoveArmTo(position)
    label = checks.text("label", goal.label, empty=False)
    target = Target(label, position, checks.text("instance", goal.instance))
    name = _NAMES[goal.skill].lower()
    if goal.skill == _OTHER:
        name = checks.text("name", goal.name)
        if name not in ON_TARGET or name in _NUMBERS:
            raise checks.fail("name", "a skill of a package that is installed here", repr(name))
    made: Skill = ON_TARGET[name](target)
    return made


def skill_result_to_msg(result: SkillResult) -> SkillResultMsg:
    """Return how a skill ended as a message; `details` stay behind."""
    return SkillResultMsg(
        outcome=int(result.outcome),
        reason=result.reason,
        duration=duration_to_msg(result.duration),
        distance=float(result.distance),
        put_at=[] if result.put_at is None else [point_to_msg(result.put_at)],
        bears_at=[] if result.bears_at is None else [point_to_msg(result.bears_at)],
    )


def skill_result_from_msg(message: SkillResultMsg, where: str = "result") -> SkillResult:
    """Return how a skill ended.

    Raises:
        ConversionError: An unknown outcome, or a number that is negative, too large or not finite.
    """
    checks = Checks(where)
    checks.choice("outcome", message.outcome, {o.value: o.name for o in Outcome})
    put_at = [point_from_msg(point, checks, "put_at") for point in message.put_at]
    bears_at = [point_from_msg(point, checks, "bears_at") for point in message.bears_at]
    return SkillResult(
        Outcome(message.outcome),
        checks.text("reason", message.reason, SENTENCE),
        duration_from_msg(message.duration, checks),
        checks.number("distance", message.distance, 0.0, FAR),
        put_at=put_at[0] if put_at else None,
        bears_at=bears_at[0] if bears_at else None,
    )


def _known() -> str:
    return ", ".join(_NAMES.values())
