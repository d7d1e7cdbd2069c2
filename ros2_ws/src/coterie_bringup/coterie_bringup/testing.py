"""``./coterie test``: lint, types, ROS-free tests, ROS tests, and a table of how they went."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

#: pytest's exit code for "no test was selected".
NOTHING_SELECTED = 5


@dataclass(frozen=True)
class Part:
    """One thing that ``./coterie test`` runs.

    Attributes:
        name: What the table calls it.
        command: Program and arguments, run at the repository's root.
    """

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How a part went: its exit code and how long it took [s]."""

    part: Part
    code: int
    seconds: float

    @property
    def passed(self) -> bool:
        """Did it succeed?"""
        return self.code == 0

    @property
    def selected_nothing(self) -> bool:
        """Is it a test session that had nothing to run?"""
        return self.part.command[0].endswith("pytest") and self.code == NOTHING_SELECTED

    @property
    def verdict(self) -> str:
        """The word for the table."""
        if self.selected_nothing:
            return "no test matched"
        return "passed" if self.passed else f"failed (exit code {self.code})"


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
        "run ./coterie test from a clone"
    )


def _tool(name: str) -> str:
    # The environment's own script: `python -m` would put the current directory on the path.
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else name


def typed_targets(root: Path) -> list[str]:
    """Return the directories that mypy checks, relative to ``root``."""
    packages = (root / "ros2_ws" / "src").glob("*/*/__init__.py")
    targets = [str(path.parent.relative_to(root)) for path in packages]
    return [*sorted(targets), "tools"]


def parts(
    root: Path,
    *,
    marker: str | None = None,
    keyword: str | None = None,
    paths: Sequence[str] = (),
) -> list[Part]:
    """Return what to run.

    With a marker, a keyword or paths, that is one pytest session with just these tests; else
    everything, the ROS-free tests before those that start nodes.
    """
    pytest = _tool("pytest")
    if marker or keyword or paths:
        command = [pytest]
        command += ["-m", marker] if marker else []
        command += ["-k", keyword] if keyword else []
        return [Part("selected tests", (*command, *paths))]
    ruff = _tool("ruff")
    return [
        Part("ruff check", (ruff, "check", ".")),
        Part("ruff format", (ruff, "format", "--check", ".")),
        Part("mypy", (_tool("mypy"), *typed_targets(root))),
        Part("tests without ROS", (pytest, "-m", "not ros")),
        Part("tests with ROS", (pytest, "-m", "ros")),
    ]


def run(todo: Sequence[Part], root: Path, console: Console) -> list[Outcome]:
    """Run every part, also after a failure, with its output on the terminal."""
    outcomes = []
    for part in todo:
        console.rule(part.name, align="left")
        started = time.monotonic()
        done = subprocess.run(part.command, cwd=root, stdin=subprocess.DEVNULL, check=False)
        outcomes.append(Outcome(part, done.returncode, time.monotonic() - started))
    return outcomes


def summary(outcomes: Sequence[Outcome]) -> Table:
    """Return the closing table."""
    table = Table(title="./coterie test", title_justify="left")
    table.add_column("part")
    table.add_column("result")
    table.add_column("seconds", justify="right")
    for outcome in outcomes:
        style = "green" if outcome.passed else "red"
        table.add_row(outcome.part.name, f"[{style}]{outcome.verdict}[/]", f"{outcome.seconds:.1f}")
    return table


def test(
    marker: Annotated[
        str | None,
        typer.Option("-m", metavar="EXPR", help="only tests with these markers, as pytest -m"),
    ] = None,
    keyword: Annotated[
        str | None,
        typer.Option("-k", metavar="EXPR", help="only tests with these names, as pytest -k"),
    ] = None,
    paths: Annotated[
        list[str] | None,
        typer.Argument(help="only the tests below these files or directories"),
    ] = None,
) -> None:
    """Run lint, type checks, ROS-free tests and ROS tests; with a selection, just those tests."""
    console = Console()
    root = repository()
    # Paths are the caller's; the session runs at the root.
    found = [_absolute(path) for path in paths or ()]
    outcomes = run(parts(root, marker=marker, keyword=keyword, paths=found), root, console)
    console.print(summary(outcomes))
    if any(outcome.selected_nothing for outcome in outcomes):
        console.print(
            "No test matched: check the expressions of -m and -k and the paths "
            "(markers: ros, slow, habitat)."
        )
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)


def _absolute(path: str) -> str:
    # A node id (file.py::test) keeps its tail.
    file, separator, tail = path.partition("::")
    return f"{Path(file).resolve()}{separator}{tail}"


if __name__ == "__main__":
    typer.run(test)
