"""A robot's description (URDF) made from its embodiment: true sizes, plain shapes."""

from __future__ import annotations

import math
from xml.etree import ElementTree as Xml

from coterie_core.embodiment import Embodiment
from habitat_bridge.embedded.laser import LASER_LINK

_COLOURS = {
    "wheels": "0.25 0.45 0.75 1",
    "tracks": "0.35 0.40 0.35 1",
    "legs": "0.85 0.55 0.20 1",
    "air": "0.45 0.70 0.45 1",
    "fixed": "0.60 0.60 0.60 1",
}
_ARM_RADIUS = 0.03  # [m]
_CAMERA_SIZE = 0.05  # [m]
_OPENING = 0.2  # [m] of a hand
_LASER_SIZE = 0.06  # [m]
_LASER_HEIGHT = 0.2  # [m] above the floor


def urdf_of(robot: str, body: Embodiment) -> str:
    """Return a robot's description as URDF.

    Links have plain names (`base_link`, `<camera>_link`, ...), as those of any URDF; frames in tf
    have the robot's name before them, which RViz calls the TF Prefix. A flyer's body hangs about
    its base link; all others stand on it.

    Args:
        robot: The robot's name.
        body: Its embodiment; lengths [m], angles [rad].
    """
    root = Xml.Element("robot", name=robot)
    material = Xml.SubElement(root, "material", name="body")
    Xml.SubElement(material, "color", rgba=_COLOURS[body.mobility])
    base = "base_link"
    height = body.height
    centre = 0.0 if body.mobility == "air" else height / 2.0
    _link(root, base, "body", _cylinder(body.radius, height), (0.0, 0.0, centre))
    for camera in body.cameras:
        frame = f"{camera.name}_link"
        _link(root, frame, "body", _cube(_CAMERA_SIZE), (0.0, 0.0, 0.0))
        at = (camera.mount_forward, 0.0, camera.mount_height)
        _joint(root, base, frame, at, (0.0, camera.pitch, 0.0))
        optical = f"{camera.name}_optical_frame"
        Xml.SubElement(root, "link", name=optical)
        _joint(root, frame, optical, (0.0, 0.0, 0.0), (-math.pi / 2.0, 0.0, -math.pi / 2.0))
    if body.mobility != "fixed":
        up = 0.0 if body.mobility == "air" else min(_LASER_HEIGHT, body.height / 2.0)
        _link(root, LASER_LINK, "body", _cube(_LASER_SIZE), (0.0, 0.0, 0.0))
        _joint(root, base, LASER_LINK, (0.0, 0.0, up), (0.0, 0.0, 0.0))
    if body.arm is not None:
        _arm(root, base, body)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode")


def _arm(root: Xml.Element, base: str, body: Embodiment) -> None:
    """Add an arm as far as it is known: a column that lifts and turns, and a hand that reaches.

    What a hand can be at is given as a cylinder about the base, and this arm reaches just that.
    """
    arm = body.arm
    assert arm is not None
    lift, turn, hand, finger = "arm_link", "arm_turn_link", "hand_link", "finger_link"
    _link(root, lift, "body", _cube(2.0 * _ARM_RADIUS), (0.0, 0.0, 0.0))
    # The heights are above the floor, where the base of all but flyers is.
    joint = _joint(root, base, lift, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), kind="prismatic")
    Xml.SubElement(joint, "axis", xyz="0 0 1")
    _limit(joint, arm.min_height, arm.max_height)
    _link(root, turn, "body", _cube(2.0 * _ARM_RADIUS), (0.0, 0.0, 0.0))
    joint = _joint(root, lift, turn, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), kind="revolute")
    Xml.SubElement(joint, "axis", xyz="0 0 1")
    _limit(joint, -math.pi, math.pi)
    reach = _link(root, hand, "body", _cube(_ARM_RADIUS), (0.0, 0.0, 0.0))
    Xml.SubElement(Xml.SubElement(reach, "inertial"), "mass", value=f"{arm.payload:.3f}")
    _inertia(reach)
    joint = _joint(root, turn, hand, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), kind="prismatic")
    Xml.SubElement(joint, "axis", xyz="1 0 0")
    _limit(joint, 0.0, arm.reach)
    _link(root, finger, "body", _cube(0.5 * _ARM_RADIUS), (0.0, 0.0, 0.0))
    joint = _joint(root, hand, finger, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), kind="prismatic")
    Xml.SubElement(joint, "axis", xyz="0 1 0")
    _limit(joint, 0.0, _OPENING)


def _link(
    root: Xml.Element,
    name: str,
    material: str,
    shape: Xml.Element,
    at: tuple[float, float, float],
) -> Xml.Element:
    link = Xml.SubElement(root, "link", name=name)
    for part in ("visual", "collision"):
        element = Xml.SubElement(link, part)
        Xml.SubElement(element, "origin", xyz=_numbers(at), rpy="0 0 0")
        Xml.SubElement(element, "geometry").append(shape)
        if part == "visual":
            Xml.SubElement(element, "material", name=material)
    return link


def _inertia(link: Xml.Element) -> None:
    inertial = link.find("inertial")
    assert inertial is not None
    small = {"ixx": "1e-4", "iyy": "1e-4", "izz": "1e-4", "ixy": "0", "ixz": "0", "iyz": "0"}
    Xml.SubElement(inertial, "inertia", small)


def _joint(
    root: Xml.Element,
    parent: str,
    child: str,
    at: tuple[float, float, float],
    turned: tuple[float, float, float],
    kind: str = "fixed",
) -> Xml.Element:
    joint = Xml.SubElement(root, "joint", name=f"{child}_joint", type=kind)
    Xml.SubElement(joint, "parent", link=parent)
    Xml.SubElement(joint, "child", link=child)
    Xml.SubElement(joint, "origin", xyz=_numbers(at), rpy=_numbers(turned))
    return joint


def _limit(joint: Xml.Element, low: float, high: float) -> None:
    Xml.SubElement(
        joint, "limit", lower=f"{low:.4f}", upper=f"{high:.4f}", effort="10", velocity="0.5"
    )


def _cylinder(radius: float, length: float) -> Xml.Element:
    return Xml.Element("cylinder", radius=f"{radius:.4f}", length=f"{length:.4f}")


def _cube(edge: float) -> Xml.Element:
    return Xml.Element("box", size=_numbers((edge, edge, edge)))


def _numbers(values: tuple[float, float, float]) -> str:
    return " ".join(f"{value:.10g}" for value in values)
