"""`./coterie robot new`: a ROS package with a driver to fill in."""

from __future__ import annotations

import keyword
import os
import re
import sys
import tempfile
from importlib import resources
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from coterie_bringup.errors import CommandError

_NAME = re.compile(r"[a-z](?:_?[a-z0-9])+")
_FILES = {
    "package.xml": "package.xml",
    "setup.py": "setup.py",
    "setup.cfg": "setup.cfg",
    "resource": "resource/$name",
    "init.py": "$name/__init__.py",
    "driver.py": "$name/driver.py",
    "test_driver.py": "test/test_$name.py",
    "README.md": "README.md",
}
"""Templates, and the paths of what becomes of them."""


def new_package(
    name: Annotated[str, typer.Argument(help="Name of the package and of the robot's driver.")],
    into: Annotated[
        Path, typer.Option(file_okay=False, help="Folder that the package's folder is made in.")
    ] = Path("ros2_ws/src"),
) -> int:
    """Write a ROS package with a driver to fill in, for a robot that has no Nav2 or MoveIt.

    It serves coterie_msgs' actions, as an adapter with `backend: skills` asks for them; its tests
    run at once.
    """
    folder = into / name
    _check(name, folder)
    into.mkdir(parents=True, exist_ok=True)
    templates = resources.files("coterie_cli") / "data" / "driver"
    # All of it, or nothing: a package in parts would break the next build of the workspace.
    with tempfile.TemporaryDirectory(dir=into, prefix=f".{name}.") as half:
        for template, path in _FILES.items():
            file = Path(half) / name / Template(path).substitute(name=name)
            file.parent.mkdir(parents=True, exist_ok=True)
            text = (templates / f"{template}.in").read_text("utf-8")
            file.write_text(Template(text).substitute(name=name), encoding="utf-8")
        try:
            os.rename(Path(half) / name, folder)
        except OSError as error:
            raise CommandError(f"{folder}: cannot be made: {error}") from None
    print(
        f"{folder}: a package with a driver to fill in: {name}/driver.py\n"
        f"  python3 -m pytest {folder / 'test'}   its tests run already\n"
        f"  {folder / 'README.md'}   how to build and run it, and what to write into the team file"
    )
    return 0


def _check(name: str, folder: Path) -> None:
    if not _NAME.fullmatch(name) or len(name) > 50:
        fixed = re.sub(r"_+", "_", re.sub(r"[^a-z0-9]", "_", name.lower())).strip("_0123456789")
        hint = f"; for example {fixed!r}" if _NAME.fullmatch(fixed) else ""
        raise CommandError(
            f"{name!r} cannot be the name of a ROS package: small letters, digits and single _, a "
            f"letter first, at most 50{hint}"
        )
    if keyword.iskeyword(name) or name in sys.stdlib_module_names or name in ("test", "resource"):
        raise CommandError(f"{name!r} is a word of Python's; for example '{name}_robot'")
    prefixes = [p for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    taken = next((p for p in prefixes if (Path(p) / "share" / name).is_dir()), None)
    if taken is not None:
        raise CommandError(f"a ROS package {name!r} is in {taken}; choose another name")
    if os.path.lexists(folder):
        raise CommandError(f"{folder} is there already; nothing was written. Choose another name")
    if not os.access(_nearest(folder.parent), os.W_OK):
        raise CommandError(f"{folder.parent} cannot be written; choose another folder with --into")


def _nearest(folder: Path) -> Path:
    """Return the nearest folder that exists."""
    while not folder.exists() and folder.parent != folder:
        folder = folder.parent
    return folder
