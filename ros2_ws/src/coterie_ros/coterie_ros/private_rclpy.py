"""What this stack uses of rclpy without being promised it; a start without it is refused.

All the rest is rclpy's public interface. A private name that is used anew is added here.
"""

from __future__ import annotations

import functools
from importlib import metadata

from rclpy.action import ActionClient, ActionServer
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

_USED: tuple[tuple[type, str], ...] = (
    # Overridden: the executor runs them after the action was destroyed (`waitables`).
    (ActionServer, "_execute_goal"),
    (ActionServer, "_send_result_response"),
    # Forgotten when a goal is over: rclpy keeps them (`clients`).
    (ActionClient, "_feedback_callbacks"),
    # Answered late, and freed: rclpy does neither (`agent_node`).
    (LifecycleNode, "_service_change_state"),
    (LifecycleNode, "_state_machine"),
    # Names that were given and do not exist (`parameters`).
    (Node, "_parameter_overrides"),
)


@functools.cache
def require_private_rclpy() -> None:
    """Check once that this rclpy has what the stack uses of it without being promised it.

    Raises:
        RuntimeError: Something is missing; names it, and the version.
    """
    missing = [f"{owner.__name__}.{name}" for owner, name in _USED if not _has(owner, name)]
    if not missing:
        return
    try:
        version = metadata.version("rclpy")
    except metadata.PackageNotFoundError:
        version = "of an unknown version"
    raise RuntimeError(
        f"rclpy {version} lacks {', '.join(missing)}, which stops, goals and parameters go "
        "through; use rclpy 7.1 of ROS 2 Jazzy"
    )


def _has(owner: type, name: str) -> bool:
    """Tell whether a class has a method, or its instances an attribute that `__init__` makes."""
    if hasattr(owner, name):
        return True
    made = [getattr(vars(base).get("__init__"), "__code__", None) for base in owner.__mro__]
    return any(code is not None and name in code.co_names for code in made)
