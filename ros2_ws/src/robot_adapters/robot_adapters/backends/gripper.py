"""The gripper by GripperCommand or ParallelGripperCommand: what it said tells what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalStatus
from control_msgs.action import GripperCommand, ParallelGripperCommand

from coterie_core.skills import Outcome
from robot_adapters.backends.goals import Ended, RobotAction, joined

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.settings_motion import GripperSettings


@dataclass(frozen=True, slots=True)
class Grip:
    """What a gripper said at the end of a motion: position [m or rad], effort [N], and flags."""

    position: float
    effort: float
    stalled: bool
    reached: bool

    def __str__(self) -> str:
        """Say what was seen."""
        flags = [word for word, on in (("stalled", self.stalled), ("reached", self.reached)) if on]
        return (
            f"position {self.position:.4f}, effort {self.effort:.1f}, "
            f"{' and '.join(flags) or 'neither stalled nor reached'}"
        )


class GripperClient:
    """Opens and closes a gripper.

    Args:
        node: Whose clients it has; made in its `on_start`.
        settings: Action, positions and time-outs.
        namespace: Of the arm.
        server_timeout: How long the server may take to accept [s].

    Raises:
        ValueError: The settings do not fit to one another.
    """

    def __init__(
        self,
        node: AgentNode,
        settings: GripperSettings,
        namespace: str | None,
        server_timeout: float,
    ) -> None:
        self._settings = settings
        self._parallel = settings.backend == "parallel_gripper"
        if self._parallel and not settings.joint:
            raise ValueError("arm.gripper.joint: parallel_gripper needs the name of its joint")
        kind = ParallelGripperCommand if self._parallel else GripperCommand
        self._action = RobotAction(node, kind, joined(namespace, settings.action), server_timeout)

    def ready(self) -> str:
        """Return "" where the gripper's server is there."""
        return "" if self._action.there else f"no server of {self._action.name}"

    async def open(self) -> None:
        """Open it.

        Raises:
            Ended: It did not open; the reason says what was seen.
        """
        grip = await self._move(self._settings.open)
        off = abs(grip.position - self._settings.open)
        span = abs(self._settings.open - self._settings.closed)
        if not grip.reached and off > max(self._settings.tolerance, 0.2 * span):
            raise Ended(Outcome.FAULT, f"{self._action.name}: it did not open: {grip}")

    async def close(self) -> Grip:
        """Close it and return what it said.

        Raises:
            Ended: It did not answer.
        """
        return await self._move(self._settings.closed)

    def holds(self, grip: Grip) -> bool:
        """Whether a closed gripper holds something: it was stopped before it was closed."""
        return abs(grip.position - self._settings.closed) > self._settings.tolerance

    def empty(self, grip: Grip) -> str:
        """Say that it holds nothing, and what was seen."""
        return f"{self._action.name}: it closed on nothing: {grip}"

    async def _move(self, position: float) -> Grip:
        settings = self._settings
        end = await self._action.run(self._goal(position), timeout=settings.timeout)
        if self._parallel:
            grip = self._parallel_grip(end.result)
        else:
            result = end.result
            grip = Grip(
                float(result.position), float(result.effort), bool(result.stalled),
                bool(result.reached_goal),
            )  # fmt: skip
        # Controllers that do not allow stalling abort when an object stops the fingers.
        if end.status == GoalStatus.STATUS_ABORTED and not grip.stalled:
            raise Ended(Outcome.FAULT, f"{self._action.name}: aborted: {grip}")
        return grip

    def _goal(self, position: float) -> Any:
        settings = self._settings
        if self._parallel:
            goal = ParallelGripperCommand.Goal()
            goal.command.name = [settings.joint]
            goal.command.position = [position]
            if settings.effort > 0.0:
                goal.command.effort = [settings.effort]
            return goal
        goal = GripperCommand.Goal()
        goal.command.position = position
        goal.command.max_effort = settings.effort
        return goal

    def _parallel_grip(self, result: Any) -> Grip:
        state, joint = result.state, self._settings.joint
        names = list(state.name)
        k = names.index(joint) if joint in names else 0
        if k >= len(state.position):
            raise Ended(Outcome.FAULT, f"{self._action.name}: its result tells no position")
        effort = float(state.effort[k]) if k < len(state.effort) else 0.0
        return Grip(
            float(state.position[k]), effort, bool(result.stalled), bool(result.reached_goal)
        )
