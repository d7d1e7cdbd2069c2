"""Robots by name: embodiments from YAML files; errors name file, field and nearest name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import yaml
from pydantic import ValidationError

from coterie_core.embodiment import Camera, Embodiment
from coterie_core.yaml_marks import read_yaml

if TYPE_CHECKING:
    from importlib.abc import Traversable

FOLDER = "data/robots"
"""Where the files of the robots that come with this package lie, in the package."""


class RobotError(ValueError):
    """A robot is unknown or its file is wrong: says which file and field, and what to do."""


def load_embodiments(directory: str | Path | None = None) -> dict[str, Embodiment]:
    """Return all embodiments of a folder by name (the file's name without `.yaml`).

    Args:
        directory: A folder of YAML files with the fields of `Embodiment`; None: the package's own.

    Raises:
        RobotError: There is no such folder, it holds no files, or a file is wrong.
    """
    files = sorted(_files(directory), key=lambda f: f.name)
    return {file.name.rsplit(".", 1)[0]: _read(file) for file in files}


def load_embodiment(name: str, directory: str | Path | None = None) -> Embodiment:
    """Return an embodiment by name.

    Args:
        name: For example "wheels".
        directory: As in `load_embodiments`.

    Raises:
        RobotError: No such robot (with the nearest name), or its file is wrong.
    """
    files = {file.name.rsplit(".", 1)[0]: file for file in _files(directory)}
    if name not in files:
        close = difflib.get_close_matches(name, files, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise RobotError(f"no robot {name!r}{hint} There are: {', '.join(sorted(files))}")
    return _read(files[name])


def _files(directory: str | Path | None) -> list[Traversable | Path]:
    where: Traversable | Path
    if directory is None:
        where = resources.files("habitat_bridge").joinpath(FOLDER)
    else:
        where = Path(directory)
        if not where.is_dir():
            raise RobotError(f"{where}: no such folder of robots; give one that holds YAML files")
    found = [file for file in where.iterdir() if file.name.endswith((".yaml", ".yml"))]
    if not found:
        raise RobotError(f"{where}: holds no YAML files of robots")
    return found


def _read(file: Traversable | Path) -> Embodiment:
    try:
        data = read_yaml(file.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RobotError(f"{file.name}: not YAML: {error}") from None
    if not isinstance(data, dict):
        raise RobotError(f"{file.name}: expected fields of a robot, got {type(data).__name__}")
    try:
        return Embodiment.model_validate({"name": file.name.rsplit(".", 1)[0], **data})
    except ValidationError as error:
        raise RobotError("; ".join(_problem(file.name, e) for e in error.errors()[:4])) from None


def _problem(file: str, error: Mapping[str, object]) -> str:
    loc = error["loc"]
    path = [str(part) for part in loc] if isinstance(loc, tuple) else []
    field = ".".join(path)
    if error["type"] == "extra_forbidden":
        known: Iterable[str] = Camera.model_fields if "cameras" in path else Embodiment.model_fields
        close = difflib.get_close_matches(path[-1], list(known), n=1)
        return f"{file}: unknown field {field!r}" + (
            f"; did you mean {close[0]!r}?" if close else ""
        )
    return f"{file}: {field}: {error['msg']}, got {error.get('input')!r}"


EMBODIMENTS: Mapping[str, Embodiment] = MappingProxyType(load_embodiments())
"""The robots that come with this package."""
