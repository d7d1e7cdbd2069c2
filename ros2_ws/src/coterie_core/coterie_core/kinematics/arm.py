"""A robot's arm from its URDF: what grasps, where it is, and what brings it to a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Vec3
from coterie_core.kinematics.chain import Chain
from coterie_core.kinematics.hands import grasp_of
from coterie_core.kinematics.inverse import Target, solve
from coterie_core.kinematics.limbs import TOOL, Limb, find_limbs, is_arm
from coterie_core.transforms import inverse
from coterie_core.urdf.bodies import Bodies
from coterie_core.urdf.tree import Tree, plain

Array = npt.NDArray[np.float64]

_POSTURES = 256
_REACHED = 0.005  # [m]
_SLOWEST = 0.2  # [rad/s] or [m/s] of joints whose URDF tells none
_FASTEST = 100.0  # [rad/s] or [m/s]; makers write larger numbers where nothing limits a joint


class OutOfReach(ValueError):
    """The hand cannot be at a point; says how far off it stays."""


class NoArm(ValueError):
    """Nothing in a URDF looks like an arm."""


class Arm:
    """The chain from a robot's base frame to its hand.

    Args:
        tree: The robot.
        base: Base frame, in which points are.
        tip: Link that grasps; "": what the URDF tells, of the arm with the most joints.
        folders: Where meshes of the URDF may lie.

    Attributes:
        link: The link that grasps.
        point: Where on it things are grasped [m].
        chain: The joints that move it.
        fingers: Names of the joints that open the hand.

    Raises:
        NoArm: The robot has no arm that can be told.
        ValueError: It has no such tip or no such base frame.
    """

    def __init__(self, tree: Tree, base: str, tip: str = "", folders: Sequence[Path] = ()) -> None:
        for link in (base, *([tip] if tip else [])):
            if link not in tree.links:
                raise ValueError(f"the URDF has no link {link!r}")
        self.tree, self.base = tree, base
        self.bodies = Bodies(tree, folders)
        limb = _limb(tree, base, tip)
        self.link, offset = tip, np.zeros(3)
        if limb is not None:
            rest = tree.resting()
            link, point, _, _ = grasp_of(tree, self.bodies, limb, tree.poses(rest), rest)
            if tip in ("", link):
                self.link, offset = link, point
        if not self.link:
            raise NoArm("no arm was found in the URDF; name the link that grasps")
        x, y, z = offset.tolist()
        self.point: Vec3 = (x, y, z)
        self.fingers = _finger_joints(tree, limb)
        self.chain = self.chain_to(self.link, self.point)
        if self.chain.size == 0:
            raise NoArm(f"no joint moves {self.link!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints that move the hand."""
        return self.chain.names

    @property
    def links(self) -> tuple[str, ...]:
        """Names of the links from the first one that moves to the one that grasps."""
        joints = self.tree.chain(self.link)
        first = next(k for k, joint in enumerate(joints) if joint.name in self.names)
        return tuple(joint.child for joint in joints[first:])

    @cached_property
    def rest(self) -> dict[str, float]:
        """Positions of the joints that move the hand, at zero or at the limit nearest to it."""
        return self.chain.named(self.chain.row({}))

    def chain_to(self, link: str, point: Sequence[float] = (0.0, 0.0, 0.0)) -> Chain:
        """Return the joints that move a point [m] on a link in the base frame."""
        offset = np.asarray(point, dtype=np.float64)
        if any(joint.parent == self.base for joint in self.tree.chain(link)):
            return Chain(self.tree, link, offset=offset, start=self.base)
        return Chain(self.tree, link, inverse(self.tree.poses()[self.base]), offset)

    def pose(self, values: Mapping[str, float], link: str = "") -> Array:
        """Return the pose (4, 4) of a link, or of the point that grasps, in the base frame.

        Args:
            values: Joint -> position [rad or m].
            link: Of the robot; "": where the hand grasps.
        """
        chain = self.chain_to(link) if link else self.chain
        return chain.pose(chain.row(values))

    def reach(
        self,
        point: Sequence[float],
        start: Mapping[str, float],
        *,
        chain: Chain | None = None,
        rotation: Array | None = None,
        tolerance: float = _REACHED,
        seed: int = 0,
    ) -> list[dict[str, float]]:
        """Return postures that bring the hand to a point [m, base frame], the nearest first.

        Damped least squares from where the joints are, and from random postures.

        Args:
            point: Where it shall be.
            start: Where the joints are.
            chain: To something else than the hand.
            rotation: (3, 3) of the chain's last link in the base frame; None: any.
            tolerance: How far off it may stay [m].
            seed: Of the random postures.

        Raises:
            OutOfReach: There are none.
        """
        chain = chain or self.chain
        now = chain.row(start)
        random = np.random.default_rng(seed).uniform(*chain.limits, (_POSTURES, chain.size))
        steps = 30 if rotation is None else 60
        found = solve(chain, Target.point(point, rotation), np.vstack([now, random]), steps=steps)
        good = np.flatnonzero(found.errors < tolerance)
        if not len(good):
            where = ", ".join(f"{v:.2f}" for v in point)
            raise OutOfReach(
                f"the hand cannot be at ({where}) in the base frame: it stays "
                f"{float(found.errors.min()):.2f} m away"
            )
        way = np.abs(found.positions[good] - now).max(axis=1)
        return [chain.named(row) for row in found.positions[good[np.argsort(way, kind="stable")]]]

    def duration(
        self, start: Mapping[str, float], end: Mapping[str, float], velocity: float
    ) -> float:
        """Return how long a motion takes [s] at a fraction of the joints' largest velocity."""
        times = [
            abs(end.get(joint.name, 0.0) - start.get(joint.name, 0.0))
            / (velocity * (joint.velocity if 0.0 < joint.velocity < _FASTEST else _SLOWEST))
            for joint in self.chain.joints
        ]
        return max(times)


def _limb(tree: Tree, base: str, tip: str) -> Limb | None:
    """Return the limb that grasps: with a hand; without any, the only one that could be an arm."""
    limbs = find_limbs(tree, tree.body(base))[1]
    if tip:
        limbs = [limb for limb in limbs if tip in tree.subtree(limb.joints[0].child)]
    hands = [limb for limb in limbs if limb.fingers or _named(tree, limb)]
    if not hands and len(others := [limb for limb in limbs if is_arm(tree, limb)]) == 1:
        hands = others
    return max(hands, key=lambda limb: len(limb.joints), default=None)


def _named(tree: Tree, limb: Limb) -> bool:
    return any(TOOL.search(plain(name)) for name in tree.subtree(limb.joints[0].child))


def _finger_joints(tree: Tree, limb: Limb | None) -> tuple[str, ...]:
    """Return the joints that open a hand, those that follow others included."""
    below = [
        tree.above[name]
        for finger in (limb.fingers if limb is not None else ())
        for name in tree.subtree(finger.child)
    ]
    return tuple(dict.fromkeys(joint.name for joint in below if joint.axial))
