"""What ./coterie test runs, and how it reports."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coterie_cli import testing
from coterie_cli.cli import app

ROOT = Path(__file__).resolve().parents[2]
PYTEST = str(Path(sys.executable).parent / "pytest")
LINT = ["ruff check", "ruff format", "mypy"]


def test_everything_runs_in_order_and_the_studies_where_they_are_set_up(tmp_path: Path) -> None:
    product = [*LINT, "tests are read", "tests"]
    assert [part.name for part in testing.parts(tmp_path)] == product
    assert testing.studies_missing(tmp_path) == "there is no research/ here"
    (tmp_path / "research" / "tests").mkdir(parents=True)
    (tmp_path / "requirements").mkdir()
    file = tmp_path / "requirements" / "research.txt"
    file.write_text('# c\npytest==8.4.2\nno-such-package==1.0 ; python_version < "4"\n')
    assert testing.studies_missing(tmp_path) == (
        "not installed: no-such-package; ./coterie setup --with research"
    )
    assert [part.name for part in testing.parts(tmp_path)] == product
    file.write_text("pytest==8.4.2\n")
    *first, studies = testing.parts(tmp_path)
    assert [part.name for part in first] == product
    assert studies.command[-2:] == ("--session-timeout=1500", "research/tests")


def test_words_go_to_pytest_from_where_the_caller_is(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_words.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    words = ["-q", "-m", "not slow", "-k", "test_b", "--durations=2", "test_words.py"]
    assert CliRunner().invoke(app, ["test", *words]).exit_code == 0
    written = capfd.readouterr().out
    assert "1 passed, 1 deselected" in written and "slowest 2 durations" in written
    assert CliRunner().invoke(app, ["test", "-k", "test_c"]).exit_code != 0


def test_later_parts_run_after_a_failure_and_the_end_names_each(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def part(name: str, text: str) -> testing.Part:
        return testing.Part(name, (sys.executable, "-c", text))

    bad, good = part("bad", "raise SystemExit(3)"), part("good", "open('ran', 'w')")
    assert testing.run([bad, good], tmp_path) == 1
    assert (tmp_path / "ran").exists()
    words = [line.split()[:-2] for line in capfd.readouterr().out.splitlines()[-2:]]
    assert words == [["bad", "failed", "(exit", "code", "3)"], ["good", "passed"]]
    assert testing.run([good], tmp_path) == 0


def test_what_runs_beside_the_others_is_shown_last(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One waits for the other's file: they run at the same time."""
    text = "import pathlib, time\nwhile not pathlib.Path('{}').exists(): time.sleep(0.01)\n"
    left = text.format("right") + "print('left says so'); raise SystemExit(4)"
    right = "open('right', 'w').close()\nprint('right says so')"
    todo = [
        testing.Part("left", (sys.executable, "-c", left), beside=True),
        testing.Part("right", (sys.executable, "-c", right)),
    ]
    assert testing.run(todo, tmp_path) == 1
    written = capfd.readouterr().out
    told = ["--- right", "right says so", "--- left", "left says so", "right  ", "left  "]
    assert sorted(told, key=written.index) == told and "failed (exit code 4)" in written


def test_as_many_tests_run_at_once_as_cores_and_memory_allow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(testing.os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    assert [testing.processes(more, memory=16e9) for more in (0, 1, 4)] == [2, 3, 6]
    assert testing.processes(4, memory=7.5e9) == 6
    assert 1 <= testing.processes(4) <= 6
    assert testing.processes(4, memory=4e9) == 3 and testing.processes(4, memory=1e9) == 1


def test_types_of_every_package_are_checked() -> None:
    targets = testing.typed_targets(ROOT)
    for package in (ROOT / "ros2_ws" / "src").glob("*/setup.py"):
        name = package.parent.name
        assert f"ros2_ws/src/{name}/{name}" in targets
    assert {"tools", "research/bench", "research/commands.py"} <= set(targets)


def test_three_failed_tests_run_again_and_are_named(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Those that pass then do not fail the session; a fourth failure counts at once."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -raR\n")
    (tmp_path / "test_it.py").write_text("""
import pytest
from pathlib import Path
@pytest.mark.parametrize("n", range(5))
def test_late(n):
    file = Path(f"been{n}")
    been = n == 4 or file.exists()
    file.touch()
    assert been
""")
    run = testing._pytest("-q", "test_it.py")
    assert testing.run([testing.Part("late", run)], tmp_path) == 1
    written = capfd.readouterr().out
    assert "1 failed, 4 passed, 3 rerun" in written
    assert sum(line.startswith("RERUN test_it.py::test_late") for line in written.splitlines()) == 3


def test_the_quick_tests_touch_every_package() -> None:
    for package in (ROOT / "ros2_ws" / "src").glob("*/setup.py"):
        tests = package.parent.glob("test/test_*.py")
        assert any("mark.quick" in test.read_text("utf-8") for test in tests), package.parent.name
    *lint, quick = testing.quick_parts(ROOT, ["-x"])
    assert [part.name for part in lint] == LINT
    assert quick.command[-5:] == ("-m", "quick", *testing.PRODUCT, "-x")
