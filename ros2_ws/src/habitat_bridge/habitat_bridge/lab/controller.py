"""Nav2's controller_server of one robot: it follows a path until it is told not to."""

from __future__ import annotations

import asyncio
import math
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from nav2_msgs.msg import SpeedLimit
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters
from unique_identifier_msgs.msg import UUID

from coterie_core.geometry import Pose
from coterie_core.skills import NavigateTo as Drive
from coterie_core.skills import Outcome, SkillResult
from coterie_ros.agent_node import AgentNode
from habitat_bridge.lab.navigation import GOAL_TOLERANCE
from habitat_bridge.lab.plant import BaseJob
from habitat_bridge.lab.robot import LabRobotNode
from habitat_bridge.simulator import RobotState

_FEEDBACK_PERIOD = 0.2  # [s] of simulated time
_HARDEST = 2.0
"""A speed limit above the own desired speed makes a robot faster, up to so many times that."""
_PLUGIN = "FollowPath"

Parameters = Mapping[str, "float | tuple[str, ...]"]


class InnerAction:
    """What a client that only cancels sees of an action that a behavior tree alone uses.

    Its goals begin within the lab, so that neither its type nor a way to send one is needed.

    Args:
        node: Whose service and topic it has.
        name: Name of the action.
        cancel: Ends what it is at.

    Attributes:
        cancels: Requests to cancel that came.
    """

    def __init__(
        self, node: AgentNode, name: str, cancel: Callable[[], object] = lambda: None
    ) -> None:
        self.cancels = 0
        self._cancel = cancel
        self._running: list[GoalInfo] = []
        self._status = node.publisher(GoalStatusArray, f"{name}/_action/status", "latched")
        node.serve(CancelGoal, f"{name}/_action/cancel_goal", self._on_cancel)

    def tell(self, running: bool) -> None:
        """Tell whether it is at a goal."""
        goal = GoalInfo(goal_id=UUID(uuid=list(uuid.uuid4().bytes)))
        self._running = [goal] if running else []
        executing = GoalStatus.STATUS_EXECUTING
        self._status.publish(
            GoalStatusArray(
                status_list=[GoalStatus(goal_info=g, status=executing) for g in self._running]
            )
        )

    async def _on_cancel(self, request: CancelGoal.Request) -> CancelGoal.Response:
        self.cancels += 1
        self._cancel()
        return CancelGoal.Response(goals_canceling=self._running)


class Controller:
    """Follows paths for whoever asks, and goes on where who asked is gone.

    Args:
        robot: The robot, with its node and plant.
    """

    def __init__(self, robot: LabRobotNode) -> None:
        self._robot = robot
        node, topic = robot.node, robot.settings.topic
        self._task: asyncio.Task[SkillResult] | None = None
        self._follow = InnerAction(node, topic("follow_path"), self.cancel)
        node.subscribe(SpeedLimit, topic("speed_limit"), "commands", self._limit_speed)
        serve_parameters(
            node,
            topic("controller_server/get_parameters"),
            {
                "controller_plugins": (_PLUGIN,),
                f"{_PLUGIN}.desired_linear_vel": robot.embodiment.linear_speed,
            },
        )

    async def follow(self, target: Pose) -> SkillResult:
        """Drive to a pose of the house; cancelling the caller does not end that."""
        self.cancel()
        robot = self._robot
        skill = Drive(position=target.position, yaw=target.yaw, tolerance=GOAL_TOLERANCE)
        task = self._task = robot.node.loop.spawn(
            at_base(robot, lambda job: robot.plant.begin(robot.name, skill, job)), "follow_path"
        )
        self._follow.tell(True)
        task.add_done_callback(lambda done: self._ended(done))
        await asyncio.wait({task})
        return SkillResult(Outcome.CANCELLED, "cancelled") if task.cancelled() else task.result()

    def cancel(self) -> None:
        """Stop the robot if it follows a path."""
        if self._task is not None:
            self._task.cancel()

    def _ended(self, task: asyncio.Task[SkillResult]) -> None:
        if task is self._task:
            self._task = None
            self._follow.tell(False)

    def _limit_speed(self, message: SpeedLimit) -> None:
        """Take the limit for the speed that is wished for, as Regulated Pure Pursuit does."""
        robot, limit = self._robot, float(message.speed_limit)
        if not math.isfinite(limit) or limit < 0.0:
            return
        own = robot.embodiment.linear_speed
        wished = own * limit / 100.0 if message.percentage else limit
        speed = min(wished, _HARDEST * own) if limit > 0.0 else own

        def apply() -> None:
            robot.body.embodiment = robot.embodiment.model_copy(update={"linear_speed": speed})

        robot.post(apply)


async def at_base(
    robot: LabRobotNode,
    begin: Callable[[BaseJob], object],
    feedback: Callable[[RobotState], object] = lambda state: None,
) -> SkillResult:
    """Have a robot's base do something; cancelling this stops it."""
    loop = asyncio.get_running_loop()
    end: asyncio.Future[SkillResult] = loop.create_future()
    due = 0.0

    def settle(result: SkillResult) -> None:
        if not end.done():
            end.set_result(result)

    def progress(state: RobotState) -> None:
        nonlocal due
        if robot.plant.world.time >= due:
            due = robot.plant.world.time + _FEEDBACK_PERIOD
            feedback(state)

    job = BaseJob(lambda result: robot.node.loop.call(settle, result), progress)
    robot.post(lambda: begin(job))
    try:
        return await asyncio.shield(end)
    finally:
        robot.post(lambda: robot.plant.cancel(robot.name, job))


def serve_parameters(node: AgentNode, name: str, values: Parameters) -> None:
    """Answer for parameters of a node of Nav2, as rclcpp does: one unknown name, and none is told.

    Args:
        node: Whose service it is.
        name: Of the service.
        values: Parameters by name.
    """

    def message(value: Any) -> ParameterValue:
        if isinstance(value, tuple):
            return ParameterValue(
                type=ParameterType.PARAMETER_STRING_ARRAY, string_array_value=list(value)
            )
        return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=float(value))

    async def get(request: GetParameters.Request) -> GetParameters.Response:
        if not all(one in values for one in request.names):
            return GetParameters.Response()
        return GetParameters.Response(values=[message(values[one]) for one in request.names])

    node.serve(GetParameters, name, get)
