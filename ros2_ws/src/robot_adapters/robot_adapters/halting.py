"""What halts a robot that is driven as its adapter's settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coterie_ros.halting import Halt
from robot_adapters.names import execution_event, moving_actions, velocity_topic

if TYPE_CHECKING:
    from robot_adapters.settings import AdapterSettings


def halt_of(node: Any, settings: AdapterSettings, *, listens: bool = True) -> Halt:
    """Return what cancels all that may move a robot, whoever sent it.

    Args:
        node: The rclpy node whose clients and publishers it has, in the robot's namespace.
        settings: How the robot is driven.
        listens: As of Halt.
    """
    return Halt(
        node,
        moving_actions(settings),
        velocity=velocity_topic(settings.navigation),
        stamped=settings.navigation.stamped_velocity,
        frame=settings.frames.base,
        event=execution_event(settings.arm),
        listens=listens,
    )
