"""Commands that show what teams and people can do."""

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
            help="Seed of the house and the start places; default: that of the team file."
        ),
    ] = None,
    world: Annotated[
        str,
        typer.Option(
            help="Kind of world: embedded (generated house), habitat (the same house in it) "
            "or graph."
        ),
    ] = "embedded",
    out: Out = None,
    team: Annotated[
        Path | None, typer.Option(**TEAM, help="Path or name of the team file; default: demo.")
    ] = None,
    model: Model = None,
    domain: Domain = None,
    open_report: Annotated[
        bool, typer.Option("--open", help="Open the report in the browser.")
    ] = False,
) -> None:
    """Three robots explore a house in real ROS processes and answer forty questions."""
    from coterie_cli.demo.command import DemoOptions
    from coterie_cli.demo.command import demo as run

    options = DemoOptions(
        team_file=team,
        seed=seed,
        world=world,
        model=model,
        out=out or Path("out/demo"),
        domain=domain,
    )
    raise typer.Exit(run(options, open_report=open_report))


@app.command()
def tour(
    team: Annotated[
        Path | None, typer.Option(**TEAM, help="Path or name of the team file; default: home.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the house; default: the team file's.")
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
            help="Question to ask after the tour; may be given again; default: chosen by the house."
        ),
    ] = None,
    find: Annotated[
        list[str] | None,
        typer.Option(
            help="Request to find objects by after the tour; may be given again; default: "
            "chosen by the house."
        ),
    ] = None,
    model: Model = None,
    out: Out = None,
    domain: Domain = None,
) -> None:
    """Robots explore a house and map it; then they are asked what only a map can tell."""
    from coterie_cli.tour.command import TourOptions
    from coterie_cli.tour.command import tour as run

    options = TourOptions(
        team_file=team,
        seed=seed,
        steps=steps,
        world=world,
        model=model,
        out=out or Path("out/tour"),
        domain=domain,
        ask=tuple(ask or ()),
        find=tuple(find or ()),
    )
    raise typer.Exit(run(options))
