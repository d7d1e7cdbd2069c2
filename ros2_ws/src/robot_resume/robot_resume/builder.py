"""Build a robot's resume from its URDF (EMOS, sections 3.3 and A.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coterie_core.resume import Manipulation, Mobility, Perception, Resume
from coterie_core.urdf.bodies import Bodies
from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.reading import MAX_METERS, Description, read_description
from coterie_core.urdf.tree import Tree, build_tree
from robot_resume.arms import ArmModel, arm_models, describe_arms
from robot_resume.cameras import find_cameras, looks
from robot_resume.frame import Base, face_ahead, find_base
from robot_resume.locomotion import Drive, Scene, find_drive
from robot_resume.mobility import Stance, measure
from robot_resume.overrides import RobotOverrides, apply_overrides, foreign_version
from robot_resume.overrides_apply import stated_drive, without_ignored

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
