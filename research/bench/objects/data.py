"""Data sets of object planning: semantic maps, queries, annotated answers; oddities reported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from coterie_core.yaml_marks import FileProblem, load_marked, read_text
from coterie_requests.grammar import read
from coterie_requests.lexicon import load_lexicon
from coterie_requests.request import Thing
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import SceneError, SceneGraph
from semantic_mapper.voxeland import load_voxeland

QueryType = Literal["descriptive", "affordance", "negation"]
QUERY_TYPES: tuple[QueryType, ...] = ("descriptive", "affordance", "negation")
_PAPER = tuple(f"query_{k:02d}" for k in range(1, 31))


class DataError(ValueError):
    """A data set cannot be used; names the file or folder and what to do."""


@dataclass(frozen=True, slots=True)
class Query:
    """A request in words, with its kind."""

    id: str
    words: str
    type: QueryType


@dataclass(slots=True)
class ObjectMap:
    """A map and the annotated answers: query id -> ids, best first; queries without one lack."""

    name: str
    dataset: str
    scene: SceneGraph
    truth: dict[str, list[str]]


@dataclass(slots=True)
class ObjectData:
    """A folder's queries and maps; `problems` lists what was odd and left out."""

    queries: list[Query]
    maps: list[ObjectMap]
    problems: list[str] = field(default_factory=list)


def load_data(folder: Path) -> ObjectData:
    """Read `queries.yaml`, `semantic_maps/*.json` and `responses/*.json`.

    A map that cannot be read, or has no answers, is left out and said so; so are ids in the
    answers that the map does not have.

    Raises:
        DataError: No folder, no queries, or no map that can be used.
    """
    if not folder.is_dir():
        raise DataError(
            f"{folder}: no such folder; give one with queries.yaml, semantic_maps/, responses/"
        )
    data = ObjectData(_queries(folder / "queries.yaml"), [])
    files = sorted((folder / "semantic_maps").glob("*.json"))
    if not files:
        raise DataError(f"{folder / 'semantic_maps'}: holds no maps (*.json)")
    for file in files:
        try:
            scene = load_voxeland(file)
        except SceneError as error:
            data.problems.append(f"{error}; the map is left out")
            continue
        truth = _truth(folder / "responses" / file.name, scene, data)
        if truth is not None:
            dataset = file.stem.partition("_")[0]
            data.maps.append(ObjectMap(file.stem, dataset, scene, truth))
    if not data.maps:
        raise DataError(f"{folder}: no map can be used: {'; '.join(data.problems)}")
    return data


def _queries(file: Path) -> list[Query]:
    try:
        content = load_marked(read_text(file), str(file)).data
    except FileProblem as error:
        raise DataError(f"{error}; it lists the queries by id") from None
    entries = content.get("queries") if isinstance(content, dict) else None
    if not isinstance(entries, dict) or not entries:
        raise DataError(f"{file}: expected 'queries': a map of ids to words")
    paper = tuple(str(k) for k in entries)[: len(_PAPER)] == _PAPER
    queries = []
    for k, (name, entry) in enumerate(entries.items()):
        words = entry.get("query") if isinstance(entry, dict) else entry
        if not isinstance(words, str) or not words.strip():
            raise DataError(f"{file}: queries.{name}: expected words, got {entry!r}")
        given = entry.get("type") if isinstance(entry, dict) else None
        if given is not None and given not in QUERY_TYPES:
            raise DataError(f"{file}: queries.{name}.type: one of {', '.join(QUERY_TYPES)}")
        # The paper's thirty come in tens (its appendix A); others, also after them, are sorted by
        # what they ask.
        by_place = QUERY_TYPES[k // 10] if paper and k < len(_PAPER) else None
        kind: QueryType = given or by_place or query_type(words)
        queries.append(Query(str(name), words, kind))
    return queries


def query_type(words: str) -> QueryType:
    """Return the kind of a request: rules something out, asks for a use, or describes a thing."""
    things: tuple[Thing, ...] = ()
    try:
        things = read(words, Vocabulary.of(SceneGraph()), "find").steps[0].things
    except NotUnderstood:  # "I am tired" asks for a use, whatever the grammar reads
        things = (Thing(use=words),) if load_lexicon().uses_in(words.lower()) else ()
    negated = any(thing.without or any(p.negated for p in thing.places) for thing in things)
    if negated or " not " in f" {words.lower()} ":
        return "negation"
    return "affordance" if any(thing.use for thing in things) else "descriptive"


def _truth(file: Path, scene: SceneGraph, data: ObjectData) -> dict[str, list[str]] | None:
    try:
        content: Any = json.loads(file.read_bytes())
    except OSError as error:
        data.problems.append(f"{file}: {error.strerror}; its map is left out")
        return None
    except ValueError as error:
        data.problems.append(f"{file}: not JSON: {error}; its map is left out")
        return None
    answers = content.get("responses") if isinstance(content, Mapping) else None
    if not isinstance(answers, Mapping):
        data.problems.append(f"{file}: expected 'responses': a map of query ids to lists of ids")
        return None
    truth: dict[str, list[str]] = {}
    known = {query.id for query in data.queries}
    for name, ids in answers.items():
        if name not in known:
            data.problems.append(f"{file}: responses.{name}: no such query; left out")
        elif not isinstance(ids, list) or not all(isinstance(i, str) for i in ids):
            data.problems.append(f"{file}: responses.{name}: expected a list of ids; left out")
        else:
            unknown = [i for i in ids if i not in scene.objects]
            if unknown:
                data.problems.append(
                    f"{file}: responses.{name}: the map has no {', '.join(unknown)}"
                )
            # What is unknown stays: an answer of nothing must not count as right.
            truth[name] = list(ids)
    for query in data.queries:
        if query.id not in truth:
            data.problems.append(f"{file}: no answer to {query.id}; it is not scored there")
    return truth
