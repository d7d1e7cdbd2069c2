"""The manipulation section: arms, their grippers and where they reach."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull

from coterie_core.resume import ArmJoint, Gripper, ResumeArm
from coterie_core.workspace import Workspace
from emos_planner.resume.geometry import Bodies
from emos_planner.resume.kinematics import Chain
from emos_planner.resume.limbs import Limb
from emos_planner.resume.locomotion import Drive
from emos_planner.resume.mobility import Stance
from emos_planner.resume.sampling import postures
from emos_planner.resume.tree import Tree

Array = npt.NDArray[np.float64]


@dataclass
class Arms:
    """The arms found, with evidence."""

    arms: tuple[ResumeArm, ...]
    evidence: dict[str, str] = field(default_factory=dict)


def find_arms(
    tree: Tree, bodies: Bodies, stance: Stance, drive: Drive, *, samples: int, seed: int
) -> tuple[Arms, list[Limb]]:
    """Return the arms with their workspaces, and the limbs that they are."""
    arms, limbs = [], []
    frozen = {joint.name: stance.rest.get(joint.name, 0.0) for joint in drive.joints}
    for limb in drive.limbs:
        if not (limb.fingers or len(limb.joints) >= 4):
            continue
        limbs.append(limb)
        tip = limb.tip
        chain = Chain(tree, tip, stance.base, _grasp(tree, limb, stance), frozen)
        positions = postures(chain.lower, chain.upper, samples, seed)
        points = chain.points(positions)
        if drive.kind != "air":
            points = points[points[:, 2] >= 0.0]
        space = Workspace.from_samples(
            points, hull=[tuple(p) for p in points[ConvexHull(points).vertices].round(3).tolist()]
        )
        arms.append(
            ResumeArm(
                name=limb.name,
                base_link=stance.body,
                tip_link=tip,
                joints=tuple(
                    ArmJoint(
                        name=joint.name,
                        type=joint.kind,  # type: ignore[arg-type]
                        lower=joint.span[0],
                        upper=joint.span[1],
                    )
                    for joint in chain.joints
                ),
                gripper=Gripper(link=tip, joints=tuple(joint.name for joint in limb.fingers))
                if limb.fingers
                else None,
                workspace=space,
            )
        )
    return Arms(tuple(arms)), limbs


def _grasp(tree: Tree, limb: Limb, stance: Stance) -> Array:
    poses = tree.poses(stance.rest)
    inverse = np.linalg.inv(poses[limb.tip])
    ends = []
    for finger in limb.fingers:
        below = list(tree.subtree(finger.child))
        ends.append((inverse @ poses[below[-1]])[:3, 3])
    return np.mean(ends, axis=0) if ends else np.zeros(3)
