"""Expands one xacro document: the program that `xacro.expand` runs in a process of its own.

It reads a request from standard input and writes the outcome to standard output, both JSON. xacro
evaluates Python expressions of the document, so this process may read the folders that the request
names and nothing else: no other file, no program, no network, bounded memory and time.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import resource
import sys
from pathlib import Path
from typing import Any

MEMORY = 1 << 30
SECONDS = 20
MOST_MISSING = 40
_UNDEFINED = re.compile(r"name '(\w+)' is not defined|Undefined substitution argument (\w+)")
_DENIED = ("socket.", "subprocess.", "os.", "shutil.", "ctypes.", "pty.", "urllib.", "webbrowser.")
_READING = ("os.listdir", "os.scandir", "os.walk", "os.fwalk")


class NotAllowed(RuntimeError):
    """The document asks for something outside of the folders that may be read."""


class _Arguments(dict[str, str]):
    """Arguments that note which of them the document declares or asks for."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


def main() -> None:
    """Expand the document of the request."""
    request = json.load(sys.stdin)
    result = sys.stdout
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        answer = expand(request)
    json.dump(answer, result)


def expand(request: dict[str, Any]) -> dict[str, Any]:
    """Return the expanded document, or what is wrong.

    Args:
        request: `text`, `file` (its path, or empty), `arguments` (name -> value), `folders` that
            may be read, `packages` (name of a package -> its folder).
    """
    import xacro
    import yaml  # noqa: F401  (before files are out of bounds)
    from xacro import substitution_args

    packages: dict[str, str] = request["packages"]

    def find(package: str) -> str:
        if package not in packages:
            raise NotAllowed(
                f"$(find {package}): this package is not known; give its folder (--package)"
            )
        return packages[package]

    substitution_args._eval_find = find
    _confine([*request["folders"], *packages.values()])
    arguments = dict(request["arguments"])
    missing: list[str] = []
    while True:
        given = _Arguments(arguments)
        try:
            xacro.init_stacks(request["file"] or None)
            document = xacro.parse(request["text"], request["file"] or None)
            xacro.process_doc(document, mappings=given)
            return {
                "xml": document.toxml(),
                "missing": missing,
                "arguments": dict(given),
                "asked": sorted(given.asked),
            }
        except Exception as error:  # whatever an expression raises
            text = _words(error)
            undefined = _UNDEFINED.search(text)
            name = next((group for group in undefined.groups() if group), "") if undefined else ""
            if not name or name in missing or len(missing) >= MOST_MISSING:
                unset = [one for one in missing if one in given.asked]
                return {"error": " ".join(text.split())[:600], "unset": unset}
            missing.append(name)
            arguments.setdefault(name, "")
            xacro._global_symbols[name] = ""


def _words(error: Exception) -> str:
    """What an error says; xacro wraps ours in words of its own, twice."""
    inner: Any = error
    while inner is not None:
        if isinstance(inner, NotAllowed):
            return str(inner)
        inner = getattr(inner, "exc", None)
    return str(error) or type(error).__name__


def _confine(folders: list[str]) -> None:
    """From here on this process reads `folders` and Python's own modules, and does nothing else."""
    soft = (MEMORY, MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, soft)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
    allowed = [Path(folder).resolve() for folder in folders]
    own = [Path(place).resolve() for place in {sys.prefix, sys.base_prefix, *sys.path} if place]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            _check_open(arguments, allowed, own)
        elif event in _READING:
            _check_below(arguments[0], [*allowed, *own])
        elif event.startswith(_DENIED):
            raise NotAllowed(f"{event} is not allowed in a xacro document")

    sys.addaudithook(hook)


def _check_open(arguments: tuple[Any, ...], allowed: list[Path], own: list[Path]) -> None:
    path, mode, flags = (*arguments, None, None)[:3]
    if isinstance(path, int):
        return
    writes = isinstance(mode, str) and any(sign in mode for sign in "wax+")
    if writes or (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
        raise NotAllowed("a xacro document may not write files")
    module = str(path).endswith((".py", ".pyc", ".so"))
    _check_below(path, [*allowed, *(own if module else [])])


def _check_below(path: Any, folders: list[Path]) -> None:
    place = Path(os.fsdecode(path) if path is not None else ".").resolve()
    if not any(place.is_relative_to(folder) for folder in folders):
        raise NotAllowed(
            f"{place.name!r} lies outside of the folders that may be read; give its package's "
            "folder (--package)"
        )


if __name__ == "__main__":
    main()
