#!/usr/bin/env python3
"""Build a wheel of the command line, for machines that have neither this repository nor ROS.

    .venv/bin/python tools/build_wheel.py --out dist
    pip install dist/coterie-*.whl

The wheel holds the Python of all packages below ros2_ws/src, with their data, and the files of
config/ that belong to them. It depends on what requirements/run.txt pins; every other group of
requirements that is used at run time is an extra. Messages are not in it, since ROS compiles them:
what needs ROS says so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as Xml
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "ros2_ws" / "src"
EXTRAS = ("embeddings", "local-model", "mcp")
"""Groups of requirements that somebody may want beside the command line."""
CONFIG = ("teams", "robots", "rviz", "foxglove", "dds")
SHARE = "share"
"""Where the wheel keeps config/: inside of coterie_bringup (see `coterie_bringup.resources`)."""

PROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "coterie"
version = "{version}"
description = "A team of household robots explores a house, answers questions and does tasks."
readme = "README.md"
requires-python = ">=3.10,<3.13"
license = "Apache-2.0"
dependencies = {dependencies}

[project.optional-dependencies]
{extras}

[project.scripts]
coterie = "coterie_cli.cli:main"

[tool.setuptools.packages.find]
where = ["."]

[tool.setuptools.package-data]
"*" = ["**/*"]
"""
README = """\
The command line of Coterie without ROS: `coterie --help`.

Benches, maps, recordings, robots' descriptions and logs are read without ROS. Whatever speaks to
robots or starts a team needs a ROS 2 workspace with Coterie's packages: use a clone there.
"""


def requirements(name: str) -> list[str]:
    """Return the pinned lines of a group of requirements."""
    lines = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def version() -> str:
    """Return the version that the package of the command line states."""
    told = Xml.parse(SOURCES / "coterie_cli" / "package.xml").findtext("version")
    assert told is not None, "coterie_cli/package.xml states no version"
    return told


def stage(folder: Path) -> None:
    """Lay out in an empty folder what the wheel is built of."""
    skipped = shutil.ignore_patterns("__pycache__", "*.pyc")
    for setup in sorted(SOURCES.glob("*/setup.py")):
        name = setup.parent.name
        shutil.copytree(setup.parent / name, folder / name, ignore=skipped)
    share = folder / "coterie_bringup" / SHARE
    for part in CONFIG:
        shutil.copytree(ROOT / "config" / part, share / "config" / part, ignore=skipped)
    extras = "\n".join(f"{name} = {requirements(name)}" for name in EXTRAS)
    text = PROJECT.format(version=version(), dependencies=requirements("run"), extras=extras)
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    (folder / "README.md").write_text(README, encoding="utf-8")


def build(out: Path) -> Path:
    """Build the wheel into a folder; return its file.

    Raises:
        SystemExit: setuptools could not build it; its output is shown.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="coterie-wheel-") as work:
        stage(Path(work))
        code = (
            "import sys; from setuptools import build_meta as b; print(b.build_wheel(sys.argv[1]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(out.resolve())],
            cwd=work,
            env={**os.environ, "SOURCE_DATE_EPOCH": "315532800"},  # the same files, the same wheel
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise SystemExit(
            f"build_wheel: setuptools failed\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return out / done.stdout.split()[-1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("dist"), help="Folder for the wheel.")
    wheel = build(parser.parse_args(arguments).out)
    print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
