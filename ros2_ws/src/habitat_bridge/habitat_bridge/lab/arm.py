"""An arm from a robot's description: where its hand is, and joint values that bring it there."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Vec3
from habitat_bridge.links import BASE, JointFrame, read_joints

Array = npt.NDArray[np.float64]

_TIPS = (
    re.compile(r"grasp"),
    re.compile(r"(^|_)(tcp|ee|eef|end_?effector|tool0)(_|$)"),
    re.compile(r"(^|_)(gripper|hand|palm|wrist)(_|$)"),
)
_FINGER = re.compile(r"finger|gripper_(joint|opening|aperture)|jaw|knuckle")
_CLOSE = 0.003  # [m] that counts as there
_CLOSE_TURN = 0.05  # [rad]
_STEPS = 80
_TRIES = 8
_POOL = 150
_UNLIMITED = math.pi
_SPEED = 0.6  # [rad/s] or [m/s] of joints that name none


class NoSolution(ValueError):
    """No joint values bring the hand there; says how near they come."""


@dataclass(frozen=True, slots=True)
class Arm:
    """The joints between a robot's base and its hand.

    Attributes:
        chain: All joints on the way, fixed ones too, from the base on.
        tip: Name of the link that grasps.
        fingers: Names of the joints that open the hand.
        opening: Widest gap between the fingers [m].
    """

    chain: tuple[JointFrame, ...]
    tip: str
    fingers: tuple[str, ...]
    opening: float

    @property
    def joints(self) -> tuple[JointFrame, ...]:
        """Those that have values."""
        return tuple(joint for joint in self.chain if joint.moves and not joint.mimic[0])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints that have values."""
        return tuple(joint.name for joint in self.joints)

    def rest(self) -> dict[str, float]:
        """Return joint values of an arm that nobody has moved yet."""
        return {joint.name: joint.rest for joint in self.joints}

    def hand(self, values: Mapping[str, float], link: str = "") -> Array:
        """Return the pose (4, 4) of the hand, or of a link on the way, in the base frame.

        Raises:
            KeyError: The link is not on the way to the hand.
        """
        pose = np.eye(4)
        for joint in self.chain:
            pose = pose @ joint.pose(_value(joint, values))
            if joint.child == link:
                return pose
        if link not in ("", self.tip):
            raise KeyError(link)
        return pose

    def duration(
        self, start: Mapping[str, float], end: Mapping[str, float], scale: float = 1.0
    ) -> float:
        """Return the time [s] that a motion takes with joint speeds scaled by `scale`."""
        slowest = 0.0
        for joint in self.joints:
            way = abs(end.get(joint.name, 0.0) - start.get(joint.name, 0.0))
            slowest = max(slowest, way / ((joint.speed or _SPEED) * min(max(scale, 0.01), 1.0)))
        return max(slowest, 0.1)

    def solve(
        self,
        position: Vec3,
        turn: Array | None,
        start: Mapping[str, float],
        *,
        tolerance: float = _CLOSE,
        seed: int = 0,
    ) -> dict[str, float]:
        """Return joint values that bring the hand to a pose in the base frame.

        Least squares within the joints' limits, from where the arm is, then from random postures.

        Args:
            position: Of the hand [m].
            turn: Rotation (3, 3) of the hand; None, or an arm of less than six joints: any.
            start: Joint values to begin with.
            tolerance: Largest distance that counts as there [m].
            seed: Of the random postures.

        Raises:
            NoSolution: None were found.
        """
        joints = self.joints
        low = np.array([max(j.lower, -_UNLIMITED) for j in joints])
        high = np.array(
            [max(min(j.upper, _UNLIMITED), b + 1e-4) for j, b in zip(joints, low, strict=True)]
        )
        goal = np.array(position)
        rotation = turn if len(joints) >= 6 else None
        rng = np.random.default_rng(seed)
        first = np.array([start.get(j.name, j.rest) for j in joints])
        best = math.inf
        tries: list[Array] = [first]
        for k in range(_TRIES):
            if k == 1:  # the nearest of many postures, where going straight there got stuck
                pool = rng.uniform(low, high, (_POOL, len(joints)))
                gaps = [np.linalg.norm(self._at(one) - goal) for one in pool]
                tries += [pool[n] for n in np.argsort(gaps)[: _TRIES - 1]]
            values, off, angle = self._descend(
                np.clip(tries[k], low, high), goal, rotation, low, high
            )
            best = min(best, off)
            if off <= max(tolerance, _CLOSE) and angle <= _CLOSE_TURN:
                return dict(zip(self.names, values.tolist(), strict=True))
        where = ", ".join(f"{v:.2f}" for v in position)
        raise NoSolution(f"({where}) in the base frame: the hand comes within {best:.2f} m")

    def _descend(
        self, values: Array, goal: Array, rotation: Array | None, low: Array, high: Array
    ) -> tuple[Array, float, float]:
        """Return the values that a start leads to, and how far off they are [m], [rad]."""
        from scipy.optimize import least_squares

        def error(at: Array) -> Array:
            pose = self.hand(dict(zip(self.names, at.tolist(), strict=True)))
            off = pose[:3, 3] - goal
            return off if rotation is None else np.append(off, -_twist(rotation @ pose[:3, :3].T))

        def jacobian(at: Array) -> Array:
            return self._jacobian(at) if rotation is not None else self._jacobian(at)[:3]

        inside = np.clip(values, low + 1e-6, np.maximum(high - 1e-6, low + 1e-6))
        found = least_squares(error, inside, jacobian, (low, high), max_nfev=_STEPS).x
        left = error(found)
        return found, float(np.linalg.norm(left[:3])), float(np.linalg.norm(left[3:]))

    def _at(self, values: Array) -> Array:
        """Return the hand's position (3,) in the base frame."""
        return self.hand(dict(zip(self.names, values.tolist(), strict=True)))[:3, 3]

    def _jacobian(self, values: Array) -> Array:
        """Return the hand's Jacobian (6, n) in the base frame."""
        named = dict(zip(self.names, values.tolist(), strict=True))
        pose = np.eye(4)
        axes: list[tuple[JointFrame, Array, Array]] = []
        for joint in self.chain:
            pose = pose @ joint.pose(_value(joint, named))
            if joint.moves and not joint.mimic[0]:
                axes.append((joint, pose[:3, :3] @ joint.axis, pose[:3, 3].copy()))
        jacobian = np.zeros((6, len(axes)))
        for k, (joint, axis, origin) in enumerate(axes):
            if joint.kind == "prismatic":
                jacobian[:3, k] = axis
            else:
                jacobian[:3, k] = np.cross(axis, pose[:3, 3] - origin)
                jacobian[3:, k] = axis
        return jacobian


def arm_of(urdf: str, tip: str = "", fingers: Sequence[str] = ()) -> Arm | None:
    """Return the arm of a description, None where it has none.

    Args:
        urdf: The document.
        tip: Link that grasps; empty: the one whose name says so.
        fingers: Joints that open the hand; empty: those whose names say so.

    Raises:
        LinksError: The description cannot be used.
    """
    joints = read_joints(urdf)
    chains = {child: _chain(joints, child) for child in joints}
    moving = {
        child: sum(j.moves and not _FINGER.search(j.name.lower()) for j in chain)
        for child, chain in chains.items()
    }
    if tip and tip not in chains:
        return None
    if not tip:
        for pattern in _TIPS:
            named = [
                c
                for c in chains
                if pattern.search(c.lower()) and moving[c] >= 2 and not _on_finger(chains[c])
            ]
            if named:
                tip = max(named, key=lambda c: (moving[c], len(chains[c]), c))
                break
        else:
            return None
    found = tuple(fingers) or _fingers(joints, chains, tip)
    widths = {j.name: j.upper - j.lower for j in joints.values() if j.name in found}
    spans = [w for w in widths.values() if math.isfinite(w) and w < 0.5]
    opening = sum(spans[:2]) if spans else 0.1
    return Arm(tuple(chains[tip]), tip, found, opening)


def _fingers(
    joints: Mapping[str, JointFrame], chains: Mapping[str, list[JointFrame]], tip: str
) -> tuple[str, ...]:
    on_way = {joint.name for joint in chains[tip]}
    return tuple(
        joint.name
        for joint in joints.values()
        if joint.moves and joint.name not in on_way and _FINGER.search(_both(joint))
    )


def _both(joint: JointFrame) -> str:
    return f"{joint.name} {joint.child}".lower()


def _on_finger(chain: Sequence[JointFrame]) -> bool:
    return any(joint.moves and _FINGER.search(_both(joint)) for joint in chain)


def _chain(joints: Mapping[str, JointFrame], child: str) -> list[JointFrame]:
    """Return the joints from the base, or the root, to a link."""
    chain: list[JointFrame] = []
    seen: set[str] = set()
    while child in joints and child != BASE and child not in seen:
        seen.add(child)
        chain.append(joints[child])
        child = joints[child].parent
    return chain[::-1]


def _value(joint: JointFrame, values: Mapping[str, float]) -> float:
    leader, factor, offset = joint.mimic
    if leader:
        return factor * values.get(leader, 0.0) + offset
    return values.get(joint.name, joint.rest)


def _twist(rotation: Array) -> Array:
    """Return the rotation vector (3,) [rad] of a rotation (3, 3)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(rotation).as_rotvec(), dtype=np.float64)
