"""Find the clone of the repository, which tests, the site and the studies need."""

from __future__ import annotations

import importlib.metadata
import os
import re
from pathlib import Path

import typer

from coterie_bringup.errors import CommandError

app = typer.Typer(add_completion=False)


def repository() -> Path:
    """Return the repository's root: where ./coterie is, else above this file's source.

    Raises:
        FileNotFoundError: This copy was installed without its repository.
    """
    candidates = [Path(__file__).resolve().parents[4]]
    if os.environ.get("COTERIE_ROOT"):
        candidates.insert(0, Path(os.environ["COTERIE_ROOT"]))
    for root in candidates:
        if (root / "pyproject.toml").is_file() and (root / "ros2_ws" / "src").is_dir():
            return root
    raise FileNotFoundError(
        f"the repository with pyproject.toml and ros2_ws/src is not at {candidates[0]}; "
        "run ./coterie from a clone"
    )


def absent_studies(root: Path) -> list[str]:
    """Return the packages of requirements/research.txt that are not installed here."""
    absent = []
    for line in (root / "requirements" / "research.txt").read_text("utf-8").splitlines():
        match = re.match(r"[A-Za-z0-9_.-]+(?===)", line)
        if match is None or match[0] in absent:
            continue
        try:
            importlib.metadata.version(match[0])
        except importlib.metadata.PackageNotFoundError:
            absent.append(match[0])
    return absent


@app.command("setup")
def setup() -> int:
    """Set up what is missing (the script ./coterie does it before this program starts)."""
    try:
        repository()
    except FileNotFoundError:
        raise CommandError(
            "there is no clone of Coterie here to set up; pip installs what the wheel is to do "
            "beside: pip install 'coterie[mcp]'"
        ) from None
    print("Coterie is set up. `./coterie doctor` shows what is installed.")
    return 0
