"""What hangs on a robot's trunk: chains of moving joints to a hand, a foot, a wheel or a sensor."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from coterie_core.urdf.tree import Joint, Tree, plain

FINGER = re.compile(
    r"finger|fngr|jaw|claw|thumb|knuckle|gripper.*(pad|tip)|gripper_(l|r|left|right)([_.]|$)"
    r"|hand_(l|r)_(proximal|distal)"
)
GRIPPER = re.compile(r"(^|[_.])gripper([_.]|$)")
WRIST = re.compile(r"wrist|elbow|shoulder|forearm|pitch|(^|[_.])roll|yaw|flex|(^|[_.])arm([_.]|$)")
# A jaw swings or slides less than this; what turns farther is a wrist.
_JAW = {"revolute": 2.3, "prismatic": 0.25}
HEAD = re.compile(r"(^|[_.])(head|neck|ptu|gimbal)|(^|[_.])(pan|tilt)([_.]|$)")
CAMERA = re.compile(
    r"camera|(^|[_.])cam([_.0-9]|$)|optical|(^|[_.])rgbd?([_.]|$)|realsense|kinect|xtion"
    r"|webcam|(^|[_.])d4[0-9]5|zed2?([_.]|$)|(^|[_.])eye([_.]|s?$)|stereo|(^|[_.])oakd?([_.]|$)"
)
TOOL = re.compile(
    r"(^|[_.])(tool0?|tcp|eef?|gripper|hand|palm|suction|vacuum|grasp)([_.]|$)|end_?effector"
    r"|grasp(ing)?_(frame|center|centre|link|point)|(^|[_.])tool_(frame|link|center|centre)"
)
_LONG = 0.25
_LONG_ARM = 0.3
_SHORT = 0.22


@dataclass(frozen=True, eq=False)
class Limb:
    """A chain of moving joints below the trunk.

    Attributes:
        mount: Trunk link that it hangs on.
        joints: Its own moving joints, from the trunk outward, up to the hand.
        tip: Topmost link of the last body before the fingers.
        fingers: First joints of the fingers; empty: no hand.
    """

    mount: str
    joints: tuple[Joint, ...]
    tip: str
    fingers: tuple[Joint, ...] = ()

    @property
    def name(self) -> str:
        """Name of its last link."""
        return self.tip


def moving_below(tree: Tree, body: str) -> list[Joint]:
    """Return the moving joints on `body` and what is rigidly fixed to it."""
    return [joint for link in tree.rigid(body) for joint in tree.below[link] if joint.movable]


def find_limbs(tree: Tree, base: str) -> tuple[list[str], list[Limb]]:
    """Return the trunk's bodies and the limbs on them.

    The trunk is the base and every body further out that carries long limbs of its own, such as
    a torso on a lift or on hips.
    """
    sizes = _sizes(tree)
    trunk: list[str] = []
    limbs: list[Limb] = []
    stack = [base]
    while stack:
        body = stack.pop()
        trunk.append(body)
        for joint in moving_below(tree, body):
            hub = _next_hub(tree, joint, sizes)
            if hub is not None:
                stack.append(hub)
            else:
                limbs.append(_limb(tree, body, joint, sizes))
    return trunk, limbs


def _sizes(tree: Tree) -> dict[str, tuple[int, float]]:
    """Return per link the moving joints and the length [m] of the longest chain below it."""
    sizes: dict[str, tuple[int, float]] = {}
    for name in reversed(list(tree.subtree(tree.root))):
        depth, length = 0, 0.0
        for joint in tree.below[name]:
            below = sizes[joint.child]
            depth = max(depth, below[0] + joint.movable)
            step = float(np.linalg.norm(joint.origin[:3, 3]))
            if joint.kind == "prismatic":
                step += max(abs(joint.lower), abs(joint.upper))
            length = max(length, below[1] + step)
        sizes[name] = depth, length
    return sizes


def _long(joint: Joint, sizes: dict[str, tuple[int, float]]) -> bool:
    depth, length = sizes[joint.child]
    return depth + 1 >= 3 and length >= _LONG and not FINGER.search(plain(joint.name))


def _next_hub(tree: Tree, joint: Joint, sizes: dict[str, tuple[int, float]]) -> str | None:
    """Return the first body from `joint` outward that carries a long limb and another limb."""
    body = joint.child
    while True:
        children = moving_below(tree, body)
        if not children:
            return None
        long = [child for child in children if _long(child, sizes)]
        others = [child for child in children if child not in long and sizes[child.child][0] >= 1]
        if len(long) >= 2 or (len(long) == 1 and others):
            return body
        if len(children) == 1:
            body = children[0].child
        elif len(long) == 1:
            body = long[0].child
        else:
            return None


def _limb(tree: Tree, mount: str, first: Joint, sizes: dict[str, tuple[int, float]]) -> Limb:
    joints = [first]
    while True:
        children = moving_below(tree, joints[-1].child)
        if not children:
            return _single_finger(tree, mount, joints)
        fingers = [child for child in children if _finger(tree, child)]
        if len(children) == 1 and not fingers:
            joints.append(children[0])
            continue
        if len(fingers) == len(children):
            return Limb(mount, tuple(joints), joints[-1].child, tuple(fingers))
        rest = [child for child in children if child not in fingers]
        if fingers:
            return Limb(mount, tuple(joints), joints[-1].child, tuple(fingers))
        if len(rest) >= 2 and all(sizes[child.child][1] < _SHORT for child in rest):
            return Limb(mount, tuple(joints), joints[-1].child, tuple(rest))
        joints.append(max(rest, key=lambda child: sizes[child.child]))


def _finger(tree: Tree, joint: Joint) -> bool:
    """Whether a joint moves a finger or jaw: by its own name, else by what it carries and does.

    A wrist that carries a hand with rigid fingers, or a link named gripper, is none.
    """
    own = [plain(joint.name), plain(joint.child)]
    if any(FINGER.search(name) for name in own):
        return True
    if moving_below(tree, joint.child) or WRIST.search(own[0]):
        return False
    if joint.kind not in _JAW or joint.upper - joint.lower > _JAW[joint.kind]:
        return False
    if any(GRIPPER.search(name) for name in own):
        return True
    return any(FINGER.search(plain(name)) for name in tree.rigid(joint.child))


def _single_finger(tree: Tree, mount: str, joints: list[Joint]) -> Limb:
    if len(joints) > 1 and _finger(tree, joints[-1]):
        return Limb(mount, tuple(joints[:-1]), joints[-2].child, (joints[-1],))
    return Limb(mount, tuple(joints), joints[-1].child)


def is_arm(tree: Tree, limb: Limb) -> bool:
    """Whether a limb is there to reach: it has a hand, or is long and no mere mount of a sensor."""
    if limb.fingers:
        return True
    names = [joint.name for joint in limb.joints] + [joint.child for joint in limb.joints]
    below = [plain(name) for name in tree.subtree(limb.joints[0].child)]
    if any(TOOL.search(name) for name in below):
        return True
    looks = any(CAMERA.search(name) for name in below)
    if any(HEAD.search(plain(name)) for name in names) and len(limb.joints) <= 4:
        return False
    if len(limb.joints) == 3 and not looks:
        # As long as an arm, or but a nameless head?
        return sum(float(np.linalg.norm(j.origin[:3, 3])) for j in limb.joints[1:]) >= _LONG_ARM
    return len(limb.joints) >= 4
