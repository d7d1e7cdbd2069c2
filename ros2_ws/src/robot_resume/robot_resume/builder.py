"""Build a robot's resume from its URDF (EMOS, sections 3.3 and A.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from coterie_core.embodiment import MobilityKind
from coterie_core.resume import Manipulation, Mobility, Perception, Resume
from coterie_core.urdf.bodies import Bodies
from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.reading import MAX_METERS, Description, read_description
from coterie_core.urdf.tree import Joint, Tree, build_tree
from coterie_core.yaml_checks import suggestion
from robot_resume.arms import ArmModel, arm_models, describe_arms
from robot_resume.cameras import find_cameras, looks
from robot_resume.frame import Base, face_ahead, find_base
from robot_resume.locomotion import Drive, Scene, find_drive
from robot_resume.mobility import Stance, measure
from robot_resume.overrides import RobotOverrides, apply_overrides, foreign_version


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


SAMPLES = 100_000
_MOST_WARNINGS = 40


@dataclass
class Analysis:
    """A URDF understood: everything but the sampled workspaces."""

    description: Description
    scene: Scene
    drive: Drive
    stance: Stance
    arms: list[ArmModel]
    overrides: RobotOverrides | None = None


def analyse(
    urdf: str | Path | bytes,
    *,
    packages: Sequence[Path] = (),
    overrides: RobotOverrides | None = None,
    arguments: Mapping[str, str] | None = None,
) -> Analysis:
    """Read a URDF and find what its parts are.

    Args:
        urdf: Path of the file, or the document itself (bytes, or a str that begins with "<").
        overrides: Which parts of it to leave out, and what carries it, where that is stated.
        packages: Folders of packages whose meshes may be read beside the URDF's own folder.
        arguments: Name -> value of arguments of xacro.

    Raises:
        UrdfError: The URDF cannot be used; the message names the element and the remedy.
    """
    description = read_description(urdf, packages, arguments)
    try:
        tree = build_tree(description)
        foreign = foreign_version(overrides, tree) if overrides is not None else ""
        if foreign:
            description.warnings.append(foreign)
            overrides = None
        if overrides is not None:
            tree = without_ignored(tree, overrides)
    except UrdfError as error:
        raise (error if error.file else error.within(description.file)) from error.__cause__
    folders = [*([description.folder] if description.folder is not None else []), *packages]
    bodies = Bodies(tree, folders)
    base = find_base(tree, bodies)
    _refuse_unbounded(tree, base, description)
    bodies.guess(tree.body(base.link))
    drive = find_drive(tree, bodies, base, description)
    scene = Scene(tree, bodies, base, description)
    if overrides is not None:
        drive = stated_drive(scene, drive, overrides)
    if drive.kind in ("wheels", "tracks"):
        steered = {joint.name for joint in drive.joints} - {j.name for j in drive.wheels}
        axles = [
            scene.axis(joint)
            for joint in drive.wheels
            if not any(each.name in steered for each in tree.chain(joint.parent))
        ]
        base = face_ahead(base, axles, looks(scene, description))
        scene = Scene(tree, bodies, base, description)
    stance = measure(scene, drive)
    return Analysis(description, scene, drive, stance, arm_models(scene, stance), overrides)


def _refuse_unbounded(tree: Tree, base: Base, description: Description) -> None:
    """Refuse slides without an end, but for those that only place the robot in the world."""
    virtual = {joint.name for joint in base.virtual}
    for joint in tree.joints.values():
        endless = max(abs(joint.lower), abs(joint.upper)) >= MAX_METERS
        if joint.kind == "prismatic" and endless and joint.name not in virtual:
            raise UrdfError(
                f"slides farther than {MAX_METERS:g} m: its reach cannot be told",
                element=f'joint "{joint.name}"',
                remedy="correct its limits",
                file=description.file,
            )


def resume_of(
    urdf: str | Path | bytes,
    *,
    name: str | None = None,
    overrides: RobotOverrides | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    packages: Sequence[Path] = (),
) -> Resume:
    """Return what the robot of a URDF can do.

    Args:
        urdf: Path of the file, or the document itself (bytes, or a str that begins with "<").
        name: Name of the robot; default: the URDF's.
        overrides: What the URDF does not say.
        samples: Postures to sample per arm.
        seed: Same seed, same resume, byte for byte.
        packages: Folders of packages whose meshes may be read beside the URDF's own folder.

    Raises:
        UrdfError: The URDF cannot be used; the message names the element and the remedy.
    """
    if samples < 1:
        raise ValueError(f"samples: expected at least 1, not {samples}")
    found = analyse(urdf, packages=packages, overrides=overrides)
    return resume_from(found, name=name, samples=samples, seed=seed)


def resume_from(
    found: Analysis,
    *,
    name: str | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Resume:
    """Return the resume of an analysed URDF; the arguments are those of `resume_of`."""
    scene, stance, description = found.scene, found.stance, found.description
    joints = {joint.name for limb in stance.arms for joint in limb.joints}
    perception, odd_cameras = find_cameras(scene, stance, description, joints)
    arms, evidence, odd_arms = describe_arms(scene, stance, found.arms, samples=samples, seed=seed)
    if not arms:
        evidence["arms"] = "no chain of joints ends in a hand or is long enough to be an arm"
    warnings = [*description.warnings, *stance.warnings, *odd_cameras, *odd_arms]
    if len(warnings) > _MOST_WARNINGS:
        more = len(warnings) - _MOST_WARNINGS
        warnings = [*warnings[:_MOST_WARNINGS], f"and {more} more of this kind"]
    resume = Resume(
        robot=name or description.name,
        mobility=_above_cameras(stance.mobility, perception, warnings),
        perception=perception,
        manipulation=Manipulation(arms=arms, evidence=evidence),
        warnings=tuple(dict.fromkeys(warnings)),
    )
    return resume if found.overrides is None else apply_overrides(resume, found.overrides)


def _above_cameras(mobility: Mobility, perception: Perception, warnings: list[str]) -> Mobility:
    """Return the mobility with a height that is not below the robot's own cameras at rest."""
    if mobility.kind == "air":  # heights of cameras count from the body's frame there
        return mobility
    tops = {c.height: c.name for c in perception.cameras if c.mount != "arm"}
    top = max(tops, default=0.0)
    if top <= mobility.height + 0.005:
        return mobility
    warnings.append(
        f"the shapes that are known end at {mobility.height:.2f} m, but camera {tops[top]} looks "
        f"from {top:.2f} m: the robot is taken as that high"
    )
    evidence = mobility.evidence | {"height": f"height of camera {tops[top]}"}
    return mobility.model_copy(update={"height": round(top, 3), "evidence": evidence})
