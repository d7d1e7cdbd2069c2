#!/usr/bin/env python3
"""Put Python packages into an install tree as ``colcon build --symlink-install`` does, at once.

    python tools/link_packages.py SOURCE INSTALL

colcon starts Python several times for each package; for Coterie's that is half a minute of
computing which leaves links and a few small files. Here the same is written: what ``ros2 run``,
``ros2 launch``, ament's index and ``source install/setup.bash`` look for. What colcon builds later
by hand takes the place of what is written here.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import shlex
import shutil
import sys
import xml.etree.ElementTree as Xml
from pathlib import Path
from typing import Any

#: Below the install tree: a link to each package's modules.
MODULES = "modules"
#: What programs run with, whoever calls this: nodes need the environment's packages.
_ENVIRONMENT = Path(__file__).resolve().parents[1] / ".venv" / "bin" / "python"

_PROGRAM = """\
#!{python}
import sys

from {module} import {function}

sys.exit({function}())
"""
_SCRIPT = """\
# Puts this package into the environment of a POSIX shell.
if [ -n "${{COLCON_CURRENT_PREFIX-}}" ]; then
    _coterie_prefix="$COLCON_CURRENT_PREFIX"
else
    _coterie_prefix={prefix}
fi
# Put $2 in front of the colon list named $1, unless it is already a member.
_coterie_prepend() {{
    eval "_coterie_list=\\"\\${{$1-}}\\""
    case ":$_coterie_list:" in
        *":$2:"*) ;;
        *) eval "export $1=\\"\\$2\\${{_coterie_list:+:\\$_coterie_list}}\\"" ;;
    esac
}}
_coterie_prepend AMENT_PREFIX_PATH "$_coterie_prefix"
_coterie_prepend PYTHONPATH {modules}
unset -f _coterie_prepend
{hooks}unset _coterie_prefix _coterie_list
"""
_HOOK = """\
COLCON_CURRENT_PREFIX="$_coterie_prefix" . "$_coterie_prefix/{hook}"
"""


def described(folder: Path) -> dict[str, Any]:
    """Return what the ``setup.py`` of a package passes to setuptools.

    It runs here, with its folder as working directory.
    """
    import setuptools

    found: dict[str, Any] = {}
    real, before = setuptools.setup, Path.cwd()
    setuptools.setup = lambda **given: found.update(given)
    try:
        os.chdir(folder)
        runpy.run_path("setup.py", run_name="__main__")
    finally:
        os.chdir(before)
        setuptools.setup = real
    return found


def _link(target: Path, link: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target.resolve())


def _needed(folder: Path) -> list[str]:
    """Return the packages that one needs at run time, by its package.xml."""
    kinds = ("depend", "exec_depend")
    root = Xml.parse(folder / "package.xml").getroot()
    return sorted({(item.text or "").strip() for kind in kinds for item in root.iter(kind)})


def link_package(folder: Path, install: Path) -> None:
    """Put one package into the install tree, in place of what is there of it.

    Args:
        folder: With ``package.xml``, ``setup.py`` and the modules.
        install: colcon's install tree; absolute.
    """
    name = folder.name
    prefix = install / name
    python = _ENVIRONMENT if _ENVIRONMENT.exists() else sys.executable
    shutil.rmtree(prefix, ignore_errors=True)
    given = described(folder)
    for place, files in given.get("data_files", []):
        for file in files:
            _link(folder / file, prefix / place / Path(file).name)
    for line in given.get("entry_points", {}).get("console_scripts", []):
        program, _, entry = (word.strip() for word in line.partition("="))
        module, _, function = entry.partition(":")
        path = prefix / "lib" / name / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            _PROGRAM.format(python=python, module=module, function=function),
            encoding="utf-8",
        )
        path.chmod(0o755)
    modules = install / MODULES
    _link(folder / name, modules / name)
    share = prefix / "share" / name
    settings = folder / "colcon.pkg"
    hooks = json.loads(settings.read_text())["hooks"] if settings.is_file() else []
    script = _SCRIPT.format(
        prefix=shlex.quote(str(prefix)),
        modules=shlex.quote(str(modules)),
        hooks="".join(_HOOK.format(hook=hook) for hook in hooks),
    )
    (share / "package.sh").write_text(script, encoding="utf-8")
    lines = [
        "prepend-non-duplicate;AMENT_PREFIX_PATH;",
        f"prepend-non-duplicate;PYTHONPATH;{modules}",
        *(f"source;{hook}" for hook in hooks),
    ]
    (share / "package.dsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    marker = prefix / "share" / "colcon-core" / "packages" / name
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.write_text(":".join(_needed(folder)), encoding="utf-8")


def main() -> int:
    """Link all packages of a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, help="folder of the packages")
    parser.add_argument("install", type=Path, help="colcon's install tree")
    arguments = parser.parse_args()
    install = arguments.install.resolve()
    folders = sorted(file.parent for file in arguments.source.resolve().glob("*/setup.py"))
    shutil.rmtree(install / MODULES, ignore_errors=True)
    for folder in folders:
        link_package(folder, install)
        print(f"linked {folder.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
