"""Recordings: what a robot saw, on disk."""

from coterie_world.recording.folder import FolderRecording, RecordingWriter
from coterie_world.recording.opening import open_recording, readable
from coterie_world.recording.scans import ScanRecording
from coterie_world.recording.types import (
    RecordedFrame,
    Recording,
    RecordingError,
    sample_evenly,
)

__all__ = [
    "FolderRecording",
    "RecordedFrame",
    "Recording",
    "RecordingError",
    "RecordingWriter",
    "ScanRecording",
    "open_recording",
    "readable",
    "sample_evenly",
]
