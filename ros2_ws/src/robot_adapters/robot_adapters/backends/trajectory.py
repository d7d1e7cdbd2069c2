"""An arm without MoveIt: FollowJointTrajectory, with inverse kinematics of its URDF."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from control_msgs.action import FollowJointTrajectory
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from coterie_core.geometry import Box, Vec3
from coterie_core.skills import Outcome
from coterie_ros import conversions
from robot_adapters.backends.goals import Ended, RobotAction, joined
from robot_adapters.codes import TRAJECTORY, explain
from robot_adapters.kinematics import ArmKinematics, OutOfReach

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.settings_motion import ArmSettings

_STALE = 2.0
"""Joint states older than this do not tell where the arm is [s]."""


class TrajectoryMover:
    """Moves a hand by joint trajectories. Obstacles are not looked at: keep the arm's space free.

    Args:
        node: Whose clients it has; made in its `on_start`.
        settings: Names and time-outs.
        arm: The arm's kinematics.
    """

    def __init__(self, node: AgentNode, settings: ArmSettings, arm: ArmKinematics) -> None:
        self._node, self._settings, self._arm = node, settings, arm
        name = settings.action or "arm_controller/follow_joint_trajectory"
        self._action = RobotAction(
            node, FollowJointTrajectory, joined(settings.namespace, name), settings.server_timeout
        )
        self._joints: dict[str, float] = {}
        self._heard = -float("inf")
        node.subscribe(
            JointState,
            joined(settings.namespace, settings.joint_states),
            "sensor_data",
            self._on_joints,
        )

    def halt(self) -> None:
        """Cancel all goals of the controller, whoever sent them: it holds the arm where it is."""
        self._action.halt()

    def ready(self) -> str:
        """Return "" where the controller is there and says where the joints are."""
        if not self._action.there:
            return f"no server of {self._action.name}: is the arm's controller active?"
        missing = [name for name in self._arm.joints if name not in self._joints]
        if missing:
            return f"{self._settings.joint_states} does not tell the joint {missing[0]!r}"
        return ""

    def describe(self) -> dict[str, object]:
        """Return figures for the diagnostics."""
        return {
            "controller": "there" if self._action.there else "missing",
            "joints": ", ".join(self._arm.joints),
        }

    async def see(self, boxes: list[tuple[str, Box]], held: Box | None) -> None:
        """Do nothing: obstacles are not looked at."""

    async def move(self, point: Vec3, direction: Vec3 | None) -> None:
        """Move the hand to a point; which way it points is left to the arm."""
        if why := self.ready():
            raise Ended(Outcome.FAULT, why)
        age = self._node.now() - self._heard
        if age > _STALE:
            raise Ended(
                Outcome.FAULT,
                f"{self._settings.joint_states}: nothing came for {age:.1f} s, so that nobody "
                "knows where the arm is",
            )
        start = dict(self._joints)
        try:
            goal = await asyncio.to_thread(self._arm.reach, point, start)
        except OutOfReach as error:
            raise Ended(Outcome.OUT_OF_REACH, f"{error}; go nearer") from None
        seconds = self._arm.duration(start, goal, self._settings.velocity)
        if seconds > self._settings.timeout:
            raise Ended(Outcome.TIMED_OUT, f"the motion would take {seconds:.0f} s")
        names = list(self._arm.joints)
        # Without a stamp: now. A stamp of a clock that differs would be refused, or waited for.
        trajectory = JointTrajectory(joint_names=names)
        trajectory.points = [
            JointTrajectoryPoint(
                positions=[goal[name] for name in names],
                velocities=[0.0] * len(names),
                time_from_start=conversions.duration_to_msg(seconds),
            )
        ]
        end = await self._action.run(
            FollowJointTrajectory.Goal(trajectory=trajectory), timeout=self._settings.timeout
        )
        code = int(end.result.error_code)
        if end.succeeded and code == FollowJointTrajectory.Result.SUCCESSFUL:
            return
        if code == FollowJointTrajectory.Result.SUCCESSFUL:
            raise Ended(Outcome.FAULT, f"{self._action.name}: aborted without a code")
        result = explain(self._action.name, TRAJECTORY, code, str(end.result.error_string))
        raise Ended(result.outcome, result.reason)

    def _on_joints(self, message: JointState) -> None:
        if len(message.name) != len(message.position):
            return
        self._joints.update(zip(message.name, map(float, message.position), strict=True))
        self._heard = self._node.now()
