"""CPU time of commands before their work begins, as a ratio to `python -c pass`.

    ./coterie setup; source .venv/setup.bash; source ros2_ws/install/setup.bash
    python benchmarks/bench_cli.py --out out/bench_cli.json

A process runs the command line up to the call that begins the command's work, and ends there: the
map or team file is read, the URDF is analyzed, the team is spoken to. It counts user and system
time from the start of its interpreter, imports included; each figure is the least of `--repeats`
processes. A busy machine makes all of them larger, `python -c pass` among them. Writes a JSON list.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
HOUSE = ROOT / "examples" / "house_map.json"
CHILD = """
import importlib, os, sys, time
program, begins, words = sys.argv[1], sys.argv[2], sys.argv[3:]

def told(*_, **__):
    print(f"CPU {time.process_time()}", flush=True)
    os._exit(0)

if begins:
    module, name = begins.split(":")
    setattr(importlib.import_module(module), name, told)
try:
    importlib.import_module(program).main(words)
except SystemExit:
    pass
told()
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """A command: the module that runs it, the call that begins its work, and its words.

    `begins` is "module:function"; "": the whole command is measured.
    """

    title: str
    words: tuple[str, ...]
    begins: str
    program: str = "coterie_cli.cli"


def commands(folder: Path) -> list[Measured]:
    """Return what is measured; files that commands are given lie in a folder."""
    (folder / "map.json").write_text("{}")
    (folder / "robot.urdf").write_text('<robot name="box"><link name="base"/></robot>')
    home = str(ROOT / "config" / "teams" / "home.yaml")
    ask, find = ("ask", "Is there a mug?"), ("find", "a mug")
    return [
        Measured("--help", ("--help",), ""),
        Measured("find --help", ("find", "--help"), ""),
        Measured(
            "find --map FILE",
            (*find, "--map", str(folder / "map.json")),
            "semantic_mapper.files:load_map",
        ),
        Measured("find --map FILE, all of it", (*find, "--map", str(HOUSE)), ""),
        Measured("ask", ask, "coterie_bringup.spinning:spinning"),
        Measured("find", find, "coterie_bringup.spinning:spinning"),
        Measured("stop", ("stop",), "rclpy:init", "coterie_bringup.stop_robots"),
        Measured("resume", ("resume", str(folder / "robot.urdf")), "robot_resume.builder:analyse"),
        Measured("team check", ("team", "check", home), "coterie_bringup.team:load_team"),
    ]


def cpu_seconds(command: list[str], environment: dict[str, str], repeats: int) -> float:
    """Return the least CPU time that processes tell [s]."""
    told = []
    for _ in range(repeats):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("CPU ")]
        if not lines:
            raise SystemExit(f"{' '.join(command[3:])} told no time:\n{done.stdout}{done.stderr}")
        told.append(float(lines[-1].split()[1]))
    return min(told)


def measure(repeats: int) -> list[dict[str, object]]:
    """Return seconds and ratio of each command; one team is said to run, which nobody starts."""
    from coterie_bringup import rundir

    with tempfile.TemporaryDirectory() as name:
        os.environ["COTERIE_STATE"] = f"{name}/state"
        environment = {**os.environ, "COLUMNS": "100"}
        if environment.pop("PYTHONDONTWRITEBYTECODE", ""):  # as ./coterie has it
            environment.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / ".coterie" / "bytecode"))
        empty = "import time; print('CPU', time.process_time())"
        python = cpu_seconds([sys.executable, "-c", empty], environment, repeats)
        rows: list[dict[str, object]] = [{"command": "python -c pass", "cpu_s": round(python, 3)}]
        state = rundir.own_state("bench", 7, rundir.new_run("bench"), robots=["rover"])
        with rundir.registered(state):
            for one in commands(Path(name)):
                words = [one.program, one.begins, *one.words]
                seconds = cpu_seconds([sys.executable, "-c", CHILD, *words], environment, repeats)
                rows.append({"command": one.title, "cpu_s": round(seconds, 3)})
    return [{**row, "ratio": round(float(str(row["cpu_s"])) / python, 1)} for row in rows]


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="processes a command; default: 5")
    parser.add_argument("--out", type=Path, default=Path("out/bench_cli.json"), help="JSON file")
    options = parser.parse_args()
    rows = measure(options.repeats)
    table = Table(title="CPU before the work begins", title_justify="left")
    for title in ("command", "seconds", "ratio to python -c pass"):
        table.add_column(title, justify="left" if title == "command" else "right")
    for row in rows:
        table.add_row(str(row["command"]), f"{row['cpu_s']:.3f}", f"{row['ratio']:.1f}")
    Console().print(table)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
