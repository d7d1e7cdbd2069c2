"""Commands on language models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie_cli.options import AsJson

app = typer.Typer()
model_app = typer.Typer(help="Checks of language models.", no_args_is_help=True)


@app.command()
def prompt(
    name: Annotated[
        str, typer.Argument(metavar="DECISION", help="Decision, such as emos.split_task.")
    ],
    seed: Annotated[int, typer.Option(min=0, help="Seed of the house and its tasks.")] = 0,
    number: Annotated[
        int,
        typer.Option(min=1, max=20, help="Number of a state among those that come up."),
    ] = 1,
    mode: Annotated[str, typer.Option(help="Mode of the decision: model or advised.")] = "model",
    context: Annotated[
        int | None,
        typer.Option(
            min=500, help="Tokens of prompt and reply together; default: all that is shown."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a model is sent for a decision, in a state of a generated house."""
    from coterie_cli.model.prompt import prompt as run

    raise typer.Exit(
        run(name, seed=seed, number=number, mode=mode, context=context, as_json=as_json)
    )


@model_app.callback()
def _models() -> None:
    """Checks of language models."""


@model_app.command()
def check(
    endpoint: Annotated[
        str,
        typer.Argument(
            metavar="ENDPOINT",
            help="URL of an OpenAI-compatible endpoint, tiny (the model in the box), or the path "
            "of a model profile (.yaml).",
        ),
    ],
    model: Annotated[
        str | None, typer.Option(metavar="ID", help="Id of the model; default: the first listed.")
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Environment variable with the endpoint's key."),
    ] = None,
    decisions: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Decisions to put to it, with commas, such as emos,mele.answer; none; default: "
            "all.",
        ),
    ] = "",
    samples: Annotated[
        int, typer.Option(min=1, max=20, help="Number of states of each decision.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the houses of the states.")] = 1,
    seconds: Annotated[
        float, typer.Option(min=1.0, help="Time for one question or decision [s].")
    ] = 60.0,
    context: Annotated[
        int, typer.Option(min=1000, help="Longest prompt that is tried [tokens].")
    ] = 16_000,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Path of a JSON file for the result.")
    ] = None,
) -> None:
    """Tell whether a model is fit for this stack, and for which decisions.

    Exit code 0: for all that was asked; 3: for some; 1: for none, or it does not answer.
    """
    from coterie_cli.model.check import CheckOptions
    from coterie_cli.model.check import check as run

    options = CheckOptions(
        model=model,
        key_env=key_env,
        decisions=tuple(word.strip() for word in decisions.split(",") if word.strip()),
        samples=samples,
        seed=seed,
        seconds=seconds,
        longest=context,
        out=out,
    )
    raise typer.Exit(run(endpoint, options))
