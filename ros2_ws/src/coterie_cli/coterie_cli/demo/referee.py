"""The referee of a demonstration: knows the truth, makes the questions, keeps them apart."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

from coterie_bringup.errors import CommandError
from coterie_core.questions import LabelledQuestion, Question
from coterie_world.scene import SceneGraph
from mele_explorer.bank import QuestionBank


@dataclass(frozen=True, slots=True)
class Examination:
    """Questions to learn from and questions that are scored; no object is in both."""

    train: tuple[LabelledQuestion, ...]
    test: tuple[LabelledQuestion, ...]
    problems: tuple[str, ...]


def bank_of_file(file: Path) -> QuestionBank:
    """Read questions with their truth: a JSON list of {"object", "room", "truth"}.

    `room` may be left out for the whole house, `text` may hold the sentence.

    Raises:
        CommandError: The file cannot be read, or an entry is wrong; says which.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{file}: no questions can be read: {error}") from None
    if not isinstance(data, list):
        raise CommandError(f"{file}: expected a list of questions, got {type(data).__name__}")
    items = []
    for i, entry in enumerate(data):
        if not isinstance(entry, dict) or not isinstance(entry.get("truth"), bool):
            raise CommandError(
                f"{file}: entry {i}: expected object, room, and truth (true or false)"
            )
        words = {k: entry.get(k, "") for k in ("object", "room", "text")}
        if not all(isinstance(w, str) for w in words.values()) or not words["object"]:
            raise CommandError(f"{file}: entry {i}: object, room and text must be text")
        question = Question(f"f{i + 1:05d}", words["object"], words["room"], words["text"])
        items.append(LabelledQuestion(question, entry["truth"], words["object"]))
    objects = tuple(sorted({item.question.object for item in items}))
    rooms = tuple(sorted({item.question.room for item in items}))
    return QuestionBank(items, objects, rooms)


def bank_of_house(truth: SceneGraph, seed: int) -> QuestionBank:
    """Make all questions that a house is good for, from its truth (MELE, section 4.1)."""
    return QuestionBank.from_graph(truth, seed=seed, duplicates="distinct")


def examination(bank: QuestionBank, *, train: int, test: int, seed: int) -> Examination:
    """Part questions by object into those to learn from and those to score: twins stay together.

    Args:
        bank: Questions with truth.
        train: Most questions to learn from.
        test: Questions that are scored.
        seed: Chooses them.

    Raises:
        CommandError: The house holds too little to ask so many questions.
    """
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
            f"there are {len(bank)} questions about {len(groups)} kinds of things; {test} to score "
            "and some to learn from were wanted: lower questions.count in the team file, or take "
            "a larger house"
        )
    rest = [item for group in order for item in groups[group]]
    rng.shuffle(asked)
    rng.shuffle(rest)
    return Examination(tuple(rest[:train]), tuple(asked[:test]), tuple(bank.problems))
