"""Question -> final answer over ROS processes, with 3, 10 and 50 robots.

    ./coterie setup; source .venv/setup.bash; source ros2_ws/install/setup.bash
    python benchmarks/bench_end_to_end.py --out out/end_to_end

Two figures a team: one question at a time (each asked when the one before is answered), and ten
questions a second. Latency is wall time from publishing the question to hearing the final answer,
both in the asking process. `ratio_p50` is to the smallest team asked one question at a time, in the
same run. Writes results.json, a flat list of records.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from coterie_bringup.running_team import TeamRun, prepared
from coterie_bringup.spinning import in_loop
from coterie_bringup.team import parse_team
from coterie_bringup.team_client import Operator, operating
from coterie_core.questions import Question

TEAM = """\
name: bench
world: {{kind: embedded, seed: 3, floors: 2, rooms: 22}}
robots: [{{name: "r{{n}}", count: {robots}, embodiment: air}}]
exploration: {{steps: 4}}
aggregator: {{method: majority_vote, deadline: 30.0}}
"""
THINGS = ("chair", "mug", "lamp", "plant", "book", "sofa", "towel", "plate")


def question(key: str, i: int) -> Question:
    return Question(key, THINGS[i % len(THINGS)], "kitchen", "")


async def asked(operator: Operator, rate: float, keys: list[str]) -> list[float]:
    """Ask at a rate [1/s], 0: one after the other; return the latencies [s]."""
    begin = time.monotonic()
    sent: dict[str, float] = {}
    for i, key in enumerate(keys):
        if rate:
            await asyncio.sleep(max(0.0, begin + i / rate - time.monotonic()))
        sent[key] = time.monotonic()
        operator.ask_all([question(key, i)], deadline=30.0)
        if not rate:
            await answered(operator, [key])
    await answered(operator, keys)
    return [operator.final_times[key] - sent[key] for key in keys]


async def answered(operator: Operator, keys: list[str]) -> None:
    count = await in_loop(operator, operator.answered(keys, 60.0, on_news=lambda n: None))
    if count < len(keys):
        raise SystemExit(f"only {count} of {len(keys)} questions were answered")


async def measure(run: TeamRun, count: int) -> list[dict[str, Any]]:
    robots = [r.name for r in run.team.robots]
    records = []
    async with run.supervisor.running():
        begin = time.monotonic()
        with operating(robots, domain=run.domain, environment=run.environment) as operator:
            missing = await in_loop(operator, operator.wait_for_team(120.0))
            if missing:
                raise SystemExit(f"not up: {missing}")
            up = time.monotonic() - begin
            await asked(operator, 0.0, [f"warm-{i}" for i in range(5)])
            for rate in (0.0, 10.0):
                latencies = await asked(operator, rate, [f"q-{rate:g}-{i}" for i in range(count)])
                lost = sum(len(f.missing) for f in operator.finals.values())
                p50, p95, top = np.percentile(latencies, [50, 95, 100])
                records.append(
                    {
                        "robots": len(robots),
                        "processes": len(run.specs),
                        "rate_per_s": rate,
                        "questions": count,
                        "p50_ms": round(1000 * float(p50), 1),
                        "p95_ms": round(1000 * float(p95), 1),
                        "max_ms": round(1000 * float(top), 1),
                        "answers_lost": lost,
                        "start_s": round(up, 1),
                    }
                )
                print(records[-1], flush=True)
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", type=int, nargs="+", default=[3, 10, 50])
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("out/end_to_end"))
    options = parser.parse_args()
    records: list[dict[str, Any]] = []
    for robots in options.robots:
        with prepared(parse_team(TEAM.format(robots=robots))) as run:
            records += asyncio.run(measure(run, options.questions))
    for record in records:
        record["ratio_p50"] = round(record["p50_ms"] / records[0]["p50_ms"], 2)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.json").write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
