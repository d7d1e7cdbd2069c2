"""`./coterie team`: check team files, write folders for hosts, make keys."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from coterie_bringup.team import Team, load_team
from coterie_bringup.trust import Act, acts, untrusted
from coterie_cli.deploy import deploy
from coterie_cli.options import TEAM
from coterie_cli.security import security
from coterie_core.own_classes import load_own
from coterie_core.yaml_marks import FileProblem

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def team() -> None:
    """Check a team file, prepare its deployment to several computers, make its keys."""


@app.command("check")
def team_check(
    files: Annotated[
        list[Path],
        typer.Argument(
            **TEAM, help="Paths of team files, or names of teams that come with Coterie."
        ),
    ],
) -> int:
    """Check team files: all mistakes with line, field and nearest name; what they run and send."""
    failed = False
    for file in files:
        try:
            team = load_team(file)
        except FileProblem as error:
            print(error, file=sys.stderr)
            failed = True
        else:
            from coterie_cli.rehearsal import rehearse  # makes houses

            new = set(untrusted(team))
            problems = [*rehearse(team), *_strange_classes(team, new)]
            if problems:
                print("\n".join(f"{file}: {problem}" for problem in problems), file=sys.stderr)
                failed = True
                continue
            print(f"{file}: team {team.name}, {len(team.robots)} robots, {team.mode}: good")
            for act in acts(team):
                print(f"  {act}" + ("; not agreed to yet" if act in new else ""))
            if new:
                print(f"  agree with `./coterie up {file} --trust`")
            if any(act.target in team.own_classes.values() for act in new):
                print("  code of your own is not looked at before it is agreed to")
    return 2 if failed else 0


def _strange_classes(team: Team, new: Collection[Act]) -> list[str]:
    """Return what is wrong with classes of the user's own that are agreed to and run here."""
    problems = []
    for act in acts(team):
        if act not in new and not team.hosts and act.target == team.own_classes.get(act.field):
            try:
                load_own(act.target, act.field, "a class or function")
            except ValueError as error:
                problems.append(str(error))
    return problems


app.command("deploy")(deploy)
app.command("security")(security)
