"""From nothing to the demonstration: how long a first ``./coterie demo`` takes, step by step.

    python research/perf/bench_setup.py --json setup.json

clones this repository's HEAD into a folder of its own, with an empty HOME and hence empty caches,
sets it up, runs the demonstration, starts ``./coterie --help`` again, and measures each: seconds by
the clock, seconds of computing, the load of the machine, and the disk that it takes. It downloads
half a gigabyte. Nothing of it is kept but the JSON, unless ``--keep FOLDER`` names a place.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
#: Of the caller's environment: how the package index is reached, which Python, and no more.
KEPT = re.compile(r"PATH|LANG|(PIP|UV|COTERIE|SSL)_.*|(?i:(http|https|all|no)_proxy)")
#: Caches are empty and stay where HOME is.
NOT_KEPT = re.compile(r".*_CACHE_DIR|COTERIE_ROOT|COTERIE_TRUST")
_DONE = re.compile(r"^(?P<step>[^:\n]+): done \((?P<seconds>\d+) s\)", re.MULTILINE)


def environment(home: Path, domain: int) -> dict[str, str]:
    """Return the environment of a user who has just come."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if KEPT.fullmatch(name) and not NOT_KEPT.fullmatch(name)
    }
    return {**kept, "HOME": str(home), "ROS_DOMAIN_ID": str(domain)}


def timed(
    command: Sequence[str], folder: Path, environ: Mapping[str, str]
) -> tuple[dict[str, float], str]:
    """Run a command; return its seconds and its output.

    Raises:
        RuntimeError: It failed.
    """
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        command, cwd=folder, env=dict(environ), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    seconds = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}")
    computing = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    load = os.getloadavg()[0]
    return {"seconds": seconds, "cpu_seconds": computing, "load": load}, done.stdout


def disk(folder: Path) -> int:
    """Return the bytes that a folder takes on disk; a file with several names counts once."""
    seen: dict[tuple[int, int], int] = {}
    for place, _, files in os.walk(folder):
        for name in files:
            status = os.lstat(os.path.join(place, name))
            seen[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(seen.values())


def measure(folder: Path, domain: int) -> dict[str, object]:
    """Do it all below an empty folder; return the figures."""
    home, clone = folder / "home", folder / "coterie"
    home.mkdir(parents=True)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    environ = environment(home, domain)
    load = os.getloadavg()[0]
    setup, output = timed(["./coterie", "setup"], clone, environ)
    steps = {match["step"]: int(match["seconds"]) for match in _DONE.finditer(output)}
    venv = disk(clone / ".venv")
    demo, _ = timed(["./coterie", "demo"], clone, environ)
    timed(["./coterie", "--help"], clone, environ)
    again, _ = timed(["./coterie", "--help"], clone, environ)
    return {
        "commit": subprocess.run(
            ["git", "-C", str(clone), "rev-parse", "HEAD"],
            check=True, capture_output=True, text=True,
        ).stdout.strip(),
        "cores": os.cpu_count(),
        "load_before": load,
        "steps": steps,
        "setup": setup,
        "demo": demo,
        "second_start": again,
        "bytes": {
            ".venv": venv,
            ".venv after the demonstration": disk(clone / ".venv"),
            ".coterie": disk(clone / ".coterie"),
            "ros2_ws": disk(clone / "ros2_ws"),
            "caches in HOME": disk(home),
        },
    }  # fmt: skip


def tables(figures: Mapping[str, object]) -> list[Table]:
    """Return the figures as tables."""
    steps = Table(title=f"From nothing, {figures['cores']} cores", title_justify="left")
    for name in ("step", "seconds", "CPU seconds", "load"):
        steps.add_column(name, justify="left" if name == "step" else "right")
    named = figures["steps"]
    assert isinstance(named, dict)
    for name, seconds in named.items():
        steps.add_row(f"  {name}", str(seconds), "", "")
    total = [0.0, 0.0]
    for key, text in (("setup", "./coterie setup"), ("demo", "./coterie demo, after it")):
        row = figures[key]
        assert isinstance(row, dict)
        steps.add_row(
            text, f"{row['seconds']:.0f}", f"{row['cpu_seconds']:.0f}", f"{row['load']:.1f}"
        )
        total = [total[0] + row["seconds"], total[1] + row["cpu_seconds"]]
    steps.add_row("both", f"{total[0]:.0f}", f"{total[1]:.0f}", "")
    again = figures["second_start"]
    assert isinstance(again, dict)
    steps.add_row(
        "./coterie --help, then", f"{again['seconds']:.2f}", f"{again['cpu_seconds']:.2f}",
        f"{again['load']:.1f}",
    )  # fmt: skip
    sizes = Table(title="On disk", title_justify="left")
    sizes.add_column("folder")
    sizes.add_column("MB", justify="right")
    found = figures["bytes"]
    assert isinstance(found, dict)
    for name, count in found.items():
        sizes.add_row(name, f"{count / 1e6:.0f}")
    return [steps, sizes]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="file that the figures are written to")
    parser.add_argument("--keep", type=Path, help="folder to work in, which is kept; must be new")
    parser.add_argument("--domain", type=int, default=71, help="ROS_DOMAIN_ID of the demonstration")
    arguments = parser.parse_args()
    try:
        if arguments.keep is not None:
            figures = measure(arguments.keep.resolve(), arguments.domain)
        else:
            with tempfile.TemporaryDirectory(prefix="coterie-setup-") as scratch:
                figures = measure(Path(scratch) / "new", arguments.domain)
    except RuntimeError as error:
        print(f"bench_setup: {error}", file=sys.stderr)
        return 1
    console = Console()
    for table in tables(figures):
        console.print(table)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
