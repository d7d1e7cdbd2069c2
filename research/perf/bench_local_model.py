#!/usr/bin/env python3
"""What the model in the box gives, and what our client costs beside a bare HTTP request.

    python research/perf/bench_local_model.py [--seconds 60] [--pairs 20] [--robots 1,4,16]

First the same request is put to the same server bare (httpx2) and through all that `build_model`
puts around a model, by turns. Then 1, 4 and 16 robots decide at once where to go, on states of a
seeded house, for so many seconds each. Prints tables; `--out` writes JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import httpx2

from coterie_llm import (
    Decider,
    LanguageModel,
    Message,
    ModelProfile,
    ModelRequest,
    UsageMeter,
    build_model,
)
from coterie_llm.dialect import Dialect
from coterie_llm.local import ensure_served
from coterie_llm.local_model.server import memory_mb

sys.path += [str(Path(__file__).resolve().parents[2] / folder) for folder in ("", "tests/fixtures")]
from coterie_fixtures.endpoint import Endpoint
from research.bench.decision_samples import Sample, decision_samples

_ASKED = ModelRequest(
    (
        Message.system("You guide a household robot."),
        Message.user("Rooms: r1 bathroom, r2 garage. Where is the towel?"),
    ),
    schema={
        "title": "Room",
        "type": "object",
        "properties": {"room": {"enum": ["r1", "r2"]}},
        "required": ["room"],
    },
    max_tokens=40,
)


async def overhead(profile: ModelProfile, url: str, key: str, pairs: int) -> dict[str, float]:
    """Return medians [s] of a bare request, of one through `build_model`, and of the difference."""
    model = build_model(profile.model_copy(update={"cache": 0}), UsageMeter())
    body = Dialect().body(profile.model or model.name, _ASKED)
    bare: list[float] = []
    ours: list[float] = []
    async with httpx2.AsyncClient(trust_env=False, timeout=120.0) as client:

        async def ask_bare() -> float:
            begun = time.perf_counter()
            answer = await client.post(
                f"{url}/chat/completions", json=body, headers={"authorization": f"Bearer {key}"}
            )
            answer.raise_for_status()
            json.loads(answer.json()["choices"][0]["message"]["content"])
            return time.perf_counter() - begun

        async def ask_ours() -> float:
            begun = time.perf_counter()
            await model.complete(_ASKED)
            return time.perf_counter() - begun

        for k in range(pairs + 2):
            turns = [(bare, ask_bare), (ours, ask_ours)]
            for times, ask in turns if k % 2 else reversed(turns):
                took = await ask()
                if k >= 2:  # the first ones open connections and fill the cache of prompts
                    times.append(took)
    await model.aclose()
    more = statistics.median(b - a for a, b in zip(bare, ours, strict=True))
    return {
        "bare_s": statistics.median(bare),
        "ours_s": statistics.median(ours),
        "more_s": more,
        "goal_s": 0.05 * statistics.median(bare) + 0.002,
    }


async def throughput(
    profile: ModelProfile, samples: list[Sample], robots: int, seconds: float
) -> dict[str, float]:
    """Return what so many robots get decided in so much time, each one decision after another."""
    meter = UsageMeter()
    model: LanguageModel = build_model(
        profile.model_copy(update={"cache": 0, "max_concurrency": robots}), meter
    )
    begun = time.perf_counter()
    by_model = by_rule = 0

    async def robot(k: int) -> None:
        nonlocal by_model, by_rule
        decider = Decider(model, who=f"robot{k}", timeout_s=max(seconds, 1.0))
        turn = k
        while time.perf_counter() - begun < seconds:
            sample = samples[turn % len(samples)]
            decided = await decider.decide(sample.decision, sample.state)
            turn += robots
            if time.perf_counter() - begun <= seconds + 1.0:
                by_model += decided.decided_by == "model"
                by_rule += decided.decided_by == "rule"

    await asyncio.gather(*(robot(k) for k in range(robots)))
    took = time.perf_counter() - begun
    used = meter.total()
    await model.aclose()
    return {
        "robots": robots,
        "decisions_s": by_model / took,
        "by_model": by_model,
        "by_rule": by_rule,
        "sent_s": used.prompt_tokens / took,
        "written_s": used.completion_tokens / took,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="per number of robots [s]")
    parser.add_argument("--pairs", type=int, default=20, help="pairs of requests")
    parser.add_argument("--robots", default="1,4,16", help="numbers of robots, with commas")
    parser.add_argument("--parallel", type=int, default=2, help="conversations at a time")
    parser.add_argument("--out", type=Path, help="file for the figures as JSON")
    given = parser.parse_args()
    logging.getLogger("coterie_llm").setLevel(logging.ERROR)  # the tables count it
    profile = ModelProfile(kind="local", timeout_s=300.0, parallel=given.parallel)
    begun = time.perf_counter()
    server = ensure_served(profile)
    assert server is not None  # of its kind
    print(f"served after {time.perf_counter() - begun:.1f} s; load {os.getloadavg()[0]:.1f}")
    figures: dict[str, Any] = {}

    with Endpoint(lambda body: {"room": "r1"}, delay_s=0.05) as fixed:
        plain = ModelProfile(kind="openai", base_url=fixed.url, model="m")
        figures["a server that takes 50 ms"] = asyncio.run(
            overhead(plain, fixed.url, "none", max(given.pairs, 50))
        )
    figures["the model in the box"] = asyncio.run(
        overhead(profile, server.url, server.key, given.pairs)
    )
    print(f"\n{'one request':<28}{'bare':>10}{'ours':>10}{'more':>10}{'goal':>10}   [ms]")
    for name, row in figures.items():
        told = "".join(
            f"{1e3 * row[key]:>10.1f}" for key in ("bare_s", "ours_s", "more_s", "goal_s")
        )
        print(f"{name:<28}{told}")

    samples = decision_samples(["mele.choose_place"], seed=1, count=16)["mele.choose_place"]
    heads = f"{'robots':>7}{'decisions/s':>13}{'sent/s':>9}{'written/s':>11}"
    print(f"\n{heads}{'by model':>10}{'by rule':>9}")
    rows = []
    for robots in (int(word) for word in given.robots.split(",")):
        row = asyncio.run(throughput(profile, samples, robots, given.seconds))
        rows.append(row)
        print(
            f"{robots:>7}{row['decisions_s']:>13.3f}{row['sent_s']:>9.0f}{row['written_s']:>11.1f}"
            f"{row['by_model']:>10}{row['by_rule']:>9}"
        )
    held = [
        memory_mb(int(p)) for p in os.listdir("/proc") if p.isdigit() and _serves(p, server.port)
    ]
    print(f"\nthe server holds {sum(held):.0f} MB; load {os.getloadavg()[0]:.1f}")
    if given.out is not None:
        given.out.write_text(json.dumps({"requests": figures, "robots": rows}, indent=1) + "\n")


def _serves(pid: str, port: int) -> bool:
    try:
        return f"\0--port\0{port}\0" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


if __name__ == "__main__":
    main()
