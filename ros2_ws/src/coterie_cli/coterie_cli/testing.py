"""``./coterie test``: lint, types, ROS-free tests, ROS tests, and a table of how they went.

The tests of the studies come last, within `STUDIES_BUDGET`, where the studies are set up.

Linters and type checks run in the background of the ROS-free tests; tests run in as many
processes as there are cores, and ROS tests, which wait a lot, in one more. Up to three tests of
either kind that failed run once more, alone: they are named, and so is what the second try showed.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

#: pytest's exit code for "no test was selected".
NOTHING_SELECTED = 5
#: pytest's exit code for "some tests failed".
TESTS_FAILED = 1
#: More test processes than this do not fit into the memory of an ordinary machine.
MOST_PROCESSES = 4
#: Options with which pytest writes the failed tests of this session, and of no other, to a file.
KEEPS_FAILED = ("--cache-clear", "-o", "cache_dir=.pytest_cache/again")
FAILED_TESTS = Path(".pytest_cache/again/v/cache/lastfailed")
#: So many failed tests of a part run again; more of them are no matter of a busy machine.
MOST_AGAIN = 3
#: The tests of research/ are ended after this time [s].
STUDIES_BUDGET = 1500.0
#: Exit code of a part that did not end in its time, as of timeout(1).
OUT_OF_TIME = 124
#: Folders with the product's tests.
PRODUCT = ("tests", "ros2_ws/src")
#: Libraries that would start a thread per core in each of the test processes.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Part:
    """One thing that ``./coterie test`` runs.

    Attributes:
        name: What the table calls it.
        command: Program and arguments, run at the repository's root.
        background: Whether it runs beside the others; its output is shown when it has ended.
        again: Whether a few failed tests run once more, alone. It is for tests over real
            middleware, processes and browsers, whose deadlines are in seconds of a machine that
            others use as well.
        budget: Longest time that it may take [s]; None: any.
    """

    name: str
    command: tuple[str, ...]
    background: bool = False
    again: bool = False
    budget: float | None = None


@dataclass(frozen=True)
class Outcome:
    """How a part went.

    Attributes:
        part: What ran.
        code: The exit code, of the second try where there was one.
        seconds: How long it took, both tries together [s].
        again: Node ids of the tests that failed at first and ran once more.
    """

    part: Part
    code: int
    seconds: float
    again: tuple[str, ...] = ()

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
        if self.part.budget is not None and self.code == OUT_OF_TIME:
            return f"failed (not done in {self.part.budget:.0f} s)"
        tries = f", {len(self.again)} at the second try" if self.again else ""
        return f"passed{tries}" if self.passed else f"failed (exit code {self.code})"


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
    studies = [str(path.parent.relative_to(root)) for path in root.glob("research/*/__init__.py")]
    studies += [str(path.relative_to(root)) for path in root.glob("research/*.py")]
    return [*sorted(targets), "tools", *sorted(studies)]


def processes() -> int:
    """Return in how many processes tests run: one for each core that is ours, up to four."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, min(cores, MOST_PROCESSES))


def _spread(more: int = 0) -> tuple[str, ...]:
    # Neighbours stay together, so that they share fixtures; who has no more takes from the others.
    count = min(processes() + more, MOST_PROCESSES)
    return ("-n", str(count), "--dist", "worksteal") if count > 1 else ()


def parts(
    root: Path,
    *,
    marker: str | None = None,
    keyword: str | None = None,
    paths: Sequence[str] = (),
) -> list[Part]:
    """Return what to run.

    With a marker, a keyword or paths, that is one pytest session with just these tests; else
    everything, the ROS-free tests before those that start nodes. With names or paths somebody
    works on something: these tests run in one process, and their output comes as it is written.
    """
    pytest = _tool("pytest")
    if marker or keyword or paths:
        command = [pytest, *(() if keyword or paths else _spread())]
        command += ["-m", marker] if marker else []
        command += ["-k", keyword] if keyword else []
        return [Part("selected tests", (*command, *paths))]
    ruff = _tool("ruff")
    return [
        Part("ruff check", (ruff, "check", "."), background=True),
        Part("ruff format", (ruff, "format", "--check", "."), background=True),
        Part("mypy", (_tool("mypy"), *typed_targets(root)), background=True),
        Part("tests without ROS", (pytest, *_spread(), "-m", "not ros", *PRODUCT), again=True),
        # More than half of their time they wait: for simulated time, discovery, deadlines.
        Part("tests with ROS", (pytest, *_spread(1), "-m", "ros", *PRODUCT), again=True),
        *([] if studies_missing(root) else [_studies(pytest)]),
    ]


def _studies(pytest: str) -> Part:
    command = (pytest, *_spread(), "research/tests")
    return Part("tests of the studies", command, again=True, budget=STUDIES_BUDGET)


def studies_missing(root: Path) -> str:
    """Return why the tests of research/ cannot run; empty where they can."""
    if not (root / "research" / "tests").is_dir():
        return "there is no research/ here"
    absent = absent_studies(root)
    return f"not installed: {', '.join(absent)}; ./coterie setup --with research" if absent else ""


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


def run(todo: Sequence[Part], root: Path, console: Console) -> list[Outcome]:
    """Run every part, also after a failure; return how they went, in their order.

    Parts of the background start at once, one after another, and are shown when the first of the
    others has ended; what the others write is on the terminal at once.
    """
    outcomes: dict[str, Outcome] = {}
    with ThreadPoolExecutor(1, thread_name_prefix="background") as helper:
        pending = [helper.submit(_captured, part, root) for part in todo if part.background]

        def show() -> None:
            for future in pending:
                outcome, text = future.result()
                console.rule(outcome.part.name, align="left")
                console.out(text, end="", highlight=False)
                outcomes[outcome.part.name] = outcome
            pending.clear()

        for part in todo:
            if part.background:
                continue
            first = replace(part, command=(*part.command, *KEEPS_FAILED)) if part.again else part
            outcome = replace(_shown(first, root, console), part=part)
            failed = _failed(root) if part.again and outcome.code == TESTS_FAILED else ()
            if 0 < len(failed) <= MOST_AGAIN:
                second = _shown(_alone(part, failed), root, console)
                seconds = outcome.seconds + second.seconds
                outcome = Outcome(part, second.code, seconds, again=failed)
            outcomes[part.name] = outcome
            show()
        show()
    return [outcomes[part.name] for part in todo]


def _shown(part: Part, root: Path, console: Console) -> Outcome:
    console.rule(part.name, align="left")
    started = time.monotonic()
    try:
        code = subprocess.run(
            part.command,
            cwd=root,
            stdin=subprocess.DEVNULL,
            env=_environment(part),
            timeout=part.budget,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        code = OUT_OF_TIME
    return Outcome(part, code, time.monotonic() - started)


def _alone(part: Part, tests: Sequence[str]) -> Part:
    return replace(part, name=f"{part.name}, again", command=(part.command[0], *tests))


def _failed(root: Path) -> tuple[str, ...]:
    """Return the node ids of the tests that failed in a session with `KEEPS_FAILED`."""
    try:
        kept = json.loads((root / FAILED_TESTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    return tuple(sorted(kept)) if isinstance(kept, dict) else ()


def _captured(part: Part, root: Path) -> tuple[Outcome, str]:
    started = time.monotonic()
    done = subprocess.run(
        part.command,
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return Outcome(part, done.returncode, time.monotonic() - started), done.stdout


def _environment(part: Part) -> dict[str, str]:
    threads = dict.fromkeys(ONE_THREAD, "1") if "-n" in part.command else {}
    return {**threads, **os.environ}


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


def run_tests(marker: str | None, keyword: str | None, paths: Sequence[str]) -> int:
    """Run what `parts` chooses, with a table at the end; return the exit code."""
    console = Console()
    root = repository()
    # Paths are the caller's; the session runs at the root.
    found = [_absolute(path) for path in paths]
    outcomes = run(parts(root, marker=marker, keyword=keyword, paths=found), root, console)
    console.print(summary(outcomes))
    for outcome in outcomes:
        for test in outcome.again:
            passed = "passed then" if outcome.passed else "ran once more"
            console.print(f"failed at first, {passed}: {test}", markup=False, soft_wrap=True)
    if not (marker or keyword or paths) and (why := studies_missing(root)):
        console.print(f"The tests of the studies did not run: {why}.", soft_wrap=True)
    if any(outcome.selected_nothing for outcome in outcomes):
        console.print(
            "No test matched: check the expressions of -m and -k and the paths "
            "(markers: ros, slow, habitat)."
        )
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def _absolute(path: str) -> str:
    # A node id (file.py::test) keeps its tail.
    file, separator, tail = path.partition("::")
    return f"{Path(file).resolve()}{separator}{tail}"
