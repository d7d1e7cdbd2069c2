#!/usr/bin/env python3
"""Pin what the pinned packages depend on: requirements/constraints.txt, for every Python.

    python tools/lock_requirements.py python3.10 python3.11 python3.12

Run it after a change of requirements/{run,build,dev}.txt. Each interpreter resolves the files with
pip, without installing anything; packages whose version differs get an environment marker. What one
interpreter chose is preferred for the next, so that most lines need no marker.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ("run.txt", "build.txt", "dev.txt", "ros.txt")
#: Pinned where it is asked for: what ROS needs in ros.txt, numpy in run.txt and system.txt.
PINNED_ELSEWHERE = re.compile(r"ros[-_].*|numpy|pip")
HEADER = """\
# Exact versions of everything that run.txt, build.txt and dev.txt pull in. Written by
# tools/lock_requirements.py; not edited by hand.
"""


def canonical(name: str) -> str:
    """Return a distribution's name in the form in which two spellings of it are equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


def resolved(report: Mapping[str, object]) -> dict[str, str]:
    """Return name and version of every distribution in a report of ``pip install --report``."""
    pins = {}
    installs = report["install"]
    assert isinstance(installs, list)
    for item in installs:
        name = canonical(item["metadata"]["name"])
        if not PINNED_ELSEWHERE.fullmatch(name):
            pins[name] = item["metadata"]["version"]
    return pins


def merge(pins: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the lines of the constraints file.

    Args:
        pins: For each Python version such as ``3.11``, the pins that hold there.
    """
    versions = sorted(pins, key=lambda v: tuple(map(int, v.split("."))))
    lines = []
    for name in sorted(set().union(*pins.values())):
        found = {version: pins[version].get(name) for version in versions}
        if len(set(found.values())) == 1:
            lines.append(f"{name}=={found[versions[0]]}")
            continue
        for pin in sorted({pin for pin in found.values() if pin is not None}):
            holders = [version for version in versions if found[version] == pin]
            marker = " or ".join(f'python_version == "{version}"' for version in holders)
            if holders == versions[-len(holders) :]:
                marker = f'python_version >= "{holders[0]}"'
            lines.append(f"{name}=={pin} ; {marker}")
    return lines


def resolve(python: str, constraints: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Let one interpreter's pip resolve the requirement files.

    Returns:
        The interpreter's version such as ``3.11``, and the pins.

    Raises:
        RuntimeError: pip found no solution.
    """
    version = subprocess.run(
        [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        limits = Path(scratch) / "constraints.txt"
        limits.write_text("\n".join(constraints) + "\n")
        command = [
            python, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--prefer-binary",
            "--quiet", "--report", str(report), "--constraint", str(limits),
        ]  # fmt: skip
        for name in FILES:
            command += ["--requirement", str(ROOT / "requirements" / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{python}: pip found no solution:\n{done.stderr[-2000:]}")
        return version, resolved(json.loads(report.read_text()))


def main() -> int:
    """Resolve for the interpreters named on the command line and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pythons", nargs="+", help="one interpreter of each supported version")
    pins: dict[str, dict[str, str]] = {}
    preferred: list[str] = []
    for python in parser.parse_args().pythons:
        try:
            version, pins_here = resolve(python, preferred)
        except RuntimeError:
            # What an older or newer Python chose does not exist here: let this one choose.
            version, pins_here = resolve(python, ())
        pins[version] = pins_here
        preferred = [f"{name}=={pin}" for name, pin in pins_here.items()]
        print(f"{version}: {len(pins_here)} packages")
    target = ROOT / "requirements" / "constraints.txt"
    target.write_text(HEADER + "\n".join(merge(pins)) + "\n")
    print(f"wrote {target.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
