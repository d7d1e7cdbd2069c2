"""Links of a robot's description: where each one is, seen from its neighbour, at rest or posed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Quaternion, Vec3
from coterie_core.plain_data import shorten

Matrix = npt.NDArray[np.float64]
Link = tuple[str, str, Vec3, Quaternion]
"""Parent, child, position [m] and rotation (x, y, z, w) of the child in the parent's frame."""

BASE = "base_link"
MOST_LINKS = 5000


class LinksError(ValueError):
    """A description's links cannot be used; says which and why."""


@dataclass(frozen=True, slots=True)
class JointFrame:
    """A joint of a description: where its child hangs, and how it moves.

    Attributes:
        name: Its name.
        kind: URDF's type: fixed, revolute, continuous, prismatic, ...
        parent: Name of the link it hangs from.
        child: Name of the link that it moves.
        origin: Pose (4, 4) of the child in the parent, the joint at 0.
        axis: Unit vector (3,) that it turns about or slides along, in the child's frame.
        lower: Lowest value [rad] or [m]; minus infinity where nothing limits it.
        upper: Highest value.
        speed: Greatest speed [rad/s] or [m/s]; 0: not given.
        mimic: Name of the joint that it follows ("": none), factor and offset.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: Matrix
    axis: Matrix
    lower: float
    upper: float
    speed: float
    mimic: tuple[str, float, float]

    @property
    def moves(self) -> bool:
        """Whether it has a value of its own."""
        return self.kind in ("revolute", "continuous", "prismatic")

    @property
    def rest(self) -> float:
        """Its value at rest: 0, or the limit nearest to 0."""
        return min(max(0.0, self.lower), self.upper)

    def pose(self, value: float) -> Matrix:
        """Return the pose (4, 4) of the child in the parent at a value [rad] or [m]."""
        if value == 0.0 or not self.moves:
            return self.origin
        moved = np.eye(4)
        if self.kind == "prismatic":
            moved[:3, 3] = value * self.axis
        else:
            x, y, z = self.axis
            cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            moved[:3, :3] += math.sin(value) * cross + (1.0 - math.cos(value)) * (cross @ cross)
        return np.asarray(self.origin @ moved, dtype=np.float64)


def read_joints(urdf: str) -> dict[str, JointFrame]:
    """Return the joints of a URDF by the name of the link that each moves.

    Raises:
        LinksError: It is no XML, or a link has two parents.
    """
    try:
        root = Xml.fromstring(urdf)
    except (Xml.ParseError, ValueError) as error:
        raise LinksError(f"robot description: no XML ({shorten(str(error))})") from None
    joints: dict[str, JointFrame] = {}
    for element in root.findall("joint"):
        joint = _joint(element)
        if joint.child in joints:
            raise LinksError(f"robot description: link {shorten(joint.child)!r} has two parents")
        joints[joint.child] = joint
    if len(joints) > MOST_LINKS:
        raise LinksError(f"robot description: more than {MOST_LINKS} links")
    return joints


def rest_links(urdf: str, base: str = BASE) -> list[Link]:
    """Return the tree of a URDF's links as seen from `base`, all joints at rest.

    A joint rests at 0, or at its limit nearest to 0. Where `base` is not the root, as below a
    `base_footprint`, the way to the root is turned round: every frame keeps one parent.

    Args:
        urdf: The document.
        base: The link that the robot's pose is of; where there is none of that name, the root.

    Raises:
        LinksError: It is no XML, or its joints make no tree.
    """
    return posed_links(read_joints(urdf), {}, base)


def posed_links(
    joints: Mapping[str, JointFrame], values: Mapping[str, float], base: str = BASE
) -> list[Link]:
    """Return the tree of a robot's links as seen from `base`; see `rest_links`.

    Args:
        joints: The joints, by the link that each moves.
        values: Joint's name -> value [rad] or [m]; the others are at rest.
        base: The link that the robot's pose is of.

    Raises:
        LinksError: The joints make no tree.
    """
    children: dict[str, list[str]] = {}
    for joint in joints.values():
        children.setdefault(joint.parent, []).append(joint.child)
    if base not in joints and base not in children:
        base = next((parent for parent in children if parent not in joints), base)
    found: list[Link] = []
    seen = {base}
    todo = [base]
    while todo:
        here = todo.pop()
        around = [(child, _posed(joints[child], values)) for child in children.get(here, ())]
        if here in joints:
            pose = _posed(joints[here], values)
            around.append((joints[here].parent, np.asarray(np.linalg.inv(pose), dtype=np.float64)))
        for name, pose in around:
            if name not in seen:
                seen.add(name)
                todo.append(name)
                found.append((here, name, *_parts(pose)))
    missing = sorted(joints.keys() - seen)
    if missing:
        raise LinksError(
            f"robot description: link {shorten(missing[0])!r} does not hang together with {base!r}"
        )
    return found


def _posed(joint: JointFrame, values: Mapping[str, float]) -> Matrix:
    leader, factor, offset = joint.mimic
    if leader in values:
        return joint.pose(factor * values[leader] + offset)
    return joint.pose(values.get(joint.name, joint.rest))


def _end(joint: Xml.Element, name: str) -> str:
    element = joint.find(name)
    link = element.get("link", "") if element is not None else ""
    if not link:
        raise LinksError(
            f"robot description: joint {shorten(joint.get('name', ''))!r} names no {name} link"
        )
    return link


def _joint(element: Xml.Element) -> JointFrame:
    where = f"robot description: joint {shorten(element.get('name', ''))!r}"
    origin, limit, axis = element.find("origin"), element.find("limit"), element.find("axis")
    pose = np.eye(4)
    if origin is not None:
        pose[:3, :3] = _rotation(_numbers(origin.get("rpy", "0 0 0"), f"{where}: rpy"))
        pose[:3, 3] = _numbers(origin.get("xyz", "0 0 0"), f"{where}: xyz")
    kind = element.get("type", "fixed")
    low, high, speed = -math.inf, math.inf, 0.0
    if kind in ("revolute", "prismatic") and limit is not None:
        ends = (_number(limit.get(end, "0"), f"{where}: limit") for end in ("lower", "upper"))
        low, high = ends
    if limit is not None:
        speed = _speed(limit.get("velocity", "0"))
    given = _numbers("1 0 0" if axis is None else axis.get("xyz", "1 0 0"), f"{where}: axis")
    mimic = element.find("mimic")
    follows = ("", 1.0, 0.0)
    if mimic is not None:
        terms = (("multiplier", "1"), ("offset", "0"))
        factor, offset = (_number(mimic.get(n, d), f"{where}: mimic") for n, d in terms)
        follows = (mimic.get("joint", ""), factor, offset)
    return JointFrame(
        element.get("name", ""),
        kind,
        _end(element, "parent"),
        _end(element, "child"),
        pose,
        given / max(float(np.linalg.norm(given)), 1e-9),
        low,
        high,
        speed,
        follows,
    )


def _speed(text: str) -> float:
    """Return a limit of speed; 0 for none, as makers write very large ones for it."""
    try:
        value = abs(float(text))
    except ValueError:
        return 0.0
    return value if value <= 1e3 else 0.0


def _numbers(text: str, where: str) -> Matrix:
    values = [_number(word, where) for word in text.split()]
    if len(values) != 3:
        raise LinksError(f"{where}: expected three numbers, got {shorten(text)!r}")
    return np.array(values)


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= 1e3:
        raise LinksError(f"{where}: expected a number of at most 1000, got {shorten(text)!r}")
    return value


def _rotation(rpy: Matrix) -> Matrix:
    """Return the rotation (3, 3) of roll, pitch and yaw about fixed axes [rad]."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def _parts(pose: Matrix) -> tuple[Vec3, Quaternion]:
    from scipy.spatial.transform import Rotation

    x, y, z, w = (float(v) for v in Rotation.from_matrix(pose[:3, :3]).as_quat())
    at = (float(pose[0, 3]), float(pose[1, 3]), float(pose[2, 3]))
    return at, (x, y, z, w)


def known_links(robot: str, urdf: str, problem: Callable[[str], object]) -> list[Link]:
    """Return the links of a robot's description at rest; none, and why, where it is unreadable."""
    try:
        return rest_links(urdf)
    except LinksError as error:
        problem(f"{robot}: no frames of its links: {error}")
        return []
