"""Commands on language models."""

from __future__ import annotations

import typer

from coterie_cli.research import add_study

model_app = typer.Typer(help="Checks of language models.", no_args_is_help=True)


@model_app.callback()
def _models() -> None:
    """Checks of language models."""


add_study(model_app, "model check")
