"""`./coterie do`: a team does what it is told, while a person looks on."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any, Protocol

import typer
from rich.console import Console

from coterie_bringup.errors import CommandError
from coterie_bringup.resources import shipped_team
from coterie_bringup.rundir import RunState, choose_team, named_teams, running_teams
from coterie_bringup.running_team import TeamRun
from coterie_bringup.signals import ended_by_signals
from coterie_bringup.team import Team, load_team
from coterie_bringup.team_models import with_model
from coterie_cli.commands import command
from coterie_cli.do.options import DoOptions
from coterie_cli.exit_codes import Exit, told
from coterie_cli.own_team import own_team

app = typer.Typer(add_completion=False)


TEAM_THERE = 180.0
"""How long a team that was started may take until it can be spoken to [s]."""


class Work(Protocol):
    """What a team is given, and how it is shown; `team`: which is started for it."""

    team: str

    def of_running(self, state: RunState) -> None:
        """Take note of the running team, or raise CommandError where that cannot do it."""

    def of_own(self, team: Team) -> Team:
        """Return the team that is to be started."""

    async def give(self, state: RunState, patience: float) -> None:
        """Give it to the team, which may take `patience` until it is there [s]; show it."""

    def interrupted(self) -> str:
        """Note that it ended early; return that in words."""

    def save(self) -> list[Path]:
        """Write the result; return the files."""

    def as_data(self) -> dict[str, Any]:
        """Return the result for JSON."""

    def show(self) -> None:
        """Show the result."""

    def exit_code(self) -> int:
        """Return 0 only where all was done."""


@command(app, "do", DoOptions, epilog=told("do"))
def do(options: DoOptions) -> int:
    """Give a task to a team, and show how it goes."""
    console = Console(stderr=options.as_json)
    work = _work(options, console)
    try:
        running = _running(options)
        if running:
            state = choose_team(running, options.domain, os.environ.get("ROS_DOMAIN_ID", ""))
            work.of_running(state)
            asyncio.run(_with_running(work, state))
        else:
            file = options.team or shipped_team(work.team)
            team = work.of_own(with_model(load_team(file), options.model))
            with own_team(team, options.domain, console) as run:
                asyncio.run(_with_own(work, run))
    except asyncio.CancelledError:
        text = f"do: {work.interrupted()}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        _save(work, console)
        return Exit.INTERRUPTED
    _save(work, console)
    if options.as_json:
        print(json.dumps(work.as_data(), indent=1))
    else:
        work.show()
    return work.exit_code()


def _work(options: DoOptions, console: Console) -> Work:
    if options.together:
        from coterie_cli.do.together import SharedGoal

        return SharedGoal(options, console)
    if options.name or options.world:
        raise CommandError("--name and --world are for --together")
    from coterie_cli.do.led import LedTask

    return LedTask(options, console)


def _running(options: DoOptions) -> list[RunState]:
    """Return the running teams that may be meant; none: one is to be started."""
    if options.world is not None or (options.together and options.model is not None):
        return []
    teams = [team for team in running_teams() if options.domain in (None, team.domain)]
    try:
        return named_teams("" if options.team is None else str(options.team), teams)
    except CommandError:  # it does not run
        return []


def _save(work: Work, console: Console) -> None:
    for file in work.save():
        console.print(f"  {file}", style="dim", markup=False, highlight=False)


async def _with_running(work: Work, state: RunState) -> None:
    async with ended_by_signals():
        await work.give(state, 5.0)


async def _with_own(work: Work, run: TeamRun) -> None:
    async with ended_by_signals():
        await run.beside(work.give(run.state, TEAM_THERE))
