"""The robot's own shape at rest, for pictures: outlines of links and lines between joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_resume.builder import Analysis

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Outline:
    """A robot at rest in its base frame [m].

    Attributes:
        shapes: Points (n, 3) on the outside of each link whose shapes are known.
        bones: Pairs (2, 3): the frames of links that a joint connects.
        hinges: Places (n, 3) of the joints that move.
    """

    shapes: tuple[Array, ...]
    bones: tuple[Array, ...]
    hinges: Array


def outline_of(analysis: Analysis) -> Outline:
    """Return the shape of an analysed robot in the posture in which it rests."""
    tree, stance = analysis.scene.tree, analysis.stance
    poses = {name: stance.base @ pose for name, pose in tree.poses(stance.rest).items()}
    shapes = []
    for name, pose in poses.items():
        points = analysis.scene.bodies.points(name)
        if len(points):
            shapes.append(points @ pose[:3, :3].T + pose[:3, 3])
    bones, hinges = [], []
    for joint in tree.joints.values():
        ends = np.array([poses[joint.parent][:3, 3], poses[joint.child][:3, 3]])
        if joint.movable:
            hinges.append(ends[1])
        if 0.005 < float(np.linalg.norm(ends[1] - ends[0])) < 3.0:
            bones.append(ends)
    for limb in analysis.drive.legs:
        end = poses[limb.tip] @ np.append(analysis.scene.end(limb), 1.0)
        bones.append(np.array([poses[limb.tip][:3, 3], end[:3]]))
    return Outline(tuple(shapes), tuple(bones), np.array(hinges).reshape(-1, 3))
