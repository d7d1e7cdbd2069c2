"""Measures the rules on OpenEQA's own questions: reading, the blind rule, and the rule judge.

    python -m research.tools.measure_open_questions open-eqa-v0.json

The rules were made while looking at one half of the questions (even SHA-256 of the id); the other
half was only counted. The judge is tried where people gave further answers: each of these against
the other right ones (right), and the answer to another question of the category about another
place, drawn with a seed (wrong). Intervals: 95 %, by resampling questions.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from coterie_llm import Decider, RulesModel
from openeqa_agent.agents import AgentOptions, OpenAgent
from openeqa_agent.understood import OpenQuestion
from research.bench.openeqa.categories import category_named
from research.bench.openeqa.marking import rule_mark

RIGHT = 3
"""Mark from which the judge takes an answer for right."""


def held_out(entry: dict[str, Any]) -> bool:
    """Whether a question belongs to the half that was only counted."""
    return int(hashlib.sha256(entry["question_id"].encode()).hexdigest(), 16) % 2 == 1


def judged(entries: list[dict[str, Any]], seed: int) -> list[tuple[list[int], list[int]]]:
    """Return, per question with further answers, marks of right ones and of as many wrong ones."""
    rng = random.Random(seed)
    found = []
    for entry in entries:
        extra = entry.get("extra_answers") or []
        if not extra:
            continue
        others = [
            other["answer"]
            for other in entries
            if other["category"] == entry["category"]
            and other["episode_history"] != entry["episode_history"]
        ]
        right, wrong = [], []
        for k, said in enumerate(extra):
            rest = [one for i, one in enumerate(extra) if i != k]
            right.append(rule_mark(entry["question"], entry["answer"], rest, said))
            stranger = rng.choice(others)
            wrong.append(rule_mark(entry["question"], entry["answer"], extra, stranger))
        found.append((right, wrong))
    return found


def balanced(pairs: list[tuple[list[int], list[int]]]) -> float:
    """Return the balanced accuracy at `RIGHT` [%]."""
    right = [mark for pair in pairs for mark in pair[0]]
    wrong = [mark for pair in pairs for mark in pair[1]]
    return 50.0 * float(
        np.mean([mark >= RIGHT for mark in right]) + np.mean([mark < RIGHT for mark in wrong])
    )


def area(pairs: list[tuple[list[int], list[int]]]) -> float:
    """Return the area under the curve of right against wrong answers, by their marks."""
    right = np.array([mark for pair in pairs for mark in pair[0]])[:, None]
    wrong = np.array([mark for pair in pairs for mark in pair[1]])[None]
    return float(((right > wrong) + 0.5 * (right == wrong)).mean())


def interval(values: list[Any], statistic: Any, seed: int, rounds: int = 1000) -> str:
    """Return a statistic with its 95 % interval by resampling."""
    rng = random.Random(seed)
    drawn = [statistic(rng.choices(values, k=len(values))) for _ in range(rounds)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return f"{statistic(values):.3g} ({low:.3g} to {high:.3g})"


async def as_read(entries: list[dict[str, Any]]) -> list[tuple[OpenQuestion, dict[str, Any]]]:
    """Return each question as the offline reader reads it."""
    agent = OpenAgent(Decider(RulesModel()))
    return [(await agent.read(entry["question"]), entry) for entry in entries]


async def blind_marks(read: list[tuple[OpenQuestion, dict[str, Any]]]) -> list[float]:
    """Return C per question [%] of the blind rule."""
    agent = OpenAgent(Decider(RulesModel()), "blind", AgentOptions(guesses="always"))
    found = []
    for question, entry in read:
        reply = await agent.answer(question)
        extra = entry.get("extra_answers") or ()
        mark = rule_mark(entry["question"], entry["answer"], extra, reply.text)
        found.append(25.0 * (mark - 1))
    return found


def main() -> None:
    """Print the figures of both halves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="open-eqa-v0.json")
    parser.add_argument("--seed", type=int, default=0, help="seed of wrong answers and intervals")
    options = parser.parse_args()
    data = json.loads(options.data.read_text("utf-8"))
    for name, part in (
        ("looked at", [e for e in data if not held_out(e)]),
        ("held out", [e for e in data if held_out(e)]),
    ):
        read = asyncio.run(as_read(part))
        share = [100.0 * bool(one.steps) for one, _ in read]
        told = [
            100.0 * (one.category == category_named(entry["category"]))
            for one, entry in read
            if one.steps
        ]
        pairs = judged(part, options.seed)
        marks = asyncio.run(blind_marks(read))
        print(f"{name}: {len(part)} questions")
        print(f"  read without a model [%]: {interval(share, np.mean, options.seed)}")
        print(f"  category of those [%]: {interval(told, np.mean, options.seed)}")
        print(f"  blind rule, C [%]: {interval(marks, np.mean, options.seed)}")
        answers = sum(len(pair[0]) for pair in pairs)
        print(
            f"  judge, {len(pairs)} questions, {answers} answers: balanced accuracy [%] "
            f"{interval(pairs, balanced, options.seed)}, "
            f"area {interval(pairs, area, options.seed, 200)}"
        )


if __name__ == "__main__":
    main()
