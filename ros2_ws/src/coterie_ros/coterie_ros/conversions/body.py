"""What a robot's body can do: resumes as JSON, like `robot_description` as XML."""

from __future__ import annotations

from pydantic import ValidationError
from std_msgs.msg import String

from coterie_core.embodiment import Embodiment
from coterie_core.plain_data import schema_problems
from coterie_core.resume import Resume
from coterie_ros.conversions.checks import Checks

_LONGEST = 8_000_000  # characters of a resume


def resume_to_msg(robot: str, body: Resume | Embodiment, *, summary: str = "") -> String:
    """Return a robot's resume; of a body without URDF one is made from its embodiment."""
    resume = Resume.of_embodiment(body) if isinstance(body, Embodiment) else body
    summary = summary or resume.summary or _in_words(resume.embodiment())
    resume = resume.model_copy(update={"robot": robot, "summary": summary})
    return String(data=resume.to_json())


def resume_from_msg(message: String, topic: str = "resume") -> Resume:
    """Return the resume that a message carries.

    Raises:
        ConversionError: Its JSON is no resume.
    """
    checks = Checks(topic)
    try:
        return Resume.from_json(checks.text("data", message.data, _LONGEST))
    except ValidationError as error:
        raise checks.fail("data", "a resume (docs/resume.md)", schema_problems(error)) from None


def embodiment_from_msg(message: String, topic: str = "resume") -> Embodiment:
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
