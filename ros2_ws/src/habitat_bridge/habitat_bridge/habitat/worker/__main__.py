"""Start of the worker: `PYTHON worker FD PARENT`, with the folder of this file."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys


def main() -> int:
    """Serve the bridge at the other end of the inherited socket."""
    if sys.version_info < (3, 9):  # noqa: UP036  (the only package that may meet such a Python)
        print(f"the worker needs Python 3.9 or later, this is {sys.version}", file=sys.stderr)
        return 3
    descriptor, parent = int(sys.argv[1]), int(sys.argv[2])
    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the bridge decides when it ends
    try:
        import msgpack
    except ImportError:
        print(
            f"{sys.executable} has no msgpack: install it beside habitat-sim "
            "(python -m pip install msgpack)",
            file=sys.stderr,
        )
        return 3
    # This package by its name, behind the libraries that habitat-sim is installed with.
    top = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
    sys.path[:] = [*sys.path[1:], top]
    from habitat_bridge.habitat.worker.channel import Channel
    from habitat_bridge.habitat.worker.serving import Worker

    os.environ.setdefault("MAGNUM_LOG", "quiet")
    os.environ.setdefault("HABITAT_SIM_LOG", "quiet")
    with socket.socket(fileno=descriptor) as sock:
        worker = Worker(Channel(sock, msgpack))
        worker.serve()
        worker.op_shut()
    return 0


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, even while it hangs in C++."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit("the bridge ended before its worker was up")


if __name__ == "__main__":
    sys.exit(main())
