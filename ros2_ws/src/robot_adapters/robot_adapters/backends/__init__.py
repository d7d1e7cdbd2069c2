"""Backends: what an adapter drives its robot with."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose
from coterie_core.skills import NavigateTo, SkillResult
from robot_adapters.backends.base import (
    AllowPath,
    ArmBackend,
    Feedback,
    NavigationBackend,
    Whereabouts,
    in_tf,
)

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from coterie_ros.halting import Halt
    from robot_adapters.backends.obstacles import Ground
    from robot_adapters.settings import AdapterSettings


class CarryingNavigation:
    """Drives as another backend does; before each motion the arm is drawn in, or nothing moves.

    Args:
        base: What drives the robot's base.
        arm: What moves its arm.
    """

    def __init__(self, base: NavigationBackend, arm: ArmBackend) -> None:
        self._base, self._arm = base, arm
        self.halt, self.ready, self.describe = base.halt, base.ready, base.describe
        self.limit_speed, self.limits_speed = base.limit_speed, base.limits_speed

    async def navigate(self, skill: NavigateTo, goal: Pose, feedback: Feedback) -> SkillResult:
        """Drive to a pose."""
        return await self._then(lambda: self._base.navigate(skill, goal, feedback))

    async def look_around(self, feedback: Feedback) -> SkillResult:
        """Turn once about the own axis."""
        return await self._then(lambda: self._base.look_around(feedback))

    async def dock(self) -> SkillResult:
        """Go to the dock and charge."""
        return await self._then(self._base.dock)

    async def undock(self) -> SkillResult:
        """Leave the dock."""
        return await self._then(self._base.undock)

    async def _then(self, motion: Callable[[], Awaitable[SkillResult]]) -> SkillResult:
        drawn_in = await self._arm.carry()
        return await motion() if drawn_in.ok else drawn_in


def backends_of(
    node: AgentNode,
    settings: AdapterSettings,
    body: Embodiment,
    where: Ground,
    halt: Halt,
    urdf: str,
    urdf_folder: str,
    allow: AllowPath,
    must_plan: bool,
) -> tuple[NavigationBackend | None, ArmBackend | None]:
    """Return what drives a robot's base and what moves its arm; None: it has none.

    Args:
        node: The adapter's node.
        settings: How.
        body: The robot's size and speed, and what its arm reaches.
        where: Where the robot and things are.
        halt: What ends every motion of the robot; of the thread of stops.
        urdf: Text of its URDF; empty: there is none.
        urdf_folder: Where the URDF's meshes may lie; empty: unknown.
        allow: Takes planned paths; raises SkillRefused where they must not be driven.
        must_plan: Nothing may be driven of which the path is not known: rooms are kept out of.

    Raises:
        ValueError: The settings do not fit to the robot.
    """
    base = _navigation_of(node, settings, body, where, halt, allow, must_plan)
    arm = _arm_of(node, settings, body, where, urdf, urdf_folder)
    if base is not None and arm is not None and settings.arm.carry:
        base = CarryingNavigation(base, arm)
    return base, arm


def _navigation_of(
    node: AgentNode,
    settings: AdapterSettings,
    body: Embodiment,
    where: Ground,
    halt: Halt,
    allow: AllowPath,
    must_plan: bool,
) -> NavigationBackend | None:
    kind = settings.navigation.backend
    if kind == "nav2":
        from robot_adapters.backends.nav2 import Nav2Navigation

        return Nav2Navigation(node, settings.navigation, where, halt, allow, must_plan)
    if kind == "velocity":
        from robot_adapters.backends.velocity import VelocityNavigation

        needs_map = bool(settings.sensors.map or settings.sensors.map_file)
        return VelocityNavigation(node, settings.navigation, where, body, needs_map, allow)
    if kind == "skills":
        from robot_adapters.backends.own_node import SkillsNavigation

        return SkillsNavigation(node, settings.navigation, where, allow, must_plan)
    return None


def _arm_of(
    node: AgentNode,
    settings: AdapterSettings,
    body: Embodiment,
    where: Whereabouts,
    urdf: str,
    urdf_folder: str,
) -> ArmBackend | None:
    kind = settings.arm.backend
    if kind == "skills":
        from robot_adapters.backends.own_node import SkillsArm

        return SkillsArm(node, settings.arm, where)
    if kind == "none":
        return None
    from robot_adapters.backends.arm import GraspingArm, Mover
    from robot_adapters.backends.gripper import GripperClient
    from robot_adapters.backends.opening import OpeningArm
    from robot_adapters.kinematics import Hand, arm_of_urdf

    arm, base = settings.arm, where.base_frame
    # Frames of one /tf for all robots have the robot's name in front; links of a URDF do not.
    plain = base.rpartition("/")[2]
    kinematics = arm_of_urdf(urdf, plain, arm.tip, urdf_folder) if urdf else None
    hand = Hand.of(kinematics) if kinematics is not None else Hand(arm.tip)
    mover: Mover
    if kind == "moveit":
        from robot_adapters.backends.moveit import MoveItMover

        if kinematics is None and not arm.tip:
            raise ValueError("arm.tip: name the link that grasps, or give the robot's urdf")
        mover = MoveItMover(node, arm, hand.pointing(arm.points), base)
    else:
        from robot_adapters.backends.trajectory import TrajectoryMover

        if kinematics is None:
            raise ValueError("arm.backend: trajectory needs the robot's urdf")
        mover = TrajectoryMover(node, arm, kinematics)
    gripper = None
    if arm.gripper.backend != "none":
        gripper = GripperClient(node, arm.gripper, arm.namespace, arm.server_timeout)
    reach = body.arm.reach if body.arm is not None else math.inf
    hand = replace(hand, link=in_tf(hand.link, base))
    kind_of_arm = GraspingArm if arm.handles == "none" else OpeningArm
    made = kind_of_arm(arm, mover, gripper, where, reach, hand)
    if kinematics is not None:
        made.links = tuple(in_tf(link, base) for link in kinematics.links)
    return made
