"""Episode histories of OpenEQA, and folders exported from ScanNet: images, depth, poses as text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from coterie_core.detections import RgbdFrame
from coterie_core.frames import ZUP_TO_YUP
from coterie_recordings.images import (
    MILLIMETRES,
    check_camera,
    read_color,
    read_depth,
    resampled,
    whole,
)
from coterie_recordings.types import RecordedFrame, RecordingError
from coterie_world.scene import SceneGraph

Source = Literal["scannet", "hm3d"]
HM3D_SCALE = 10.0 / 65535.0
"""OpenEQA's script writes HM3D's depth so that 65535 is 10 m."""
PERIOD = 1.0 / 30.0
"""Between two frames of ScanNet [s]; OpenEQA's first 600 frames are said to be its first 30 s."""
_FLAT = re.compile(r"(\d{1,9})-rgb\.(png|jpg|jpeg)")
_SPLIT = re.compile(r"(\d{1,9})\.(jpg|jpeg|png)")
_LONGEST_TEXT = 4096
_GL_TO_CV = np.diag([1.0, -1.0, -1.0, 1.0])
_TO_ZUP = np.eye(4)
_TO_ZUP[:3, :3] = ZUP_TO_YUP.T

Intrinsics = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of one frame; `depth` and `pose` None where only colour was exported."""

    name: str
    color: Path
    depth: Path | None
    pose: Path | None


def is_scan(folder: Path) -> bool:
    """Whether a folder looks like one of these."""
    return next(_frames_in(folder), None) is not None or any(folder.glob("*.pkl"))


class ScanRecording:
    """A folder with `000000-rgb.png`, `000000-depth.png`, `000000.txt`, ... (docs/recordings.md).

    ScanNet's cameras look along z and its map is z-up; HM3D's look along -z and its map is y-up:
    both come out as `RgbdFrame` wants them. Colour is resampled to the pixels of depth.

    Args:
        folder: The episode history; or ScanNet's own `color/`, `depth/`, `pose/`, `intrinsic/`.
        source: Whose conventions hold; None: HM3D's where the folder's name says hm3d or `.pkl`
            files lie there, else ScanNet's.

    Raises:
        RecordingError: No images, or no intrinsics where there is depth.
    """

    def __init__(self, folder: Path, source: Source | None = None) -> None:
        self.folder = folder
        self.name = folder.resolve().name
        self.scene: SceneGraph | None = None
        states = any(folder.glob("*.pkl"))
        hm3d = states or "hm3d" in self.name.lower()
        self.source: Source = source or ("hm3d" if hm3d else "scannet")
        found = sorted(_frames_in(folder), key=lambda f: (len(f.name), f.name))
        if not found:
            what = "no images in it"
            if states:
                what = "states of the simulator (.pkl) and no images; pickles are never opened here"
            remedy = "export the frames with OpenEQA's script, without --rgb-only"
            raise RecordingError(folder, what, remedy)
        self._problems: list[str] = []
        self.depths = any(f.depth is not None and f.pose is not None for f in found)
        self._frames = self._usable(found)
        if self.depths:
            self._depth_camera = self._intrinsics("depth")
            try:
                self._color_camera = self._intrinsics("color")
            except RecordingError:
                self._color_camera = self._depth_camera
        else:
            self._problems.append(
                "color only: no depth and no poses; questions can be answered from the frames, "
                "and no map can be made"
            )

    @property
    def problems(self) -> tuple[str, ...]:
        """What was cut off or skipped."""
        return tuple(self._problems)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self._frames)

    def __getitem__(self, index: int) -> RecordedFrame:
        """Read a frame.

        Raises:
            IndexError: Beyond the end.
            RecordingError: A damaged file.
        """
        files = self._frames[index]
        color = read_color(files.color)
        time = int(files.name) * PERIOD
        if files.depth is None or files.pose is None:
            rows, cols = color.shape[:2]
            blind = np.zeros((rows, cols), dtype=np.float32)
            camera = (float(cols), float(cols), cols / 2.0, rows / 2.0)
            return RecordedFrame(files.name, RgbdFrame(blind, camera, np.eye(4), color, time))
        scale = HM3D_SCALE if self.source == "hm3d" else MILLIMETRES
        depth = read_depth(files.depth, scale)
        camera, seen = self._depth_camera, self._color_camera
        if self.source == "hm3d":
            camera = seen = _square(camera, depth.shape)
        if color.shape[:2] != depth.shape:
            if seen == camera:
                # One camera for both, and images of different sizes: those of colour are scaled.
                sy, sx = (a / b for a, b in zip(color.shape, depth.shape, strict=False))
                seen = (seen[0] * sx, seen[1] * sy, seen[2] * sx, seen[3] * sy)
            color = resampled(color, seen, depth.shape, camera)
        pose = _matrix(files.pose)
        if self.source == "hm3d":
            pose = _TO_ZUP @ pose @ _GL_TO_CV
        return RecordedFrame(files.name, RgbdFrame(depth, camera, pose, color, time))

    def _usable(self, found: list[_Files]) -> list[_Files]:
        """Frames whose files are all there; the rest is counted among the problems."""
        usable, skipped = [], Counter[str]()
        for files in found:
            reason = ""
            if not whole(files.color):
                reason = "a color image that is cut off"
            elif self.depths:
                if files.depth is None or not whole(files.depth):
                    reason = "no depth image, or one that is cut off"
                elif files.pose is None:
                    reason = "no pose"
                else:
                    try:
                        _matrix(files.pose)
                    except RecordingError:
                        reason = "no valid pose (the camera was lost)"
            if reason:
                skipped[reason] += 1
            else:
                usable.append(files)
        for reason, count in sorted(skipped.items()):
            self._problems.append(f"{count} of {len(found)} frames skipped: {reason}")
        return usable

    def _intrinsics(self, camera: str) -> Intrinsics:
        """The camera (fx, fy, cx, cy) [px], pixel centres at halves, from a text file."""
        name = f"intrinsic_{camera}.txt"
        path = next(
            (p for p in (self.folder / name, self.folder / "intrinsic" / name) if p.is_file()), None
        )
        if path is None:
            raise RecordingError(
                self.folder, f"no {name}", "copy it from the export; depth cannot be used without"
            )
        k = _numbers(path, (12, 16, 9))
        k = k.reshape(-1, 3 if k.size == 9 else 4)
        fx, fy, cx, cy = (float(v) for v in (k[0, 0], k[1, 1], k[0, 2], k[1, 2]))
        # ScanNet counts from the middle of the first pixel, HM3D's script from its corner.
        shift = 0.5 if self.source == "scannet" else 0.0
        return check_camera(fx, fy, cx + shift, cy + shift, path)


def _frames_in(folder: Path) -> Iterator[_Files]:
    """Find frames by their colour images, in either layout."""
    split = folder / "color"
    if split.is_dir():
        for color in split.iterdir():
            if match := _SPLIT.fullmatch(color.name):
                depth, pose = (
                    folder / "depth" / f"{match[1]}.png",
                    folder / "pose" / f"{match[1]}.txt",
                )
                yield _Files(match[1], color, _there(depth), _there(pose))
        return
    for color in folder.glob("*-rgb.*"):
        if match := _FLAT.fullmatch(color.name):
            depth, pose = folder / f"{match[1]}-depth.png", folder / f"{match[1]}.txt"
            yield _Files(match[1], color, _there(depth), _there(pose))


def _there(path: Path) -> Path | None:
    return path if path.is_file() else None


def _square(camera: Intrinsics, shape: tuple[int, ...]) -> Intrinsics:
    """HM3D's camera with the fy it had: the script's fits no picture, pixels are square there."""
    fx, fy, cx, cy = camera
    rows, cols = shape[:2]
    hfov = 2.0 * math.atan(cols / (2.0 * fx))
    written = rows / (2.0 * math.tan(hfov * rows / cols / 2.0))
    return (fx, fx, cx, cy) if abs(fy - written) < 0.01 * fy else camera


def _matrix(path: Path) -> npt.NDArray[np.float64]:
    pose = _numbers(path, (16,)).reshape(4, 4)
    if not _is_rigid(pose):
        raise RecordingError(path, "no pose", "leave the frame out")
    return pose


def _is_rigid(pose: npt.NDArray[np.float64]) -> bool:
    """Whether a matrix (4, 4) turns and moves only; a hundredth off is taken for rounding."""
    if not np.isfinite(pose).all() or np.abs(pose[:3, 3]).max() > 1e5:
        return False
    rotation = pose[:3, :3]
    straight = np.abs(rotation @ rotation.T - np.eye(3)).max() < 0.01
    return bool(straight and np.linalg.det(rotation) > 0.0 and np.allclose(pose[3], (0, 0, 0, 1)))


def _numbers(path: Path, counts: tuple[int, ...]) -> npt.NDArray[np.float64]:
    try:
        with path.open(encoding="ascii") as file:
            values = np.array([float(word) for word in file.read(_LONGEST_TEXT).split()])
    except (OSError, ValueError):
        raise RecordingError(path, "expected numbers in text", "export it again") from None
    if values.size not in counts:
        wanted = " or ".join(map(str, counts))
        raise RecordingError(
            path, f"expected {wanted} numbers, got {values.size}", "export it again"
        )
    return values
