"""Commands of the studies in `research/`, which the product knows by name only."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import typer

from coterie_bringup.errors import CommandError
from coterie_cli.clone import absent_studies, repository
from coterie_cli.options import PASS_THROUGH

_SET_UP = "./coterie setup --with research"
_ENTRY = "research.commands"
"""The module whose ``main(words)`` runs any of them and returns the exit code."""


class Study(NamedTuple):
    """A command of `research/`.

    `help`: the command's description; `packages`: whether it needs what
    `requirements/research.txt` lists.
    """

    help: str
    packages: bool = True


STUDIES: dict[str, Study] = {
    "bench": Study("Benchmarks of the papers and of whole teams."),
    "play": Study("Be one of the agents, in the terminal or the browser."),
    "annotate": Study("Write down, in the browser, which objects of a map answer which queries."),
    "whatif": Study(
        "Replay an episode of a simulated team with one change, and show what differs."
    ),
    "prompt": Study(
        "Show what a model is sent for a decision, in a state of a generated house.",
        packages=False,
    ),
    "model check": Study(
        "Tell whether a model is fit for this stack, and for which decisions.",
        packages=False,
    ),
}


def add_study(app: typer.Typer, name: str) -> None:
    """Make a command of a Typer app that hands its arguments to a study.

    Args:
        app: The command's app.
        name: A key of `STUDIES`; its last word is the command's name.
    """
    text = f"{STUDIES[name].help} See `--help`."

    @app.command(name.rpartition(" ")[2], context_settings=PASS_THROUGH, help=text)
    def study(context: typer.Context) -> int:
        return run_study(name, context.args)


def run_study(name: str, arguments: Sequence[str]) -> int:
    """Run a command of `research/` in this process; return its exit code.

    Raises:
        CommandError: There is no `research/` here, or packages that it needs are not installed.
    """
    study = STUDIES[name]
    root = studies_root(name)
    if study.packages and (absent := absent_studies(root)):
        raise CommandError(
            f"{name} is a study and needs {', '.join(absent)}, not installed here; {_SET_UP}"
        )
    # After all others: folders of a clone have names of libraries. A study's processes need it too.
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    for path in (str(root), str(root / "tests" / "fixtures")):
        if path not in sys.path:
            sys.path.append(path)
        if path not in known:
            known.append(path)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, known))
    return int(importlib.import_module(_ENTRY).main([*name.split(), *arguments]))


def studies_root(name: str) -> Path:
    """Return the root of the clone that holds `research/`.

    Raises:
        CommandError: There is none.
    """
    root: Path | None = None
    with contextlib.suppress(FileNotFoundError):
        root = repository()
    if root is None or not (root / "research" / "__init__.py").is_file():
        raise CommandError(
            f"{name} is a study: it runs in a clone of the repository, which holds research/, "
            f"after {_SET_UP}"
        )
    return root


app = typer.Typer(add_completion=False)
for _name in STUDIES:
    if " " not in _name:
        add_study(app, _name)
