"""Names of a robot's actions and topics, as its settings give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robot_adapters.settings import AdapterSettings
    from robot_adapters.settings_motion import ArmSettings, NavigationSettings

LOOK = "driver/manipulate"
"""Action by which a robot's own node looks around."""

CONTROLLERS = ("controller_server", "controller_plugins")
PLANNERS = ("planner_server", "planner_plugins")
"""Nodes of Nav2 below its namespace, and the parameter that names their plugins."""
OWN_SPEEDS = ("desired_linear_vel", "max_linear_vel", "vx_max", "max_vel_x", "v_linear_max")
"""Parameters by which controllers have a speed of their own: Regulated Pure Pursuit, its newer
name, MPPI, DWB, Graceful."""

_NAV2_OUTER = (
    "navigate_to_pose",
    "navigate_through_poses",
    "follow_waypoints",
    "follow_gps_waypoints",
    "dock_robot",
    "undock_robot",
)
"""Actions of Nav2 that have other actions do what moves the base, or move it themselves."""
_NAV2_INNER = ("follow_path", "spin", "backup", "drive_on_heading", "assisted_teleop", "wait")
"""Actions of Nav2 that others use; they go on where who asked them is gone."""


def joined(namespace: str | None, name: str, robot: str = "") -> str:
    """Return a name below a namespace of a team file; one that begins with / stands.

    Args:
        namespace: None: that of the robot; "" or "/": none, the name is at the root.
        name: The name.
        robot: Name of the robot; "": the name stays relative to its namespace.
    """
    if name.startswith("/"):
        return name
    space = robot if namespace is None else namespace.rstrip("/")
    return f"{space}/{name}" if space or namespace is not None else name


def drive_action(navigation: NavigationSettings) -> str:
    """Return the name of the action that drives to a pose; empty: the backend has none."""
    usual = {"nav2": "navigate_to_pose", "skills": "driver/navigate_to"}.get(navigation.backend, "")
    return joined(navigation.namespace, navigation.action or usual) if usual else ""


def arm_action(arm: ArmSettings) -> str:
    """Return the name of the action that moves the arm; empty: the backend has none."""
    usual = {
        "moveit": "move_action",
        "trajectory": "arm_controller/follow_joint_trajectory",
        "skills": LOOK,
    }.get(arm.backend, "")
    return joined(arm.namespace, arm.action or usual) if usual else ""


def velocity_topic(navigation: NavigationSettings) -> str:
    """Return the name of the topic of velocity commands; empty: the adapter knows none."""
    if navigation.backend == "velocity":
        return joined(navigation.namespace, navigation.cmd_vel or "cmd_vel")
    if navigation.backend == "nav2" and navigation.cmd_vel:
        return joined(navigation.namespace, navigation.cmd_vel)
    return ""


def execution_event(arm: ArmSettings) -> str:
    """Return the name of the topic that ends what MoveIt executes; empty: there is no MoveIt."""
    return joined(arm.namespace, "trajectory_execution_event") if arm.backend == "moveit" else ""


def base_actions(navigation: NavigationSettings) -> tuple[str, ...]:
    """Return the names of all actions whose goals may move a base, ordered as below."""
    names = [drive_action(navigation)]
    if navigation.backend == "nav2":
        names += [joined(navigation.namespace, name) for name in (*_NAV2_OUTER, *_NAV2_INNER)]
    elif navigation.backend == "skills":
        names.append(joined(navigation.namespace, LOOK))
    return tuple(dict.fromkeys(filter(None, names)))


def moving_actions(settings: AdapterSettings) -> tuple[str, ...]:
    """Return the names of all actions whose goals may move a robot, whoever sends them.

    Those that use others come first: what is left of an inner goal does not come back then.
    """
    base, arm = settings.navigation, settings.arm
    names = [drive_action(base), arm_action(arm), *base_actions(base)]
    if arm.backend == "moveit":
        # The last one is what MoveIt's set-up assistant calls the controller of a group.
        own = ("execute_trajectory", f"{arm.group}_controller/follow_joint_trajectory")
        names += [joined(arm.namespace, name) for name in own]
    if arm.backend in ("moveit", "trajectory") and arm.gripper.backend != "none":
        names.append(joined(arm.namespace, arm.gripper.action))
    return tuple(dict.fromkeys(filter(None, names)))
