"""What a robot's body can do: RobotResume messages."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from coterie_core.embodiment import Embodiment, MobilityKind
from coterie_core.plain_data import schema_problems
from coterie_core.resume import Resume
from coterie_msgs.msg import RobotResume
from coterie_ros.conversions.basics import header
from coterie_ros.conversions.checks import Checks

_MOBILITY: Mapping[int, MobilityKind] = {
    RobotResume.WHEELS: "wheels",
    RobotResume.TRACKS: "tracks",
    RobotResume.LEGS: "legs",
    RobotResume.AIR: "air",
    RobotResume.FIXED: "fixed",
}
_LONGEST = 8_000_000  # characters of a resume


def resume_to_msg(
    robot: str, body: Resume | Embodiment, *, time: float = 0.0, summary: str = ""
) -> RobotResume:
    """Return a robot's resume; of a body without URDF one is made from its embodiment."""
    resume = Resume.of_embodiment(body) if isinstance(body, Embodiment) else body
    summary = summary or resume.summary or _in_words(resume.embodiment())
    resume = resume.model_copy(update={"robot": robot, "summary": summary})
    numbers = {kind: number for number, kind in _MOBILITY.items()}
    spaces = [arm.workspace for arm in resume.manipulation.arms]
    widest = max(spaces, key=lambda space: space.reach, default=None)
    return RobotResume(
        header=header(time, ""),
        robot=robot,
        mobility=numbers[resume.mobility.kind],
        radius=resume.mobility.radius,
        height=resume.mobility.height,
        step_height=resume.mobility.step_height or 0.0,
        linear_speed=resume.mobility.linear_speed,
        arm_reach=widest.reach if widest else 0.0,
        arm_min_height=max(widest.min_height, 0.0) if widest else 0.0,
        arm_max_height=widest.max_height if widest else 0.0,
        summary=summary,
        json=resume.to_json(),
    )


def resume_from_msg(message: RobotResume, topic: str = "resume") -> Resume:
    """Return the resume that a message carries.

    Raises:
        ConversionError: Its JSON is no resume, or says otherwise than the message.
    """
    checks = Checks(topic)
    try:
        resume = Resume.from_json(checks.text("json", message.json, _LONGEST))
    except ValidationError as error:
        raise checks.fail("json", "a resume (docs/resume.md)", schema_problems(error)) from None
    if resume.robot != message.robot:
        raise checks.fail("robot", f"that of json ({resume.robot!r})", message.robot)
    kind = resume.mobility.kind
    if checks.choice("mobility", message.mobility, _MOBILITY) != kind:
        raise checks.fail("mobility", f"that of json ({kind})", message.mobility)
    return resume


def embodiment_from_msg(message: RobotResume, topic: str = "resume") -> Embodiment:
    """Return the body that a resume describes, as far as worlds and path planners need it.

    Raises:
        ConversionError: As `resume_from_msg`.
    """
    return resume_from_msg(message, topic).embodiment()


def _in_words(body: Embodiment) -> str:
    moves = {
        "wheels": "drives on wheels",
        "tracks": "drives on tracks",
        "legs": "walks on legs",
        "air": "flies",
        "fixed": "stands in one place",
    }[body.mobility]
    stairs = "takes stairs" if body.climbs_stairs else "cannot take stairs"
    arm = (
        f"an arm that reaches {body.arm.reach:.2f} m at heights of {body.arm.min_height:.2f} to "
        f"{body.arm.max_height:.2f} m"
        if body.arm
        else "no arm"
    )
    return (
        f"A {body.name} {moves} at up to {body.linear_speed:.1f} m/s, {stairs}, is "
        f"{2 * body.radius:.2f} m wide and {body.height:.2f} m tall, has {len(body.cameras)} "
        f"camera{'s' * (len(body.cameras) != 1)} and {arm}."
    )
