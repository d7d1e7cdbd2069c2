"""What a process takes of the machine, read from /proc; for benches."""

from __future__ import annotations

from pathlib import Path


def heap_mb(pid: int) -> float:
    """Return what a process has in RAM that it shares with nobody [MB]."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return float(line.split()[1]) * 1024 / 1e6
    return 0.0


def pss_mb(pid: int) -> float:
    """Return what a process has in RAM [MB]; of pages that several share, its part."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return float(line.split()[1]) * 1024 / 1e6
    return 0.0


def shared_segments(pid: int) -> set[str]:
    """Return the files in /dev/shm that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if "/dev/shm/" in line}


def size_bytes(file: str | Path) -> int:
    """Return the size of a file; 0 where it is gone."""
    try:
        return Path(file).stat().st_size
    except OSError:
        return 0
