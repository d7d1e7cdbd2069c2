"""Computers in a network, made of namespaces of the kernel: each with its own of everything.

Each has a network interface, a host name, process ids, shared memory, temporary files and a state
folder of its own, so that nothing passes between two of them but packets. Needs root.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NETWORK = "10.77.0."
_PROGRAMS = ("ip", "unshare", "nsenter")


def why_not() -> str:
    """Return why there can be no such computers here ("": there can)."""
    if os.geteuid() != 0:
        return "namespaces of the network need root"
    if missing := [name for name in _PROGRAMS if shutil.which(name) is None]:
        return f"not installed: {', '.join(missing)}"
    tried = subprocess.run(
        ["unshare", "-n", "-m", "-u", "-i", "-p", "--fork", "--mount-proc", "sh", "-c",
         "mount -t tmpfs tmpfs /dev/shm && ip link add dev x0 type veth peer name x1 && "
         "ip link add dev x2 type bridge"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return f"namespaces are not allowed: {tried.stderr.strip()}" if tried.returncode else ""


@dataclass(slots=True)
class Machine:
    """One computer: `address` in the network, `folder` for its files."""

    name: str
    address: str
    folder: Path
    namespace: str
    wire: str
    environment: Mapping[str, str]
    init: int = 0
    _programs: list[subprocess.Popen[str]] = field(default_factory=list)
    _holder: subprocess.Popen[bytes] | None = None

    def power_on(self) -> None:
        """Begin: nothing runs on it yet, and shared memory and temporary files are empty."""
        script = (
            f"mount -t tmpfs tmpfs /dev/shm && hostname {self.name} && echo up && "
            "exec sleep infinity"
        )
        command = ["ip", "netns", "exec", self.namespace, "unshare", "-m", "-u", "-i", "-p",
                   "--fork", "--kill-child", "--mount-proc", "sh", "-c", script]  # fmt: skip
        self._holder = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"up\n"
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children")
        self.init = int(children.read_text().split()[0])
        for name in ("tmp", "state"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def power_off(self) -> None:
        """End everything on it at once, as a loss of power does; its files stay."""
        if self.init:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init, signal.SIGKILL)
            self.init = 0
        for program in self._programs:
            program.wait(30)
        self._programs.clear()
        if self._holder is not None:
            self._holder.wait(30)
            assert self._holder.stdout is not None
            self._holder.stdout.close()
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)

    def start(self, command: Sequence[str], log: str) -> subprocess.Popen[str]:
        """Run a program on it until it ends; what it says goes into the file `log`."""
        with (self.folder / log).open("a") as out:
            program = subprocess.Popen(
                self._inside(command), stdout=out, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, env=dict(self.environment), text=True,
                start_new_session=True,
            )  # fmt: skip
        self._programs.append(program)
        return program

    def talk(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Run a program on it that is spoken to by its standard input and output."""
        with (self.folder / "talk.log").open("a") as out:
            program = subprocess.Popen(
                self._inside(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=out,
                env=dict(self.environment), text=True, start_new_session=True,
            )  # fmt: skip
        self._programs.append(program)
        return program

    def run(
        self, command: Sequence[str], *, timeout: float = 120.0
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on it, and wait for its end."""
        return subprocess.run(
            self._inside(command), capture_output=True, text=True, timeout=timeout,
            stdin=subprocess.DEVNULL, env=dict(self.environment), check=False,
        )  # fmt: skip

    def said(self, log: str) -> str:
        """Return what programs wrote into a log so far."""
        file = self.folder / log
        return file.read_text(errors="replace") if file.exists() else ""

    def _inside(self, command: Sequence[str]) -> list[str]:
        return ["nsenter", "-t", str(self.init), "-m", "-u", "-i", "-n", "-p", *command]


@dataclass(slots=True)
class Network:
    """Computers at one switch."""

    machines: dict[str, Machine]
    switch: str

    def __getitem__(self, name: str) -> Machine:
        return self.machines[name]

    def cut(self, name: str) -> None:
        """Take away a computer's link: its interface stays, and nothing passes."""
        _ip("-n", self.switch, "link", "set", self.machines[name].wire, "down")

    def mend(self, name: str) -> None:
        """Give a computer its link back."""
        _ip("-n", self.switch, "link", "set", self.machines[name].wire, "up")

    @contextlib.contextmanager
    def lossy(self, name: str, rate: float, seed: int = 0) -> Iterator[None]:
        """Lose each of a computer's frames with this probability, in both directions.

        Frames pass through a program, as kernels without netem cannot lose them themselves.
        """
        wire = self.machines[name].wire
        _ip("-n", self.switch, "link", "add", "loss0", "type", "veth", "peer", "name", "loss1")
        _ip("-n", self.switch, "link", "set", wire, "nomaster")
        _ip("-n", self.switch, "link", "set", "loss0", "master", "br0", "up")
        _ip("-n", self.switch, "link", "set", "loss1", "up")
        command = ["ip", "netns", "exec", self.switch, sys.executable, "-S", __file__]
        words = ["lossy", wire, "loss1", str(rate), str(seed)]
        relay = subprocess.Popen([*command, *words])
        try:
            yield
        finally:
            relay.kill()
            relay.wait(30)
            _ip("-n", self.switch, "link", "del", "loss0")
            _ip("-n", self.switch, "link", "set", wire, "master", "br0")


@contextlib.contextmanager
def network(
    names: Sequence[str], folder: Path, environment: Mapping[str, str] = os.environ
) -> Iterator[Network]:
    """Make computers that are switched on, 10.77.0.1 and so on, and take them away again."""
    mark = f"c{os.getpid() % 100_000}"
    switch = f"{mark}s"
    machines: dict[str, Machine] = {}
    try:
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        _ip("-n", switch, "link", "set", "br0", "up")
        for i, name in enumerate(names, 1):
            wire, space, own = f"{mark}w{i}", f"{mark}h{i}", folder / name
            # The kernel takes no longer name of an interface than 15 letters.
            _ip("netns", "add", space)
            _ip("-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", wire,
                "netns", switch)  # fmt: skip
            _ip("-n", switch, "link", "set", wire, "master", "br0", "up")
            _ip("-n", space, "addr", "add", f"{NETWORK}{i}/24", "dev", "eth0")
            _ip("-n", space, "link", "set", "lo", "up")
            _ip("-n", space, "link", "set", "eth0", "up")
            _ip("-n", space, "route", "add", "default", "dev", "eth0")
            exact = ["ip", "netns", "exec", space, sys.executable, "-S", __file__, "exact", "eth0"]
            subprocess.run(exact, check=True)
            given = {
                **environment,
                "COTERIE_STATE": str(own / "state"),
                "TMPDIR": str(own / "tmp"),
                "HOME": str(own),
            }
            for unwanted in ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE", "COTERIE_PARENT"):
                given.pop(unwanted, None)
            own.mkdir(parents=True, exist_ok=True)
            machine = Machine(name, f"{NETWORK}{i}", own, space, wire, given)
            machines[name] = machine
            machine.power_on()
        yield Network(machines, switch)
    finally:
        for machine in machines.values():
            machine.power_off()
        for space in [*(m.namespace for m in machines.values()), switch]:
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)


def wait_for(condition: object, timeout: float, what: str) -> float:
    """Wait until something callable is true; return how long that took [s]."""
    assert callable(condition)
    begin = time.monotonic()
    while not condition():
        if time.monotonic() - begin > timeout:
            raise AssertionError(f"not within {timeout:g} s: {what}")
        time.sleep(0.2)
    return time.monotonic() - begin


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def _exact(interface: str) -> None:
    """Have the kernel write checksums itself: frames that a program passes on must hold them."""
    sioc_ethtool, set_tx_checksums = 0x8946, 0x17
    value = bytearray(struct.pack("II", set_tx_checksums, 0))
    held = (ctypes.c_char * len(value)).from_buffer(value)
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(held))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, sioc_ethtool, request)


def _relay(first: str, second: str, rate: float, seed: int) -> None:
    """Pass frames on between two interfaces, and lose some, until killed."""
    chance = random.Random(seed)
    ends = {}
    for name, other in ((first, second), (second, first)):
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**24)
        end.bind((name, 0))
        ends[end] = other
    by_name = {end.getsockname()[0]: end for end in ends}
    while True:
        for end in select.select(list(ends), [], [])[0]:
            frame, address = end.recvfrom(65536)
            if address[2] != socket.PACKET_OUTGOING and chance.random() >= rate:
                with contextlib.suppress(OSError):
                    by_name[ends[end]].send(frame)


if __name__ == "__main__":
    if sys.argv[1] == "exact":
        _exact(sys.argv[2])
    else:
        _relay(sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5]))
