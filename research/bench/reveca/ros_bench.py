"""`bench reveca --ros`: episodes in lockstep and with ROS nodes, and whether they are the same."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from coterie_ros.domains import LAST_DOMAIN, take_domain
from coterie_ros.spinning import NotStarted, spinning
from research.bench.common.records import write_json
from research.bench.reveca.episodes import Job, Record, record
from research.bench.reveca.methods import make_world
from research.bench.reveca.node import NoTeam, Referee
from research.bench.reveca.trajectories import Course, follow, make_agents

STARTUP = 60.0
"""How long a team's process may take to come up [s]."""


def compare_over_ros(jobs: Sequence[Job], console: Console, out: Path | None = None) -> int:
    """Play episodes in lockstep and over ROS; print both and whether they are the same.

    The agents of a method live in a process of their own, which stays for all of its episodes.

    Args:
        jobs: Which episodes.
        console: Where to print.
        out: Folder for `over_ros.json`, a record per episode; None: none is written.

    Returns:
        0 where all episodes are the same step for step, else 1.

    Raises:
        ValueError: A method that cannot be played over ROS, or decisions by a model (which does
            not answer the same twice).
        NoTeam: The agents' process does not come up.
    """
    if any(job.profile for job in jobs):
        raise ValueError("--ros: leave --profile out: a model does not answer the same twice")
    for method in {job.method for job in jobs}:
        make_agents(method, ())  # says at once which cannot
    records: list[Record] = []
    heads = ("world", "method", "agents", "SS", "over ROS", "same", "steps/s")
    table = Table(*(Column(head, no_wrap=True) for head in heads))
    differences = []
    ordered = sorted(jobs, key=lambda job: (job.method, job.agents, job.world))
    for (method, agents), of_team in groupby(ordered, lambda job: (job.method, job.agents)):
        todo = list(of_team)
        team = make_world(todo[0].world, agents).team
        with ros_team(method, team) as referee:
            for name, of_world in groupby(todo, lambda job: job.world):
                rows = [_both(job, referee) for job in of_world]
                records += rows
                table.add_row(
                    name.partition(":")[0], method, str(len(team)),
                    f"{_mean(rows, 'simulation_steps'):.2f}",
                    f"{_mean(rows, 'steps_over_ros'):.2f}",
                    f"{sum(not row['difference'] for row in rows)} of {len(rows)}",
                    f"{_rate(rows):.0f}",
                )  # fmt: skip
                differences += [row for row in rows if row["difference"]]
    console.print(table)
    for row in differences[:10]:
        console.print(
            f"{row['world']}, {row['method']}, seed {row['seed']}: {row['difference']}",
            highlight=False, markup=False, soft_wrap=True,
        )  # fmt: skip
    if not differences:
        console.print("all episodes are the same, step for step: metrics and actions")
    if out is not None:
        write_json(out / "over_ros.json", records)
    return 1 if differences else 0


def _both(job: Job, referee: Referee) -> Record:
    world = make_world(job.world, job.agents)
    plain = asyncio.run(follow(world, make_agents(job.method, world.team), job.seed))
    began = time.perf_counter()
    over: Course = referee.run(referee.play(world, job.seed), f"seed {job.seed}").result()
    took = time.perf_counter() - began
    out = record(job.world, job.method, job.seed, len(world.team), plain.metrics)
    return out | {
        "steps_over_ros": over.metrics.steps,
        "difference": plain.difference(over),
        "silent_steps": over.silent_steps,
        "seconds_over_ros": round(took, 4),
    }


def _mean(rows: Sequence[Record], field: str) -> float:
    return sum(row[field] for row in rows) / len(rows)


def _rate(rows: Sequence[Record]) -> float:
    return sum(row["steps_over_ros"] for row in rows) / sum(row["seconds_over_ros"] for row in rows)


# --- the agents' process -------------------------------------------------------------------------


@contextlib.contextmanager
def ros_team(method: str, team: Sequence[str], timeout: float = STARTUP) -> Iterator[Referee]:
    """Run a team's nodes in a process, and a referee for them here, while the block runs.

    They are alone: in a domain and below a namespace of their own.

    Raises:
        NoTeam: The process ends or its services do not appear in time [s]; says what it printed.
    """
    taken = take_domain(range(1, LAST_DOMAIN + 1))
    if taken is None:
        raise NoTeam("all ROS domains are in use on this machine")
    domain, lock = taken
    namespace = f"/lockstep_{os.getpid()}"
    with lock, tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "research.bench.reveca.node", "--attached",
                "--method", method, "--team", *team, "--ros-args", "-r", f"__ns:={namespace}",
            ],
            env={
                **os.environ,
                "ROS_DOMAIN_ID": str(domain),
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            },
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            with spinning(lambda own: Referee(team, namespace, own), domain=domain) as referee:
                assembled = referee.run(referee.assemble(timeout))
                while not assembled.done():
                    if process.poll() is not None:
                        assembled.cancel()
                        output.seek(0)
                        raise NoTeam(
                            f"--ros: the agents' process ended with code {process.returncode}: "
                            f"{output.read()[-2000:].strip() or 'it printed nothing'}"
                        )
                    time.sleep(0.05)
                assembled.result()
                yield referee
        except NotStarted as error:
            raise NoTeam(f"--ros: {error}") from None
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the agents' process: its input ends; where that is not enough, it is killed."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(5.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
