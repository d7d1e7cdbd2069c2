"""What ./coterie test runs, and how it reports."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from coterie_cli import testing

ROOT = Path(__file__).resolve().parents[2]


def commands(**selection: object) -> list[tuple[str, ...]]:
    return [part.command for part in testing.parts(ROOT, **selection)]  # type: ignore[arg-type]


def test_without_a_selection_everything_runs_in_order() -> None:
    names = [part.name for part in testing.parts(ROOT)]
    product = ["ruff check", "ruff format", "mypy", "tests without ROS", "tests with ROS"]
    studies = [] if testing.studies_missing(ROOT) else ["tests of the studies"]
    assert names == [*product, *studies]
    assert [part.name for part in testing.parts(ROOT) if part.again] == names[3:]


def test_tests_of_studies_run_where_those_are_set_up(tmp_path: Path) -> None:
    assert testing.studies_missing(tmp_path) == "there is no research/ here"
    (tmp_path / "research" / "tests").mkdir(parents=True)
    (tmp_path / "requirements").mkdir()
    file = tmp_path / "requirements" / "research.txt"
    file.write_text('# c\npytest==8.4.2\nno-such-package==1.0 ; python_version < "4"\n')
    assert testing.studies_missing(tmp_path) == (
        "not installed: no-such-package; ./coterie setup --with research"
    )
    assert [part.name for part in testing.parts(tmp_path)][-1] == "tests with ROS"
    file.write_text("pytest==8.4.2\n")
    assert testing.parts(tmp_path)[-1].command[-1] == "research/tests"


def test_a_part_that_takes_longer_than_its_budget_is_ended_and_told() -> None:
    sleeps = testing.Part("s", (sys.executable, "-c", "import time; time.sleep(600)"), budget=0.5)
    (outcome,) = testing.run([sleeps], ROOT, Console(file=io.StringIO()))
    assert not outcome.passed and outcome.verdict == "failed (not done in 0 s)"


def test_selection_runs_one_session_and_no_linters() -> None:
    (command,) = commands(marker="not slow", keyword="merge", paths=["/x"])
    assert command[1:] == ("-m", "not slow", "-k", "merge", "/x")


def test_tests_run_in_a_process_per_core_and_those_that_wait_in_one_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def spread(count: int) -> tuple[str, ...]:
        return "-n", str(count), "--dist", "worksteal"

    monkeypatch.setattr(testing, "processes", lambda: 2)
    monkeypatch.setattr(testing, "studies_missing", lambda root: "not here")
    assert commands(marker="habitat") == [(commands()[-1][0], *spread(2), "-m", "habitat")]
    for cores, words in ((1, ()), (2, spread(2)), (testing.MOST_PROCESSES, spread(4))):
        monkeypatch.setattr(testing, "processes", lambda cores=cores: cores)
        more = spread(min(cores + 1, testing.MOST_PROCESSES))
        assert [c[1:] for c in commands()[-2:]] == [
            (*words, "-m", "not ros", *testing.PRODUCT),
            (*more, "-m", "ros", *testing.PRODUCT),
        ]


def test_background_parts_are_shown_whole_after_the_first_of_the_others() -> None:
    def part(name: str, text: str, **more: bool) -> testing.Part:
        return testing.Part(name, (sys.executable, "-c", text), **more)

    console = Console(file=io.StringIO(), width=60)
    todo = [
        part("lint", "print('[bold]x'); raise SystemExit(3)", background=True),
        part("types", "print('fine')", background=True),
        part("one", ""),
        part("two", ""),
    ]
    outcomes = testing.run(todo, ROOT, console)
    assert [(o.part.name, o.code) for o in outcomes] == [
        ("lint", 3), ("types", 0), ("one", 0), ("two", 0),
    ]  # fmt: skip
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    heads = [word for word in shown.split() if word in ("lint", "types", "one", "two", "[bold]x")]
    assert heads == ["one", "lint", "[bold]x", "types", "two"]


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


def _second_try(root: Path, tests: str, console: Console) -> testing.Outcome:
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "test_it.py").write_text(tests)
    pytest_here = str(Path(sys.executable).parent / "pytest")
    command = (pytest_here, "-q", "-p", "no:xdist", "test_it.py")
    (outcome,) = testing.run([testing.Part("over ROS", command, again=True)], root, console)
    return outcome


def test_a_test_that_failed_once_is_named_and_counts_as_it_goes_alone(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=90)
    once = """
from pathlib import Path
def test_late():
    first = not Path("been").exists()
    Path("been").touch()
    assert not first
def test_fine():
    Path("fine").open("a").write("x")
"""
    outcome = _second_try(tmp_path, once, console)
    assert outcome.passed
    assert outcome.again == ("test_it.py::test_late",)
    assert "1 at the second try" in outcome.verdict
    assert (tmp_path / "fine").read_text() == "x"  # only what failed runs again
    always = _second_try(tmp_path, "def test_always():\n    assert False\n", console)
    assert not always.passed
    assert always.again == ("test_it.py::test_always",)


def test_many_failures_are_not_tried_again(tmp_path: Path) -> None:
    many = "import pytest\n@pytest.mark.parametrize('n', range(9))\ndef test_n(n):\n    assert 0\n"
    outcome = _second_try(tmp_path, many, Console(file=io.StringIO()))
    assert not outcome.passed
    assert outcome.again == ()


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
    assert testing.run_tests(None, "no such test", ()) == 1
    assert "No test matched" in capsys.readouterr().out
