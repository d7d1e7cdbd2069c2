"""What a URDF does not say, from a YAML file: fields of view, speeds, payload, parts by name."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from coterie_core.embodiment import MobilityKind
from coterie_core.resume import Manipulation, Mobility, Perception, Resume, ResumeCamera
from coterie_core.urdf.tree import Tree
from coterie_core.yaml_checks import check, suggestion
from coterie_core.yaml_marks import FileProblem, load_marked, read_text
from robot_resume.mobility import STAIR

Channel = Literal["rgb", "depth", "infrared"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MobilityOverrides(_Part):
    """Fields of the mobility section that the file states."""

    kind: MobilityKind | None = None
    radius: float | None = Field(None, gt=0.0, le=5.0, description="[m]")
    height: float | None = Field(None, gt=0.0, le=5.0, description="[m]")
    step_height: float | None = Field(None, ge=0.0, le=1.0, description="[m]")
    climbs_stairs: bool | None = None
    linear_speed: float | None = Field(None, gt=0.0, le=30.0, description="[m/s]")
    angular_speed: float | None = Field(None, gt=0.0, le=30.0, description="[rad/s]")
    flight_height: float | None = Field(None, ge=0.0, le=3.0, description="of base_link [m]")


class CameraOverrides(_Part):
    """Fields of one camera; angles in degrees, as data sheets give them."""

    hfov_deg: float | None = Field(None, gt=3.0, lt=178.0)
    vfov_deg: float | None = Field(None, gt=3.0, lt=178.0)
    channels: tuple[Channel, ...] | None = Field(None, min_length=1)
    range: tuple[float, float] | None = Field(None, description="[m]")
    width: int | None = Field(None, ge=8, le=8192, description="[px]")
    rows: int | None = Field(None, ge=8, le=8192, description="[px]")
    ignore: bool = Field(False, description="leave this camera out")

    @model_validator(mode="after")
    def _nearest_first(self) -> CameraOverrides:
        if self.range is not None and not 0.0 <= self.range[0] < self.range[1]:
            raise ValueError("range: expected [nearest, farthest] in metres, for example [0.3, 5]")
        return self


class ArmOverrides(_Part):
    """Fields of one arm."""

    payload: float | None = Field(None, gt=0.0, le=1000.0, description="[kg]")
    opening: float | None = Field(None, ge=0.0, le=2.0, description="of the gripper [m]")
    ignore: bool = Field(False, description="leave this arm out")


class RobotOverrides(_Part):
    """One file of config/robots. Names of cameras and arms may hold * and ?."""

    urdf: tuple[str, ...] = Field((), description="names in URDFs that the file is for; * and ?")
    versions: dict[str, str] = Field(
        default_factory=dict,
        description="version -> digest of its skeleton, where versions share a name",
    )
    source: str = Field("", max_length=300, description="where the values come from")
    mobility: MobilityOverrides = MobilityOverrides()
    cameras: dict[str, CameraOverrides] = Field(default_factory=dict)
    arms: dict[str, ArmOverrides] = Field(default_factory=dict)
    ignore_links: tuple[str, ...] = Field((), description="left out with all that hangs on them")
    wheels: tuple[str, ...] = Field((), description="joints of wheels, where they are not found")
    legs: tuple[str, ...] = Field((), description="first joints of legs, where not found")
    file: str = Field("", exclude=True, description="set on reading")
    by_name: bool = Field(False, exclude=True, description="set where only the name chose it")

    def is_for(self, name: str) -> bool:
        """Whether the file is meant for a URDF whose robot has this name."""
        return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in self.urdf)


def load_overrides(file: Path) -> RobotOverrides:
    """Read a file of overrides.

    Raises:
        FileProblem: With every problem: line, field, what was expected, the nearest name.
    """
    marked = load_marked(read_text(file), str(file))
    found = check(RobotOverrides, marked, str(file), [])
    return found.model_copy(update={"file": file.name})


def overrides_for(name: str, folder: Path) -> RobotOverrides | None:
    """Return the first file of a folder that is meant for a robot of this name; None: none is.

    Raises:
        FileProblem: A file is wrong.
    """
    for file in sorted(folder.glob("*.yaml")) if folder.is_dir() else []:
        found = load_overrides(file)
        if found.is_for(name):
            return found.model_copy(update={"by_name": True})
    return None


def skeleton_digest(tree: Tree) -> str:
    """Return what tells versions of a robot apart: names and types of joints, and the mass [kg].

    Origins and limits are left out, because calibration changes them from robot to robot.
    """
    joints = sorted(f"{joint.name} {joint.kind}" for joint in tree.joints.values())
    mass = sum(link.mass or 0.0 for link in tree.links.values())
    return hashlib.sha256("\n".join([*joints, f"{mass:.1f}"]).encode()).hexdigest()[:12]


def foreign_version(overrides: RobotOverrides, tree: Tree) -> str:
    """Return why overrides that a name chose are not for this robot; empty: they are."""
    if not overrides.by_name or not overrides.versions:
        return ""
    digest = skeleton_digest(tree)
    if digest in overrides.versions.values():
        return ""
    return (
        f"{overrides.file} holds values of {', '.join(overrides.versions)}; this robot bears the "
        f"same name and is another version (skeleton {digest}): its values are left out. Give "
        "--overrides FILE to state some"
    )


def apply_overrides(resume: Resume, overrides: RobotOverrides) -> Resume:
    """Return the resume with the file's values, each noted in its section's evidence.

    Parts by name (`kind`, `ignore_links`, `wheels`, `legs`) have to be applied while the URDF is
    understood. Names that no camera or arm has become warnings.
    """
    why = f"stated in {overrides.file or 'the overrides'}"
    why += f" ({overrides.source})" if overrides.source else ""
    warnings = [*resume.warnings]
    return resume.model_copy(
        update={
            "mobility": _mobility(resume.mobility, overrides.mobility, why),
            "perception": _perception(resume.perception, overrides, why, warnings),
            "manipulation": _manipulation(resume.manipulation, overrides, why, warnings),
            "warnings": tuple(dict.fromkeys(warnings)),
        }
    )


def _mobility(found: Mobility, stated: MobilityOverrides, why: str) -> Mobility:
    values = stated.model_dump(exclude_none=True)
    evidence = found.evidence | dict.fromkeys((key for key in values if key != "kind"), why)
    if stated.kind is not None and stated.kind != found.kind:
        evidence["kind"] = why
    step = values.get("step_height")
    kind = values.get("kind", found.kind)
    if step is not None and "climbs_stairs" not in values:
        values["climbs_stairs"] = kind == "air" or (kind in ("legs", "tracks") and step >= STAIR)
        evidence["climbs_stairs"] = f"step_height {step:g} m against risers of {STAIR:g} m"
    return found.model_copy(update={**values, "evidence": evidence})


def _perception(
    found: Perception, overrides: RobotOverrides, why: str, warnings: list[str]
) -> Perception:
    names = [camera.name for camera in found.cameras]
    _warn_unknown("cameras", overrides.cameras, names, warnings)
    cameras: list[ResumeCamera] = []
    evidence = dict(found.evidence)
    for camera in found.cameras:
        stated = [o for p, o in overrides.cameras.items() if fnmatchcase(camera.name, p)]
        if any(each.ignore for each in stated):
            evidence = {k: v for k, v in evidence.items() if not k.startswith(f"{camera.name}.")}
            evidence[f"{camera.name}"] = f"left out: {why}"
            continue
        for each in stated:
            values = each.model_dump(exclude_none=True, exclude={"ignore"})
            for field in ("hfov", "vfov"):
                if f"{field}_deg" in values:
                    values[field] = math.radians(values.pop(f"{field}_deg"))
            camera = camera.model_copy(update=values)
            evidence |= {f"{camera.name}.{key}": why for key in values}
        cameras.append(camera)
    return found.model_copy(update={"cameras": tuple(cameras), "evidence": evidence})


def _manipulation(
    found: Manipulation, overrides: RobotOverrides, why: str, warnings: list[str]
) -> Manipulation:
    _warn_unknown("arms", overrides.arms, [arm.name for arm in found.arms], warnings)
    arms = []
    evidence = dict(found.evidence)
    for arm in found.arms:
        stated = [o for p, o in overrides.arms.items() if fnmatchcase(arm.name, p)]
        if any(each.ignore for each in stated):
            evidence[arm.name] = f"left out: {why}"
            continue
        for each in stated:
            if each.payload is not None:
                arm = arm.model_copy(update={"payload": each.payload})
                evidence[f"{arm.name}.payload"] = why
            if each.opening is not None and arm.gripper is not None:
                gripper = arm.gripper.model_copy(update={"opening": each.opening})
                arm = arm.model_copy(update={"gripper": gripper})
                evidence[f"{arm.name}.opening"] = why
        arms.append(arm)
    return found.model_copy(update={"arms": tuple(arms), "evidence": evidence})


def _warn_unknown(field: str, stated: Iterable[str], names: list[str], warnings: list[str]) -> None:
    for pattern in stated:
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = suggestion(pattern, names) if names else "; the robot has none"
            warnings.append(f"override {field}.{pattern}: this robot has no such part{hint}")


__all__ = [
    "ArmOverrides",
    "CameraOverrides",
    "FileProblem",
    "MobilityOverrides",
    "RobotOverrides",
    "apply_overrides",
    "load_overrides",
    "overrides_for",
]
