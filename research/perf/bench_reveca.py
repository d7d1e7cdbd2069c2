"""Speed and memory of cooperation by the rules: episodes, one decision, 100 000 steps.

Run: python research/perf/bench_reveca.py [--seeds 40] [--steps 100000] [--json FILE]
Times are of the processor on one core, so that other programs do not spoil them.
`episodes`: whole episodes, and steps in episodes of 250; the baseline is `rhp` in the same run.
`decision`: list the candidates, choose, write the prompt, with so many things in memory, of which
some are needed or may hold what is needed (`packed`: a third each are that; only the top is looked
at); the baseline reads all of them and sorts (`read all`), as one does without an order.
`memory`: an agent that meets new things and is told new ids in every step; what its process and its
containers hold after a tenth of the steps and at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
sys.path[:0] = [
    str(Path(__file__).resolve().parents[2] / "ros2_ws/src" / package)
    for package in ("coterie_core", "habitat_bridge", "reveca_agent")
]
sys.path.append(str(Path(__file__).resolve().parents[2]))

from coterie_core.cooperation import Thing  # noqa: E402
from research.bench.reveca.episodes import run_one  # noqa: E402
from research.bench.reveca.memory_soak import briefing, percepts, sizes  # noqa: E402
from reveca_agent.agent import RevecaAgent  # noqa: E402
from reveca_agent.entries import Entry  # noqa: E402
from reveca_agent.planning import ChoosePlan, PlanState, candidates  # noqa: E402
from reveca_agent.relevance import thing_score  # noqa: E402

METHODS = ("rhp", "reveca", "no_talk", "coela", "mhp", "oracle")
ITEMS = (100, 1000, 5000)
HORIZON = 250


def episodes(seeds: int) -> dict[str, dict[str, float]]:
    """Time whole episodes of the household world, and of transport."""
    out: dict[str, dict[str, float]] = {}
    for world, count in (("household", seeds), ("transport", max(1, seeds // 8))):
        run_one(world, "rhp", 0)  # houses are made once
        for method in METHODS:
            begun, steps = time.process_time(), 0
            for seed in range(count):
                steps += int(run_one(world, method, seed)["simulation_steps"])
            spent = time.process_time() - begun
            found = {"episodes/s": count / spent, "of 250 steps/s": steps / HORIZON / spent}
            base = out.get(f"{world} rhp", found)["of 250 steps/s"]
            out[f"{world} {method}"] = found | {"to rhp": found["of 250 steps/s"] / base}
    return out


def knowing(count: int, needed: int, boxes: int) -> RevecaAgent:
    """Return an agent that knows so many things, rated; some needed, some closed containers."""
    start = briefing()
    agent = RevecaAgent("Ada")
    agent.begin(start)
    rooms = list(start.ways.rooms.values())
    wanted, top = sorted(start.goal.items), agent.settings.levels - 1
    for k in range(count):
        label = wanted[0] if k < needed else "cabinet" if k < needed + boxes else "vase"
        kind: Any = "container" if label == "cabinet" else "item"
        room = rooms[k % len(rooms)]
        is_open = False if kind == "container" else None
        thing = Thing(f"{label}-{k}", label, kind, room.spot, is_open=is_open, portable=True)
        agent.memory.put(Entry(thing, k, "", round(thing_score(thing, start.goal) * top)))
        agent.memory.rooms[room.id] = k
    agent.memory.spot, agent.memory.step = rooms[0].spot, count
    return agent


def spent(work: Callable[[], object], least: float = 0.25) -> float:
    """Return the median processor time of one call [s]."""
    rounds, begun = [], time.process_time()
    while len(rounds) < 5 or time.process_time() - begun < least:
        at = time.process_time()
        for _ in range(20):
            work()
        rounds.append((time.process_time() - at) / 20)
    return statistics.median(rounds)


def decisions() -> dict[str, dict[str, float]]:
    """Time one decision by the size of the memory."""
    out: dict[str, dict[str, float]] = {}
    for count in ITEMS:
        agent, packed = knowing(count, 3, 20), knowing(count, count // 3, count // 3)

        def decide(agent: RevecaAgent) -> int:
            decision = ChoosePlan()
            state = PlanState(candidates(agent.memory, agent.briefing), agent.memory)
            decision.rule(state)
            return sum(len(message.text) for message in decision.prompt(state))

        def read_all(agent: RevecaAgent) -> object:
            entries = agent.memory.scene.values()
            return sorted(entries, key=lambda e: (-thing_score(e.thing, agent.memory.goal), e.step))

        found = {
            "decision [ms]": 1e3 * spent(partial(decide, agent)),
            "packed [ms]": 1e3 * spent(partial(decide, packed)),
            "read all [ms]": 1e3 * spent(partial(read_all, agent)),
        }
        first = out.get(str(ITEMS[0]), found)
        for name in ("decision", "packed", "read all"):
            found[f"{name} to {ITEMS[0]}"] = found[f"{name} [ms]"] / first[f"{name} [ms]"]
        found["prompt [characters]"] = float(decide(agent))
        out[str(count)] = found
    return out


def resident() -> float:
    """Return what the process holds in memory [MB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def life(steps: int) -> dict[str, dict[str, float]]:
    """Let an agent live for so long; report its process and its containers."""
    start = briefing()
    agent = RevecaAgent("Ada")
    agent.begin(start)
    out: dict[str, dict[str, float]] = {}
    marks = {steps // 10, steps // 2, steps}
    begun = time.process_time()

    async def live() -> None:
        for percept in islice(percepts(start), steps):
            agent.observe(percept)
            await agent.act()
            if percept.step in marks:
                held = sizes(agent)
                out[str(percept.step)] = {
                    "process [MB]": resident(),
                    "elements": float(sum(held.values())),
                    "saved [kB]": len(agent.memory.save()) / 1e3,
                    "step [ms]": 1e3 * (time.process_time() - begun) / percept.step,
                }

    asyncio.run(live())
    return out


def show(title: str, rows: dict[str, dict[str, float]]) -> None:
    """Print rows of figures."""
    print(title)
    for name, row in rows.items():
        cells = "  ".join(f"{key} {value:.4g}" for key, value in row.items())
        print(f"  {name:>18}: {cells}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {"episodes": episodes(options.seeds)}
    show("episodes by the rules, one core", results["episodes"])
    results["decision"] = decisions()
    show("one decision, by things in memory", results["decision"])
    results["memory"] = life(options.steps)
    show("one agent, after so many steps", results["memory"])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
