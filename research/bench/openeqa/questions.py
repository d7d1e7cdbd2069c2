"""Questions with answers about generated houses, in OpenEQA's seven categories, from the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np

from openeqa_agent.understood import Category
from research.bench.openeqa.drafts import Draft
from research.bench.openeqa.facts import Facts
from research.bench.openeqa.phrases import Phrases, load_phrases
from research.bench.openeqa.templates import TEMPLATES

PER_CATEGORY = 3
"""Questions asked per category and house."""


@dataclass(frozen=True, slots=True)
class HouseQuestion:
    """A question with its answer, as in OpenEQA; ids are of the world's truth.

    `evidence` are the things that must be in view to answer (with `anyone` one of them will do),
    `reference` the fewest atomic steps from the start until they are.
    """

    id: str
    question: str
    answer: str
    extra: tuple[str, ...]
    category: Category
    template: str
    evidence: tuple[str, ...]
    anyone: bool
    reference: int


def ask_house(
    facts: Facts, seed: int, per_category: int = PER_CATEGORY, phrases: Phrases | None = None
) -> list[HouseQuestion]:
    """Return the questions of a house; the same facts and seed give the same.

    Only what the episode clearly shows is asked about, what words single out, and what is in view
    from some place that can be walked to from the start.

    Args:
        facts: The house and the tour through it.
        seed: Of the choice and of the wording.
        per_category: Most questions of each category.
        phrases: How they are worded; None: the usual set.
    """
    phrases = phrases or load_phrases()
    questions: list[HouseQuestion] = []
    for number, (category, makers) in enumerate(TEMPLATES.items()):
        rng = np.random.default_rng([0x9E5, seed, number])
        chosen = _choose(facts, category, makers, rng, per_category, phrases)
        for draft, name, reference in chosen:
            questions.append(
                HouseQuestion(
                    f"house-{facts.home.seed}/{category}/{len(questions)}",
                    draft.question,
                    draft.answer,
                    tuple(e for e in dict.fromkeys(draft.extra) if e != draft.answer),
                    category,
                    name,
                    draft.evidence,
                    draft.anyone,
                    reference,
                )
            )
    return questions


def _choose(
    facts: Facts,
    category: Category,
    makers: dict[str, Callable[[Facts, np.random.Generator, Phrases], Iterator[Draft]]],
    rng: np.random.Generator,
    count: int,
    phrases: Phrases,
) -> list[tuple[Draft, str, int]]:
    """Take questions from each template in turn, about other things and with other answers."""
    pools: dict[str, list[Draft]] = {}
    for name, make in makers.items():
        drafts = list(make(facts, rng, phrases))
        pools[name] = [drafts[k] for k in rng.permutation(len(drafts))]
    chosen: list[tuple[Draft, str, int]] = []
    topics: set[frozenset[str]] = set()
    answers: dict[str, int] = {}
    while len(chosen) < count and any(pools.values()):
        for name, pool in pools.items():
            while pool and len(chosen) < count:
                # The answer given least often so far comes first, so that yes and no are even.
                pool.sort(key=lambda d: answers.get(d.answer, 0))
                draft = pool.pop(0)
                topic = frozenset(draft.evidence)
                if topic in topics:
                    continue
                reference = facts.sight.reference(
                    facts.episode.start, facts.episode.yaw, draft.evidence, draft.anyone
                )
                if reference is None:
                    continue
                topics.add(topic)
                answers[draft.answer] = answers.get(draft.answer, 0) + 1
                chosen.append((draft, name, reference))
                break
    return chosen


def as_open_eqa(question: HouseQuestion, episode: str) -> dict[str, object]:
    """Return a question in the format of open-eqa-v0.json, with our fields after theirs."""
    fields = asdict(question)
    theirs = {
        "question": question.question,
        "answer": question.answer,
        "extra_answers": list(question.extra),
        "category": question.category.replace("_", " "),
        "question_id": question.id,
        "episode_history": episode,
    }
    ours = {k: fields[k] for k in ("template", "evidence", "anyone", "reference")}
    return theirs | ours
