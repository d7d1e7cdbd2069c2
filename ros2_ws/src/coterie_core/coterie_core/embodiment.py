"""Body and abilities of a robot, as far as worlds and planners need them."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from coterie_core.geometry import Pose, Vec3, relative
from coterie_core.workspace import Workspace

MobilityKind = Literal["wheels", "tracks", "legs", "air", "fixed"]


class Camera(BaseModel):
    """A camera fixed to the body: mount height and offset ahead [m], pitch [rad], down positive."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = "camera"
    width: int = Field(256, ge=8, le=4096, description="image columns [px]")
    height: int = Field(256, ge=8, le=4096, description="image rows [px]")
    hfov: float = Field(math.radians(90), gt=0.05, lt=3.1, description="horizontal field [rad]")
    mount_height: float = Field(1.2, ge=0.0, le=5.0, description="above base_link [m]")
    mount_forward: float = Field(0.0, ge=-2.0, le=2.0, description="ahead of base_link [m]")
    pitch: float = Field(0.2, ge=-1.58, le=1.58, description="down positive [rad]")
    lift: float = Field(
        0.0, ge=0.0, le=3.0, description="how much higher its joints take it to look closely [m]"
    )
    near: float = Field(0.05, gt=0.0, description="closest depth [m]")
    far: float = Field(8.0, gt=0.0, description="farthest depth [m]")

    @property
    def vfov(self) -> float:
        """Vertical field of view [rad] with square pixels."""
        return 2.0 * math.atan(math.tan(self.hfov / 2.0) * self.height / self.width)

    @property
    def focal(self) -> float:
        """Focal length [px]: x / (2 tan(FOV / 2))."""
        return self.width / (2.0 * math.tan(self.hfov / 2.0))

    def shows(self, body: Pose, point: Vec3) -> bool:
        """Tell whether a point [m] lies in the image, unless something hides it.

        Args:
            body: Pose of the robot's base.
            point: Position in the same frame [m].
        """
        x, y, z = relative(body, Pose(point)).position
        x, z = x - self.mount_forward, z - self.mount_height
        c, s = math.cos(self.pitch), math.sin(self.pitch)
        depth, up = c * x - s * z, s * x + c * z
        if not self.near <= depth <= self.far:
            return False
        wide, high = math.tan(self.hfov / 2.0), math.tan(self.vfov / 2.0)
        return abs(y) <= wide * depth and abs(up) <= high * depth


class Arm(BaseModel):
    """Where a hand can be: radius [m] from the base axis, heights [m] above the floor.

    A cylinder; with `workspace`, which a robot's URDF tells, exactly what the arm reaches.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    reach: float = Field(0.8, gt=0.0, le=5.0)
    min_height: float = Field(0.0, ge=0.0)
    max_height: float = Field(1.2, gt=0.0)
    payload: float = Field(1.0, gt=0.0, description="[kg]")
    workspace: Workspace | None = None

    def reaches(self, radius: float, height: float) -> bool:
        """Whether the hand can be `radius` [m] from the base axis at `height` [m]."""
        if self.workspace is not None:
            return self.workspace.contains(radius, height)
        return radius <= self.reach and self.min_height <= height <= self.max_height

    def workspace_trouble(self, radius: float, height: float, slack: float = 0.0) -> str:
        """Say why the hand cannot be at a radius and height [m], to within `slack` ("": it can).

        A cylinder has no more limits than its reach and heights; what a URDF tells has.
        """
        space = self.workspace
        if space is None:
            return ""
        tries = [(r, h) for h in (0.0, -slack, slack) for r in (0.0, -slack, slack)]
        if any(space.contains(max(radius + r, 0.0), height + h) for r, h in tries):
            return ""
        radii = space.radii_at(height)
        where = f"{radius:.2f} m away and {height:.2f} m above the floor"
        if radii is None:
            return f"{where}; at that height this arm reaches nothing"
        if radius < radii[0]:
            return f"{where}; at that height this arm reaches from {radii[0]:.2f} m on: step back"
        span = f"{radii[0]:.2f} to {radii[1]:.2f} m"
        return f"{where}; at that height this arm reaches {span}: go nearer"


class Embodiment(BaseModel):
    """A robot's body: how it moves, how large it is, what it sees with and grasps with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    mobility: MobilityKind = "wheels"
    radius: float = Field(0.25, gt=0.0, le=2.0, description="of the footprint [m]")
    height: float = Field(1.2, gt=0.0, le=3.0, description="[m]")
    step_height: float = Field(0.02, ge=0.0, le=0.5, description="highest riser it climbs [m]")
    linear_speed: float = Field(0.6, gt=0.0, le=10.0, description="[m/s]")
    angular_speed: float = Field(1.5, gt=0.0, le=12.0, description="[rad/s]")
    flight_height: float = Field(0.0, ge=0.0, le=3.0, description="of base_link; air only [m]")
    cameras: tuple[Camera, ...] = (Camera(),)
    arm: Arm | None = None

    @property
    def climbs_stairs(self) -> bool:
        """Whether house stairs (risers 0.15-0.20 m) are no obstacle."""
        return self.mobility == "air" or (self.mobility == "legs" and self.step_height >= 0.15)
