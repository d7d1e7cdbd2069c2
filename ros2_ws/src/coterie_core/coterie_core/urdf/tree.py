"""The robot as a tree of links and joints, with the poses and shapes that others reason about."""

from __future__ import annotations

import contextlib
import io
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.reading import Description, read_description

Array = npt.NDArray[np.float64]
JointKind = Literal["revolute", "continuous", "prismatic", "planar", "floating", "fixed"]


_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def plain(name: str) -> str:
    """Return a name as the patterns expect it: lower case, words apart by underscores."""
    return _CAMEL.sub("_", name).replace("-", "_").replace(" ", "_").lower()


@dataclass(frozen=True, eq=False)
class Shape:
    """A collision or visual shape: kind, size and pose in its link.

    Attributes:
        size: Box: edges; cylinder: radius, length; sphere: radius; mesh: its scale.
        pose: (4, 4) in the link.
    """

    kind: Literal["box", "cylinder", "sphere", "mesh"]
    size: tuple[float, ...]
    pose: Array
    file: str = ""
    collision: bool = True


@dataclass(frozen=True, eq=False)
class Link:
    """A link: its shapes, its mass [kg] (None: not given) and inertia (3, 3) in its own frame."""

    name: str
    shapes: tuple[Shape, ...] = ()
    mass: float | None = None
    inertia: Array | None = None
    centre: Array | None = None


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint: pose of the child in the parent at zero (4, 4), unit axis (3,), limits."""

    name: str
    kind: JointKind
    parent: str
    child: str
    origin: Array
    axis: Array
    lower: float = 0.0
    upper: float = 0.0
    velocity: float = 0.0
    mimic: tuple[str, float, float] | None = None

    @property
    def movable(self) -> bool:
        """Whether it moves at all."""
        return self.kind != "fixed"

    @property
    def axial(self) -> bool:
        """Whether it turns about its axis or slides along it: by one number."""
        return self.turns or self.kind == "prismatic"

    @property
    def turns(self) -> bool:
        """Whether it is a hinge, limited or not."""
        return self.kind in ("revolute", "continuous")

    @property
    def free(self) -> bool:
        """Whether it turns without end."""
        return self.kind == "continuous" or (
            self.kind == "revolute" and self.upper - self.lower > 6.0 * math.pi
        )

    @property
    def span(self) -> tuple[float, float]:
        """Limits for sampling: a hinge never needs more than one turn."""
        if self.free:
            return -math.pi, math.pi
        return self.lower, self.upper


@dataclass
class Tree:
    """Links and joints of a robot whose joints form one tree."""

    name: str
    root: str
    links: dict[str, Link]
    joints: dict[str, Joint]
    above: dict[str, Joint] = field(default_factory=dict)
    below: dict[str, list[Joint]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.below = {link: [] for link in self.links}
        for name, joint in self.joints.items():
            if joint.mimic is not None and joint.mimic[0] not in self.joints:
                self.joints[name] = replace(joint, mimic=None)
        for joint in self.joints.values():
            self.above[joint.child] = joint
            self.below[joint.parent].append(joint)

    def chain(self, tip: str, base: str | None = None) -> list[Joint]:
        """Return the joints from `base` (default: the root) down to link `tip`."""
        joints: list[Joint] = []
        while tip != base and tip in self.above:
            joints.append(self.above[tip])
            tip = self.above[tip].parent
        return joints[::-1]

    def subtree(self, link: str) -> Iterator[str]:
        """Yield `link` and all links below it, parents first."""
        stack = [link]
        while stack:
            name = stack.pop()
            yield name
            stack += [joint.child for joint in reversed(self.below[name])]

    def rigid(self, link: str) -> Iterator[str]:
        """Yield `link` and the links below it that no joint moves against it."""
        stack = [link]
        while stack:
            name = stack.pop()
            yield name
            stack += [joint.child for joint in reversed(self.below[name]) if not joint.movable]

    def body(self, link: str) -> str:
        """Return the topmost link that `link` is rigidly fixed to."""
        while link in self.above and not self.above[link].movable:
            link = self.above[link].parent
        return link

    def resting(self) -> dict[str, float]:
        """Return joint -> position at rest [rad or m]: zero, or the limit nearest to it."""
        return {
            joint.name: min(max(0.0, joint.span[0]), joint.span[1])
            for joint in self.joints.values()
            if joint.axial
        }

    def moved(self, joint: Joint, values: Mapping[str, float]) -> Array:
        """Return the pose (4, 4) of a joint's child against where it is at zero; see `poses`."""
        source, scale, shift = self.source(joint)
        return motion(joint, scale * values.get(source.name, 0.0) + shift)

    def source(self, joint: Joint) -> tuple[Joint, float, float]:
        """Return the joint that moves `joint`, with factor and offset; itself unless it mimics."""
        scale, shift = 1.0, 0.0
        while joint.mimic is not None:
            source, multiplier, offset = joint.mimic
            shift += scale * offset
            scale *= multiplier
            joint = self.joints[source]
        return joint, scale, shift

    def poses(self, values: Mapping[str, float] | None = None) -> dict[str, Array]:
        """Return the pose (4, 4) of every link in the root's frame.

        Args:
            values: Joint -> position [rad or m]; the others are at zero. Planar and floating
                joints stay at zero.
        """
        values = values or {}
        poses = {self.root: np.eye(4)}
        for name in self.subtree(self.root):
            for joint in self.below[name]:
                poses[joint.child] = poses[name] @ joint.origin @ self.moved(joint, values)
        return poses


def motion(joint: Joint, value: float) -> Array:
    """Return the pose (4, 4) of a joint's child after moving by `value`, against zero."""
    pose = np.eye(4)
    if joint.turns:
        pose[:3, :3] = turn(joint.axis, value)
    elif joint.kind == "prismatic":
        pose[:3, 3] = joint.axis * value
    return pose


def turn(axis: Array, angle: float) -> Array:
    """Return the rotation (3, 3) about a unit axis."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(axis * angle).as_matrix()


def pose_of(xyz: list[float], rpy: list[float]) -> Array:
    """Return the pose (4, 4) of a URDF origin: fixed-axis roll, pitch, yaw."""
    from scipy.spatial.transform import Rotation

    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler("xyz", rpy).as_matrix()
    pose[:3, 3] = xyz
    return pose


def build_tree(description: Description) -> Tree:
    """Return the tree of a checked description.

    Raises:
        UrdfError: No root, several roots, or a circle of joints.
    """
    from urdf_parser_py.urdf import URDF  # loads slowly

    _check(description.root)
    with contextlib.redirect_stderr(io.StringIO()):
        robot = URDF.from_xml_string(description.xml())
    extras = {link.get("name", ""): link for link in description.root.findall("link")}
    links = {link.name: _link(link.name, extras[link.name]) for link in robot.links}
    joints: dict[str, Joint] = {}
    for joint in robot.joints:
        limit = joint.limit
        mimic = joint.mimic
        joints[joint.name] = Joint(
            name=joint.name,
            kind=joint.type,
            parent=joint.parent,
            child=joint.child,
            origin=pose_of(joint.origin.xyz, joint.origin.rpy),
            axis=np.array(joint.axis if joint.axis is not None else [1.0, 0.0, 0.0]),
            lower=float(limit.lower or 0.0) if limit is not None else 0.0,
            upper=float(limit.upper or 0.0) if limit is not None else 0.0,
            velocity=float(limit.velocity or 0.0) if limit is not None else 0.0,
            mimic=None
            if mimic is None
            else (mimic.joint, float(mimic.multiplier), float(mimic.offset or 0.0)),
        )
    return Tree(description.name, robot.get_root(), links, joints)


def tree_of(urdf: str) -> Tree:
    """Return the tree of a URDF given as text.

    Raises:
        UrdfError: It cannot be used; the message names the element and the remedy.
    """
    return build_tree(read_description(urdf.encode()))


def _check(root: ET.Element) -> None:
    parents: dict[str, str] = {}
    names = [link.get("name", "") for link in root.findall("link")]
    for joint in root.findall("joint"):
        parent = joint.find("parent")
        child = joint.find("child")
        assert parent is not None and child is not None
        name = child.get("link", "")
        if name in parents:
            raise UrdfError(
                "has two parents",
                element=f'link "{name}"',
                remedy=f'joint "{joint.get("name")}" must have another child',
            )
        parents[name] = parent.get("link", "")
    roots = [name for name in names if name not in parents]
    if not roots:
        raise UrdfError(
            "no root link: every link is the child of a joint, so joints form a circle",
            element="robot",
            remedy="remove the joint that closes the circle",
        )
    if len(roots) > 1:
        raise UrdfError(
            f"{len(roots)} links without a parent ({', '.join(roots[:5])}), expected one root",
            element="robot",
            remedy="join them with a fixed joint or remove what is not connected",
        )
    reached = set(roots)
    children: dict[str, list[str]] = {}
    for child_name, parent_name in parents.items():
        children.setdefault(parent_name, []).append(child_name)
    stack = list(roots)
    while stack:
        for below in children.get(stack.pop(), []):
            reached.add(below)
            stack.append(below)
    lost = [name for name in names if name not in reached]
    if lost:
        raise UrdfError(
            f"joints form a circle through {', '.join(lost[:5])}",
            element=f'link "{lost[0]}"',
            remedy="remove the joint that closes the circle",
        )


def _link(name: str, element: ET.Element) -> Link:
    shapes = []
    for shape in element:
        if shape.tag not in ("collision", "visual"):
            continue
        geometry = shape.find("geometry")
        assert geometry is not None
        found = geometry[0]
        kind = found.tag
        if kind == "mesh":
            size = _floats(found.get("scale", "1 1 1"))
        else:
            keys = {"box": "size", "cylinder": "radius length", "sphere": "radius"}[kind]
            size = [value for key in keys.split() for value in _floats(found.get(key, ""))]
        shapes.append(
            Shape(
                kind=kind,  # type: ignore[arg-type]
                size=tuple(size),
                pose=_pose(shape),
                file=found.get("filename", ""),
                collision=shape.tag == "collision",
            )
        )
    inertial = element.find("inertial")
    if inertial is None:
        return Link(name, tuple(shapes))
    values = [float(inertial.get(key, "0")) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")]
    xx, xy, xz, yy, yz, zz = values
    pose = _pose(inertial)
    turned = pose[:3, :3]
    inertia = turned @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turned.T
    return Link(name, tuple(shapes), float(inertial.get("mass", "0")), inertia, pose[:3, 3])


def _pose(element: ET.Element) -> Array:
    origin = element.find("origin")
    assert origin is not None
    return pose_of(_floats(origin.get("xyz", "")), _floats(origin.get("rpy", "")))


def _floats(text: str) -> list[float]:
    return [float(word) for word in text.split()]
