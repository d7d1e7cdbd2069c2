"""`./coterie docs`: builds the documentation's site, and serves it on this machine."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from coterie_bringup.errors import CommandError
from coterie_cli.clone import repository

#: What mkdocs imports for mkdocs.yml, beside itself.
NEEDED = ("mkdocs", "material", "mkdocstrings", "mkdocstrings_handlers.python", "mmdr")


def missing() -> list[str]:
    """Return the modules that building the site needs and that are not installed."""
    return [name for name in NEEDED if not _installed(name)]


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # of a parent
        return False


def docs(*, only_build: bool, out: Path | None, port: int) -> int:
    """Build the site, every warning an error, then serve it until Ctrl-C unless told otherwise.

    Args:
        only_build: Whether to end after the build.
        out: Folder of the built site; None: ``out/docs`` of the repository. Nothing is written
            there while the site is served.
        port: Port on localhost that the site is served on.

    Returns:
        mkdocs's exit code.

    Raises:
        CommandError: What builds the site is not installed, or the clone has no pages.
    """
    root = repository()
    if not (root / "mkdocs.yml").is_file():
        raise CommandError(f"{root / 'mkdocs.yml'} is missing; build the site in a whole clone")
    if lacking := missing():
        raise CommandError(
            f"the site needs {', '.join(lacking)}; install it with `./coterie setup --with docs` "
            f"or `{sys.executable} -m pip install -r {root / 'requirements' / 'docs.txt'}`"
        )
    command = [sys.executable, "-m", "mkdocs"]
    settings = ["--strict", "--config-file", str(root / "mkdocs.yml")]
    if only_build:
        folder = (out or root / "out" / "docs").resolve()
        command += ["build", *settings, "--site-dir", str(folder)]
    else:
        command += ["serve", *settings, "--dev-addr", f"localhost:{port}"]
    done = subprocess.run(
        command, cwd=root, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=False
    )
    if only_build and done.returncode == 0:
        print(f"The site is built: open {folder / 'index.html'}")
    return done.returncode
