"""What ./coterie test runs, and how it reports."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import typer
from rich.console import Console

from coterie_bringup import testing

ROOT = Path(__file__).resolve().parents[2]


def commands(**selection: object) -> list[tuple[str, ...]]:
    return [part.command for part in testing.parts(ROOT, **selection)]  # type: ignore[arg-type]


def test_without_a_selection_everything_runs_in_order() -> None:
    names = [part.name for part in testing.parts(ROOT)]
    assert names == ["ruff check", "ruff format", "mypy", "tests without ROS", "tests with ROS"]


def test_selection_runs_one_session_and_no_linters() -> None:
    (command,) = commands(marker="not slow", keyword="merge", paths=["/x"])
    assert command[1:] == ("-m", "not slow", "-k", "merge", "/x")


def test_types_of_every_package_are_checked() -> None:
    targets = testing.typed_targets(ROOT)
    for package in (ROOT / "ros2_ws" / "src").glob("*/setup.py"):
        name = package.parent.name
        assert f"ros2_ws/src/{name}/{name}" in targets


def test_repository_is_found_from_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COTERIE_ROOT", raising=False)
    assert testing.repository() == ROOT


def test_later_parts_run_after_a_failure(tmp_path: Path) -> None:
    todo = [
        testing.Part("bad", (sys.executable, "-c", "raise SystemExit(2)")),
        testing.Part("good", (sys.executable, "-c", "open('ran', 'w')")),
    ]
    outcomes = testing.run(todo, tmp_path, Console(file=io.StringIO()))
    assert [outcome.passed for outcome in outcomes] == [False, True]
    assert (tmp_path / "ran").exists()


def test_table_names_each_result() -> None:
    part = testing.Part("mypy", ("mypy",))
    session = testing.Part("tests", ("/venv/bin/pytest",))
    console = Console(file=io.StringIO(), width=80)
    console.print(
        testing.summary(
            [
                testing.Outcome(part, 0, 1.0),
                testing.Outcome(part, 1, 2.0),
                testing.Outcome(session, testing.NOTHING_SELECTED, 3.0),
            ]
        )
    )
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for word in ("passed", "failed (exit code 1)", "no test matched"):
        assert word in text


def test_selection_that_matches_nothing_fails_with_a_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = testing.Part("selected tests", (str(Path(sys.executable).parent / "pytest"),))
    monkeypatch.setattr(testing, "run", lambda *_: [testing.Outcome(nothing, 5, 0.1)])
    with pytest.raises(typer.Exit) as caught:
        testing.test(keyword="no such test")
    assert caught.value.exit_code == 1
    assert "No test matched" in capsys.readouterr().out
