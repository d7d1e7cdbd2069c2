"""What a robot's body can do: RobotResume messages, and its description as URDF."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from coterie_core.embodiment import Embodiment, MobilityKind
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


def resume_to_msg(
    robot: str, body: Embodiment, *, time: float = 0.0, summary: str = ""
) -> RobotResume:
    """Return a robot's resume; without a summary in words one is made from the body."""
    numbers = {kind: number for number, kind in _MOBILITY.items()}
    arm = body.arm
    return RobotResume(
        header=header(time, ""),
        robot=robot,
        mobility=numbers[body.mobility],
        radius=body.radius,
        height=body.height,
        step_height=body.step_height,
        linear_speed=body.linear_speed,
        arm_reach=arm.reach if arm else 0.0,
        arm_min_height=arm.min_height if arm else 0.0,
        arm_max_height=arm.max_height if arm else 0.0,
        summary=summary or _in_words(body),
        json=body.model_dump_json(),
    )


def embodiment_from_msg(message: RobotResume, topic: str = "resume") -> Embodiment:
    """Return the body that a resume describes.

    Raises:
        ConversionError: The JSON is no embodiment, or contradicts the kind of mobility.
    """
    checks = Checks(topic)
    try:
        body = Embodiment.model_validate_json(checks.text("json", message.json, 100_000))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise checks.fail("json", "an embodiment", f"{where}: {first['msg']}") from None
    if checks.choice("mobility", message.mobility, _MOBILITY) != body.mobility:
        raise checks.fail("mobility", f"that of json ({body.mobility})", message.mobility)
    return body


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
