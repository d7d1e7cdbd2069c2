"""Recordings: what a robot saw, on disk."""

from coterie_world.recording.opening import open_recording as open_recording
from coterie_world.recording.opening import readable as readable
from coterie_world.recording.scans import ScanRecording as ScanRecording
from coterie_world.recording.types import RecordedFrame as RecordedFrame
from coterie_world.recording.types import Recording as Recording
from coterie_world.recording.types import RecordingError as RecordingError
from coterie_world.recording.types import sample_evenly as sample_evenly
