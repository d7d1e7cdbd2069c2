"""Options of `./coterie do`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from coterie_cli.options import TEAM, AsJson, Domain, Model, Out


@dataclass(frozen=True, slots=True)
class DoOptions:
    """What a team is to do, and which team."""

    task: Annotated[
        list[str] | None,
        typer.Argument(
            help='Task in words, such as "Bring all mugs to the kitchen counter"; with --together '
            'predicates with counts, such as "ON(mug, counter): 2".'
        ),
    ] = None
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="The robots share a goal and have no leader; without a task: the team file's.",
        ),
    ] = False
    name: Annotated[
        str, typer.Option(help="Name of the shared goal, in words; default: the team file's.")
    ] = ""
    team: Annotated[
        Path | None,
        typer.Option(
            **TEAM,
            help="Path or name of the team; it is started where it does not run. Default: the team "
            "that runs, or emos; with --together reveca.",
        ),
    ] = None
    world: Annotated[
        str | None,
        typer.Option(
            help="Kind of world for a shared goal instead of the team file's: embedded or habitat."
        ),
    ] = None
    model: Model = None
    out: Out = Path("out/do")
    domain: Domain = None
    max_time: Annotated[
        float, typer.Option(min=0.0, help="Limit of simulated time [s]; 0: the team's own limit.")
    ] = 0.0
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with the task of --out that ended early; what is done counts."
        ),
    ] = False
    as_json: AsJson = False
