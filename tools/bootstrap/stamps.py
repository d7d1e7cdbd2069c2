"""Stamps: a step is done when the hash of all that it depends on is the one it left behind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

#: Files of a Python package that end up in the build; its modules are linked, not copied.
_PACKAGE_FILES = ("package.xml", "setup.py", "setup.cfg", "CMakeLists.txt", "colcon.pkg")
_PATTERNS = ("msg/*.msg", "srv/*.srv", "action/*.action", "hook/*", "cmake/*.*")


def digest(facts: Iterable[str], files: Iterable[Path], root: Path) -> str:
    """Return the hash of some facts and of the names and contents of files.

    Contents rather than times: a fresh checkout or a switch of branches and back repeats nothing.
    The files are few and small, so that this takes milliseconds.

    Args:
        facts: Anything else that the step depends on, such as a version.
        files: Files that must exist.
        root: Names are taken relative to it.
    """
    state = hashlib.sha256()
    for fact in facts:
        state.update(fact.encode() + b"\0")
    for path in sorted(files):
        state.update(str(path.relative_to(root)).encode() + b"\0")
        state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()


def is_current(stamp: Path, expected: str) -> bool:
    """Tell whether the step that owns ``stamp`` was completed with the hash ``expected``."""
    try:
        return stamp.read_text(encoding="ascii").strip() == expected
    except (OSError, UnicodeDecodeError):
        return False


def write(stamp: Path, digest: str) -> None:
    """Leave a stamp; it is whole or not there."""
    scratch = stamp.with_name(f"{stamp.name}.new")
    scratch.write_text(digest + "\n", encoding="ascii")
    scratch.replace(stamp)


def workspace_packages(source: Path) -> list[Path]:
    """Return the package directories below ``ros2_ws/src`` that everybody needs.

    Those in ``compat`` are among them, those in ``compat/robots`` are not.
    """
    found = [path.parent for path in source.glob("*/package.xml")]
    found += [path.parent for path in source.glob("compat/*/package.xml")]
    return sorted(found)


def robot_stand_ins(source: Path) -> list[Path]:
    """Return the stand-ins for interfaces of real robots; they are built when asked for."""
    return sorted(path.parent for path in source.glob("compat/robots/*/package.xml"))


def build_inputs(packages: Iterable[Path]) -> list[Path]:
    """Return the files that a build of ``packages`` depends on.

    Modules are not among them: the build links to the sources, so that editing one needs no build.
    """
    files = []
    for package in packages:
        files += [package / name for name in _PACKAGE_FILES if (package / name).is_file()]
        for pattern in _PATTERNS:
            files += package.glob(pattern)
    return files
