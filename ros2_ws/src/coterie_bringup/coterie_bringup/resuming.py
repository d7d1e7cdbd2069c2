"""Runs that can go on: what a run is of, which one is the last, and how a running team is ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path

from coterie_bringup.errors import CommandError
from coterie_bringup.memory import house_identity
from coterie_bringup.run_note import FORMAT, NOTE, read_note
from coterie_bringup.rundir import RunState, named_teams, running_teams, state_root
from coterie_bringup.team import Team
from coterie_core.files import write_atomically


def note_run(directory: Path, team: Team) -> None:
    """Write down what a run is of, so that another start can go on with it.

    Raises:
        OSError: The folder cannot be written.
    """
    note = {
        "format": FORMAT,
        "team": team.name,
        "house": house_identity(team),
        "file": "" if team.file is None else str(team.file),
    }
    write_atomically(directory / NOTE, json.dumps(note, indent=1) + "\n")


def run_to_resume(team: Team, directory: Path | None, *, option: str = "--resume") -> Path:
    """Return the folder of the run that a team goes on with.

    Args:
        team: The team, as its file says now.
        directory: The run's folder; None: the team's last run that ended.
        option: What asked for it, for errors.

    Raises:
        CommandError: There is none, it goes on, or it is of another team or house.
    """
    busy = {Path(state.directory) for state in running_teams()}
    if directory is None:
        found = _last(team.name, busy)
        if found is None:
            raise CommandError(
                f"{option}: no run of team {team.name} that ended is kept on this computer; start "
                "it anew"
            )
        directory = found
    directory = directory.expanduser().absolute()
    note = read_note(directory)
    if directory in busy:
        raise CommandError(f"{option}: {directory} is of a team that runs; end it: ./coterie down")
    if note.team != team.name:
        raise CommandError(f"{option}: {directory} is of team {note.team}, not of {team.name}")
    if note.house != (house := house_identity(team)):
        raise CommandError(
            f"{option}: {directory} is of another house ({note.house}); the team's world is {house}"
        )
    return directory


def _last(team: str, busy: set[Path]) -> Path | None:
    """Return the run of a team that ended last."""
    found: list[tuple[float, Path]] = []
    for file in (state_root() / "runs").glob(f"*/{NOTE}"):
        if file.parent not in busy:
            with contextlib.suppress(CommandError, OSError):
                if read_note(file.parent).team == team:
                    found.append((file.parent.stat().st_mtime, file.parent))
    return max(found)[1] if found else None


def team_to_end(name: str, domain: int | None = None) -> RunState:
    """Return the running team with a name, or begun by that of a file (`demo`); "": the only one.

    Args:
        name: Of the team.
        domain: ROS domain that it runs in; None: any.

    Raises:
        CommandError: None runs, several do, or it has no such name.
    """
    teams = [state for state in running_teams() if domain in (None, state.domain)]
    if not teams:
        where = "" if domain is None else f" in ROS domain {domain}"
        raise CommandError(f"no team runs on this computer{where}")
    chosen = named_teams(name, teams)
    if len(chosen) > 1:
        told = ", ".join(f"{s.team} (domain {s.domain}, process {s.pid})" for s in chosen)
        raise CommandError(f"several teams run here: {told}; give --team, or --domain")
    return chosen[0]


def end(state: RunState, timeout: float) -> bool:
    """End a running team as Ctrl-C does; False where it has not ended in time [s].

    Raises:
        CommandError: Its process is somebody else's.
    """
    try:
        os.kill(state.pid, signal.SIGINT)
    except ProcessLookupError:
        return True
    except PermissionError:
        raise CommandError(
            f"team {state.team} is run by another user (process {state.pid})"
        ) from None
    until = time.monotonic() + timeout
    while state.alive:
        if time.monotonic() >= until:
            return False
        time.sleep(0.05)
    return True
