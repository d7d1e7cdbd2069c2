"""A team is ended in the midst of its work, and goes on: nothing is lost, nothing acts alone."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coterie_fixtures.commands import coterie
from coterie_fixtures.ros_harness import patience

pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(900)]

PATIENCE = 200.0
TEAM = """\
name: crew
world: {kind: embedded, seed: 31, floors: 1, noise: none}
mode: real_time
seed: 31
robots:
  - {name: rover, embodiment: wheels, role: worker, start: {room: bathroom}}  # in nobody's way
  - {name: walker, embodiment: legs, role: worker}
leader: {prior_map: everything}
"""


def world(state: Path) -> dict[str, Any]:
    """Return the simulated house as it is kept: truth that no robot of the team reads."""
    (file,) = state.glob("runs/*/world/world.json")
    kept: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return kept


def told(*words: str, domain: int, code: int = 0) -> str:
    """Run a command to its end; return what it says."""
    process = coterie(*words, domain=domain)
    output, _ = process.communicate(timeout=patience(PATIENCE))
    assert process.returncode == code, output
    return output


def lines_until(process: subprocess.Popen[str], words: str) -> list[str]:
    """Return what a command says until a line has some words in it."""
    assert process.stdout is not None
    lines: list[str] = []
    giving_up = threading.Timer(PATIENCE, process.kill)  # ends the lines, too
    giving_up.start()
    try:
        for line in process.stdout:
            lines.append(line)
            if words in line:
                return lines
    finally:
        giving_up.cancel()
    pytest.fail(f"it ended without {words!r}:\n{''.join(lines)}")


@pytest.fixture
def team_file(tmp_path: Path) -> Path:
    file = tmp_path / "crew.yaml"
    file.write_text(TEAM)
    return file


@pytest.fixture
def begun(team_file: Path, ros_domain: int, state_folder: Path) -> Iterator[list[Any]]:
    """Commands that must not outlive a test that failed."""
    commands: list[Any] = []
    yield commands
    for process in commands:
        if process.poll() is None:
            process.kill()
        process.stdout.close()


def test_a_team_goes_on_after_down_with_what_it_held_knew_and_was_forbidden(
    team_file: Path, ros_domain: int, state_folder: Path, begun: list[Any], tmp_path: Path
) -> None:
    up = coterie("up", str(team_file), domain=ros_domain)
    begun.append(up)
    lines_until(up, "up after")
    holder, other = "walker", "rover"
    told("stop", other, "--reason", "the floor is wet", domain=ros_domain)
    out = str(tmp_path / "do")
    words = "Bring a mug to the kitchen counter"
    task = coterie("do", words, "--out", out, domain=ros_domain)
    begun.append(task)
    lines_until(task, f"{holder} did pick up")
    ended = told("down", domain=ros_domain)
    assert "the task in work was cancelled" in ended and "--resume" in ended
    output, _ = task.communicate(timeout=patience(PATIENCE))
    assert task.returncode == 1 and "CANCELLED" in output, output  # who gave it need not wait
    assert up.wait(PATIENCE) == 0
    before = world(state_folder)
    held = before["robots"][holder].get("holding")
    assert held, before["robots"]

    team_file.write_text(TEAM.replace("real_time", "lockstep"))  # the rest need not be watched
    again = coterie("up", str(team_file), "--resume", domain=ros_domain)
    begun.append(again)
    lines_until(again, "up after")
    done = coterie("do", "--resume", "--out", out, domain=ros_domain)
    begun.append(done)
    first = lines_until(done, "execution")
    output, _ = done.communicate(timeout=patience(PATIENCE))
    assert done.returncode in (0, 3), "".join(first) + output
    told("down", domain=ros_domain)
    assert again.wait(PATIENCE) == 0
    after = world(state_folder)
    assert after["robots"][other] == before["robots"][other], "a stopped robot moved"
    assert not after["robots"][holder].get("holding"), output
    assert after["things"][held]["room"] == "kitchen", (after["things"][held], output)
