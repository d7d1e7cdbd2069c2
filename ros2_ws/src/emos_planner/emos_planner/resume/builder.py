"""Build a robot's resume from its URDF (EMOS, sections 3.3 and A.1)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie_core.resume import Manipulation, Perception, Resume
from emos_planner.resume.arms import find_arms
from emos_planner.resume.cameras import find_cameras
from emos_planner.resume.frame import find_base
from emos_planner.resume.geometry import Bodies
from emos_planner.resume.locomotion import find_drive
from emos_planner.resume.mobility import measure
from emos_planner.resume.reading import read_description
from emos_planner.resume.tree import build_tree

if TYPE_CHECKING:
    from emos_planner.resume.overrides import RobotOverrides

SAMPLES = 100_000


def resume_of(
    urdf: str | Path | bytes,
    *,
    name: str | None = None,
    overrides: RobotOverrides | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Resume:
    """Return what the robot of a URDF can do.

    Args:
        urdf: Path of the file, or the document itself (bytes, or a str that begins with "<").
        name: Name of the robot; default: the URDF's.
        overrides: What the URDF does not say.
        samples: Postures to sample per arm.
        seed: Same seed, same resume, byte for byte.

    Raises:
        UrdfError: The URDF cannot be used; the message names the element and the remedy.
    """
    description = read_description(urdf)
    tree = build_tree(description)
    bodies = Bodies(tree, description.folder)
    base = find_base(tree, bodies)
    drive = find_drive(tree, bodies, base, description)
    stance = measure(tree, bodies, base, drive, description)
    arms, hands = find_arms(tree, bodies, stance, drive, samples=samples, seed=seed)
    cameras, others = find_cameras(tree, stance, drive, description, hands)
    return Resume(
        robot=name or tree.name,
        mobility=stance.mobility,
        perception=Perception(cameras=cameras.cameras, others=others, evidence=cameras.evidence),
        manipulation=Manipulation(arms=arms.arms, evidence=arms.evidence),
        warnings=tuple(description.warnings),
    )
