"""`./coterie why` at the terminal: finds the run, shows the chain, and shows texts as data."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from typer.testing import CliRunner

from coterie_bringup.errors import CommandError
from coterie_bringup.kept_runs import KeptRun, choose_run, kept_runs
from coterie_bringup.plan import plan
from coterie_bringup.resuming import note_run
from coterie_bringup.team import load_team, parse_team
from coterie_cli.cli import app
from coterie_cli.console.explaining import Explaining
from coterie_console.team.page import Refused
from coterie_core.geometry import Box
from coterie_llm import Decider, RulesModel
from coterie_requests.read_request import ReadRequest, ReadState
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_safety.why import (
    ENVIRONMENT,
    JournalSettings,
    belong,
    close_journal,
    note,
    open_journal,
)
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from coterie_world.team_memory import TeamMemory, save_memory

pytestmark = pytest.mark.quick

EVIL = "a \x1b[31mred\x1b[0m lamp [bold]now[/bold] \x07\x9b2J"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    belong()
    yield tmp_path
    close_journal()
    belong()


def a_run(state: Path, name: str, words: str) -> Path:
    folder = state / "runs" / f"20270101-000000-{name}-77"
    open_journal(JournalSettings(str(folder / "why")), "x")
    note("question", "aggregator", {"words": words}, question="q1")
    Decider(RulesModel(), who="ant").decide_by_rule(
        ReadRequest(), ReadState(words, Vocabulary.named(), "ask")
    )
    note("answer", "the team", {"words": "yes"}, question="q1")
    close_journal()
    return folder


def run(*words: str) -> str:
    told = CliRunner().invoke(app, ["why", *words])
    assert told.exit_code == 0, told.output
    return told.output


def test_the_last_runs_last_question_is_told(state: Path) -> None:
    a_run(state, "first", "is there a lamp?")
    a_run(state, "second", "is there a rug?")
    assert "is there a rug?" in run()
    assert "is there a lamp?" in run("--team", "first")
    assert [one.team for one in kept_runs()] == ["second", "first"]


def test_texts_from_outside_reach_the_terminal_as_data(state: Path) -> None:
    folder = a_run(state, "evil", EVIL)
    for words in ((), ("ant",), ("ant", "--prompt"), ("--folder", str(folder))):
        output = run(*words)
        assert not {"\x1b", "\x07", "\x9b"} & set(output)
    assert "[bold]now[/bold]" in run(), "not markup either"


def test_a_thing_of_the_teams_memory_is_told_of(state: Path) -> None:
    folder = a_run(state, "one", "is there a kettle?")
    memory = TeamMemory("den")
    kettle = SceneObject(
        "kettle-1", LabelBelief.of("kettle"), Box((1.0, 2.0, 0.9), (0.2, 0.2, 0.2))
    )
    memory.adopt(SceneGraph(objects={"kettle-1": kettle}))
    save_memory(memory, folder / "team" / "mapper.json")
    assert "the team knows kettle-1 (kettle 100%) at (1.00, 2.00, 0.90) m" in " ".join(
        run("kettle").split()
    )
    assert "what is known of kettle-1" in run("kettle-1")


def test_json_and_prompts(state: Path) -> None:
    a_run(state, "one", "is there a kettle?")
    data = json.loads(run("ant", "--json", "--prompt"))
    (step,) = data["steps"]
    assert step["who"] == "ant"
    assert "kettle" in json.dumps(data["records"][step["id"]]["prompt"])
    assert "would have been sent" in run("ant", "--prompt")


def test_nothing_kept_says_what_to_do(state: Path) -> None:
    with pytest.raises(CommandError, match=r"leave why\.keep"):
        choose_run()
    a_run(state, "one", "is there a kettle?")
    with pytest.raises(CommandError, match=r"no decisions of other .*; there are those of one"):
        choose_run("other")
    (file := state / "other.yaml").write_text(TEAM % "{}")
    note_run(choose_run("one").directory, load_team(file))
    assert choose_run("other").team == "one"  # begun by ./coterie up other.yaml


TEAM = "{world: {kind: embedded, seed: 3}, robots: [{name: ant}], why: %s}"


def test_a_teams_processes_know_where_to_write(tmp_path: Path) -> None:
    specs = plan(parse_team(TEAM % "{megabytes: 5, days: 2}"), run_directory=tmp_path)
    for spec in specs:
        told = json.loads(spec.environment[ENVIRONMENT])
        assert told == {"folder": str(tmp_path / "why"), "megabytes": 5.0, "days": 2.0}
    off = plan(parse_team(TEAM % "{keep: false}"), run_directory=tmp_path)
    assert not any(ENVIRONMENT in spec.environment for spec in off)


def test_a_page_is_told_by_a_process_beside_it(state: Path) -> None:
    """The chain as data, bounded, as text; a refusal says what is wrong."""
    folder = a_run(state, "evil", EVIL)

    class Page:
        sent: ClassVar[list[str]] = []

        async def send(self, text: str) -> None:
            self.sent.append(text)

    def ask(what: object, run: KeptRun | None) -> str:
        return asyncio.run(Explaining(run, str).why({"what": what}, Page()))  # type: ignore[arg-type]

    kept = KeptRun("evil", folder / "why", folder / "log")
    assert ask("last", kept) == ""
    told = json.loads(Page.sent[-1])["why"]
    assert told["asked"] == "last" and len(told["steps"]) > 1
    assert "red" in told["steps"][0]["text"] and not set("\x1b\x07\x9b") & set(str(told))
    for what, run, trouble in (
        ("piano", kept, "holds"),
        ("", kept, "expected words"),
        (7, kept, "expected words"),
        ("last", None, "on this computer"),
        ("last", KeptRun("gone", folder / "none", folder), "on this computer"),
    ):
        with pytest.raises(Refused, match=trouble):
            ask(what, run)
