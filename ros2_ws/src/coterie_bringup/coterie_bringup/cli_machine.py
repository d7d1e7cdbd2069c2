"""Commands that set up, look at and test the installation."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def doctor() -> None:
    """Show what is installed and whether everything that a team needs is reachable."""
    from coterie_bringup.doctor import doctor as run

    raise typer.Exit(run())


@app.command()
def test(
    marker: Annotated[
        str | None,
        typer.Option(
            "-m",
            metavar="EXPR",
            help="Expression of pytest's markers, such as ros, slow or 'not slow'.",
        ),
    ] = None,
    keyword: Annotated[
        str | None,
        typer.Option(
            "-k", metavar="EXPR", help="Expression of parts of tests' names, as pytest's -k."
        ),
    ] = None,
    paths: Annotated[
        list[str] | None, typer.Argument(help="Paths of files or folders with tests; default: all.")
    ] = None,
) -> None:
    """Run ruff, mypy, the ROS-free tests, then the ROS tests; with a selection, just those."""
    from coterie_bringup.testing import run_tests

    raise typer.Exit(run_tests(marker, keyword, paths or ()))


@app.command()
def setup() -> None:
    """Set up what is missing (the script ./coterie does it before this program starts)."""
    print("Coterie is set up. `./coterie doctor` shows what is installed.")
