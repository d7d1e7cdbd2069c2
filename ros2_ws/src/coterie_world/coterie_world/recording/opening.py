"""Opens recordings of every kind; goes through them without stopping at what is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from coterie_world.recording.folder import FRAMES, HEADER, FolderRecording
from coterie_world.recording.scans import ScanRecording, is_scan
from coterie_world.recording.types import RecordedFrame, Recording, RecordingError

_KNOWN = (
    "known are folders of ours (frames.jsonl), of OpenEQA or ScanNet (000000-rgb.png), MCAP files "
    "and rosbag2 folders; see docs/recordings.md"
)


def open_recording(path: str | Path) -> Recording:
    """Return a recording: a folder of ours, OpenEQA's or ScanNet's, an MCAP file, a rosbag2 folder.

    Raises:
        RecordingError: There is none, or of no known kind; says which are known.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        if (path / FRAMES).is_file() or (path / HEADER).is_file():
            return FolderRecording(path)
        if (path / "metadata.yaml").is_file() or any(
            next(path.glob(pattern), None) is not None for pattern in ("*.mcap*", "*.db3*")
        ):
            from coterie_world.recording.bag import BagRecording

            return BagRecording(path)
        if is_scan(path):
            return ScanRecording(path)
        raise RecordingError(path, "no recording in this folder", _KNOWN)
    if path.is_file():
        if path.suffix in (".mcap", ".db3"):
            from coterie_world.recording.bag import BagRecording

            return BagRecording(path)
        raise RecordingError(path, "no recording", _KNOWN)
    raise RecordingError(path, "does not exist", "give a folder or a file")


def readable(recording: Recording, problems: list[str]) -> Iterator[tuple[int, RecordedFrame]]:
    """Yield (index, frame) of all frames that can be read; what cannot is added to `problems`."""
    for index in range(len(recording)):
        try:
            yield index, recording[index]
        except RecordingError as error:
            problems.append(str(error))
