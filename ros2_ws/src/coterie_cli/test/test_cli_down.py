"""`./coterie down`, of a team that another process runs; see also tests/scenarios/test_down.py."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import pytest

from coterie_bringup import rundir
from coterie_bringup.hosts import host_option
from coterie_bringup.resuming import note_run
from coterie_bringup.team import parse_team
from coterie_cli.down import down

TEAM = "world: {kind: embedded, seed: 3}\nrobots: [{name: ada, embodiment: wheels}]\ndomain: 42\n"
HOSTS = "hosts: {cart: {address: 127.0.0.1, runs: [team], robots: [ada]}}\n"


@pytest.mark.parametrize(
    ("hosts", "host", "share"),
    [("", "", ""), (HOSTS, "cart", " --host cart"), (HOSTS, "", " --host all")],
)
def test_it_says_how_this_computers_share_is_gone_on_with(
    hosts, host, share, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    team = parse_team("name: duo\n" + TEAM + hosts, "my duo.yaml", tmp_path)
    directory = rundir.new_run(team.name)
    note_run(directory, team)
    # Tests that run in a shell's background hand on that SIGINT is ignored.
    child = subprocess.Popen(["env", "--default-signal=INT", "sleep", "60"])
    end = time.monotonic() + 20.0
    while Path(f"/proc/{child.pid}/comm").read_text("utf-8").strip() != "sleep":
        assert time.monotonic() < end, "env has not become sleep: SIGINT may be ignored until then"
        time.sleep(0.01)
    threading.Thread(target=child.wait, daemon=True).start()  # or it stays, as a zombie
    state = rundir.own_state(team.name, 42, directory, host=host_option(team, host))
    state.pid, state.pid_birth = child.pid, rundir.process_birth(child.pid)
    with rundir.registered(state):
        assert down("duo") == 0
    file = team.file
    assert file is not None
    assert f"./coterie up '{file}'{share} --resume" in capsys.readouterr().out
