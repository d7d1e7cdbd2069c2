"""The referee of a demonstration: knows the truth, makes the questions, keeps them apart."""

from __future__ import annotations

import random
from dataclasses import dataclass

from coterie_bringup.errors import CommandError
from coterie_core.questions import LabelledQuestion
from coterie_core.scene import SceneGraph
from mele_explorer.bank import QuestionBank


@dataclass(frozen=True, slots=True)
class Examination:
    """Questions to learn from and questions that are scored; no object is in both."""

    train: tuple[LabelledQuestion, ...]
    test: tuple[LabelledQuestion, ...]
    problems: tuple[str, ...]


def examination(truth: SceneGraph, *, train: int, test: int, seed: int) -> Examination:
    """Make questions from the truth, grouped by object: twins never stand on two sides.

    Args:
        truth: The house.
        train: Most questions to learn from.
        test: Questions that are scored.
        seed: Chooses them.

    Raises:
        CommandError: The house holds too little to ask so many questions.
    """
    bank = QuestionBank.from_graph(truth, seed=seed, duplicates="distinct")
    groups: dict[str, list[LabelledQuestion]] = {}
    for item in bank:
        groups.setdefault(item.group, []).append(item)
    rng = random.Random(seed)
    order = sorted(groups)
    rng.shuffle(order)
    asked: list[LabelledQuestion] = []
    while order and len(asked) < test:
        asked += groups[order.pop()]
    if len(asked) < test or (train and not order):
        raise CommandError(
            f"the house is good for {len(bank)} questions about {len(groups)} kinds of things; "
            f"{test} to score and some to learn from were wanted: lower questions.count in the "
            "team file, or take a larger house"
        )
    rest = [item for group in order for item in groups[group]]
    rng.shuffle(asked)
    rng.shuffle(rest)
    return Examination(tuple(rest[:train]), tuple(asked[:test]), tuple(bank.problems))
