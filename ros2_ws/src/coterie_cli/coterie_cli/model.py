"""`./coterie model`: checks of language models."""

from __future__ import annotations

import typer

from coterie_cli.research import add_study

app = typer.Typer(add_completion=False, no_args_is_help=True)
add_study(app, "model check")


@app.callback()
def model() -> None:
    """Check a language model."""
