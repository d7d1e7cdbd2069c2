"""Opens recordings of every kind; goes through them without stopping at what is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from coterie_recordings.scans import ScanRecording, is_scan
from coterie_recordings.types import RecordedFrame, Recording, RecordingError

_KNOWN = (
    "known are MCAP files, rosbag2 folders, and folders of OpenEQA or ScanNet (000000-rgb.png); "
    "see docs/recordings.md"
)


def open_recording(path: str | Path) -> Recording:
    """Return a recording: an MCAP file, a rosbag2 folder, a folder of OpenEQA's or ScanNet's.

    Raises:
        RecordingError: There is none, or of no known kind; says which are known.
    """
    path = Path(path).expanduser()
    bag = path.suffix in (".mcap", ".db3")
    if path.is_dir():
        bag = any(any(path.glob(name)) for name in ("metadata.yaml", "*.mcap*", "*.db3*"))
        if not bag and is_scan(path):
            return ScanRecording(path)
    elif not path.is_file():
        raise RecordingError(path, "does not exist", "give a folder or a file")
    if not bag:
        what = "no recording in this folder" if path.is_dir() else "no recording"
        raise RecordingError(path, what, _KNOWN)
    from coterie_recordings.bag import BagRecording

    return BagRecording(path)


def readable(recording: Recording, problems: list[str]) -> Iterator[tuple[int, RecordedFrame]]:
    """Yield (index, frame) of all frames that can be read; what cannot is added to `problems`."""
    for index in range(len(recording)):
        try:
            yield index, recording[index]
        except RecordingError as error:
            problems.append(str(error))
