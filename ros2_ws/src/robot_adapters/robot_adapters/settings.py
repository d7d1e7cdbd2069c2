"""Settings of an adapter: what a team file's `adapter:` holds, and the node's parameters."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from coterie_core.settings import Settings
from robot_adapters.settings_motion import ArmSettings, BatterySettings, NavigationSettings
from robot_adapters.settings_sensing import FrameSettings, MapPoseSettings, SensorSettings

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
