"""Run a command that never outlives the set-up: ``child.py PARENT MARKER COMMAND...``.

The set-up may be killed at any moment. Linux then tells this process, which ends everything that
the command started, as Ctrl-C would: make, for one, removes the files that it was about to write.
Only where that is not possible (killed itself, power lost) is MARKER left behind: what the command
wrote may then be incomplete. MARKER is ``-`` where that does not matter.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
#: What has not ended so long after SIGTERM is killed [s].
GRACE = 10.0


class Stop(BaseException):
    """SIGTERM came."""


def _stop(_signal: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stop


def _all_ended(deadline: float) -> bool:
    """Wait for all descendants, which come to this process when their parents end."""
    while time.monotonic() < deadline:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if ended == 0:
            time.sleep(0.02)
    return False


def main(parent: int, marker: str, command: list[str]) -> int:
    """Run the command; returns its exit code, or 143 where it was ended."""
    with contextlib.suppress(AttributeError):  # not on Linux
        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        return 143  # it was killed before we could ask to be told
    try:
        signal.signal(signal.SIGTERM, _stop)
        if marker != "-":
            with open(marker, "w") as file:
                file.write(f"{os.getpid()}\n")
        # Not subprocess.call, which kills at once.
        code = subprocess.Popen(command).wait()
    except Stop:
        os.killpg(0, signal.SIGTERM)
        if not _all_ended(time.monotonic() + GRACE):
            os.killpg(0, signal.SIGKILL)
        code = 143
    if marker != "-":
        with contextlib.suppress(FileNotFoundError):
            os.unlink(marker)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
