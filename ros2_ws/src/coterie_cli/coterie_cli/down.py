"""`./coterie down`: end a running team in order."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from coterie_bringup.errors import CommandError
from coterie_bringup.resuming import end, team_to_end
from coterie_bringup.run_note import read_note
from coterie_bringup.rundir import RunState
from coterie_cli.options import RunningTeam, TeamDomain

app = typer.Typer(add_completion=False)


LEADER_THERE = 10.0
"""How long a leader may take to be found [s]."""
ROOM = 1_000_000
"""With less than this left on the disk not everything can have been written [bytes]."""


@app.command("down")
def down(
    old: Annotated[
        str, typer.Argument(metavar="TEAM", hidden=True, help="The same, for one version.")
    ] = "",
    team: RunningTeam = "",
    domain: TeamDomain = None,
    timeout: Annotated[
        float, typer.Option(min=0.0, help="Longest time until it has ended [s].")
    ] = 30.0,
) -> int:
    """End a running team, its task first; ./coterie up TEAM --resume goes on with it.

    Exit code 0: it has ended; 1: it has not within the time; 2: no such team runs here.
    """
    if old:  # for one version
        print(f"coterie: say ./coterie down --team {old}: 0.4 takes only that", file=sys.stderr)
    state = team_to_end(team or old, domain)
    if asyncio.run(_cancelled(state)):
        print(f"team {state.team}: the task in work was cancelled")
    if not end(state, timeout):
        print(
            f"coterie: team {state.team} (process {state.pid}) did not end within {timeout:g} s",
            file=sys.stderr,
        )
        return 1
    kept = "keeps what it knew"
    if shutil.disk_usage(state.directory).free < ROOM:
        kept = "keeps what it knew until the disk was full; what came then may be missing"
    print(f"team {state.team}: ended; {state.directory} {kept}")
    with contextlib.suppress(CommandError):  # it was begun by ros2 launch of an older version
        print(f"go on with it: {_resuming(state)}")
    return 0


def _resuming(state: RunState) -> str:
    """Return the command that goes on with a team here.

    Raises:
        CommandError: Its run cannot be gone on with.
    """
    file = read_note(Path(state.directory)).file or state.team
    share = f" --host {state.host}" if state.host else ""
    return f"./coterie up {shlex.quote(file)}{share} --resume"


async def _cancelled(state: RunState) -> bool:
    """Cancel the task that a team works on, and wait until its robots stand; False: none goes on.

    What fails here must not keep a team from ending. Where the leader runs on another host, its
    task goes on without the robots of this one.
    """
    if not state.leads:
        return False
    from coterie_bringup.spinning import in_loop
    from coterie_bringup.task_record import TaskRecord
    from coterie_bringup.task_watcher import watching
    from coterie_ros.clients import NoAnswer

    try:
        with watching(
            state.robots,
            TaskRecord(""),
            **state.reach,
        ) as watcher:
            if not await in_loop(watcher, watcher.leader_there(LEADER_THERE)):
                return False
            if not await in_loop(watcher, watcher.cancel()):
                return False
            await asyncio.to_thread(watcher.wait_stopped)
            return True
    except (CommandError, NoAnswer) as error:
        print(f"coterie: the task in work could not be cancelled: {error}", file=sys.stderr)
        return False
