"""Settings of an adapter: what a team file's `adapter:` holds, and the node's parameters."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from coterie_core.plain_data import schema_problems
from robot_adapters.settings_base import RosName, Settings
from robot_adapters.settings_motion import ArmSettings, BatterySettings, NavigationSettings
from robot_adapters.settings_sensing import FrameSettings, MapPoseSettings, SensorSettings

_NONE = "null"
"""What a parameter of a text that may be none says where it is none."""
RELAYED = "team"
"""Adapters pass on what cameras see below `<robot>/team/<camera>/`, in frames of the team."""


class AdapterSettings(Settings):
    """How one real robot is driven and what it perceives with."""

    navigation: NavigationSettings = Field(
        NavigationSettings(), description="Settings of what drives the base."
    )
    arm: ArmSettings = Field(ArmSettings(), description="Settings of what moves the arm.")
    sensors: SensorSettings = Field(
        SensorSettings(), description="Settings of where observations come from."
    )
    frames: FrameSettings = Field(FrameSettings(), description="Names of the robot's frames.")
    battery: BatterySettings = Field(
        BatterySettings(), description="Settings of when the battery is low."
    )
    in_team_map: MapPoseSettings | Literal["match"] = Field(
        MapPoseSettings(),
        description="Pose of the robot's map in the team's map; match: found by objects that both "
        "have.",
    )

    @model_validator(mode="after")
    def _sees(self) -> AdapterSettings:
        base = self.navigation
        depth = any(camera.depth for camera in self.sensors.all_cameras())
        if base.backend == "velocity" and base.obstacles == "depth" and not depth:
            raise ValueError(
                "navigation.obstacles is depth, and sensors names no depth image: add a camera"
            )
        return self

    @staticmethod
    def from_parameters(values: Mapping[str, Any]) -> AdapterSettings:
        """Read what `to_parameters` wrote, with defaults for what is not there.

        Raises:
            ValueError: A value is wrong, or values do not fit to one another; names them.
        """
        nested: dict[str, Any] = {}
        for name, kind in _leaves(AdapterSettings):
            if name not in values:
                continue
            part, *rest = name.split(".")
            inner = nested
            for key in rest:
                inner, part = inner.setdefault(part, {}), key
            inner[part] = _read(values[name], kind)
        try:
            return AdapterSettings.model_validate(nested)
        except ValidationError as error:
            raise ValueError(f"parameters: {schema_problems(error)}") from None

    def to_parameters(self) -> dict[str, Any]:
        """Return what differs from the defaults, as parameters with dots in their names."""
        parameters: dict[str, Any] = {}
        default = AdapterSettings()
        for name, kind in _leaves(AdapterSettings):
            value, usual = (_at(settings, name) for settings in (self, default))
            if value != usual:
                parameters[name] = _written(value, kind)
        return parameters


def fields() -> Iterator[tuple[str, Any, Any, bool]]:
    """Give each field as a node's parameter: name, field, default and whether it holds JSON."""
    default = AdapterSettings()
    for name, kind in _leaves(AdapterSettings):
        *parts, last = name.split(".")
        model: Any = AdapterSettings
        for part in parts:
            model = model.model_fields[part].annotation
        value = _at(default, name)
        yield (
            name,
            model.model_fields[last],
            _written(value, kind),
            (kind == "json"),
        )


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Give the dotted names of all fields that are no sections, and their kinds.

    Structured ones are "json"; a parameter says `null` where an "optional" text is none.
    """
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind, f"{prefix}{name}.")
        else:
            plain = kind in (bool, int, float, str) or typing.get_origin(kind) is Literal
            name_or_none = kind == RosName | None
            yield f"{prefix}{name}", "" if plain else "optional" if name_or_none else "json"


def _at(settings: Any, name: str) -> Any:
    for part in name.split("."):
        settings = getattr(settings, part)
    return settings


def _read(value: Any, kind: str) -> Any:
    """Return what a parameter says."""
    if kind == "optional" and value == _NONE:
        return None
    return json.loads(value) if kind == "json" and isinstance(value, str) else value


def _written(value: Any, kind: str) -> Any:
    """Return a value as a parameter has it."""
    if kind == "optional" and value is None:
        return _NONE
    return _as_json(value) if kind == "json" else value


def _as_json(value: Any) -> str:
    def plain(part: Any) -> Any:
        return part.model_dump(mode="json") if isinstance(part, BaseModel) else part

    if isinstance(value, tuple):
        return json.dumps([plain(part) for part in value])
    return json.dumps(plain(value))
