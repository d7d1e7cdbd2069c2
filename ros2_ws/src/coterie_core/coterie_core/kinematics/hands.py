"""Where an arm grasps, and where a limb ends: by names of frames, by fingers, by shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from coterie_core.kinematics.limbs import Limb
from coterie_core.urdf.bodies import Bodies
from coterie_core.urdf.tree import Joint, Tree, plain

Array = npt.NDArray[np.float64]
Poses = Mapping[str, Array]

# Frames that a maker puts where things are grasped, best first.
GRASP = (
    re.compile(r"grasp(ing)?(_|$)|grasp_?(frame|center|centre|point|link|target)"),
    re.compile(r"(^|_)(tcp|ee|eef|end_?effector)(_|$)|tool_(center|centre)"),
    re.compile(r"(^|_)(gripper|hand)_(tool|tip|center|centre)_?(frame|link)?$|tool_frame$|tool0$"),
    re.compile(r"(^|_)ee_link$|(^|_)tool(_link)?$"),
)
HAND = re.compile(r"(^|_)(gripper|palm|hand)(_link|_frame)?$")


def grasp_of(
    tree: Tree, bodies: Bodies, limb: Limb, poses: Poses, rest: Mapping[str, float]
) -> tuple[str, Array, str, list[str]]:
    """Return the hand's link, the point on it that counts, why, and what was odd.

    Args:
        tree: The robot.
        bodies: Its shapes.
        limb: Its arm.
        poses: Of the links at rest, in any one frame.
        rest: Positions of the joints at which fingers are measured.
    """
    hand = list(tree.rigid(limb.tip))
    for pattern in GRASP:
        named = [name for name in hand if pattern.search(plain(name))]
        if named:
            return named[-1], np.zeros(3), f"{named[-1]}: a frame named as where it grasps", []
    ends = {finger: _finger_end(tree, bodies, limb, finger, rest) for finger in limb.fingers}
    if len(ends) >= 2:
        palm = limb.fingers[0].parent
        inverse = np.linalg.inv(poses[palm]) @ poses[limb.tip]
        centre = (inverse @ np.append(np.mean(list(ends.values()), axis=0), 1.0))[:3]
        names = ", ".join(finger.child for finger in ends)
        return palm, centre.round(9), f"middle between the ends of {names}, on {palm}", []
    if ends:
        finger, end = next(iter(ends.items()))
        warning = []
        if not bodies.measured(finger.child):
            warning = [
                f"the size of {finger.child} is not known: the hand ends at its joint, so the "
                "reach is a lower bound"
            ]
        return limb.tip, end, f"where the only finger {finger.child} ends, on {limb.tip}", warning
    named = [name for name in hand if HAND.search(plain(name))]
    if named:
        return named[-1], np.zeros(3), f"{named[-1]}: named as a hand", []
    far = limb_end(tree, bodies, limb, poses)
    why = f"the end of the last link {limb.tip}: no hand and no named tool"
    odd = []
    if not any(bodies.measured(name) for name in hand) and len(hand) == 1:
        odd = [f"the size of {limb.tip} is not known: taken as long as the link before it"]
    return limb.tip, far, why, odd


def _finger_end(
    tree: Tree, bodies: Bodies, limb: Limb, finger: Joint, rest: Mapping[str, float]
) -> Array:
    """Return where a finger ends (3,) in the hand; of sliding fingers, their middle."""
    poses = tree.poses(rest)
    inverse = np.linalg.inv(poses[limb.tip])
    start = (inverse @ poses[finger.child])[:3, 3]
    ends = [start]
    for name in tree.subtree(finger.child):
        pose = inverse @ poses[name]
        ends.append(pose[:3, 3])
        if bodies.measured(name):
            points = bodies.points(name) @ pose[:3, :3].T + pose[:3, 3]
            if finger.kind == "prismatic" and name == finger.child:
                return points.mean(axis=0)
            away = np.linalg.norm(points - start, axis=1)
            ends.append(points[away > 0.95 * away.max()].mean(axis=0))
    return max(ends, key=lambda point: float(np.linalg.norm(point - start)))


def limb_end(tree: Tree, bodies: Bodies, limb: Limb, poses: Poses) -> Array:
    """Return where a limb ends (3,) in its last link, given the links' poses at rest.

    The end of its shapes or of the links fixed to it; else the last segment is assumed to be as
    long as the one before.
    """
    inverse = np.linalg.inv(poses[limb.tip])
    ends = [np.zeros(3)]
    for name in tree.rigid(limb.tip):
        local = inverse @ poses[name]
        ends.append(local[:3, 3])
        if bodies.measured(name):
            points = bodies.points(name) @ local[:3, :3].T + local[:3, 3]
            far = np.linalg.norm(points, axis=1)
            ends.append(points[far > 0.95 * far.max()].mean(axis=0))
    end = max(ends, key=lambda point: float(np.linalg.norm(point)))
    if np.linalg.norm(end) > 0.02:
        return end
    return tree.above[limb.tip].origin[:3, 3].copy()
