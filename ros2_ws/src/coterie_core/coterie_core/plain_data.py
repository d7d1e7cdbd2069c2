"""Plain data from files and messages: JSON read safely, values checked, error texts cut."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

MAX_ERROR_CHARS = 1500
"""Longest text of an error about data [characters]."""

MAX_NESTING = 60
"""Most maps and lists inside one another; nothing that is read here needs more."""

MAX_NUMBER = 1e12
"""Largest amount of a number; anything beyond is a mistake, and overflows soon."""

_UNUSABLE = re.compile("[\x00\ud800-\udfff]")


class DataError(ValueError):
    """Data cannot be used; says where in it and what was expected."""


def shorten(value: object, limit: int = 200) -> str:
    """Return a value as one printable line of about `limit` characters at most.

    What was left out is counted: `... (4123 more characters)`.
    """
    if isinstance(value, str):
        text = value
    else:
        try:
            text = repr(value)
        except (ValueError, RecursionError):  # whole numbers of thousands of digits
            text = f"a {type(value).__name__} too large to show"
    kept: list[str] = []
    room = limit
    for character in text[:limit]:
        piece = character if character.isprintable() else repr(character)[1:-1]
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    more = len(text) - len(kept)
    return "".join(kept) + (f"... ({more} more characters)" if more else "")


def schema_problems(error: ValidationError, top: str = "top level", most: int = 1) -> str:
    """Return what does not fit a schema as "field.of.field: what is wrong", joined by "; ".

    Args:
        error: Validation error that pydantic raised.
        top: Name of the whole, for errors that no single field is at fault for.
        most: Problems that are named, the first ones.
    """
    found = error.errors(include_url=False, include_context=False, include_input=False)[:most]
    return "; ".join(
        f"{shorten('.'.join(str(part) for part in one['loc']) or top)}: {shorten(one['msg'], 500)}"
        for one in found
    )


def read_json(text: str | bytes) -> Any:
    """Return what a JSON document holds.

    Raises:
        DataError: It is not JSON, not UTF-8, or nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise DataError("not JSON: nested too deeply") from None
    except ValueError as error:
        raise DataError(f"not JSON: {shorten(str(error))}") from None


def check_values(value: Any) -> None:
    """Check that data consist of finite numbers and texts that can be written down.

    Args:
        value: Maps, lists and tuples of texts, numbers, truth values and None.

    Raises:
        DataError: A number that is not finite or too large, a text with NUL or half a surrogate
            pair, a value of another kind, or data nested too deeply; names the value.
    """
    _check(value, ())


def _check(value: Any, path: tuple[str, ...]) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        if _UNUSABLE.search(value):
            raise _problem(path, "a text without NUL and without lone surrogates", value)
    elif isinstance(value, (int, float)):
        # Compared before anything is computed: a large whole number has no float.
        if not -MAX_NUMBER <= value <= MAX_NUMBER or not math.isfinite(value):
            raise _problem(path, f"a finite number of at most {MAX_NUMBER:g}", value)
    elif len(path) > MAX_NESTING:
        raise DataError(f"{path[0]}: nested too deeply")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            here = (*path, shorten(str(key), 60))
            _check(key, here)
            _check(inner, here)
    elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        for k, inner in enumerate(value):
            _check(inner, (*path, str(k)))
    else:
        raise _problem(path, "plain data", type(value).__name__)


def _problem(path: tuple[str, ...], expected: str, got: object) -> DataError:
    where = ".".join(path) or "value"
    return DataError(f"{where}: expected {expected}, got {shorten(got, 80)}")
