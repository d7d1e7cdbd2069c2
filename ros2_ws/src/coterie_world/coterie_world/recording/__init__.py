"""Recordings: what a robot saw, on disk."""

from coterie_world.recording.opening import open_recording, readable
from coterie_world.recording.scans import ScanRecording
from coterie_world.recording.types import (
    RecordedFrame,
    Recording,
    RecordingError,
    sample_evenly,
)

__all__ = [
    "RecordedFrame",
    "Recording",
    "RecordingError",
    "ScanRecording",
    "open_recording",
    "readable",
    "sample_evenly",
]
