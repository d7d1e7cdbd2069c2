"""`./coterie find`: which objects of a semantic map does a request call for?"""

from __future__ import annotations

import asyncio
import contextlib
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import RunState, team_here
from coterie_cli.ask import judgement_data, objects_table
from coterie_cli.exit_codes import Exit, told
from coterie_cli.found_objects import checked_request, exit_code, object_data, safe
from coterie_cli.options import AsJson, ModelForFiles, Namespace, RunningTeam, TeamDomain
from coterie_cli.person import PersonAtTerminal

if TYPE_CHECKING:
    from coterie_bringup.team_client import FoundObjects
    from coterie_world.scene import SceneGraph


app = typer.Typer(add_completion=False)


@app.command("find", epilog=told("find"))
def find(
    request: Annotated[
        list[str],
        typer.Argument(help='Request in words, such as "something to sit on".'),
    ],
    file: Annotated[
        Path | None,
        typer.Option("--map", help="Path of a map file; default: the running team's map."),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            help="Use of an object's labels: certainty (only the top one) or uncertainty (all)."
        ),
    ] = "uncertainty",
    method: Annotated[str, typer.Option(help="Workflow that chooses the objects.")] = "grounded",
    limit: Annotated[
        int, typer.Option(min=1, max=50, help="Largest number of objects found.")
    ] = 10,
    model: ModelForFiles = None,
    team: RunningTeam = "",
    domain: TeamDomain = None,
    namespace: Namespace = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Time to wait for the team [s].")] = 60.0,
    embedder: Annotated[
        str,
        typer.Option(
            help="Embedder that finds objects of a map file by their appearance, in the space of "
            "the detector's embeddings: URL#NETWORK of an OpenAI-compatible endpoint, or "
            "MODULE:FUNCTION."
        ),
    ] = "",
    image: Annotated[
        Path | None, typer.Option(help="Path of a picture of what is looked for, with --embedder.")
    ] = None,
    meaning: Annotated[
        str,
        typer.Option(
            help="Embedder that guesses what words outside the tables mean: none, wordllama or "
            "minilm."
        ),
    ] = "none",
    as_json: AsJson = False,
) -> int:
    """Find the objects of a semantic map that a request calls for.

    Mode, method, model and meaning are for a map file: a team has its own in its team file.
    """
    words = " ".join(request)
    if embedder or image is not None:
        if file is None or not embedder:
            raise CommandError("looks are searched for in a file: give --map and --embedder")
        from coterie_cli.find_in_file import find_alike

        return find_alike(
            words, file=file, embedder=embedder, image=image, limit=limit, as_json=as_json
        )
    if file is None:
        return find_in_team(
            words,
            state=team_here(domain, namespace, team),
            limit=limit,
            timeout=timeout,
            as_json=as_json,
        )
    from coterie_cli.find_in_file import find_in_file  # reads, plans and looks itself

    return find_in_file(
        words,
        file=file,
        mode=mode,
        method=method,
        limit=limit,
        model=model,
        meaning=meaning,
        as_json=as_json,
    )


def find_in_team(
    words: str,
    *,
    state: RunState,
    limit: int,
    timeout: float,
    as_json: bool,
) -> int:
    """Print the objects of the running team's map that fit a request; return 0, or 1 if none does.

    Raises:
        CommandError: The request cannot be used, or the team has no object planner or no map.
    """
    text = checked_request(words)
    state.require("find")
    found, scene = asyncio.run(_ask_team(state, text, limit, timeout, as_json))
    if isinstance(found, str):
        raise CommandError(f"the team could not answer: {found}", Exit.UNKNOWN)
    if as_json:
        things = scene.objects if scene else {}
        data = {
            "query": text,
            "objects": [
                {"id": id_, **(object_data(things[id_]) if id_ in things else {})}
                for id_ in found.ids
            ],
            "explanation": found.explanation,
        }
        print(json.dumps(data | judgement_data(found.judgement), indent=1))
        return exit_code(found.ids, found.judgement)
    console = Console(highlight=False)
    if found.ids:
        console.print(objects_table(found.ids, scene))
    else:
        console.print(f"nothing in the map fits: {safe(text)}", style="yellow")
    console.print(safe(found.explanation), style="dim")
    return exit_code(found.ids, found.judgement)


async def _ask_team(
    state: RunState, words: str, limit: int, timeout: float, quiet: bool
) -> tuple[FoundObjects | str, SceneGraph | None]:
    from coterie_bringup.spinning import in_loop
    from coterie_bringup.team_client import operating
    from coterie_cli.person_seat import serve_person
    from coterie_ros.clients import NoAnswer

    with operating(
        state.robots,
        **state.reach,
    ) as operator:
        person = PersonAtTerminal(Console(stderr=True))
        if person.there and not quiet:
            serve = partial(serve_person, operator, person, "find")
            await in_loop(operator, operator.in_executor(serve))
        try:
            with contextlib.closing(person):
                found = await in_loop(operator, operator.find(words, limit, timeout))
            return found, await in_loop(operator, operator.map(3.0))
        except NoAnswer as error:
            raise CommandError(f"no answer from {state.who}: {error}") from None
