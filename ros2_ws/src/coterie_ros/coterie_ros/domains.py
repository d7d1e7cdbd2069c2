"""ROS domains that nobody else on this machine uses: teams, benches and tests take them here."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

LAST_DOMAIN = 101
"""Last domain whose ports lie below those that Linux gives away for connections."""


def take_domain(numbers: Iterable[int]) -> tuple[int, IO[str]] | None:
    """Take the first domain that is free; None: none is.

    Args:
        numbers: Numbers of the domains, in the order in which they are tried.

    Returns:
        The domain, and what holds it until it is closed or the process dies.
    """
    folder = Path(tempfile.gettempdir()) / f"coterie-domains-{os.getuid()}"
    folder.mkdir(exist_ok=True, mode=0o700)
    for number in numbers:
        lock = open(folder / str(number), "a")  # noqa: SIM115 (the caller closes it)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        if not domain_in_use(number):
            return number, lock
        lock.close()
    return None


def domain_in_use(number: int) -> bool:
    """Whether some process of this machine listens on the ports of a domain.

    DDS uses UDP ports 7400 + 250 * domain and above (RTPS 2.5, section 9.6.2).
    """
    first = 7400 + 250 * number
    for table in ("/proc/net/udp", "/proc/net/udp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            port = int(row.split()[1].rsplit(":", 1)[1], 16)
            if first <= port < first + 250:
                return True
    return False
