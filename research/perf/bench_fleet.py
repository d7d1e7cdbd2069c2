"""What a team costs by its number of robots: discovery, questions, tasks, memory and processor.

    ./coterie setup; source .venv/setup.bash; source ros2_ws/install/setup.bash
    python research/perf/bench_fleet.py --robots 1,3,10,30,100 --out out/fleet

For each number a team of explorers and one of workers is started as `./coterie up` starts it, with
several robots in a process (`--per-process`), and then with one process per robot up to `--alone`
robots, the baseline. Measured are: the time until a client has found everybody and the first
question is answered by all; questions a second with `--window` of them open, and how long each
takes; the time until a task is assigned, of a fixed task and of one with a sub-task per robot;
memory, threads, shared memory and processor, idle and at work. Writes fleet.json and fleet.png and
prints tables with the exponent with which each figure grows: 1 is linear, 2 quadratic.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from growth import draw, table
from rich.console import Console

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from process_figures import heap_mb, pss_mb, shared_segments, size_bytes

from coterie_bringup.running_team import TeamRun, prepared
from coterie_bringup.spinning import in_loop, spinning
from coterie_bringup.team import parse_team
from coterie_bringup.team_client import Operator
from coterie_core.questions import Question
from coterie_msgs.action import ExecuteTask
from coterie_msgs.msg import Assignment
from coterie_ros.clients import ActionClient
from coterie_ros.parameters import Parameters

Row = dict[str, Any]

TEAM = """\
name: fleet
world: {{kind: embedded, seed: 3, floors: 3, rooms: 25}}
robots: [{{name: "r{{n}}", count: {robots}, embodiment: {body}, role: {role}}}]
{leader}
aggregator: {{method: confidence_vote, deadline: 60.0}}
processes: {{robots_per_process: {size}}}
"""
THINGS = ("mug", "chair", "lamp", "plant", "book", "sofa", "towel", "plate")
FIXED = "Find the keys and look at the mugs"
EACH = "everybody go to the hallway 1"
FOUND_WITHIN = 300.0
"""Longest time until a team is there [s]."""
IDLE_S = 8.0
"""How long the idle team is watched [s]."""
FIGURES = (
    "found [s]",
    "questions per s",
    "p50 [s]",
    "p99 [s]",
    "fixed task assigned [s]",
    "task for each assigned [s]",
    "memory [MB]",
    "memory of robots [MB]",
    "heap of robots [MB]",
    "shared memory [MB]",
    "threads",
    "idle CPU [%]",
    "CPU per question [ms]",
)
DRAWN = (
    "found [s]",
    "questions per s",
    "p99 [s]",
    "fixed task assigned [s]",
    "task for each assigned [s]",
    "memory of robots [MB]",
    "idle CPU [%]",
    "CPU per question [ms]",
    "threads",
)


class FleetClient(Operator):
    """Asks and commands a team as the commands do."""

    def on_setup(self, parameters: Parameters) -> None:
        """Make the clients."""
        super().on_setup(parameters)
        self.assigned: list[tuple[float, int]] = []
        self.task = ActionClient(self, ExecuteTask, "execute_task")

    def on_start(self) -> None:
        """Listen to robots, aggregator and leader."""
        super().on_start()
        self.subscribe(Assignment, "assignment", "latched", self._on_assignment)

    def _on_assignment(self, message: Any) -> None:
        self.assigned.append((time.monotonic(), len(message.sub_tasks)))

    def robots_there(self) -> int:
        """Return how many robots the leader says that it hears."""
        told = self.diagnostics_of.get("leader", {})
        return int(told.get("task.robots_there", 0)) if told.get("task.map") == "True" else 0


def processes_of(run: TeamRun) -> dict[str, int]:
    """Return the process ids of a team and its client, by name."""
    found = {spec.name: run.supervisor.pid(spec.name) for spec in run.specs}
    return {**{name: pid for name, pid in found.items() if pid}, "client": os.getpid()}


def cpu_seconds(pids: dict[str, int]) -> dict[str, float]:
    """Return the processor time that each process has taken [s]."""
    times = {name: psutil.Process(pid).cpu_times() for name, pid in pids.items()}
    return {name: float(one.user + one.system) for name, one in times.items()}


def memory(run: TeamRun) -> Row:
    """Return what a team takes of the memory; its client is counted apart."""
    robots = {spec.name for spec in run.specs if spec.robots}
    pids = processes_of(run)
    pss = {name: pss_mb(pid) for name, pid in pids.items()}
    segments = set().union(*(shared_segments(pid) for pid in pids.values()))
    team = {name: pid for name, pid in pids.items() if name != "client"}
    return {
        "processes": len(team),
        "memory [MB]": sum(value for name, value in pss.items() if name in team),
        "memory of robots [MB]": sum(value for name, value in pss.items() if name in robots),
        "heap of robots [MB]": sum(heap_mb(pid) for name, pid in team.items() if name in robots),
        "memory by process [MB]": {name: round(value, 1) for name, value in pss.items()},
        "shared memory [MB]": sum(map(size_bytes, segments)) / 1e6,
        "threads": sum(psutil.Process(pid).num_threads() for pid in team.values()),
        "descriptors": sum(psutil.Process(pid).num_fds() for pid in team.values()),
    }


async def until(what: Callable[[], bool], timeout: float) -> bool:
    """Wait for something; return whether it came in time [s]."""
    end = time.monotonic() + timeout
    while not what():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.02)
    return True


async def questions(client: FleetClient, count: int, window: int, seconds: float) -> Row:
    """Ask with so many questions open at a time; return how fast they were answered."""
    sent: dict[str, float] = {}
    begin = time.monotonic()
    lost = 0

    def put() -> None:
        number = len(sent)
        question = Question(f"q{begin:.3f}-{number}", THINGS[number % len(THINGS)], "kitchen", "")
        sent[question.id] = time.monotonic()
        client.loop.call(lambda: client.ask_all([question], deadline=60.0))

    while True:
        answered = len(sent.keys() & client.finals.keys())
        more = len(sent) < count and time.monotonic() - begin < seconds
        while more and len(sent) - answered < window and len(sent) < count:
            put()
        if not more and answered == len(sent):
            break
        if time.monotonic() - begin > seconds + 90.0:
            lost = len(sent) - answered
            break
        await asyncio.sleep(0.002)
    took = time.monotonic() - begin
    done = [key for key in sent if key in client.finals]
    elapsed = np.array([client.final_times[key] - sent[key] for key in done])
    return {
        "questions": len(done),
        "lost": lost,
        "answers missing": sum(len(client.finals[key].missing) for key in done),
        "questions per s": len(done) / took,
        "p50 [s]": float(np.percentile(elapsed, 50)),
        "p99 [s]": float(np.percentile(elapsed, 99)),
    }


async def assigned(client: FleetClient, words: str) -> float:
    """Give a task, return how long it took until it was assigned [s], and cancel it."""
    client.assigned.clear()
    begin = time.monotonic()
    work = asyncio.ensure_future(
        in_loop(client, client.task.run(ExecuteTask.Goal(task=words), accept_timeout=30.0))
    )
    there = await until(
        lambda: work.done() or any(count for _, count in client.assigned), FOUND_WITHIN
    )
    if work.done():
        raise RuntimeError(f"{words!r} ended: {work.result().result.message}")
    if not there:
        work.cancel()
        raise RuntimeError(f"{words!r}: not assigned within {FOUND_WITHIN:g} s")
    took = next(at for at, count in client.assigned if count) - begin
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await asyncio.sleep(2.0)
    return took


async def measure(run: TeamRun, options: argparse.Namespace) -> Row:
    """Measure one team; return its figures."""
    robots = [robot.name for robot in run.team.robots]
    workers = bool(run.team.workers)
    begin = time.monotonic()
    row: Row = {"load": os.getloadavg()[0]}
    async with run.supervisor.running():
        with spinning(
            lambda context: FleetClient(robots, context=context),
            domain=run.domain,
            environment=run.environment,
        ) as client:
            if workers:
                if not await until(lambda: client.robots_there() == len(robots), FOUND_WITHIN):
                    raise RuntimeError(f"the leader hears {client.robots_there()} robots only")
            else:
                missing = await in_loop(client, client.wait_for_team(FOUND_WITHIN))
                if missing:
                    raise RuntimeError(f"not found: {', '.join(missing[:5])}, ...")
                first = await questions(client, 1, 1, 1.0)
                row["first missing"] = first["answers missing"]
            row["found [s]"] = time.monotonic() - begin
            await asyncio.sleep(5.0)
            pids = processes_of(run)
            before, at = cpu_seconds(pids), time.monotonic()
            await asyncio.sleep(IDLE_S)
            after, took = cpu_seconds(pids), time.monotonic() - at
            spent = {name: 100.0 * (after[name] - before[name]) / took for name in pids}
            row["idle CPU by process [%]"] = {name: round(v, 1) for name, v in spent.items()}
            row["idle CPU [%]"] = sum(v for name, v in spent.items() if name != "client")
            if workers:
                for title, words in (("fixed task", FIXED), ("task for each", EACH)):
                    try:
                        row[f"{title} assigned [s]"] = await assigned(client, words)
                    except RuntimeError as error:
                        row[f"{title} failed"] = str(error)
            else:
                before = cpu_seconds(pids)
                row |= await questions(client, options.questions, options.window, options.seconds)
                after = cpu_seconds(pids)
                spent = {name: after[name] - before[name] for name in pids}
                per = 1000.0 / max(row["questions"], 1)
                row["CPU per question by process [ms]"] = {
                    name: round(v * per, 1) for name, v in spent.items()
                }
                row["CPU per question [ms]"] = per * sum(
                    v for name, v in spent.items() if name != "client"
                )
            row |= memory(run)
    return row


def one(robots: int, role: str, size: int, options: argparse.Namespace) -> Row:
    """Start a team of so many robots and measure it."""
    leader = "leader: {prior_map: furniture}" if role == "worker" else ""
    text = TEAM.format(robots=robots, role=role, size=size, leader=leader, body=options.body)
    loads = "{:.1f} {:.1f} {:.1f}".format(*os.getloadavg())
    with prepared(parse_team(text)) as run:
        row = asyncio.run(measure(run, options))
    row = {"robots": robots, "role": role, "per process": size, "uptime": loads, **row}
    print(json.dumps({key: value for key, value in row.items() if not isinstance(value, dict)}))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", default="1,3,10,30,100", help="sizes of the teams")
    parser.add_argument("--roles", default="explorer,worker")
    parser.add_argument("--per-process", type=int, default=25, help="robots in one process")
    parser.add_argument("--alone", type=int, default=10, help="largest team of single processes")
    parser.add_argument("--body", default="legs", help="embodiment of the robots")
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--window", type=int, default=8, help="questions open at a time")
    parser.add_argument("--seconds", type=float, default=20.0, help="longest time of asking [s]")
    parser.add_argument("--out", type=Path, default=Path("out/fleet"))
    options = parser.parse_args()
    sizes = [int(word) for word in options.robots.split(",")]
    rows = [
        one(n, role, size, options)
        for role in options.roles.split(",")
        for n in sizes
        for size in dict.fromkeys([options.per_process, *([1] if 1 < n <= options.alone else [])])
    ]
    report(rows, options)


def report(rows: Sequence[Row], options: argparse.Namespace) -> None:
    """Print the tables, write the record and draw the figures."""
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "fleet.json").write_text(json.dumps({"rows": rows}, indent=1))
    console = Console()
    for role in dict.fromkeys(row["role"] for row in rows):
        for size in dict.fromkeys(row["per process"] for row in rows):
            some = [r for r in rows if (r["role"], r["per process"]) == (role, size)]
            if some:
                console.print(table(f"{role}s, {size} per process", some, FIGURES))
    draw({title: lines(rows, title) for title in DRAWN}, options.out / "fleet.png")


def lines(rows: Sequence[Row], figure: str) -> dict[str, list[tuple[float, float]]]:
    """Return the points of a figure, a line per role and size of processes."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if figure in row:
            name = f"{row['role']}s, {row['per process']} per process"
            found.setdefault(name, []).append((row["robots"], row[figure]))
    return found


if __name__ == "__main__":
    main()
