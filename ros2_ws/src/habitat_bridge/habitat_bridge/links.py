"""Links of a robot's description: where each one is, seen from its neighbor, at rest or posed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.spatial.transform import Rotation

from coterie_core.geometry import Quaternion, Vec3
from coterie_core.transforms import Matrix, inverse
from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.tree import Joint, Tree, tree_of

Link = tuple[str, str, Vec3, Quaternion]
"""Parent, child, position [m] and rotation (x, y, z, w) of the child in the parent's frame."""

BASE = "base_link"


def base_of(tree: Tree) -> str:
    """Return the link that a robot's pose is of: `base_link`, or the root where there is none."""
    return BASE if BASE in tree.links else tree.root


def posed_links(tree: Tree, values: Mapping[str, float]) -> list[Link]:
    """Return a robot's links as seen from its base, the joints at values or else at rest.

    Where the base is not the root, as below a `base_footprint`, the way to the root is turned
    round: every frame keeps one parent.

    Args:
        tree: The robot.
        values: Joint's name -> value [rad] or [m]; at rest is 0, or the limit nearest to it.
    """
    values = {**tree.resting(), **values}

    def local(joint: Joint) -> Matrix:
        return joint.origin @ tree.moved(joint, values) if joint.axial else joint.origin

    found: list[tuple[str, str, Matrix]] = []
    seen = {base_of(tree)}
    todo = [base_of(tree)]
    while todo:
        here = todo.pop()
        around = [(joint.child, local(joint)) for joint in tree.below[here]]
        if here in tree.above:
            around.append((tree.above[here].parent, inverse(local(tree.above[here]))))
        for name, pose in around:
            if name not in seen:
                seen.add(name)
                todo.append(name)
                found.append((here, name, pose))
    if not found:
        return []
    poses = np.stack([pose for _, _, pose in found])
    turns = Rotation.from_matrix(poses[:, :3, :3]).as_quat().tolist()  # one by one it takes long
    return [
        (parent, child, (x, y, z), (a, b, c, d))
        for (parent, child, _), (x, y, z), (a, b, c, d) in zip(
            found, poses[:, :3, 3].tolist(), turns, strict=True
        )
    ]


def known_links(robot: str, urdf: str, problem: Callable[[str], object]) -> list[Link]:
    """Return the links of a robot's description at rest; none, and why, where it is unreadable."""
    try:
        return posed_links(tree_of(urdf), {})
    except UrdfError as error:
        problem(f"{robot}: no frames of its links: {error}")
        return []


def values_at_rest(tree: Tree) -> dict[str, float]:
    """Return the values that joints have at rest [rad] or [m], but for those that follow others."""
    return {name: v for name, v in tree.resting().items() if tree.joints[name].mimic is None}
