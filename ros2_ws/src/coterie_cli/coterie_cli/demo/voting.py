"""The ways of voting: labelled questions for a team, and what each way makes of its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from cam_aggregator.base import Aggregator
from cam_aggregator.registry import accepted_options, make_aggregator
from coterie_bringup.running_team import TeamRun
from coterie_bringup.spinning import in_loop
from coterie_bringup.team_client import Operator
from coterie_cli.demo.progress import DemoProgress
from coterie_cli.demo.record import DemoRecord, MethodScore, ScoredQuestion
from coterie_cli.demo.referee import Examination
from coterie_core.answer_table import AnswerTable
from coterie_core.questions import LabelledQuestion

METHODS = {
    "majority_vote": "Majority vote",
    "confidence_vote": "Confidence-weighted vote",
    "debate": "Debate, two rounds",
    "decision_tree": "CAM, decision tree",
    "xgboost": "CAM, XGBoost",
    "cam_plus": "CAM+",
    "dawid_skene": "Dawid–Skene, no labels",
}
"""What is compared, in this order, with names for people."""
ANSWER_PATIENCE = 30.0
"""Longest time without a single new answer [s]."""


async def compare(
    run: TeamRun, operator: Operator, exam: Examination, record: DemoRecord, progress: DemoProgress
) -> None:
    """Put an examination to a team that has explored, and score every way of voting."""
    if exam.train:
        await _ask(run, operator, "learning", exam.train, record, progress)
        await _learn(run, operator, exam.train, record)
    await _ask(run, operator, "questions", exam.test, record, progress)
    names = [robot.name for robot in run.team.robots]
    given = [answer for name in names for answer in operator.answers[name].values()]
    tables = [
        AnswerTable.of(record.house, names, items, given) for items in (exam.train, exam.test)
    ]
    progress.begin("voting", len(METHODS))
    record.scores, answers = await asyncio.to_thread(
        evaluate, *tables, seed=run.team.seed, progress=progress
    )
    progress.finish("voting", f"{len(METHODS)} ways compared")
    record.questions = [_scored(item, operator, answers) for item in exam.test]


def evaluate(
    train: AnswerTable, test: AnswerTable, *, seed: int = 0, progress: DemoProgress | None = None
) -> tuple[list[MethodScore], dict[str, dict[str, bool | None]]]:
    """Score all methods.

    Args:
        train: Labelled answers to learn from.
        test: Answers to the scored questions; their truth is used for scoring only.
        seed: Of the learners, as the aggregator node has it.
        progress: Where it is shown.

    Returns:
        The scores, and each method's answers: method -> question id -> answer.
    """
    scores: list[MethodScore] = []
    answers: dict[str, dict[str, bool | None]] = {}
    for number, (method, title) in enumerate(METHODS.items()):
        if progress is not None:
            progress.show("voting", number, title)
        score = MethodScore(method, title)
        scores.append(score)
        options = {"seed": seed} if "seed" in accepted_options(method) else {}
        try:
            finals = _fitted(make_aggregator(method, **options), train, test).predict(test)
        except ValueError as error:
            score.note = str(error)
            continue
        answers[method] = {final.question: final.yes for final in finals}
        score.accuracy = _accuracy(test, answers[method])
    return scores, answers


def _fitted(aggregator: Aggregator, train: AnswerTable, test: AnswerTable) -> Aggregator:
    """Fit; a method without labels learns from all answers, and is never shown a truth."""
    aggregator.fit(train if aggregator.needs_labels else test)
    return aggregator


def _accuracy(test: AnswerTable, answers: Mapping[str, bool | None]) -> float:
    asked = zip(test.questions, test.truth, strict=True)
    return float(np.mean([answers.get(question) is bool(truth) for question, truth in asked]))


async def _learn(
    run: TeamRun, operator: Operator, items: Sequence[LabelledQuestion], record: DemoRecord
) -> None:
    for item in items:
        operator.label(item.question.id, item.truth, "referee")
    text = ""
    # Labels may arrive after the request to learn from them: ask again until all are known.
    for _ in range(20):
        good, text = await in_loop(operator, operator.train())
        if good and f" {len(items)} " in text:
            break
        await asyncio.sleep(0.1)
    record.trained_on = len(items)
    record.notes.append(text.replace(f"{run.directory}/", ""))


async def _ask(
    run: TeamRun,
    operator: Operator,
    title: str,
    items: Sequence[LabelledQuestion],
    record: DemoRecord,
    progress: DemoProgress,
) -> None:
    progress.begin(title, len(items))
    operator.ask_all([item.question for item in items], deadline=run.team.aggregator.deadline)
    ids = [item.question.id for item in items]
    shown = partial(progress.show, title)
    count = await in_loop(operator, operator.answered(ids, ANSWER_PATIENCE, on_news=shown))
    progress.finish(title, f"{count} answered")
    if count < len(items):
        record.notes.append(f"{title}: only {count} of {len(items)} were answered")


def _scored(
    item: LabelledQuestion, operator: Operator, answers: Mapping[str, Mapping[str, bool | None]]
) -> ScoredQuestion:
    key = item.question.id
    asked = ScoredQuestion(key, item.question.object, item.question.room, item.truth)
    asked.answers = {r: given[key] for r, given in operator.answers.items() if key in given}
    if (final := operator.finals.get(key)) is not None:
        asked.final, asked.final_given = final.yes, True
    asked.by_method = {method: given.get(key) for method, given in answers.items()}
    return asked
