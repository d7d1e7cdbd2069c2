#!/usr/bin/env python3
"""Pin what the pinned packages depend on, for every Python, with the hashes of their files.

    python tools/lock_requirements.py

Run it after a change of a file in requirements/. uv resolves all groups together, for each Python,
without installing anything; what is pinned already is preferred, and packages whose version differs
get an environment marker. Each group's file then lists all that the group needs beside its own
lines. What unused.txt names is left out, with all that only it asks for. requirements/lock/hashes
then has the hashes of every file that the index has of a pinned version.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bootstrap import installer, machine
from bootstrap.plan import Layout

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "requirements"
#: Whose dependencies are locked; those of ros.txt, which lists all of ROS, are the build's.
NOT_A_GROUP = ("ros", "system", "unused")
#: The oldest Linux that all wheels exist for.
PLATFORM = "x86_64-manylinux_2_36"
HEADER = """\
# Exact versions of all that {name}.txt pulls in. Written by tools/lock_requirements.py.
"""
HASH_HEADER = """\
# Hashes of all files of every pinned version. Written by tools/lock_requirements.py.
"""


def groups(folder: Path) -> list[str]:
    """Return the names of the requirement files that have a lock file."""
    return sorted(path.stem for path in folder.glob("*.txt") if path.stem not in NOT_A_GROUP)


def pins(text: str) -> dict[str, str]:
    """Return name and version of every pinned line, ROS's left out: ros.txt has them all."""
    found = {}
    for line in text.splitlines():
        name = installer.pinned_name(line)
        if name is not None and not name.startswith("ros-"):
            found[name] = re.split(r"==|;", line)[1].strip()
    return found


def merge(found: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the lines of a lock file.

    Args:
        found: For each Python version such as ``3.11``, the pins that hold there.
    """
    versions = sorted(found, key=lambda v: tuple(map(int, v.split("."))))
    lines = []
    for name in sorted(set().union(*found.values())):
        here = {version: found[version].get(name) for version in versions}
        if len(set(here.values())) == 1:
            lines.append(f"{name}=={here[versions[0]]}")
            continue
        for pin in sorted({pin for pin in here.values() if pin is not None}):
            holders = [version for version in versions if here[version] == pin]
            marker = " or ".join(f'python_version == "{version}"' for version in holders)
            if holders == versions[-len(holders) :]:
                marker = f'python_version >= "{holders[0]}"'
            lines.append(f"{name}=={pin} ; {marker}")
    return lines


def resolve(
    uv: Path, version: str, files: Sequence[str], *, prefer: str = "", limit: str = ""
) -> str:
    """Let uv resolve requirement files for one Python; returns the pins, a line each.

    Args:
        uv: The program.
        version: Of Python, such as ``3.11``.
        files: Names of requirement files.
        prefer: Pins that are kept where they can be.
        limit: Pins that are kept.

    Raises:
        RuntimeError: There is no solution.
    """
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "pins.txt"
        output.write_text(prefer)
        limits = Path(scratch) / "limits.txt"
        limits.write_text(limit)
        command = [
            str(uv), "pip", "compile", "--quiet", "--no-header", "--no-annotate",
            "--python-version", version, "--python-platform", PLATFORM,
            "--index-strategy", "unsafe-best-match", "--excludes", str(FOLDER / "unused.txt"),
            "--constraint", str(limits), "--output-file", str(output),
            *(str(FOLDER / f"{name}.txt") for name in files),
        ]  # fmt: skip
        environ = {**os.environ, **installer.index_settings(Path(sys.executable), os.environ)}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"Python {version}: uv found no solution:\n{done.stderr[-2000:]}")
        return output.read_text()


def hash_lines(uv: Path, version: str, lines: Sequence[str]) -> dict[str, list[str]]:
    """Return the hashes of all files of pinned versions, as uv gets them from the index.

    Args:
        uv: The program.
        version: Of Python, such as ``3.11``.
        lines: Requirement lines.

    Returns:
        Name and version, such as ``numpy==2.4.6`` -> hashes such as ``sha256:...``.

    Raises:
        RuntimeError: A version is not there.
    """
    with tempfile.TemporaryDirectory() as scratch:
        wanted, output = Path(scratch) / "wanted.txt", Path(scratch) / "hashes.txt"
        wanted.write_text("\n".join(lines) + "\n")
        command = [
            str(uv), "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-deps",
            "--generate-hashes", "--python-version", version, "--python-platform", PLATFORM,
            "--index-strategy", "unsafe-best-match", "--output-file", str(output), str(wanted),
        ]  # fmt: skip
        environ = {**os.environ, **installer.index_settings(Path(sys.executable), os.environ)}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"Python {version}: no hashes:\n{done.stderr[-2000:]}")
        found: dict[str, list[str]] = {}
        pin = ""
        for line in output.read_text().splitlines():
            name = installer.pinned_name(line)
            if name is not None:
                pin = f"{name}=={line.partition('==')[2].split()[0]}"
                found[pin] = []
            found[pin] += re.findall(r"--hash=(\S+)", line)
        return found


def write_hashes(uv: Path) -> None:
    """Write the hashes of all that is pinned, for every Python, and of uv."""
    system = installer.pinned_lines(FOLDER / "system.txt")
    wheels = [f"uv=={installer.UV}"]
    for path in [*sorted(FOLDER.glob("*.txt")), *sorted((FOLDER / "lock").glob("*.txt"))]:
        if path.stem not in ("system", "unused"):
            wheels += installer.pinned_lines(path)
    found: dict[str, set[str]] = {}
    for version in ("{}.{}".format(*v) for v in machine.SUPPORTED_PYTHONS):
        for lines in (list(dict.fromkeys(wheels)), system):
            for pin, known in hash_lines(uv, version, lines).items():
                found.setdefault(pin, set()).update(known)
    text = "".join(f"{pin} {' '.join(sorted(known))}\n" for pin, known in sorted(found.items()))
    (FOLDER / "lock" / installer.HASHES).write_text(HASH_HEADER + text)
    print(f"wrote requirements/lock/{installer.HASHES}: {len(found)} packages")


def main() -> int:
    """Resolve all groups and write their lock files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only-hashes", action="store_true", help="The pins stay as they are.")
    only_hashes = parser.parse_args().only_hashes
    uv = installer.ensure_uv(Layout(ROOT), Path(sys.executable), os.environ)
    if uv is None:
        print("lock_requirements: uv could not be had", file=sys.stderr)
        return 1
    if only_hashes:
        write_hashes(uv)
        return 0
    names = groups(FOLDER)
    locks = FOLDER / "lock"
    locked = "".join(path.read_text() for path in sorted(locks.glob("*.txt")))
    prefer = locked
    found: dict[str, dict[str, dict[str, str]]] = {name: {} for name in names}
    for version in ("{}.{}".format(*v) for v in machine.SUPPORTED_PYTHONS):
        whole = resolve(uv, version, [*names, "ros"], prefer=prefer)
        prefer = locked + whole
        for name in names:
            files = [name, "ros"] if name == "build" else [name]
            found[name][version] = pins(resolve(uv, version, files, limit=whole))
        print(f"{version}: {len(pins(whole))} packages beside ROS")
    for name in names:
        asked = set(pins((FOLDER / f"{name}.txt").read_text()))
        beside = {
            version: {n: pin for n, pin in all_pins.items() if n not in asked}
            for version, all_pins in found[name].items()
        }
        (locks / f"{name}.txt").write_text(
            HEADER.format(name=name) + "\n".join(merge(beside)) + "\n"
        )
        print(f"wrote requirements/lock/{name}.txt")
    write_hashes(uv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
