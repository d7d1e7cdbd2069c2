"""Trained aggregators in files, without pickle: a manifest beside skops or XGBoost JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cam_aggregator.base import Aggregator, AggregatorError
from cam_aggregator.calibration import Calibration
from cam_aggregator.cam import CAM_CLASSES, CentralAnswerModel
from cam_aggregator.cam_plus import CamPlus
from cam_aggregator.encoding import Codes, input_names
from cam_aggregator.features import from_lists
from cam_aggregator.linear import LinearModel
from coterie_core.answer_table import AnswerTable
from coterie_core.files import write_atomically

FORMAT = "coterie/cam/2"
MANIFEST = "manifest.json"
TRUSTED_TYPES: tuple[str, ...] = (
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.tree._tree.Tree",
)
"""Types beyond skops' own safe list (numpy, scikit-learn estimators) that a model may hold."""

_LARGEST_MODEL = 512 * 1024 * 1024  # bytes


class ModelFileError(AggregatorError):
    """A stored model is missing, broken, or belongs to something else; says what to do."""


def save_model(aggregator: Aggregator, folder: str | Path) -> None:
    """Write a trained CAM or CAM+ into a folder, which is made where it does not exist.

    The manifest is written last and names the digest of the model file, so that a half-written
    folder is never taken for a model.

    Raises:
        ModelFileError: This aggregator has nothing to store, or is not trained.
        OSError: The folder cannot be written.
    """
    folder = Path(folder)
    if not isinstance(aggregator, (CentralAnswerModel, CamPlus)) or not aggregator.trained_on:
        raise ModelFileError(
            f"{aggregator.name} holds no trained model; only a fitted CAM is stored"
        )
    folder.mkdir(parents=True, exist_ok=True)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "method": aggregator.name,
        "house": aggregator.house,
        "agents": list(aggregator.agents),
        "trained_on": aggregator.trained_on,
        "seed": aggregator.seed,
        "abstain_below": aggregator.abstain_below,
        "versions": _versions(),
    }
    if isinstance(aggregator, CamPlus):
        manifest["cam_plus"] = aggregator.state()
    else:
        manifest |= {
            "features": input_names(aggregator.agents),
            "objects": list(aggregator.objects.labels),
            "rooms": list(aggregator.rooms.labels),
            "yes_rate": aggregator.yes_rate.tolist(),
            "constant": aggregator.constant,
            "trees": aggregator.trees,
            "calibration": aggregator.calibrated.as_lists(),
            "calibration_known": aggregator.calibrated_known.as_lists(),
            "known_objects": sorted(aggregator.known_objects),
        }
        if aggregator.constant is None:
            name, data = _dump(aggregator)
            write_atomically(folder / name, data)
            manifest["model"] = {"file": name, "sha256": hashlib.sha256(data).hexdigest()}
    write_atomically(folder / MANIFEST, json.dumps(manifest, indent=1, allow_nan=False) + "\n")


def load_model(
    folder: str | Path,
    *,
    house: str | None = None,
    agents: Sequence[str] | None = None,
    method: str | None = None,
    table: AnswerTable | None = None,
) -> Aggregator:
    """Read a model that `save_model` wrote, and check that it fits.

    Args:
        folder: Where it is.
        house: The house it must belong to; None: any.
        agents: The robots it must be for, in this order; None: any.
        method: The method it must be; None: any.
        table: Questions it is to answer: its house and robots must be the model's, and at least
            half of its objects must be in the vocabulary (of CAM; CAM+ takes any).

    Raises:
        ModelFileError: It is missing, broken or does not fit.
    """
    folder = Path(folder)
    manifest = _manifest(folder)
    kind = _text(folder, manifest, "method")
    if table is not None:
        house = house if house is not None else table.house
        agents = agents if agents is not None else table.agents
    _fits(folder, "method", method, kind)
    _fits(folder, "house", house, _text(folder, manifest, "house"))
    stored = tuple(str(a) for a in manifest.get("agents", ()))
    if agents is not None and tuple(agents) != stored:
        raise ModelFileError(
            f"{folder / MANIFEST}: the model is for the robots {', '.join(stored)} in this order, "
            f"but the team is {', '.join(agents)}; train a model for this team"
        )
    classes: dict[str, type[CentralAnswerModel]] = {c.name: c for c in CAM_CLASSES}
    try:
        if kind == CamPlus.name:
            aggregator: Aggregator = _restored_plus(manifest, stored)
        elif kind in classes:
            aggregator = _restored_cam(folder, manifest, classes[kind], stored)
        else:
            raise ModelFileError(
                f"{folder / MANIFEST}: unknown method {kind!r}; "
                f"known: {', '.join(classes)}, cam_plus"
            )
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{folder / MANIFEST} is damaged ({type(error).__name__}: {error}); train again"
        ) from error
    if table is not None and isinstance(aggregator, CentralAnswerModel):
        _check_vocabulary(folder, aggregator, table)
    return aggregator


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist: no trained model here; train one") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} cannot be read as JSON ({error}); train again") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise ModelFileError(f"{path}: expected format {FORMAT!r}, got {found!r}; train again")
    return data


def _restored_plus(manifest: dict[str, Any], agents: tuple[str, ...]) -> CamPlus:
    state = manifest["cam_plus"]
    aggregator = CamPlus(
        groups=tuple(str(g) for g in state["groups"]),
        seed=int(manifest["seed"]),
        abstain_below=float(manifest["abstain_below"]),
    )
    if list(aggregator.columns) != list(state["columns"]):
        raise ModelFileError(
            f"a CAM+ with the features {', '.join(state['columns'])} was stored, but this version "
            f"makes {', '.join(aggregator.columns)}; train the model again"
        )
    aggregator.agents, aggregator.house = agents, str(manifest["house"])
    aggregator.trained_on = int(manifest["trained_on"])
    aggregator.strength = float(state["strength"])
    aggregator.facts = from_lists(state["facts"])
    if len(aggregator.facts.reliability.honest) != len(agents):
        raise ValueError("trust values do not match the number of robots")
    aggregator.first = LinearModel.from_lists(state["first"], len(aggregator.columns))
    aggregator.calibration = Calibration.from_lists(state["calibration"])
    if state["second"] is not None:
        aggregator.second = LinearModel.from_lists(state["second"], 4)
    return aggregator


def _restored_cam(
    folder: Path,
    manifest: dict[str, Any],
    kind: type[CentralAnswerModel],
    agents: tuple[str, ...],
) -> CentralAnswerModel:
    if list(manifest["features"]) != input_names(agents):
        raise ModelFileError(
            f"{folder / MANIFEST}: features {manifest['features']} do not belong to the robots "
            f"{', '.join(agents)}; train the model again"
        )
    aggregator = kind(
        seed=int(manifest["seed"]),
        trees=int(manifest["trees"]),
        abstain_below=float(manifest["abstain_below"]),
    )
    aggregator.agents, aggregator.house = agents, str(manifest["house"])
    aggregator.trained_on = int(manifest["trained_on"])
    aggregator.objects = Codes(tuple(str(x) for x in manifest["objects"]))
    aggregator.rooms = Codes(tuple(str(x) for x in manifest["rooms"]))
    aggregator.yes_rate = np.array(manifest["yes_rate"], dtype=float)
    aggregator.calibrated = Calibration.from_lists(manifest["calibration"])
    aggregator.calibrated_known = Calibration.from_lists(manifest["calibration_known"])
    aggregator.known_objects = frozenset(str(name) for name in manifest["known_objects"])
    constant = manifest["constant"]
    aggregator.constant = None if constant is None else float(constant)
    if aggregator.constant is None:
        model = _load(folder, manifest["model"], kind.name)
        if int(model.n_features_in_) != 2 + len(agents):
            raise ModelFileError(
                f"{folder}: the model has {model.n_features_in_} inputs, but object, room and "
                f"{len(agents)} robots make {2 + len(agents)}; train the model again"
            )
        aggregator.restore(model)
    return aggregator


def _dump(aggregator: CentralAnswerModel) -> tuple[str, bytes]:
    if aggregator.name == "xgboost":
        return "model.json", bytes(aggregator.model.get_booster().save_raw("json"))
    from skops.io import dumps

    return "model.skops", dumps(aggregator.model)


def _load(folder: Path, entry: dict[str, Any], kind: str) -> Any:
    expected = "model.json" if kind == "xgboost" else "model.skops"
    if entry["file"] != expected:  # never a path of the file's choosing
        raise ModelFileError(f"{folder / MANIFEST}: the model file must be {expected!r}")
    path = folder / expected
    try:
        if path.stat().st_size > _LARGEST_MODEL:
            raise ModelFileError(f"{path} is larger than {_LARGEST_MODEL} bytes: not loaded")
        data = path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read ({error}); train the model again") from error
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise ModelFileError(f"{path} is not the file the manifest names (digest); train again")
    if kind == "xgboost":
        from xgboost import XGBClassifier

        model = XGBClassifier()
        model.load_model(bytearray(data))
        return model
    from skops.io import get_untrusted_types, loads

    foreign = sorted(set(get_untrusted_types(data=data)) - set(TRUSTED_TYPES))
    if foreign:
        raise ModelFileError(
            f"{path} holds types that are not trusted: {', '.join(foreign)}; it was not made by "
            "Coterie and is not loaded"
        )
    model = loads(data, trusted=list(TRUSTED_TYPES))
    for tree in _trees(model):
        _check_tree(path, tree, int(model.n_features_in_))
    return model


def _trees(model: Any) -> list[Any]:
    members = getattr(model, "estimators_", [model])
    return [member.tree_ for member in members if hasattr(member, "tree_")]


def _check_tree(path: Path, tree: Any, features: int) -> None:
    """Refuse a tree whose compiled code would read outside its arrays, or never end."""
    nodes = np.arange(tree.node_count)
    for children in (tree.children_left, tree.children_right):
        inner = children >= 0
        if not np.all(children[inner] > nodes[inner]) or np.any(children >= tree.node_count):
            raise ModelFileError(
                f"{path} holds a tree with impossible links; train the model again"
            )
    if np.any(tree.feature >= features):
        raise ModelFileError(f"{path} holds a tree that asks for an input it does not have")


def _check_vocabulary(folder: Path, model: CentralAnswerModel, table: AnswerTable) -> None:
    known = set(model.objects.labels)
    asked = set(table.objects)
    strange = sorted(asked - known)
    if asked and len(strange) * 2 > len(asked):
        raise ModelFileError(
            f"{folder / MANIFEST}: {len(strange)} of {len(asked)} objects asked for are not in the "
            f"model's vocabulary ({', '.join(strange[:5])}, ...); train a model for this house"
        )


def _fits(folder: Path, what: str, wanted: str | None, found: str) -> None:
    if wanted is not None and wanted != found:
        raise ModelFileError(
            f"{folder / MANIFEST}: the model's {what} is {found!r}, but {wanted!r} is wanted; "
            f"train a model for this {what}, or name another folder"
        )


def _text(folder: Path, manifest: dict[str, Any], name: str) -> str:
    value = manifest.get(name)
    if not isinstance(value, str):
        raise ModelFileError(f"{folder / MANIFEST}: field {name!r} is missing; train again")
    return value


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("numpy", "scikit-learn", "skops")}
