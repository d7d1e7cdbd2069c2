"""The log of a process on a disk that is full: nothing stops, and the gap is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie_bringup import log_file
from coterie_bringup.log_file import LogFile
from coterie_fixtures.full_disk import fill


def test_a_full_disk_leaves_a_gap_that_is_told_once(small_disk: Path) -> None:
    told: list[str] = []
    log = LogFile(small_disk / "bridge.log", told.append)
    log.write("first")
    filler = fill(small_disk)
    for k in range(300):
        log.write(f"line {k} " + "y" * 100)
    assert len(told) == 1 and "No space left" in told[0]
    filler.unlink()
    log.write("last")
    log.close()
    text = (small_disk / "bridge.log").read_text()
    assert text.startswith("first\n") and text.endswith("last\n")
    assert "lines are missing here)" in text
    assert len(told) == 1


def test_a_log_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "LARGEST_LOG", 1000)
    log = LogFile(tmp_path / "a.log", lambda text: pytest.fail(text))
    for k in range(100):
        log.write(f"{k} " + "z" * 50)
    log.close()
    sizes = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
    assert set(sizes) == {"a.log", "a.log.1"} and all(size < 1200 for size in sizes.values())
    assert (tmp_path / "a.log").read_text().splitlines()[-1].startswith("99 ")
