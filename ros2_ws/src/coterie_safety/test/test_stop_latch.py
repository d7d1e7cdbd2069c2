"""The latch of a stop: it stays, whatever happens to its process and its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coterie_core.skills import Outcome, SkillResult
from coterie_safety.stop import MAX_TEXT, StopLatch, is_stop, keep_stop, latch_file

pytestmark = pytest.mark.quick


def test_it_stays_over_a_restart_until_it_is_released(tmp_path: Path) -> None:
    file = latch_file(tmp_path / "new", "ada")
    latch = StopLatch("ada", file)
    assert not latch.stopped
    assert latch.stop("anna@lab", "pot on the stove")
    latch.keep()
    again = StopLatch("ada", file)
    assert again.stopped and (again.by, again.reason) == ("anna@lab", "pot on the stove")
    assert again.text == (
        "stopped by anna@lab: pot on the stove; release with ./coterie release ada"
    )
    assert not StopLatch("bob", latch_file(tmp_path / "new", "bob")).stopped
    assert again.release() and not again.release()
    again.keep()
    assert not StopLatch("ada", file).stopped


def test_a_second_stop_keeps_the_first_reason() -> None:
    latch = StopLatch("ada")
    latch.stop("anna", "first")
    assert not latch.stop("bert", "second")
    assert (latch.by, latch.reason) == ("anna", "first")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"by": 1}', "\ud800"])
def test_a_file_that_cannot_be_read_means_stopped(tmp_path: Path, text: str) -> None:
    file = latch_file(tmp_path, "ada")
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    latch = StopLatch("ada", file)
    assert latch.stopped and "cannot be read" in latch.text
    assert latch.release()
    latch.keep()
    assert not file.exists()


def test_a_folder_in_its_place_means_stopped_and_a_full_disk_does_not_undo_it(
    tmp_path: Path,
) -> None:
    latch_file(tmp_path, "ada").mkdir()
    assert StopLatch("ada", latch_file(tmp_path, "ada")).stopped
    (tmp_path / "file").write_text("")
    latch = StopLatch("bob", tmp_path / "file" / "bob.stop.json")
    latch.stop("anna")
    latch.keep()
    assert latch.stopped and "not kept over a restart" in latch.trouble


def test_what_was_sent_becomes_one_short_line(tmp_path: Path) -> None:
    latch = StopLatch("ada")
    latch.stop("an\nna\x1b[31m", "x" * 10_000)
    assert latch.by == "an na [31m" and len(latch.reason) == MAX_TEXT
    keep_stop(latch_file(tmp_path, "ada"), "anna", "later")
    assert json.loads(latch_file(tmp_path, "ada").read_text())["stopped"] is True


def test_results_of_a_stop_are_told_from_others() -> None:
    latch = StopLatch("ada")
    latch.stop("anna")
    assert is_stop(SkillResult(Outcome.REFUSED, latch.text))
    assert is_stop(SkillResult(Outcome.CANCELLED, latch.text))
    assert not is_stop(SkillResult(Outcome.CANCELLED, "the bridge stopped"))
    assert not is_stop(SkillResult(Outcome.FAULT, latch.text))
