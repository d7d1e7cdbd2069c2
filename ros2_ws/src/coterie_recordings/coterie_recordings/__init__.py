"""Recordings: what a robot saw, on disk."""

from coterie_recordings.opening import open_recording as open_recording
from coterie_recordings.opening import readable as readable
from coterie_recordings.scans import ScanRecording as ScanRecording
from coterie_recordings.types import RecordedFrame as RecordedFrame
from coterie_recordings.types import Recording as Recording
from coterie_recordings.types import RecordingError as RecordingError
from coterie_recordings.types import sample_evenly as sample_evenly
