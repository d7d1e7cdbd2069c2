"""Compare our resumes with those that Habitat-MAS states, field by field, and say why they differ.

Every explanation is calculated from the numbers of both sides; docs/resume.md tells the story.
Theirs: heights [m], fields of view [degrees], workspaces as spheres or boxes whose coordinates
are (x, y, z) with y up, in the robot's frame.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coterie_core.plain_data import schema_problems
from coterie_core.resume import Resume, ResumeArm
from coterie_core.workspace import Workspace

_LARGEST = 1_000_000


class StatedError(ValueError):
    """A folder of stated resumes cannot be used; names file and field."""


class StatedCamera(BaseModel):
    """A camera as stated: height [m], field of view [degrees]."""

    height: float
    hfov: float
    type: str = ""


class StatedWorkspace(BaseModel):
    """A sphere or a box, y up [m]; without a type there is no arm."""

    type: str = ""
    center: tuple[float, float, float] | None = None
    radius: float | None = None
    min_bound: tuple[float, float, float] | None = None
    max_bound: tuple[float, float, float] | None = None

    @property
    def whole(self) -> bool:
        """Whether all numbers are there."""
        sphere = self.center is not None and self.radius is not None
        return sphere or (self.min_bound is not None and self.max_bound is not None)

    def contains(self, points: npt.NDArray[np.float64], up: int) -> npt.NDArray[np.bool_]:
        """Whether points (n, 3) of (x, y, z), z up, lie in it if its coordinate `up` is height."""
        order = [0, 2, 1] if up == 1 else [0, 1, 2]
        theirs = points[:, order]
        if self.center is not None and self.radius is not None:
            inside = np.linalg.norm(theirs - np.array(self.center), axis=1) <= self.radius
            return np.asarray(inside)
        assert self.min_bound is not None and self.max_bound is not None
        low, high = np.array(self.min_bound), np.array(self.max_bound)
        return np.asarray(((theirs >= low) & (theirs <= high)).all(axis=1))

    def heights(self, up: int) -> tuple[float, float]:
        """Return the lowest and highest of it [m] if its coordinate `up` is height."""
        if self.center is not None and self.radius is not None:
            return self.center[up] - self.radius, self.center[up] + self.radius
        assert self.min_bound is not None and self.max_bound is not None
        return self.min_bound[up], self.max_bound[up]


class _Perception(BaseModel):
    cameras_info: dict[str, StatedCamera] = Field(default_factory=dict)


class _Manipulation(BaseModel):
    arm_workspace: StatedWorkspace = StatedWorkspace()


class Stated(BaseModel):
    """One file of theirs."""

    model_config = ConfigDict(extra="ignore")

    robot_id: str
    mobility: dict[str, Any] = Field(default_factory=dict)
    perception: _Perception = _Perception()
    manipulation: _Manipulation = _Manipulation()


@dataclass(frozen=True)
class Difference:
    """One row: a field, both values in words, and why they differ."""

    field: str
    ours: str
    theirs: str
    why: str


def load_stated(folder: Path) -> list[Stated]:
    """Read all JSON files of a folder.

    Raises:
        StatedError: There are none, or one is no resume of theirs.
    """
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not files:
        raise StatedError(f"{folder}: no *.json there; give the folder of the stated resumes")
    found = []
    for file in files:
        try:
            text = file.read_text("utf-8")
            if len(text) > _LARGEST:
                raise StatedError(f"{file}: larger than {_LARGEST} characters")
            found.append(Stated.model_validate(json.loads(text)))
        except (OSError, ValueError) as error:
            if isinstance(error, ValidationError):
                raise StatedError(f"{file}: {schema_problems(error)}") from None
            raise StatedError(f"{file}: {error}") from None
    return found


def compare(resume: Resume, stated: list[Stated]) -> list[Difference]:
    """Return the differences of one robot; empty: nothing is stated of it."""
    theirs = next((one for one in stated if _same(resume.robot, one.robot_id)), None)
    if theirs is None:
        return []
    rows = [_mobility(resume, theirs)]
    for name, camera in theirs.perception.cameras_info.items():
        rows += _camera(resume, name, camera, _stance(resume, theirs))
    known = set(theirs.perception.cameras_info)
    unstated = [camera.name for camera in resume.perception.cameras if camera.name not in known]
    if unstated:
        rows.append(
            Difference(
                "other cameras",
                ", ".join(unstated),
                "not stated",
                "links of the URDF named as cameras; theirs lists only what the simulator renders",
            )
        )
    space = theirs.manipulation.arm_workspace
    arms = sorted(resume.manipulation.arms, key=lambda arm: -arm.workspace.reach)
    rows += _workspace(arms[0] if arms else None, space if space.whole else None)
    return rows


def _same(robot: str, stated: str) -> bool:
    words = [word for word in re.split(r"[^a-z0-9]+", robot.lower()) if len(word) >= 3]
    key = re.sub(r"robot|_default", "", stated.lower())
    return any(word in key or key in word for word in words)


def _mobility(resume: Resume, theirs: Stated) -> Difference:
    body = resume.mobility
    step = "?" if body.step_height is None else f"{body.step_height:.3f} m"
    numbers = [k for k, v in theirs.mobility.items() if k != "summary" and v is not None]
    return Difference(
        "mobility",
        f"{body.kind}, radius {body.radius:.2f} m, height {body.height:.2f} m, step {step}",
        f"fields {', '.join(numbers)}" if numbers else "a sentence, no number",
        f"ours comes from the joints: {body.evidence.get('kind', '')}",
    )


def _stance(resume: Resume, theirs: Stated) -> float | None:
    """Return by how much a legged robot stands higher there [m], if all its cameras agree."""
    ours = {camera.name: camera.height for camera in resume.perception.cameras}
    apart = [
        camera.height - ours[name]
        for name, camera in theirs.perception.cameras_info.items()
        if name in ours
    ]
    alike = len(apart) >= 2 and max(apart) - min(apart) < 0.02
    return sum(apart) / len(apart) if resume.mobility.kind == "legs" and alike else None


def _camera(
    resume: Resume, name: str, theirs: StatedCamera, stance: float | None
) -> list[Difference]:
    cameras = {camera.name: camera for camera in resume.perception.cameras}
    ours = cameras.get(name)
    said = f"{theirs.height:g} m, {theirs.type}"
    if ours is None:
        why = "no link of the URDF has that name: theirs is placed by hand"
        return [Difference(f"camera {name}", "none", said, why)]
    lift = resume.mobility.flight_height if resume.mobility.kind == "air" else 0.0
    low, high = ours.heights
    rows = []
    difference = theirs.height - ours.height
    if lift and abs(theirs.height - lift - ours.height) < 0.05:
        why = (
            f"{theirs.height:g} m is a flight height (we assume {lift:g} m) plus the camera's "
            f"{ours.height:.2f} m on the body: not a property of the body"
        )
    elif abs(difference) < 0.02:
        why = f"the same within {max(abs(difference), 0.001):.3f} m at rest"
    elif stance is not None:
        why = (
            f"all its cameras are {abs(stance):.2f} m {'higher' if stance > 0 else 'lower'} there: "
            "it stands on legs bent otherwise"
        )
    elif low - 0.01 <= theirs.height <= high + 0.01:
        why = f"one posture of the many: its joints move it from {low:.2f} to {high:.2f} m"
    elif high - low < 0.005:
        why = (
            f"{difference:+.2f} m from where the URDF has link {ours.link}, which no joint moves: "
            "theirs is set by hand"
        )
    else:
        why = (
            f"{difference:+.2f} m from where the URDF has link {ours.link}, and outside of "
            f"{low:.2f} to {high:.2f} m that its joints allow: theirs is set by hand"
        )
    span = f"{low:.2f} to {high:.2f} m" if high - low > 0.005 else f"{ours.height:.2f} m"
    told = f"{ours.height:.2f} m at rest, {span}, {ours.mount}"
    rows.append(Difference(f"camera {name}: height", told, said, why))
    stated_view = math.radians(theirs.hfov)
    told = f"{math.degrees(ours.hfov):.0f} x {math.degrees(ours.vfov):.0f} deg"
    evidence = resume.perception.evidence.get(f"{ours.name}.hfov", "")
    why = (
        "the same" if abs(stated_view - ours.hfov) < 0.02 else f"a URDF has none; ours: {evidence}"
    )
    rows.append(Difference(f"camera {name}: view", told, f"{theirs.hfov:g} deg", why))
    return rows


def _workspace(arm: ResumeArm | None, theirs: StatedWorkspace | None) -> list[Difference]:
    if arm is None or theirs is None:
        ours = "no arm" if arm is None else f"reach {arm.workspace.reach:.2f} m"
        said = "no arm" if theirs is None else theirs.type
        why = "the same" if (arm is None) == (theirs is None) else "one side has no arm"
        return [Difference("workspace", ours, said, why)]
    space = arm.workspace
    up, reason = height_axis(space, theirs)
    low, high = theirs.heights(up)
    rows = [
        Difference(
            "workspace: coordinates",
            "x ahead, y left, z up, from the floor",
            f"{theirs.type}; {'xyz'[up]} is height",
            reason,
        ),
        Difference(
            "workspace: heights",
            f"{space.min_height:.2f} to {space.max_height:.2f} m",
            f"{low:.2f} to {high:.2f} m",
            _height_reason(space, low, high),
        ),
    ]
    share, beyond = overlap(space, theirs, up)
    if theirs.center is not None and theirs.radius is not None:
        flat = [theirs.center[k] for k in range(3) if k != up]
        reach = math.hypot(*flat) + theirs.radius
        said = f"radius {theirs.radius:g} m about {tuple(theirs.center)}"
        what = "no sphere has the outline of what an arm reaches"
    else:
        assert theirs.min_bound is not None and theirs.max_bound is not None
        corners = [
            math.hypot(*(pick[k] for k in range(3) if k != up))
            for pick in _corners(theirs.min_bound, theirs.max_bound)
        ]
        reach = max(corners)
        said = f"box to {reach:.2f} m at its farthest corner"
        what = "a box on one side of the robot, with corners where no hand gets; ours turns with it"
    rows.append(
        Difference(
            "workspace: shape",
            f"{space.reach:.2f} m from the base axis, cells of {space.cell:g} m",
            f"{said}, up to {reach:.2f} m from the axis",
            f"{what}: {100.0 * beyond:.0f} % of theirs above the floor is out of our reach, "
            f"{100.0 * share:.0f} % of ours lies in theirs",
        )
    )
    return rows


def _corners(low: tuple[float, ...], high: tuple[float, ...]) -> list[list[float]]:
    return [[(low, high)[(k >> axis) & 1][axis] for axis in range(3)] for k in range(8)]


def height_axis(space: Workspace, theirs: StatedWorkspace) -> tuple[int, str]:
    """Return which of their coordinates is height (1 or 2), and how that was found.

    Of a box, the order and signs of coordinates whose bounds are nearest to those of the sampled
    hand's hull; of a sphere, the reading that covers more of what the hand reaches.
    """
    if theirs.min_bound is not None and theirs.max_bound is not None and space.hull:
        order, signs, left = _box_axes(space, theirs.min_bound, theirs.max_bound)
        named = ", ".join(
            f"their {'xyz'[k]} is our {'-' if signs[k] < 0 else ''}{'xyz'[order[k]]}"
            for k in range(3)
        )
        return order.index(2), (
            f"{named}: of all orders and signs of axes the one whose bounds fit best "
            f"({left:.2f} m apart on average)"
        )
    shares = {up: overlap(space, theirs, up)[0] for up in (1, 2)}
    best = 1 if shares[1] >= shares[2] else 2
    return best, (
        f"read with y up theirs covers {100.0 * shares[1]:.0f} % of what the hand reaches, with "
        f"z up {100.0 * shares[2]:.0f} %"
    )


def _box_axes(
    space: Workspace, low: tuple[float, ...], high: tuple[float, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], float]:
    """Return for each of their axes ours, its sign, and the mean distance of the bounds [m]."""
    hull = np.array(space.hull)
    theirs = np.array([low, high])
    best: tuple[tuple[int, ...], tuple[int, ...], float] = ((0, 1, 2), (1, 1, 1), math.inf)
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1, -1), repeat=3):
            if signs[order.index(2)] < 0:
                continue  # nobody counts height downward
            turned = hull[:, order] * np.array(signs)
            bounds = np.array([turned.min(axis=0), turned.max(axis=0)])
            apart = float(np.abs(bounds - theirs).mean())
            if apart < best[2] - 1e-9:
                best = (order, signs, apart)
    return best


def overlap(space: Workspace, theirs: StatedWorkspace, up: int) -> tuple[float, float]:
    """Return the share of ours that lies in theirs, and of theirs (above the floor) beyond ours.

    By volume, over a grid; ours is turned about the base axis, as a robot that turns on the spot
    can be.
    """
    step = 0.05
    low, high = theirs.heights(up)
    size = 2.5
    side = np.arange(-size, size, step) + step / 2.0
    tall = np.arange(min(low, space.min_height, 0.0), max(high, space.max_height), step) + step / 2
    x, y, z = (axis.ravel() for axis in np.meshgrid(side, side, tall, indexing="ij"))
    inside = theirs.contains(np.column_stack([x, y, z]), up)
    radius = np.hypot(x, y)
    grid = space.grid()
    rows = np.floor((z - space.bottom) / space.cell).astype(int)
    columns = np.floor(radius / space.cell).astype(int)
    valid = (rows >= 0) & (rows < grid.shape[0]) & (columns < grid.shape[1])
    ours = np.zeros(len(x), dtype=bool)
    ours[valid] = grid[rows[valid], columns[valid]]
    above = inside & (z >= 0.0)
    share = float((inside & ours).sum() / max(ours.sum(), 1))
    beyond = float((above & ~ours).sum() / max(above.sum(), 1))
    return share, beyond


def _height_reason(space: Workspace, low: float, high: float) -> str:
    parts = []
    if low < -0.01:
        parts.append(f"theirs goes {-low:.2f} m below the floor, where no hand gets")
    if high > space.max_height + 0.03:
        parts.append(f"theirs ends {high - space.max_height:.2f} m above the highest posture")
    elif high < space.max_height - 0.03:
        parts.append(
            f"theirs leaves out the top {space.max_height - high:.2f} m that the arm gets to"
        )
    return "; ".join(parts) or "the same within 0.03 m"
