"""MoveIt's planning scene of one robot: what is around it and in its hand, as it is told."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy

import numpy as np
from geometry_msgs.msg import Pose
from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    PlanningScene,
    PlanningSceneComponents,
)
from scipy.spatial.transform import Rotation

from coterie_core.geometry import Box, Vec3
from coterie_core.transforms import Matrix, inverse, matrix

_INSIDE = 0.01  # [m] that a hand must be inside of an object to collide with it


class NoFrame(Exception):
    """There is no such frame; says which."""


class LabPlanningScene:
    """Keeps objects of the world and attached ones, and refuses what MoveIt refuses.

    Args:
        frame: Returns the pose (4, 4) of a frame in the house now; raises NoFrame.

    Attributes:
        objects: Boxes of the world by their ids, in the house [m].
        attached: What hangs on the robot, by its ids, as it was attached.
    """

    def __init__(self, frame: Callable[[str], np.ndarray]) -> None:
        self._frame = frame
        self.objects: dict[str, Box] = {}
        self.attached: dict[str, AttachedCollisionObject] = {}
        self._allowed: set[str] = set()

    def clear(self) -> None:
        """Know nothing, as MoveIt when it starts."""
        self.objects.clear()
        self.attached.clear()
        self._allowed.clear()

    def collision(self, hand: Vec3) -> str:
        """Return the id of an object that a hand [m] would be inside of; "": of none."""
        for name, box in self.objects.items():
            if name not in self._allowed and box.contains(hand, -_INSIDE):
                return name
        return ""

    def apply(self, scene: PlanningScene) -> bool:
        """Take a scene or a change of it; False where a part of it could not be used.

        Every other part counts all the same. As in MoveIt, what is attached goes first and never
        makes it fail.
        """
        if not scene.is_diff:
            self.clear()
        for attached in scene.robot_state.attached_collision_objects:
            self._attach(attached)
        good = True
        for one in scene.world.collision_objects:
            good &= self._object(one)
        matrix = scene.allowed_collision_matrix
        for name, value in zip(
            matrix.default_entry_names, matrix.default_entry_values, strict=False
        ):
            (self._allowed.add if value else self._allowed.discard)(name)
        for name, entry in zip(matrix.entry_names, matrix.entry_values, strict=False):
            if any(entry.enabled):
                self._allowed.add(name)
        return good

    def parts(self, components: int) -> PlanningScene:
        """Return names of objects and what is attached, as far as they are asked for (0: both)."""
        scene = PlanningScene()
        wanted = components or -1
        if wanted & PlanningSceneComponents.WORLD_OBJECT_NAMES:
            scene.world.collision_objects = [CollisionObject(id=name) for name in self.objects]
        if wanted & PlanningSceneComponents.ROBOT_STATE_ATTACHED_OBJECTS:
            scene.robot_state.attached_collision_objects = list(self.attached.values())
        return scene

    def _attach(self, one: AttachedCollisionObject) -> None:
        name = one.object.id
        if _operation(one.object) != CollisionObject.REMOVE[0]:
            if one.object.primitives or self.objects.get(name) is not None:
                self.objects.pop(name, None)
                self.attached[name] = self._hung(one)
            return
        for let_go in [name] if name else list(self.attached):
            kept = self.attached.pop(let_go, None)
            if kept is not None:  # it becomes an object of the world where it is now
                kept.object.operation = CollisionObject.ADD
                self._object(kept.object)

    def _hung(self, one: AttachedCollisionObject) -> AttachedCollisionObject:
        """Return what is attached with its place on the link that carries it, as MoveIt does."""
        try:
            between = inverse(self._frame(one.link_name)) @ self._frame(one.object.header.frame_id)
        except NoFrame:
            return one
        one = deepcopy(one)
        at = between @ _matrix(one.object.pose)
        p, q = one.object.pose.position, one.object.pose.orientation
        p.x, p.y, p.z = at[:3, 3].tolist()
        q.x, q.y, q.z, q.w = Rotation.from_matrix(at[:3, :3]).as_quat().tolist()
        one.object.header.frame_id = one.link_name
        return one

    def _object(self, one: CollisionObject) -> bool:
        """Add or take away an object; False for one that cannot be used or is not there."""
        if _operation(one) == CollisionObject.REMOVE[0]:
            if not one.id:
                self.objects.clear()
                return True
            return self.objects.pop(one.id, None) is not None
        if not one.primitives:
            return False
        try:
            frame = self._frame(one.header.frame_id)
        except NoFrame:
            return False
        at = frame @ _matrix(one.pose)
        if one.primitive_poses:
            at = at @ _matrix(one.primitive_poses[0])
        dimensions = [float(d) for d in one.primitives[0].dimensions]
        size = (dimensions + dimensions[-1:] * 3)[:3] if dimensions else [0.0] * 3
        x, y, z = at[:3, 3].tolist()
        yaw = math.atan2(at[1, 0], at[0, 0])
        self.objects[one.id] = Box((x, y, z), (size[0], size[1], size[2]), yaw)
        return True


def _matrix(pose: Pose) -> Matrix:
    p, q = pose.position, pose.orientation
    turn = (q.x, q.y, q.z, q.w)
    return matrix((p.x, p.y, p.z), turn if any(turn) else (0.0, 0.0, 0.0, 1.0))


def _operation(one: CollisionObject) -> int:
    return one.operation[0] if isinstance(one.operation, bytes) else int(one.operation)
