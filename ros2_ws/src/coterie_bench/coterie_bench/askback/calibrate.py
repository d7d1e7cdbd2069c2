"""Conformal thresholds of answers and denials, from houses that serve nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import yaml

from cam_aggregator.registry import make_aggregator
from coterie_bench.askback.situation import Situation, explored
from coterie_bench.calibration.data import explore_generated
from coterie_core.answers import AnswerTable, BoolArray, FloatArray
from coterie_core.confidence import load_confidence
from coterie_core.conformal import LEVELS, Thresholds, threshold
from coterie_core.detector_vocabulary import household_vocabulary
from coterie_core.scene import Room

METHODS = ("confidence_vote", "majority_vote", "dawid_skene", "one_coin")
"""Methods that need no labels: their thresholds hold for a house that nobody has labeled."""
TEAM = 3
CALIBRATION_HOUSES = tuple(range(40_100, 40_140))
TEST_HOUSES = tuple(range(43_000, 43_020))
HEAD = """\
# How sure an answer, or the denial of a thing, must be: coterie_core.conformal says what it means.
# Levels are in percent; 1.0 withholds all.
"""


@dataclass(frozen=True, slots=True)
class Told:
    """What was said of houses (N,): how surely, whether it was right, of which house."""

    confidence: FloatArray
    right: BoolArray
    houses: tuple[str, ...]

    @staticmethod
    def joined(parts: Sequence[Told]) -> Told:
        """Return all of it in one."""
        return Told(
            np.concatenate([part.confidence for part in parts]),
            np.concatenate([part.right for part in parts]),
            tuple(house for part in parts for house in part.houses),
        )

    def threshold(self, level: float) -> float:
        """Return the conformal threshold for a level."""
        return threshold(self.confidence, self.right, self.houses, level)


def answers_of(seed: int) -> AnswerTable:
    """Return what three robots that explored a generated house answer about it."""
    return explore_generated(seed, TEAM).table(load_confidence(), TEAM)


def told_answers(method: str, table: AnswerTable, *, liar: bool) -> Told:
    """Return a method's answers; with a liar, each of the robots is the one in turn."""
    tables = [table.invert(agent) for agent in table.agents] if liar else [table]
    sure: list[float] = []
    right: list[bool] = []
    for one in tables:
        aggregator = make_aggregator(method)
        aggregator.fit(one)
        for final, truth in zip(aggregator.predict(one), one.truth, strict=True):
            # Who cannot tell withholds its answer, which is no error.
            sure.append(final.confidence if final.yes is not None else 0.0)
            right.append(final.yes is None or final.yes == bool(truth))
    return Told(np.array(sure), np.array(right), (table.house,) * len(sure))


def told_denials(situation: Situation) -> Told:
    """Return how sure it is that a thing is not there, of all that the team's map does not show.

    Of the whole house, and of each of its rooms; only where no room that may well have it is left
    unseen, as the rule has it.
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
        add(label, rooms)
        for room in rooms:
            add(label, (room,))
    return Told(np.array(sure), np.array(right, dtype=bool), (str(situation.seed),) * len(sure))


def measured(seed: int) -> tuple[AnswerTable, Told]:
    """Return the answers about a house, and the denials of teams that saw it wholly and in part."""
    denials = [told_denials(explored(seed, whole)) for whole in (True, False)]
    return answers_of(seed), Told.joined([one for one in denials if len(one.right)])


def calibrated(found: Sequence[tuple[AnswerTable, Told]], provenance: str, command: str) -> str:
    """Return the text of `conformal.yaml`."""
    tables = [table for table, _ in found]
    denials = Told.joined([told for _, told in found])

    def levels(told: Told) -> dict[int, float]:
        return {round(100 * level): round(told.threshold(level), 4) for level in LEVELS}

    made = Thresholds(
        made_from=provenance,
        command=command,
        answers={m: levels(answers_told(m, tables, liar=False)) for m in METHODS},
        with_liar={m: levels(answers_told(m, tables, liar=True)) for m in METHODS},
        denials=levels(denials),
    )
    body = yaml.safe_dump(
        made.model_dump(), sort_keys=False, default_flow_style=None, width=100
    )  # fmt: skip
    return HEAD + body


def answers_told(method: str, tables: Sequence[AnswerTable], *, liar: bool) -> Told:
    """Return a method's answers about all houses."""
    return Told.joined([told_answers(method, table, liar=liar) for table in tables])
