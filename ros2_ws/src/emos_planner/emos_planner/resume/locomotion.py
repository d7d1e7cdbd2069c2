"""What carries the robot: wheels, tracks, legs, rotors or nothing, by geometry before names."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from coterie_core.embodiment import MobilityKind
from emos_planner.resume.frame import Base
from emos_planner.resume.geometry import Bodies
from emos_planner.resume.limbs import Limb, find_limbs, moving_below
from emos_planner.resume.reading import Description
from emos_planner.resume.tree import Joint, Tree

Array = npt.NDArray[np.float64]

WHEEL = re.compile(r"wheel|(^|[_.])tire|roller(?!_)|omniwheel|mecanum")
TRACK = re.compile(r"(^|[_./])(track|tread|crawler|caterpillar|flipper)s?([_.0-9/]|$)")
ROTOR = re.compile(r"(^|[_.])(rotor|prop|propeller|fan)s?[_.]?([0-9a-z]{0,3}|link|joint)([_.]|$)")
FLYER = re.compile(
    r"drone|uav|quad_?(rotor|copter)|hexa_?(rotor|copter)|octo_?(rotor|copter)|multi_?(rotor|copter)"
    r"|copter|(^|[_.])m100|matrice|crazyflie|hummingbird|firefly|bebop|tello|(^|[_.])iris([_.]|$)"
    r"|(^|[_./])dji|x500|cf2"
)
LEG = re.compile(r"(^|[_.])(leg|hip|knee|thigh|calf|shank|shin|foot|ankle|[ul]leg|haa|hfe|kfe)")
CASTER = re.compile(r"caster|castor|swivel")


@dataclass
class Drive:
    """What the robot moves on.

    Attributes:
        kind: Of mobility.
        joints: Joints that belong to it, which no arm or camera depends on.
        wheels: Joints of the wheels that roll on the floor.
        legs: Its legs.
        evidence: What was found.
        limbs: The limbs that are not part of it.
    """

    kind: MobilityKind
    evidence: str
    joints: tuple[Joint, ...] = ()
    wheels: tuple[Joint, ...] = ()
    legs: tuple[Limb, ...] = ()
    limbs: list[Limb] = field(default_factory=list)
    assumed: bool = False


def find_drive(tree: Tree, bodies: Bodies, base: Base, description: Description) -> Drive:
    """Return what carries the robot."""
    _, limbs = find_limbs(tree, base.link)
    poses = {name: base.pose @ pose for name, pose in tree.poses().items()}
    wheels = _wheels(tree, bodies, poses, limbs)
    for find in (_tracks, _on_wheels, _on_legs, _in_air):
        drive = find(tree, bodies, poses, limbs, wheels, description)
        if drive is not None:
            break
    else:
        drive = _otherwise(tree, base, description)
    used = {joint.name for joint in drive.joints}
    drive.limbs = [limb for limb in limbs if limb.joints[0].name not in used]
    return drive


def _wheels(tree: Tree, bodies: Bodies, poses: dict[str, Array], limbs: list[Limb]) -> list[Joint]:
    found = []
    for joint in tree.joints.values():
        named = WHEEL.search(joint.name.lower()) or WHEEL.search(joint.child.lower())
        if not joint.turns or not (joint.free or named) or moving_below(tree, joint.child):
            continue
        axis = poses[joint.child][:3, :3] @ joint.axis
        if abs(axis[2]) > 0.35:
            continue
        above = [each for each in tree.chain(joint.parent) if each.turns]
        if len(above) > 1 and not named:
            continue
        found.append(joint)
    return found


def _on_wheels(
    tree: Tree,
    bodies: Bodies,
    poses: dict[str, Array],
    limbs: list[Limb],
    wheels: list[Joint],
    description: Description,
) -> Drive | None:
    if len(wheels) < 2:
        return None
    joints: list[Joint] = []
    for wheel in wheels:
        joints += [each for each in tree.chain(wheel.child) if each.movable and each not in joints]
    names = ", ".join(joint.name for joint in wheels)
    return Drive(
        "wheels",
        f"{len(wheels)} joints turn freely about horizontal axes near the floor: {names}",
        tuple(joints),
        tuple(wheels),
    )


def _tracks(
    tree: Tree,
    bodies: Bodies,
    poses: dict[str, Array],
    limbs: list[Limb],
    wheels: list[Joint],
    description: Description,
) -> Drive | None:
    links = [name for name in tree.links if TRACK.search(name.lower())]
    if len(links) < 2:
        return None
    joints = tuple(each for name in links for each in tree.chain(name)[-1:] if each.movable)
    return Drive(
        "tracks", f"links named as tracks: {', '.join(links)}", (*joints, *wheels), tuple(wheels)
    )


def _on_legs(
    tree: Tree,
    bodies: Bodies,
    poses: dict[str, Array],
    limbs: list[Limb],
    wheels: list[Joint],
    description: Description,
) -> Drive | None:
    groups: dict[int, list[Limb]] = {}
    for limb in limbs:
        hinges = sum(joint.turns for joint in limb.joints)
        if not limb.fingers and hinges >= 3:
            groups.setdefault(len(limb.joints), []).append(limb)
    pairs = [group for group in groups.values() if len(group) >= 2]
    if not pairs:
        return None
    legs = min(pairs, key=lambda group: min(poses[limb.tip][2, 3] for limb in group))
    joints = tuple(joint for limb in legs for joint in limb.joints)
    return Drive(
        "legs",
        f"{len(legs)} chains of {len(legs[0].joints)} joints end on the floor: "
        + ", ".join(limb.tip for limb in legs),
        joints,
        legs=tuple(legs),
    )


def _in_air(
    tree: Tree,
    bodies: Bodies,
    poses: dict[str, Array],
    limbs: list[Limb],
    wheels: list[Joint],
    description: Description,
) -> Drive | None:
    spinning = [
        joint
        for joint in tree.joints.values()
        if joint.free
        and not moving_below(tree, joint.child)
        and abs((poses[joint.child][:3, :3] @ joint.axis)[2]) > 0.9
    ]
    if len(spinning) >= 3:
        names = ", ".join(joint.name for joint in spinning)
        return Drive("air", f"upright axes that turn freely: {names}", tuple(spinning))
    rotors = [name for name in tree.links if ROTOR.search(name.lower())]
    if len(rotors) >= 2:
        return Drive("air", f"links named as rotors: {', '.join(rotors)}")
    texts = [tree.name, *tree.links, *description.plugins]
    named = next((text for text in texts if FLYER.search(text.lower())), None)
    if named is not None:
        return Drive("air", f"named as a flying robot ({named!r}), and no wheels, tracks or legs")
    return None


def _otherwise(tree: Tree, base: Base, description: Description) -> Drive:
    wheels = [name for name in tree.links if WHEEL.search(name.lower())]
    if len(wheels) >= 2:
        return Drive("wheels", f"links named as wheels, without joints: {', '.join(wheels)}")
    if base.virtual:
        return Drive(
            "wheels", "moves on the plane by its root joints; assumed to be on wheels", assumed=True
        )
    return Drive("fixed", "no wheels, tracks, legs or rotors")
