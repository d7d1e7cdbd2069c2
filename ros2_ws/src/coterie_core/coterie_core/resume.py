"""A robot's resume: what its body can do, in numbers with their evidence and in words (EMOS).

The JSON that `./coterie resume --json` prints and `<robot>/resume` carries; docs/resume.md
describes every field. Lengths [m], angles [rad], frames REP-103; heights are above the floor the
robot stands on (for flyers above base_link, which hovers at `mobility.flight_height`).
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from coterie_core.embodiment import Arm, Camera, Embodiment, MobilityKind
from coterie_core.workspace import Workspace

SCHEMA = "coterie.resume/1"

Angle = Annotated[float, Field(ge=-20.0, le=20.0)]
Interval = tuple[Angle, Angle]
WIDEST = math.radians(100.0)
"""Largest vertical field that a camera gets in a world by pitching [rad]."""
_DOWN = 0.3  # [rad] that a robot looks down at its work


Length = Annotated[float, Field(ge=-100.0, le=100.0)]
"""A coordinate or length of a robot; beyond is a mistake of units [m]."""

Depth = Annotated[float, Field(gt=0.0, le=10_000.0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Section(_Part):
    summary: str = Field("", description="in words, for models and people")
    evidence: dict[str, str] = Field(
        default_factory=dict,
        description="field -> how it was found: links, joints, a config file, or an assumption",
    )


class Mobility(_Section):
    """How the robot moves."""

    kind: MobilityKind
    radius: Length = Field(gt=0.0, description="of the circle about the footprint [m]")
    footprint: tuple[tuple[Length, Length], ...] = Field(
        (),
        max_length=10_000,
        description="convex outline (x, y) in base_link, counter-clockwise [m]",
    )
    height: Length = Field(gt=0.0, description="of the body in its resting posture [m]")
    step_height: float | None = Field(
        None, ge=0.0, description="highest riser it climbs [m]; null: cannot be told"
    )
    climbs_stairs: bool = Field(False, description="risers of 0.15-0.20 m are no obstacle")
    linear_speed: float = Field(0.5, gt=0.0, le=1000.0, description="[m/s]")
    angular_speed: float = Field(1.0, gt=0.0, le=1000.0, description="[rad/s]")
    flight_height: Length = Field(0.0, ge=0.0, description="of base_link; air only [m]")

    @property
    def passage_radius(self) -> float:
        """Half the width [m] that the body needs to pass: it goes through doors lengthwise.

        Half the footprint's narrowest width, as planners take the inscribed radius for the cost of
        a pose; a long body still turns in a circle of `radius`. Without a footprint, `radius`.
        """
        points = self.footprint
        if len(points) < 3:
            return self.radius
        narrowest = 2.0 * self.radius
        for (ax, ay), (bx, by) in zip(points, (*points[1:], points[0]), strict=True):
            length = math.hypot(bx - ax, by - ay)
            if length > 1e-9:
                # The narrowest strip about a convex outline lies along one of its edges.
                nx, ny = (ay - by) / length, (bx - ax) / length
                across = [nx * x + ny * y for x, y in points]
                narrowest = min(narrowest, max(across) - min(across))
        # A circle drawn with corners is a circle.
        return self.radius if narrowest > 1.94 * self.radius else max(narrowest / 2.0, 0.05)


class ResumeCamera(_Part):
    """A camera and what its joints let it see."""

    name: str
    link: str = Field(description="link that carries it")
    frame: str = Field(description="optical frame, or the link where there is none")
    mount: Literal["fixed", "movable", "arm"] = Field(
        description="fixed to the base, on joints of its own (pan, tilt, lift), or on an arm"
    )
    channels: tuple[Literal["rgb", "depth", "infrared"], ...] = ("rgb",)
    height: Length = Field(description="in the resting posture [m]")
    heights: tuple[Length, Length] = Field(description="lowest and highest over its joints [m]")
    forward: Length = Field(0.0, description="ahead of base_link in the resting posture [m]")
    hfov: float = Field(gt=0.0, description="horizontal field of view [rad]")
    vfov: float = Field(gt=0.0, description="vertical field of view [rad]")
    pitch: Angle = Field(0.0, description="resting posture; down positive [rad]")
    pitches: Interval = Field((0.0, 0.0), description="over its joints; down positive [rad]")
    yaws: Interval = Field((0.0, 0.0), description="over its joints, about base_link z [rad]")
    range: tuple[Depth, Depth] = Field((0.05, 8.0), description="nearest and farthest depth [m]")
    width: int = Field(256, ge=1, description="[px]")
    rows: int = Field(256, ge=1, description="[px]")


class Perception(_Section):
    """What the robot sees with."""

    cameras: tuple[ResumeCamera, ...] = ()
    others: dict[str, str] = Field(
        default_factory=dict, description="link -> kind of sensor: lidar, imu, sonar, ..."
    )


class ArmJoint(_Part):
    """A joint between base and hand."""

    name: str
    type: Literal["revolute", "continuous", "prismatic"]
    lower: float = Field(description="[rad] or [m]")
    upper: float = Field(description="[rad] or [m]")


class Gripper(_Part):
    """What grasps at the end of an arm."""

    link: str
    joints: tuple[str, ...] = ()
    opening: float | None = Field(None, ge=0.0, description="widest between the fingers [m]")


class ResumeArm(_Part):
    """An arm: its chain from the base to the hand, torso lifts included, and where it reaches."""

    name: str
    base_link: str
    tip_link: str
    joints: tuple[ArmJoint, ...]
    gripper: Gripper | None = None
    payload: float | None = Field(None, gt=0.0, description="[kg]; null: cannot be told")
    workspace: Workspace
    self_collision: bool = Field(
        False, description="samples in which the robot hits itself were left out"
    )


class Manipulation(_Section):
    """What the robot grasps with."""

    arms: tuple[ResumeArm, ...] = ()


class Resume(_Part):
    """What a robot's body can do."""

    format: str = Field(SCHEMA, alias="schema")
    robot: str
    mobility: Mobility
    perception: Perception = Perception()
    manipulation: Manipulation = Manipulation()
    summary: str = Field("", description="the three summaries in short")
    warnings: tuple[str, ...] = Field((), description="what was odd in the URDF, and the remedy")

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False
    )

    def to_json(self, indent: int | None = None) -> str:
        """Return the resume as JSON."""
        return self.model_dump_json(by_alias=True, indent=indent)

    @staticmethod
    def from_json(text: str | bytes) -> Resume:
        """Read a resume.

        Raises:
            pydantic.ValidationError: A field is wrong or missing.
        """
        return Resume.model_validate_json(text)

    @staticmethod
    def of_embodiment(body: Embodiment) -> Resume:
        """Return the resume of a robot that has no URDF: what its embodiment says, no more.

        An arm without a workspace is a cylinder. `embodiment()` of the result is `body` again, as
        far as cells of the workspace allow.
        """
        said = "from the embodiment"
        cameras = tuple(_resume_camera(camera) for camera in body.cameras)
        arms = () if body.arm is None else (_resume_arm(body.arm),)
        keys = ("kind", "radius", "height", "step_height", "linear_speed", "angular_speed")
        return Resume(
            robot=body.name,
            mobility=Mobility(
                kind=body.mobility,
                radius=body.radius,
                footprint=tuple(
                    (
                        round(body.radius * math.cos(math.pi * k / 8.0), 6),
                        round(body.radius * math.sin(math.pi * k / 8.0), 6),
                    )
                    for k in range(16)
                ),
                height=body.height,
                step_height=body.step_height,
                climbs_stairs=body.climbs_stairs,
                linear_speed=body.linear_speed,
                angular_speed=body.angular_speed,
                flight_height=body.flight_height,
                evidence=dict.fromkeys(keys, said) | {"footprint": f"{said}: its circle"},
            ),
            perception=Perception(cameras=cameras, evidence={"cameras": said}),
            manipulation=Manipulation(arms=arms, evidence={"arms": said}),
        )

    def embodiment(self) -> Embodiment:
        """Return the body as worlds and path planners need it.

        Of several arms the one that reaches farthest; cameras in the posture in which they rest.
        """
        body = self.mobility
        arms = sorted(self.manipulation.arms, key=lambda arm: -arm.workspace.reach)
        return Embodiment(
            name=self.robot,
            mobility=body.kind,
            radius=min(body.passage_radius, 2.0),
            height=min(body.height, 3.0),
            step_height=min(body.step_height or 0.0, 0.5),
            linear_speed=min(body.linear_speed, 10.0),
            angular_speed=min(body.angular_speed, 12.0),
            flight_height=min(body.flight_height, 3.0),
            cameras=tuple(_camera(camera) for camera in self.perception.cameras),
            arm=_arm(arms[0]) if arms else None,
        )


def _camera(camera: ResumeCamera) -> Camera:
    """The camera as worlds have it, fixed to the body.

    Worlds know no pan and tilt: a camera that its joints pitch gets the field that it sees by
    pitching, up to WIDEST, about a slight look down; turning is the base's doing.
    """
    hfov = min(max(camera.hfov, 0.06), 3.0)
    width, rows = min(max(camera.width, 8), 4096), min(max(camera.rows, 8), 4096)
    pitch = camera.pitch
    low, high = camera.pitches[0] - camera.vfov / 2.0, camera.pitches[1] + camera.vfov / 2.0
    if camera.mount != "fixed" and high - low > camera.vfov + 0.1:
        span = min(high - low, WIDEST)
        pitch = min(max(_DOWN, low + span / 2.0), high - span / 2.0)
        width = min(width, 256)
        rows = round(width * math.tan(span / 2.0) / math.tan(hfov / 2.0))
    return Camera(
        name=camera.name,
        width=width,
        height=min(max(rows, 8), 4096),
        hfov=hfov,
        mount_height=min(max(camera.height, 0.0), 5.0),
        mount_forward=min(max(camera.forward, -2.0), 2.0),
        pitch=min(max(pitch, -1.57), 1.57),
        lift=min(max(camera.heights[1] - camera.height, 0.0), 3.0),
        near=max(camera.range[0], 0.01),
        far=camera.range[1],
    )


def _arm(arm: ResumeArm) -> Arm:
    space = arm.workspace
    return Arm(
        reach=min(space.reach, 5.0),
        min_height=max(space.min_height, 0.0),
        max_height=max(space.max_height, 0.01),
        payload=arm.payload or 1.0,
        workspace=space,
    )


def _resume_camera(camera: Camera) -> ResumeCamera:
    height = camera.mount_height
    return ResumeCamera(
        name=camera.name,
        link="base_link",
        frame=f"{camera.name}_optical_frame",
        mount="fixed",
        channels=("rgb", "depth"),
        height=height,
        heights=(height, height),
        forward=camera.mount_forward,
        hfov=camera.hfov,
        vfov=camera.vfov,
        pitch=camera.pitch,
        pitches=(camera.pitch, camera.pitch),
        range=(camera.near, camera.far),
        width=camera.width,
        rows=camera.height,
    )


def _resume_arm(arm: Arm) -> ResumeArm:
    return ResumeArm(
        name="arm",
        base_link="base_link",
        tip_link="hand",
        joints=(),
        gripper=Gripper(link="hand"),
        payload=arm.payload,
        workspace=arm.workspace or _cylinder(arm),
    )


def _cylinder(arm: Arm, cell: float = 0.02) -> Workspace:
    """Return the cells whose middle an arm without a workspace reaches."""
    columns = max(round(arm.reach / cell), 1)
    low = round(arm.min_height / cell)
    high = max(round(arm.max_height / cell), low + 1)
    angles = np.arange(16) * (math.pi / 8.0)
    ring = [(arm.reach * math.cos(a), arm.reach * math.sin(a)) for a in angles.tolist()]
    return Workspace(
        cell=cell,
        bottom=low * cell,
        rows=(((0, columns - 1),),) * (high - low),
        hull=tuple(
            (round(x, 6), round(y, 6), z) for z in (arm.min_height, arm.max_height) for x, y in ring
        ),
    )
