"""Stops of robots on other hosts: kept until they are heard, taken back by a release."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from coterie_bringup.rundir import RunState
from coterie_bringup.stop_robots import Addressee, _keep, _take_back
from coterie_cli import up
from coterie_cli.up import command, pending, telling
from coterie_safety.stop import keep_stop, latch_file


def state(folder: Path, **given: object) -> RunState:
    values = {"elsewhere": ["rover"], "tells_stops": True, "stops": str(folder), **given}
    return RunState("lab", 1, 42, str(folder), 0.0, robots=["rover", "walker"], **values)  # type: ignore[arg-type]


def test_a_stop_that_was_not_heard_is_kept_for_robots_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Addressee(state(tmp_path), ["rover"], whole_team=False)
    _keep(one, lambda file: keep_stop(file, "anna", "a child"), "stops")
    assert list(pending(one.state)) == ["rover"]
    assert "told it again until it obeys" in capsys.readouterr().err
    words = command(one.state, "rover", latch_file(tmp_path, "rover"))
    assert "--by=anna" in words and "--reason=a child" in words and "--again" in words
    _take_back(one)
    assert not pending(one.state)


def test_a_robot_of_this_host_keeps_its_own_latch(tmp_path: Path) -> None:
    keep_stop(latch_file(tmp_path, "walker"), "anna", "")
    one = Addressee(state(tmp_path), ["walker", "rover"], whole_team=True)
    assert not pending(one.state)
    _take_back(one)
    assert latch_file(tmp_path, "walker").is_file()


def test_where_nobody_tells_it_again_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Addressee(state(tmp_path, tells_stops=False), ["rover"], whole_team=False)
    _keep(one, lambda file: keep_stop(file, "anna", ""), "stops")
    assert "say it again" in capsys.readouterr().err
    assert not pending(one.state)


async def test_it_is_told_until_it_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = tmp_path / "heard"
    tries = tmp_path / "tries"
    script = f"echo x >> {tries}; test -e {heard}"
    monkeypatch.setattr(up, "command", lambda *a: ("sh", "-c", script))
    file = latch_file(tmp_path, "rover")
    keep_stop(file, "anna", "")
    async with telling(state(tmp_path)):
        while not tries.exists() or len(tries.read_text().split()) < 2:
            await asyncio.sleep(0.05)
        assert json.loads(file.read_text())["by"] == "anna"
        heard.touch()
        while file.exists():
            await asyncio.sleep(0.05)


async def test_a_release_ends_an_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = tmp_path / "begun"
    slow = f"echo $$ > {begun}.new; mv {begun}.new {begun}; exec sleep 250"
    monkeypatch.setattr(up, "command", lambda *a: ("sh", "-c", slow))
    file = latch_file(tmp_path, "rover")
    keep_stop(file, "anna", "")
    async with telling(state(tmp_path)):
        while not begun.exists():
            await asyncio.sleep(0.05)
        process = Path("/proc") / begun.read_text().strip()
        assert process.exists()
        file.unlink()
        while process.exists():
            await asyncio.sleep(0.05)
