"""What an adapter's arm grasps with, and the kinematics of its URDF, by the names of settings."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path

from coterie_core.geometry import Vec3
from coterie_core.kinematics.arm import Arm, NoArm
from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.tree import tree_of

_POINTED = 0.01  # [m] from the link's origin to where it grasps that tell which way it points


@dataclass(frozen=True, slots=True)
class Hand:
    """What grasps.

    Attributes:
        link: Its link.
        point: Where it grasps, on the link [m].
        direction: Which way it points there, in the link's frame; None: not known.
        touches: Links of the URDF that touch what it holds: itself and its fingers.
    """

    link: str
    point: Vec3 = (0.0, 0.0, 0.0)
    direction: Vec3 | None = None
    touches: tuple[str, ...] = ()

    @staticmethod
    def of(arm: Arm) -> Hand:
        """Return the hand of an arm; it points from its link's origin to where it grasps."""
        length = math.hypot(*arm.point)
        touches = tuple(arm.tree.subtree(arm.tree.body(arm.link)))
        if length < _POINTED:
            return Hand(arm.link, arm.point, touches=touches)
        x, y, z = arm.point
        return Hand(arm.link, arm.point, (x / length, y / length, z / length), touches)

    def pointing(self, axis: str) -> Hand:
        """Return the hand pointing along an axis of its link; auto: as the URDF tells."""
        ways = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
        return self if axis == "auto" else replace(self, direction=ways.get(axis))


def arm_of_urdf(urdf: str, base: str, tip: str = "", folder: str = "") -> Arm:
    """Return the arm of a robot; points are in its base frame.

    Args:
        urdf: Text of the URDF.
        base: Setting `frames.base`, without the robot's name.
        tip: Setting `arm.tip`; "": what the URDF tells.
        folder: Of the URDF's file, below which its meshes lie; those of installed packages are
            found without it.

    Raises:
        ValueError: A setting does not fit to the URDF; names it.
    """
    try:
        tree = tree_of(urdf)
    except UrdfError as error:
        raise ValueError(f"urdf: {error}") from None
    for setting, link in (("arm.tip", tip), ("frames.base", base)):
        if link and link not in tree.links:
            raise ValueError(f"{setting}: the URDF has no link {link!r}")
    try:
        return Arm(tree, base, tip, _mesh_folders(folder))
    except NoArm as error:
        raise ValueError(f"arm.tip: {error}") from None


def _mesh_folders(folder: str) -> list[Path]:
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    return [*([Path(folder)] if folder else []), *(Path(each) / "share" for each in prefixes)]
