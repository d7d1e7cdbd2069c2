"""`./coterie find`: which objects of a semantic map does a request call for?"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer
from rich.console import Console
from rich.markup import escape

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import RunState, team_here
from coterie_bringup.team_models import named_profile
from coterie_cli.ask import judgement_data, objects_table
from coterie_cli.exit_codes import Exit, told
from coterie_cli.options import AsJson, ModelForFiles, Namespace, TeamDomain
from coterie_cli.person import PersonAtTerminal
from coterie_core.own_classes import load_made
from coterie_llm import (
    Decider,
    LanguageError,
    build_decider,
)
from coterie_requests.ask_back import Judgement, RequestState
from coterie_world.meaning import EmbedderError, local_meanings
from coterie_world.scene import SceneError, SceneGraph, SceneObject
from object_planner.asking_back import FoundFor, find_settled
from object_planner.settings import Mode
from object_planner.workflows import METHODS, Answer, Options, Roles
from semantic_mapper.files import load_map

if TYPE_CHECKING:
    from coterie_bringup.team_client import FoundObjects
    from object_planner.embedding import Embedder


app = typer.Typer(add_completion=False)


MAX_REQUEST_CHARS = 600
"""Longest request [characters]."""


@app.command("find", epilog=told("find"))
def find(
    words: Annotated[
        str,
        typer.Argument(metavar="REQUEST", help='Request in words, such as "something to sit on".'),
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
    if embedder or image is not None:
        if file is None or not embedder:
            raise CommandError("looks are searched for in a file: give --map and --embedder")
        return find_alike(
            words, file=file, embedder=embedder, image=image, limit=limit, as_json=as_json
        )
    if file is None:
        return find_in_team(
            words,
            domain=domain,
            limit=limit,
            timeout=timeout,
            as_json=as_json,
            namespace=namespace,
        )
    text = checked_request(words)
    choices = (
        ("--mode", mode, get_args(Mode)),
        ("--method", method, METHODS),
    )
    for name, value, known in choices:
        if value not in known:
            raise CommandError(f"{name}: {value!r}; one of {', '.join(known)}")
    try:
        scene = load_map(file)
    except SceneError as error:
        raise CommandError(str(error)) from None
    decider = _decider(model)
    try:
        meanings = local_meanings(meaning)
    except EmbedderError as error:
        raise CommandError(f"--meaning: {error}") from None
    options = Options(mode=mode, limit=limit, meanings=meanings)  # type: ignore[arg-type]
    found = asyncio.run(
        _found(RequestState(text, "find", scene), decider, method, options, as_json)
    )
    if as_json:
        data = _data(text, scene, found.ids, found.answer) | judgement_data(found.judgement)
        print(json.dumps(data | {"explanation": found.explanation}, indent=1))
    else:
        _print(text, scene, found)
    return _code(found.ids, found.judgement)


async def _found(
    state: RequestState, decider: Decider, method: str, options: Options, quiet: bool
) -> FoundFor:
    person = PersonAtTerminal(Console(stderr=True))
    answer = person.answer if person.there and not quiet else None
    return await find_settled(state, Roles(decider), method, options, answer)  # type: ignore[arg-type]


def _code(ids: Sequence[str], judgement: Judgement | None) -> int:
    """Return the exit code: a list of all that fit is an answer, though one was meant."""
    if ids:
        return Exit.DONE
    unclear = judgement is not None and judgement.kind in ("underspecified", "subjective")
    return Exit.NOT_CLEAR if unclear else Exit.NOTHING


def find_alike(
    words: str, *, file: Path, embedder: str, image: Path | None, limit: int, as_json: bool
) -> int:
    """Print the objects of a map that look most like words or a picture; return 0.

    Args:
        words: What is looked for; not used where there is a picture.
        file: The map.
        embedder: "module:function" that makes an `Embedder`, or "URL#network" of an endpoint.
        image: A picture of what is looked for.
        limit: Most objects.
        as_json: Print JSON and nothing else.

    Raises:
        CommandError: The map, the embedder or the picture cannot be used.
    """
    from object_planner.embedding import EmbeddingError, most_alike, read_picture

    text = checked_request(words)
    try:
        scene = load_map(file)
        made = _embedder(embedder)
        query = made.embed_image(read_picture(image)) if image else made.embed_text(text)
        alike = most_alike(scene, query, str(getattr(made, "model", "")))[:limit]
    except (SceneError, EmbeddingError) as error:
        raise CommandError(str(error)) from None
    if as_json:
        objects = [
            {"id": id_, "similarity": round(worth, 4), **_thing(scene.objects[id_])}
            for id_, worth in alike
        ]
        print(json.dumps({"query": str(image) if image else text, "objects": objects}, indent=1))
        return 0
    console = Console(highlight=False)
    console.print(objects_table([id_ for id_, _ in alike], scene))
    listed = ", ".join(f"{_safe(id_)} {worth:.2f}" for id_, worth in alike)
    console.print(f"cosine of the embeddings: {listed}", style="dim")
    return 0


def _embedder(name: str) -> Embedder:
    """Make the embedder that "module:function" or "URL#network" names."""
    from object_planner.embedding import EndpointEmbedder

    if name.startswith(("http://", "https://")):
        url, _, network = name.partition("#")
        if not network:
            raise CommandError(
                f"--embedder {url}: name the network after the URL, as the detector names it, for "
                f"example {url}#clip-vit-b32"
            )
        return EndpointEmbedder(url, network)
    expected = "an embedder: an object with embed_text and embed_image"

    def fits(made: Any) -> bool:
        return all(callable(getattr(made, part, None)) for part in ("embed_text", "embed_image"))

    try:
        return cast("Embedder", load_made(name, "--embedder", expected, fits))
    except ValueError as error:
        raise CommandError(f"{error}; or give URL#NETWORK of an endpoint") from None


def find_in_team(
    words: str,
    *,
    domain: int | None,
    limit: int,
    timeout: float,
    as_json: bool,
    namespace: str | None = None,
) -> int:
    """Print the objects of the running team's map that fit a request; return 0, or 1 if none does.

    Raises:
        CommandError: The request cannot be used, no team runs, it has no object planner or no map.
    """
    text = checked_request(words)
    state = team_here(domain, namespace)
    state.require("find")
    found, scene = asyncio.run(_ask_team(state, text, limit, timeout, as_json))
    if isinstance(found, str):
        raise CommandError(f"the team could not answer: {found}", Exit.UNKNOWN)
    if as_json:
        things = scene.objects if scene else {}
        data = {
            "query": text,
            "objects": [
                {"id": id_, **(_thing(things[id_]) if id_ in things else {})} for id_ in found.ids
            ],
            "explanation": found.explanation,
        }
        print(json.dumps(data | judgement_data(found.judgement), indent=1))
        return _code(found.ids, found.judgement)
    console = Console(highlight=False)
    if found.ids:
        console.print(objects_table(found.ids, scene))
    else:
        console.print(f"nothing in the map fits: {_safe(text)}", style="yellow")
    console.print(_safe(found.explanation), style="dim")
    return _code(found.ids, found.judgement)


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


def checked_request(words: str) -> str:
    """Return a request as one line.

    Raises:
        CommandError: It is empty, or too long.
    """
    text = " ".join(words.split())
    if not 0 < len(text) <= MAX_REQUEST_CHARS:
        raise CommandError(
            f"the request has {len(text)} characters; give 1 to {MAX_REQUEST_CHARS}, for example "
            '"something to sit on that is not a chair"'
        )
    return text


def _decider(model: str | None) -> Decider:
    try:
        profile = named_profile(model)
        return build_decider(profile, who="find", timeout_s=max(120.0, profile.decision_s))
    except (OSError, LanguageError) as error:
        raise CommandError(str(error)) from None


def _data(words: str, scene: SceneGraph, ids: list[str], answer: Answer) -> dict[str, Any]:
    return {
        "query": words,
        "objects": [{"id": id_, **_thing(scene.objects[id_])} for id_ in ids],
        "explanation": answer.plan.reason,
        "dropped": answer.dropped,
        "calls": answer.calls,
        "tokens": answer.usage.tokens,
        "by_rule": answer.by_rule,
        "trouble": _trouble(answer),
    }


def _thing(thing: SceneObject) -> dict[str, Any]:
    return {
        "labels": thing.label.distribution(),
        "room": thing.room,
        "center": thing.box.center,
        "size": thing.box.size,
    }


def _trouble(answer: Answer) -> str:
    reasons = [step["reason"] for step in answer.steps if step["by"] == "rule" and step["reason"]]
    return reasons[0] if reasons else ""


def _print(words: str, scene: SceneGraph, found: FoundFor) -> None:
    console = Console(highlight=False)
    ids, answer = found.ids, found.answer
    if ids:
        console.print(_safe(words), style="bold")
        console.print(objects_table(ids, scene))
    else:
        console.print(f"nothing in the map fits: {_safe(words)}", style="yellow")
    console.print(_safe(found.explanation), style="dim")
    for id_, why in answer.dropped.items():
        console.print(f"left out {_safe(id_)}: {why}", style="dim")
    if trouble := _trouble(answer):
        console.print(f"the rules decided: {_safe(trouble)}", style="yellow")


def _safe(text: str) -> str:
    """Text of a map or a model for the terminal: no markup, no control characters."""
    return escape("".join(c if c.isprintable() else "?" for c in text))[:400]
