"""Semantic maps of Voxeland (probabilistic instance maps) as scene graphs, and back."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coterie_core.embedding import UNNAMED, Embedding
from coterie_core.files import write_atomically
from coterie_core.geometry import Box
from coterie_core.household import load_household
from coterie_core.plain_data import DataError, check_values, read_json, shorten
from coterie_world.scene.graph import SceneGraph
from coterie_world.scene.model import LabelBelief, SceneObject
from coterie_world.scene.serial import SceneError, checked

UNKNOWN = "unknown"
"""Label of what Voxeland could not tell; instances that are most likely this are left out."""


def from_voxeland(text: str | bytes, source: str = "map") -> SceneGraph:
    """Read a Voxeland map: `{"instances": {id: {"bbox", "n_observations", "results"}}}`.

    Labels keep their weights, which are evidence and not probabilities. Instances whose best label
    is "unknown" are left out.

    Args:
        text: The JSON.
        source: Its name, for errors.

    Raises:
        SceneError: Not JSON, or an instance is wrong; names the instance and the field.
    """
    try:
        data = read_json(text)
        check_values(data)
    except DataError as error:
        raise SceneError(f"{source}: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("instances"), dict):
        raise SceneError(f"{source}: expected an object with 'instances': a map of Voxeland")
    graph = SceneGraph()
    for name, entry in data["instances"].items():
        thing = _thing(name, entry, f"{source}: instances.{shorten(name, 60)}")
        if thing.label.top != UNKNOWN:
            graph.add_object(thing)
    return checked(graph, source)


def to_voxeland(graph: SceneGraph) -> str:
    """Return the objects of a scene graph as a Voxeland map."""
    instances = {
        thing.id: {
            "bbox": {"center": list(thing.box.center), "size": list(_upright(thing.box))},
            "n_observations": thing.observations,
            "results": dict(thing.label.weights),
            **({"embeddings": list(map(asdict, thing.embeddings))} if thing.embeddings else {}),
        }
        for thing in graph.objects.values()
    }
    return json.dumps({"instances": instances}, indent=2, sort_keys=True)


def load_voxeland(path: Path) -> SceneGraph:
    """Read a Voxeland map from a file.

    Raises:
        SceneError: It cannot be read, or is wrong; names file, instance and field.
    """
    try:
        return from_voxeland(path.read_bytes(), str(path))
    except OSError as error:
        raise SceneError(f"{path}: {error.strerror}; give the JSON file of a map") from None


def save_voxeland(graph: SceneGraph, path: Path) -> None:
    """Write the objects of a scene graph as a Voxeland map."""
    write_atomically(path, to_voxeland(graph) + "\n")


def _thing(name: str, entry: Any, where: str) -> SceneObject:
    if not isinstance(entry, dict):
        raise SceneError(f"{where}: expected an object, got {type(entry).__name__}")
    bbox = entry.get("bbox")
    if not isinstance(bbox, dict):
        raise SceneError(f"{where}.bbox: expected an object with center and size")
    center = _three(bbox.get("center"), f"{where}.bbox.center")
    size = _three(bbox.get("size"), f"{where}.bbox.size")
    if min(size) < 0.0:
        raise SceneError(f"{where}.bbox.size: expected lengths [m] of at least 0, got {list(size)}")
    results = entry.get("results")
    if not isinstance(results, dict) or not results:
        raise SceneError(f"{where}.results: expected labels with their weights")
    weights: dict[str, float] = {}
    for label, weight in results.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise SceneError(
                f"{where}.results[{shorten(label, 60)!r}]: expected a number, got {shorten(weight)}"
            )
        if weight < 0.0:
            raise SceneError(
                f"{where}.results[{shorten(label, 60)!r}]: expected at least 0, got {weight}"
            )
        weights[str(label)[:200]] = float(weight)
    count = entry.get("n_observations", 0)
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise SceneError(f"{where}.n_observations: expected a whole number, got {shorten(count)}")
    label = LabelBelief(weights)
    return SceneObject(
        id=str(name),
        label=label,
        box=Box(center, size),
        kind=load_household().kind(label.top),
        observations=count,
        embeddings=_embeddings(entry, where),
    )


def _embeddings(entry: dict[str, Any], where: str) -> tuple[Embedding, ...]:
    """What an instance looks like and means: a field of ours, which Voxeland's reader passes over.

    A list of numbers under `embedding` is read too; `embedding_model` names its network.
    """
    given = entry.get("embeddings", [])
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise SceneError(f"{where}.embeddings: expected a list of objects")
    try:
        read = tuple(Embedding(**one) for one in given)
        if plain := entry.get("embedding"):
            read += (Embedding.of(str(entry.get("embedding_model", UNNAMED)), plain),)
    except (TypeError, ValueError) as error:
        raise SceneError(f"{where}.embeddings: {shorten(str(error))}") from None
    return read


def _three(value: Any, where: str) -> tuple[float, float, float]:
    if (
        not isinstance(value, list)
        or len(value) != 3
        or any(isinstance(v, bool) or not isinstance(v, int | float) for v in value)
    ):
        raise SceneError(f"{where}: expected three finite numbers [m], got {shorten(value)}")
    return (float(value[0]), float(value[1]), float(value[2]))


def _upright(box: Box) -> tuple[float, float, float]:
    low, high = box.axis_aligned()
    return (high[0] - low[0], high[1] - low[1], high[2] - low[2])
