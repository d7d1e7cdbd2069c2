"""Made-up robots for tests: small URDFs of every kind, with names or without any."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence

Xyz = Sequence[float]


class Urdf:
    """Writes a URDF link by link.

    Args:
        name: Of the robot.
    """

    def __init__(self, name: str) -> None:
        self.root = ET.Element("robot", name=name)

    def link(
        self,
        name: str,
        shape: str = "",
        size: Xyz = (),
        at: Xyz = (0, 0, 0),
        rpy: Xyz = (0, 0, 0),
        mass: float | None = None,
    ) -> Urdf:
        """Add a link with at most one collision shape: box, cylinder (radius, length) or sphere."""
        link = ET.SubElement(self.root, "link", name=name)
        if mass is not None:
            inertial = ET.SubElement(link, "inertial")
            ET.SubElement(inertial, "mass", value=str(mass))
            moment = str(mass * 0.01)
            ET.SubElement(
                inertial, "inertia", ixx=moment, iyy=moment, izz=moment, ixy="0", ixz="0", iyz="0"
            )
        if shape:
            self.shape(name, shape, size, at, rpy)
        return self

    def shape(
        self, link: str, shape: str, size: Xyz, at: Xyz = (0, 0, 0), rpy: Xyz = (0, 0, 0)
    ) -> Urdf:
        """Add one more collision shape to a link."""
        parent = next(each for each in self.root.iter("link") if each.get("name") == link)
        collision = ET.SubElement(parent, "collision")
        ET.SubElement(collision, "origin", xyz=_text(at), rpy=_text(rpy))
        geometry = ET.SubElement(collision, "geometry")
        keys = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",)}
        if shape == "box":
            ET.SubElement(geometry, "box", size=_text(size))
        else:
            values = dict(zip(keys[shape], map(str, size), strict=True))
            ET.SubElement(geometry, shape, values)
        return self

    def add_mesh(self, link: str, file: str, scale: float = 1.0) -> Urdf:
        """Add a collision shape that is a mesh file."""
        parent = next(each for each in self.root.iter("link") if each.get("name") == link)
        geometry = ET.SubElement(ET.SubElement(parent, "collision"), "geometry")
        ET.SubElement(geometry, "mesh", filename=file, scale=_text((scale,) * 3))
        return self

    def joint(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        at: Xyz = (0, 0, 0),
        *,
        rpy: Xyz = (0, 0, 0),
        axis: Xyz = (0, 0, 1),
        limit: tuple[float, float] | None = None,
        velocity: float = 1.0,
        mimic: tuple[str, float, float] | None = None,
    ) -> Urdf:
        """Add a joint; `limit` is needed by revolute and prismatic ones."""
        joint = ET.SubElement(self.root, "joint", name=name, type=kind)
        ET.SubElement(joint, "origin", xyz=_text(at), rpy=_text(rpy))
        ET.SubElement(joint, "parent", link=parent)
        ET.SubElement(joint, "child", link=child)
        if kind not in ("fixed", "floating"):
            ET.SubElement(joint, "axis", xyz=_text(axis))
        bounds = {"effort": "10", "velocity": str(velocity)}
        if limit is not None:
            bounds |= {"lower": str(limit[0]), "upper": str(limit[1])}
        if kind in ("revolute", "prismatic", "continuous"):
            ET.SubElement(joint, "limit", bounds)
        if mimic is not None:
            source, multiplier, offset = mimic
            ET.SubElement(
                joint, "mimic", joint=source, multiplier=str(multiplier), offset=str(offset)
            )
        return self

    def add(self, text: str) -> Urdf:
        """Add an element given as text, such as a gazebo sensor."""
        self.root.append(ET.fromstring(text))
        return self

    def text(self) -> str:
        """Return the document."""
        return ET.tostring(self.root, encoding="unicode")


def _text(values: Xyz) -> str:
    return " ".join(repr(float(value)) for value in values)


def without_names(text: str) -> str:
    """Return the same robot with names that say nothing."""
    root = ET.fromstring(text)
    links = {link.get("name", ""): f"l{k}" for k, link in enumerate(root.iter("link"))}
    joints = {joint.get("name", ""): f"j{k}" for k, joint in enumerate(root.findall("joint"))}
    for element in root.iter():
        for key, names in (("link", links), ("reference", links), ("joint", joints)):
            if element.get(key) in names:
                element.set(key, names[element.get(key, "")])
        if element.tag in ("link", "joint") and element.get("name"):
            names = links if element.tag == "link" else joints
            element.set("name", names[element.get("name", "")])
    root.set("name", "r")
    return ET.tostring(root, encoding="unicode")


def diff_drive(*, radius: float = 0.1, track: float = 0.4, lift: float = 0.0) -> Urdf:
    """Return a box on two driven wheels and a ball caster, base_link `lift` above the floor."""
    urdf = Urdf("rover").link("base_link", "box", (0.5, 0.3, 0.2), (0, 0, 0.17 - lift))
    for side, y in (("left", track / 2), ("right", -track / 2)):
        turned = (-math.pi / 2, 0, 0)
        urdf.link(f"{side}_wheel", "cylinder", (radius, 0.04))
        urdf.joint(f"{side}_wheel_joint", "continuous", "base_link", f"{side}_wheel",
                   (0, y, radius - lift), rpy=turned, velocity=10.0)  # fmt: skip
    urdf.link("caster", "sphere", (0.03,))
    return urdf.joint("caster_joint", "fixed", "base_link", "caster", (-0.2, 0, 0.03 - lift))


def with_arm(urdf: Urdf, parent: str = "base_link", height: float = 0.3, tag: str = "",
             y: float = 0.0, gripper: bool = True) -> Urdf:  # fmt: skip
    """Add a six-joint arm with links of 0.3, 0.3 and 0.1 m and a two-finger gripper."""
    at: list[tuple[float, float, float]] = [
        (0.1, y, height), (0, 0, 0.05), (0.3, 0, 0), (0.3, 0, 0), (0.02, 0, 0), (0.02, 0, 0),
    ]  # fmt: skip
    axes = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]
    for k, (place, axis) in enumerate(zip(at, axes, strict=True)):
        link = f"{tag}arm_{k}"
        shape = (0.26, 0.05, 0.05) if k in (1, 2) else (0.02, 0.04, 0.04)
        urdf.link(link, "box", shape, (shape[0] / 2 + 0.02 * (k in (1, 2)), 0, 0))
        urdf.joint(f"{tag}arm_joint_{k}", "revolute", parent, link, place, axis=axis,
                   limit=(-2.8, 2.8))  # fmt: skip
        parent = link
    if gripper:
        urdf.link(f"{tag}palm", "box", (0.02, 0.1, 0.03), (0.03, 0, 0))
        urdf.joint(f"{tag}palm_joint", "fixed", parent, f"{tag}palm", (0.02, 0, 0))
        for side, sign in (("left", 1), ("right", -1)):
            finger = f"{tag}{side}_finger"
            urdf.link(finger, "box", (0.06, 0.01, 0.02))
            urdf.joint(f"{finger}_joint", "prismatic", f"{tag}palm", finger,
                       (0.06, sign * 0.005, 0), axis=(0, sign, 0), limit=(0.0, 0.04))  # fmt: skip
    return urdf


def legged(count: int = 4, *, thigh: float = 0.3, shank: float = 0.3, names: bool = True) -> Urdf:
    """Return a body on legs of hip, thigh and shank with a ball for a foot."""
    urdf = Urdf("walker").link("trunk", "box", (0.7, 0.25, 0.15))
    rows = count // 2
    for k in range(count):
        x = 0.3 - 0.6 * (k // 2) / max(rows - 1, 1)
        side = 1 if k % 2 == 0 else -1
        tag = f"{'lr'[k % 2]}{k // 2}"
        urdf.link(f"{tag}_hip").link(f"{tag}_thigh", "box", (0.04, 0.04, thigh), (0, 0, -thigh / 2))
        urdf.link(f"{tag}_shank", "box", (0.03, 0.03, shank), (0, 0, -shank / 2))
        urdf.link(f"{tag}_foot", "sphere", (0.02,))
        urdf.joint(f"{tag}_hip_x", "revolute", "trunk", f"{tag}_hip", (x, side * 0.1, 0),
                   axis=(1, 0, 0), limit=(-0.8, 0.8))  # fmt: skip
        urdf.joint(f"{tag}_hip_y", "revolute", f"{tag}_hip", f"{tag}_thigh", (0, side * 0.08, 0),
                   axis=(0, 1, 0), limit=(-1.5, 2.5))  # fmt: skip
        urdf.joint(f"{tag}_knee", "revolute", f"{tag}_thigh", f"{tag}_shank", (0, 0, -thigh),
                   axis=(0, 1, 0), limit=(-2.7, -0.2))  # fmt: skip
        urdf.joint(f"{tag}_ankle", "fixed", f"{tag}_shank", f"{tag}_foot", (0, 0, -shank))
    return urdf


def humanoid() -> Urdf:
    """Return a biped of 1.5 m with a waist, two arms without fingers and a head with a camera."""
    urdf = Urdf("person").link("pelvis", "box", (0.2, 0.3, 0.15))
    for tag, y in (("l", 0.1), ("r", -0.1)):
        parent = "pelvis"
        legs = [("z", (0, 0, 1), (0, y, -0.05)), ("x", (1, 0, 0), (0, 0, 0)),
                ("y", (0, 1, 0), (0, 0, 0)), ("knee", (0, 1, 0), (0, 0, -0.35)),
                ("ankle_y", (0, 1, 0), (0, 0, -0.35)),
                ("ankle_x", (1, 0, 0), (0, 0, 0))]  # fmt: skip
        for name, axis, at in legs:
            limit = (0.0, 2.3) if name == "knee" else (-1.2, 1.0)
            urdf.link(f"{tag}_{name}").joint(
                f"{tag}_leg_{name}", "revolute", parent, f"{tag}_{name}", at, axis=axis, limit=limit
            )
            parent = f"{tag}_{name}"
        urdf.shape(parent, "box", (0.2, 0.1, 0.04), (0.03, 0, -0.05))
    urdf.link("chest", "box", (0.2, 0.35, 0.4), (0, 0, 0.25))
    urdf.joint("waist", "revolute", "pelvis", "chest", (0, 0, 0.08), limit=(-1.0, 1.0))
    for tag, y in (("l", 0.22), ("r", -0.22)):
        parent = "chest"
        arm = [("sh_y", (0, 1, 0), (0, y, 0.4)), ("sh_x", (1, 0, 0), (0, 0, 0)),
               ("sh_z", (0, 0, 1), (0, 0, 0)), ("el", (0, 1, 0), (0, 0, -0.25)),
               ("wr", (0, 0, 1), (0, 0, -0.2))]  # fmt: skip
        for name, axis, at in arm:
            urdf.link(f"{tag}_{name}").joint(
                f"{tag}_arm_{name}", "revolute", parent, f"{tag}_{name}", at, axis=axis,
                limit=(-2.0, 2.0),
            )  # fmt: skip
            parent = f"{tag}_{name}"
        urdf.link(f"{tag}_hand", "box", (0.05, 0.05, 0.1), (0, 0, -0.05))
        urdf.joint(f"{tag}_hand_joint", "fixed", parent, f"{tag}_hand", (0, 0, -0.05))
    urdf.link("neck").link("head", "box", (0.15, 0.15, 0.2), (0, 0, 0.1)).link("head_camera")
    urdf.joint("neck_yaw", "revolute", "chest", "neck", (0, 0, 0.47), limit=(-1.0, 1.0))
    urdf.joint("neck_pitch", "revolute", "neck", "head", axis=(0, 1, 0), limit=(-0.5, 0.8))
    return urdf.joint("head_camera_joint", "fixed", "head", "head_camera", (0.08, 0, 0.1))


def multirotor(rotors: int = 4, *, arm: float = 0.2, spinning: bool = True) -> Urdf:
    """Return a body with propellers on arms and a camera that looks down by 0.5 rad."""
    urdf = Urdf("flyer").link("body", "box", (0.2, 0.2, 0.1))
    for k in range(rotors):
        angle = 2.0 * math.pi * (k + 0.5) / rotors
        urdf.link(f"rotor_{k}", "cylinder", (0.1, 0.01))
        urdf.joint(f"rotor_{k}_joint", "continuous" if spinning else "fixed", "body", f"rotor_{k}",
                   (arm * math.cos(angle), arm * math.sin(angle), 0.05))  # fmt: skip
    urdf.link("camera_link")
    return urdf.joint("camera_joint", "fixed", "body", "camera_link", (0.1, 0, 0), rpy=(0, 0.5, 0))


def tracked(*, flippers: bool = True) -> Urdf:
    """Return a body between two tracks of 0.6 m, with flippers in front."""
    urdf = Urdf("crawler").link("chassis", "box", (0.5, 0.3, 0.1), (0, 0, 0.12))
    for side, y in (("left", 0.22), ("right", -0.22)):
        urdf.link(f"{side}_track", "box", (0.6, 0.1, 0.16))
        urdf.joint(f"{side}_track_joint", "fixed", "chassis", f"{side}_track", (0, y, 0.08))
        if flippers:
            urdf.link(f"{side}_flipper", "box", (0.25, 0.05, 0.06), (0.125, 0, 0))
            urdf.joint(f"{side}_flipper_joint", "continuous", "chassis", f"{side}_flipper",
                       (0.25, y * 1.4, 0.08), axis=(0, 1, 0))  # fmt: skip
    return urdf


def telescope() -> Urdf:
    """Return a rover with a lift of 1 m and an arm of three sliding segments of 0.2 m each."""
    urdf = diff_drive().link("mast", "box", (0.05, 0.05, 1.2), (0, 0, 0.6))
    urdf.joint("mast_joint", "fixed", "base_link", "mast", (0, 0, 0.27))
    urdf.link("lift").joint("lift_joint", "prismatic", "mast", "lift", limit=(0.0, 1.0))
    parent = "lift"
    for k in range(3):
        urdf.link(f"tube_{k}")
        urdf.joint(f"tube_{k}_joint", "prismatic", parent, f"tube_{k}", (0.1 * (k == 0), 0, 0),
                   axis=(1, 0, 0), limit=(0.0, 0.2),
                   mimic=("tube_0_joint", 1.0, 0.0) if k else None)  # fmt: skip
        parent = f"tube_{k}"
    urdf.link("gripper_link").joint("gripper_joint", "fixed", parent, "gripper_link", (0.1, 0, 0))
    for side, sign in (("left", 1), ("right", -1)):
        urdf.link(f"{side}_finger")
        urdf.joint(f"{side}_finger_joint", "revolute", "gripper_link", f"{side}_finger",
                   (0, 0.02 * sign, 0), limit=(-0.3, 0.3))  # fmt: skip
    return urdf


def on_table(height: float = 0.7, *, tool: bool = True) -> Urdf:
    """Return a six-joint arm bolted to a table, with limits that leave the back unreachable."""
    urdf = (
        Urdf("bench_arm").link("world").link("table", "box", (0.8, 0.8, height), (0, 0, height / 2))
    )
    urdf.joint("table_joint", "fixed", "world", "table")
    urdf.link("arm_base", "cylinder", (0.07, 0.1), (0, 0, 0.05))
    urdf.joint("arm_base_joint", "fixed", "table", "arm_base", (0, 0, height))
    at = [(0, 0, 0.1), (0, 0, 0.05), (0.35, 0, 0), (0.3, 0, 0), (0.05, 0, 0), (0.05, 0, 0)]
    axes = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)]
    limits = {0: (-1.0, 1.0), 1: (0.0, 1.5), 2: (0.0, 1.5), 3: (-0.5, 0.5), 4: (-1.0, 1.0)}
    parent = "arm_base"
    for k, (place, axis) in enumerate(zip(at, axes, strict=True)):
        urdf.link(f"link_{k}").joint(
            f"joint_{k}", "revolute", parent, f"link_{k}", place, axis=axis,
            limit=limits.get(k, (-2.5, 2.5)),
        )  # fmt: skip
        parent = f"link_{k}"
    if tool:
        urdf.link("tool0").joint("flange", "fixed", parent, "tool0", (0.05, 0, 0))
    return urdf


def turned(text: str, rpy: Xyz, root: str = "map_frame") -> str:
    """Return the robot hung below a bare root link, turned."""
    document = ET.fromstring(text)
    children = {child.get("link") for child in document.iter("child")}
    first = next(
        name for link in document.findall("link") if (name := link.get("name")) not in children
    )
    ET.SubElement(document, "link", name=root)
    joint = ET.SubElement(document, "joint", name=f"{root}_joint", type="fixed")
    ET.SubElement(joint, "origin", xyz="0 0 0", rpy=_text(rpy))
    ET.SubElement(joint, "parent", link=root)
    ET.SubElement(joint, "child", link=str(first))
    return ET.tostring(document, encoding="unicode")


def replaced(text: str, pattern: str, by: str | Callable[[re.Match[str]], str]) -> str:
    """Return the text with the first match of a pattern replaced, which must be there."""
    result, count = re.subn(pattern, by, text, count=1, flags=re.S)
    if not count:
        raise ValueError(f"no {pattern!r} in the document")
    return result
