"""Runs that a team goes on with, and teams that are ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coterie_bringup import rundir
from coterie_bringup.errors import CommandError
from coterie_bringup.resuming import end, note_run, run_to_resume, team_to_end
from coterie_bringup.team import Team, parse_team


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    return tmp_path


def team(name: str = "duo", seed: int = 3) -> Team:
    return parse_team(
        f"name: {name}\nworld: {{kind: embedded, seed: {seed}}}\n"
        "robots:\n  - {name: ada, embodiment: wheels, role: explorer}\n",
        f"my_{name}.yaml",
        Path("lab"),
    )


def run(of: Team) -> Path:
    directory = rundir.new_run(of.name)
    note_run(directory, of)
    return directory


def used(directory: Path, ago: float) -> None:
    """Set when a run was last used [s before now]."""
    os.utime(directory, (time.time() - ago,) * 2)


def test_a_team_goes_on_with_its_last_run_that_ended():
    first, second = run(team()), run(team())
    run(team("other"))
    used(second, 10.0)
    assert run_to_resume(team(), None) == first
    assert run_to_resume(team(), second) == second
    with rundir.registered(rundir.own_state("duo", 7, first)):
        assert run_to_resume(team(), None) == second
        with pytest.raises(CommandError, match=r"of a team that runs; end it: \./coterie down"):
            run_to_resume(team(), first)


def test_runs_that_cannot_be_gone_on_with_say_why(state: Path):
    with pytest.raises(CommandError, match="no run of team duo that ended is kept"):
        run_to_resume(team(), None)
    here = run(team())
    with pytest.raises(CommandError, match="of team duo, not of trio"):
        run_to_resume(team("trio"), here)
    with pytest.raises(CommandError, match=r"another house \(seed 3\); the team's world is seed 4"):
        run_to_resume(team(seed=4), here)
    with pytest.raises(CommandError, match=r"resume:=: .* of team duo"):
        run_to_resume(team("trio"), here, option="resume:=")
    with pytest.raises(CommandError, match="no such folder; expected that of a run"):
        run_to_resume(team(), state / "nowhere")
    with pytest.raises(CommandError, match="one of an older version"):
        run_to_resume(team(), rundir.new_run("duo"))
    note = here / "run.json"
    for text, told in [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        (json.dumps(json.loads(note.read_text()) | {"format": 99}), "another version"),
        (json.dumps(json.loads(note.read_text()) | {"house": 3}), "another version"),
    ]:
        note.write_text(text)
        with pytest.raises(CommandError, match=told):
            run_to_resume(team(), here)


def test_runs_that_were_gone_on_with_are_not_the_first_to_be_tidied_away(monkeypatch):
    monkeypatch.setattr(rundir, "KEPT_RUNS", 2)
    old, middle, new = (run(team()) for _ in range(3))
    used(old, -10.0)
    used(new, 5.0)
    used(middle, 10.0)
    run(team("other"))  # its name is not one that was set free
    assert old.is_dir() and new.is_dir() and not middle.is_dir()


def test_a_running_team_is_ended_by_its_name():
    with pytest.raises(CommandError, match="no team runs on this computer"):
        team_to_end("")
    # Tests that run in a shell's background hand on that SIGINT is ignored.
    waiting = "import time\ntry: time.sleep(60)\nexcept KeyboardInterrupt: pass"
    child = subprocess.Popen(["env", "--default-signal=INT", sys.executable, "-c", waiting])
    while not Path(f"/proc/{child.pid}/cmdline").read_bytes().startswith(sys.executable.encode()):
        time.sleep(0.01)
    running = rundir.own_state("duo", 7, run(team()))
    running.pid, running.pid_birth = child.pid, rundir.process_birth(child.pid)
    with rundir.registered(running):
        with pytest.raises(CommandError, match="no team 'dou' runs here; did you mean 'duo'"):
            team_to_end("dou")
        with pytest.raises(CommandError, match="no team runs on this computer in ROS domain 9"):
            team_to_end("duo", 9)
        with rundir.registered(rundir.own_state("trio", 8, run(team("trio")))):
            with pytest.raises(CommandError, match="several teams run here"):
                team_to_end("")
            assert team_to_end("", 8).team == "trio"
            assert team_to_end("duo").pid == child.pid
            assert team_to_end("my_duo").pid == child.pid  # begun by ./coterie up my_duo
        try:
            ended = end(team_to_end("duo"), 0.05)
            child.wait(20.0)  # a process that nobody waited for still has its number
            assert end(running, 20.0) or ended
        finally:
            child.kill()
    assert not running.alive
