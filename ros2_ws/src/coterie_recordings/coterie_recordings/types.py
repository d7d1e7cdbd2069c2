"""What a robot recorded: frames with depth, poses, intrinsics, detections (episode history)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.plain_data import shorten
from coterie_world.scene import SceneGraph


@dataclass(frozen=True, slots=True)
class RecordedFrame:
    """One frame of a recording.

    `name` is unique in the recording. `detections` is None where no detector looked, empty where
    one found nothing. `place` is "" where unknown.
    """

    name: str
    frame: RgbdFrame
    detections: tuple[ImageDetection, ...] | None = None
    place: str = ""


class Recording(Protocol):
    """Frames in the order of time, read when asked for.

    Indexing beyond the end raises IndexError; a frame that cannot be read raises RecordingError.
    """

    @property
    def name(self) -> str:
        """What it is called: its folder or file."""
        ...

    @property
    def scene(self) -> SceneGraph | None:
        """Rooms and floors known beforehand; None where nothing is."""
        ...

    @property
    def problems(self) -> tuple[str, ...]:
        """What was cut off or skipped, for people."""
        ...

    def __len__(self) -> int:
        """Return the number of frames."""
        ...

    def __getitem__(self, index: int) -> RecordedFrame:
        """Return one frame; reads its images."""
        ...


class RecordingError(Exception):
    """A recording cannot be read: says which file, what is wrong and what to do.

    Attributes:
        file: The file or folder.
    """

    def __init__(self, file: str | Path, what: str, remedy: str = "") -> None:
        self.file = str(file)
        text = f"{file}: {shorten(what, 600)}" + (f"; {shorten(remedy, 600)}" if remedy else "")
        super().__init__(text)


def sample_evenly(recording: Recording, k: int) -> list[int]:
    """Return at most `k` indices spread evenly over a recording, first and last included."""
    n = len(recording)
    if k <= 0 or n == 0:
        return []
    if k >= n:
        return list(range(n))
    if k == 1:
        return [n // 2]
    return sorted({round(i * (n - 1) / (k - 1)) for i in range(k)})
