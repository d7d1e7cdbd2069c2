"""What a team file runs, sends, reads and writes: listed, asked for once, kept in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie_bringup import trust
from coterie_bringup.errors import CommandError
from coterie_bringup.resources import TEAMS, clone_of, roots, team_file
from coterie_bringup.running_team import prepared
from coterie_bringup.team import Team, load_team
from coterie_core.yaml_marks import FileProblem

PLAIN = """\
world: {kind: embedded, seed: 7}
robots: [{name: rover}]
"""

REAL = """\
world: {kind: real}
robots:
  - name: rover
    adapter: {navigation: {backend: skills}}
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("COTERIE_TRUST", raising=False)
    monkeypatch.delenv("COTERIE_HABITAT_PYTHON", raising=False)


def team_of(tmp_path: Path, text: str) -> Team:
    folder = tmp_path / "team"
    folder.mkdir(exist_ok=True)
    (folder / "team.yaml").write_text(text)
    return load_team(folder / "team.yaml")


def model(fields: str) -> str:
    return PLAIN + f"models:\n  far: {{kind: openai, model: m, {fields}}}\n"


@pytest.mark.parametrize(
    ("text", "kind", "word"),
    [
        (PLAIN.replace("embedded", "habitat, habitat_python: /bin/true"), "runs", "/bin/true"),
        (model("base_url: 'https://example.org:8443/v1', api_key_env: HF_TOKEN"), "sends",
         "https://example.org:8443 (prompts and the key in $HF_TOKEN)"),
        (model("base_url: 'http://gpu.lab:8000/v1', api_key_env: HF_TOKEN"), "sends",
         "and the key in $HF_TOKEN, unencrypted: whoever reads the network reads them"),
        (model("temperature: 0.0"), "sends", "api.openai.com (prompts and the key in $OPENAI"),
        (PLAIN.replace("embedded", "own, maker: 'my_world:make'"), "runs", "my_world:make (code"),
        (PLAIN + "aggregator: my_votes:AnyYes\n", "runs", "my_votes:AnyYes (code of your own)"),
        (PLAIN + "decisions: {mele.answer: 'my_rules:yes'}\n", "runs",
         "my_rules:yes (code of your own), by decisions.mele.answer"),
        (REAL + "    driver: my_dog.body:Dog\n", "runs", "my_dog.body:Dog"),
        (REAL.replace("skills}", "skills}, sensors: {depth: d, info: i, detections: {topic: t, "
         "detector: 'my_eye:Red'}}"), "runs",
         "my_eye:Red (code of your own), by robots: rover: camera: detections.detector"),
        (PLAIN + "questions: {source: file, path: /etc/hostname}\n", "reads", "/etc/hostname"),
        (PLAIN + "mapper: {}\nplanner: {embedder: {kind: openai, model: e, "
         "base_url: 'https://example.org/v1', api_key_env: HF_TOKEN}}\n", "sends",
         "https://example.org (requests, labels and the key in $HF_TOKEN)"),
    ],
)  # fmt: skip
def test_new_things_are_refused_until_agreed_to_once(
    tmp_path: Path, text: str, kind: str, word: str
) -> None:
    team = team_of(tmp_path, text)
    (act,) = trust.untrusted(team)
    assert act.kind == kind and word in str(act)
    with pytest.raises(CommandError, match="--trust") as error:
        trust.require_trust(team, ask=lambda text: "n")
    assert word in str(error.value)
    with pytest.raises(CommandError), prepared(team):
        pytest.fail("a team that was not agreed to is prepared")
    asked: list[str] = []

    def agree(text: str) -> str:
        asked.append(text)
        return "y"

    trust.require_trust(team, ask=agree)
    trust.require_trust(team_of(tmp_path, text + "seed: 5\n"), ask=agree)
    assert len(asked) == 1


def test_the_flag_agrees_and_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team = team_of(tmp_path, model("base_url: 'http://10.1.2.3:80/v1'"))
    monkeypatch.setenv("COTERIE_TRUST", "1")
    trust.require_trust(team)
    monkeypatch.delenv("COTERIE_TRUST")
    trust.require_trust(team)
    other = team_of(tmp_path, model("base_url: 'http://10.1.2.3:80/v1', api_key_env: SECRET"))
    with pytest.raises(CommandError, match="SECRET"):
        trust.require_trust(other, ask=lambda text: "")


def test_another_program_in_the_same_place_is_asked_for_again(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("one")
    text = PLAIN.replace("embedded", f"habitat, habitat_python: {program}")
    trust.require_trust(team_of(tmp_path, text), trust=True)
    assert not trust.untrusted(team_of(tmp_path, text))
    program.write_text("two")
    assert trust.untrusted(team_of(tmp_path, text))


def test_this_machine_and_the_own_folder_need_no_asking(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "calls.jsonl").touch()
    more = "record_to: out/new.jsonl, base_url: 'http://localhost:11434/v1'"
    text = model(more) + "  old: {kind: replay, cassette: calls.jsonl}\n"
    team = team_of(tmp_path, text)
    assert [act.kind for act in trust.acts(team)] == ["sends", "writes", "reads"]
    trust.require_trust(team, ask=lambda text: pytest.fail("asked"))


def test_our_own_team_files_are_trusted() -> None:
    files = sorted((roots()[0] / "config" / "teams").glob("*.yaml"))
    assert len(files) > 4
    for file in files:
        assert not trust.untrusted(load_team(file))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (model("record_to: ../x.jsonl, base_url: 'http://localhost:1'"), "outside of the team"),
        (model("record_to: /etc/cron.d/x.jsonl, base_url: 'http://localhost:1'"), "outside"),
        (model("record_to: run.sh, base_url: 'http://localhost:1'"), "ends in .jsonl"),
        (PLAIN + "aggregator: {model_directory: ../../models}\n", "outside of the team"),
    ],
)
def test_nothing_is_written_outside_of_the_folder(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FileProblem, match=words) as error:
        team_of(tmp_path, text)
    assert error.value.problems[0].line > 1


def test_teams_that_come_with_coterie_go_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert team_file("demo").is_file() and team_file("home.yaml").is_file()
    with pytest.raises(CommandError, match="did you mean 'demo'"):
        team_file("dmo")
    assert team_file("folder/none.yaml") == Path("folder/none.yaml")


def test_only_the_clone_itself_is_trusted_not_a_folder_around_it(tmp_path: Path) -> None:
    clone = tmp_path / "home" / "clone"
    for root in (tmp_path / "home", clone):
        (root / TEAMS).mkdir(parents=True)
    assert clone_of(clone / "package" / "module.py") == clone
    assert clone_of(tmp_path / "elsewhere" / "module.py") is None
