"""`./coterie team`: check team files, write folders for hosts, make keys."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from coterie_bringup.team import load_team
from coterie_bringup.trust import acts, untrusted
from coterie_cli.deploy import deploy
from coterie_cli.options import TEAM
from coterie_cli.security import security
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

            problems = rehearse(team)
            if problems:
                print("\n".join(f"{file}: {problem}" for problem in problems), file=sys.stderr)
                failed = True
                continue
            print(f"{file}: team {team.name}, {len(team.robots)} robots, {team.mode}: good")
            new = set(untrusted(team))
            for act in acts(team):
                print(f"  {act}" + ("; not agreed to yet" if act in new else ""))
            if new:
                own = "; no class of your own was looked at" if team.own_classes else ""
                print(f"  agree with `./coterie up {file} --trust`{own}")
    return 2 if failed else 0


app.command("deploy")(deploy)
app.command("security")(security)
