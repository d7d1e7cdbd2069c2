"""What a team file expects of a real robot: topics, servers, frames; ROS-free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from coterie_ros.names import as_remapped
from robot_adapters.names import CONTROLLERS, joined
from robot_adapters.settings import AdapterSettings
from robot_adapters.settings_sensing import CameraSettings

Own = Callable[..., str]

TRIGGER = "std_srvs/srv/Trigger"
GET_PARAMETERS = "rcl_interfaces/srv/GetParameters"
MANIPULATE = "coterie_msgs/action/Manipulate"


@dataclass(frozen=True, slots=True)
class ExpectedTopic:
    """A topic that the adapter listens to.

    Attributes:
        name: Full name.
        type: Type of its messages, such as `sensor_msgs/msg/Image`.
        qos: Name of the adapter's QoS profile.
        role: What it is: depth, info, color, detections, detections.info, detections.label_info,
            map, battery, pose, where (of the base, instead of tf), scan, joints, paused, tf or
            tf_static.
        camera: Name of its camera, if it has one.
        steady: Whether messages come all the time; else one may be enough.
        needed: Whether the robot cannot work without it.
        field: Its place in the team file.
        ours: Whether a node of the team publishes it, which runs only with the team.
    """

    name: str
    type: str
    qos: str
    role: str
    field: str
    camera: str = ""
    steady: bool = True
    needed: bool = True
    ours: bool = False


@dataclass(frozen=True, slots=True)
class ExpectedServer:
    """An action or a service that the adapter calls, or a topic that somebody has to listen to.

    Attributes:
        name: Full name.
        type: Type, such as `nav2_msgs/action/NavigateToPose`.
        kind: Whether it is an action, a service, or a topic with a listener.
        needed: Whether the robot cannot work without it.
        field: Its place in the team file.
        lifecycle: Whether it tells, as Nav2's lifecycle manager does, if all is active.
    """

    name: str
    type: str
    kind: Literal["action", "service", "listener"]
    field: str
    needed: bool = True
    lifecycle: bool = False


@dataclass(frozen=True, slots=True)
class Expected:
    """All that a team file expects of one robot.

    Attributes:
        robot: Its name.
        topics: What the adapter listens to.
        servers: What it calls.
        frames: Names of map, odometry ("": none) and base frame, without a slash in front.
        tf: Full name of the topic of transforms.
        max_offset: How far stamps may lie ahead of the clock here [s].
        pose: Full name of the topic that tells the pose instead of tf; "": tf tells.
        mounted: Names of cameras, and "scan", whose place on the base the team file tells.
        named: Names of cameras whose detector's class identifiers have labels.
        clock: Full name of the topic of simulated time.
        joints: Names of the joints that `joint_states` has to tell; none: not known.
        namespace: The team's.
        team: Names of all robots of the team.
        speed: Highest speed by its limits [m/s]; None: they have none.
    """

    robot: str
    topics: tuple[ExpectedTopic, ...]
    servers: tuple[ExpectedServer, ...]
    frames: tuple[str, str, str] = ("map", "odom", "base_link")
    tf: str = "/tf"
    max_offset: float = 0.5
    pose: str = ""
    mounted: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    clock: str = "/clock"
    joints: tuple[str, ...] = ()
    namespace: str = ""
    team: tuple[str, ...] = ()
    speed: float | None = None


def full_name(name: str, robot: str, namespace: str, inner: str | None = None) -> str:
    """Return the full name of a topic or server of a team file.

    Args:
        name: As the file has it: with / in front it is full already.
        robot: Name of the robot, below whose namespace it is otherwise.
        namespace: The team's.
        inner: Namespace that the section gives, see `joined`.
    """
    below = joined(inner, name, robot)
    if below.startswith("/"):
        return below
    return f"/{namespace}/{below}" if namespace else f"/{below}"


def expected_of(
    robot: str,
    settings: AdapterSettings,
    namespace: str = "",
    ways: str = "",
    speed: float | None = None,
) -> Expected:
    """Return what a team file's `adapter` section expects.

    Args:
        robot: Name of the robot.
        settings: Its adapter.
        namespace: The team's.
        ways: Section for which it matters which way the robot drives, such as `limits.keep_out`:
            its adapter drives only where a planner tells that. "": there is none.
        speed: Highest speed by its limits [m/s]; None: they have none.
    """
    place = f"robots.{robot}.adapter"

    def own(name: str, inner: str | None = None) -> str:
        return full_name(name, robot, namespace, inner)

    tf = as_remapped(own(settings.frames.tf), namespace)
    fixed = as_remapped(f"{own(settings.frames.tf)}_static", namespace)
    pose = own(settings.frames.pose) if settings.frames.pose else ""
    topics = [
        ExpectedTopic(
            tf, "tf2_msgs/msg/TFMessage", "tf", "tf", f"{place}.frames.tf", needed=not pose
        ),
        ExpectedTopic(
            fixed, "tf2_msgs/msg/TFMessage", "tf_static", "tf_static",
            f"{place}.frames.tf", steady=False, needed=False,
        ),
    ]  # fmt: skip
    if pose:
        kind = settings.frames.pose_type.replace("/", "/msg/")
        at = f"{place}.frames.pose"
        topics.append(ExpectedTopic(pose, kind, "sensor_data", "where", at))
    sensors = settings.sensors
    if sensors.map_topic:
        topics.append(
            ExpectedTopic(
                own(sensors.map_topic), "nav_msgs/msg/OccupancyGrid", "latched", "map",
                f"{place}.sensors.map", steady=False,
            )
        )  # fmt: skip
    if sensors.battery:
        topics.append(
            ExpectedTopic(
                own(sensors.battery), "sensor_msgs/msg/BatteryState", "sensor_data", "battery",
                f"{place}.sensors.battery", needed=False,
            )
        )  # fmt: skip
    for camera in sensors.all_cameras():
        topics += _camera(camera, own, f"{place}.sensors")
    arm, base = _arm(settings, own, place), settings.navigation
    known = {server.name for server in arm}
    servers = [*(s for s in _navigation(settings, own, place, ways) if s.name not in known), *arm]
    if base.backend == "velocity" and base.obstacles == "scan":
        topics.append(
            ExpectedTopic(
                own(base.scan, base.namespace), "sensor_msgs/msg/LaserScan", "sensor_data", "scan",
                f"{place}.navigation.scan",
            )
        )  # fmt: skip
    if base.backend == "nav2" and base.localization:
        # The adapter listens to who keeps the last message, as amcl does, and to who keeps none.
        topics.append(
            ExpectedTopic(
                own(base.localization, base.namespace),
                "geometry_msgs/msg/PoseWithCovarianceStamped", "odometry", "pose",
                f"{place}.navigation.localization", steady=False, needed=False,
            )
        )  # fmt: skip
    if base.backend in ("nav2", "velocity") and base.paused:
        topics.append(
            ExpectedTopic(
                own(base.paused, base.namespace), "std_msgs/msg/Bool", "messages", "paused",
                f"{place}.navigation.paused", steady=False, needed=False,
            )
        )  # fmt: skip
    if settings.arm.backend == "trajectory":
        topics.append(
            ExpectedTopic(
                own(settings.arm.joint_states, settings.arm.namespace),
                "sensor_msgs/msg/JointState", "sensor_data", "joints",
                f"{place}.arm.joint_states",
            )
        )  # fmt: skip
    frames, cameras = settings.frames, sensors.all_cameras()
    if speed is not None and base.backend == "nav2":
        servers.append(
            ExpectedServer(
                own(f"{CONTROLLERS[0]}/get_parameters", base.namespace), GET_PARAMETERS, "service",
                "limits.speed",
            )
        )  # fmt: skip
    return Expected(
        robot,
        tuple(topics),
        tuple(servers),
        (frames.map, frames.odom, frames.base),
        tf,
        sensors.max_offset,
        pose,
        frozenset(
            [camera.name for camera in cameras if camera.mount is not None]
            + (["scan"] if base.scan_mount is not None else [])
        ),
        frozenset(c.name for c in cameras if c.detections.labels or c.detections.label_info),
        as_remapped("/clock", namespace),
        namespace=namespace,
        team=(robot,),
        speed=speed,
    )


def _camera(camera: CameraSettings, own: Own, place: str) -> list[ExpectedTopic]:
    topics: list[ExpectedTopic] = []

    def add(
        name: str, kind: str, qos: str, role: str, *, steady: bool = True, needed: bool = True,
        ours: bool = False,
    ) -> None:  # fmt: skip
        if name:
            at = f"{place}.{role}"
            topics.append(
                ExpectedTopic(own(name), kind, qos, role, at, camera.name, steady, needed, ours)
            )

    def image(topic: str) -> str:
        packed = "compressed" in topic.lower()
        return "sensor_msgs/msg/CompressedImage" if packed else "sensor_msgs/msg/Image"

    add(camera.depth, image(camera.depth), "sensor_data", "depth")
    ours = bool(camera.detections.detector)
    add(camera.color, image(camera.color), "sensor_data", "color", needed=ours)
    # Some send it once, and keep it for who comes late.
    model = partial(add, kind="sensor_msgs/msg/CameraInfo", qos="sensor_data", steady=False)
    model(camera.info, role="info")
    found = camera.detections
    add(found.topic, found.type.replace("/", "/msg/"), "detections", "detections",
        needed=not ours, ours=ours)  # fmt: skip
    if found.info != camera.info:
        model(found.info, role="detections.info")
    if found.topic and found.type.startswith("vision_msgs/"):
        add(
            found.label_info, "vision_msgs/msg/LabelInfo", "latched", "detections.label_info",
            steady=False, needed=not found.labels,
        )  # fmt: skip
    return topics


def _navigation(settings: AdapterSettings, own: Own, place: str, ways: str) -> list[ExpectedServer]:
    base, at = settings.navigation, f"{place}.navigation"
    if base.backend == "none":
        return []
    twist = f"geometry_msgs/msg/{'TwistStamped' if base.stamped_velocity else 'Twist'}"
    wheels = ExpectedServer(
        own(base.cmd_vel or "cmd_vel", base.namespace), twist, "listener", f"{at}.cmd_vel",
        needed=base.backend == "velocity",
    )  # fmt: skip
    if base.backend == "velocity":
        return [wheels]
    if base.backend == "skills":
        name = own(base.action or "driver/navigate_to", base.namespace)
        look = own("driver/manipulate", base.namespace)  # which looks around, too
        return [
            ExpectedServer(name, "coterie_msgs/action/NavigateTo", "action", at),
            ExpectedServer(look, MANIPULATE, "action", f"{at}.namespace", needed=False),
        ]
    name = own(base.action or "navigate_to_pose", base.namespace)
    servers = [ExpectedServer(name, "nav2_msgs/action/NavigateToPose", "action", at)]
    if base.cmd_vel:  # a stop sends zeros there
        servers.append(wheels)
    if base.check_path or ways:
        path = own("compute_path_to_pose", base.namespace)
        kind = "nav2_msgs/action/ComputePathToPose"
        field = ways or f"{at}.check_path"
        servers.append(ExpectedServer(path, kind, "action", field, needed=bool(ways)))
    if base.look_around == "spin":
        spin = own("spin", base.namespace)
        kind = "nav2_msgs/action/Spin"
        servers.append(ExpectedServer(spin, kind, "action", f"{at}.look_around", needed=False))
    if base.dock:
        dock = own("dock_robot", base.namespace)
        servers.append(
            ExpectedServer(dock, "nav2_msgs/action/DockRobot", "action", f"{at}.dock", needed=False)
        )
    if base.lifecycle:
        manager = own(f"{base.lifecycle}/is_active", base.namespace)
        servers.append(
            ExpectedServer(manager, TRIGGER, "service", f"{at}.lifecycle", lifecycle=True)
        )
    return servers


def _arm(settings: AdapterSettings, own: Own, place: str) -> list[ExpectedServer]:
    arm, at = settings.arm, f"{place}.arm"
    usual = {
        "moveit": ("move_action", "moveit_msgs/action/MoveGroup"),
        "trajectory": (
            "arm_controller/follow_joint_trajectory",
            "control_msgs/action/FollowJointTrajectory",
        ),
        "skills": ("driver/manipulate", MANIPULATE),
    }
    if arm.backend == "none":
        return []
    name, kind = usual[arm.backend]
    servers = [ExpectedServer(own(arm.action or name, arm.namespace), kind, "action", at)]
    if arm.backend == "moveit" and arm.scene:
        for scene, does in ((arm.scene, "Apply"), (arm.scene_told, "Get")):
            name, kind = own(scene, arm.namespace), f"moveit_msgs/srv/{does}PlanningScene"
            servers.append(ExpectedServer(name, kind, "service", f"{at}.scene", needed=False))
    hand = {
        "gripper_command": "control_msgs/action/GripperCommand",
        "parallel_gripper": "control_msgs/action/ParallelGripperCommand",
    }
    if arm.backend != "skills" and arm.gripper.backend in hand:
        gripper = own(arm.gripper.action, arm.namespace)
        kind = hand[arm.gripper.backend]
        servers.append(ExpectedServer(gripper, kind, "action", f"{at}.gripper.action"))
    return servers
