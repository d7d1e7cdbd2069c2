"""`./coterie why`: the chain from words to motor, of an answer, an action, a refusal."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from coterie_bringup.errors import CommandError
from coterie_bringup.kept_runs import choose_run
from coterie_cli.options import AsJson, RanTeam
from coterie_execution.behavior_tree import to_xml
from coterie_execution.trees import trees as trees_of_robots
from coterie_llm import inline_data
from coterie_llm.fence import clean_text
from coterie_safety.why import Explanation, Step, read_story
from coterie_safety.why.explanation import SHORT_ID
from coterie_safety.why.otlp import Exporter, NoTelemetry
from coterie_safety.why.spans import spans_of

app = typer.Typer(add_completion=False)
Folder = Annotated[
    Path | None, typer.Option(file_okay=False, help="Folder of the run, instead of a team's name.")
]


_FOLLOW_S = 2.0
"""How often a run that goes on is looked at [s]."""


@app.command("why")
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
    team: RanTeam = "",
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
    trees: Annotated[
        bool,
        typer.Option(
            "--trees", help="Print the trees by which robots act instead, as BehaviorTree.CPP XML."
        ),
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on sending with --otlp until Ctrl-C.")
    ] = False,
) -> int:
    """Explain an answer, an action, an assignment or a refusal: the decisions that led to it."""
    if trees:
        print(to_xml(trees_of_robots()), end="")
        return 0
    if otlp:
        return send(otlp, team, folder, content=prompt, follow=follow)
    told = choose_run(team, folder).explain(" ".join(what or ()))
    if as_json:
        data = told.as_data()
        if prompt:
            data["records"] = dict(told.raw)
        print(json.dumps(data, indent=1))
        return 0
    show(told, prompt=prompt)
    return 0


def send(url: str, team: str, folder: Path | None, *, content: bool, follow: bool) -> int:
    """Send a run to an OpenTelemetry collector; return 0.

    Args:
        url: Of the collector.
        team: Name of the team; "": the last that ran.
        folder: Folder of the run; None: of the team's last.
        content: Whether prompts and replies go with it.
        follow: Whether to go on until Ctrl-C.

    Raises:
        CommandError: OpenTelemetry is not installed, or nobody takes it.
    """
    run = choose_run(team, folder)
    sent: dict[int, int] = {}
    try:
        exporter = Exporter(url, run.team)
        try:
            while True:
                spans = spans_of(read_story(run.decisions, run.log), content=content)
                # What goes on meanwhile is sent once it has ended; without --follow as it is.
                new = [one for one in spans if one.span_id not in sent and (one.over or not follow)]
                exporter.send(new)
                sent.update((one.span_id, one.trace_id) for one in new)
                if not follow:
                    break
                time.sleep(_FOLLOW_S)
        except KeyboardInterrupt:
            pass
        finally:
            exporter.close()
    except NoTelemetry as error:
        raise CommandError(str(error)) from None
    print(f"{len(sent)} spans of {len(set(sent.values()))} traces of {run.team} sent to {url}")
    return 0


def show(told: Explanation, *, prompt: bool = False, console: Console | None = None) -> None:
    """Print an explanation."""
    console = console or Console(highlight=False)
    console.print(Text(f"Why: {told.title}", "bold"))
    for step in told.steps:
        console.print(_row(step))
        if prompt and step.kind == "decision":
            _show_prompt(console, told.raw.get(step.id, {}))
    for gap in told.gaps:
        console.print(Text(f"not known: {gap}", "yellow"))
    if any(step.kind == "decision" for step in told.steps) and not prompt:
        console.print(
            Text("./coterie why ID goes deeper; --prompt shows what a model was sent", "dim")
        )


def _row(step: Step) -> Table:
    """Return a step as a row whose long lines stay in their column."""
    row = Table.grid(padding=(0, 1))
    for width in (1, 10, SHORT_ID):
        row.add_column(width=width)
    row.add_column(ratio=1)
    text = Text(step.text, "bold" if step.asked_for else "")
    for detail in step.details:
        if detail:
            text.append(f"\n  {detail}", "dim")
    mark = ">" if step.asked_for else ""
    row.add_row(mark, step.clock, Text(step.short_id, "cyan"), text)
    return row


def _show_prompt(console: Console, body: Mapping[str, Any]) -> None:
    head = "was sent" if body.get("asked") else "would have been sent (no model was asked)"
    for message in body.get("prompt") or ():
        if isinstance(message, Mapping):
            role = inline_data(message.get("role", ""), limit=20)
            console.print(Text(f"    {role}, {head}:", "magenta"))
            _indented(console, message.get("text", ""))
            for image in message.get("images") or ():
                console.print(Text(f"      (image: {inline_data(image, limit=120)})"))
            for file in _saved(message.get("pictures") or ()):
                console.print(Text(f"      (shown: {file})"))
    for one in body.get("tries") or ():
        if isinstance(one, Mapping):
            model = inline_data(one.get("model", ""), limit=60)
            console.print(Text(f"    {model} replied:", "magenta"))
            _indented(console, one.get("said", ""))
    if not body.get("tries"):
        console.print(Text("    the rule replied:", "magenta"))
        _indented(console, json.dumps(body.get("reply"), indent=1))


def _saved(pictures: Iterable[object]) -> Iterator[Path]:
    """Write the pictures that a model was shown, by their content; yield where they are."""
    for data in pictures:
        with contextlib.suppress(ValueError):
            content = base64.b64decode(str(data), validate=True)
            suffix = "png" if content.startswith(b"\x89PNG") else "jpg"
            file = Path("out/why") / f"{hashlib.sha256(content).hexdigest()[:16]}.{suffix}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            yield file


def _indented(console: Console, text: object) -> None:
    for line in clean_text(str(text)).split("\n"):
        console.print(Text(f"      {line}"))
