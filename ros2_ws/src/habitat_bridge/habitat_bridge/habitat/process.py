"""The worker process as the bridge sees it: started, asked, measured against time-outs, ended.

Nothing of it has a name that could be left over: the socket is an inherited pair, the shared
memory an anonymous file whose descriptor travels over the socket. The kernel kills the worker
when the bridge dies.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import selectors
import shlex
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import numpy.typing as npt

from habitat_bridge.habitat.worker import PROTOCOL
from habitat_bridge.simulator import WorldError

OLDEST = (0, 2, 2)
"""The oldest habitat-sim that the worker knows how to use."""
_WORKER = Path(__file__).with_name("worker")
_LARGEST_REPLY = 512 * 2**20  # [bytes]


class WorkerLost(Exception):
    """The worker does not answer any more: says why, and what it last wrote."""


class WorkerRefused(Exception):
    """The worker answers that it cannot do what it was asked."""


@cache
def _spawner() -> ThreadPoolExecutor:
    """The thread that starts workers.

    The kernel sends the parent-death signal when the *thread* ends that started the child, so
    that thread has to live as long as the process.
    """
    return ThreadPoolExecutor(1, thread_name_prefix="habitat-spawner")


class WorkerProcess:
    """One worker.

    Args:
        python: The command that runs Python with habitat-sim; split like a shell does.
        start_timeout: How long it may take to start [s].

    Raises:
        WorldError: It cannot be started, or is too old; says what to do.
    """

    def __init__(self, python: str | Path, start_timeout: float = 60.0) -> None:
        self._number = 0
        self._memory: mmap.mmap | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the worker)
        command = [*_command(python), str(_WORKER)]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.process: subprocess.Popen[bytes] = (
                _spawner().submit(self._spawn, command, theirs).result()
            )
        except OSError as error:
            ours.close()
            self._log.close()
            raise WorldError(
                f"habitat_python: cannot run {command[0]!r}: {error.strerror}; give the Python of "
                "the environment that habitat-sim is installed in"
            ) from None
        finally:
            theirs.close()
        self._socket = ours
        self._socket.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(ours, selectors.EVENT_READ)
        try:
            self.hello = self.call("hello", start_timeout)
            self._check()
        except WorkerLost as lost:
            self.kill()
            raise WorldError(f"the habitat worker did not start: {lost}") from None
        except WorkerRefused as refused:
            self.kill()
            raise WorldError(
                f"the habitat worker did not start: {refused}; install habitat-sim there or give "
                "another habitat_python"
            ) from None
        except WorldError:
            self.kill()
            raise

    @property
    def alive(self) -> bool:
        """Whether the process runs (which does not mean that it answers)."""
        return self.process.poll() is None

    @property
    def memory_size(self) -> int:
        """Size of the shared memory [bytes]."""
        return 0 if self._memory is None else len(self._memory)

    def call(self, op: str, timeout: float, **fields: Any) -> dict[str, Any]:
        """Ask for something and return the reply.

        Raises:
            WorkerLost: It died, or did not answer in time [s].
            WorkerRefused: It answered that it cannot.
        """
        self._number += 1
        body = msgpack.packb({"id": self._number, "op": op, **fields}, use_bin_type=True)
        deadline = time.monotonic() + timeout
        self._send(struct.pack(">I", len(body)) + body, op, deadline, timeout)
        while True:
            (size,) = struct.unpack(">I", self._receive(4, op, deadline, timeout))
            if size > _LARGEST_REPLY:
                raise WorkerLost(f"its reply to {op} would have {size} bytes")
            try:
                reply = msgpack.unpackb(self._receive(size, op, deadline, timeout), raw=False)
            except (ValueError, msgpack.UnpackException) as error:
                raise WorkerLost(f"its reply to {op} is no message ({error})") from None
            if isinstance(reply, dict) and reply.get("id") == self._number:
                break
        if not reply.get("ok"):
            raise WorkerRefused(str(reply.get("error", "no reason given")))
        return reply

    def share(self, size: int) -> None:
        """Give the worker shared memory of at least `size` bytes.

        Raises:
            WorkerLost, WorkerRefused: As `call`.
        """
        if self.memory_size >= size:
            return
        size = max(size, 2 * self.memory_size, 1 << 20)
        descriptor = os.memfd_create("coterie-frames", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, size)
            memory = mmap.mmap(descriptor, size)
            try:
                socket.send_fds(self._socket, [self._next_length("memory", size)], [descriptor])
                self._finish_share(size)
            except OSError as error:
                memory.close()
                raise WorkerLost(f"memory: {error}") from None
        finally:
            os.close(descriptor)
        self._memory = memory

    def image(self, at: int, shape: Sequence[int], kind: str) -> npt.NDArray[Any]:
        """Return a copy of an image in the shared memory, top row first."""
        assert self._memory is not None
        count = int(np.prod(shape))
        flat = np.frombuffer(self._memory, dtype=kind, count=count, offset=at)
        return flat.reshape(shape)[::-1]

    def kill(self) -> None:
        """End the process at once and let go of all that belongs to it."""
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        self._release()

    def quit(self, timeout: float = 3.0) -> None:
        """Ask the process to end; kill it where it does not in time [s]."""
        with contextlib.suppress(WorkerLost, WorkerRefused):
            self.call("quit", timeout)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout)
        self.kill()

    def last_words(self) -> str:
        """Return the end of what the process wrote to its standard error."""
        if self._log.closed:
            return ""
        end = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, end - 2000))
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return " | ".join(line.strip() for line in lines[-3:])

    def _spawn(self, command: list[str], theirs: socket.socket) -> subprocess.Popen[bytes]:
        os.set_inheritable(theirs.fileno(), True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        # What ROS or a virtual environment has set is not for another Python.
        environment.pop("LD_LIBRARY_PATH", None)
        environment.pop("_ROS_WHEELS_BOOTSTRAP_COMPLETE", None)
        return subprocess.Popen(
            [*command, str(theirs.fileno()), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=[theirs.fileno()],
            env=environment,
        )

    def _check(self) -> None:
        hello = self.hello
        if hello.get("protocol") != PROTOCOL:
            raise WorldError(
                f"the habitat worker speaks protocol {hello.get('protocol')!r}, expected {PROTOCOL}"
            )
        found = version_of(str(hello.get("habitat")))
        if found < OLDEST:
            raise WorldError(
                f"habitat-sim {hello.get('habitat')} is too old: "
                f"{'.'.join(map(str, OLDEST))} or later is needed; give another habitat_python"
            )

    def _next_length(self, op: str, size: int) -> bytes:
        self._number += 1
        body = msgpack.packb({"id": self._number, "op": op, "size": size}, use_bin_type=True)
        return struct.pack(">I", len(body)) + body

    def _finish_share(self, size: int) -> None:
        deadline = time.monotonic() + 10.0
        (length,) = struct.unpack(">I", self._receive(4, "memory", deadline, 10.0))
        reply = msgpack.unpackb(self._receive(length, "memory", deadline, 10.0), raw=False)
        if not reply.get("ok"):
            raise WorkerRefused(f"memory of {size} bytes: {reply.get('error')}")

    def _send(self, data: bytes, op: str, deadline: float, timeout: float) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise WorkerLost(self._hung(op, timeout)) from None
                time.sleep(0.001)
            except OSError:
                raise WorkerLost(self._death(op)) from None

    def _receive(self, count: int, op: str, deadline: float, timeout: float) -> bytes:
        parts: list[bytes] = []
        while count:
            left = deadline - time.monotonic()
            if left <= 0.0 or not self._selector.select(left):
                raise WorkerLost(self._hung(op, timeout))
            try:
                part = self._socket.recv(min(count, 1 << 20))
            except BlockingIOError:
                continue
            except OSError:
                part = b""
            if not part:
                raise WorkerLost(self._death(op))
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _hung(self, op: str, timeout: float) -> str:
        return f"no reply to {op} within {timeout:g} s"

    def _death(self, op: str) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2.0)
        code, said = self.process.poll(), self.last_words()
        how = "it closed the socket" if code is None else f"it ended with code {code}"
        return f"{how} during {op}" + (f": {said}" if said else "")

    def _release(self) -> None:
        self._selector.close()
        self._socket.close()
        self._log.close()
        if self._memory is not None:
            with contextlib.suppress(BufferError):  # an image may still be looked at
                self._memory.close()
            self._memory = None


def version_of(text: str) -> tuple[int, int, int]:
    """Return the numbers of a version like "0.2.2a2" (0 where there is none)."""
    numbers = []
    for part in text.split(".")[:3]:
        digits = ""
        for character in part:
            if not character.isdigit():
                break
            digits += character
        numbers.append(int(digits or 0))
    numbers += [0] * (3 - len(numbers))
    return (numbers[0], numbers[1], numbers[2])


def _command(python: str | Path) -> list[str]:
    words = [str(python)] if Path(python).exists() else shlex.split(str(python))
    if not words:
        raise WorldError("habitat_python is empty; give the Python that habitat-sim is in")
    if shutil.which(words[0]) is None:
        raise WorldError(
            f"habitat_python: there is no program {words[0]!r}; give the Python of the environment "
            "that habitat-sim is installed in"
        )
    return words
