"""The command line behind ``./coterie``."""

from __future__ import annotations

import typer

from coterie_bringup import testing

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A team of household robots.")
app.command("test")(testing.test)


@app.command()
def setup() -> None:
    """Set up what is missing (done by the time this runs: ./coterie does it before)."""
    typer.echo("Coterie is set up.")


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
