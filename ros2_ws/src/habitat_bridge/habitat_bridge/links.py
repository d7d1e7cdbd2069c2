"""Links of a robot's description at rest: where each one is fixed to its neighbour."""

from __future__ import annotations

import math
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
    try:
        root = Xml.fromstring(urdf)
    except (Xml.ParseError, ValueError) as error:
        raise LinksError(f"robot description: no XML ({shorten(str(error))})") from None
    joints: dict[str, tuple[str, Matrix]] = {}
    children: dict[str, list[str]] = {}
    for joint in root.findall("joint"):
        parent, child = _end(joint, "parent"), _end(joint, "child")
        if child in joints:
            raise LinksError(f"robot description: link {shorten(child)!r} has two parents")
        joints[child] = (parent, _at_rest(joint))
        children.setdefault(parent, []).append(child)
    if len(joints) > MOST_LINKS:
        raise LinksError(f"robot description: more than {MOST_LINKS} links")
    if base not in joints and base not in children:
        base = next((parent for parent in children if parent not in joints), base)
    found: list[Link] = []
    seen = {base}
    todo = [base]
    while todo:
        here = todo.pop()
        around = [(child, joints[child][1]) for child in children.get(here, ())]
        if here in joints:
            parent, pose = joints[here]
            around.append((parent, np.asarray(np.linalg.inv(pose), dtype=np.float64)))
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


def _end(joint: Xml.Element, name: str) -> str:
    element = joint.find(name)
    link = element.get("link", "") if element is not None else ""
    if not link:
        raise LinksError(
            f"robot description: joint {shorten(joint.get('name', ''))!r} names no {name} link"
        )
    return link


def _at_rest(joint: Xml.Element) -> Matrix:
    """Return the pose of a joint's child in its parent (4, 4), the joint at rest."""
    where = f"robot description: joint {shorten(joint.get('name', ''))!r}"
    origin, limit, axis = joint.find("origin"), joint.find("limit"), joint.find("axis")
    pose = np.eye(4)
    if origin is not None:
        pose[:3, :3] = _rotation(_numbers(origin.get("rpy", "0 0 0"), f"{where}: rpy"))
        pose[:3, 3] = _numbers(origin.get("xyz", "0 0 0"), f"{where}: xyz")
    kind = joint.get("type", "fixed")
    if kind not in ("revolute", "prismatic") or limit is None:
        return pose
    low, high = (_number(limit.get(end, "0"), f"{where}: limit") for end in ("lower", "upper"))
    value = min(max(0.0, low), high)
    if value == 0.0:
        return pose
    given = _numbers("1 0 0" if axis is None else axis.get("xyz", "1 0 0"), f"{where}: axis")
    along = given / max(float(np.linalg.norm(given)), 1e-9)
    moved = np.eye(4)
    if kind == "prismatic":
        moved[:3, 3] = value * along
    else:
        x, y, z = along
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        moved[:3, :3] += math.sin(value) * cross + (1.0 - math.cos(value)) * (cross @ cross)
    return np.asarray(pose @ moved, dtype=np.float64)


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
