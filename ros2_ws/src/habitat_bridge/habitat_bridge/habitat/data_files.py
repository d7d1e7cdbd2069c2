"""Files of scene data sets, read with care: confined to a folder, bounded in size, errors named."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from habitat_bridge.simulator import WorldError

JSON_LIMIT = 64 * 2**20
"""Largest JSON, text or URDF file that is read [bytes]."""
MESH_LIMIT = 1024 * 2**20
"""Largest mesh whose vertices are read [bytes]; only headers of larger ones are."""

Vec = tuple[float, float, float]


class Refused(ValueError):
    """An entry of a file cannot be used; the message names what was expected and what came."""


def confined(root: Path, base: Path, name: str) -> Path:
    """Return `name` relative to `base` as a normalised path that lies in `root`.

    Symbolic links are not followed: archives of public data sets are full of them, and who
    unpacks one decides where they lead.

    Raises:
        Refused: The name is empty, has a null character, or leads out of `root`.
    """
    if not name or "\0" in name:
        raise Refused(f"expected the name of a file, got {name!r}")
    path = Path(os.path.normpath(base / name.replace("\\", "/")))
    if not path.is_relative_to(root):
        raise Refused(f"{name!r} leads out of {root}; data are read from there only")
    return path


def read_text(path: Path, what: str) -> str:
    """Return the text of a file of at most `JSON_LIMIT` bytes.

    Args:
        path: The file.
        what: What it should be, for errors ("scene instance").

    Raises:
        WorldError: Missing, unreadable, too large or no text.
    """
    try:
        size = path.stat().st_size
        if size > JSON_LIMIT:
            raise WorldError(
                f"{path}: {size / 2**20:.0f} MB is too large for a {what} (limit"
                f" {JSON_LIMIT / 2**20:.0f} MB); is it the right file?"
            )
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise WorldError(
            f"{path}: cannot be read as {what} ({error.strerror}); check that the data set is"
            " complete"
        ) from error
    except UnicodeDecodeError as error:
        raise WorldError(f"{path}: expected a {what} in UTF-8 text, got binary data") from error


def read_json(path: Path, what: str) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises:
        WorldError: Missing, too large, not JSON, or not an object.
    """
    text = read_text(path, what)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WorldError(f"{path}: expected a {what} in JSON ({error}); mend the file") from None
    if not isinstance(data, dict):
        raise WorldError(
            f"{path}: expected a {what} (a JSON object), got {type(data).__name__}; mend the file"
        )
    return data


def vector(data: dict[str, Any], field: str, default: Sequence[float]) -> tuple[float, ...]:
    """Return a field of numbers, as many as `default` has, or `default` where it is absent.

    Raises:
        Refused: Not that many finite numbers.
    """
    value = data.get(field)
    if value is None:
        return tuple(default)
    if (
        not isinstance(value, list)
        or len(value) != len(default)
        or not all(_finite(v) for v in value)
    ):
        raise Refused(f"{field}: expected {len(default)} numbers, got {_short(value)}")
    return tuple(float(v) for v in value)


def vector3(data: dict[str, Any], field: str, default: Vec) -> Vec:
    """Like `vector`, for three numbers."""
    x, y, z = vector(data, field, default)
    return (x, y, z)


def number(data: dict[str, Any], field: str, default: float) -> float:
    """Return a field that holds a finite number.

    Raises:
        Refused: Something else.
    """
    value = data.get(field, default)
    if not _finite(value):
        raise Refused(f"{field}: expected a number, got {_short(value)}")
    return float(value)


def text_field(data: dict[str, Any], field: str, default: str = "") -> str:
    """Return a field that holds a text.

    Raises:
        Refused: Something else.
    """
    value = data.get(field, default)
    if not isinstance(value, str):
        raise Refused(f"{field}: expected a text, got {_short(value)}")
    return value


def objects_field(data: dict[str, Any], field: str) -> list[Any]:
    """Return a field that holds a list (empty where absent).

    Raises:
        Refused: Something else.
    """
    value = data.get(field, [])
    if not isinstance(value, list):
        raise Refused(f"{field}: expected a list, got {_short(value)}")
    return value


def _finite(value: Any) -> bool:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and abs(value) < 1e12
        and math.isfinite(value)
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
