"""Bodies of a team's robots: presets, or what their URDFs tell."""

from __future__ import annotations

from typing import Any

from coterie_bringup.errors import PlanError
from coterie_bringup.team import Team
from coterie_bringup.team_robots import RobotSpec
from coterie_core.embodiment import Embodiment
from coterie_core.resume import Resume
from habitat_bridge.robots import EMBODIMENTS


def robot_body(team: Team, robot: RobotSpec) -> Embodiment:
    """Return a robot's body: a preset, or what its URDF tells.

    Raises:
        PlanError: The URDF or its overrides cannot be used.
    """
    if not robot.urdf:
        given: dict[str, Any] = {"name": robot.name}
        given |= {"radius": robot.radius} if robot.radius else {}
        if team.real and robot.adapter is not None and robot.adapter.arm.backend == "none":
            given["arm"] = None  # nothing moves one, whatever the preset has
        return EMBODIMENTS[robot.embodiment].model_copy(update=given)
    return described_robot(team, robot)[1].embodiment()


def described_robot(team: Team, robot: RobotSpec) -> tuple[str, Resume]:
    """Return the URDF of a robot of a team, and the resume made from it (kept for the next start).

    Raises:
        PlanError: A file cannot be read, or the URDF cannot be used; names it and the remedy.
    """
    from coterie_core.urdf.errors import UrdfError
    from robot_resume.cache import stored_resume

    file = team.resolve(robot.urdf)
    overrides = team.resolve(robot.overrides) if robot.overrides else None
    try:
        resume = stored_resume(file, name=robot.name, overrides=overrides)
        return file.read_text("utf-8", errors="replace"), resume
    except OSError as error:
        raise PlanError(
            f"robots: {robot.name}: urdf: cannot read {error.filename}: {error.strerror}"
        ) from None
    except (UrdfError, ValueError) as error:
        raise PlanError(f"robots: {robot.name}: urdf: {error}") from None
