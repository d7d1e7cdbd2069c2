"""Killed at any moment: commands of the set-up end in order, or leave word that they did not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"

#: A command like make: it starts another program, and tidies up when it is told to end.
COMMAND = """\
import pathlib, signal, subprocess, sys
folder = pathlib.Path(sys.argv[1])
def tidy(*_):
    (folder / "tidied").touch()
    sys.exit(1)
signal.signal(signal.SIGTERM, tidy)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
(folder / "pids.new").write_text(f"{child.pid}")
(folder / "pids.new").rename(folder / "pids")
child.wait()
"""
SET_UP = """\
import os, pathlib, signal, sys
# As in a terminal, also where the tests were started with the interrupt ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
from bootstrap import terminal
folder = pathlib.Path(sys.argv[2])
lock = (folder / "lock").open("a+")
import fcntl
fcntl.flock(lock, fcntl.LOCK_EX)
os.set_inheritable(lock.fileno(), True)
terminal.Job([sys.executable, "-c", sys.argv[3], str(folder)], title="step",
             log=folder / "step.log", environ=dict(os.environ), marker=folder / "marker").wait()
"""


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # gone, or going while it is read
        return False
    return state != "Z"


@pytest.fixture
def set_up(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", SET_UP, str(TOOLS), str(tmp_path), COMMAND])
    until((tmp_path / "pids").exists, "the command did not start")
    yield process
    process.kill()
    process.wait()


def grandchild(folder: Path) -> int:
    return int((folder / "pids").read_text())


def free(folder: Path) -> bool:
    """Tell whether another set-up could take the lock."""
    check = "import fcntl,sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    command = [sys.executable, "-c", check, str(folder / "lock")]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_commands_end_with_the_set_up(
    set_up: subprocess.Popen[bytes], tmp_path: Path, ending: signal.Signals
) -> None:
    assert (tmp_path / "marker").exists()
    assert not free(tmp_path)
    set_up.send_signal(ending)
    until(lambda: not runs(grandchild(tmp_path)), "a program outlived the set-up")
    until((tmp_path / "tidied").exists, "the command could not tidy up")
    until(lambda: free(tmp_path), "the lock is still held")
    assert not (tmp_path / "marker").exists()


def test_a_command_that_could_not_end_in_order_leaves_word(
    set_up: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    wrapper = int((tmp_path / "marker").read_text())
    os.killpg(wrapper, signal.SIGKILL)  # all of its group at once, as when the memory is out
    assert set_up.wait(timeout=120) != 0
    assert (tmp_path / "marker").exists()


def test_exit_code_and_output_come_through(tmp_path: Path) -> None:
    child = [sys.executable, str(TOOLS / "bootstrap" / "child.py"), str(os.getpid()), "-"]
    done = subprocess.run(
        [*child, "sh", "-c", "echo out; exit 7"], capture_output=True, text=True, check=False,
        start_new_session=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, "out\n")
