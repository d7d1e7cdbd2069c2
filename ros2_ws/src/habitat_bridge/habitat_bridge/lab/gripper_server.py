"""The gripper's server of one robot, as ros2_control's gripper controllers have it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from control_msgs.action import GripperCommand, ParallelGripperCommand
from sensor_msgs.msg import JointState

from coterie_ros.serving import GoalContext
from habitat_bridge.lab.plant import Manipulator
from habitat_bridge.lab.servers import MortalServer

if TYPE_CHECKING:
    from habitat_bridge.lab.robot import LabRobotNode

_GRIPPER_TIME = 0.6  # [s]


def gripper_server(robot: LabRobotNode) -> MortalServer:
    """Return the server of a robot's gripper, of the type that its settings say."""
    name = robot.settings.topic("gripper_controller/gripper_cmd")
    gripper = _Gripper(robot)
    if robot.settings.gripper == "parallel":
        return MortalServer(robot.node, ParallelGripperCommand, name, gripper.grip_parallel)
    return MortalServer(robot.node, GripperCommand, name, gripper.grip)


class _Gripper:
    def __init__(self, robot: LabRobotNode) -> None:
        self.robot = robot

    @property
    def manipulator(self) -> Manipulator:
        return self.robot.plant.manipulators[self.robot.name]

    async def grip(self, goal: GoalContext) -> Any:
        command = goal.request.command
        gap, stalled, failed = await self._fingers(float(command.position))
        result = GripperCommand.Result(
            position=gap,
            effort=float(command.max_effort) if stalled else 0.0,
            stalled=stalled,
            reached_goal=not stalled and not failed,
        )
        return goal.abort(result) if failed else goal.succeed(result)

    async def grip_parallel(self, goal: GoalContext) -> Any:
        command = goal.request.command
        fingers = self.manipulator.arm.fingers
        wanted = sum(float(v) for v in command.position)
        gap, stalled, failed = await self._fingers(wanted)
        each = gap / max(len(fingers), 1)
        state = JointState(
            header=self.robot.header(""), name=list(fingers), position=[each] * len(fingers)
        )
        result = ParallelGripperCommand.Result(
            state=state, stalled=stalled, reached_goal=not stalled and not failed
        )
        return goal.abort(result) if failed else goal.succeed(result)

    async def _fingers(self, gap: float) -> tuple[float, bool, bool]:
        """Open or close; return the gap then, whether the fingers were stopped, and a failure."""
        robot, manipulator = self.robot, self.manipulator
        fault = robot.strike("gripper")
        begin = robot.stamp
        while 0.0 <= robot.stamp - begin < _GRIPPER_TIME:
            await asyncio.sleep(0.01)
        if fault is not None and fault.kind == "gripper_aborted":
            return manipulator.grip.gap, False, True
        gap = min(max(gap, 0.0), manipulator.arm.opening)
        holds = bool(manipulator.grip.thing or manipulator.grip.handle)
        if gap > manipulator.grip.gap + 1e-3 or (not holds and gap >= manipulator.arm.opening):
            await robot.in_world(lambda: robot.plant.open_gripper(robot.name, gap))
            return gap, False, False
        if fault is not None:  # it closes beside the object
            manipulator.grip.gap = gap
            return gap, False, False
        stalled = await robot.in_world(lambda: robot.plant.close_gripper(robot.name, gap))
        return manipulator.grip.gap, stalled, False
