"""`./coterie test`: ruff, mypy, and pytest for the tests of the product and of the studies.

Plugins of pytest spread the tests over the cores and run up to three failed tests of a session
once more; the session's summary names them as RERUN.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from coterie_cli.clone import absent_studies, repository

app = typer.Typer(add_completion=False)


MEMORY = 1.25e9
"""What a test process and the nodes that it starts take on average [bytes]."""
RERUNS = ("--reruns", "1", "--max-suite-reruns", "3")
"""For tests over middleware, processes and browsers, on a machine that others use as well."""
STUDIES_BUDGET = 1500
"""Longest time for the tests of research/ [s]."""
PRODUCT = ("tests", "ros2_ws/src")
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Settings of libraries that else start a thread per core in each test process."""


class Part(NamedTuple):
    """One command that `./coterie test` runs at the repository's root."""

    name: str
    command: tuple[str, ...]
    beside: bool = False
    """Whether it runs beside all others and is shown last, as what takes one core does."""


@app.command("test", context_settings={"ignore_unknown_options": True})
def run_tests(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PYTEST",
            help="Options, files and folders for pytest, which alone runs then; default: all.",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Only lint and two minutes of tests, of every package."),
    ] = False,
) -> int:
    """Run ruff, mypy, the product's tests and the studies' tests.

    With options or paths, such as -m ros, -k stop or tests/docs, run pytest with just these.
    """
    root = repository()
    if words and not quick:
        command = (_tool("pytest"), "-c", str(root / "pyproject.toml"), *words)
        return subprocess.run(command, env=_environment(), check=False).returncode
    code = run(quick_parts(root, words or ()) if quick else parts(root), root)
    if not quick and (why := studies_missing(root)):
        print(f"The tests of the studies did not run: {why}.")
    return code


def parts(root: Path) -> list[Part]:
    """Return all there is to run, the tests of the studies last."""
    # Tests with ROS wait most of their time, for simulated time, discovery and deadlines: those
    # without ROS compute meanwhile.
    # One process reads and rewrites all tests first, which else each of them would do again.
    quiet = ("-p", "no:terminal", "-o", "addopts=--import-mode=importlib")
    todo = [
        *_lint(root),
        Part("tests are read", (_tool("pytest"), "--collect-only", *quiet, *PRODUCT)),
        Part("tests", (*_pytest(more=2), *PRODUCT)),
    ]
    if not studies_missing(root):
        budget = f"--session-timeout={STUDIES_BUDGET}"
        todo.append(Part("tests of the studies", _pytest(budget, "research/tests")))
    return todo


def quick_parts(root: Path, words: Sequence[str] = ()) -> list[Part]:
    """Return lint and the tests marked `quick`, which touch every package."""
    return [*_lint(root), Part("quick tests", (*_pytest("-m", "quick", more=1), *PRODUCT, *words))]


def run(todo: Sequence[Part], root: Path) -> int:
    """Run every part, also after a failure, and print how they went; return the exit code."""
    lines, failed = [], False
    with ThreadPoolExecutor() as pool:
        begun = {
            part: pool.submit(_run_part, part, root, captured=True) for part in todo if part.beside
        }
        for part in sorted(todo, key=lambda part: part.beside):
            print(f"\n--- {part.name}", flush=True)
            took, done = begun[part].result() if part.beside else _run_part(part, root)
            print(done.stdout or "", end="")
            code = done.returncode
            verdict = f"failed (exit code {code})" if code else "passed"
            lines.append(f"{part.name:22}{verdict:22}{took:7.1f} s")
            failed = failed or code != 0
    print("\n--- ./coterie test", *lines, sep="\n", flush=True)
    return int(failed)


def _run_part(
    part: Part, root: Path, *, captured: bool = False
) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Return how long a part took [s], and how it ended."""
    began = time.monotonic()
    done = subprocess.run(
        part.command, cwd=root, stdin=subprocess.DEVNULL, env=_environment(), text=True,
        stdout=subprocess.PIPE if captured else None,
        stderr=subprocess.STDOUT if captured else None,
        check=False,
    )  # fmt: skip
    return time.monotonic() - began, done


def studies_missing(root: Path) -> str:
    """Return why the tests of research/ cannot run; empty where they can."""
    if not (root / "research" / "tests").is_dir():
        return "there is no research/ here"
    absent = absent_studies(root)
    return f"not installed: {', '.join(absent)}; ./coterie setup --with research" if absent else ""


def processes(more: int, memory: float | None = None) -> int:
    """Return how many test processes run at once.

    Args:
        more: How many more than cores, for tests that wait.
        memory: What this machine has [bytes]; None: what the system says.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    if memory is None:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(cores + more, int(memory / MEMORY)))


def typed_targets(root: Path) -> list[str]:
    """Return the directories and files that mypy checks, relative to `root`."""
    inits = [*root.glob("ros2_ws/src/*/*/__init__.py"), *root.glob("research/*/__init__.py")]
    found = [path.parent for path in inits] + [*root.glob("research/*.py"), root / "tools"]
    return sorted(str(path.relative_to(root)) for path in found)


def _lint(root: Path) -> list[Part]:
    ruff = _tool("ruff")
    return [
        Part("ruff check", (ruff, "check", ".")),
        Part("ruff format", (ruff, "format", "--check", ".")),
        Part("mypy", (_tool("mypy"), *typed_targets(root)), beside=True),
    ]


def _pytest(*words: str, more: int = 0) -> tuple[str, ...]:
    # Neighbours stay together and share fixtures; a process that has no more takes from others.
    spread = ("-n", str(processes(more)), "--dist", "worksteal")
    return (_tool("pytest"), *spread, *RERUNS, *words)


def _tool(name: str) -> str:
    # The environment's own script: `python -m` would put the current directory on the path.
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else name


def _environment() -> dict[str, str]:
    return {**dict.fromkeys(ONE_THREAD, "1"), **os.environ}
