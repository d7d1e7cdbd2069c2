"""An action server whose goals run elsewhere than in its executor; imports rclpy only."""

from __future__ import annotations

from typing import Any

from rclpy.action import ActionServer


class LateActionServer(ActionServer):
    """Takes the results of goals when `notify_execute` brings them, not when goals begin."""

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Have the executor send a result; do nothing where a goal only begins (`execute`)."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)
