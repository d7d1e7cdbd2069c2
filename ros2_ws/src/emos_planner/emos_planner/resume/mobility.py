"""The mobility section: posture at rest, floor, footprint, height and the step it can take."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError

from coterie_core.resume import Mobility
from emos_planner.resume.frame import Base
from emos_planner.resume.geometry import Bodies
from emos_planner.resume.limbs import Limb
from emos_planner.resume.locomotion import Drive
from emos_planner.resume.reading import Description
from emos_planner.resume.tree import Tree

Array = npt.NDArray[np.float64]

FLIGHT_HEIGHT = 1.5


@dataclass
class Stance:
    """The robot at rest.

    Attributes:
        base: Pose (4, 4) of the root link in the base frame, whose origin is on the floor.
        rest: Joint -> position at rest; the others are at zero.
        mobility: The section.
    """

    base: Array
    rest: dict[str, float]
    mobility: Mobility
    body: str
    hovering: float = 0.0


def measure(
    tree: Tree, bodies: Bodies, base: Base, drive: Drive, description: Description
) -> Stance:
    """Return the robot's posture at rest and its mobility section."""
    rest = {
        joint.name: min(max(0.0, joint.span[0]), joint.span[1])
        for joint in tree.joints.values()
        if joint.turns or joint.kind == "prismatic"
    }
    evidence: dict[str, str] = {"kind": drive.evidence}
    for leg in drive.legs:
        rest.update(_standing(tree, leg, rest))
    poses = {name: base.pose @ pose for name, pose in tree.poses(rest).items()}
    arm_links = {name for limb in drive.limbs for name in tree.subtree(limb.joints[0].child)}
    points = []
    for name in tree.links:
        if name in arm_links:
            continue
        shape = bodies.points(name)
        if len(shape):
            points.append(shape @ poses[name][:3, :3].T + poses[name][:3, 3])
        else:
            points.append(poses[name][:3, 3][None])
    cloud = np.concatenate(points)
    floor = 0.0 if drive.kind in ("air", "fixed") else float(cloud[:, 2].min())
    flat = cloud[:, :2]
    top = float(cloud[:, 2].max()) - floor
    radius = float(np.hypot(flat[:, 0], flat[:, 1]).max())
    step = None
    if drive.wheels:
        step = 0.29 * max(0.02, 0.05)
    if drive.legs:
        step = 0.2
    try:
        hull = flat[ConvexHull(flat).vertices]
    except (QhullError, ValueError):
        hull = np.empty((0, 2))
    pose = base.pose.copy()
    pose[2, 3] -= floor
    mobility = Mobility(
        kind=drive.kind,
        radius=max(round(radius, 3), 0.01),
        footprint=tuple((round(float(x), 3), round(float(y), 3)) for x, y in hull),
        height=max(round(top, 3), 0.01),
        step_height=step,
        climbs_stairs=drive.kind in ("legs", "air"),
        flight_height=FLIGHT_HEIGHT if drive.kind == "air" else 0.0,
        evidence=evidence,
    )
    return Stance(pose, rest, mobility, base.link)


def _standing(tree: Tree, leg: Limb, rest: dict[str, float]) -> dict[str, float]:
    return {
        joint.name: 0.5 * sum(joint.span) for joint in leg.joints if not math.isinf(joint.lower)
    }
