"""Parts of a robot that a file of overrides names: links to leave out, wheels, legs, the kind."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from coterie_core.embodiment import MobilityKind
from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.tree import Joint, Tree
from coterie_core.yaml_checks import suggestion
from robot_resume.locomotion import Drive, Scene
from robot_resume.overrides import RobotOverrides


def without_ignored(tree: Tree, overrides: RobotOverrides) -> Tree:
    """Return the robot without the links that the overrides ignore and all that hangs on them.

    Raises:
        UrdfError: A name fits no link, or the root, so that nothing would be left.
    """
    gone: set[str] = set()
    for pattern in overrides.ignore_links:
        named = [name for name in tree.links if fnmatchcase(name, pattern)]
        if not named:
            raise _unknown("ignore_links", pattern, list(tree.links), overrides)
        for name in named:
            gone |= set(tree.subtree(name))
    if tree.root in gone:
        raise UrdfError(
            f"ignore_links leaves nothing of the robot: {tree.root!r} is its root",
            remedy=f"mend {overrides.file}",
        )
    if not gone:
        return tree
    return Tree(
        tree.name,
        tree.root,
        {name: link for name, link in tree.links.items() if name not in gone},
        {name: joint for name, joint in tree.joints.items() if joint.child not in gone},
    )


def stated_drive(scene: Scene, found: Drive, overrides: RobotOverrides) -> Drive:
    """Return what carries the robot as the overrides say, else as it was found.

    Raises:
        UrdfError: A name fits no joint.
    """
    why = f"stated in {overrides.file or 'the overrides'}"
    drive = found
    if overrides.wheels:
        wheels = _joints(scene, "wheels", overrides.wheels, overrides)
        rolling: MobilityKind = "tracks" if overrides.mobility.kind == "tracks" else "wheels"
        names = ", ".join(joint.name for joint in wheels)
        moving = {
            each.name: each
            for wheel in wheels
            for each in [*scene.tree.chain(wheel.child), *_below(scene.tree, wheel.child)]
            if each.movable
        }
        drive = Drive(rolling, f"{why}: wheels {names}", tuple(moving.values()), tuple(wheels))
    elif overrides.legs:
        first = _joints(scene, "legs", overrides.legs, overrides)
        legs = tuple(limb for limb in scene.limbs if any(j in limb.joints for j in first))
        joints = tuple(joint for limb in legs for joint in limb.joints)
        names = ", ".join(joint.name for joint in first)
        drive = Drive("legs", f"{why}: legs from {names}", joints, legs=legs)
    kind = overrides.mobility.kind
    if kind is not None and kind != drive.kind:
        keep = kind in ("wheels", "tracks") and drive.kind in ("wheels", "tracks")
        drive = Drive(
            kind,
            f"{why}; from the URDF alone: {drive.kind} ({drive.evidence})",
            drive.joints if keep else (),
            drive.wheels if keep else (),
            parts=drive.parts if keep else (),
        )
    if drive is found:
        return found
    used = {joint.name for joint in drive.joints} | {j.name for j in scene.base.virtual}
    drive.limbs = [limb for limb in scene.limbs if limb.joints[0].name not in used]
    return drive


def _below(tree: Tree, link: str) -> list[Joint]:
    return [tree.above[name] for name in tree.subtree(link) if name != link]


def _joints(
    scene: Scene, field: str, patterns: Sequence[str], overrides: RobotOverrides
) -> list[Joint]:
    found: dict[str, Joint] = {}
    movable = {joint.name: joint for joint in scene.tree.joints.values() if joint.movable}
    for pattern in patterns:
        named = {name: joint for name, joint in movable.items() if fnmatchcase(name, pattern)}
        if not named:
            raise _unknown(field, pattern, list(movable), overrides)
        found |= named
    return list(found.values())


def _unknown(field: str, name: str, known: list[str], overrides: RobotOverrides) -> UrdfError:
    what = "link" if field == "ignore_links" else "moving joint"
    return UrdfError(
        f"{overrides.file or 'overrides'}: {field}: the robot has no {what} {name!r}"
        f"{suggestion(name, known)}",
        remedy="mend that file",
    )
