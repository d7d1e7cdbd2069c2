"""Messages of bags: MCAP files, whole or cut off, and the SQLite files (.db3) of before."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

import zstandard
from mcap.exceptions import McapError
from mcap.records import Attachment, Channel, Chunk, DataEnd, Message, Metadata, Schema
from mcap.stream_reader import StreamReader, breakup_chunk
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Reader

from coterie_core.plain_data import shorten
from coterie_recordings.types import RecordingError

MAGIC = b"\x89MCAP0\r\n"
LARGEST = 1 << 30
"""Of a chunk or a record, unpacked [bytes]."""
LARGEST_ATTACHMENT = 64 << 20
LARGEST_MESSAGE = 256_000_000
"""Of a packed message, unpacked [bytes]."""
_ZSTD = b"\x28\xb5\x2f\xfd"
"""How what zstd packed begins."""
# What unpacking and reading damaged records raises; lz4 raises RuntimeError.
_BROKEN = (
    McapError, zstandard.ZstdError, ValueError, LookupError, RuntimeError, OSError, struct.error,
    OverflowError, MemoryError,
)  # fmt: skip

Where = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A message: topic, type, where it is in the file, and its data.

    `nanos` is when it was heard [ns], `encoding` that of its data (cdr, json), `metadata` that of
    its topic.
    """

    topic: str
    type: str
    where: Where
    data: bytes
    nanos: int = 0
    encoding: str = "cdr"
    metadata: Mapping[str, str] = field(default_factory=dict)


class McapFile:
    """Goes through an MCAP file once, and reads single messages later.

    Args:
        path: The file; one that was cut off is read up to there.

    Raises:
        RecordingError: It is no MCAP file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self.attachments: dict[str, bytes] = {}
        self.metadata: dict[str, dict[str, str]] = {}
        self._kept = lru_cache(maxsize=2)(self._record)
        try:
            with path.open("rb") as file:
                magic = file.read(len(MAGIC))
        except OSError as error:
            raise RecordingError(path, error.strerror or "cannot be read") from None
        if magic != MAGIC:
            raise RecordingError(path, "no MCAP file", "give a recording of `ros2 bag record`")

    def scan(self, types: frozenset[str] | None) -> Iterator[Found]:
        """Yield the messages of some types, in the order of the file; note what is broken.

        Args:
            types: Their names; None: all.
        """
        self.problems.clear()
        schemas: dict[int, str] = {}
        channels: dict[int, Channel] = {}
        start = len(MAGIC)
        with self.path.open("rb") as file:
            try:
                for record in _records(file, start):
                    if isinstance(record, DataEnd):
                        return
                    for index, one in enumerate(self._parts(record, start)):
                        if isinstance(one, Schema):
                            schemas[one.id] = one.name
                        elif isinstance(one, Channel):
                            channels[one.id] = one
                        elif isinstance(one, Message) and (to := channels.get(one.channel_id)):
                            kind = schemas.get(to.schema_id)
                            if kind is None or (types is not None and kind not in types):
                                continue
                            told = (one.log_time, to.message_encoding, to.metadata)
                            yield Found(to.topic, kind, (start, index), one.data, *told)
                    start = file.tell()
            except _BROKEN:
                what = f"cut off at byte {start}; what was written before is used"
                self.problems.append(f"{self.path.name}: {what}")

    def read(self, where: Where) -> bytes:
        """Return a message's data.

        Raises:
            RecordingError: It cannot be read any more.
        """
        try:
            return bytes(self._kept(where[0])[where[1]].data)
        except (*_BROKEN, StopIteration, AttributeError) as error:
            raise RecordingError(
                self.path, f"cannot be read at byte {where[0]} ({error})", "copy it again"
            ) from None

    def _record(self, start: int) -> list[Any]:
        with self.path.open("rb") as file:
            return _unpacked(next(_records(file, start)))

    def _parts(self, record: Any, start: int) -> list[Any]:
        """Schemas, channels and messages of a record; attachments and facts are kept."""
        if isinstance(record, Attachment) and len(record.data) <= LARGEST_ATTACHMENT:
            self.attachments[record.name] = record.data
        elif isinstance(record, Metadata):
            self.metadata[record.name] = record.metadata
        try:
            return _unpacked(record)
        except _BROKEN as error:
            self.problems.append(
                f"{self.path.name}: a damaged part at byte {start} left out ({error})"[:300]
            )
            return []


def _records(file: BinaryIO, start: int) -> Iterator[Any]:
    file.seek(start)
    reader = StreamReader(file, skip_magic=True, emit_chunks=True, record_size_limit=LARGEST)
    return iter(reader.records)


def _unpacked(record: Any) -> list[Any]:
    """Return the records of a chunk; of another record itself."""
    if not isinstance(record, Chunk):
        return [record]
    size = record.uncompressed_size
    if size > LARGEST:
        raise ValueError(f"a chunk of {size} bytes")
    if record.compression == "zstd":
        told = zstandard.get_frame_parameters(record.data).content_size
        if told not in (zstandard.CONTENTSIZE_UNKNOWN, size):
            raise ValueError(f"a chunk of {told} bytes instead of {size}")
    return list(breakup_chunk(record, validate_crc=True))


class Db3File:
    """Goes through a .db3 file once, and reads single messages later.

    Args:
        path: The file.

    Raises:
        RecordingError: It is no SQLite file, not rosbag2's, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self.attachments: dict[str, bytes] = {}
        self._mend = f"save what is there: sqlite3 {path.name} .recover | sqlite3 saved.db3"
        # Its path becomes part of a URI as it is.
        self._reader = Sqlite3Reader(Path(quote(str(path.resolve()))))
        try:
            self._reader.open()
        except Exception as error:  # rosbags tells of files that are none in many ways
            what = "no rosbag2 file"
            remedy = "give a bag of rosbag2; from ROS 1, convert it with rosbags-convert"
            if "malformed" in str(error):
                what, remedy = "damaged or cut off", self._mend
            raise RecordingError(path, f"{what} ({error})", remedy) from None
        self._topics = {one.id: one for one in self._reader.connections}

    def scan(self, types: frozenset[str]) -> Iterator[Found]:
        """Yield all messages of some types, in the order of time; note what is broken."""
        wanted = [one for one in self._topics.values() if one.msgtype in types]
        last: dict[int, tuple[int, int]] = {}
        try:
            for one, nanos, data in self._reader.messages(wanted) if wanted else ():
                before, count = last.get(one.id, (-1, 0))
                last[one.id] = (nanos, count + 1 if nanos == before else 0)
                try:
                    whole = self._whole(data)
                except RecordingError as error:
                    if str(error) not in self.problems:
                        self.problems.append(str(error))
                    continue
                yield Found(one.topic, one.msgtype, (one.id, *last[one.id]), whole, nanos)
        except Exception as error:  # SQLite's own, and whatever a damaged row makes of it
            what = f"damaged; what comes before is used ({shorten(str(error))}); {self._mend}"
            self.problems.append(f"{self.path.name}: {what}")

    def read(self, where: Where) -> bytes:
        """Return a message's data.

        Raises:
            RecordingError: It cannot be read any more.
        """
        topic, nanos, count = where
        try:
            found = self._reader.messages([self._topics[topic]], nanos, nanos + 1)
            *_, data = next(islice(found, count, None))
        except Exception as error:
            raise RecordingError(self.path, f"damaged ({error})", "copy it again") from None
        return self._whole(data)

    def _whole(self, data: bytes) -> bytes:
        """A message's data, unpacked where rosbag2 packed each message (mode "message").

        Raises:
            RecordingError: Damaged, or too large.
        """
        if data[:4] != _ZSTD:
            return data
        try:
            told = zstandard.get_frame_parameters(data).content_size
            whole = zstandard.ZstdDecompressor().stream_reader(data).read(LARGEST_MESSAGE + 1)
        except zstandard.ZstdError as error:
            raise RecordingError(self.path, f"a packed message is damaged ({error})") from None
        if len(whole) > LARGEST_MESSAGE:
            raise RecordingError(self.path, f"a packed message of over {LARGEST_MESSAGE} bytes")
        if told not in (zstandard.CONTENTSIZE_UNKNOWN, len(whole)):
            raise RecordingError(self.path, "a packed message is cut off")
        return whole
