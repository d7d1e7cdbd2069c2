"""Whether an arm hits the robot it belongs to, by pinocchio and the shapes that can be read."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from coterie_core.kinematics.chain import Chain
from coterie_core.kinematics.sampling import postures
from coterie_core.transforms import inverse
from coterie_core.urdf.bodies import Bodies
from coterie_core.urdf.tree import Joint, Shape, Tree

coal = pin.coal

Array = npt.NDArray[np.float64]

_TRIALS = 128
_ALWAYS = 0.95
_OFTEN = 0.1
_FAR = 0.15
_MOST_LINKS = 300
_DIRECTIONS = 162


class SelfCollision:
    """Checks postures of one chain against the rest of the robot, which is at rest.

    Shapes of bodies that a joint connects directly are not held against each other, nor are tubes
    of one telescope, nor pairs that overlap by the way they were modelled (see `left_out`).

    Args:
        tree: The robot.
        bodies: Its shapes.
        chain: The arm.
        rest: Position of every other joint.
        seed: Of the postures that tell which pairs touch by the way they were modelled.

    Attributes:
        model: The arm's joints, one per step of the chain.
        geometry: Shapes of the robot and the pairs that are held against each other.
        names: Link of each shape.
        known: Whether there are shapes that could touch.
        left_out: Pairs of links that are not held against each other, because they always touch.
    """

    def __init__(
        self, tree: Tree, bodies: Bodies, chain: Chain, rest: Mapping[str, float], seed: int = 0
    ) -> None:
        self.chain = chain
        self.left_out: list[tuple[str, str]] = []
        self._near: list[bool] = []
        self.model = chain.model
        self.geometry = pin.GeometryModel()
        moving = self._moving(tree)
        poses = tree.poses(rest)
        base = chain.base @ inverse(poses[chain.start]) if chain.start else chain.base
        names: list[str] = []
        for name in tree.links:
            if len(names) >= _MOST_LINKS:
                break
            index = moving.get(name, -1)
            if index >= 0:
                frame = np.linalg.inv(poses[chain.steps[index].joint.child]) @ poses[name]
            else:
                frame = base @ poses[name]
            for shape in bodies.shapes(name):
                solid, pose = _solid(bodies, shape)
                if solid is not None:
                    place = frame @ pose
                    self.geometry.addGeometryObject(
                        pin.GeometryObject(
                            f"{name}_{len(names)}",
                            index + 1,
                            pin.SE3(place[:3, :3], place[:3, 3]),
                            solid,
                        )
                    )
                    names.append(name)
        self.names = names
        self._pairs(tree, names, moving)
        self.known = len(self.geometry.collisionPairs) > 0
        self._data = self.model.createData()
        self._results = pin.GeometryData(self.geometry)
        if self.active:
            self._drop_modelled(names, rest, seed)

    def lowest(self) -> float | None:
        """Return the lowest height of what the arm does not move [m, base frame]; None: unknown."""
        still = [one for one in self.geometry.geometryObjects if one.parentJoint == 0]
        lows = []
        for one in still:
            one.geometry.computeLocalAABB()
            box = one.geometry.aabb_local
            corners = np.array(list(itertools.product(*zip(box.min_, box.max_, strict=True))))
            lows.append(float((corners @ one.placement.rotation.T)[:, 2].min()))
            lows[-1] += float(one.placement.translation[2])
        return min(lows, default=None)

    @property
    def active(self) -> bool:
        """Whether there is anything to hit."""
        return len(self.geometry.collisionPairs) > 0

    def hits(self, positions: Array) -> npt.NDArray[np.bool_]:
        """Return whether each posture (n, joints) makes the robot hit itself (n,)."""
        if not self.active:
            return np.zeros(len(positions), dtype=bool)
        values = self.chain.values(positions)
        check = pin.computeCollisions
        inputs = self.model, self._data, self.geometry, self._results
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
        """Add the pairs that may hit each other; note those whose links are close in the tree."""
        poses = tree.poses()
        joints: dict[str, list[Joint]] = {}
        for name in names:
            body = tree.body(name)
            if body not in joints:
                joints[body] = [joint for joint in tree.chain(body) if joint.movable]
        for second, b in enumerate(names):
            for first, a in enumerate(names[:second]):
                if moving.get(a, -1) == moving.get(b, -1):
                    continue
                between = set(joints[tree.body(a)]) ^ set(joints[tree.body(b)])
                if len(between) < 2:
                    continue
                axes = np.array([poses[j.child][:3, :3] @ j.axis for j in between])
                if all(j.kind == "prismatic" for j in between) and (
                    np.abs(axes @ axes[0]).min() > 0.99
                ):
                    continue  # tubes that slide in one another
                self._near.append(len(between) == 2)
                self.geometry.addCollisionPair(pin.CollisionPair(first, second))

    def _drop_modelled(self, names: list[str], rest: Mapping[str, float], seed: int) -> None:
        """Leave out pairs that touch because of how they were modelled.

        That is: in nearly every posture; or often, and at rest or with one body between them.
        Pairs that never come near each other are not worth a check either.
        """
        positions = postures(self.chain.lower, self.chain.upper, _TRIALS, seed)[:_TRIALS]
        resting = [rest.get(joint.name, 0.0) for joint in self.chain.joints]
        touching = np.array(
            [self._touching(row) for row in self.chain.values(np.vstack([resting, positions]))]
        )
        share = touching[1:].mean(axis=0)
        apart = self._apart(self.chain.values(positions))
        close = np.array(self._near)
        modelled = (share >= _ALWAYS) | ((touching[0] | close) & (share > _OFTEN))
        pairs = list(self.geometry.collisionPairs)
        kept = pin.GeometryModel(self.geometry)
        kept.removeAllCollisionPairs()
        for k, pair in enumerate(pairs):
            if modelled[k]:
                self.left_out.append((names[pair.first], names[pair.second]))
            elif apart[k] < _FAR:
                kept.addCollisionPair(pair)
        self.geometry = kept
        self._results = pin.GeometryData(kept)

    def _apart(self, values: Array) -> Array:
        """Return the least distance of each pair's bounding spheres (pairs,) over postures [m]."""
        solids = [solid.geometry for solid in self.geometry.geometryObjects]
        for solid in solids:
            solid.computeLocalAABB()
        radii = np.array([solid.aabb_radius for solid in solids])
        middles = [np.asarray(solid.aabb_center) for solid in solids]
        pairs = np.array([(p.first, p.second) for p in self.geometry.collisionPairs])
        least = np.full(len(pairs), np.inf)
        for row in values:
            pin.updateGeometryPlacements(self.model, self._data, self.geometry, self._results, row)
            centres = np.array(
                [place.act(m) for place, m in zip(self._results.oMg, middles, strict=True)]
            )
            gap = np.linalg.norm(centres[pairs[:, 0]] - centres[pairs[:, 1]], axis=1)
            least = np.minimum(least, gap)
        return least - radii[pairs[:, 0]] - radii[pairs[:, 1]]

    def _touching(self, values: Array) -> list[bool]:
        pin.computeCollisions(self.model, self._data, self.geometry, self._results, values, False)
        return [result.isCollision() for result in self._results.collisionResults]


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
    """Return the convex hull as coal's solid; None where it has no volume."""
    from scipy.spatial import ConvexHull, QhullError

    for corners in (points, _farthest(points)):
        try:
            hull = ConvexHull(corners)
            solid_points = coal.StdVec_Vec3s()
            for point in corners:
                solid_points.append(point)
            faces = coal.StdVec_Triangle()
            for a, b, c in hull.simplices:
                faces.append(coal.Triangle(int(a), int(b), int(c)))
            return coal.Convex(solid_points, faces)
        except (QhullError, ValueError):
            return None
        except RuntimeError:
            continue  # coal takes no corner with more than 255 neighbors, as the tip of a cone has
    return None


def _farthest(points: Array) -> Array:
    """Return the points that are farthest out in each of some hundred directions."""
    steps = np.arange(_DIRECTIONS) + 0.5
    polar, around = np.arccos(1.0 - 2.0 * steps / _DIRECTIONS), np.pi * (1.0 + 5.0**0.5) * steps
    ways = np.column_stack(
        [np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)]
    )
    return points[np.unique((points @ ways.T).argmax(axis=0))]
