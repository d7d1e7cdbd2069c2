"""Commands that say why something happened, and what would have happened otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie_cli.options import AsJson

app = typer.Typer()

Team = Annotated[str, typer.Option(help="Name of the team; default: the one that ran last.")]
Folder = Annotated[
    Path | None, typer.Option(file_okay=False, help="Folder of the run, instead of a team's name.")
]


@app.command()
def why(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT",
            help="Beginning of an id, name of a robot, or words of a task, a question, a sub-task "
            "or a thing; a robot and words: why it did or did not do that. Default: what the team "
            "was asked last.",
        ),
    ] = None,
    team: Team = "",
    folder: Folder = None,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Show what models were sent, and what they replied.")
    ] = False,
    as_json: AsJson = False,
    otlp: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Address of an OpenTelemetry collector that the whole run is sent to instead, "
            "such as http://localhost:4318/v1/traces; with --prompt: prompts and replies, too.",
        ),
    ] = "",
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on sending with --otlp until Ctrl-C.")
    ] = False,
) -> None:
    """Say why: the chain from words to motor of an answer, an action, an assignment, a refusal."""
    from coterie_cli.why import send
    from coterie_cli.why import why as run

    if otlp:
        raise typer.Exit(send(otlp, team, folder, content=prompt, follow=follow))
    raise typer.Exit(run(" ".join(what or ()), team, folder, prompt, as_json))
