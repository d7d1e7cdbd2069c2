"""Settings of what moves a robot: base, arm, gripper, battery."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import Field, model_validator

from coterie_core.settings import Settings
from robot_adapters.settings_base import MountSettings, RosName


class NavigationSettings(Settings):
    """What drives the base."""

    backend: Literal["nav2", "velocity", "skills", "none"] = Field(
        "nav2",
        description="Backend of the base; nav2: actions of Nav2; velocity: the adapter drives by "
        "cmd_vel over the map; skills: the robot's own node serves coterie_msgs/NavigateTo; none: "
        "it does not move.",
    )
    namespace: RosName | None = Field(
        None,
        description="Namespace of the actions of the base, below the team's, or with / in front; "
        "none: that of the robot; empty or /: the root.",
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
    planner_id: str = Field(
        "",
        description="Name of the planner of Nav2 that is asked for paths; empty: its only one, or "
        "the first one of its planner server.",
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
    lost_after: float = Field(
        2.0,
        ge=0.0,
        le=60.0,
        description="Longest time that the position of the robot may be unknown while it does "
        "something, where limits say where it may be [s]; it counts from when tf is stale (1 s).",
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
    obstacles: Literal["scan", "depth", "none"] = Field(
        "scan",
        description="Sensor that backend velocity sees obstacles with; scan: a LaserScan; depth: "
        "the cameras' depth images; none: nothing, it then drives into what the map does not know.",
    )
    scan: RosName = Field("scan", description="Topic of the laser scan (sensor_msgs/LaserScan).")
    scan_mount: MountSettings | None = Field(
        None, description="Pose of the laser scanner on the base; none: tf tells."
    )
    speed: float = Field(
        0.4, gt=0.0, le=5.0, description="Highest speed that backend velocity commands [m/s]."
    )
    turn_speed: float = Field(
        0.8, gt=0.0, le=6.0, description="Highest turn rate that backend velocity commands [rad/s]."
    )
    stop_distance: float = Field(
        0.15,
        ge=0.02,
        le=2.0,
        description="Distance from its body to an obstacle at which backend velocity stops [m].",
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
        description="Name of the gripper's joint, which parallel_gripper needs; empty: none, as "
        "with gripper_command.",
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
    namespace: RosName | None = Field(
        None,
        description="Namespace of the actions of the arm, below the team's, or with / in front; "
        "none: that of the robot; empty or /: the root.",
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
        description="MoveIt's name of the robot's base frame, where that differs from "
        "`frames.base`; empty: the same.",
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
    handles: Literal["none", "seen", "front"] = Field(
        "none",
        description="Place where the hand takes hold of furniture to open it; seen: at handles "
        "that a detector names; front: anywhere on its front, where bars go across fronts; none: "
        "it opens nothing.",
    )
    pull: float = Field(
        0.15,
        ge=0.1,
        le=1.0,
        description="Distance by which a handle is pulled to open furniture, straight [m].",
    )
    carry: dict[str, float] = Field(
        {},
        description="Posture that the arm takes before the robot drives, each joint's position in "
        "rad or m; empty: it stays as its last skill left it, outstretched for example.",
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

    def check_carry(self, joints: Collection[str]) -> None:
        """Compare `carry` with the joints that an arm has.

        Raises:
            ValueError: It names another one.
        """
        if unknown := sorted(set(self.carry) - set(joints)):
            raise ValueError(
                f"arm.carry: the arm has no joint {unknown[0]!r}; it has {', '.join(joints)}"
            )

    @property
    def scene_told(self) -> str:
        """Name of the service that tells what is in MoveIt's scene: it lies beside `scene`."""
        before, slash, _ = self.scene.rpartition("/")
        return f"{before}{slash}get_planning_scene"


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
    silence: float = Field(
        60.0,
        gt=0.0,
        le=86400.0,
        description="Longest time without a charge on sensors.battery, where that is named, after "
        "which new work is refused [s].",
    )
    unit: Literal["auto", "fraction", "percent"] = Field(
        "auto",
        description="Unit of percentage in sensors.battery; fraction: 0 to 1, as the message has "
        "it; percent: 0 to 100; auto: percent once a value was above 1, and new work is refused "
        "while all that came is 1, which may be either.",
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
