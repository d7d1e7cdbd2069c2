"""The perception section: cameras, where their joints take them and where they look."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np

from coterie_core.resume import ResumeCamera
from emos_planner.resume.kinematics import Chain
from emos_planner.resume.limbs import Limb
from emos_planner.resume.locomotion import Drive
from emos_planner.resume.mobility import Stance
from emos_planner.resume.reading import Description
from emos_planner.resume.sampling import postures
from emos_planner.resume.tree import Tree

CAMERA = re.compile(r"camera|(^|[_.])cam([_.0-9]|$)|rgbd?([_.]|$)|realsense|kinect|optical")


@dataclass
class Cameras:
    """The cameras found, with evidence."""

    cameras: tuple[ResumeCamera, ...]
    evidence: dict[str, str] = field(default_factory=dict)


def find_cameras(
    tree: Tree, stance: Stance, drive: Drive, description: Description, hands: list[Limb]
) -> tuple[Cameras, dict[str, str]]:
    """Return the cameras and the other sensors."""
    found = []
    frozen = {joint.name: stance.rest.get(joint.name, 0.0) for joint in drive.joints}
    arm = {joint.name for limb in hands for joint in limb.joints}
    for name in tree.links:
        if not CAMERA.search(name.lower()):
            continue
        parent = tree.above.get(name)
        if parent is not None and CAMERA.search(parent.parent.lower()):
            continue
        chain = Chain(tree, name, stance.base, None, frozen)
        values = postures(chain.lower, chain.upper, 1024, 0) if chain.size else np.zeros((1, 0))
        rest = np.array([[stance.rest.get(joint.name, 0.0) for joint in chain.joints]])
        heights = chain.points(values)[:, 2]
        at = chain.points(rest)[0]
        look = chain.directions(rest, (1.0, 0.0, 0.0))[0]
        mount = "fixed"
        if chain.size:
            mount = "arm" if any(joint.name in arm for joint in chain.joints) else "movable"
        found.append(
            ResumeCamera(
                name=name,
                link=name,
                frame=name,
                mount=mount,  # type: ignore[arg-type]
                height=round(float(at[2]), 3),
                heights=(round(float(heights.min()), 3), round(float(heights.max()), 3)),
                forward=round(float(at[0]), 3),
                hfov=math.radians(60),
                vfov=math.radians(46.8),
                pitch=round(float(-math.asin(np.clip(look[2], -1, 1))), 3),
            )
        )
    return Cameras(tuple(found)), {}
