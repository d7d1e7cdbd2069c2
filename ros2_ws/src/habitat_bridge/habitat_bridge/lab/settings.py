"""The robots of a lab and how they speak: names, bodies, frames; as the lab's node is told them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from coterie_core.geometry import Pose
from habitat_bridge.roster import PoseSpec, RobotSpec


class LabRobot(RobotSpec):
    """A robot of the lab.

    `tf`: `own` is Nav2's way, `/<robot>/tf` with plain frames; `shared` is one `/tf` with frames
    below the robot's name. `frames` holds other names of `map`, `odom` and `base_link`; all other
    frames then have what stands before the last / of the base's. `map_origin` is where the robot's
    own map frame lies in the house. `planners` are the plugins of its planner_server: where
    there are several, a goal has to name one. `names` holds topics, services and actions that have
    another name than usual, by the usual one; `detections` the types of a detector's messages that
    are not `vision_msgs/Detection2DArray`, by camera.
    """

    tf: Literal["own", "shared"] = "own"
    map_origin: PoseSpec = PoseSpec(x=0.0, y=0.0)
    arm_group: str = "arm"
    tip_link: str = ""
    finger_joints: tuple[str, ...] = ()
    gripper: Literal["gripper_command", "parallel"] = "gripper_command"
    moveit: bool = True
    dock: str = Field("home", max_length=60)
    stamped_velocity: bool = False
    planners: tuple[str, ...] = ("GridBased",)
    names: dict[str, str] = Field(default_factory=dict)
    frames: dict[str, str] = Field(default_factory=dict)
    detections: dict[str, str] = Field(default_factory=dict)

    @property
    def origin(self) -> Pose:
        """The robot's map frame in the house."""
        at = self.map_origin
        return Pose((at.x, at.y, at.z), at.yaw)

    def topic(self, name: str) -> str:
        """Return the name of one of its topics, services or actions."""
        return self.names.get(name, f"{self.name}/{name}")

    def frame(self, name: str) -> str:
        """Return the name of one of its frames in tf."""
        if name in self.frames:
            return self.frames[name]
        before = self.name if self.tf == "shared" else ""
        if "base_link" in self.frames:
            before = self.frames["base_link"].rpartition("/")[0]
        return f"{before}/{name}" if before else name

    @property
    def map_frame(self) -> str:
        """Name of the frame of its map."""
        if "map" in self.frames:
            return self.frames["map"]
        at = self.map_origin
        moved = any((at.x, at.y, at.z, at.yaw))
        return f"{self.name}/map" if self.tf == "shared" and moved else "map"
