"""A keystore in the hands of a Fast DDS that has security: strangers and listeners are kept out.

Needs Fast DDS for C++ with security (Debian: libfastrtps-dev). The wheels' has none.
"""

from __future__ import annotations

import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coterie_bringup.security.keystore import make_keystore
from coterie_bringup.team import parse_team

SOURCE = Path(__file__).parent / "peer.cpp"
HEADER = "fastdds/dds/domain/DomainParticipant.hpp"
TEAM = """\
name: crew
world: {kind: embedded, seed: 31}
robots: [{name: eyes}, {name: hands}]
security: {operators: [anna], listeners: [wall]}
"""
PATIENCE = 60.0
pytestmark = [pytest.mark.slow, pytest.mark.ros]


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("g++")
    if compiler is None or not (Path("/usr/include") / HEADER).is_file():
        pytest.skip("needs g++ and Fast DDS for C++ with security: apt install libfastrtps-dev")
    program = tmp_path_factory.mktemp("peer") / "peer"
    command = [compiler, "-std=c++14", "-w", str(SOURCE), "-lfastrtps", "-lfastcdr", "-o", program]
    subprocess.run(command, check=True, timeout=300)
    return program


class Peer:
    """A program at one end of a topic, and the lines that it says."""

    def __init__(self, program: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [str(program), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            # The library of the system, not that of the wheels.
            env={"PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.strip())

    def next(self) -> str:
        return self._lines.get(timeout=PATIENCE)

    def rest(self) -> list[str]:
        """End it; what it said that nobody asked for."""
        self.process.communicate(timeout=PATIENCE)
        return list(self._lines.queue)


@contextmanager
def ended(*peers: Peer) -> Iterator[None]:
    try:
        yield
    finally:
        for peer in peers:
            peer.process.kill()
            peer.process.wait()


def test_only_who_may_commands_and_only_who_has_a_key_reads(
    peer: Path, tmp_path: Path, ros_domain: int
) -> None:
    keystore, domain = tmp_path / "keys", str(ros_domain)
    make_keystore(parse_team(TEAM), keystore)
    others = tmp_path / "others"
    make_keystore(parse_team(TEAM), others)

    def start(enclave: str, mode: str, topic: str, text: str, store: Path = keystore) -> Peer:
        home = f"{store}/enclaves/{enclave}" if enclave else "-"
        return Peer(peer, home, mode, topic, domain, text)

    stop, answer = "rt/stop", "rt/hands/answer"
    strangers = [
        start("", "publish", stop, "stranger"),
        start("people/anna", "publish", stop, "another keystore", others),
    ]
    eavesdroppers = [
        start("", "read", stop, ""),
        start("people/wall", "read", stop, "", others),
    ]
    team, listener = start("team", "read", stop, ""), start("people/wall", "read", stop, "")
    mute = [
        start("people/wall", "publish", stop, "listener"),
        start("robots/eyes", "publish", stop, "robot"),
        start("robots/eyes", "publish", answer, "another robot"),
    ]
    with ended(*strangers, *eavesdroppers, team, listener, *mute):
        assert [one.next() for one in strangers] == ["publishes"] * 2
        assert [one.next() for one in (*eavesdroppers, team, listener)] == ["reads"] * 4
        assert [one.next() for one in mute] == ["refused"] * 3
        # The stranger is heard by the stranger: what follows is no matter of a cut line.
        assert eavesdroppers[0].next() == "stranger"
        assert eavesdroppers[1].next() == "another keystore"
        anna = start("people/anna", "publish", stop, "anna")
        with ended(anna):
            assert anna.next() == "publishes"
            assert team.next() == "anna" and listener.next() == "anna"
            assert team.rest() == listener.rest() == []
            assert eavesdroppers[0].rest() == eavesdroppers[1].rest() == []
