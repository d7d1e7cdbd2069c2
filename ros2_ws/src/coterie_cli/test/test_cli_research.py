"""Commands of the studies: run where research/ is set up; elsewhere a line tells how to do that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from coterie_cli import cli, research


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    return err


@pytest.mark.parametrize("name", research.STUDIES)
def test_without_the_tree_each_study_tells_where_it_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(research, "repository", lambda: tmp_path)
    err = said([*name.split(), "--help"], capsys)
    assert err.startswith(f"coterie: {name} is a study") and "--with research" in err


def test_without_its_packages_a_study_tells_which_and_how_to_install_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "research").mkdir()
    (tmp_path / "research" / "__init__.py").touch()
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "research.txt").write_text("pytest==8.4.2\nno-such-one==1.0\n")
    monkeypatch.setattr(research, "repository", lambda: tmp_path)
    assert said(["bench", "mele"], capsys) == (
        "coterie: bench is a study and needs no-such-one, not installed here; "
        "./coterie setup --with research\n"
    )


def test_a_study_whose_tree_is_here_gets_its_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "research").mkdir()
    (tmp_path / "research" / "__init__.py").touch()
    (tmp_path / "a_study.py").write_text("def main(words):\n    return len(words)\n")
    monkeypatch.setattr(research, "repository", lambda: tmp_path)
    monkeypatch.setattr(research, "_ENTRY", "a_study")
    monkeypatch.setattr("sys.path", [])
    monkeypatch.setenv("PYTHONPATH", "/first")
    assert research.run_study("model check", ["tiny", "--seed", "3"]) == 5
    first, *added = os.environ["PYTHONPATH"].split(os.pathsep)
    assert first == "/first" and added == [str(tmp_path), str(tmp_path / "tests" / "fixtures")]
