"""What all sections of an adapter's settings have in common."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

_NAME = re.compile(r"/?[A-Za-z~][A-Za-z0-9_/{}]*|/?")


def _ros_name(value: object) -> object:
    if isinstance(value, str) and (not _NAME.fullmatch(value) or "//" in value):
        raise ValueError(
            f"{value!r} is no name of ROS: letters, digits, _ and /, a letter first; for example "
            "'camera/depth/image_raw' (below the robot's namespace) or '/camera/depth/image_raw'"
        )
    return value


RosName = Annotated[str, BeforeValidator(_ros_name)]


class Settings(BaseModel):
    """A part of the settings: unknown fields are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
