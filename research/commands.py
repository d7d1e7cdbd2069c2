"""Command lines of the studies; `coterie_cli.research` hands its arguments to them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from coterie_cli.commands import run
from coterie_cli.options import PASS_THROUGH, AsJson, Port
from research.bench.figures.catalog import BENCHES, run_bench

app = typer.Typer(
    name="coterie", help="Studies with Coterie.", add_completion=False, no_args_is_help=True
)
bench_app = typer.Typer(help="Benchmarks of the papers and of whole teams.", no_args_is_help=True)
model_app = typer.Typer(help="Checks of language models.", no_args_is_help=True)
app.add_typer(bench_app, name="bench")
app.add_typer(model_app, name="model")

Team = Annotated[str, typer.Option(help="Name of the team; default: the one that ran last.")]
Folder = Annotated[
    Path | None, typer.Option(file_okay=False, help="Folder of the run, instead of a team's name.")
]

LAB_BENCH = "Work of a team in the same houses, directly and through a lab of real interfaces."


def _add_bench(name: str, text: str) -> None:
    """Make `coterie bench NAME` of a bench that reads its own command line."""

    @bench_app.command(name, context_settings=PASS_THROUGH, help=f"{text} See `--help`.")
    def bench(context: typer.Context) -> None:
        raise typer.Exit(run_bench(name, context.args))


for _name, _bench in BENCHES.items():
    _add_bench(_name, _bench.help)


@bench_app.command("lab", context_settings=PASS_THROUGH, help=f"{LAB_BENCH} See `--help`.")
def bench_lab(context: typer.Context) -> None:
    """Run the bench of whole teams, whose commands only this package knows."""
    from research.bench.lab.command import main as bench

    raise typer.Exit(bench(context.args))


@app.command("play", context_settings=PASS_THROUGH)
def play(context: typer.Context) -> None:
    """Be one of the agents, in the terminal or the browser; `--help` shows its options."""
    from research.play.command import main as run

    raise typer.Exit(run(context.args))


@app.command()
def annotate(
    file: Annotated[
        Path,
        typer.Argument(metavar="MAP", help="Path of the map: our JSON, Voxeland's, or spark-dsg."),
    ],
    queries: Annotated[
        Path | None,
        typer.Option(
            help="Path of the queries (YAML); default: those of the map's data set, or "
            "beside the map."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Path of the answers (JSON); default: those of the data set, or beside the map."
        ),
    ] = None,
    port: Port = None,
    show: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Write down, in the browser, which objects of a map answer which queries."""
    from research.annotate.command import annotate as run

    run(file, queries=queries, out=out, port=port, show=show)


@app.command()
def whatif(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT",
            help="Task, goal of cooperating robots, question or decision, as for why; exploration: "
            "what robots found of the house. Default: what the team was asked last; with "
            "--aggregator: all questions.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="ROBOT", help="Name of a robot that is not there.")
    ] = None,
    aggregator: Annotated[
        str, typer.Option(metavar="NAME", help="Aggregator that answers in place of the team's.")
    ] = "",
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Language model that decides instead: tiny, or the path of a profile (.yaml).",
        ),
    ] = "",
    recording: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="MCAP file of ./coterie record --live: its first task is decided once more, "
            "without models and with no change; exit code 1 where a decision comes out otherwise.",
        ),
    ] = None,
    team: Team = "",
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Replay an episode of a simulated team with one change; show what differs."""
    if recording is not None:
        from research.whatif.recording import recording_again

        raise typer.Exit(recording_again(recording, Console(highlight=False)))
    from research.whatif.command import WhatIf
    from research.whatif.command import whatif as run

    asked = WhatIf(
        " ".join(what or ()), tuple(without or ()), aggregator, model, team, folder, as_json
    )
    raise typer.Exit(run(asked))


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
    from research.models.prompt import prompt as run

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
    from research.models.check import CheckOptions
    from research.models.check import check as run

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a study by its command line, such as ``["bench", "mele"]``; return the exit code."""
    return run(app, "coterie", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
