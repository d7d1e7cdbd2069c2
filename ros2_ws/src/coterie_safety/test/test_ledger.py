"""Ledger: any altered, removed, moved or cut entry is found; what a crash tore is told."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_safety.ledger import KINDS, Ledger, check, entries, file_of, parse_line

SMALL = 900
"""Size of a file [bytes], so that a few entries fill several."""


def filled(folder: Path, count: int = 9) -> Ledger:
    ledger = Ledger(folder, file_bytes=SMALL)
    for k in range(count):
        ledger.write(KINDS[k % 5], f"r{k % 2}", {"number": k, "text": 'Küche\n"x"'})
    return ledger


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ledger") / "original"
    filled(folder)
    return folder


@pytest.fixture
def copy(original, tmp_path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "copy"))


def test_what_is_written_is_read_and_the_chain_goes_on_over_files(original):
    found = list(entries(original))
    assert [entry.seq for entry in found] == list(range(1, 10))
    assert [entry.body["number"] for entry in found] == list(range(9))
    assert len(list(original.glob("*.jsonl"))) > 2
    told = check(original)
    assert (told.entries, told.fault) == (9, "") and told.head == found[-1].hash


def test_nothing_written_is_no_fault(tmp_path):
    assert check(tmp_path).fault == "" and check(tmp_path).entries == 0


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_every_altered_byte_is_found(data, original, tmp_path_factory):
    """Also bytes of the head, of line feeds, of white space."""
    files = sorted([*original.glob("*.jsonl"), original / "head.json"])
    name = data.draw(st.sampled_from([file.name for file in files]))
    content = (original / name).read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda v: v != content[at]))
    folder = Path(shutil.copytree(original, tmp_path_factory.mktemp("altered") / "ledger"))
    (folder / name).write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
    assert check(folder).fault
    shutil.rmtree(folder)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_every_removed_moved_doubled_or_cut_entry_is_found(data, original, tmp_path_factory):
    lines = [
        entry_line
        for file in sorted(original.glob("*.jsonl"))
        for entry_line in file.read_bytes().splitlines(keepends=True)
    ]
    how = data.draw(st.sampled_from(["remove", "swap", "double", "cut"]))
    k = data.draw(st.integers(0, len(lines) - 1))
    if how == "remove":
        changed = lines[:k] + lines[k + 1 :]
    elif how == "double":
        changed = [*lines[: k + 1], *lines[k:]]
    elif how == "swap":
        j = data.draw(st.integers(0, len(lines) - 1).filter(lambda j: j != k))
        changed = list(lines)
        changed[k], changed[j] = changed[j], changed[k]
    else:
        whole = b"".join(lines)
        changed = [whole[: data.draw(st.integers(0, len(whole) - 1))]]
    folder = tmp_path_factory.mktemp("changed")
    file_of(folder, 1).write_bytes(b"".join(changed))
    shutil.copy(original / "head.json", folder)
    assert check(folder).fault
    shutil.rmtree(folder)


def test_the_first_fault_is_named(copy):
    file = file_of(copy, 2)
    file.write_bytes(file.read_bytes().replace(b'"number":4', b'"number":5'))
    told = check(copy)
    assert told.entries == 4 and told.fault.startswith("000002.jsonl, line")
    assert "altered" in told.fault


@pytest.mark.parametrize("number", [1, 2, "last", "head"])
def test_a_removed_file_is_found(copy, number):
    files = sorted(copy.glob("*.jsonl"))
    (
        copy / "head.json" if number == "head" else files[-1 if number == "last" else number - 1]
    ).unlink()
    assert check(copy).fault


@pytest.mark.parametrize("what", ["cut", "head", "alter"])
def test_writing_on_hides_nothing(copy, what):
    """Whoever goes on writing after a change does not make it unseen."""
    files = sorted(copy.glob("*.jsonl"))
    if what == "cut":
        files[-1].write_bytes(b"".join(files[-1].read_bytes().splitlines(True)[:-1]))
    elif what == "head":
        (copy / "head.json").unlink()
    else:
        files[-1].write_bytes(files[-1].read_bytes().replace(b'"number":8', b'"number":88'))
    Ledger(copy, file_bytes=SMALL).write("goal", "r1", {})
    Ledger(copy, file_bytes=SMALL).write("goal", "r1", {})
    assert check(copy).fault


@pytest.mark.parametrize("number", [1, 4, 8])
def test_an_entry_that_is_forged_with_a_hash_of_its_own_is_found(copy, number):
    """Its line is in order, and so are all others: only the chain tells."""
    for file in sorted(copy.glob("*.jsonl")):
        lines = file.read_bytes().splitlines(keepends=True)
        for k, line in enumerate(lines):
            if parse_line(line[:-1]).seq != number:
                continue
            content = line[: line.rindex(b',"hash"')].replace(b'"x', b'"y')
            assert content != line[: len(content)]
            digest = hashlib.sha256(content).hexdigest()
            lines[k] = content + f',"hash":"{digest}"}}\n'.encode()
            assert parse_line(lines[k][:-1]).body["text"].endswith('"y"')
            file.write_bytes(b"".join(lines))
    told = check(copy)
    assert told.entries == number and f"entry {number + 1} does not follow" in told.fault


def test_who_holds_the_log_has_nobody_wait_for_long(tmp_path, monkeypatch):
    """A `log verify` that was suspended, a debugger, a disk in the network."""
    monkeypatch.setattr("coterie_safety.ledger._WRITER_TIMEOUT_S", 0.05)
    ledger = filled(tmp_path)
    with (tmp_path / "lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        with pytest.raises(OSError, match=r"another process holds the log.*lock"):
            ledger.write("goal", "r0", {})
    ledger.write("goal", "r0", {})
    assert check(tmp_path).entries == 10 and check(tmp_path).fault == ""


@pytest.mark.parametrize("file_bytes", [SMALL, 10**6])
@settings(max_examples=40, deadline=None)
@given(torn=st.integers(1, 10_000))
def test_a_line_torn_by_a_crash_is_healed_and_told(torn, file_bytes, tmp_path_factory):
    """The head is written after the line: a crash leaves a part of a line, or a line too much."""
    folder = tmp_path_factory.mktemp("torn")
    ledger = Ledger(folder, file_bytes=file_bytes)
    for k in range(4):
        ledger.write("goal", "r1", {"number": k})
    head = (folder / "head.json").read_bytes()
    before = {file: file.read_bytes() for file in folder.glob("*.jsonl")}
    ledger.write("goal", "r1", {"number": 4})
    last = max(folder.glob("*.jsonl"))
    whole, old = last.read_bytes(), before.get(last, b"")
    left = whole[: len(old) + 1 + torn % (len(whole) - len(old))]
    last.write_bytes(left)
    (folder / "head.json").write_bytes(head)
    Ledger(folder, file_bytes=file_bytes).write("result", "r1", {"number": 5})
    told = check(folder)
    assert told.fault == ""
    kinds = [entry.kind for entry in entries(folder)]
    if left == whole:
        assert kinds == ["goal"] * 5 + ["result"]
    else:
        assert kinds == ["goal"] * 4 + ["healed", "result"]
        healed = list(entries(folder))[4].body
        assert healed["bytes"] == len(left) - len(old)
    shutil.rmtree(folder)


def test_a_crash_at_the_very_first_entry_is_healed(tmp_path):
    file_of(tmp_path, 1).write_bytes(b'{"seq":1,"at')
    Ledger(tmp_path).write("goal", "r1", {})
    assert [entry.kind for entry in entries(tmp_path)] == ["healed", "goal"]


WRITER = """
import sys
from pathlib import Path
from coterie_safety.ledger import Ledger
for k in range(40):
    Ledger(Path(sys.argv[1]), file_bytes=4000).write("goal", sys.argv[2], {"number": k})
"""


def test_several_processes_write_one_chain_that_is_whole_for_who_reads_meanwhile(tmp_path):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), f"r{k}"]) for k in range(3)
    ]
    while any(writer.poll() is None for writer in writers):
        assert check(tmp_path).fault == ""
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert check(tmp_path).entries == 120 and check(tmp_path).fault == ""


def test_what_is_no_entry_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no kind"):
        Ledger(tmp_path).write("gossip", "r1", {})
    with pytest.raises(ValueError, match="65536 bytes"):
        Ledger(tmp_path).write("goal", "r1", {"text": "x" * 70_000})
    assert check(tmp_path).entries == 0


def test_numbers_that_json_cannot_hold_do_not_break_the_chain(tmp_path):
    Ledger(tmp_path).write("result", "r1", {"distance": float("nan")})
    assert check(tmp_path).fault == ""
    assert json.loads((tmp_path / "head.json").read_bytes())["seq"] == 1
