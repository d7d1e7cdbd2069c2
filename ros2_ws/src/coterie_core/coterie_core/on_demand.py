"""Packages whose names are imported when they are first used: a command needs few of them."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any


def on_demand(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__`` for what its file names to type checkers.

    Those are the ``from package.module import name`` below its ``if TYPE_CHECKING:``.

    Args:
        package: Name of the package.
    """

    @cache
    def modules() -> dict[str, str]:
        tree = ast.parse(Path(str(sys.modules[package].__file__)).read_text("utf-8"))
        return {
            alias.name: str(line.module)
            for block in tree.body
            if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
            for line in block.body
            if isinstance(line, ast.ImportFrom)
            for alias in line.names
        }

    def found(name: str) -> Any:
        if name.startswith("__") or name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(modules()[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules()})

    return found, listed
