"""The base frame: which link is the body, which way is up and ahead, where the floor is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from emos_planner.resume.geometry import Bodies
from emos_planner.resume.tree import Joint, Tree

Array = npt.NDArray[np.float64]


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


def find_base(tree: Tree, bodies: Bodies) -> Base:
    """Return the body and its frame, with z of the root or of the body that hangs turned in it."""
    link, virtual = _skip_virtual(tree, bodies)
    pose = np.linalg.inv(tree.poses()[link])
    evidence = f"frame of link {link}"
    if virtual:
        names = ", ".join(joint.name for joint in virtual)
        evidence += f" below {names}, which only place{'s' * (len(virtual) == 1)} it in the world"
    turned = _turned_body(tree, bodies, link)
    if turned is not None:
        pose = np.linalg.inv(tree.poses()[turned])
        evidence = (
            f"frame of {turned}, whose z axis points up: {link} carries nothing and is turned "
            "by 90 degrees against it (y-up)"
        )
    return Base(link, virtual, pose, evidence)


def _skip_virtual(tree: Tree, bodies: Bodies) -> tuple[str, tuple[Joint, ...]]:
    link = tree.root
    passed: list[Joint] = []
    best: tuple[str, tuple[Joint, ...]] = (link, ())
    while not tree.links[link].shapes and len(tree.below[link]) == 1:
        joint = tree.below[link][0]
        if joint.movable:
            passed.append(joint)
        link = joint.child
        slides = [each for each in passed if each.kind == "prismatic"]
        flat = len(slides) >= 2 and abs(slides[0].axis @ slides[1].axis) < 0.1
        if joint.movable and (flat or any(each.kind in ("planar", "floating") for each in passed)):
            best = (link, tuple(passed))
    return best


def _turned_body(tree: Tree, bodies: Bodies, link: str) -> str | None:
    if tree.links[link].shapes:
        return None
    for joint in tree.below[link]:
        if joint.movable:
            continue
        up = joint.origin[2, 2]
        if abs(up) < 0.5 and sum(1 for _ in tree.subtree(joint.child)) * 2 > len(tree.links):
            return joint.child
    return None
