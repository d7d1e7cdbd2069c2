"""An arm without MoveIt: FollowJointTrajectory, with inverse kinematics of its URDF."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from control_msgs.action import FollowJointTrajectory
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from coterie_core.geometry import Box, Vec3, yaw_to_quaternion
from coterie_core.kinematics.arm import Arm, OutOfReach
from coterie_core.kinematics.planning import Blocked, find_way
from coterie_core.kinematics.space import ArmSpaces
from coterie_core.skills import Outcome
from coterie_core.transforms import Matrix, inverse, matrix
from coterie_ros import conversions
from robot_adapters.backends.base import tight
from robot_adapters.backends.goals import Ended, RobotAction, joined
from robot_adapters.codes import TRAJECTORY, explain

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.settings_motion import ArmSettings

_SHORTEST = 0.5
"""A motion takes no less [s]."""
_THERE = 0.02
"""A joint that is so near to where it is to be is there [rad] or [m]."""
_STALE = 2.0
"""Joint states older than this do not tell where the arm is [s]."""


class TrajectoryMover:
    """Moves a hand by joint trajectories, around the robot itself and the boxes that it is told.

    Args:
        node: Whose clients it has; made in its `on_start`.
        settings: Names and time-outs.
        arm: The arm's kinematics.
    """

    def __init__(self, node: AgentNode, settings: ArmSettings, arm: Arm) -> None:
        self._node, self._settings, self._arm = node, settings, arm
        settings.check_carry(arm.chain.names)
        name = settings.action or "arm_controller/follow_joint_trajectory"
        self._action = RobotAction(
            node, FollowJointTrajectory, joined(settings.namespace, name), settings.server_timeout
        )
        self._spaces = ArmSpaces(arm)
        self._boxes: list[tuple[str, Box]] = []
        self._held: Box | None = None
        self._grasp: Matrix | None = None  # pose of its box in the frame of the point that grasps
        self._joints: dict[str, float] = {}
        self._heard: dict[str, float] = {}
        node.subscribe(
            JointState,
            joined(settings.namespace, settings.joint_states),
            "sensor_data",
            self._on_joints,
        )

    def ready(self) -> str:
        """Return "" where the controller is there and says where the joints are."""
        if not self._action.there:
            return f"no server of {self._action.name}: is the arm's controller active?"
        missing = [name for name in self._arm.names if name not in self._joints]
        if missing:
            return f"{self._settings.joint_states} does not tell the joint {missing[0]!r}"
        return ""

    def describe(self) -> dict[str, object]:
        """Return figures for the diagnostics."""
        return {
            "controller": "there" if self._action.there else "missing",
            "joints": ", ".join(self._arm.names),
            "obstacles": len(self._boxes),
            "shapes": self._spaces.unknown or "known",
        }

    async def see(self, boxes: list[tuple[str, Box]], held: Box | None) -> None:
        """Take the obstacles, base frame, and what the hand holds."""
        self._boxes = [(name, tight(box)) for name, box in boxes]
        if held is None:
            self._held = self._grasp = None
        elif self._held is None:
            self._held = tight(held)
            if math.isfinite(held.center[0]) and not self.ready():
                box = matrix(held.center, yaw_to_quaternion(held.yaw))
                self._grasp = inverse(self._arm.pose(self._joints)) @ box

    async def move(self, point: Vec3, direction: Vec3 | None) -> None:
        """Move the hand to a point; which way it points is left to the arm."""
        await self._go(partial(self._arm.reach, point))

    async def pose(self, joints: Mapping[str, float]) -> None:
        """Bring joints to positions; those that are there already need no controller."""
        if all(abs(self._joints.get(name, math.inf) - joints[name]) < _THERE for name in joints):
            return
        await self._go(lambda start: [{**start, **joints}])

    async def _go(self, ends: Callable[[dict[str, float]], list[dict[str, float]]]) -> None:
        """Take the first posture of some that a free way leads to.

        Args:
            ends: Returns them, from the posture that the arm has; for a thread.
        """
        if why := self.ready():
            raise Ended(Outcome.FAULT, why)
        # Drivers of wheels and grippers say nothing of the arm, though on the same topic.
        oldest = min(self._arm.names, key=self._heard.__getitem__)
        age = self._node.now() - self._heard[oldest]
        if age > _STALE:
            raise Ended(
                Outcome.FAULT,
                f"{self._settings.joint_states}: nothing came of {oldest!r} for {age:.1f} s, so "
                "that nobody knows where the arm is",
            )
        start = dict(self._joints)
        try:
            way = await asyncio.to_thread(self._way, ends, start)
        except OutOfReach as error:
            raise Ended(Outcome.OUT_OF_REACH, f"{error}; go nearer") from None
        except Blocked as error:
            raise Ended(Outcome.BLOCKED, f"the arm does not move: {error}") from None
        trajectory = self._trajectory(start, way)
        seconds = conversions.time_from_msg(trajectory.points[-1].time_from_start)
        if seconds > self._settings.timeout:
            raise Ended(Outcome.TIMED_OUT, f"the motion would take {seconds:.0f} s")
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

    def _way(
        self, ends: Callable[[dict[str, float]], list[dict[str, float]]], start: dict[str, float]
    ) -> list[dict[str, float]]:
        """Return the postures on a free way to one of some ends; for a thread."""
        chain = self._arm.chain
        rows = [chain.row(end) for end in ends(start)]
        space = self._spaces.among(start, self._boxes, self._held, self._grasp)
        return [chain.named(row) for row in find_way(space, chain.row(start), rows)]

    def _trajectory(self, start: dict[str, float], way: list[dict[str, float]]) -> JointTrajectory:
        """Return a trajectory through postures, with a rest at each of them."""
        arm = self._arm
        here = arm.chain.named(arm.chain.row(start))
        # A hinge that turned several times goes on from where it is.
        turns = {
            joint.name: start[joint.name] - here[joint.name] if joint.free else 0.0
            for joint in arm.chain.joints
        }
        # Without a stamp: now. A stamp of a clock that differs would be refused, or waited for.
        trajectory = JointTrajectory(joint_names=list(arm.names))
        seconds = 0.0
        for posture in way:
            # Twice as long as at constant velocity: controllers accelerate and brake.
            took = 2.0 * arm.duration(here, posture, self._settings.velocity)
            seconds += max(took, _SHORTEST)
            trajectory.points.append(
                JointTrajectoryPoint(
                    positions=[posture[name] + turns[name] for name in arm.names],
                    velocities=[0.0] * len(arm.names),
                    time_from_start=conversions.duration_to_msg(seconds),
                )
            )
            here = posture
        return trajectory

    def _on_joints(self, message: JointState) -> None:
        if len(message.name) != len(message.position):
            return
        for name, position in zip(message.name, message.position, strict=True):
            if math.isfinite(position):
                self._joints[name], self._heard[name] = float(position), self._node.now()
