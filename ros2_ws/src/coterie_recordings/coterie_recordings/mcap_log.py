"""Writes messages of ROS 2, and records of plain data, into an MCAP file as they come."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mcap.well_known import MessageEncoding, SchemaEncoding
from mcap.writer import Writer

from coterie_recordings.ros_types import definition
from coterie_recordings.types import RecordingError

FLUSH_EVERY = 2.0
"""Longest time for which what was heard is not in the file [s]: what a kill can cost."""

_JSON: Mapping[type, str] = {
    str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array",
}  # fmt: skip
"""Types of fields as JSON schemas name them; viewers offer the fields that a schema names."""


class McapLog:
    """A log of messages; one thread writes it.

    What is written lies in small chunks, so that a file that is cut off can be read up to its end.

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
        self._flushed = time.monotonic()
        self._broken = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("xb")
        except FileExistsError:
            raise RecordingError(path, "exists already", "give another file") from None
        except OSError as error:
            raise RecordingError(path, error.strerror or "cannot be written") from None
        self._writer = Writer(self._file, chunk_size=1 << 18)
        self._writer.start(profile="ros2")

    def add(
        self,
        topic: str,
        kind: str,
        data: bytes,
        nanos: int,
        *,
        text: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Write a message.

        Args:
            topic: Where it was heard.
            kind: Its type.
            data: The message, serialized (CDR).
            nanos: When it was heard [ns].
            text: Definition of its type; None: it is one of `ros_types.TYPES`.
            metadata: Of the topic; that of its first message counts.

        Raises:
            RecordingError: The disk is full.
        """
        if topic not in self._channels:
            schema = (definition(kind) if text is None else text).encode()
            self._open(topic, kind, SchemaEncoding.ROS2, schema, MessageEncoding.CDR, metadata)
        self._add(topic, data, nanos)

    def add_json(self, topic: str, kind: str, record: Mapping[str, Any], nanos: int) -> None:
        """Write a record of plain data; see `add`. The first of a kind tells what fields it has."""
        if topic not in self._channels:
            fields = {
                name: {"type": _JSON[type(value)]}
                for name, value in record.items()
                if type(value) in _JSON
            }
            schema = {"title": kind, "type": "object", "properties": fields}
            self._open(
                topic,
                kind,
                SchemaEncoding.JSONSchema,
                json.dumps(schema).encode(),
                MessageEncoding.JSON,
            )
        self._add(topic, json.dumps(record, ensure_ascii=False).encode(), nanos)

    def attach(self, name: str, media_type: str, data: bytes) -> None:
        """Put a file into the file.

        Raises:
            RecordingError: The disk is full.
        """
        with self._told():
            self._writer.add_attachment(0, time.time_ns(), name, media_type, data)

    def note(self, name: str, facts: Mapping[str, str]) -> None:
        """Write facts about the recording.

        Raises:
            RecordingError: The disk is full.
        """
        with self._told():
            self._writer.add_metadata(name, dict(facts))

    def flush(self) -> None:
        """Bring all that was added into the file.

        Raises:
            RecordingError: The disk is full.
        """
        self._flushed = time.monotonic()
        with self._told():
            # The library ends a chunk by its size alone.
            self._writer._Writer__finalize_chunk()  # type: ignore[attr-defined]
            self._file.flush()

    def close(self) -> None:
        """Finish the file; one that could not be written to its end stays as it is.

        Raises:
            RecordingError: The disk is full.
        """
        if self._file.closed:
            return
        try:
            if not self._broken:
                with self._told():
                    self._writer.finish()  # type: ignore[no-untyped-call]
                    self._file.flush()
        finally:
            with suppress(OSError):  # what Python still held: it was told already
                self._file.close()

    def _open(
        self,
        topic: str,
        kind: str,
        encoding: str,
        schema: bytes,
        data: str,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        with self._told():
            if kind not in self._schemas:
                self._schemas[kind] = self._writer.register_schema(kind, encoding, schema)
            self._channels[topic] = self._writer.register_channel(
                topic, data, self._schemas[kind], dict(metadata or {})
            )

    def _add(self, topic: str, data: bytes, nanos: int) -> None:
        with self._told():
            self._writer.add_message(self._channels[topic], nanos, data, nanos)
        self.counts[topic] = self.counts.get(topic, 0) + 1
        self.size += len(data)
        if time.monotonic() - self._flushed > FLUSH_EVERY:
            self.flush()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what a disk says into an error that names the file; write nothing from then on."""
        if self._broken:
            raise RecordingError(self.path, "cannot be written any more")
        try:
            yield
        except OSError as error:
            self._broken = True
            raise RecordingError(
                self.path,
                error.strerror or "cannot be written",
                "what was written before can be used; make room and record anew",
            ) from None
