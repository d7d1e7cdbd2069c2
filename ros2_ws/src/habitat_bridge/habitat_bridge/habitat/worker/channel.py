"""Messages between the bridge and the worker, at the worker's end."""

from __future__ import annotations

import socket
import struct
from typing import Any, Dict, List, Optional


class Channel:
    """Messages over a socket."""

    def __init__(self, sock: socket.socket, msgpack: Any) -> None:
        self._sock = sock
        self._msgpack = msgpack
        self.descriptors: List[int] = []

    def receive(self) -> Optional[Dict[str, Any]]:
        """Return the next message, None at the end."""
        head = self._read(4)
        if head is None:
            return None
        body = self._read(struct.unpack(">I", head)[0])
        if body is None:
            return None
        message: Dict[str, Any] = self._msgpack.unpackb(body, raw=False)
        return message

    def send(self, message: Dict[str, Any]) -> None:
        """Send a message."""
        body = self._msgpack.packb(message, use_bin_type=True)
        self._sock.sendall(struct.pack(">I", len(body)) + body)

    def _read(self, count: int) -> Optional[bytes]:
        parts, left = [], count
        while left:
            part, descriptors, _, _ = socket.recv_fds(self._sock, min(left, 1 << 20), 4)
            self.descriptors += descriptors
            if not part:
                return None
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
