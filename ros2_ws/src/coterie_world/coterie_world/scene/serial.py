"""Scene graphs as JSON, written and read without loss; errors name the file and the field."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from coterie_core.embedding import UNNAMED, Embedding
from coterie_core.files import write_atomically
from coterie_core.plain_data import (
    MAX_ERROR_CHARS,
    DataError,
    check_values,
    schema_problems,
    shorten,
)
from coterie_world.scene.graph import SceneGraph
from coterie_world.scene.limits import beyond_limits

FORMAT = "coterie-scene/1"


class SceneError(ValueError):
    """A scene graph cannot be read: says which file and field, what was expected, what to do."""

    def __init__(self, text: str) -> None:
        super().__init__(shorten(text, MAX_ERROR_CHARS))


@cache
def _adapter() -> TypeAdapter[SceneGraph]:
    return TypeAdapter(SceneGraph)


def to_json(graph: SceneGraph, *, indent: int | None = None) -> str:
    """Return the graph as a JSON object; positions [m], angles [rad], times [s] as in memory."""
    return _adapter().dump_json(graph, indent=indent).decode()


def from_json(text: str | bytes, source: str = "scene graph") -> SceneGraph:
    """Read a graph written by `to_json`.

    Args:
        text: The JSON.
        source: Name of the source in errors, for example the file's.

    Raises:
        SceneError: Not JSON, a field missing or of the wrong type, a number beyond all houses, or
            a dangling reference.
    """
    try:
        graph = _adapter().validate_json(_with_named_embeddings(text))
    except ValidationError as error:
        raise _not_a_graph(error, source) from None
    _check(graph, source)
    return graph


def _with_named_embeddings(text: str | bytes) -> str | bytes:
    """Return a file as it is written now: earlier ones hold an embedding without its model."""
    raw = text if isinstance(text, bytes) else text.encode(errors="replace")
    if b'"embedding"' not in raw:
        return text
    try:
        data = json.loads(text)
        for thing in data["objects"].values():
            if plain := thing.pop("embedding", None):
                thing["embeddings"] = [asdict(Embedding.of(UNNAMED, plain))]
        return json.dumps(data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return text  # whoever reads it says what is wrong


def checked(graph: SceneGraph, source: str) -> SceneGraph:
    """Return a graph that was made from another format, checked as `from_json` checks ours.

    Args:
        graph: Graph that was read; its fields may hold values of any type.
        source: Name of the source in errors, for example the file's.

    Raises:
        SceneError: A field of the wrong type, a number beyond all houses, a dangling reference.
    """
    try:
        data = _adapter().dump_python(graph, warnings=False)
        graph = _adapter().validate_python(data)
    except ValidationError as error:
        raise _not_a_graph(error, source) from None
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SceneError(f"{source}: not a scene graph: {error}") from None
    _check(graph, source)
    return graph


def _not_a_graph(error: ValidationError, source: str) -> SceneError:
    more = error.error_count() - 5
    return SceneError(
        f"{source}: not a scene graph: {schema_problems(error, most=5)}"
        + (f"; and {more} more" if more > 0 else "")
        + ". Write it with coterie_world.scene.save, or mend the fields named."
    )


def _check(graph: SceneGraph, source: str) -> None:
    try:
        check_values(_adapter().dump_python(graph, warnings=False))
    except DataError as error:
        raise SceneError(f"{source}: {error}") from None
    problems = beyond_limits(graph)
    if problems:
        raise SceneError(f"{source}: {problems[0]}" + _more(problems))
    problems = dangling_references(graph)
    if problems:
        raise SceneError(
            f"{source}: {problems[0]}{_more(problems)}. "
            "Every id that is named must exist in the same file."
        )


def _more(problems: list[str]) -> str:
    return f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""


def dangling_references(graph: SceneGraph) -> list[str]:
    """Return a sentence for every id that the graph names and does not hold."""
    problems = []
    for name, parts in (
        ("floors", graph.floors),
        ("rooms", graph.rooms),
        ("connections", graph.connections),
        ("places", graph.places),
        ("objects", graph.objects),
    ):
        problems += [
            f"{name}[{key!r}]: its own id is {part.id!r}, expected the key"
            for key, part in parts.items()
            if part.id != key
        ]
    for way in graph.connections.values():
        for room in (way.room_a, way.room_b):
            if room not in graph.rooms:
                problems.append(f"connections[{way.id!r}]: no room {room!r}")
    for place in graph.places.values():
        if place.room and place.room not in graph.rooms:
            problems.append(f"places[{place.id!r}].room: no room {place.room!r}")
    for a, links in graph.links.items():
        for b in links:
            for end in (a, b):
                if end not in graph.places:
                    problems.append(f"links[{a!r}][{b!r}]: no place {end!r}")
    for thing in graph.objects.values():
        if thing.room and thing.room not in graph.rooms:
            problems.append(f"objects[{thing.id!r}].room: no room {thing.room!r}")
        for role, other in (("support", thing.support), ("container", thing.container)):
            if other and other not in graph.objects:
                problems.append(f"objects[{thing.id!r}].{role}: no object {other!r}")
    return problems


def save(graph: SceneGraph, path: str | Path) -> None:
    """Write the graph to a file; a reader never sees half of it.

    Raises:
        OSError: The folder does not exist or cannot be written.
    """
    write_atomically(path, to_json(graph, indent=1))


def load(path: str | Path) -> SceneGraph:
    """Read a graph from a file.

    Raises:
        SceneError: The file is missing, unreadable or no scene graph.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SceneError(
            f"{path}: cannot be read ({error.strerror}); give the path of a scene graph JSON"
        ) from error
    return from_json(data, str(path))
