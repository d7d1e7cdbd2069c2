"""The section `security` of a team file."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator, model_validator

from coterie_bringup.team_checks import MAX_ROBOTS
from coterie_bringup.team_robots import RobotName
from coterie_bringup.team_sections import below
from coterie_core.plain_data import shorten
from coterie_core.settings import Settings

_TOPIC = re.compile(r"/[A-Za-z_][\w/*]{0,200}", re.ASCII)


def _topic_name(value: object) -> object:
    if isinstance(value, str) and not _TOPIC.fullmatch(value):
        raise ValueError(f"{shorten(value)!r} is no full name of ROS, such as /camera/color")
    return value


class SecuritySpec(Settings):
    """Who may take part in the team: DDS security with keys, made by ./coterie team security."""

    enabled: bool = Field(
        False,
        description="Runs the team with DDS security: only who has a key of its keystore takes "
        "part, and all is encrypted; it starts with it or not at all.",
    )
    keystore: str = Field(
        "",
        description="Path of the keystore below the team file's folder; empty: keystores/<name> of "
        "the state folder.",
    )
    days: int = Field(
        365, ge=1, le=36500, description="Time for which keys and permissions are good [d]."
    )
    operators: tuple[RobotName, ...] = Field(
        ("operator",),
        min_length=1,
        max_length=MAX_ROBOTS,
        description="Names of who may command the team; each has a key. Tools on this computer "
        "take the first.",
    )
    listeners: tuple[RobotName, ...] = Field(
        ("listener",),
        max_length=MAX_ROBOTS,
        description="Names of who may only listen; each has a key.",
    )
    robot_names: tuple[Annotated[str, BeforeValidator(_topic_name)], ...] = Field(
        (),
        max_length=200,
        description="Names of topics, services and actions outside of a robot's namespace that "
        "programs on robots use, such as /camera/color; * stands for anything.",
    )

    _below = field_validator("keystore")(below)

    @model_validator(mode="after")
    def _each_once(self) -> SecuritySpec:
        both = [*self.operators, *self.listeners]
        twice = sorted({name for name in both if both.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} is named twice; each name has one key")
        return self
