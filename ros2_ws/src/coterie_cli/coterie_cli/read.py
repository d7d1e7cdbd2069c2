"""`./coterie read`: what a person's words are read as; no robot hears them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer
from rich.console import Console

from coterie_bringup.errors import CommandError
from coterie_bringup.team_models import named_profile
from coterie_cli.exit_codes import Exit, told
from coterie_cli.options import AsJson, ModelForFiles
from coterie_llm import LanguageError, UsageMeter, build_decider
from coterie_requests.grammar import Door
from coterie_requests.read_request import read_request
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import SceneError, SceneGraph
from semantic_mapper.files import load_map

app = typer.Typer(add_completion=False)


@app.command("read", epilog=told("read"))
def read(
    request: Annotated[
        list[str],
        typer.Argument(help='Words of a person, such as "Bring two mugs to the kitchen".'),
    ],
    door: Annotated[
        str, typer.Option("--for", help="Command that the words are for: do, ask or find.")
    ] = "do",
    file: Annotated[
        Path | None,
        typer.Option("--map", help="Path of a map file whose rooms and things they may name."),
    ] = None,
    robot: Annotated[
        list[str] | None,
        typer.Option(help="Name of a robot that may be spoken to; may be given again."),
    ] = None,
    model: ModelForFiles = None,
    as_json: AsJson = False,
) -> int:
    """Show how a request is understood, without giving it to a team."""
    if door not in get_args(Door):
        raise CommandError(f"--for: {door!r}; one of {', '.join(get_args(Door))}")
    meter = UsageMeter()
    try:
        names = Vocabulary.of(load_map(file) if file else SceneGraph(), tuple(robot or ()))
        profile = named_profile(model)
        wait_s = max(120.0, profile.decision_s)
        decider = build_decider(profile, who="read", timeout_s=wait_s, meter=meter)
    except (OSError, LanguageError, SceneError) as error:
        raise CommandError(str(error)) from None
    data: dict[str, Any] = {"request": None, "problem": ""}
    try:
        told_as = asyncio.run(read_request(" ".join(request), names, decider, cast(Door, door)))
    except NotUnderstood as error:
        line, code = error.problem.line, Exit.NOT_CLEAR
        data["problem"] = line
    else:
        line, code = f"I read: {told_as.told()}", Exit.DONE
        data["request"] = told_as.model_dump(mode="json", exclude_defaults=True)
    by_model = any(row["by_model"] for row in meter.as_json())
    data["read_by"] = decider.model.name if by_model else "grammar"
    if as_json:
        print(json.dumps(data, indent=1, ensure_ascii=False))
        return code
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(line)
    console.print(f"read by: {data['read_by']}", style="dim")
    return code
