"""Writes serialized messages of ROS 2 into an MCAP file as they come."""

from __future__ import annotations

from pathlib import Path

from mcap.well_known import MessageEncoding, SchemaEncoding
from mcap.writer import Writer

from coterie_core.recording.ros_types import definition
from coterie_core.recording.types import RecordingError


class McapLog:
    """A log of messages; one thread writes it.

    Args:
        path: The file; must not exist, its folder is made.

    Raises:
        RecordingError: It exists, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: dict[str, int] = {}
        self.size = 0
        self._channels: dict[str, int] = {}
        self._schemas: dict[str, int] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("xb")
        except FileExistsError:
            raise RecordingError(path, "exists already", "give another file") from None
        except OSError as error:
            raise RecordingError(path, error.strerror or "cannot be written") from None
        # Small chunks: less is lost where the writing is cut off.
        self._writer = Writer(self._file, chunk_size=1 << 20)
        self._writer.start(profile="ros2")

    def add(self, topic: str, kind: str, data: bytes, nanos: int) -> None:
        """Write a message.

        Args:
            topic: Where it was heard.
            kind: Its type, one of `ros_types.TYPES`.
            data: The message, serialized (CDR).
            nanos: When it was heard [ns].

        Raises:
            RecordingError: The disk is full.
        """
        try:
            if topic not in self._channels:
                if kind not in self._schemas:
                    text = definition(kind).encode()
                    encoding = SchemaEncoding.ROS2
                    self._schemas[kind] = self._writer.register_schema(kind, encoding, text)
                self._channels[topic] = self._writer.register_channel(
                    topic, MessageEncoding.CDR, self._schemas[kind]
                )
            self._writer.add_message(self._channels[topic], nanos, data, nanos)
        except OSError as error:
            raise RecordingError(self.path, error.strerror or "cannot be written") from None
        self.counts[topic] = self.counts.get(topic, 0) + 1
        self.size += len(data)

    def close(self) -> None:
        """Finish the file."""
        if not self._file.closed:
            try:
                self._writer.finish()  # type: ignore[no-untyped-call]
            finally:
                self._file.close()
