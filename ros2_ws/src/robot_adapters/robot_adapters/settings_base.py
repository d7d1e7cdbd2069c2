"""What all sections of an adapter's settings have in common."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

from coterie_core.settings import Settings

_NAME = re.compile(r"/?[A-Za-z~][A-Za-z0-9_/{}]*|/?")


def _ros_name(value: object) -> object:
    if isinstance(value, str) and (not _NAME.fullmatch(value) or "//" in value):
        raise ValueError(
            f"{value!r} is no name of ROS: letters, digits, _ and /, a letter first; for example "
            "'camera/depth/image_raw' (below the robot's namespace) or '/camera/depth/image_raw'"
        )
    return value


RosName = Annotated[str, BeforeValidator(_ros_name)]


class MountSettings(Settings):
    """Where a sensor sits on the base, for robots whose tf does not tell."""

    x: float = Field(0.0, description="Position ahead of the base frame [m].")
    y: float = Field(0.0, description="Position to the left of the base frame [m].")
    z: float = Field(0.0, description="Height above the base frame [m].")
    roll: float = Field(0.0, description="Angle about the viewing direction [rad].")
    pitch: float = Field(0.0, description="Angle down from straight ahead [rad].")
    yaw: float = Field(0.0, description="Angle to the left from straight ahead [rad].")
