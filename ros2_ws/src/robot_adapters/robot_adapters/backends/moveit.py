"""The arm through MoveIt's MoveGroup action, with the semantic map's boxes as obstacles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from geometry_msgs.msg import Point, Quaternion, Vector3
from geometry_msgs.msg import Pose as PoseMsg
from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import (
    AttachedCollisionObject,
    BoundingVolume,
    CollisionObject,
    Constraints,
    JointConstraint,
    MoveItErrorCodes,
    OrientationConstraint,
    PlanningScene,
    PlanningSceneComponents,
    PositionConstraint,
)
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene
from scipy.spatial.transform import Rotation
from shape_msgs.msg import SolidPrimitive

from coterie_core.geometry import Box, Vec3, yaw_to_quaternion
from coterie_core.skills import Outcome
from coterie_ros import conversions
from coterie_ros.clients import NoAnswer, ServiceClient
from robot_adapters.backends.base import tight
from robot_adapters.backends.goals import Ended, RobotAction, joined
from robot_adapters.codes import MOVEIT, explain
from robot_adapters.kinematics import Hand

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.settings_motion import ArmSettings

_PREFIX = "coterie/"
"""Of the ids of collision objects: those of others are left alone."""
_HELD = "coterie_held"
_POSITION_TOLERANCE = 0.01
_DIRECTION_TOLERANCE = 0.2
_JOINT_TOLERANCE = 0.01


class MoveItMover:
    """Moves a hand by MoveIt.

    Args:
        node: Whose clients it has; made in its `on_start`.
        settings: Group, frames and time-outs.
        hand: What grasps.
        frame: The robot's base frame, in which points are given.
    """

    def __init__(self, node: AgentNode, settings: ArmSettings, hand: Hand, frame: str) -> None:
        self._settings, self._hand = settings, hand
        self._frame = settings.frame or frame
        self._action = RobotAction(
            node, MoveGroup, joined(settings.namespace, settings.action or "move_action"),
            settings.server_timeout,
        )  # fmt: skip
        self._scene = (
            ServiceClient(node, ApplyPlanningScene, joined(settings.namespace, settings.scene))
            if settings.scene
            else None
        )
        self._told: ServiceClient | None = None
        if settings.scene:
            name = joined(settings.namespace, settings.scene_told)
            self._told = ServiceClient(node, GetPlanningScene, name)
        # What MoveIt is executing ends by this at once, whoever planned it.
        # What MoveIt's scene has of ours; None: not asked yet, and older than this process.
        self._known: set[str] | None = None
        self._attached = False
        self._hung: AttachedCollisionObject | None = None  # what is held, as MoveIt tells it

    def ready(self) -> str:
        """Return "" where MoveGroup is there."""
        if self._action.there:
            return ""
        return f"no server of {self._action.name}: is move_group running, in this ROS_DOMAIN_ID?"

    def describe(self) -> dict[str, object]:
        """Return figures for the diagnostics."""
        return {
            "move_group": "there" if self._action.there else "missing",
            "obstacles": len(self._known or ()),
        }

    async def move(self, point: Vec3, direction: Vec3 | None) -> None:
        """Plan and move the hand to a point, pointing along a direction."""
        await self._reach(self._constraints(point, direction))

    async def pose(self, joints: Mapping[str, float]) -> None:
        """Plan and move joints of the group to positions; MoveIt keeps the others."""
        wanted = [
            JointConstraint(
                joint_name=name, position=joints[name], weight=1.0,
                tolerance_above=_JOINT_TOLERANCE, tolerance_below=_JOINT_TOLERANCE,
            )
            for name in sorted(joints)
        ]  # fmt: skip
        await self._reach(Constraints(name="coterie", joint_constraints=wanted))

    async def _reach(self, wanted: Constraints) -> None:
        settings = self._settings
        goal = MoveGroup.Goal()
        request = goal.request
        request.group_name = settings.group
        request.pipeline_id = settings.pipeline
        request.num_planning_attempts = settings.attempts
        request.allowed_planning_time = settings.planning_time
        request.max_velocity_scaling_factor = settings.velocity
        request.max_acceleration_scaling_factor = settings.velocity
        request.start_state.is_diff = True  # from where the arm is
        request.goal_constraints = [wanted]
        goal.planning_options.planning_scene_diff.is_diff = True
        goal.planning_options.planning_scene_diff.robot_state.is_diff = True
        end = await self._action.run(goal, timeout=settings.timeout)
        code = end.result.error_code
        if end.succeeded and code.val == MoveItErrorCodes.SUCCESS:
            return
        if code.val == MoveItErrorCodes.SUCCESS:
            raise Ended(Outcome.FAULT, f"{self._action.name}: aborted without a code")
        result = explain(self._action.name, MOVEIT, int(code.val), str(code.message))
        raise Ended(result.outcome, result.reason)

    async def see(self, boxes: list[tuple[str, Box]], held: Box | None) -> None:
        """Replace the obstacles in MoveIt's planning scene.

        What MoveIt has of ours is asked for at first, since an older adapter may have put it there,
        and where MoveIt refuses: it does so when told to remove what it has not, as after a restart
        of move_group or after somebody has cleared the scene.
        """
        if self._scene is None:
            return
        if self._known is None:
            await self._recall()
        if await self._apply(self._scene, boxes, held):
            if held is not None and self._hung is None:
                await self._recall()  # MoveIt knows now where on the hand it is
            return
        if not await self._recall() or not await self._apply(self._scene, boxes, held):
            raise Ended(Outcome.FAULT, f"{self._scene.name}: MoveIt did not take the obstacles")

    async def _recall(self) -> bool:
        """Ask MoveIt which of our objects its scene has; False where it does not tell."""
        assert self._told is not None
        parts = PlanningSceneComponents(
            components=PlanningSceneComponents.WORLD_OBJECT_NAMES
            | PlanningSceneComponents.ROBOT_STATE_ATTACHED_OBJECTS
        )
        try:
            answer = await self._told.call(
                GetPlanningScene.Request(components=parts),
                timeout=self._settings.server_timeout,
                attempts=1,
            )
        except NoAnswer:
            return False
        names = {str(one.id) for one in answer.scene.world.collision_objects}
        self._known = {name for name in names if name.startswith(_PREFIX) or name == _HELD}
        held = answer.scene.robot_state.attached_collision_objects
        hung = next((one for one in held if one.object.id == _HELD), None)
        self._attached = hung is not None
        self._hung = hung or self._hung  # after a restart MoveIt is told again what it told
        return True

    async def _apply(
        self, service: ServiceClient, boxes: list[tuple[str, Box]], held: Box | None
    ) -> bool:
        """Send the change from what is known to obstacles and what is held; whether it was taken.

        Raises:
            Ended: MoveIt does not answer.
        """
        scene = PlanningScene(is_diff=True)
        scene.robot_state.is_diff = True
        names = {f"{_PREFIX}{name}" for name, _ in boxes}
        gone = (self._known or set()) - names
        # What is held is told each time: MoveIt replaces it, or has lost it in a restart.
        if held is None:
            self._hung = None
        if held is not None or self._attached:
            one = self._hung or self._attachment(held)
            scene.robot_state.attached_collision_objects = [one]
        if held is not None:
            gone.discard(_HELD)  # attaching takes it out of the world
        elif self._attached:
            # What is let go becomes an obstacle of the world; it is one of the map's already.
            gone.add(_HELD)
        scene.world.collision_objects = [
            *(self._object(name, None, CollisionObject.REMOVE) for name in sorted(gone)),
            *(self._object(f"{_PREFIX}{name}", box, CollisionObject.ADD) for name, box in boxes),
        ]
        try:
            answer = await service.call(
                ApplyPlanningScene.Request(scene=scene),
                timeout=self._settings.server_timeout,
                attempts=1,
            )
        except NoAnswer as error:
            raise Ended(Outcome.FAULT, str(error)) from None
        if answer.success:
            self._known, self._attached = names, held is not None
        return bool(answer.success)

    def _constraints(self, point: Vec3, direction: Vec3 | None) -> Constraints:
        head, hand = conversions.header(0.0, self._frame), self._hand
        sphere = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[_POSITION_TOLERANCE])
        pose = PoseMsg(position=Point(x=point[0], y=point[1], z=point[2]))
        pose.orientation.w = 1.0
        x, y, z = hand.point
        position = PositionConstraint(
            header=head,
            link_name=hand.link,
            target_point_offset=Vector3(x=x, y=y, z=z),
            constraint_region=BoundingVolume(primitives=[sphere], primitive_poses=[pose]),
            weight=1.0,
        )
        constraints = Constraints(name="coterie", position_constraints=[position])
        if direction is not None and hand.direction is not None:
            turn = turn_between(hand.direction, direction)
            free = [abs(part) > 0.9 for part in hand.direction]
            limits = [2.0 * math.pi if axis else _DIRECTION_TOLERANCE for axis in free]
            constraints.orientation_constraints = [
                OrientationConstraint(
                    header=head,
                    link_name=hand.link,
                    orientation=Quaternion(x=turn[0], y=turn[1], z=turn[2], w=turn[3]),
                    absolute_x_axis_tolerance=limits[0],
                    absolute_y_axis_tolerance=limits[1],
                    absolute_z_axis_tolerance=limits[2],
                    # As rotation vectors: Euler angles are singular for a hand that points down.
                    parameterization=OrientationConstraint.ROTATION_VECTOR,
                    weight=1.0,
                )
            ]
        return constraints

    def _object(self, name: str, box: Box | None, operation: bytes) -> CollisionObject:
        one = CollisionObject(
            header=conversions.header(0.0, self._frame), id=name, operation=operation
        )
        one.pose.orientation.w = 1.0
        if box is not None:
            one.primitives = [_primitive(box)]
            one.primitive_poses = [_pose(box)]
        return one

    def _attachment(self, held: Box | None) -> AttachedCollisionObject:
        """Return what is held as MoveIt takes it; None: nothing is any more.

        Its place is where it was in the base frame: MoveIt finds out itself where on the hand.
        """
        link = self._hand.link
        one = AttachedCollisionObject(link_name=link, touch_links=self._hand.touches or (link,))
        one.object.id = _HELD
        one.object.header = conversions.header(0.0, link)
        one.object.pose.orientation.w = 1.0
        if held is None:
            one.object.operation = CollisionObject.REMOVE
            return one
        one.object.operation = CollisionObject.ADD
        one.object.primitives = [_primitive(held)]
        if math.isfinite(held.center[0]):
            one.object.header = conversions.header(0.0, self._frame)
            one.object.primitive_poses = [_pose(held)]
        else:
            x, y, z = self._hand.point
            one.object.primitive_poses = [PoseMsg(position=Point(x=x, y=y, z=z))]
            one.object.primitive_poses[0].orientation.w = 1.0
        return one


def _primitive(box: Box) -> SolidPrimitive:
    return SolidPrimitive(type=SolidPrimitive.BOX, dimensions=tight(box).size)


def _pose(box: Box) -> PoseMsg:
    x, y, z, w = yaw_to_quaternion(box.yaw)
    return PoseMsg(
        position=Point(x=box.center[0], y=box.center[1], z=box.center[2]),
        orientation=Quaternion(x=x, y=y, z=z, w=w),
    )


def turn_between(start: Vec3, end: Vec3) -> tuple[float, float, float, float]:
    """Return the shortest rotation (x, y, z, w) that turns one unit vector into another."""
    x, y, z, w = Rotation.align_vectors([end], [start])[0].as_quat().tolist()
    return (x, y, z, w)
