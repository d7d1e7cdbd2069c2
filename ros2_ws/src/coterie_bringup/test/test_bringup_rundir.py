"""Run directories, running teams, ROS domains, and leftovers in shared memory."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from coterie_bringup import rundir
from coterie_bringup import running_team as teamrun
from coterie_bringup.abilities import lacking
from coterie_bringup.errors import CommandError
from coterie_bringup.resources import shipped_team
from coterie_bringup.team import load_team, parse_team
from coterie_ros.domains import domain_in_use, take_domain


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def state(domain: int = 42, **options: object) -> rundir.RunState:
    directory = rundir.new_run("trio")
    values = {
        "team": "trio",
        "pid": os.getpid(),
        "pid_birth": rundir.process_birth(os.getpid()),
        "domain": domain,
        "directory": str(directory),
        "started": 1.0,
        **options,
    }
    return rundir.RunState(**values)  # type: ignore[arg-type]


def test_a_running_team_is_found_until_it_ends() -> None:
    assert rundir.running_teams() == []
    with rundir.registered(state(robots=["rover"])):
        (found,) = rundir.running_teams()
        assert (found.team, found.domain, found.robots) == ("trio", 42, ["rover"])
    assert rundir.running_teams() == []


def test_a_team_is_known_to_lack_what_its_file_does_not_have(monkeypatch) -> None:
    shipped = {name: lacking(load_team(shipped_team(name))) for name in ("demo", "home", "emos")}
    assert shipped == {
        "demo": ["find", "do", "together", "map"],
        "home": ["do", "together"],
        "emos": ["explore", "ask", "find", "together"],
    }
    with rundir.registered(state(lacks=shipped["demo"])):
        (found,) = rundir.running_teams()
        found.require("ask")
        with pytest.raises(CommandError, match="team trio has no object planner: give"):
            found.require("find")


def test_a_team_whose_process_died_is_not_found_even_if_its_id_lives_on() -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    with rundir.registered(state(pid=dead.pid)), rundir.registered(state(pid_birth=1)):
        assert rundir.running_teams() == []


def test_broken_state_files_do_no_harm() -> None:
    for text in ("", "[]", "{", '{"team": 1}'):
        (rundir.new_run("x") / "state.json").write_text(text)
    assert rundir.running_teams() == []


@pytest.mark.parametrize("there", ["link", "open to others", "file", "own"])
def test_the_last_resort_in_a_shared_folder_is_a_folder_of_this_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    """Anybody may put something of that name there first."""
    monkeypatch.delenv("COTERIE_STATE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a file"))
    (tmp_path / "a file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path, home = tmp_path / f"coterie-{os.getuid()}", tmp_path / "home"
    home.mkdir(mode=0o700)
    if there == "link":
        path.symlink_to(home)
    elif there == "file":
        path.touch()
    elif there == "open to others":
        path.mkdir()
        path.chmod(0o777)
    if there == "own":
        assert rundir.state_root() == rundir.state_root() == path
    else:
        with pytest.raises(PermissionError, match="no folder of this user alone"):
            rundir.state_root()
    assert not list(home.iterdir())


def test_old_runs_are_tidied_away() -> None:
    with rundir.registered(state()):
        for _ in range(rundir.KEPT_RUNS + 5):
            rundir.new_run("x")
        kept = list((rundir.state_root() / "runs").iterdir())
        assert len(kept) <= rundir.KEPT_RUNS + 2
        assert len(rundir.running_teams()) == 1


def test_domains() -> None:
    with rundir.domain(7, {}) as number:
        assert number == 7
    with rundir.domain(None, {"ROS_DOMAIN_ID": "13"}) as number:
        assert number == 13
    with rundir.domain(5, {"ROS_DOMAIN_ID": "13"}) as number:
        assert number == 5
    with rundir.domain(None, {}) as one, rundir.domain(None, {}) as other:
        assert one != other
    with rundir.domain(None, {}, real=True) as number:
        assert number == 0
    with rundir.domain(None, {"ROS_DOMAIN_ID": "13"}, real=True) as number:
        assert number == 13
    with rundir.domain(None, {}) as one:  # tests and teams with other states take the same locks
        numbers = iter((one, 99))
        taken = take_domain(numbers)
        assert taken is not None and taken[0] == 99
        taken[1].close()
    with pytest.raises(rundir.DomainError, match="expected a number from 0 to 232"):
        with rundir.domain(None, {"ROS_DOMAIN_ID": "home"}):
            pass


def test_a_domain_that_somebody_listens_in_is_not_taken() -> None:
    with rundir.domain(None, {}) as first:
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 7400 + 250 * first + 11))
        assert domain_in_use(first)
        with rundir.domain(None, {}) as second:
            assert second != first


def test_shared_memory_of_the_dead_is_removed_and_that_of_the_living_kept(tmp_path: Path) -> None:
    for name in ("fastrtps_dead", "fastrtps_alive", "fastrtps_port7411", "other"):
        (tmp_path / name).write_text("data")
        (tmp_path / f"{name}_el").write_text("")
    with (tmp_path / "fastrtps_alive_el").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert rundir.clean_shared_memory(tmp_path) == 2
    left = {p.name for p in tmp_path.iterdir() if p.is_file()}
    assert left == {
        "fastrtps_alive", "fastrtps_alive_el", "fastrtps_port7411", "fastrtps_port7411_el",
        "other", "other_el",
    }  # fmt: skip


def test_a_second_team_with_all_the_same_names_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    team = parse_team("world: {kind: embedded}\nrobots: [{name: rover}]\ndomain: 55\n")
    moved = team.model_copy(update={"namespace": "lab"})
    monkeypatch.setattr(teamrun, "programs", lambda *_: [])
    with teamrun.prepared(team):
        with pytest.raises(CommandError, match="runs in domain 55 already"), teamrun.prepared(team):
            pass
        with teamrun.prepared(moved):
            pass
    with teamrun.prepared(team):
        pass


@pytest.mark.parametrize(("line", "number"), [("", 0), ("domain: 55", 55)])
def test_real_robots_are_looked_for_where_their_drivers_are(
    monkeypatch: pytest.MonkeyPatch, line: str, number: int
) -> None:
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    monkeypatch.setattr(teamrun, "programs", lambda *_: [])
    monkeypatch.setattr(teamrun, "ensure_interfaces", lambda team: None)
    team = parse_team(f"world: {{kind: real}}\nrobots: [{{name: dog, adapter: {{}}}}]\n{line}\n")
    with teamrun.prepared(team) as run:
        assert run.domain == number and run.environment["ROS_DOMAIN_ID"] == str(number)


def test_a_process_that_ended_and_that_nobody_has_waited_for_yet_does_not_live() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    birth = rundir.process_birth(child.pid)
    assert birth > 0
    assert child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie from here on
    assert rundir.process_birth(child.pid) == 0
    child.wait()
