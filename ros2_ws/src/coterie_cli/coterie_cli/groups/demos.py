"""The command that shows what a team can do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie_cli.options import TEAM, Domain, Model, Out

app = typer.Typer()


@app.command()
def demo(
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Seed of the house and the start places; default: that of the team file."
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Number of hops per robot; default: the team file's.")
    ] = None,
    world: Annotated[
        str,
        typer.Option(
            help="Kind of world: embedded (generated house) or habitat (the same house in it)."
        ),
    ] = "embedded",
    ask: Annotated[
        list[str] | None,
        typer.Option(
            help="Question to ask when the house is explored; may be given again; default: chosen "
            "by the house."
        ),
    ] = None,
    find: Annotated[
        list[str] | None,
        typer.Option(
            help="Request to find objects by; may be given again; default: chosen by the house."
        ),
    ] = None,
    voting: Annotated[
        bool,
        typer.Option(
            "--voting",
            help="Put the team file's number of questions at the end, and compare the ways of "
            "making one answer of the robots' answers.",
        ),
    ] = False,
    team: Annotated[
        Path | None, typer.Option(**TEAM, help="Path or name of the team file; default: home.")
    ] = None,
    model: Model = None,
    out: Out = None,
    domain: Domain = None,
    show: Annotated[bool, typer.Option("--open", help="Open the picture of the map.")] = False,
) -> None:
    """Robots explore a house and map it; then they answer what only they can know."""
    from coterie_cli.demo.command import DemoOptions
    from coterie_cli.demo.command import demo as run

    options = DemoOptions(
        team_file=team,
        seed=seed,
        steps=steps,
        world=world,
        model=model,
        out=out or Path("out/demo"),
        domain=domain,
        ask=tuple(ask or ()),
        find=tuple(find or ()),
        voting=voting,
    )
    raise typer.Exit(run(options, show=show))
