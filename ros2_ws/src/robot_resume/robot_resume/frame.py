"""The base frame: which link is the body, which way is up and which is ahead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.transforms import inverse
from coterie_core.urdf.bodies import Bodies
from coterie_core.urdf.tree import Joint, Tree, turn

Array = npt.NDArray[np.float64]

_X, _Y, _Z = np.eye(3)


@dataclass
class Base:
    """The body and its frame.

    Attributes:
        link: The body: the first link below joints that only place the robot in the world.
        virtual: Those joints.
        pose: (4, 4) of the root link in the base frame (x ahead, y left, z up).
        evidence: How the frame was found.
    """

    link: str
    virtual: tuple[Joint, ...]
    pose: Array
    evidence: str

    def turned(self, rotation: Array, why: str) -> Base:
        """Return the same body with its frame turned by `rotation` (3, 3)."""
        change = np.eye(4)
        change[:3, :3] = rotation
        return Base(self.link, self.virtual, change @ self.pose, f"{self.evidence}; {why}")

    def poses(self, tree: Tree, rest: dict[str, float]) -> dict[str, Array]:
        """Return the pose (4, 4) of every link in the base frame."""
        return {name: self.pose @ pose for name, pose in tree.poses(rest).items()}


def find_base(tree: Tree, bodies: Bodies) -> Base:
    """Return the body and its frame: the root's, unless something says that it lies on its side."""
    link, virtual = _skip_virtual(tree)
    poses = tree.poses(tree.resting())
    evidence = f"frame of link {link}"
    if virtual:
        names = ", ".join(joint.name for joint in virtual)
        verb = "only places" if len(virtual) == 1 else "only place"
        evidence += f" below {names}, which {verb} it in the world"
    base = Base(link, virtual, inverse(poses[link]), evidence)
    hung = _turned_body(tree, link)
    if hung is not None:
        pose = inverse(poses[hung])
        why = (
            f"frame of link {hung}, whose z axis points up: {link} carries nothing itself and "
            "is turned by 90 degrees against it (y up)"
        )
        return Base(link, virtual, pose, why)
    return _righted(tree, bodies, base)


def _skip_virtual(tree: Tree) -> tuple[str, tuple[Joint, ...]]:
    """Pass joints at the root that move the whole robot: planar, floating, or sliding x and y."""
    link = tree.root
    passed: list[Joint] = []
    best: tuple[str, tuple[Joint, ...]] = (link, ())
    while not tree.links[link].shapes and len(tree.below[link]) == 1:
        joint = tree.below[link][0]
        link = joint.child
        if not joint.movable:
            continue
        passed.append(joint)
        slides = [each for each in passed if each.kind == "prismatic"]
        flat = len(slides) >= 2 and abs(slides[0].axis @ slides[1].axis) < 0.1
        if flat or any(each.kind in ("planar", "floating") for each in passed):
            best = (link, tuple(passed))
    return best


def _turned_body(tree: Tree, link: str) -> str | None:
    """Return the link that hangs turned by 90 degrees below a bare root and carries the robot."""
    if tree.links[link].shapes:
        return None
    for joint in tree.below[link]:
        if joint.movable or not tree.links[joint.child].shapes:
            continue
        if abs(joint.origin[2, 2]) < 0.5:
            if sum(1 for _ in tree.subtree(joint.child)) * 2 > len(tree.links):
                return joint.child
    return None


def _righted(tree: Tree, bodies: Bodies, base: Base) -> Base:
    """Stand a robot up whose wheels say that another axis than z is up.

    Wheels of one axle share their axis and lie apart along it; were that axis upright, they would
    lie on top of one another.
    """
    poses = base.poses(tree, tree.resting())
    axles = []
    for joint in tree.joints.values():
        if joint.free and not any(tree.below[name] for name in [joint.child]):
            pose = poses[joint.child]
            axles.append((pose[:3, :3] @ joint.axis, pose[:3, 3]))
    if len(axles) < 2 or any(abs(axis[2]) < 0.9 for axis, _ in axles):
        return base
    centres = np.array([centre for _, centre in axles])
    spread = np.ptp(centres, axis=0)
    if spread[2] < 0.1:
        return base  # rotors lie side by side
    other = spread[:2].max()
    if len(axles) == 2 and other > 0.3 * spread[2]:
        return base
    cloud = np.concatenate(
        [poses[name][:3, 3][None] for name in tree.links]
        + [
            bodies.points(name) @ poses[name][:3, :3].T + poses[name][:3, 3]
            for name in tree.links
            if len(bodies.points(name))
        ]
    )
    above = cloud.max(axis=0) - centres.mean(axis=0)
    below = centres.mean(axis=0) - cloud.min(axis=0)
    excess = (above - below)[:2]
    up = int(np.argmax(np.abs(excess)))
    sign = 1.0 if excess[up] >= 0.0 else -1.0
    rotation = turn(_X, sign * np.pi / 2.0) if up == 1 else turn(_Y, -sign * np.pi / 2.0)
    name = ("-" if sign < 0 else "") + "xy"[up]
    return base.turned(
        rotation, f"stood up so that {name} is up, because wheel axles point along z"
    )


def face_ahead(base: Base, axles: list[Array], looks: list[Array]) -> Base:
    """Turn the frame so that x is ahead, if the axles say that the robot does not roll along x.

    Args:
        base: The frame so far.
        axles: Axes (3,) of wheels that do not steer, in that frame.
        looks: Directions (3,) that cameras look in, in that frame.
    """
    if not axles:
        return base
    along_x = [abs(axis[0]) > 0.9 for axis in axles]
    if not all(along_x):
        return base
    ahead = sum((look[1] for look in looks), 0.0)
    sign = -1.0 if ahead < -0.1 else 1.0
    why = "turned so that x is ahead, because the wheels' axles lie along the model's x axis" + (
        " and its cameras look that way"
        if abs(ahead) > 0.1
        else "; which end is the front is assumed"
    )
    return base.turned(turn(_Z, -sign * np.pi / 2.0), why)
