"""AprilTags and ArUco markers: where they are in images and in space, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator
from scipy.spatial.transform import Rotation

from coterie_core.detections import ImageDetection
from coterie_core.detector_options import DetectorOptions
from coterie_core.geometry import Vec3
from coterie_core.settings import Settings
from coterie_core.yaml_checks import check
from coterie_core.yaml_marks import FileProblem, load_marked, read_text
from coterie_perception.detector import ColorDetector, DetectorError, Pixels, checked

Family = Literal[
    "tag36h11", "tag25h9", "tag16h5", "aruco_4x4_50", "aruco_5x5_100", "aruco_6x6_250",
    "aruco_original",
]  # fmt: skip
FAMILIES: dict[str, str] = {
    "tag36h11": "DICT_APRILTAG_36h11",
    "tag25h9": "DICT_APRILTAG_25h9",
    "tag16h5": "DICT_APRILTAG_16h5",
    "aruco_4x4_50": "DICT_4X4_50",
    "aruco_5x5_100": "DICT_5X5_100",
    "aruco_6x6_250": "DICT_6X6_250",
    "aruco_original": "DICT_ARUCO_ORIGINAL",
}
"""Names of OpenCV's dictionaries by family."""
Matrix = npt.NDArray[np.float64]

_SURE = 0.99
"""Score of a tag: its code is nearly never read where there is none."""
_MOST_OFF = 0.1
"""Largest distance of a tag's corners from where its pose puts them, as a share of its side."""


class TagEntry(Settings):
    """What a tag is on."""

    object: str = Field("", description="Label of the object that the tag is on.")
    place: str = Field("", description="Name of the place that the tag marks.")
    robot: str = Field("", description="Name of the robot that the tag is on.")
    size: float | None = Field(
        None, gt=0.0, le=2.0, description="Side of the black square [m]; none: that of the table."
    )
    at: Vec3 | None = Field(
        None,
        description="Measured position of the tag's middle [m]: in the team's map, or in the base "
        "frame for calibrating a camera; none: not measured.",
    )

    @model_validator(mode="after")
    def _one(self) -> TagEntry:
        if sum(map(bool, (self.object, self.place, self.robot))) != 1:
            raise ValueError("name one of object, place and robot")
        return self

    @property
    def name(self) -> str:
        """What it is called, whatever it is on."""
        return self.object or self.place or self.robot


class TagTable(Settings):
    """The tags of a lab, as a YAML file has them."""

    family: Family = Field("tag36h11", description="Family of all tags.")
    size: float = Field(0.1, gt=0.0, le=2.0, description="Side of the black squares [m].")
    complete: tuple[str, ...] = Field(
        (), description="Labels of which every object in the lab bears a tag."
    )
    tags: dict[int, TagEntry] = Field(description="What each tag is on, by its number.")

    @model_validator(mode="after")
    def _numbers(self) -> TagTable:
        most = len(_dictionary(self.family).bytesList)
        if wrong := [number for number in self.tags if not 0 <= number < most]:
            raise ValueError(f"tag {wrong[0]}: {self.family} has the numbers 0 to {most - 1}")
        return self

    def side(self, number: int) -> float:
        """Return the side of a tag's black square [m]."""
        entry = self.tags.get(number)
        return self.size if entry is None or entry.size is None else entry.size


def read_tags(file: Path) -> TagTable:
    """Return the tags of a YAML file.

    Raises:
        FileProblem, OSError: It is no such file; says line, field and what was expected.
    """
    return check(TagTable, load_marked(read_text(file), str(file)), str(file), [])


@dataclass(frozen=True, slots=True)
class SeenTag:
    """A tag in an image.

    Attributes:
        number: Of its family.
        corners: (4, 2) column and row [px], from its own top left on, clockwise as one sees it.
        pose: (4, 4) tag to optical frame [m]: x right, y up on the tag, z out of it; None where
            the camera is not known, or no pose fits the corners.
    """

    number: int
    corners: Matrix
    pose: Matrix | None = None


def find_tags(
    image: Pixels, table: TagTable, intrinsics: tuple[float, float, float, float] | None = None
) -> list[SeenTag]:
    """Return the tags of a table's family in an image.

    Args:
        image: (rows, cols, 3), RGB, without distortion.
        table: Family and sizes; tags that it does not name are found, too.
        intrinsics: (fx, fy, cx, cy) [px]; None: no poses.

    Raises:
        DetectorError: It is no image.
    """
    cv2 = opencv()
    gray = cv2.cvtColor(checked(image), cv2.COLOR_RGB2GRAY)
    options = cv2.aruco.DetectorParameters()
    options.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    corners, numbers, _ = cv2.aruco.ArucoDetector(_dictionary(table.family), options).detectMarkers(
        gray
    )
    found = []
    for number, each in zip([] if numbers is None else numbers.ravel(), corners, strict=True):
        points = np.asarray(each, np.float64).reshape(4, 2)
        side = table.side(int(number))
        pose = None if intrinsics is None else _pose(points, side, intrinsics)
        found.append(SeenTag(int(number), points, pose))
    return found


def tag_pixels(family: Family, number: int, side: int) -> npt.NDArray[np.uint8]:
    """Return a tag's black square (side, side) [px], to be printed with white around it."""
    made = opencv().aruco.generateImageMarker(_dictionary(family), number, side)
    return np.asarray(made, np.uint8)


class TagsDetector(ColorDetector):
    """Reports the tags of a table as what they are on; a box is that of the tag itself.

    Raises:
        DetectorError: The table cannot be read.
    """

    def __init__(self, options: DetectorOptions) -> None:
        self.name = "tags"
        if not options.file:
            raise DetectorError("file: name the YAML file of your tags (docs/guides/tags.md)")
        try:
            self.table = read_tags(Path(options.file))
        except (OSError, FileProblem) as error:
            raise DetectorError(f"file: {error}") from None
        self.labels = tuple(sorted({one.name for one in self.table.tags.values()}))

    def detect(self, image: Pixels) -> list[ImageDetection]:
        """Return the tags in an image that the table names."""
        found = []
        for one in find_tags(image, self.table):
            if (entry := self.table.tags.get(one.number)) is not None:
                low = np.floor(one.corners.min(axis=0)).astype(int)
                width, height = np.maximum(np.ceil(one.corners.max(axis=0)).astype(int) - low, 1)
                box = (int(low[0]), int(low[1]), int(width), int(height))
                shown = {"tag": str(one.number)}
                found.append(ImageDetection(box, {entry.name: _SURE}, attributes=shown))
        return found


@dataclass(frozen=True, slots=True)
class Alignment:
    """How the points of one frame lie in another.

    Attributes:
        pose: (4, 4) from the first frame to the second [m].
        rms: Root mean square of what is left between the points [m].
        count: Number of points in both.
    """

    pose: Matrix
    rms: float
    count: int

    @property
    def plane(self) -> tuple[float, float, float, float]:
        """x, y, z [m] and heading [rad] of the first frame in the second, where both are level."""
        x, y, z = self.pose[:3, 3].tolist()
        return x, y, z, float(np.arctan2(self.pose[1, 0], self.pose[0, 0]))

    @property
    def mount(self) -> tuple[float, ...]:
        """x, y, z [m], roll, pitch down, yaw [rad] of an optical frame on a base (REP 103)."""
        ahead, left = self.pose[:3, 2], -self.pose[:3, 0]
        yaw, pitch = np.arctan2(ahead[1], ahead[0]), np.arcsin(np.clip(-ahead[2], -1.0, 1.0))
        level = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
        roll = np.arctan2(left @ np.cross(ahead, level), left @ level)
        return tuple(float(value) for value in (*self.pose[:3, 3], roll, pitch, yaw))


def align(first: Mapping[int, Matrix], second: Mapping[int, Matrix], *, level: bool) -> Alignment:
    """Return the rigid motion that takes tags of one frame to where another frame has them.

    Least squares over positions (Kabsch): the turns of single tags are too coarse.

    Args:
        first: Position of each tag (3,) [m].
        second: The same in the other frame; tags of one frame only do not count.
        level: Both frames are level, as maps are: turned about z alone. Two tags are enough then,
            else three that are not in one line.

    Raises:
        ValueError: Too few tags are in both, or they are in one line.
    """
    common = sorted(first.keys() & second.keys())
    least = 2 if level else 3
    if len(common) < least:
        raise ValueError(f"expected at least {least} tags in both, got {len(common)}: {common}")
    a, b = (np.stack([of[number] for number in common]) for of in (first, second))
    near, far = a - a.mean(axis=0), b - b.mean(axis=0)
    if level:
        near, far = near * (1.0, 1.0, 0.0), far * (1.0, 1.0, 0.0)
    if np.linalg.svd(near, compute_uv=False)[0 if level else 1] < 0.05:
        raise ValueError("the tags stand too near to one point or line: spread them")
    if level:
        cross = (near[:, 0] * far[:, 1] - near[:, 1] * far[:, 0]).sum()
        turn = Rotation.from_euler("z", np.arctan2(cross, (near * far).sum()))
    else:
        turn, _ = Rotation.align_vectors(far, near)
    pose = np.eye(4)
    pose[:3, :3] = turn.as_matrix()
    pose[:3, 3] = b.mean(axis=0) - turn.apply(a.mean(axis=0))
    left = a @ pose[:3, :3].T + pose[:3, 3] - b
    return Alignment(pose, float(np.sqrt((left**2).sum(axis=1).mean())), len(common))


def opencv() -> Any:
    """Return OpenCV.

    Raises:
        DetectorError: It is not installed.
    """
    try:
        import cv2
    except ImportError:
        raise DetectorError(
            "OpenCV, which finds tags, is not installed: run ./coterie setup --with detector"
        ) from None
    return cv2


def _dictionary(family: Family) -> Any:
    aruco = opencv().aruco
    return aruco.getPredefinedDictionary(getattr(aruco, FAMILIES[family]))


def _pose(
    corners: Matrix, side: float, intrinsics: tuple[float, float, float, float]
) -> Matrix | None:
    """Return a tag's pose by its corners: of two that a square may have, the one that fits."""
    cv2 = opencv()
    fx, fy, cx, cy = intrinsics
    half = side / 2.0
    square = np.array([[-half, half, 0], [half, half, 0], [half, -half, 0], [-half, -half, 0]])
    matrix = np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])
    good, turns, shifts, errors = cv2.solvePnPGeneric(
        square, corners, matrix, None, flags=cv2.SOLVEPNP_IPPE_SQUARE
    )
    longest = float(np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1).max())
    if not good or float(np.ravel(errors)[0]) > _MOST_OFF * longest:
        return None
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(np.ravel(turns[0])).as_matrix()
    pose[:3, 3] = np.ravel(shifts[0])
    return pose if pose[2, 3] > 0.0 and np.isfinite(pose).all() else None
