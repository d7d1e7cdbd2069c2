"""Whether an arm hits the robot it belongs to, by pinocchio and the shapes that can be read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin
from scipy.spatial import ConvexHull, QhullError

from emos_planner.resume.chain import Chain
from emos_planner.resume.geometry import Bodies
from emos_planner.resume.sampling import postures
from emos_planner.resume.tree import Shape, Tree

coal = pin.coal

Array = npt.NDArray[np.float64]

_TRIALS = 128
_ALWAYS = 0.95
_MOST_LINKS = 300


class SelfCollision:
    """Checks postures of one chain against the rest of the robot, which is at rest.

    Shapes of bodies that a joint connects directly are not held against each other, nor are pairs
    that touch in nearly every posture: those overlap by the way they were modelled.

    Args:
        tree: The robot.
        bodies: Its shapes.
        chain: The arm.
        rest: Position of every other joint.
    """

    def __init__(
        self, tree: Tree, bodies: Bodies, chain: Chain, rest: dict[str, float], seed: int = 0
    ) -> None:
        self.chain = chain
        self.left_out: list[tuple[str, str]] = []
        self._model = arm_model(chain)
        self._geometry = pin.GeometryModel()
        moving = self._moving(tree)
        poses = tree.poses(rest)
        names: list[str] = []
        for name in tree.links:
            if len(names) >= _MOST_LINKS:
                break
            index = moving.get(name, -1)
            if index >= 0:
                frame = np.linalg.inv(poses[chain.steps[index].joint.child]) @ poses[name]
            else:
                frame = chain.base @ poses[name]
            for shape in bodies.shapes(name):
                solid, pose = _solid(bodies, shape)
                if solid is not None:
                    place = frame @ pose
                    self._geometry.addGeometryObject(
                        pin.GeometryObject(
                            f"{name}_{len(names)}",
                            index + 1,
                            pin.SE3(place[:3, :3], place[:3, 3]),
                            solid,
                        )
                    )
                    names.append(name)
        self._pairs(tree, names, moving)
        self._data = self._model.createData()
        self._results = pin.GeometryData(self._geometry)
        if self.active:
            self._drop_always(names, seed)

    @property
    def active(self) -> bool:
        """Whether there is anything to hit."""
        return len(self._geometry.collisionPairs) > 0

    def hits(self, positions: Array) -> npt.NDArray[np.bool_]:
        """Return whether each posture (n, joints) makes the robot hit itself (n,)."""
        if not self.active:
            return np.zeros(len(positions), dtype=bool)
        scale = np.array([step.scale for step in self.chain.steps])
        shift = np.array([step.shift for step in self.chain.steps])
        column = [step.column for step in self.chain.steps]
        values = positions[:, column] * scale + shift
        check = pin.computeCollisions
        inputs = self._model, self._data, self._geometry, self._results
        return np.fromiter(
            (check(*inputs, row, True) for row in values), dtype=bool, count=len(values)
        )

    def _moving(self, tree: Tree) -> dict[str, int]:
        """Return link -> number of the last step of the chain that moves it."""
        moving: dict[str, int] = {}
        for index, step in enumerate(self.chain.steps):
            for name in tree.subtree(step.joint.child):
                moving[name] = index
        return moving

    def _pairs(self, tree: Tree, names: list[str], moving: dict[str, int]) -> None:
        above = {
            body: tree.body(tree.above[body].parent)
            for body in {tree.body(name) for name in names}
            if body in tree.above
        }
        for second, b in enumerate(names):
            for first, a in enumerate(names[:second]):
                if moving.get(a, -1) == moving.get(b, -1):
                    continue
                body_a, body_b = tree.body(a), tree.body(b)
                if above.get(body_a) == body_b or above.get(body_b) == body_a:
                    continue
                self._geometry.addCollisionPair(pin.CollisionPair(first, second))

    def _drop_always(self, names: list[str], seed: int) -> None:
        values = postures(self.chain.lower, self.chain.upper, _TRIALS, seed)[:_TRIALS]
        scale = np.array([step.scale for step in self.chain.steps])
        shift = np.array([step.shift for step in self.chain.steps])
        values = values[:, [step.column for step in self.chain.steps]] * scale + shift
        counts = np.zeros(len(self._geometry.collisionPairs))
        for row in values:
            pin.computeCollisions(
                self._model, self._data, self._geometry, self._results, row, False
            )
            counts += [result.isCollision() for result in self._results.collisionResults]
        pairs = list(self._geometry.collisionPairs)
        kept = pin.GeometryModel(self._geometry)
        kept.removeAllCollisionPairs()
        for pair, count in zip(pairs, counts, strict=True):
            if count < _ALWAYS * len(values):
                kept.addCollisionPair(pair)
            else:
                self.left_out.append((names[pair.first], names[pair.second]))
        self._geometry = kept
        self._results = pin.GeometryData(kept)


def arm_model(chain: Chain) -> pin.Model:
    """Return the pinocchio model of a chain: one joint per step, hinges by their angle."""
    model = pin.Model()
    parent = 0
    for step in chain.steps:
        axis = step.axis
        joint = (
            pin.JointModelRevoluteUnaligned(axis)
            if step.turns
            else pin.JointModelPrismaticUnaligned(axis)
        )
        place = pin.SE3(step.before[:3, :3], step.before[:3, 3])
        parent = model.addJoint(parent, joint, place, step.joint.name)
    return model


def _solid(bodies: Bodies, shape: Shape) -> tuple[Any, Array]:
    if shape.kind == "box" and min(shape.size) > 0.0:
        return coal.Box(*shape.size), shape.pose
    if shape.kind == "cylinder" and min(shape.size) > 0.0:
        return coal.Cylinder(*shape.size), shape.pose
    if shape.kind == "sphere" and shape.size[0] > 0.0:
        return coal.Sphere(shape.size[0]), shape.pose
    if shape.kind == "mesh":
        points = bodies.outline(shape)
        if len(points):
            return _convex(points), np.eye(4)
    return None, shape.pose


def _convex(points: Array) -> Any:
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return None
    corners = coal.StdVec_Vec3s()
    for point in points:
        corners.append(point)
    faces = coal.StdVec_Triangle()
    for a, b, c in hull.simplices:
        faces.append(coal.Triangle(int(a), int(b), int(c)))
    return coal.Convex(corners, faces)
