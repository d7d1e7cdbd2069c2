"""How a robot stands on its legs, and how high it lifts a foot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.kinematics.chain import Chain
from coterie_core.kinematics.inverse import Target, solve
from coterie_core.kinematics.limbs import Limb
from coterie_core.kinematics.sampling import postures
from robot_resume.locomotion import Drive, Scene

Array = npt.NDArray[np.float64]

# Share of the straight leg that the hip stands above the foot: quadrupeds walk on bent legs (Spot
# stands at about 0.52 m on legs of 0.69 m, A1 at 0.30 on 0.40), bipeds nearly straight.
CROUCH = {2: 0.95}
BENT = 0.75
# Share of what the leg could lift its foot that is left for a step, when the body must stay up and
# balanced; gives about what makers state for quadrupeds (Spot 0.30 m, ANYmal 0.25 m, Go2 0.16 m)
# and what humanoids have shown (stairs for Atlas, a few centimetres for NAO).
USED_LIFT = {2: 0.25}
USED_LIFT_MANY = 0.5
_SAMPLES = 4096


@dataclass(frozen=True)
class Standing:
    """Posture of the legs.

    Attributes:
        rest: Joint -> position [rad or m].
        floor: Height of the feet in the base frame [m].
        length: Of a straight leg, hip to foot [m].
        lift: How far a foot can be raised from the stance [m].
        used: Share of the lift that counts for steps.
    """

    rest: dict[str, float]
    floor: float
    length: float
    lift: float
    used: float


def stand(scene: Scene, drive: Drive) -> Standing:
    """Return how the robot stands with its feet below its hips."""
    rest: dict[str, float] = {}
    share = CROUCH.get(len(drive.legs), BENT)
    hips, lengths, clouds = [], [], []
    chains = [_chain(scene, leg) for leg in drive.legs]
    for leg, chain in zip(drive.legs, chains, strict=True):
        values = postures(chain.lower, chain.upper, _SAMPLES, 0)
        points = chain.points(values)
        hip = _hip(scene, leg)
        hips.append(hip)
        clouds.append((values, points))
        lengths.append(float(np.linalg.norm(points - hip, axis=1).max()))
    length = float(np.mean(lengths))
    level = float(np.mean([hip[2] for hip in hips])) - share * length
    feet = []
    for leg, chain, hip, (values, points) in zip(drive.legs, chains, hips, clouds, strict=True):
        goal = np.array([hip[0], hip[1], level])
        nearest = np.argsort(((points - goal) ** 2).sum(axis=1), kind="stable")[:8]
        found = solve(chain, Target.point(goal), values[nearest])
        best = int(np.argmin(found.errors))
        posture = found.positions[best]
        own = {joint.name for joint in leg.joints}
        rest |= {
            joint.name: float(value)
            for joint, value in zip(chain.joints, posture, strict=True)
            if joint.name in own
        }
        feet.append(float(chain.points(posture[None])[0, 2]))
    floor = float(np.mean(feet))
    lifts = []
    for hip, (_, points) in zip(hips, clouds, strict=True):
        near = np.hypot(points[:, 0] - hip[0], points[:, 1] - hip[1]) < 0.3 * length
        if near.any():
            lifts.append(float(points[near, 2].max()) - floor)
    top = min(float(np.mean([hip[2] for hip in hips])) - floor, max(min(lifts, default=0.0), 0.0))
    used = USED_LIFT.get(len(drive.legs), USED_LIFT_MANY)
    return Standing(rest, floor, length, top, used)


def _chain(scene: Scene, leg: Limb) -> Chain:
    own = {joint.name for joint in leg.joints}
    frozen = {
        joint.name: scene.rest[joint.name]
        for joint in scene.tree.joints.values()
        if joint.name in scene.rest and joint.name not in own
    }
    return Chain(scene.tree, leg.tip, scene.base.pose, scene.end(leg), frozen)


def _hip(scene: Scene, leg: Limb) -> Array:
    """Return where the leg's swinging starts: its first hinge about a horizontal, lateral axis."""
    for joint in leg.joints:
        if joint.turns and abs(scene.axis(joint)[1]) > 0.7:
            return scene.poses[joint.child][:3, 3]
    return scene.poses[leg.joints[0].child][:3, 3]
