"""What this stack uses of rclpy without being promised it; a start without it is refused."""

from __future__ import annotations

import functools

from rclpy.action import ActionClient, ActionServer
from rclpy.action.client import ClientGoalHandle
from rclpy.action.server import ServerGoalHandle
from rclpy.lifecycle import LifecycleNode
from rclpy.service import Service

_USED: tuple[tuple[type, tuple[str, ...]], ...] = (
    (ActionClient, ("send_goal_async", "_cancel_goal_async", "is_ready", "take_data", "execute")),
    (ActionServer, ("notify_execute", "_execute_goal", "_send_result_response")),
    (ClientGoalHandle, ("cancel_goal_async", "get_result_async")),
    (ServerGoalHandle, ("_update_state", "is_cancel_requested")),
    (LifecycleNode, ("trigger_deactivate", "_LifecycleNodeMixin__change_state")),
    (Service, ("send_response",)),
)


@functools.cache
def require_private_rclpy() -> None:
    """Check once that this rclpy has what the ways of stops and goals go through.

    Raises:
        RuntimeError: Something is missing; names it.
    """
    missing = [
        f"{owner.__name__}.{name}"
        for owner, names in _USED
        for name in names
        if not hasattr(owner, name)
    ]
    if missing:
        raise RuntimeError(
            f"this rclpy lacks {', '.join(missing)}, which stops and goals go through; use rclpy "
            "7.1 of ROS 2 Jazzy"
        )
