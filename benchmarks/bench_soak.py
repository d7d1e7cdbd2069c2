"""Whether a running team grows: memory, threads, descriptors, shared memory and files over time.

    ./coterie setup; source .venv/setup.bash; source ros2_ws/install/setup.bash
    python benchmarks/bench_soak.py --minutes 60 --out out/soak

A team runs for so long and is given work, each round by a node of its own as a command makes it: a
robot explores a little, a question is asked, the map is searched; where there is a leader, it is
given a task: somebody goes somewhere, or a thing is carried. A round begins `--rest` seconds after
the last one. All its processes and this one are sampled. What is told is the slope over the
second half, with its 95 % interval: in the first one caches fill. "grows" is said of a slope that
is surely above zero and comes to more than 5 % of the mean in an hour. It ends early where three
rounds in a row do nothing. Writes soak.json, samples.csv and soak.png.

The memory of a process is what is in RAM of it (RSS). Its heap is the part that nobody shares: what
a leak makes grow. Shared memory is what the team's processes have mapped of /dev/shm, not what
others on the machine have.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import itertools
import json
import math
import os
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import psutil
from process_figures import heap_mb, shared_segments, size_bytes
from rich.console import Console
from rich.table import Table
from scipy import stats

from coterie_bringup.running_team import TeamRun, prepared
from coterie_bringup.spinning import in_loop
from coterie_bringup.task_record import TaskRecord
from coterie_bringup.task_watcher import watching
from coterie_bringup.team import load_team
from coterie_bringup.team_client import Operator, exploration_goal, operating
from coterie_core.questions import Question

T = TypeVar("T")

WARM = 0.5
"""Share of the time that does not count: maps grow and caches fill."""
GROWS = 0.05
"""Growth in an hour that counts, as a share of the mean."""
LEAST = 8
"""Fewest samples for a slope."""
TASK_LASTS = 300.0
"""Longest that a task may take [s]."""
MOST_IDLE = 3
"""Rounds in a row that may do nothing before the soak ends."""
TASKS = (
    "Slim, go to the bathroom",
    "Bring a mug to the sofa",
    "Walker, go to the bedroom",
    "Bring a book to the kitchen counter",
    "Slim, go to the kitchen",
    "Bring a mug to the kitchen counter",
    "Walker, go to the living room",
    "Bring a book to the sofa",
)
THINGS = ("mug", "chair", "lamp", "plant", "book", "sofa", "towel", "plate")


@dataclass(frozen=True)
class Growth:
    """How one figure of one process went; `per_hour` and its interval in the figure's unit.

    `begin` and `end` are medians of the first and the last tenth of what counts.
    """

    process: str
    figure: str
    begin: float
    end: float
    per_hour: float
    low: float
    high: float
    grows: bool


def growth(process: str, figure: str, times: Sequence[float], values: Sequence[float]) -> Growth:
    """Return the slope of a figure over time [s], per hour, with its 95 % interval."""
    mean, tenth = float(np.mean(values)), max(1, len(values) // 10)
    ends = float(np.median(values[:tenth])), float(np.median(values[-tenth:]))
    if np.ptp(values) == 0.0:
        return Growth(process, figure, *ends, 0.0, 0.0, 0.0, False)
    # Theil-Sen: a burst of work at the end is no trend.
    fit = stats.theilslopes(values, times, alpha=0.95)
    slope, low, high = (3600.0 * float(one) for one in (fit.slope, fit.low_slope, fit.high_slope))
    grows = low > 0.0 and slope > GROWS * mean and process != "machine"  # its load is others', too
    return Growth(process, figure, *ends, slope, low, high, grows)


def _files(folder: Path) -> float:
    """Return what the files below a folder take [MB]."""
    return sum(map(size_bytes, folder.rglob("*"))) / 1e6


def sample(run: TeamRun) -> list[tuple[str, str, float]]:
    """Return (process, figure, value) of all of the team's processes, this one and the machine."""
    found: list[tuple[str, str, float]] = []
    shared: set[str] = set()
    pids = {name: run.supervisor.pid(name) for name in (s.name for s in run.specs)}
    for name, pid in {**pids, "client": os.getpid()}.items():
        if pid is None:
            continue  # being started again; its death is told by the supervisor
        try:
            process = psutil.Process(pid)
            with process.oneshot():
                figures = [
                    (name, "memory [MB]", process.memory_info().rss / 1e6),
                    (name, "heap [MB]", heap_mb(pid)),
                    (name, "threads", float(process.num_threads())),
                    (name, "descriptors", float(process.num_fds())),
                ]
            shared |= shared_segments(pid)
        except (psutil.Error, OSError):
            continue
        found += figures
    # What is mapped, but has no name any more, still takes memory.
    gone = sum(" (deleted)" in one for one in shared)
    found += [
        ("team", "shared memory [MB]", sum(map(size_bytes, shared)) / 1e6),
        ("team", "shared segments", float(len(shared))),
        ("team", "shared segments without a name", float(gone)),
        ("team", "files of the run [MB]", _files(run.directory)),
        ("machine", "load", os.getloadavg()[0]),
    ]
    return found


async def work(run: TeamRun, number: int, counts: dict[str, int]) -> bool:
    """Give the team one round of work, by a node made for it; return whether any was done."""
    before = _done(counts)
    robots = [robot.name for robot in run.team.explorers]
    with operating(
        robots, domain=run.domain, namespace=run.team.namespace, environment=run.environment
    ) as operator:
        await in_loop(operator, operator.wait_for_team(60.0))
        exploring = _explored(run, operator, robots[number % len(robots)])
        moved = await _tried(counts, "explored", exploring)
        counts["places gone to"] = counts.get("places gone to", 0) + (moved or 0)
        thing = THINGS[number % len(THINGS)]
        question = Question(f"soak-{number}", thing, "kitchen", f"Is there a {thing}?")
        await _tried(counts, "asked", in_loop(operator, operator.ask(question, 60.0)))
        if run.team.planner is not None:
            await _tried(counts, "searched", in_loop(operator, operator.find(thing, 5, 60.0)))
    if run.team.leader is not None:
        await _do(run, TASKS[number % len(TASKS)], counts)
    return _done(counts) > before


async def _do(run: TeamRun, words: str, counts: dict[str, int]) -> None:
    """Give the leader a task; its outcome is counted."""
    robots = [robot.name for robot in run.team.robots]
    record = TaskRecord(words)
    with watching(
        robots,
        record,
        domain=run.domain,
        namespace=run.team.namespace,
        environment=run.environment,
    ) as watcher:
        await in_loop(watcher, watcher.leader_there(60.0))
        giving = in_loop(watcher, asyncio.wait_for(watcher.give(0.0), TASK_LASTS))
        await _tried(counts, "tasks", giving)
    if record.judgement is not None and not record.judgement.proceeds:
        record.outcome = "asked back"
    counts[f"tasks that ended {record.outcome}"] = (
        counts.get(f"tasks that ended {record.outcome}", 0) + 1
    )
    moved = sum(
        sum(math.dist(a, b) for a, b in itertools.pairwise(way)) for way in record.ways.values()
    )
    counts["metres of tasks"] = counts.get("metres of tasks", 0) + round(moved)


def _done(counts: Mapping[str, int]) -> int:
    return sum(count for what, count in counts.items() if not what.endswith("failed"))


async def _explored(run: TeamRun, operator: Operator, robot: str) -> int:
    goal = exploration_goal(run.team.exploration.model_copy(update={"steps": 3}))
    result = await in_loop(operator, operator.explore(robot, goal, lambda news: None))
    return int(result.steps)


async def _tried(counts: dict[str, int], what: str, doing: Awaitable[T]) -> T | None:
    try:
        value = await doing
    except (RuntimeError, TimeoutError) as error:
        counts[f"{what}: failed"] = counts.get(f"{what}: failed", 0) + 1
        print(f"{what}: {error}", flush=True)
    else:
        counts[what] = counts.get(what, 0) + 1
        return value
    return None


async def soak(
    run: TeamRun, seconds: float, period: float, rest: float
) -> tuple[list[tuple[float, str, str, float]], dict[str, int]]:
    """Keep a team busy; return the samples (time [s], process, figure, value) and what was done."""
    rows: list[tuple[float, str, str, float]] = []
    counts: dict[str, int] = {}
    begin = time.monotonic()

    async def sampling() -> None:
        while True:
            now = time.monotonic() - begin
            rows.extend((now, *one) for one in await asyncio.to_thread(sample, run))
            await asyncio.sleep(period)

    async with run.supervisor.running():
        watching = asyncio.ensure_future(sampling())
        number = idle = 0
        while (left := seconds - (time.monotonic() - begin)) > 0.0:
            idle = 0 if await work(run, number, counts) else idle + 1
            number += 1
            print(f"\r{number} rounds, {left / 60.0:.0f} min left ", end="", flush=True)
            await asyncio.sleep(min(rest, max(0.0, left)))
            if idle == MOST_IDLE:
                # What does not work does not grow: those figures would say nothing.
                print(f"\n{idle} rounds in a row did nothing: ended")
                break
        watching.cancel()
    print()
    return rows, counts


def judged(rows: Sequence[tuple[float, str, str, float]]) -> list[Growth]:
    """Return how every figure went after the warm-up."""
    last = max(row[0] for row in rows)
    series: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for at, process, figure, value in rows:
        if at >= WARM * last:
            series.setdefault((process, figure), []).append((at, value))
    return [
        growth(*key, [at for at, _ in points], [value for _, value in points])
        for key, points in series.items()
        if len(points) >= LEAST
    ]


def draw(rows: Sequence[tuple[float, str, str, float]], file: Path) -> None:
    """Draw every figure over time, each process a line, relative to where it was."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figures = list(dict.fromkeys(row[2] for row in rows))
    canvas, axes = plt.subplots(
        len(figures), 1, figsize=(8, 2.2 * len(figures)), sharex=True, layout="constrained"
    )
    for axis, figure in zip(np.atleast_1d(axes), figures, strict=True):
        for process in dict.fromkeys(row[1] for row in rows if row[2] == figure):
            points = [(row[0] / 60.0, row[3]) for row in rows if row[1:3] == (process, figure)]
            axis.plot(*zip(*points, strict=True), label=process, linewidth=1)
        axis.set_ylabel(figure)
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1))
    np.atleast_1d(axes)[-1].set_xlabel("time [min]")
    canvas.savefig(file, dpi=110)
    plt.close(canvas)


def show(found: Sequence[Growth], counts: Mapping[str, int], console: Console) -> None:
    """Print what there was of each figure, and how it grew."""
    table = Table("process", "figure", "begin", "end", "per hour (95 %)", "")
    for one in found:
        table.add_row(
            one.process,
            one.figure,
            f"{one.begin:.1f}",
            f"{one.end:.1f}",
            f"{one.per_hour:+.1f} ({one.low:+.1f} to {one.high:+.1f})",
            "[bold red]grows[/]" if one.grows else "",
        )
    console.print(table)
    console.print(", ".join(f"{count} {what}" for what, count in counts.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--team", type=Path, default=Path("config/teams/home.yaml"))
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--period", type=float, default=10.0, help="between two samples [s]")
    parser.add_argument("--rest", type=float, default=0.0, help="between two rounds [s]")
    parser.add_argument("--out", type=Path, default=Path("out/soak"))
    options = parser.parse_args()
    with prepared(load_team(options.team)) as run:
        rows, counts = asyncio.run(soak(run, 60.0 * options.minutes, options.period, options.rest))
    options.out.mkdir(parents=True, exist_ok=True)
    found = judged(rows)
    show(found, counts, Console())
    lasted = max(row[0] for row in rows) / 60.0
    record = {"minutes": round(lasted, 1), "done": counts, "growth": [asdict(g) for g in found]}
    (options.out / "soak.json").write_text(json.dumps(record, indent=1))
    with (options.out / "samples.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("time_s", "process", "figure", "value"), *rows])
    draw(rows, options.out / "soak.png")


if __name__ == "__main__":
    main()
