"""Settings of an adapter: what a team file's `adapter:` holds, and the node's parameters."""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from coterie_core.plain_data import schema_problems

_NAME = re.compile(r"/?[A-Za-z~][A-Za-z0-9_/{}]*|/?")

NAV2, MOVEIT = "nav2", "moveit"


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


class NavigationSettings(Settings):
    """What drives the base."""

    backend: Literal["nav2", "skills", "none"] = Field(
        "nav2",
        description="Backend of the base; nav2: actions of Nav2; skills: the robot's own node "
        "serves coterie_msgs/NavigateTo; none: it does not move.",
    )
    namespace: RosName = Field(
        "",
        description="Namespace of the actions of the base, below the team's, or with / in front; "
        "empty: that of the robot.",
    )
    action: RosName = Field(
        "",
        description="Name of the action that drives to a pose; empty: navigate_to_pose for nav2, "
        "driver/navigate_to for skills.",
    )
    timeout: float = Field(
        300.0, gt=0.0, le=86400.0, description="Longest time that one drive may take [s]."
    )
    stall_timeout: float = Field(
        30.0,
        gt=0.0,
        le=3600.0,
        description="Longest time without progress of a drive, after which it is cancelled [s].",
    )
    server_timeout: float = Field(
        5.0,
        gt=0.0,
        le=600.0,
        description="Longest time that a server may take to accept a goal or to answer, or may be "
        "away while a goal runs [s].",
    )
    check_path: bool = Field(
        True,
        description="A path is asked for with compute_path_to_pose before a drive, so that what "
        "cannot be reached is refused at once.",
    )
    lifecycle: RosName = Field(
        "lifecycle_manager_navigation",
        description="Name of the lifecycle manager that tells by is_active whether Nav2 is up; "
        "empty: it is not asked.",
    )
    max_position_spread: float = Field(
        0.5,
        gt=0.0,
        le=100.0,
        description="Largest standard deviation of the position of amcl_pose with which the robot "
        "counts as localized [m].",
    )
    max_yaw_spread: float = Field(
        0.5,
        gt=0.0,
        le=10.0,
        description="Largest standard deviation of the heading of amcl_pose with which the robot "
        "counts as localized [rad].",
    )
    localization: RosName = Field(
        "amcl_pose",
        description="Topic of the localized pose with its covariance; empty: none is waited for.",
    )
    look_around: Literal["spin", "goals", "none"] = Field(
        "spin",
        description="Way of looking around; spin: the action spin of Nav2; goals: drives on "
        "the spot; none: it cannot.",
    )
    look_on_arrival: bool = Field(
        True,
        description="The robot looks around after each drive that asks for no heading, as "
        "simulated robots do.",
    )
    goal_tolerance: float = Field(
        0.25,
        ge=0.0,
        le=5.0,
        description="Distance from a goal at which Nav2's goal checker is content [m].",
    )
    paused: RosName = Field(
        "",
        description="Topic (std_msgs/Bool) that tells that a person drives the robot or has paused "
        "it; empty: none.",
    )
    dock: str = Field(
        "", description="Name of the dock in Nav2's dock database; empty: the robot does not dock."
    )
    cmd_vel: RosName = Field(
        "cmd_vel",
        description="Topic of velocity commands that a stop sends zeros to; empty: none.",
    )
    stamped_velocity: bool = Field(
        False, description="Velocity commands are TwistStamped and not Twist."
    )


class GripperSettings(Settings):
    """What opens and closes the hand."""

    backend: Literal["gripper_command", "parallel_gripper", "none"] = Field(
        "gripper_command",
        description="Backend of the gripper; gripper_command: control_msgs/GripperCommand; "
        "parallel_gripper: control_msgs/ParallelGripperCommand; none: it has none.",
    )
    action: RosName = Field(
        "gripper_controller/gripper_cmd", description="Name of the action of the gripper."
    )
    joint: str = Field(
        "",
        description="Name of the gripper's joint, which parallel_gripper needs; empty: that of the "
        "URDF.",
    )
    open: float = Field(
        0.08, ge=-10.0, le=10.0, description="Position of the open gripper [m] or [rad]."
    )
    closed: float = Field(
        0.0, ge=-10.0, le=10.0, description="Position of the closed gripper [m] or [rad]."
    )
    effort: float = Field(
        20.0, ge=0.0, le=1000.0, description="Largest effort of a grasp [N]; 0: the driver's own."
    )
    tolerance: float = Field(
        0.003,
        gt=0.0,
        le=1.0,
        description="Difference to the closed position from which on something is held [m].",
    )
    timeout: float = Field(
        10.0, gt=0.0, le=600.0, description="Longest time that the gripper may take [s]."
    )


class ArmSettings(Settings):
    """What moves the arm."""

    backend: Literal["moveit", "trajectory", "skills", "none"] = Field(
        "none",
        description="Backend of the arm; moveit: the MoveGroup action; trajectory: "
        "FollowJointTrajectory with inverse kinematics of the URDF; skills: the robot's own node "
        "serves coterie_msgs/Manipulate; none: it has no arm, or must not use it.",
    )
    namespace: RosName = Field(
        "",
        description="Namespace of the actions of the arm, below the team's, or with / in front; "
        "empty: that of the robot.",
    )
    action: RosName = Field(
        "",
        description="Name of the arm's action; empty: move_action for moveit, "
        "arm_controller/follow_joint_trajectory for trajectory, driver/manipulate for skills.",
    )
    group: str = Field("arm", description="Name of MoveIt's planning group of the arm.")
    tip: str = Field(
        "", description="Name of the link that is moved to a grasp; empty: the URDF's hand."
    )
    points: Literal["auto", "any", "x", "y", "z"] = Field(
        "auto",
        description="Axis of the tip that points to what it grasps; auto: where the URDF's fingers "
        "end, else any.",
    )
    frame: str = Field(
        "",
        description="Frame that MoveIt plans in; empty: the robot's base frame.",
    )
    pipeline: str = Field(
        "", description="Name of MoveIt's planning pipeline; empty: MoveIt's default."
    )
    planning_time: float = Field(
        5.0, gt=0.0, le=120.0, description="Time that MoveIt may plan for [s]."
    )
    attempts: int = Field(
        3, ge=1, le=100, description="Number of MoveIt's planning attempts for one goal."
    )
    velocity: float = Field(
        0.5, gt=0.0, le=1.0, description="Fraction of the joints' largest velocity, 0 to 1."
    )
    approach: float = Field(
        0.12, ge=0.0, le=1.0, description="Distance to an object before and after a grasp [m]."
    )
    timeout: float = Field(
        60.0, gt=0.0, le=3600.0, description="Longest time that one motion may take [s]."
    )
    server_timeout: float = Field(
        5.0,
        gt=0.0,
        le=600.0,
        description="Longest time that a server may take to accept a goal, or may be away while "
        "a goal runs [s].",
    )
    joint_states: RosName = Field("joint_states", description="Topic of the arm's joint positions.")
    scene: RosName = Field(
        "apply_planning_scene",
        description="Service that takes collision objects; empty: none are given to MoveIt.",
    )
    scene_radius: float = Field(
        2.0,
        ge=0.0,
        le=20.0,
        description="Distance from the robot up to which objects of the semantic map are given to "
        "MoveIt [m]; 0: none are.",
    )
    gripper: GripperSettings = Field(
        GripperSettings(), description="Settings of what opens and closes the hand."
    )


class DetectorSettings(Settings):
    """Where detections of a camera come from."""

    topic: RosName = Field("", description="Topic of detections; empty: none.")
    type: Literal[
        "vision_msgs/Detection2DArray",
        "vision_msgs/Detection3DArray",
        "coterie_msgs/ImageDetections",
    ] = Field("vision_msgs/Detection2DArray", description="Type of the messages of the detector.")
    info: RosName = Field(
        "",
        description="Topic of the camera info of the images that the detector sees; empty: that of "
        "the camera.",
    )
    label_info: RosName = Field(
        "",
        description="Topic of a vision_msgs/LabelInfo that names the detector's class identifiers; "
        "empty: none.",
    )
    labels: dict[str, str] = Field(
        default_factory=dict,
        description="Labels by the detector's class identifiers, where it sends numbers; none: its "
        "identifiers are labels.",
    )


class CameraSettings(Settings):
    """One camera: its topics."""

    name: str = Field("camera", description="Name of the camera, for topics and diagnostics.")
    depth: RosName = Field("", description="Topic of depth images; empty: the camera has none.")
    info: RosName = Field("", description="Topic of the depth images' camera info; empty: none.")
    detections: DetectorSettings = Field(
        DetectorSettings(), description="Settings of the detections in the camera's images."
    )

    @model_validator(mode="after")
    def _whole(self) -> CameraSettings:
        if self.depth and not self.info:
            raise ValueError("depth needs info: the topic of its camera info")
        return self


class SensorSettings(Settings):
    """Where observations come from."""

    map: RosName = Field("map", description="Topic of the occupancy grid; empty: none.")
    cameras: tuple[CameraSettings, ...] = Field(
        (),
        description="List of the robot's cameras; none: the one that depth, info, detections name.",
    )
    depth: RosName = Field(
        "", description="Topic of depth images of the only camera; empty: see cameras."
    )
    info: RosName = Field(
        "", description="Topic of the camera info of the only camera; empty: see cameras."
    )
    detections: DetectorSettings = Field(
        DetectorSettings(), description="Settings of the detections of the only camera."
    )
    battery: RosName = Field(
        "battery_state", description="Topic of the battery's state; empty: it is not watched."
    )
    settle: float = Field(
        0.5,
        ge=0.0,
        le=10.0,
        description="Time for images of the last moment to come before an observation is made [s]; "
        "0: none.",
    )
    max_offset: float = Field(
        0.5,
        gt=0.0,
        le=60.0,
        description="Largest difference of a sensor's clock to the adapter's, beyond which its "
        "messages are refused [s].",
    )

    @model_validator(mode="after")
    def _one_way(self) -> SensorSettings:
        if self.cameras and (self.depth or self.info or self.detections.topic):
            raise ValueError("give either cameras, or depth, info and detections of the only one")
        if self.depth and not self.info:
            raise ValueError("depth needs info: the topic of its camera info")
        return self

    def all_cameras(self) -> tuple[CameraSettings, ...]:
        """Return the cameras, the only one as a list of one."""
        if self.cameras or not (self.depth or self.detections.topic):
            return self.cameras
        return (CameraSettings(depth=self.depth, info=self.info, detections=self.detections),)


class FrameSettings(Settings):
    """Names of the robot's frames, as its tf has them (REP-105)."""

    map: str = Field("map", description="Name of the frame of the robot's map.")
    odom: str = Field("odom", description="Name of the robot's odometry frame; empty: it has none.")
    base: str = Field("base_link", description="Name of the robot's base frame.")
    tf: RosName = Field(
        "/tf",
        description="Topic of the robot's transforms: /tf, or one of its own such as tf; that of "
        "fixed ones has _static behind.",
    )


class BatterySettings(Settings):
    """When the battery is low."""

    low: float = Field(
        0.15,
        ge=0.0,
        le=1.0,
        description="Fraction of the charge below which new work is refused, 0 to 1.",
    )
    enough: float = Field(
        0.3,
        ge=0.0,
        le=1.0,
        description="Fraction of the charge from which on work is taken again, 0 to 1.",
    )
    dock: bool = Field(
        True,
        description="A robot whose battery is low and that has nothing to do goes to its dock.",
    )

    @model_validator(mode="after")
    def _order(self) -> BatterySettings:
        if self.enough < self.low:
            raise ValueError(f"enough is {self.enough:g}: it must be at least low ({self.low:g})")
        return self


class MapPoseSettings(Settings):
    """Where the origin of the robot's map lies in the team's map."""

    x: float = Field(0.0, description="Position along x of the team's map [m].")
    y: float = Field(0.0, description="Position along y of the team's map [m].")
    z: float = Field(0.0, description="Height in the team's map [m].")
    yaw: float = Field(0.0, description="Heading about the z axis [rad], counter-clockwise from x.")


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
            value = values[name]
            inner[part] = json.loads(value) if kind == "json" and isinstance(value, str) else value
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
                parameters[name] = _as_json(value) if kind == "json" else value
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
            _as_json(value) if kind == "json" else value,
            (kind == "json"),
        )


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Give the dotted names of all fields that are no sections, and "json" for structured ones."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind, f"{prefix}{name}.")
        else:
            plain = kind in (bool, int, float, str) or typing.get_origin(kind) is Literal
            yield f"{prefix}{name}", "" if plain else "json"


def _at(settings: Any, name: str) -> Any:
    for part in name.split("."):
        settings = getattr(settings, part)
    return settings


def _as_json(value: Any) -> str:
    def plain(part: Any) -> Any:
        return part.model_dump(mode="json") if isinstance(part, BaseModel) else part

    if isinstance(value, tuple):
        return json.dumps([plain(part) for part in value])
    return json.dumps(plain(value))
