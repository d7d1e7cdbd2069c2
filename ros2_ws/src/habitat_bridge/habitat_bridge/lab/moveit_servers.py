"""MoveIt's server and the trajectory controller of one robot: plan and move, scene, trajectory."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import Constraints, MoveItErrorCodes, PlanningScene
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from coterie_core.geometry import Pose, Quaternion
from coterie_core.kinematics.arm import OutOfReach
from coterie_ros import conversions
from coterie_ros.conversions import Checks, ConversionError
from coterie_ros.serving import GoalContext
from habitat_bridge.lab.faults import Fault
from habitat_bridge.lab.planning_scene import LabPlanningScene, NoFrame
from habitat_bridge.lab.plant import Manipulator, matrix_of
from habitat_bridge.lab.robot import BadGoal, LabRobotNode
from habitat_bridge.lab.servers import MortalServer

_GRIPPER_TIME = 0.6  # [s]

_CLOSE = 0.003  # [m] that counts as there
_FULL = 6  # joints of an arm that can take any attitude
_FAULT_AFTER = 0.4  # [s]
_SHORTEST = 0.1  # [s] of a motion
_TOLERANCE = 0.02  # [m] at the end of a trajectory
_NOT_FOUND = (MoveItErrorCodes.NO_IK_SOLUTION, MoveItErrorCodes.GOAL_IN_COLLISION)
"""Of these OMPL says only that it failed, where it plans several times at once."""


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


class Refused(Exception):
    """MoveIt does not do a goal; carries its error code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class ArmServers:
    """MoveIt, the trajectory controller and the gripper of one robot.

    Args:
        robot: The robot; it has an arm.
    """

    def __init__(self, robot: LabRobotNode) -> None:
        self.robot = robot
        self.scene = LabPlanningScene(self._in_house)
        self._struck: Fault | None = None
        self._dead = False
        node, settings = robot.node, robot.settings
        group = settings.arm_group
        self._servers = [
            MortalServer(
                node,
                FollowJointTrajectory,
                settings.topic(f"{group}_controller/follow_joint_trajectory"),
                self._follow,
                check=self._untrackable,
            )
        ]
        if settings.moveit:
            self._servers.append(
                MortalServer(
                    node, MoveGroup, settings.topic("move_action"), self._move, check=self._rejected
                )
            )
            node.serve(ApplyPlanningScene, settings.topic("apply_planning_scene"), self._apply)
            node.serve(GetPlanningScene, settings.topic("get_planning_scene"), self._tell)
            node.subscribe(
                PlanningScene, settings.topic("planning_scene"), "commands", self._hear_scene
            )
        self._servers.append(gripper_server(robot))

    @property
    def manipulator(self) -> Manipulator:
        """The robot's arm."""
        return self.robot.plant.manipulators[self.robot.name]

    def look(self) -> None:
        """Let servers die and come back as the faults say; for the executor's thread."""
        dead = self.robot.suffers("arm_dies") is not None
        if dead and not self._dead:
            # What comes back is another process, which knows no scene; the loop's thread has it.
            self.robot.node.loop.call(self.scene.clear)
        self._dead = dead
        gone = dead or self.robot.suffers("link_cut")
        for server in self._servers:
            if gone and server.alive:
                server.end()
            elif not gone and not server.alive:
                server.start()

    # -- MoveGroup ---------------------------------------------------------------------------------

    def _rejected(self, request: Any) -> str:
        self._struck = self.robot.strike("arm")
        if self._struck is not None and self._struck.kind == "arm_rejected":
            return "a fault of the lab"
        return ""

    async def _move(self, goal: GoalContext) -> Any:
        fault, self._struck = self._struck, None
        result, robot = MoveGroup.Result(), self.robot
        request = goal.request.request
        begin = robot.stamp
        goal.feedback(MoveGroup.Feedback(state="PLANNING"))
        try:
            if robot.suffers("arm_in_collision"):
                raise Refused(
                    MoveItErrorCodes.START_STATE_IN_COLLISION, "the start state is in collision"
                )
            if request.group_name not in ("", robot.settings.arm_group):
                raise Refused(
                    MoveItErrorCodes.INVALID_GROUP_NAME, f"no group {request.group_name!r}"
                )
            target = await self._posture(request.goal_constraints, request.start_state.is_diff)
        except Refused as refused:
            code = refused.code
            if request.num_planning_attempts > 1 and code in _NOT_FOUND:
                code = MoveItErrorCodes.FAILURE
            return goal.abort(_failed(result, code, str(refused)))
        arm = self.manipulator.arm
        scale = request.max_velocity_scaling_factor or 0.5
        scale = min(max(scale, 0.01), 1.0)
        took = max(arm.duration(self.manipulator.joints, target, scale), _SHORTEST)
        result.planning_time = max(robot.stamp - begin, 0.0)
        result.planned_trajectory.joint_trajectory = _trajectory(target, took)
        result.error_code.val = MoveItErrorCodes.SUCCESS
        if goal.request.planning_options.plan_only:
            return goal.succeed(result)
        goal.feedback(MoveGroup.Feedback(state="MONITOR"))
        try:
            if fault is not None and fault.kind == "arm_hangs":
                await asyncio.Event().wait()
            done = await self._travel([(took, target)], fault)
        except asyncio.CancelledError:
            return goal.cancel(_failed(result, MoveItErrorCodes.PREEMPTED, "preempted"))
        if not done:
            code = MoveItErrorCodes.CONTROL_FAILED
            if fault is not None and fault.code is not None:
                code = fault.code
            return goal.abort(_failed(result, code, "execution failed"))
        result.executed_trajectory = result.planned_trajectory
        goal.feedback(MoveGroup.Feedback(state="IDLE"))
        return goal.succeed(result)

    async def _travel(self, points: list[tuple[float, dict[str, float]]], fault: Any) -> bool:
        """Move the arm through postures at times; cancelling this stops it."""
        robot = self.robot
        loop = asyncio.get_running_loop()
        end: asyncio.Future[bool] = loop.create_future()

        def settle(done: bool) -> None:
            if not end.done():
                end.set_result(done)

        robot.post(
            lambda: robot.plant.move(
                robot.name, points, lambda done: robot.node.loop.call(settle, done)
            )
        )
        begin = robot.stamp
        try:
            while not end.done():
                await asyncio.wait({end}, timeout=0.05)
                if fault is not None and robot.stamp - begin > _FAULT_AFTER:
                    robot.post(lambda: robot.plant.halt_arm(robot.name))
                    return False
        except asyncio.CancelledError:
            robot.post(lambda: robot.plant.halt_arm(robot.name))
            raise
        return end.result() and fault is None

    async def _posture(self, goals: list[Constraints], is_diff: bool) -> dict[str, float]:
        """Return the joint values that the first goal which can be met asks for.

        Raises:
            Refused: None can be met.
        """
        trouble: Refused | None = None
        for constraints in goals:
            try:
                if constraints.position_constraints:
                    return await asyncio.to_thread(self._reach, constraints)
                if constraints.joint_constraints:
                    return self._joints(constraints)
            except Refused as refused:
                trouble = trouble or refused
        if trouble is not None:
            raise trouble
        raise Refused(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, "no goal constraints")

    def _joints(self, constraints: Constraints) -> dict[str, float]:
        manipulator = self.manipulator
        target = dict(manipulator.joints)
        limits = {joint.name: (joint.lower, joint.upper) for joint in manipulator.arm.chain.joints}
        for one in constraints.joint_constraints:
            if one.joint_name not in limits:
                raise Refused(
                    MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, f"no joint {one.joint_name!r}"
                )
            low, high = limits[one.joint_name]
            if not low - 1e-3 <= one.position <= high + 1e-3:
                raise Refused(
                    MoveItErrorCodes.GOAL_STATE_INVALID,
                    f"{one.joint_name}: {one.position:g} is beyond {low:g} to {high:g}",
                )
            target[one.joint_name] = float(one.position)
        return target

    def _reach(self, constraints: Constraints) -> dict[str, float]:
        """Return joint values for a pose of a link."""
        one = constraints.position_constraints[0]
        arm, name = self.manipulator.arm, self.robot.name
        region = one.constraint_region
        if not region.primitive_poses:
            raise Refused(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, "no region to go to")
        tolerance = 0.0
        if region.primitives and len(region.primitives[0].dimensions):
            tolerance = float(min(region.primitives[0].dimensions))
        try:
            checks = Checks(f"{name}/move_action")
            at = conversions.point_from_msg(
                region.primitive_poses[0].position, checks, "constraint_region"
            )
            offset = conversions.point_from_msg(
                one.target_point_offset, checks, "target_point_offset"
            )
        except ConversionError as error:
            raise Refused(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, str(error)) from None
        known = one.link_name in arm.tree.links
        chain = arm.chain_to(one.link_name, offset) if known else None
        if chain is None or not chain.size or not set(chain.names) <= set(arm.names):
            raise Refused(
                MoveItErrorCodes.INVALID_LINK_NAME, f"no link {one.link_name!r} in the arm"
            )
        base = self._in_base(one.header.frame_id)
        x, y, z = (base @ np.array([*at, 1.0]))[:3].tolist()
        turn = None
        if constraints.orientation_constraints:
            wanted = constraints.orientation_constraints[0]
            rotation = _rotation(wanted.orientation)
            turn = self._in_base(wanted.header.frame_id)[:3, :3] @ rotation
        house = matrix_of(self.robot.state.pose) @ np.array([x, y, z, 1.0])
        self._check_collision(house[:3])
        now = self.manipulator.joints
        try:
            found = arm.reach(
                (x, y, z),
                now,
                chain=chain,
                rotation=turn if chain.size >= _FULL else None,
                tolerance=min(max(tolerance, _CLOSE), 0.02),
            )
        except OutOfReach as none:
            raise Refused(MoveItErrorCodes.NO_IK_SOLUTION, str(none)) from None
        return {**now, **found[0]}

    def _in_base(self, frame: str) -> np.ndarray:
        """Return the pose (4, 4) of a frame in the robot's base frame.

        Raises:
            Refused: There is no such frame.
        """
        robot = self.robot
        manipulator = self.manipulator
        named = frame.lstrip("/")
        for link in manipulator.arm.tree.links:
            if named == robot.settings.frame(link):
                return manipulator.arm.pose(manipulator.joints, link)
        try:
            house = robot.in_house(Pose((0.0, 0.0, 0.0)), named)
        except BadGoal as bad:
            raise Refused(MoveItErrorCodes.FRAME_TRANSFORM_FAILURE, str(bad)) from None
        return np.asarray(np.linalg.inv(matrix_of(robot.state.pose)) @ matrix_of(house))

    def _check_collision(self, hand: np.ndarray) -> None:
        """Refuse a goal whose hand is inside of an object of the planning scene."""
        x, y, z = hand.tolist()
        if name := self.scene.collision((x, y, z)):
            raise Refused(MoveItErrorCodes.GOAL_IN_COLLISION, f"the hand would be inside of {name}")

    # -- planning scene ----------------------------------------------------------------------------

    async def _apply(self, request: ApplyPlanningScene.Request) -> ApplyPlanningScene.Response:
        return ApplyPlanningScene.Response(success=self.scene.apply(request.scene))

    async def _tell(self, request: GetPlanningScene.Request) -> GetPlanningScene.Response:
        scene = self.scene.parts(int(request.components.components))
        return GetPlanningScene.Response(scene=scene)

    def _hear_scene(self, scene: PlanningScene) -> None:
        self.scene.apply(scene)

    def _in_house(self, frame: str) -> np.ndarray:
        """Return the pose (4, 4) of a frame in the house.

        Raises:
            NoFrame: There is no such frame.
        """
        try:
            return np.asarray(matrix_of(self.robot.state.pose) @ self._in_base(frame))
        except Refused as refused:
            raise NoFrame(str(refused)) from None

    # -- trajectories ------------------------------------------------------------------------------

    def _untrackable(self, request: FollowJointTrajectory.Goal) -> str:
        trouble = self._rejected(request)
        names = list(request.trajectory.joint_names)
        known = set(self.manipulator.joints)
        if trouble:
            return trouble
        if not names or not set(names) <= known:
            return f"joints {names} are not those of the controller, {sorted(known)}"
        if not request.trajectory.points:
            return "the trajectory has no points"
        if any(len(point.positions) != len(names) for point in request.trajectory.points):
            return "a point has not as many positions as there are joints"
        return ""

    async def _follow(self, goal: GoalContext) -> Any:
        fault, self._struck = self._struck, None
        result, names = FollowJointTrajectory.Result(), list(goal.request.trajectory.joint_names)
        points = [
            (
                conversions.time_from_msg(point.time_from_start),
                dict(zip(names, (float(v) for v in point.positions), strict=True)),
            )
            for point in goal.request.trajectory.points
        ]
        if fault is not None and fault.kind == "arm_hangs":
            await asyncio.Event().wait()
        limits = {j.name: (j.lower, j.upper) for j in self.manipulator.arm.chain.joints}
        try:
            done = await self._travel([(t, _within(p, limits)) for t, p in points], fault)
        except asyncio.CancelledError:
            result.error_code = FollowJointTrajectory.Result.INVALID_GOAL
            if goal.preempted:
                result.error_string = "Current goal cancelled due to new incoming action."
            return goal.cancel(result)
        off = {n: abs(v - self.manipulator.joints[n]) for n, v in points[-1][1].items()}
        if not done or max(off.values()) > _TOLERANCE:
            result.error_code = FollowJointTrajectory.Result.GOAL_TOLERANCE_VIOLATED
            if fault is not None and fault.code is not None:
                result.error_code = fault.code
            worst = max(off, key=lambda name: off[name])
            result.error_string = f"{worst} is {off[worst]:.3f} from its goal"
            return goal.abort(result)
        return goal.succeed(result)


def _within(point: dict[str, float], limits: dict[str, tuple[float, float]]) -> dict[str, float]:
    return {name: min(max(v, limits[name][0]), limits[name][1]) for name, v in point.items()}


def _trajectory(target: dict[str, float], took: float) -> JointTrajectory:
    point = JointTrajectoryPoint(
        positions=list(target.values()), time_from_start=conversions.duration_to_msg(took)
    )
    return JointTrajectory(joint_names=list(target), points=[point])


def _failed(result: Any, code: int, message: str) -> Any:
    result.error_code.val = int(code)
    result.error_code.message = message
    result.error_code.source = "move_group"
    return result


def _rotation(orientation: Any) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    wanted: Quaternion = (orientation.x, orientation.y, orientation.z, orientation.w)
    norm = math.hypot(*wanted)
    if not 0.9 < norm < 1.1:
        raise Refused(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, "no rotation")
    return np.asarray(Rotation.from_quat(wanted).as_matrix())
