"""Recordings: what a robot saw, on disk."""

from coterie_core.recording.types import (
    RecordedFrame,
    Recording,
    RecordingError,
    sample_evenly,
)

__all__ = ["RecordedFrame", "Recording", "RecordingError", "sample_evenly"]
