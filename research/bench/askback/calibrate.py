"""Conformal thresholds of answers and denials, from houses that serve nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import yaml

from cam_aggregator.registry import aggregator_names, make_aggregator
from coterie_core.answer_table import AnswerTable
from coterie_core.confidence import load_confidence
from coterie_core.conformal import LEARNED_FROM, LEVELS, Thresholds
from coterie_requests.detector_vocabulary import household_vocabulary
from coterie_world.coverage import MIN_LIKELIHOOD, likely_in
from coterie_world.scene import Room
from research.bench.askback.open_answers import open_answers
from research.bench.askback.situation import Situation, explored
from research.bench.askback.told import Told
from research.bench.calibration.data import explore_generated

METHODS = ("confidence_vote", "majority_vote", "dawid_skene", "one_coin")
"""Methods that need no labels: their thresholds hold for a house that nobody has labeled."""
LEARNED = tuple(name for name in aggregator_names() if make_aggregator(name).needs_labels)
"""Methods that are trained on labels of the house."""
TEAM = 3
CALIBRATION_HOUSES = tuple(range(40_100, 40_160))
TEST_HOUSES = tuple(range(45_000, 45_020))
HEAD = """\
# How sure an answer, or the denial of a thing, must be: coterie_core.conformal says what it means.
# Levels are in percent; 1.0 withholds all.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was said of one house.

    Attributes:
        answers: Method -> answers to questions of presence.
        with_liar: The same where one robot turns its answers round.
        denials: Of the whole house.
        denials_here: Of one of its rooms, about what may well be there.
        opened: Open answers.
        opened_with_liar: The same from a map that a liar has part in.
    """

    answers: dict[str, Told]
    with_liar: dict[str, Told]
    denials: Told
    denials_here: Told
    opened: Told
    opened_with_liar: Told


def answers_of(seed: int) -> AnswerTable:
    """Return what three robots that explored a generated house answer about it."""
    return explore_generated(seed, TEAM).table(load_confidence(), TEAM)


def told_answers(method: str, table: AnswerTable, *, liar: bool) -> Told:
    """Return a method's answers; with a liar, each of the robots is the one in turn."""
    tables = [table.invert(agent) for agent in table.agents] if liar else [table]
    return Told.joined([_told(method, one, one) for one in tables])


def told_learned(method: str, table: AnswerTable, seed: int, *, liar: bool) -> Told:
    """Return the answers of a method that has learned from some labels of the house to the rest.

    The labels are those of questions by lot. The liar, the same for all methods, lies in all
    answers, also in those that are learned from.
    """
    if liar:
        table = table.invert(table.agents[seed % len(table.agents)])
    order = np.random.default_rng([0x1AB, seed]).permutation(len(table))
    return _told(method, table.take(order[:LEARNED_FROM]), table.take(order[LEARNED_FROM:]))


def _told(method: str, known: AnswerTable, asked: AnswerTable) -> Told:
    aggregator = make_aggregator(method)
    aggregator.fit(known)
    sure: list[float] = []
    right: list[bool] = []
    for final, truth in zip(aggregator.predict(asked), asked.truth, strict=True):
        # Who cannot tell withholds its answer, which is no error.
        sure.append(final.confidence if final.yes is not None else 0.0)
        right.append(final.yes is None or final.yes == bool(truth))
    return Told(np.array(sure), np.array(right), (asked.house,) * len(sure))


def told_denials(situation: Situation, *, everywhere: bool) -> Told:
    """Return how sure it is that a thing is not there, of all that the team's map does not show.

    Of the whole house, or of each of its rooms, there about what such rooms may well have; only
    where no room that may well have it is left unseen, as the rule has it.
    """
    coverage = situation.coverage
    rooms = list(situation.known.rooms.values())
    sure: list[float] = []
    right: list[bool] = []

    def add(label: str, places: Sequence[Room]) -> None:
        ids = {room.id for room in places}
        if any(thing.room in ids for thing in situation.known_things(label)):
            return
        if coverage.unlooked(label, places):
            return
        sure.append(coverage.absence(label, places))
        right.append(not any(thing.room in ids for thing in situation.true_things(label)))

    for label in household_vocabulary():
        if everywhere:
            add(label, rooms)
            continue
        for room in rooms:
            if likely_in(label, room) >= MIN_LIKELIHOOD:
                add(label, (room,))
    return Told(np.array(sure), np.array(right, dtype=bool), (str(situation.seed),) * len(sure))


def measured(seed: int) -> Measured:
    """Return what is said of a house: answers, open answers, and denials.

    Denials are those of teams that saw it wholly and in part.
    """
    seen = [explored(seed, whole) for whole in (True, False)]
    table = answers_of(seed)

    def answers(*, liar: bool) -> dict[str, Told]:
        free = {name: told_answers(name, table, liar=liar) for name in METHODS}
        return free | {name: told_learned(name, table, seed, liar=liar) for name in LEARNED}

    return Measured(
        answers(liar=False),
        answers(liar=True),
        Told.joined([told_denials(one, everywhere=True) for one in seen]),
        Told.joined([told_denials(one, everywhere=False) for one in seen]),
        *open_answers(seed),
    )


def all_told(found: Sequence[Measured], what: Callable[[Measured], Told]) -> Told:
    """Return one part of what was said, of all houses."""
    return Told.joined([what(one) for one in found])


def calibrated(found: Sequence[Measured], provenance: str, command: str) -> str:
    """Return the text of `conformal.yaml`."""

    def levels(what: Callable[[Measured], Told]) -> dict[int, float]:
        told = all_told(found, what)
        return {round(100 * level): round(told.threshold(level), 4) for level in LEVELS}

    methods = found[0].answers
    made = Thresholds(
        made_from=provenance,
        command=command,
        answers={name: levels(lambda one, n=name: one.answers[n]) for name in methods},  # type: ignore[misc]
        with_liar={name: levels(lambda one, n=name: one.with_liar[n]) for name in methods},  # type: ignore[misc]
        open_answers=levels(lambda one: one.opened),
        open_with_liar=levels(lambda one: one.opened_with_liar),
        denials=levels(lambda one: one.denials),
        denials_here=levels(lambda one: one.denials_here),
    )
    body = yaml.safe_dump(
        made.model_dump(), sort_keys=False, default_flow_style=None, width=100
    )  # fmt: skip
    return HEAD + body
