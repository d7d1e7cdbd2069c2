"""What is kept on a disk that is full: old files stay whole, and it goes on when there is room."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie_core.files import write_atomically
from coterie_fixtures.full_disk import fill
from coterie_safety.ledger import Ledger, check, entries
from coterie_safety.stop import StopLatch


def test_a_file_that_cannot_be_replaced_stays_whole(small_disk: Path) -> None:
    file = small_disk / "memory.json"
    write_atomically(file, "a" * 20_000)
    filler = fill(small_disk)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(file, "b" * 40_000)
    assert file.read_text() == "a" * 20_000
    assert sorted(one.name for one in small_disk.iterdir()) == ["filler", "memory.json"]
    filler.unlink()
    write_atomically(file, "b" * 40_000)
    assert file.read_text() == "b" * 40_000


def test_a_ledger_goes_on_whole_after_the_disk_was_full(small_disk: Path) -> None:
    ledger = Ledger(small_disk / "log")
    ledger.write("goal", "rover", {"what": "first"})
    filler = fill(small_disk)
    refused = 0
    for k in range(60):
        try:
            ledger.write("goal", "rover", {"what": str(k) * 400})
        except OSError:
            refused += 1
    assert refused > 0
    filler.unlink()
    ledger.write("result", "rover", {"what": "last"})
    assert check(ledger.folder).fault == ""
    kinds = [entry.kind for entry in entries(ledger.folder)]
    assert kinds[0] == "goal" and kinds[-1] == "result"


def test_a_ledger_that_began_on_a_full_disk_is_whole(small_disk: Path) -> None:
    filler = fill(small_disk)
    ledger = Ledger(small_disk / "log")
    for _ in range(3):
        with pytest.raises(OSError, match="No space left"):
            ledger.write("goal", "rover", {"what": "x" * 400})
    filler.unlink()
    ledger.write("goal", "rover", {"what": "first"})
    assert check(ledger.folder).fault == ""
    assert [entry.kind for entry in entries(ledger.folder)][-1] == "goal"


def test_a_robot_is_stopped_though_its_latch_cannot_be_written(small_disk: Path) -> None:
    fill(small_disk)
    latch = StopLatch("rover", small_disk / "stops" / "rover.stop.json")
    latch.stop("anna", "smoke")
    assert latch.stopped
