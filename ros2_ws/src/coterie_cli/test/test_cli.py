"""The command line: help, exit codes, one clear line for a mistake."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from coterie_bringup.errors import CommandError
from coterie_bringup.team import load_team
from coterie_bringup.trust import require_trust
from coterie_cli import cli, research
from coterie_cli.ask import as_data, evidence_text
from coterie_cli.demo import command as demo
from coterie_core.questions import Answer, Evidence


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        cli.main(list(arguments))
    said = capsys.readouterr()
    code = left.value.code
    return (code if isinstance(code, int) else 0), said.out, said.err


def test_help_names_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for command in ("up", "demo", "ask", "test", "setup", "bench", "house", "team", "doctor"):
        assert f" {command} " in out


def test_the_version_is_that_of_the_changelog(capsys: pytest.CaptureFixture[str]) -> None:
    changelog = (Path(__file__).parents[4] / "CHANGELOG.md").read_text("utf-8")
    newest = re.search(r"^## \[(.+?)\]", changelog, re.M)
    assert newest and run(capsys, "--version") == (0, f"coterie {newest[1]}\n", "")


def _helps(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    yield path, [getattr(one, "help", None) or "" for one in (command, *command.params)]
    for name, below in getattr(command, "commands", {}).items():
        yield from _helps(below, *path, name)


def test_help_tells_units(capsys: pytest.CaptureFixture[str]) -> None:
    told = set()
    for path, helps in _helps(get_command(cli.app)):
        if units := set(re.findall(r"\[[a-z/%]+\]", " ".join(helps))):
            out = run(capsys, *path, "--help")[1]
            assert units <= set(re.findall(r"\[[a-z/%]+\]", out)), path
            told |= units
    assert {"[s]", "[m]", "[px]"} <= told


def test_a_bench_tells_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert "may take [s]" in " ".join(run(capsys, "bench", "lab", "--help")[1].split())


def test_help_has_all_commands_in_groups_also_studies_that_are_not_set_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(research, "repository", lambda: tmp_path)
    assert {name for names in cli.PANELS.values() for name in names} == set(
        get_command(cli.app).commands  # type: ignore[attr-defined]
    )
    out = run(capsys, "--help")[1]
    assert re.findall(r"╭─ ([A-Z].+?) ─", out) == ["Options", *cli.PANELS]
    assert " bench " in out and " doctor " in out


def test_the_help_of_all_is_that_of_each_and_imports_none() -> None:
    known = get_command(cli.app).commands  # type: ignore[attr-defined]
    for name in known:
        assert known.help(name).split() == known[name].help.replace("\\[", "[").split(), name
    code = """
import sys
from coterie_cli import cli
try:
    cli.main(["--help"])
except SystemExit:
    print([name for name in ("coterie_cli.find", "numpy", "pydantic") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert " find " in done.stdout and done.stdout.rstrip().endswith("[]")


@pytest.mark.parametrize("name", cli.GONE)
def test_a_name_that_is_gone_names_what_to_use(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    code, out, err = run(capsys, name, "--any", "thing")
    assert (code, out) == (
        2,
        "",
    ) and err == f"coterie: there is no command {name}: {cli.GONE[name]}\n"


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "dmeo")
    assert code == 2 and "dmeo" in err


def test_mistakes_in_a_team_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("world: {kind: embedded}\nrobots:\n  - {name: a, embodiment: whels}\n")
    for words in (("team", "check", str(file)), ("up", str(file)), ("demo", "--team", str(file))):
        code, _, err = run(capsys, *words)
        assert code == 2
        line = f"{file}:3: robots[0].embodiment: unknown embodiment 'whels'; did you mean 'wheels'?"
        assert err.strip() == line


def test_code_of_ones_own_is_looked_at_once_it_is_agreed_to(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    file = tmp_path / "mine.yaml"
    robot = "robots: [{name: rover, embodiment: wheels}]"
    file.write_text(
        f"name: mine\nworld: {{kind: embedded}}\n{robot}\naggregator: 'no_votes:AnyYes'\n"
    )
    code, out, _ = run(capsys, "team", "check", str(file))
    assert code == 0 and "is not looked at before" in out and f"up {file} --trust" in out
    require_trust(load_team(file), trust=True)
    code, _, err = run(capsys, "team", "check", str(file))
    assert code == 2 and "no_votes cannot be imported" in err and "PYTHONPATH" in err


def test_shipped_team_files_are_good(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(__file__).parents[4] / "config" / "teams"
    files = sorted(str(f) for f in folder.glob("*.yaml"))
    assert len(files) >= 3
    code, out, _ = run(capsys, "team", "check", *files)
    assert code == 0 and out.count("good") == len(files)


@pytest.mark.parametrize(
    "words",
    [
        "up dmo",
        "view dmo",
        "team check demo dmo",
        "demo --team dmo",
        "do wait --team dmo",
        "do --together ON(mug,table) --team dmo",
    ],
)
def test_every_command_takes_a_team_by_name(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()  # a folder of that name is no team
    code, _, err = run(capsys, *words.split())
    assert code == 2
    assert err.strip() == (
        "coterie: no file and no team that comes with Coterie: dmo; did you mean 'demo'?"
    )


def test_a_team_is_checked_by_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    code, out, _ = run(capsys, "team", "check", "demo", "home.yaml")
    assert code == 0 and "demo.yaml: team trio, " in out and "home.yaml: team " in out


def test_unexpected_errors_are_one_line_unless_debug(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("wires crossed")

    monkeypatch.setattr("coterie_cli.up.load_team", broken)
    code, _, err = run(capsys, "up", str(tmp_path))
    assert code == 1 and "RuntimeError: wires crossed" in err and "--debug" in err
    assert "Traceback" not in err
    with pytest.raises(RuntimeError, match="wires crossed"):
        cli.main(["up", str(tmp_path), "--debug"])


def test_options_of_the_demo_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="expected embedded or habitat"):
        demo.demo_team(demo.DemoOptions(world="mars"))
    monkeypatch.delenv("COTERIE_HABITAT_PYTHON", raising=False)
    with pytest.raises(CommandError, match="COTERIE_HABITAT_PYTHON"):
        demo.demo_team(demo.DemoOptions(world="habitat"))
    monkeypatch.setenv("COTERIE_HABITAT_PYTHON", "/somewhere/python")
    world = demo.demo_team(demo.DemoOptions(world="habitat", seed=3)).world
    assert (world.kind, world.seed) == ("habitat", 3)
    team = demo.demo_team(demo.DemoOptions(seed=99))
    assert (team.seed, team.world.seed) == (99, 99)


def test_the_command_line_starts_without_heavy_libraries() -> None:
    code = (
        "import sys; import coterie_cli.cli; "
        "heavy = {'rclpy', 'numpy', 'sklearn', 'open3d', 'matplotlib', 'xgboost'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    path = f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}; "
    done = subprocess.run(
        [sys.executable, "-c", path + code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_signs_that_the_terminal_cannot_show_stop_nothing(tmp_path: Path) -> None:
    robot = tmp_path / "robot.urdf"
    robot.write_text('<robot name="Käfer"><link name="base"/></robot>', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "coterie_cli.cli", "resume", str(robot), "--json"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "K?fer" in done.stdout, done.stderr


def test_answers_as_data_and_in_words() -> None:
    pytest.importorskip("rclpy")
    from coterie_bringup.team_client import TeamAnswer
    from coterie_core.questions import FinalAnswer, Vote

    seen = Answer("q", "rover", True, 0.9, Evidence("seen", objects=("mug_1",), sightings=2))
    final = FinalAnswer("q", None, 0.5, "majority_vote", (Vote("rover", True, 0.9, 1.0),), ("x",))
    data = as_data("Is there a mug?", TeamAnswer(final, (seen,)))
    assert json.loads(json.dumps(data))["answer"] == "unknown"
    assert data["missing"] == ["x"] and data["answers"][0]["evidence"]["objects"] == ("mug_1",)
    assert evidence_text(seen) == "saw mug_1"
    usual = Answer("q", "rover", True, 0.66, Evidence("prior_only"))
    assert as_data("?", TeamAnswer(replace(final, yes=True), (usual,)))["guessed"] is True
    assert as_data("?", TeamAnswer(replace(final, yes=True), (usual, seen)))["guessed"] is False
    not_there = Evidence("not_there", looks=3, visited_fraction=0.5, elsewhere=("kitchen",))
    text = evidence_text(Answer("q", "r", False, 0.8, not_there))
    assert "looked 3 times" in text and "kitchen" in text
    assert "never been there" in evidence_text(Answer("q", "r", False, 0.8, Evidence("prior_only")))
