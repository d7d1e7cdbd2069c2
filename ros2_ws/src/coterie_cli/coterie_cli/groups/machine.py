"""Commands that set up, look at and test the installation."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def doctor() -> None:
    """Show what is installed and whether everything that a team needs is reachable."""
    from coterie_cli.doctor import doctor as run

    raise typer.Exit(run())


@app.command(context_settings={"ignore_unknown_options": True})
def test(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PYTEST",
            help="Options, files and folders for pytest, which alone runs then; default: all.",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Only lint and two minutes of tests, of every package."),
    ] = False,
) -> None:
    """Run ruff, mypy, the ROS-free tests, the ROS tests and the studies' tests.

    With options or paths, such as -m ros, -k stop or tests/docs, run pytest with just these.
    """
    from coterie_cli.testing import run_tests

    raise typer.Exit(run_tests(words or (), quick=quick))


@app.command()
def setup() -> None:
    """Set up what is missing (the script ./coterie does it before this program starts)."""
    from coterie_bringup.errors import CommandError
    from coterie_cli.clone import repository

    try:
        repository()
    except FileNotFoundError:
        raise CommandError(
            "there is no clone of Coterie here to set up; pip installs what the wheel is to do "
            "beside: pip install 'coterie[mcp]'"
        ) from None
    print("Coterie is set up. `./coterie doctor` shows what is installed.")
