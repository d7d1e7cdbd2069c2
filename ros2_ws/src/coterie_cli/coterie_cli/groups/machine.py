"""Commands that set up, look at and test the installation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def doctor() -> None:
    """Show what is installed and whether everything that a team needs is reachable."""
    from coterie_cli.doctor import doctor as run

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
    from coterie_cli.testing import run_tests

    raise typer.Exit(run_tests(marker, keyword, paths or ()))


@app.command()
def docs(
    build: Annotated[
        bool, typer.Option("--build", help="The site is built into a folder and not served.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Folder for the built site; default: out/docs."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port on localhost that the site is served on.")
    ] = 8000,
) -> None:
    """Build the documentation's site and serve it on localhost; pages that change are built anew.

    The build is strict: a link that leads nowhere ends it with exit code 1.
    """
    from coterie_cli.docs import docs as run

    raise typer.Exit(run(only_build=build, out=out, port=port))


@app.command()
def sbom(
    out: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Path of the file; default: standard output."),
    ] = None,
) -> None:
    """Write the bill of materials: Python packages, models and data, with their licences."""
    from coterie_cli.sbom import sbom as run

    raise typer.Exit(run(out))


@app.command()
def setup() -> None:
    """Set up what is missing (the script ./coterie does it before this program starts)."""
    from coterie_bringup.errors import CommandError
    from coterie_cli.testing import repository

    try:
        repository()
    except FileNotFoundError:
        raise CommandError(
            "there is no clone of Coterie here to set up; pip installs what the wheel is to do "
            "beside: pip install 'coterie[mcp]'"
        ) from None
    print("Coterie is set up. `./coterie doctor` shows what is installed.")
