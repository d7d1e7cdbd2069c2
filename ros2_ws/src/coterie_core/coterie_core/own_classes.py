"""Classes of the user's own, named as `my_package.module:Class`: loaded by name, and checked."""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator

T = TypeVar("T")

TEAM_FILE = "COTERIE_TEAM_FILE"
"""Environment variable with the team file of a process, for its errors."""
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


def own_name(name: str) -> str:
    """Return a name of the form `my_package.module:Class`.

    Raises:
        ValueError: It has another form.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name[:100]!r} names nothing: expected my_package.module:Class, the dotted name of a "
            "module and the name of a class or function in it"
        )
    return name


OwnName = Annotated[str, AfterValidator(own_name)]


def load_own(name: str, field: str, expected: str, fits: Callable[[Any], bool] = callable) -> Any:
    """Return what a module of the user's holds under a name.

    Args:
        name: `my_package.module:Class`; nothing but an import is made of it.
        field: Field of the team file, or option, that names it.
        expected: What it has to be, for the error.
        fits: Tells whether it is that.

    Raises:
        ValueError: It is not there, or something else; names file, field, and what to do.
    """
    file = Path(os.environ.get(TEAM_FILE, "")).name
    where = f"{file}: {field}" if file else field
    try:
        module, _, attribute = own_name(name).partition(":")
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    try:
        holder = importlib.import_module(module)
    except Exception as error:  # whatever a module of somebody else's does when it is imported
        raise ValueError(
            f"{where}: {name}: {module} cannot be imported ({type(error).__name__}: {error}); "
            "install its package, or name its folder in PYTHONPATH"
        ) from error
    if not hasattr(holder, attribute):
        raise ValueError(
            f"{where}: {name}: {module} ({getattr(holder, '__file__', 'built in')}) has no "
            f"{attribute}; expected {expected}"
        )
    found = getattr(holder, attribute)
    if not fits(found):
        came = "a class" if inspect.isclass(found) else f"a {type(found).__name__}"
        raise ValueError(f"{where}: {name}: expected {expected}, got {came} that is none")
    if inspect.isclass(found) and inspect.isabstract(found):
        lacks = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
        raise ValueError(f"{where}: {name}: write {lacks}, which {expected} has to have")
    return found


def load_class(name: str, field: str, base: type[T]) -> type[T]:
    """Return a class of the user's that is derived from a base; see `load_own`."""
    expected = f"a class derived from {base.__module__}.{base.__qualname__}"
    found: type[T] = load_own(
        name, field, expected, lambda one: inspect.isclass(one) and base in one.__mro__
    )
    return found


def load_made(name: str, field: str, expected: str, fits: Callable[[Any], bool]) -> Any:
    """Return what a class or function of the user's makes when it is called without arguments.

    Args:
        name: `my_package.module:make`.
        field: Field of the team file, or option, that names it.
        expected: What it has to make, for the error.
        fits: Tells whether it is that.

    Raises:
        ValueError: See `load_own`; it cannot be called, or makes something else.
    """
    maker = load_own(name, field, f"a class or function that makes {expected}")
    try:
        made = maker()
    except Exception as error:  # whatever it does
        raise ValueError(
            f"{field}: {name}() failed ({type(error).__name__}: {error}); it is called without "
            f"arguments and has to make {expected}"
        ) from error
    if not fits(made):
        raise ValueError(f"{field}: {name}() made {type(made).__name__}; expected {expected}")
    return made
