"""Training and prediction time of every aggregator, and of deciding one question of 3..50 robots.

    .venv/bin/python research/perf/bench_cam.py --out out/cam

Needs no ROS and no data: answers are made up, 24 to 400 questions of 3, 10 and 50 robots. Writes
results.json, a flat list of records: method, questions, robots, fit_s, predict_s (all questions),
decide_s (one question with one answer missing, median), each the median of `--rounds` runs [s].
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from cam_aggregator.registry import accepted_options, aggregator_names, make_aggregator
from coterie_core.answer_table import AnswerTable
from coterie_core.questions import Question


def made_up(questions: int, robots: int, seed: int = 0) -> AnswerTable:
    """Half of the questions YES; a robot has seen a third of the rooms and else guesses."""
    rng = np.random.default_rng(seed)
    truth = np.arange(questions) % 2 == 0
    there = rng.random((questions, robots)) < 0.33
    seen = there & truth[:, None]
    prior = np.repeat(np.clip(rng.normal(0.4 + 0.1 * truth, 0.2), 0.02, 0.98)[:, None], robots, 1)
    p_yes = np.where(seen, 0.97, np.where(there, 0.3 * prior, prior))
    things = tuple(f"thing {i // 2:03d}" for i in range(questions))
    return AnswerTable(
        "made up",
        tuple(f"robot_{k}" for k in range(robots)),
        tuple(f"q{i}" for i in range(questions)),
        things,
        tuple(f"room {int(r)}" for r in rng.integers(0, 12, questions)),
        things,
        truth,
        p_yes > 0.5,
        np.maximum(p_yes, 1.0 - p_yes),
        np.where(seen, 0, np.where(there, 1, 2)).astype(np.int64),
        there.astype(np.int64) * 3,
        there * 0.7,
        (rng.random((questions, robots)) < 0.2).astype(np.int64),
        prior,
        seen.astype(np.int64),
    )


def seconds(action: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def measure(name: str, questions: int, robots: int, rounds: int) -> dict[str, object]:
    table = made_up(questions, robots)
    options = {"seed": 0} if "seed" in accepted_options(name) else {}
    aggregator = make_aggregator(name, **options)
    fit = seconds(lambda: aggregator.fit(table), rounds)
    unasked = replace(table, questions=tuple(f"new {q}" for q in table.questions))
    predict = seconds(lambda: aggregator.p_yes(unasked), rounds)
    row = table.row(0)[1:]
    question = Question(table.questions[0], table.objects[0], table.rooms[0])
    decide = seconds(lambda: aggregator.decide(question, row, table.agents), max(3, rounds))
    return {
        "method": name,
        "questions": questions,
        "robots": robots,
        "fit_s": round(fit, 5),
        "predict_s": round(predict, 5),
        "decide_s": round(decide, 5),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, help="folder for results.json")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--methods", nargs="*", default=list(aggregator_names()))
    arguments = parser.parse_args()
    records = []
    print(
        f"{'method':22s}{'questions':>10s}{'robots':>8s}{'fit':>10s}{'predict':>10s}{'decide':>10s}"
    )
    for name in arguments.methods:
        for questions, robots in ((40, 3), (400, 3), (400, 10), (400, 50)):
            if name in ("glad", "mace", "debate") and robots > 3:
                continue  # a minute and more
            record = measure(name, questions, robots, arguments.rounds)
            records.append(record)
            times = "".join(f"{1000 * float(str(record[k])):8.1f}ms" for k in list(record)[3:])
            print(f"{name:22s}{questions:10d}{robots:8d}{times}", flush=True)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(records, indent=1)
        (arguments.out / "results.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
