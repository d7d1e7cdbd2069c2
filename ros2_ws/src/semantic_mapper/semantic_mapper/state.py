"""A mapper's whole state in one file, so that it goes on after a restart."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie_core.embedding import MAX_EMBEDDINGS, UNNAMED, Embedding
from coterie_core.files import write_atomically
from coterie_core.plain_data import check_values, read_json, shorten
from coterie_llm.pictures import encode
from coterie_world.scene import LabelBelief
from coterie_world.scene.limits import MAX_COORDINATE_M
from semantic_mapper.cloud import EvidenceCloud
from semantic_mapper.grid import FloorGrids, GridOptions, grids_from_state
from semantic_mapper.instances import Instance
from semantic_mapper.mapper import SemanticMapper

FORMAT = "coterie-mapper/1"
_STATES = ("present", "moved", "gone")
MAX_STATE_BYTES = 2**31
"""Most bytes that a state unfolds to."""


class StateError(ValueError):
    """A state file cannot be used; says which file, what is wrong and what to do."""


@dataclass(slots=True)
class MapperState:
    """What a mapper knows: frame of the map, things, the next thing's number, grids per floor."""

    frame: str
    instances: list[Instance]
    next_number: int
    grids: dict[str, tuple[int, int, Any, Any]]


def state_bytes(mapper: SemanticMapper, grids: FloorGrids, frame: str) -> bytes:
    """Return a mapper's state as the bytes of a file."""
    arrays: dict[str, Any] = {}
    things = []
    for k, thing in enumerate(mapper.instances):
        cloud = thing.cloud
        arrays[f"points/{k}"] = cloud.points
        arrays[f"evidence/{k}"] = np.stack([cloud.inside, cloud.outside])
        if thing.crop is not None:
            arrays[f"crop/{k}"] = thing.crop
        things.append(
            {
                "id": thing.id,
                "low": thing.low.tolist(),
                "high": thing.high.tolist(),
                "beside": thing.beside,
                "embeddings": [asdict(one) for one in thing.embeddings],
                **{name: getattr(thing, name).weights for name in _BELIEFS},
                **{name: getattr(thing, name) for name in _PLAIN},
            }
        )
    floors = {}
    for k, (id_, grid) in enumerate(grids.grids.items()):
        floors[id_] = [k, grid.column, grid.row]
        arrays[f"free/{k}"], arrays[f"full/{k}"] = grid.free, grid.full
    head = {
        "format": FORMAT,
        "frame": frame,
        "next": mapper.next_number,
        "things": things,
        "floors": floors,
    }
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def save_state(mapper: SemanticMapper, grids: FloorGrids, frame: str, path: Path) -> None:
    """Write a mapper's state; readers see the old file or the new one.

    Raises:
        OSError: The folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, state_bytes(mapper, grids, frame))


def load_state(path: Path) -> MapperState:
    """Read a mapper's state.

    Raises:
        StateError: The file is none, or was cut off.
    """
    try:
        _check_size(path)
        with np.load(path, allow_pickle=False) as arrays:
            head = read_json(bytes(arrays["head"]))
            check_values(head)
            if head.get("format") != FORMAT:
                raise ValueError(f"format {head.get('format')!r}, expected {FORMAT!r}")
            things = [_thing(k, item, arrays) for k, item in enumerate(head["things"])]
            grids = {
                str(id_): (
                    int(c),
                    int(r),
                    _counts(arrays, f"free/{k}"),
                    _counts(arrays, f"full/{k}"),
                )
                for id_, (k, c, r) in head["floors"].items()
            }
            return MapperState(str(head["frame"]), things, int(head["next"]), grids)
    except Exception as error:  # numpy and zipfile raise all kinds for damaged files
        raise StateError(
            f"{path}: not a mapper's state ({type(error).__name__}: {shorten(str(error))}); remove "
            "it to begin with an empty map"
        ) from None


def _check_size(path: Path) -> None:
    """Refuse a small file that unfolds into more than a house.

    Raises:
        ValueError: Its parts are larger than MAX_STATE_BYTES together.
        OSError: It cannot be read.
        zipfile.BadZipFile: It is damaged.
    """
    with zipfile.ZipFile(path) as parts:
        size = sum(part.file_size for part in parts.infolist())
    if size > MAX_STATE_BYTES:
        raise ValueError(f"{size} bytes, expected at most {MAX_STATE_BYTES}")


def _counts(arrays: Any, name: str) -> Any:
    grid = arrays[name]
    if grid.ndim != 2 or grid.dtype.kind not in "biu":
        raise ValueError(f"{name}: an array of {grid.dtype} with {grid.ndim} axes, expected counts")
    return grid


def restore(
    mapper: SemanticMapper, state: MapperState, options: GridOptions | None = None
) -> FloorGrids:
    """Put a state into a new mapper; return its grids.

    Raises:
        ValueError: Grids that do not fit.
    """
    mapper.restore(state.instances, state.next_number)
    return grids_from_state(state.grids, mapper.regions.graph().floors.values(), options)


_PLAIN = (
    "observations", "robot", "time", "state", "seen_through", "reports", "misses", "reach",
    "crop_quality",
)  # fmt: skip
_BELIEFS = ("labels", "colors", "openings")


def _embeddings(k: int, item: dict[str, Any], arrays: Any) -> tuple[Embedding, ...]:
    found = tuple(Embedding(**one) for one in item.get("embeddings", []))
    if f"embedding/{k}" in arrays:  # files of earlier versions do not name the network
        found += (Embedding.of(UNNAMED, np.asarray(arrays[f"embedding/{k}"], np.float32)),)
    problems = [problem for one in found if (problem := one.problem())]
    if problems or len(found) > MAX_EMBEDDINGS:
        raise ValueError(f"thing {k}: embeddings: {(problems or ['too many'])[0]}")
    return found


def _thing(k: int, item: dict[str, Any], arrays: Any) -> Instance:
    points = np.asarray(arrays[f"points/{k}"], np.float32)
    # Files of earlier versions hold points without evidence: as if seen once.
    evidence = np.asarray(
        arrays.get(f"evidence/{k}", np.stack([np.ones(len(points)), np.zeros(len(points))]))
    )
    low, high = np.array(item["low"], np.float64), np.array(item["high"], np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or low.shape != (3,) or high.shape != (3,):
        raise ValueError(f"thing {k}: points of shape {points.shape}")
    if not len(points) or not np.isfinite(points).all() or item["state"] not in _STATES:
        raise ValueError(f"thing {k}: no finite points, or state {shorten(item['state'])!r}")
    if not (low <= high).all() or max(abs(low).max(), abs(high).max()) > MAX_COORDINATE_M:
        raise ValueError(f"thing {k}: low {low} and high {high} are no corners of a box")
    crop, embeddings = arrays.get(f"crop/{k}"), _embeddings(k, item, arrays)
    if crop is not None and crop.ndim == 3 and crop.shape[2] == 3:  # of an earlier version
        crop = np.frombuffer(encode(crop, max(crop.shape)).data, np.uint8)
    if crop is not None and (crop.ndim != 1 or crop.dtype != np.uint8):
        raise ValueError(f"thing {k}: a crop of shape {crop.shape}")
    if evidence.shape != (2, len(points)) or not (evidence >= 0.0).all():
        raise ValueError(f"thing {k}: evidence of shape {evidence.shape}")
    inside, outside = evidence.astype(np.float32)
    thing = Instance(
        str(item["id"]),
        points,
        low,
        high,
        embeddings=embeddings,
        crop=crop,
        cloud=EvidenceCloud(points, inside, outside),
        beside={str(id_): int(count) for id_, count in item.get("beside", {}).items()},
    )
    for name in _BELIEFS:
        weights = {str(label): float(w) for label, w in item[name].items()}
        if not all(0.0 <= w < float("inf") for w in weights.values()):
            raise ValueError(f"thing {k}: {name} of {shorten(weights)}")
        setattr(thing, name, LabelBelief(weights))
    for name in _PLAIN:
        kind = type(getattr(thing, name))
        value = item[name]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not kind:
            raise ValueError(f"thing {k}: {name}: expected {kind.__name__}, got {shorten(value)}")
        setattr(thing, name, value)
    if thing.time < 0.0 or thing.observations < 0:
        raise ValueError(f"thing {k}: a time or a count below 0")
    if f"evidence/{k}" in arrays:
        thing.settle()
    return thing
