"""The journal: bounded, safe against cut lines, full disks and several writers."""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coterie_llm.redact import Secret
from coterie_safety.why import (
    JournalSettings,
    about,
    belong,
    close_journal,
    follow,
    journal_from_environment,
    note,
    open_journal,
    read_story,
)
from coterie_safety.why import journal as journal_module
from coterie_safety.why.journal import (
    ENVIRONMENT,
    Journal,
    compress,
    journal_files,
    kept_in,
    read_gone,
)
from coterie_safety.why.record import LINE_BYTES, NoRecord, Record, moment, new_id, read_record


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    belong()
    belong()
    yield
    close_journal()
    belong()
    belong()


def settings(folder: Path, megabytes: float = 64.0, days: float = 30.0) -> JournalSettings:
    return JournalSettings(str(folder), megabytes, days)


def record(words: str, at: str = "") -> Record:
    return Record(new_id(), at or moment(), "turn", "rover", body={"words": words})


def test_nothing_is_kept_where_no_journal_is_open(tmp_path: Path) -> None:
    assert note("turn", "rover", {"words": "hello"}) == ""
    assert not list(tmp_path.iterdir())


def test_who_speaks_to_several_teams_keeps_each_ones_apart(tmp_path: Path) -> None:
    own = Journal(settings(tmp_path / "own"), "operator")
    open_journal(settings(tmp_path / "why"), "robot")
    with kept_in(own):
        first = note("sent", "a program", {"action": "rover/explore"})
    second = note("turn", "rover", {"words": "hello"})
    for folder, kept in (("own", first), ("why", second)):
        assert [one.id for one in read_story(tmp_path / folder).records] == [kept]
    own.close()


def test_records_come_back_with_what_they_belong_to(tmp_path: Path) -> None:
    open_journal(settings(tmp_path / "why"), "robot node/x")
    with about(goal="ab" * 16, task="t1"):
        first = note("task", "leader", {"words": "dust the shelf"})
        follow(first)
        second = note("action", "rover", {"words": "go"}, sub_task="s1")
    third = note("turn", "rover", {"words": "later"})
    story = read_story(tmp_path / "why")
    assert [one.id for one in story.records] == [first, second, third]
    assert story.records[1].of.because == first
    assert story.records[1].of.sub_task == "s1"
    assert story.records[1].of.task == "t1"
    assert story.records[1].of.goal == "ab" * 16
    assert story.records[2].of.task == ""
    (file,) = journal_files(tmp_path / "why")
    assert file.name.startswith(f"robot_node_x-{os.getpid()}-")


def test_belong_begins_anew(tmp_path: Path) -> None:
    open_journal(settings(tmp_path))
    with about(because="0123456789"):
        belong(task="t2")
        note("task", "leader", {})
    assert read_story(tmp_path).records[0].of.because == ""


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_a_line_cut_by_a_crash_costs_only_itself(tmp_path: Path, cut: int) -> None:
    journal = Journal(settings(tmp_path), "a")
    journal.write(record("whole"))
    journal.write(record("cut"))
    journal.close()
    (file,) = journal_files(tmp_path)
    file.write_bytes(file.read_bytes()[:-cut])
    other = Journal(settings(tmp_path), "b")
    other.write(record("after"))
    story = read_story(tmp_path)
    words = [one.body["words"] for one in story.records]
    assert words == (["whole", "cut", "after"] if cut == 1 else ["whole", "after"])
    with file.open("ab") as more:  # a line that is whole and no record is told of
        more.write(b"\n{}\n")
    assert read_story(tmp_path).damaged == (1 if cut == 1 else 2)


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from coterie_safety.why import JournalSettings, note, open_journal\n"
        "open_journal(JournalSettings(sys.argv[1]), 'same')\n"
        "for k in range(300):\n"
        "    note('turn', sys.argv[2], {'words': str(k)})\n"
    )
    folder = tmp_path / "why"
    jobs = [
        subprocess.Popen([sys.executable, "-c", program, str(folder), name]) for name in ("a", "b")
    ]
    assert [job.wait(120) for job in jobs] == [0, 0]
    story = read_story(folder)
    assert story.damaged == 0
    for name in ("a", "b"):
        words = [one.body["words"] for one in story.records if one.who == name]
        assert words == [str(k) for k in range(300)]


def size_of(folder: Path) -> int:
    """Return the size of a folder's files [bytes], of which one may just be replaced."""
    size = 0
    for file in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            size += file.stat().st_size
    return size


def test_a_flood_stays_within_its_bound_and_says_what_went(tmp_path: Path) -> None:
    limit = 600_000
    journal = Journal(settings(tmp_path, megabytes=limit / 1e6))
    first = moment()
    written = 0
    for k in range(3000):
        # Text that cannot be compressed: the worst case for the bound.
        written += bool(journal.write(record(os.urandom(300).hex() + str(k))))
        if k % 250 == 0:
            assert size_of(tmp_path) <= limit
    assert written == 3000
    journal.close()
    story = read_story(tmp_path)
    gone = read_gone(tmp_path)
    assert size_of(tmp_path) <= limit
    assert gone.records + len(story.records) == 3000
    assert gone.records > 0
    assert first < gone.until < story.records[0].at
    assert str(story.records[-1].body["words"]).endswith("2999"), "the newest stays"


def test_a_file_that_is_compressed_while_it_is_read_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(settings(tmp_path))
    for k in range(3):
        journal.write(record(str(k)))
    journal.close()

    def listed(folder: Path) -> list[Path]:
        files = journal_files(folder)
        for file in files:
            compress(file)
        return files

    monkeypatch.setattr("coterie_safety.why.reading.journal_files", listed)
    story = read_story(tmp_path)
    assert [one.body["words"] for one in story.records] == ["0", "1", "2"]
    assert [file.suffix for file in journal_files(tmp_path)] == [".gz"]


def test_a_file_that_is_being_compressed_is_not_counted_as_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(settings(tmp_path), "a")
    journal.write(record("old"))
    journal.close()
    (file,) = journal_files(tmp_path)
    os.utime(file, (1e9, 1e9))
    real = gzip.compress

    def meanwhile(data: bytes, level: int) -> bytes:
        Journal(settings(tmp_path, days=1.0), "b").write(record("new"))  # tidies
        return real(data, level)

    monkeypatch.setattr("coterie_safety.why.journal.gzip.compress", meanwhile)
    compress(file)
    story = read_story(tmp_path)
    assert story.gone.records + len(story.records) == 2


def test_a_file_that_is_compressed_while_room_is_made_keeps_nobody_from_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(settings(tmp_path), "a")
    journal.write(record("old"))
    journal.close()
    (file,) = journal_files(tmp_path)
    os.utime(file, (1e9, 1e9))
    real = Journal._remove

    def meanwhile(self: Journal, path: Path) -> bool:
        compress(path)
        return real(self, path)

    monkeypatch.setattr(Journal, "_remove", meanwhile)
    assert Journal(settings(tmp_path, days=1.0), "b").write(record("new"))
    assert [one.body["words"] for one in read_story(tmp_path).records] == ["old", "new"]


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    journal = Journal(settings(tmp_path), "a")
    journal.write(record("old"))
    journal.close()
    (file,) = journal_files(tmp_path)
    os.utime(file, (1e9, 1e9))
    Journal(settings(tmp_path, days=1.0), "b").write(record("new"))
    assert [one.body["words"] for one in read_story(tmp_path).records] == ["new"]
    assert read_story(tmp_path).gone.records == 1


def test_what_another_process_writes_now_is_not_removed(tmp_path: Path) -> None:
    busy = Journal(settings(tmp_path), "busy")
    busy.write(record("mine"))
    (file,) = journal_files(tmp_path)
    os.utime(file, (1e9, 1e9))
    Journal(settings(tmp_path, days=1.0), "b").write(record("new"))
    assert {one.body["words"] for one in read_story(tmp_path).records} == {"mine", "new"}


def test_a_full_disk_stops_nobody_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal(settings(tmp_path))
    assert journal.write(record("before"))
    real = os.write
    room = [10]

    def full(handle: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        count = min(room[0], len(data))
        room[0] -= count
        return real(handle, data[:count])

    monkeypatch.setattr(os, "write", full)
    assert [journal.write(record("lost")) for _ in range(3)] == ["", "", ""]
    assert sum("not kept" in one.message for one in caplog.records) == 1, "warned once"
    monkeypatch.setattr(os, "write", real)
    monkeypatch.setattr(journal_module, "_RETRY_PERIOD_S", 0.0)
    journal._quiet_until = 0.0
    assert journal.write(record("after"))
    story = read_story(tmp_path)
    assert [one.body["words"] for one in story.records] == ["before", "after"]
    assert story.lost == 3
    assert story.damaged == 1, "the ten bytes that went in"


def test_a_folder_that_was_removed_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "why"
    journal = Journal(settings(folder))
    journal.write(record("one"))
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    assert journal.write(record("two"))
    assert [one.body["words"] for one in read_story(folder).records] == ["two"]


def test_a_folder_that_cannot_be_made_keeps_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    open_journal(settings(tmp_path / "file" / "why"))
    assert note("turn", "rover", {}) == ""


def test_what_is_long_is_cut_and_says_so(tmp_path: Path) -> None:
    open_journal(settings(tmp_path))
    note("turn", "rover", {"words": "x" * 10_000_000, "list": list(range(5000))})
    deep: dict[str, object] = {}
    inner = deep
    for _ in range(2000):
        inner["a"] = {}
        inner = inner["a"]  # type: ignore[assignment]
    note("turn", "rover", deep)
    (file,) = journal_files(tmp_path)
    assert all(len(line) <= LINE_BYTES for line in file.read_bytes().splitlines())
    first, second = read_story(tmp_path).records
    assert "more)" in str(first.body["words"])
    assert "more)" in str(first.body["list"][-1])
    assert "…" in str(second.body)


def test_keys_are_taken_out(tmp_path: Path) -> None:
    Secret("sk-very-secret-key-1")
    open_journal(settings(tmp_path))
    note("turn", "rover", {"words": "the key is sk-very-secret-key-1, he said"})
    (file,) = journal_files(tmp_path)
    assert b"very-secret" not in file.read_bytes()
    assert "[key removed]" in str(read_story(tmp_path).records[0].body["words"])


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"nonsense",
        b'{"v":1}',
        b'{"v":1,"id":"zz","at":"2026-01-01","kind":"a","who":"b","of":{},"body":{}}',
        b'{"v":1,"id":"0123456789","at":"x","kind":"a","who":"b","of":{},"body":{}}',
        b'{"v":1,"id":"0123456789","at":"2026-01-01","kind":"a","who":"b","of":[],"body":{}}',
        b'{"v":1,"id":"0123456789","at":"2026-01-01","kind":1,"who":"b","of":{},"body":{}}',
        b'{"v":1,"id":"0123456789","at":"2026-01-01","kind":"a","who":"b","of":{},"body":[]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_record_is_no_record(line: bytes) -> None:
    with pytest.raises(NoRecord):
        read_record(line)


def test_the_environment_opens_a_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, settings(tmp_path, 2.0, 3.0).to_json())
    journal = journal_from_environment("leader_node")
    assert journal is not None
    assert (journal.limit, journal.seconds) == (2_000_000, 3 * 86_400)
    for wrong in ("{", "[]", json.dumps({"folder": "x"}), ""):
        monkeypatch.setenv(ENVIRONMENT, wrong)
        assert journal_from_environment() is None
