"""The robots of a team file: their names, bodies, start places and roles."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from coterie_core.own_classes import OwnName
from coterie_core.settings import Settings
from coterie_core.yaml_checks import shown, suggestion
from coterie_safety.guard import Limits
from coterie_safety.permits import Permits
from habitat_bridge.robots import EMBODIMENTS
from robot_adapters.settings import AdapterSettings

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,49}")
"""What a ROS namespace of one level may look like."""

RESERVED = {
    "aggregator",
    "bridge",
    "clock",
    "leader",
    "mapper",
    "object_events",
    "object_planner",
    "open_questions",
    "prior_map",
    "semantic_map",
    "tf",
}
"""Names that the team's own nodes and topics have."""


def _robot_name(value: object) -> object:
    if not isinstance(value, str):
        return value  # pydantic says what it expected
    if not NAME.fullmatch(value):
        fixed = re.sub(r"[^A-Za-z0-9_]", "_", value)[:50]
        fixed = fixed if NAME.fullmatch(fixed) else f"robot_{fixed}"[:50]
        raise ValueError(
            f"{shown(value)} cannot be a ROS namespace: letters, digits and _, a letter first; "
            f"for example {fixed!r}"
        )
    if value.lower() in RESERVED:
        raise ValueError(f"{value!r} is taken by the team's own nodes; for example '{value}_1'")
    return value


def namespace_of(value: object) -> object:
    """Return a namespace without the slashes at its ends: `/lab` is ROS's way to write `lab`."""
    if not isinstance(value, str):
        return value
    name = value.strip("/")
    if name and not all(NAME.fullmatch(part) for part in name.split("/")):
        raise ValueError(
            f"{shown(value)} cannot be a ROS namespace: names of letters, digits and _, a letter "
            "first, with / between them; for example 'lab' or 'building_2/lab'"
        )
    return name


def _embodiment(value: object) -> object:
    if isinstance(value, str) and value not in EMBODIMENTS:
        raise ValueError(f"unknown embodiment {value!r}{suggestion(value, EMBODIMENTS)}")
    return value


RobotName = Annotated[str, BeforeValidator(_robot_name)]
Namespace = Annotated[str, BeforeValidator(namespace_of)]
EmbodimentName = Annotated[str, BeforeValidator(_embodiment)]


class PoseSpec(Settings):
    """A pose in the map frame."""

    x: float = Field(description="Position along x of the map frame [m].")
    y: float = Field(description="Position along y of the map frame [m].")
    z: float = Field(0.0, description="Height of the walking surface [m]; chooses the floor.")
    yaw: float = Field(0.0, description="Heading about the z axis [rad], counter-clockwise from x.")


class StartSpec(Settings):
    """Where a robot starts: one of room (its name), place (its id) or pose; none: by seed."""

    room: str | None = Field(None, min_length=1, description='Name of a room, such as "kitchen".')
    place: str | None = Field(
        None, min_length=1, description="Identifier of a place of the world's navigation graph."
    )
    pose: PoseSpec | None = Field(None, description="Exact pose in the map frame.")

    @model_validator(mode="after")
    def _one(self) -> StartSpec:
        given = [n for n in ("room", "place", "pose") if getattr(self, n) is not None]
        if len(given) > 1:
            raise ValueError(f"give only one of room, place, pose; got {' and '.join(given)}")
        return self


class RobotSpec(Settings):
    """One robot, or with `count` several alike: `name` then holds {n}, counted from 1."""

    name: RobotName = Field(
        description="Name of the robot and its ROS namespace; with count it holds {n}."
    )
    embodiment: EmbodimentName = Field(
        "wheels",
        description="Name of a preset of the body: air, legs, slim, tracks or wheels.",
    )
    radius: float | None = Field(
        None,
        gt=0.0,
        le=2.0,
        description="Radius of the robot's body [m], where it is not that of the preset; none: it "
        "is.",
    )
    urdf: str = Field(
        "",
        description="Path of a URDF or xacro file that describes the body; empty: the "
        "embodiment does.",
    )
    overrides: str = Field(
        "",
        description="Path of a YAML file with what the URDF does not say; empty: nothing is added.",
    )
    start: StartSpec = Field(
        StartSpec(),
        description="Start of the robot: a room, a place or a pose; empty: chosen by the seed.",
    )
    role: Literal["explorer", "worker", "cooperator"] = Field(
        "explorer",
        description="Part the robot plays; explorer: answers questions (MELE); worker: does "
        "tasks under a leader (EMOS); cooperator: does shared goals without one "
        "(REVECA).",
    )
    model: str = Field(
        "rules", description="Name of a profile of `models` that the robot thinks with."
    )
    adapter: AdapterSettings | None = Field(
        None,
        description="Settings of how the real robot is driven and what it perceives with; none: "
        "the robot is simulated. Worlds that are simulated do not read them.",
    )
    driver: OwnName | None = Field(
        None,
        description="Class of yours that drives the robot and does its skills, "
        "my_package.module:Class, derived from RobotDriver; none: the robot has its own node.",
    )
    malicious: bool = Field(False, description="Inverts all the robot's answers, for experiments.")

    limits: Limits = Field(
        Limits(),
        description="Limits of this robot, which narrow those of the team; see limits.",
    )
    permits: Permits = Field(
        Permits(),
        description="Policy of permits of this robot, which narrows that of the team; see permits.",
    )

    @model_validator(mode="after")
    def _one_body(self) -> RobotSpec:
        if self.urdf and "embodiment" in self.model_fields_set:
            raise ValueError("urdf and embodiment exclude each other; remove one")
        if self.urdf and self.radius is not None:
            raise ValueError("urdf and radius exclude each other; give the radius in overrides")
        if self.overrides and not self.urdf:
            raise ValueError("overrides belong to a urdf; give its file, or remove overrides")
        return self

    @model_validator(mode="after")
    def _driven(self) -> RobotSpec:
        backend = "" if self.adapter is None else self.adapter.navigation.backend
        if self.driver and backend != "skills":
            raise ValueError(
                "a driver serves what backend skills asks for; add adapter: {navigation: {backend: "
                "skills}}, and arm: {backend: skills} where it has one, or remove driver"
            )
        return self
