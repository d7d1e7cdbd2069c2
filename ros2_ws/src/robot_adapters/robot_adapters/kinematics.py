"""Kinematics of a robot's arm from its URDF: what grasps, which way it points, joint positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Vec3
from coterie_core.kinematics.chain import Chain
from coterie_core.kinematics.inverse import Target, solve
from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.tree import inverse
from robot_resume.builder import analyse

Array = npt.NDArray[np.float64]

_POSTURES = 256
_REACHED = 0.005
_POINTED = 0.01  # [m] from the link's origin to where it grasps that tell which way it points
_SLOWEST = 0.2  # [rad/s] of joints whose URDF does not tell


class OutOfReach(ValueError):
    """The hand cannot be at a point; says how far off it stays."""


@dataclass(frozen=True, slots=True)
class Hand:
    """What grasps: link, the point on it [m], and which way it points there (None: not known)."""

    link: str
    point: Vec3 = (0.0, 0.0, 0.0)
    direction: Vec3 | None = None

    def pointing(self, axis: str) -> Hand:
        """Return the hand pointing along an axis of its link; auto: as the URDF tells."""
        ways = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
        return self if axis == "auto" else replace(self, direction=ways.get(axis))


class ArmKinematics:
    """The chain from a robot's base frame to its hand.

    Args:
        urdf: Text of the URDF.
        base: Base frame, in which points are.
        tip: Link that grasps; "": that which the URDF tells, of the arm that reaches farthest.

    Raises:
        ValueError: The URDF cannot be used, or has no arm, no such link or no such frame.
    """

    def __init__(self, urdf: str, base: str, tip: str = "") -> None:
        try:
            found = analyse(urdf.encode())
        except UrdfError as error:
            raise ValueError(f"urdf: {error}") from None
        tree = found.scene.tree
        arms = {model.tip: model for model in found.arms}
        if not arms and not tip:
            raise ValueError("urdf: no arm was found in it; name the link that grasps in arm.tip")
        if tip and tip not in tree.links:
            raise ValueError(f"arm.tip: the URDF has no link {tip!r}")
        poses = tree.poses()
        if base not in poses:
            raise ValueError(f"frames.base: the URDF has no link {base!r}")
        model = arms.get(tip) or (None if tip else max(found.arms, key=lambda arm: arm.chain.size))
        link = tip or (model.tip if model is not None else "")
        offset = np.zeros(3) if model is None else np.asarray(model.offset, np.float64)
        self.chain = Chain(tree, link, inverse(poses[base]), offset)
        if self.chain.size == 0:
            raise ValueError(f"arm.tip: no joint moves {link!r}")
        length = float(np.linalg.norm(offset))
        x, y, z = offset.tolist()
        way = None if length < _POINTED else (x / length, y / length, z / length)
        self.hand = Hand(link, (x, y, z), way)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that move the hand."""
        return tuple(joint.name for joint in self.chain.joints)

    def point(self, positions: Mapping[str, float]) -> Vec3:
        """Return where the hand is [m, base frame] at joint positions (0 for those not given)."""
        row = np.array([[positions.get(name, 0.0) for name in self.joints]])
        x, y, z = self.chain.points(row)[0].tolist()
        return (x, y, z)

    def reach(self, point: Vec3, start: Mapping[str, float], seed: int = 0) -> dict[str, float]:
        """Return joint positions that bring the hand to a point [m, base frame].

        Of those that do, the ones nearest to where the joints are. Obstacles are not looked at.

        Raises:
            OutOfReach: There are none.
        """
        lower, upper = self.chain.limits
        now = np.clip([start.get(name, 0.0) for name in self.joints], lower, upper)
        random = np.random.default_rng(seed).uniform(lower, upper, (_POSTURES, len(now)))
        found = solve(self.chain, Target.point(np.array(point)), np.vstack([now, random]))
        good = found.errors < _REACHED
        if not good.any():
            where = ", ".join(f"{v:.2f}" for v in point)
            raise OutOfReach(
                f"the hand cannot be at ({where}) in the base frame: it stays "
                f"{float(found.errors.min()):.2f} m away"
            )
        postures = found.positions[good]
        best = postures[np.argmin(np.abs(postures - now).max(axis=1))]
        return dict(zip(self.joints, best.tolist(), strict=True))

    def duration(
        self, start: Mapping[str, float], end: Mapping[str, float], velocity: float
    ) -> float:
        """Return how long a motion takes [s] at a fraction of the joints' largest velocity."""
        times = [
            abs(end[joint.name] - start.get(joint.name, 0.0))
            / (velocity * (joint.velocity if joint.velocity > 0.0 else _SLOWEST))
            for joint in self.chain.joints
        ]
        # Twice as long as at constant velocity: controllers accelerate and brake.
        return max(2.0 * max(times, default=0.0), 0.5)
