"""Backends: what an adapter drives its robot with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coterie_core.embodiment import Embodiment
from robot_adapters.backends.base import ArmBackend, NavigationBackend, Whereabouts

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.settings import AdapterSettings


def navigation_of(
    node: AgentNode, settings: AdapterSettings, where: Whereabouts
) -> NavigationBackend | None:
    """Return what drives a robot's base; None where it does not move."""
    kind = settings.navigation.backend
    if kind == "nav2":
        from robot_adapters.backends.nav2 import Nav2Navigation

        return Nav2Navigation(node, settings.navigation, where)
    if kind == "skills":
        from robot_adapters.backends.skills import SkillsNavigation

        return SkillsNavigation(node, settings.navigation, where)
    return None


def arm_of(
    node: AgentNode, settings: AdapterSettings, body: Embodiment, urdf: str, where: Whereabouts
) -> ArmBackend | None:
    """Return what moves a robot's arm; None where it has none.

    Raises:
        ValueError: The settings do not fit to the robot.
    """
    kind = settings.arm.backend
    if kind == "skills":
        from robot_adapters.backends.skills import SkillsArm

        return SkillsArm(node, settings.arm, where)
    return None
