"""Robots to put into a world: name, body and start, as a bridge node is told them."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose
from coterie_core.plain_data import schema_problems
from coterie_safety.guard import RobotLimits
from coterie_safety.permits import RobotPermits
from habitat_bridge.robots import load_embodiment
from habitat_bridge.simulator import Start


class PoseSpec(BaseModel):
    """A pose in the map frame: position [m], yaw [rad]."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    x: float
    y: float
    z: float = 0.0
    yaw: float = 0.0


class StartSpec(BaseModel):
    """Where a robot starts: a place, a room, or a pose; none: the world chooses by seed."""

    model_config = ConfigDict(extra="forbid")

    place: str | None = None
    room: str | None = None
    pose: PoseSpec | None = None

    def start(self) -> Start:
        """Return it as worlds take it."""
        pose = self.pose
        at = None if pose is None else Pose((pose.x, pose.y, pose.z), pose.yaw)
        return Start(self.place, self.room, at)


class RobotSpec(BaseModel):
    """A robot to put into the world; `embodiment` is a preset's name or a whole embodiment.

    `urdf` is published as its description (the document; empty: one made from the embodiment).
    `limits`: what the robot may do and where, the team's and its own.
    `permits`: which goals are allowed, asked for and refused.
    `resume`: whether the bridge publishes its resume; not where a resume node does.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=60)
    embodiment: Embodiment
    start: StartSpec = StartSpec()
    urdf: str = Field("", max_length=20_000_000)
    resume: bool = True
    limits: RobotLimits = RobotLimits()
    permits: RobotPermits = RobotPermits()

    @property
    def body(self) -> Embodiment:
        """The body, no faster than the limits allow."""
        return self.limits.body(self.embodiment)

    @field_validator("embodiment", mode="before")
    @classmethod
    def _preset(cls, value: Any) -> Any:
        return load_embodiment(value) if isinstance(value, str) else value


Spec = TypeVar("Spec", bound=RobotSpec)


def read_roster(value: Any, kind: type[Spec]) -> list[Spec]:
    """Return the robots that a node's parameter `robots` describes.

    Args:
        value: What the parameter holds.
        kind: What describes one of them.

    Raises:
        ValueError: A field is wrong (which one), no robots, or two of one name.
    """
    try:
        adapter: TypeAdapter[list[Spec]] = TypeAdapter(list[kind])  # type: ignore[valid-type]
        specs = adapter.validate_python(value or [])
    except ValidationError as error:
        raise ValueError(f"parameter 'robots': {schema_problems(error)}") from None
    if not specs:
        raise ValueError("parameter 'robots': expected at least one robot, got none")
    names = [spec.name for spec in specs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"parameter 'robots': two robots are named {twice!r}; rename one")
    return specs
