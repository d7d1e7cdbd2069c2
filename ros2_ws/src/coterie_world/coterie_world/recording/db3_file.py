"""Messages of a rosbag2 file in SQLite (.db3), the storage before MCAP."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import zstandard

from coterie_core.plain_data import shorten
from coterie_world.recording.mcap_file import Found, Where
from coterie_world.recording.types import RecordingError

_ZSTD = b"\x28\xb5\x2f\xfd"
"""How what zstd packed begins."""
_CDR = tuple(bytes((0, kind)) for kind in (0, 1, 2, 3, 6, 7, 8, 9, 10, 11))
"""How serialized messages begin."""
MAX_BYTES = 256_000_000
"""Longest message, unpacked [bytes]."""


class Db3File:
    """Goes through a .db3 file once, and reads single messages later.

    Args:
        path: The file.

    Raises:
        RecordingError: It is no SQLite file, or not rosbag2's.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self.attachments: dict[str, bytes] = {}
        try:
            # Read only, and as a file that nobody changes: nothing is created beside it.
            address = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
            self._base = sqlite3.connect(address, uri=True)
            rows = self._base.execute("SELECT id, name, type, serialization_format FROM topics")
            self._topics = {int(i): (str(n), str(t)) for i, n, t, form in rows if form == "cdr"}
        except (sqlite3.Error, UnicodeError, ValueError, TypeError) as error:
            what = "no rosbag2 file"
            remedy = "give a bag of rosbag2; from ROS 1, convert it with rosbags-convert"
            if "malformed" in str(error):
                what = "damaged or cut off"
                remedy = f"save what is there: sqlite3 {path.name} .recover | sqlite3 saved.db3"
            raise RecordingError(path, f"{what} ({error})", remedy) from None

    def scan(self, types: frozenset[str]) -> Iterator[Found]:
        """Yield all messages of some types, in the order they came; note what is broken."""
        wanted = [i for i, (_, kind) in self._topics.items() if kind in types]
        marks = ",".join("?" * len(wanted))
        order = f"SELECT id, topic_id, data FROM messages WHERE topic_id IN ({marks}) ORDER BY id"
        try:
            for row, topic, data in self._base.execute(order, wanted):
                name, kind = self._topics[topic]
                if not isinstance(data, bytes):
                    continue
                try:
                    whole = self._unpacked(data)
                except RecordingError as error:
                    if str(error) not in self.problems:
                        self.problems.append(str(error))
                    continue
                yield Found(name, kind, (int(row), 0, len(data)), whole)
        except (sqlite3.Error, UnicodeError, ValueError, TypeError) as error:
            text = shorten(str(error))
            self.problems.append(f"{self.path.name}: damaged; what comes before is used ({text})")

    def read(self, where: Where) -> bytes:
        """Return a message's data.

        Raises:
            RecordingError: It cannot be read any more.
        """
        try:
            row = self._base.execute("SELECT data FROM messages WHERE id = ?", where[:1]).fetchone()
        except (sqlite3.Error, UnicodeError) as error:
            raise RecordingError(self.path, f"damaged ({error})", "copy it again") from None
        if row is None or not isinstance(row[0], bytes):
            raise RecordingError(self.path, f"message {where[0]} is gone", "copy it again")
        return self._unpacked(row[0])

    def _unpacked(self, data: bytes) -> bytes:
        """A message's data, unpacked where rosbag2 packed each message (mode "message").

        Raises:
            RecordingError: Damaged, too large, or packed in another way than zstd.
        """
        if data[:2] in _CDR:
            return data
        if data[:4] != _ZSTD:
            raise RecordingError(
                self.path,
                f"messages that are no CDR (they begin with {data[:4].hex()})",
                "of packed messages only zstd is read; convert the bag: ros2 bag convert",
            )
        try:
            told = zstandard.get_frame_parameters(data).content_size
            whole = zstandard.ZstdDecompressor().stream_reader(data).read(MAX_BYTES + 1)
        except zstandard.ZstdError as error:
            raise RecordingError(self.path, f"a packed message is damaged ({error})") from None
        if len(whole) > MAX_BYTES:
            raise RecordingError(self.path, f"a packed message of over {MAX_BYTES} bytes")
        if told not in (zstandard.CONTENTSIZE_UNKNOWN, len(whole)):
            raise RecordingError(self.path, "a packed message is cut off")
        return whole
