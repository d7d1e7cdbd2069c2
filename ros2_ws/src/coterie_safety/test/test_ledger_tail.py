"""What is appended to a ledger is read once, in order, over files, and while it is written."""

from __future__ import annotations

from coterie_safety.ledger import Ledger, file_of
from coterie_safety.ledger_tail import LedgerTail


def test_only_what_is_new_is_read_also_in_new_files(tmp_path):
    tail, ledger = LedgerTail(tmp_path / "log"), Ledger(tmp_path / "log", file_bytes=2000)
    assert tail.read() == []
    ledger.write("stop", "rover", {"by": "anna"})
    assert [one.kind for one in tail.read()] == ["stop"]
    assert tail.read() == []
    for k in range(60):
        ledger.write("goal", "rover", {"what": f"goal {k}"})
        if k % 7 == 0:
            tail.read()
    last = LedgerTail(tmp_path / "log").read()
    assert last[-1].body == {"what": "goal 59"} and file_of(tmp_path / "log", 3).exists()
    ledger.write("release", "rover", {})
    assert [one.seq for one in tail.read()][-1] == 62 and tail.fault == ""


def test_every_entry_comes_once_however_often_it_is_looked(tmp_path):
    ledger, tail = Ledger(tmp_path, file_bytes=1500), LedgerTail(tmp_path)
    seen = []
    for k in range(40):
        ledger.write("goal", "r", {"k": k})
        if k % 3 == 0:
            seen += tail.read()
    seen += tail.read()
    assert [one.body["k"] for one in seen] == list(range(40))


def test_a_line_that_was_altered_is_left_out_and_told(tmp_path):
    ledger, tail = Ledger(tmp_path), LedgerTail(tmp_path)
    for k in range(3):
        ledger.write("goal", "r", {"k": k})
    file = file_of(tmp_path, 1)
    file.write_bytes(file.read_bytes().replace(b'"k":1', b'"k":7'))
    assert [one.body["k"] for one in tail.read()] == [0, 2]
    assert "was altered" in tail.fault
