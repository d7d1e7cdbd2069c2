"""Build a robot's resume from its URDF (EMOS, sections 3.3 and A.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coterie_core.resume import Manipulation, Resume
from emos_planner.resume.arms import ArmModel, arm_models, describe_arms
from emos_planner.resume.cameras import find_cameras, looks
from emos_planner.resume.errors import UrdfError
from emos_planner.resume.frame import face_ahead, find_base
from emos_planner.resume.geometry import Bodies
from emos_planner.resume.locomotion import Drive, Scene, find_drive
from emos_planner.resume.mobility import Stance, measure
from emos_planner.resume.overrides import RobotOverrides, apply_overrides
from emos_planner.resume.reading import Description, read_description
from emos_planner.resume.stated import stated_drive, without_ignored
from emos_planner.resume.tree import build_tree

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


def analyse(
    urdf: str | Path | bytes,
    *,
    packages: Sequence[Path] = (),
    overrides: RobotOverrides | None = None,
) -> Analysis:
    """Read a URDF and find what its parts are.

    Args:
        urdf: Path of the file, or the document itself (bytes, or a str that begins with "<").
        overrides: Which parts of it to leave out, and what carries it, where that is stated.
        packages: Folders of packages whose meshes may be read beside the URDF's own folder.

    Raises:
        UrdfError: The URDF cannot be used; the message names the element and the remedy.
    """
    description = read_description(urdf)
    try:
        tree = build_tree(description)
        if overrides is not None:
            tree = without_ignored(tree, overrides)
    except UrdfError as error:
        raise (error if error.file else error.within(description.file)) from error.__cause__
    folders = [*([description.folder] if description.folder is not None else []), *packages]
    bodies = Bodies(tree, folders)
    base = find_base(tree, bodies)
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
    return Analysis(description, scene, drive, stance, arm_models(scene, stance))


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
    return resume_from(found, name=name, overrides=overrides, samples=samples, seed=seed)


def resume_from(
    found: Analysis,
    *,
    name: str | None = None,
    overrides: RobotOverrides | None = None,
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
        mobility=stance.mobility,
        perception=perception,
        manipulation=Manipulation(arms=arms, evidence=evidence),
        warnings=tuple(dict.fromkeys(warnings)),
    )
    return resume if overrides is None else apply_overrides(resume, overrides)
