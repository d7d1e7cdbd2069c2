"""Messages of an MCAP file, found by going through it: one that was cut off is read as well."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Chunk, Message, Metadata, Schema
from mcap.stream_reader import get_chunk_data_stream

from coterie_world.recording.types import RecordingError

MAGIC = b"\x89MCAP0\r\n"
LARGEST_CHUNK = 1 << 30
"""Of a chunk or a record, unpacked [bytes]."""
LARGEST_ATTACHMENT = 64 << 20
_KEPT_CHUNKS = 2
# What unpacking and reading damaged records raises; lz4 raises RuntimeError.
_BROKEN = (
    McapError, zstandard.ZstdError, ValueError, LookupError, RuntimeError, OSError, struct.error,
    OverflowError, MemoryError,
)  # fmt: skip

Where = tuple[int, int, int]


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
        path: The file.

    Raises:
        RecordingError: It is no MCAP file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self.attachments: dict[str, bytes] = {}
        self.metadata: dict[str, dict[str, str]] = {}
        self._chunks: OrderedDict[int, bytes] = OrderedDict()
        self._channels: dict[int, Channel] = {}
        self._schemas: dict[int, Schema] = {}
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
        ended = False
        self.problems.clear()
        with self.path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(len(MAGIC))
            while True:
                start = file.tell()
                head = file.read(9)
                if len(head) < 9:
                    break
                opcode, length = head[0], int.from_bytes(head[1:], "little")
                if start + 9 + length > size and opcode != Opcode.CHUNK:
                    break
                if opcode == Opcode.DATA_END:
                    ended = True
                    break
                try:
                    yield from self._record(file, opcode, start, length, types)
                except _BROKEN as error:
                    self.problems.append(
                        f"{self.path.name}: a damaged part at byte {start} left out ({error})"[:300]
                    )
                if start + 9 + length > size:
                    break
                file.seek(start + 9 + length)
        if not ended:
            self.problems.append(f"{self.path.name}: cut off; what was written before is used")

    def read(self, where: Where) -> bytes:
        """Return a message's data.

        Raises:
            RecordingError: It cannot be read any more.
        """
        start, offset, length = where
        try:
            if offset < 0:
                with self.path.open("rb") as file:
                    file.seek(start)
                    return file.read(length)
            if start not in self._chunks:
                with self.path.open("rb") as file:
                    file.seek(start + 1)
                    size = int.from_bytes(file.read(8), "little")
                    self._keep(start, _unpacked(file.read(min(size, LARGEST_CHUNK)), size))
            self._chunks.move_to_end(start)
            return self._chunks[start][offset : offset + length]
        except _BROKEN as error:
            raise RecordingError(
                self.path, f"cannot be read at byte {start} ({error})", "copy it again"
            ) from None

    def _record(
        self,
        file: BinaryIO,
        opcode: int,
        start: int,
        length: int,
        types: frozenset[str] | None,
    ) -> Iterator[Found]:
        """Read a record at the top level of the file."""
        if length > LARGEST_CHUNK:
            raise ValueError(f"a record of {length} bytes; at most {LARGEST_CHUNK} are read")
        if opcode == Opcode.CHUNK:
            data = _unpacked(file.read(length), length)
            self._keep(start, data)
            at = 0
            while at + 9 <= len(data):
                inner, size = data[at], int.from_bytes(data[at + 1 : at + 9], "little")
                body = data[at + 9 : at + 9 + size]
                if len(body) < size:
                    break  # only where the chunk was cut off
                yield from self._small(inner, body, (start, at + 9), types)
                at += 9 + size
        elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE):
            yield from self._small(opcode, file.read(length), (start + 9, -1), types)
        elif opcode == Opcode.ATTACHMENT and length <= LARGEST_ATTACHMENT:
            part = Attachment.read(ReadDataStream(BytesIO(file.read(length))))
            self.attachments[part.name] = part.data
        elif opcode == Opcode.METADATA and length <= LARGEST_ATTACHMENT:
            told = Metadata.read(ReadDataStream(BytesIO(file.read(length))))
            self.metadata[told.name] = told.metadata

    def _small(
        self, opcode: int, body: bytes, at: tuple[int, int], types: frozenset[str] | None
    ) -> Iterator[Found]:
        """Read a schema, a channel or a message."""
        stream = ReadDataStream(BytesIO(body))
        if opcode == Opcode.SCHEMA:
            schema = Schema.read(stream)
            self._schemas[schema.id] = schema
        elif opcode == Opcode.CHANNEL:
            channel = Channel.read(stream)
            self._channels[channel.id] = channel
        elif opcode == Opcode.MESSAGE:
            message = Message.read(stream, len(body))
            found = self._channels.get(message.channel_id)
            kind = None if found is None else self._schemas.get(found.schema_id)
            if found is None or kind is None or (types is not None and kind.name not in types):
                return
            length = len(message.data)
            skip = len(body) - length
            start, offset = at
            where = (start + skip, -1, length) if offset < 0 else (start, offset + skip, length)
            yield Found(
                found.topic,
                kind.name,
                where,
                message.data,
                message.log_time,
                found.message_encoding,
                found.metadata,
            )

    def _keep(self, start: int, data: bytes) -> None:
        self._chunks[start] = data
        while len(self._chunks) > _KEPT_CHUNKS:
            self._chunks.popitem(last=False)


def _unpacked(body: bytes, length: int) -> bytes:
    """Return a chunk's records; of one that was cut off (shorter than `length`) the first ones.

    Raises:
        ValueError: It is damaged, or too large.
    """
    if length == len(body):
        chunk = Chunk.read(ReadDataStream(BytesIO(body)))
        if chunk.uncompressed_size > LARGEST_CHUNK:
            raise ValueError(f"a chunk of {chunk.uncompressed_size} bytes")
        if chunk.compression == "zstd":
            told = zstandard.get_frame_parameters(chunk.data).content_size
            if told not in (zstandard.CONTENTSIZE_UNKNOWN, chunk.uncompressed_size):
                raise ValueError(f"a chunk of {told} bytes instead of {chunk.uncompressed_size}")
        stream, size = get_chunk_data_stream(chunk, validate_crc=True)
        return stream.read(size)
    # Times, sizes and checksum (28 bytes), the compression's name, the length, what is left of it.
    size, name = struct.unpack_from("<16xQ4xI", body)
    if size > LARGEST_CHUNK or name > 16:
        raise ValueError("a chunk that cannot be")
    kind, rest = body[32 : 32 + name].decode(), body[40 + name :]
    if kind == "zstd":
        return bytes(zstandard.ZstdDecompressor().decompressobj().decompress(rest))[:size]
    if kind:
        raise ValueError(f"the last chunk, packed with {kind}, was cut off")
    return rest
