"""An arm of the lab: that of a robot's description, and how far its hand opens."""

from __future__ import annotations

from collections.abc import Sequence

from coterie_core.kinematics.arm import Arm, NoArm
from coterie_core.urdf.tree import Tree
from habitat_bridge.links import base_of

_OPENING = 0.1
"""Widest gap where the description does not tell it [m]."""
_FINGER_WAY = 0.5
"""What slides or turns farther than this [m or rad] does not tell a gap."""


class LabArm(Arm):
    """The arm of a robot, whose hand opens by finger joints.

    Args:
        tree: The robot.
        tip: Link that grasps; empty: what the description tells.
        fingers: Joints that open the hand; empty: what the description tells.

    Attributes:
        opening: Widest gap between the fingers [m].

    Raises:
        NoArm: The robot has none.
        ValueError: It has no such tip.
    """

    def __init__(self, tree: Tree, tip: str = "", fingers: Sequence[str] = ()) -> None:
        super().__init__(tree, base_of(tree), tip)
        self.fingers = tuple(fingers) or self.fingers
        joints = [tree.joints[name] for name in self.fingers if name in tree.joints]
        ways = [joint.upper - joint.lower for joint in joints if not joint.free]
        self.opening = sum([way for way in ways if way < _FINGER_WAY][:2]) or _OPENING


def lab_arm(tree: Tree, tip: str = "", fingers: Sequence[str] = ()) -> LabArm | None:
    """Return the arm of a robot of the lab, None where it has none.

    Raises:
        ValueError: It has no such tip.
    """
    try:
        return LabArm(tree, tip, fingers)
    except NoArm:
        return None
