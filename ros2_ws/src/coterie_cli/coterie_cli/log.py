"""`./coterie log`: what robots were to do, who permitted it, how it ended; is it unaltered?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import running_teams, state_root
from coterie_cli.options import AsJson, RanTeam
from coterie_core.yaml_checks import suggestion
from coterie_llm import inline_data
from coterie_safety.ledger import KINDS, Entry, LedgerFault, check, entries
from coterie_safety.why.words import entry_words

app = typer.Typer(add_completion=False)
Folder = Annotated[
    Path | None, typer.Option(file_okay=False, help="Folder of the log, instead of a team's name.")
]


_AGO = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def folder_of(team: str, folder: Path | None) -> Path:
    """Return the folder of the log that is meant: given, of a team by name, or of the last team.

    Raises:
        CommandError: There is none, or several teams run.
    """
    if folder is not None:
        if not folder.is_dir():
            raise CommandError(f"{folder}: no such folder")
        return folder
    running = {state.team: Path(state.log) for state in running_teams() if state.log}
    if team:
        if team in running:
            return running[team]
        found = [path for name, path in _kept() if name == team]
    else:
        if len(running) > 1:
            raise CommandError(f"several teams run here: give --team {' or '.join(running)}")
        found = [*running.values(), *(path for _, path in _kept())]
    if not found:
        raise CommandError(f"no log of {team or 'any team'} is kept on this computer")
    return found[0]


def _kept() -> Iterator[tuple[str, Path]]:
    """Yield the logs of teams that ran, with the teams' names, newest first."""
    root = state_root()
    real = [(path.parent.name, path) for path in root.glob("log/*/head.json")]
    runs = [
        (re.sub(r"^\d+-\d+-|-\d+(-\d+)?$", "", path.parents[1].name), path)
        for path in root.glob("runs/*/log/head.json")
    ]
    for name, head in sorted([*real, *runs], key=lambda one: -one[1].stat().st_mtime):
        yield name, head.parent


def moment(text: str) -> datetime:
    """Return a moment: some time ago (`10m`, `2h`, `3d`), or a date with or without a time.

    Raises:
        CommandError: It is none.
    """
    found = _AGO.fullmatch(text.strip().lower())
    if found is not None:
        ago = timedelta(seconds=float(found[1]) * _UNITS[found[2]])
        return datetime.now(timezone.utc) - ago
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except ValueError:
        raise CommandError(
            f"--since: {text!r} is no moment; for example 10m, 2h, 2026-05-01 or 2026-05-01T08:00"
        ) from None


@app.callback(invoke_without_command=True)
def log(
    context: typer.Context,
    robot: Annotated[str, typer.Option(help="Name of a robot; default: all.")] = "",
    since: Annotated[
        str, typer.Option(metavar="TIME", help="Moment of the first entry: 10m ago, 2026-05-01.")
    ] = "",
    kind: Annotated[str, typer.Option(help="Kind of entries, such as refusal; default: all.")] = "",
    team: RanTeam = "",
    folder: Folder = None,
    as_json: AsJson = False,
) -> int:
    """Show the log of goals, permits and results, whose entries are chained by hash."""
    if context.invoked_subcommand is not None:
        return 0
    return show(folder_of(team, folder), robot, since, kind, as_json)


def show(folder: Path, robot: str, since: str, kind: str, as_json: bool) -> int:
    """Print entries of a log; return 0, or 1 where the log is not as it was written.

    Raises:
        CommandError: An option cannot be used.
    """
    if kind and kind not in KINDS:
        raise CommandError(f"--kind: {kind!r}{suggestion(kind, KINDS)}")
    begin = moment(since) if since else None
    console = Console(highlight=False)
    table = Table("nr", "time", "robot", "kind", "what", box=None)
    fault = ""
    try:
        for entry in entries(folder):
            at = datetime.fromisoformat(entry.at)
            if (robot and entry.robot != robot) or (kind and entry.kind != kind):
                continue
            if begin is not None and at < begin:
                continue
            if as_json:
                print(json.dumps({k: getattr(entry, k) for k in Entry.__slots__}))
            else:
                when = at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
                goal = inline_data(str(entry.body.get("goal", ""))[:6])
                what = escape(f"{goal} {entry_words(entry)}".strip())
                table.add_row(str(entry.seq), when, escape(entry.robot), entry.kind, what)
    except LedgerFault as error:
        fault = str(error)
    if not as_json:
        console.print(table if table.row_count else "no such entries")
    if fault:
        Console(stderr=True, highlight=False).print(
            f"{escape(str(folder))}: {escape(fault)}", style="red"
        )
    return 1 if fault else 0


@app.command("verify")
def verify(
    team: RanTeam = "",
    folder: Folder = None,
    head: Annotated[
        str, typer.Option(metavar="HASH", help="Hash of an entry that has to be in the log.")
    ] = "",
) -> int:
    """Say whether any entry was altered, removed, moved or cut off."""
    folder = folder_of(team, folder)
    told = check(folder)
    if told.fault:
        print(f"{folder}: {told.fault}")
        return 1
    if head and not any(entry.hash == head.strip().lower() for entry in entries(folder)):
        print(
            f"{folder}: no entry has the hash {inline_data(head)}: the log was written anew, or cut"
        )
        return 1
    print(f"{folder}: {told.entries} entries, all as they were written")
    print(f"last hash {told.head}")
    return 0
