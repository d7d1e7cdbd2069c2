"""What an arm may hit: the robot itself, boxes around it, and with what its hand holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from coterie_core.geometry import Box, yaw_to_quaternion
from coterie_core.kinematics.arm import Arm
from coterie_core.kinematics.chain import Chain, to_z
from coterie_core.kinematics.collision import SelfCollision
from coterie_core.transforms import matrix

coal = pin.coal

Array = npt.NDArray[np.float64]

_BONE = 0.04
"""Half the thickness of a part of the arm whose shapes are not known [m]."""
_STEP = 0.02
"""Largest step of a joint between two postures of a way that are checked [rad or m]."""
_THINNEST = 0.005  # [m] of a box
HELD, FLOOR = "what the hand holds", "what the robot stands on"
_GAP = 0.01
"""The floor is taken so far below the lowest shape [m]."""
_SLAB, _WIDE = 0.1, 6.0  # [m], of the floor as a box


class ArmSpace:
    """Postures of an arm, free or not, among boxes.

    Where no shape of what a joint moves can be read, it is taken as a bone from joint to joint.
    The thing held is a box on the hand. What touches when a way begins may go on to
    touch until it has come apart: an arm that leans on a table can leave it.

    Args:
        own: Collisions of the arm with its robot.
        boxes: Name and box of each obstacle, in the base frame.
        held: Size of what the hand holds; None: nothing.
        grasp: Pose (4, 4) of its box in the frame of the point that grasps; None: that of the hand.
    """

    def __init__(
        self,
        own: SelfCollision,
        boxes: Sequence[tuple[str, Box]] = (),
        held: Box | None = None,
        grasp: Array | None = None,
    ) -> None:
        self.chain: Chain = own.chain
        self._own = own
        self._geometry = pin.GeometryModel(own.geometry)
        self._names = [*own.names]
        moving = self._moving()
        if held is not None:
            edges = coal.Box(*(max(edge, _THINNEST) for edge in held.size))
            end = self.chain.end if grasp is None else self.chain.end @ grasp
            index = self._add(HELD, len(self.chain.steps), end, edges)
            # The hand touches what it holds; the robot's trunk must not.
            for k, one in enumerate(own.geometry.geometryObjects):
                if one.parentJoint == 0:
                    self._pair(k, index)
            moving.append(index)
        for name, box in boxes:
            pose = matrix(box.center, yaw_to_quaternion(box.yaw))
            edges = coal.Box(*(max(edge, _THINNEST) for edge in box.size))
            index = self._add(name, 0, pose, edges)
            for k in moving:
                self._pair(k, index)
        self._data = own.model.createData()
        self._results = pin.GeometryData(self._geometry)

    def hits(self, row: Array) -> bool:
        """Whether anything touches at a posture (joints,)."""
        return self._check(row, True)

    def touching(self, row: Array) -> tuple[str, str] | None:
        """Return the names of two parts that touch at a posture (joints,), None where none do."""
        return self._named(self._touch(row)) if self._check(row, True) else None

    def way(self, start: Array, end: Array) -> tuple[Array, tuple[str, str] | None]:
        """Return how far the straight way between two postures (joints,) is free.

        Returns:
            The last free posture on it, `end` if all of it is, and the names of the two parts
            that hit each other behind it.
        """
        leaving = self._touch(start)
        last = start
        count = max(int(np.ceil(np.abs(end - start).max(initial=0.0) / _STEP)), 1)
        for k in range(1, count + 1):
            row = start + (end - start) * (k / count)
            if not leaving.any():
                if self._check(row, True):
                    return last, self._named(self._touch(row))
            else:
                touch = self._touch(row)
                leaving &= touch
                if (touch & ~leaving).any():
                    return last, self._named(touch & ~leaving)
                if leaving.any():
                    continue  # still leaning: nowhere to stay
            last = row
        return (last, self._named(leaving)) if leaving.any() else (end, None)

    def _check(self, row: Array, first: bool) -> bool:
        values = self.chain.values(row[None])[0]
        return bool(
            pin.computeCollisions(
                self._own.model, self._data, self._geometry, self._results, values, first
            )
        )

    def _touch(self, row: Array) -> npt.NDArray[np.bool_]:
        """Return which pairs touch (pairs,)."""
        if not len(self._geometry.collisionPairs):
            return np.zeros(0, dtype=bool)
        self._check(row, False)
        return np.array([one.isCollision() for one in self._results.collisionResults])

    def _named(self, touch: npt.NDArray[np.bool_]) -> tuple[str, str]:
        pair = self._geometry.collisionPairs[int(np.flatnonzero(touch)[0])]
        return self._names[pair.first], self._names[pair.second]

    def _moving(self) -> list[int]:
        """Return the shapes that the arm moves; adds bones where there are none."""
        steps = self.chain.steps
        objects = self._geometry.geometryObjects
        moving = [k for k, one in enumerate(objects) if one.parentJoint > 0]
        known = {objects[k].parentJoint for k in moving}
        for k, step in enumerate(steps):
            end = (steps[k + 1].before if k + 1 < len(steps) else self.chain.end)[:3, 3]
            length = float(np.linalg.norm(end))
            if k + 1 not in known and length > _BONE:
                pose = np.eye(4)
                pose[:3, :3] = to_z(end / length).T
                pose[:3, 3] = end / 2.0
                bone = coal.Capsule(_BONE, length)
                moving.append(self._add(step.joint.child, k + 1, pose, bone))
        return moving

    def _add(self, name: str, joint: int, pose: Array, solid: object) -> int:
        place = pin.SE3(pose[:3, :3], pose[:3, 3])
        label = f"{name}_{len(self._names)}"
        self._names.append(name)
        return int(self._geometry.addGeometryObject(pin.GeometryObject(label, joint, place, solid)))

    def _pair(self, first: int, second: int) -> None:
        self._geometry.addCollisionPair(pin.CollisionPair(first, second))


class ArmSpaces:
    """Makes the spaces of an arm, keeping what is known of its robot.

    Args:
        arm: The arm.
    """

    def __init__(self, arm: Arm) -> None:
        self._arm = arm
        self._own: tuple[dict[str, float], SelfCollision] | None = None

    @property
    def unknown(self) -> str:
        """Which links of the arm have shapes that cannot be read; empty: none."""
        tree, bodies = self._arm.tree, self._arm.bodies
        below = {name for step in self._arm.chain.steps for name in tree.subtree(step.joint.child)}
        return ", ".join(
            name
            for name in tree.links
            if name in below and tree.links[name].shapes and not bodies.measured(name)
        )

    def among(
        self,
        joints: Mapping[str, float],
        boxes: Sequence[tuple[str, Box]] = (),
        held: Box | None = None,
        grasp: Array | None = None,
    ) -> ArmSpace:
        """Return the space among boxes (base frame), the robot standing on a floor.

        Args:
            joints: Where all joints of the robot are; the others rest.
            boxes: Name and box of each obstacle.
            held: Box of what the hand holds.
            grasp: Its pose (4, 4) in the frame of the point that grasps; None: that of the hand.
        """
        arm = self._arm
        rest = arm.tree.resting()
        rest |= {name: joints[name] for name in rest if name in joints and name not in arm.names}
        moved = self._own is None or any(
            abs(rest[name] - value) > _STEP for name, value in self._own[0].items()
        )
        if moved:
            self._own = rest, SelfCollision(arm.tree, arm.bodies, arm.chain, rest)
        assert self._own is not None
        own = self._own[1]
        floor = own.lowest()
        if floor is not None:
            slab = Box((0.0, 0.0, floor - _GAP - _SLAB / 2.0), (_WIDE, _WIDE, _SLAB))
            boxes = [*boxes, (FLOOR, slab)]
        return ArmSpace(own, boxes, held, grasp)
