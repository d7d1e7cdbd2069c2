"""Commands that must not wait for a set-up: stop and release."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from bootstrap import main
from bootstrap.plan import Layout, Plan


class Became(Exception):
    """The process would be another program now."""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """Return a clone whose set-up has to be done anew."""

    def plan(*_: object) -> None:
        raise AssertionError("looked at the set-up")

    def become(program: str, words: list[str], environ: dict[str, str]) -> None:
        raise Became(*words[1:], environ.get("MARK", ""))

    monkeypatch.setattr(main, "ROOT", tmp_path)
    monkeypatch.setattr(Plan, "of", plan)
    monkeypatch.setattr(os, "execve", become)
    layout = Layout(tmp_path)
    layout.activation.parent.mkdir(parents=True)
    return layout


@pytest.mark.parametrize("command", sorted(main.AT_ONCE))
def test_they_begin_without_a_look_at_the_set_up(clone: Layout, command: str) -> None:
    clone.activation.write_text('{"front": {}, "values": {"MARK": "recorded"}}')
    with pytest.raises(Became) as became:
        main._run([command, "rover"], {})
    assert became.value.args == ("-m", main.AT_ONCE[command], command, "rover", "recorded")
    assert importlib.util.find_spec(main.AT_ONCE[command]) is not None


def test_others_and_a_broken_record_take_the_usual_way(clone: Layout) -> None:
    clone.activation.write_text("{torn")
    for words in (["stop"], ["up", "demo"]):
        with pytest.raises(AssertionError, match="looked at the set-up"):
            main._run(words, {})
