"""`./coterie find --map`: a map file is searched by the words of a request, or by looks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from rich.console import Console

from coterie_bringup.errors import CommandError
from coterie_bringup.team_models import named_profile
from coterie_cli.ask import judgement_data, objects_table
from coterie_cli.found_objects import checked_request, exit_code, object_data, safe
from coterie_cli.person import PersonAtTerminal
from coterie_core.own_classes import load_made
from coterie_llm import Decider, LanguageError, build_decider
from coterie_llm.embedders import EmbedderError
from coterie_requests.ask_back import RequestState
from coterie_world.meaning import local_meanings
from coterie_world.scene import SceneError, SceneGraph
from object_planner.asking_back import FoundFor, find_settled
from object_planner.settings import Mode
from object_planner.workflows import METHODS, Answer, Options, Roles
from semantic_mapper.files import load_map

if TYPE_CHECKING:
    from object_planner.embedding import Embedder


async def _found(
    state: RequestState, decider: Decider, method: str, options: Options, quiet: bool
) -> FoundFor:
    person = PersonAtTerminal(Console(stderr=True))
    answer = person.answer if person.there and not quiet else None
    return await find_settled(state, Roles(decider), method, options, answer)  # type: ignore[arg-type]


def find_in_file(
    words: str,
    *,
    file: Path,
    mode: str,
    method: str,
    limit: int,
    model: str | None,
    meaning: str,
    as_json: bool,
) -> int:
    """Print the objects of a map file that fit a request; return the exit code.

    Raises:
        CommandError: The request, the map, the model or a choice cannot be used.
    """
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
    return exit_code(found.ids, found.judgement)


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
            {"id": id_, "similarity": round(worth, 4), **object_data(scene.objects[id_])}
            for id_, worth in alike
        ]
        print(json.dumps({"query": str(image) if image else text, "objects": objects}, indent=1))
        return 0
    console = Console(highlight=False)
    console.print(objects_table([id_ for id_, _ in alike], scene))
    listed = ", ".join(f"{safe(id_)} {worth:.2f}" for id_, worth in alike)
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


def _decider(model: str | None) -> Decider:
    try:
        profile = named_profile(model)
        return build_decider(profile, who="find", timeout_s=max(120.0, profile.decision_s))
    except (OSError, LanguageError) as error:
        raise CommandError(str(error)) from None


def _data(words: str, scene: SceneGraph, ids: list[str], answer: Answer) -> dict[str, Any]:
    return {
        "query": words,
        "objects": [{"id": id_, **object_data(scene.objects[id_])} for id_ in ids],
        "explanation": answer.plan.reason,
        "dropped": answer.dropped,
        "calls": answer.calls,
        "tokens": answer.usage.tokens,
        "by_rule": answer.by_rule,
        "trouble": _trouble(answer),
    }


def _trouble(answer: Answer) -> str:
    reasons = [step["reason"] for step in answer.steps if step["by"] == "rule" and step["reason"]]
    return reasons[0] if reasons else ""


def _print(words: str, scene: SceneGraph, found: FoundFor) -> None:
    console = Console(highlight=False)
    ids, answer = found.ids, found.answer
    if ids:
        console.print(safe(words), style="bold")
        console.print(objects_table(ids, scene))
    else:
        console.print(f"nothing in the map fits: {safe(words)}", style="yellow")
    console.print(safe(found.explanation), style="dim")
    for id_, why in answer.dropped.items():
        console.print(f"left out {safe(id_)}: {why}", style="dim")
    if trouble := _trouble(answer):
        console.print(f"the rules decided: {safe(trouble)}", style="yellow")
