"""A robot's description (URDF) made from its embodiment: true sizes, and what it moves on."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
_BODIES: dict[str, list[tuple[str, tuple[float, ...], tuple[float, float, float]]]] = {
    # Kind, size and place of what is seen: along x and y in radii, along z in heights of the body.
    "wheels": [
        ("cylinder", (0.95, 0.2), (0.0, 0.0, 0.2)), ("cylinder", (0.3, 0.6), (0.0, 0.0, 0.6)),
        ("box", (0.7, 1.0, 0.1), (0.0, 0.0, 0.95)),
        ("wheel", (0.35, 0.2), (0.0, 0.8, 0.0)), ("wheel", (0.35, 0.2), (0.0, -0.8, 0.0)),
    ],
    "tracks": [
        ("box", (1.5, 0.9, 0.25), (0.0, 0.0, 0.3)), ("box", (0.5, 0.5, 0.6), (-0.3, 0.0, 0.7)),
        *(("box", (1.7, 0.35, 0.25), (0.0, y, 0.125)) for y in (0.6, -0.6)),
    ],
    "legs": [
        ("box", (1.6, 0.8, 0.3), (0.0, 0.0, 0.65)), ("box", (0.5, 0.5, 0.25), (0.7, 0.0, 0.875)),
        *(("box", (0.2, 0.2, 0.6), (x, y, 0.3)) for x in (-0.65, 0.65) for y in (-0.4, 0.4)),
    ],
    "air": [
        ("cylinder", (0.35, 1.0), (0.0, 0.0, 0.5)), ("box", (1.2, 0.12, 0.15), (0.0, 0.0, 0.6)),
        ("box", (0.12, 1.2, 0.15), (0.0, 0.0, 0.6)),
        *(("cylinder", (0.38, 0.1), (x, 0.0, 0.8)) for x in (0.6, -0.6)),
        *(("cylinder", (0.38, 0.1), (0.0, y, 0.8)) for y in (0.6, -0.6)),
    ],
    "fixed": [("cylinder", (1.0, 1.0), (0.0, 0.0, 0.5))],
}  # fmt: skip
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
    _link(root, base, "body", _cylinder(body.radius, height), (0.0, 0.0, centre), _seen(body))
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


Placed = tuple[Xml.Element, tuple[float, float, float], tuple[float, float, float]]
"""A shape, where it is [m], and roll, pitch and yaw [rad]."""


def _seen(body: Embodiment) -> list[Placed]:
    """Return what is seen of a body, inside the cylinder that it counts as."""
    shapes: list[Placed] = []
    r, h, down = body.radius, body.height, body.height / 2.0 if body.mobility == "air" else 0.0
    for kind, size, (x, y, z) in _BODIES[body.mobility]:
        at = (x * r, y * r, z * h - down)
        if kind == "box":
            shapes.append((_box((size[0] * r, size[1] * r, size[2] * h)), at, (0.0, 0.0, 0.0)))
        elif kind == "wheel":  # stands on the floor
            radius = min(size[0] * r, h / 4.0)
            wheel = _cylinder(radius, size[1] * r)
            shapes.append((wheel, (at[0], at[1], radius), (math.pi / 2.0, 0.0, 0.0)))
        else:
            shapes.append((_cylinder(size[0] * r, size[1] * h), at, (0.0, 0.0, 0.0)))
    return shapes


def _link(
    root: Xml.Element,
    name: str,
    material: str,
    shape: Xml.Element,
    at: tuple[float, float, float],
    seen: Sequence[Placed] = (),
) -> Xml.Element:
    """Add a link of a shape; `seen`: what is seen of it, where that is not the shape."""
    link = Xml.SubElement(root, "link", name=name)
    whole: Placed = (shape, at, (0.0, 0.0, 0.0))
    for part, shapes in (("visual", seen or [whole]), ("collision", [whole])):
        for form, spot, turned in shapes:
            element = Xml.SubElement(link, part)
            Xml.SubElement(element, "origin", xyz=_numbers(spot), rpy=_numbers(turned))
            Xml.SubElement(element, "geometry").append(form)
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
    return _box((edge, edge, edge))


def _box(size: tuple[float, float, float]) -> Xml.Element:
    return Xml.Element("box", size=_numbers(size))


def _numbers(values: tuple[float, float, float]) -> str:
    return " ".join(f"{value:.10g}" for value in values)
