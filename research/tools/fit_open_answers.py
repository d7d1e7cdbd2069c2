"""Fits how sure open answers may claim to be: writes `openeqa_agent/data/calibration.yaml`.

    python -m research.tools.fit_open_answers calibration.yaml

Asks the rules about generated houses in several sets of phrases, from memory, and fits per kind of
answer a rising curve from their own confidence to the share of answers that is right (mark of 4
or 5 by the rule judge). Test it on other houses and other sets of phrases, with `--test`.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import yaml
from sklearn.isotonic import IsotonicRegression

from coterie_llm import Decider, RulesModel
from openeqa_agent.agents import AgentOptions, OpenAgent
from openeqa_agent.calibration import kind_of
from research.bench.openeqa.facts import Facts
from research.bench.openeqa.marking import rule_mark
from research.bench.openeqa.phrases import PHRASES, PhraseSet, load_phrases
from research.bench.openeqa.questions import ask_house
from research.bench.openeqa.tour import Sight, make_tour
from research.bench.openeqa.world import Home

BINS = 8
"""Groups of answers of like confidence per kind."""
PRIOR = 6.0
"""Answers of the mean rate of a kind that each group is thought to have besides its own."""
RIGHT = 4
"""Least mark of a right answer."""

Told = tuple[str, float, bool]
"""Kind of the answer, confidence, whether it is right."""


async def answers(
    seeds: Iterable[int], sets: Sequence[PhraseSet], questions: int, *, calibrate: bool
) -> list[Told]:
    """Return what the rules answer about houses, with the confidence and whether it is right."""
    found: list[Told] = []
    for seed in seeds:
        home = Home(seed)
        try:
            tour = make_tour(home, seed)
            facts = Facts(home, tour, Sight(home))
            options = AgentOptions(guesses="always", calibrate=calibrate)
            agent = OpenAgent(Decider(RulesModel()), "ours", options)
            for name in sets:
                for one in ask_house(facts, seed, questions, load_phrases(name)):
                    reply = await agent.answer(one.question, tour.map, tour)
                    mark = rule_mark(one.question, one.answer, one.extra, reply.text)
                    if not reply.abstains:
                        kind = kind_of(reply, await agent.read(one.question, tour.map))
                        found.append((kind, reply.confidence, mark >= RIGHT))
        finally:
            home.close()
        print(f"house {seed}: {len(found)} answers so far", flush=True)
    return found


def fitted(told: Sequence[Told]) -> dict[str, dict[str, list[float]]]:
    """Return a rising curve per kind of answer."""
    kinds: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for kind, confidence, right in told:
        kinds[kind].append((confidence, right))
    curves = {}
    for kind, pairs in sorted(kinds.items()):
        pairs.sort()
        groups = [g for g in np.array_split(np.array(pairs, float), BINS) if len(g)]
        mean = float(np.mean([right for _, right in pairs]))
        raw = [float(np.mean(g[:, 0])) for g in groups]
        rate = [(float(g[:, 1].sum()) + PRIOR * mean) / (len(g) + PRIOR) for g in groups]
        sizes = [len(g) for g in groups]
        rising = IsotonicRegression().fit(raw, rate, sizes).predict(raw)
        points = dict(zip((round(x, 3) for x in raw), rising, strict=True))
        curves[kind] = {
            "raw": list(points),
            "right": [round(float(np.clip(y, 0.02, 0.98)), 3) for y in points.values()],
        }
    return curves


def calibration_error(told: Sequence[Told]) -> tuple[float, list[tuple[float, float, int]]]:
    """Return the expected calibration error (0..1) in ten bins, and each bin's means and size."""
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for _, confidence, right in told:
        bins[min(int(10 * confidence), 9)].append((confidence, right))
    rows = [
        (float(np.mean([c for c, _ in b])), float(np.mean([r for _, r in b])), len(b))
        for _, b in sorted(bins.items())
    ]
    return sum(n * abs(c - r) for c, r, n in rows) / max(len(told), 1), rows


def main() -> None:
    """Fit and write, or test what is there."""
    parser = argparse.ArgumentParser(description="Fit or test the confidence of open answers.")
    parser.add_argument("out", type=Path, nargs="?", help="file to write")
    parser.add_argument("--test", action="store_true", help="test the curves that are there")
    parser.add_argument("--houses", type=int, default=6)
    parser.add_argument("--seed", type=int, help="first house (52001; with --test 61001)")
    parser.add_argument("--phrases", nargs="+", choices=PHRASES, help="sets of phrases")
    parser.add_argument("--questions", type=int, default=6, help="per category, house and set")
    options = parser.parse_args()
    seed = options.seed or (61001 if options.test else 52001)
    sets = options.phrases or (["held_out"] if options.test else ["day", "people", "first"])
    seeds = range(seed, seed + options.houses)
    told = asyncio.run(answers(seeds, sets, options.questions, calibrate=options.test))
    if options.test:
        for name, part in (
            ("all", told),
            ("not guessed", [t for t in told if "guess" not in t[0]]),
        ):
            error, rows = calibration_error(part)
            print(f"{name}: {len(part)} answers, calibration error {100 * error:.1f} points")
            for confidence, right, count in rows:
                print(f"  {confidence:.2f} stated, {right:.2f} right, {count} answers")
        return
    if options.out is None:
        parser.error("name the file to write, or give --test")
    head = (
        "# Share of open answers that is right, per kind of answer and confidence of the rules.\n"
        f"# Made by research/tools/fit_open_answers.py: houses {seeds[0]} to {seeds[-1]}, phrases "
        f"{', '.join(sets)}, {len(told)} answers.\n"
    )
    text = yaml.safe_dump({"curves": fitted(told)}, default_flow_style=None, sort_keys=True)
    options.out.write_text(head + text, "utf-8")


if __name__ == "__main__":
    main()
