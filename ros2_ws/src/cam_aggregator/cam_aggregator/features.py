"""What CAM+ looks at: evidence of all robots, rooms, similar objects and, named apart, the twin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np

from coterie_core.answer_table import AnswerTable, BoolArray, FloatArray, IntArray
from coterie_core.confidence import log_odds
from coterie_core.household import load_household

_CLAIM_YES, _CLAIM_NO = 4.5, 0.5  # belief in a claim "I saw it there" before any was checked
_LEAST_TRUE = 0.65  # a robot whose claims are true less often is not believed

SEEN = 0
GROUPS: dict[str, tuple[str, ...]] = {
    "seen": ("seen",),
    "looks": ("covered",),
    "elsewhere": ("elsewhere", "rooms_elsewhere"),
    "prior": ("prior", "prior_share"),
    "answers": ("answers",),
    "room": ("room_rate",),
    "similar": ("similar_here",),
}
"""Feature groups that hold no label of the asked object; any of them can be switched off."""
TWIN = "twin"
"""Feature group of the labels of the same object in training (see TwinFacts)."""
_ROOM_STRENGTH = 3.0  # pseudo-questions at the house's mean in a room's rate
_COVER = 0.95  # share of a well-seen place in which a thing would have been noticed


@dataclass(frozen=True, slots=True)
class Reliability:
    """Trust in K robots.

    `honest` (K,): whether its claims to have seen a thing hold up. `yes_odds` and `no_odds` (K,):
    log-odds of YES that an answer yes or no of this robot stands for, where no robot has seen the
    thing. A robot that always says the opposite has the same odds with the sign changed, and so is
    as useful as before; one that answers at random has odds near 0.
    """

    honest: BoolArray
    yes_odds: FloatArray
    no_odds: FloatArray

    @staticmethod
    def of(table: AnswerTable) -> Reliability:
        """Learn from a labelled table."""
        truth = table.truth[:, None]
        claims = table.present & (table.evidence == 0)
        held = (claims & truth).sum(axis=0) + _CLAIM_YES
        honest = held / (claims.sum(axis=0) + _CLAIM_YES + _CLAIM_NO) > _LEAST_TRUE
        unseen = ~(claims & honest[None, :]).any(axis=1)[:, None]
        given = table.present & unseen

        def odds(said: BoolArray) -> FloatArray:
            true = ((given & said & truth).sum(axis=0) + 1.0) / ((given & truth).sum(axis=0) + 2.0)
            false = ((given & said & ~truth).sum(axis=0) + 1.0) / (
                (given & ~truth).sum(axis=0) + 2.0
            )
            return cast(FloatArray, np.log(true / false))

        return Reliability(honest, odds(table.answers), odds(~table.answers))

    def trusted(self, table: AnswerTable, kind: int) -> BoolArray:
        """Return where a robot that can be trusted gives evidence of this kind (N, K)."""
        return table.present & self.honest[None, :] & (table.evidence == kind)

    def pooled_answers(self, table: AnswerTable) -> FloatArray:
        """Return the sum of the log-odds of all answers given (N,)."""
        odds = np.where(table.answers, self.yes_odds[None, :], self.no_odds[None, :])
        return cast(FloatArray, np.where(table.present, odds, 0.0).sum(axis=1))

    def as_lists(self) -> dict[str, Any]:
        """Return plain data for a file."""
        return {
            "honest": self.honest.astype(int).tolist(),
            "yes_odds": self.yes_odds.tolist(),
            "no_odds": self.no_odds.tolist(),
        }

    @staticmethod
    def from_lists(data: dict[str, Any]) -> Reliability:
        """Return what `as_lists` wrote.

        Raises:
            KeyError, ValueError, TypeError: The data is not of that form.
        """
        return Reliability(
            np.array(data["honest"], dtype=bool),
            np.array(data["yes_odds"], dtype=float),
            np.array(data["no_odds"], dtype=float),
        )


def feature_names(groups: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the columns of these groups, in a fixed order.

    Raises:
        ValueError: There is no such group.
    """
    chosen = set(groups)
    unknown = sorted(chosen - set(GROUPS) - {TWIN})
    if unknown:
        known = ", ".join((*GROUPS, TWIN))
        raise ValueError(f"no feature group named {unknown[0]!r}; groups: {known}")
    return tuple(name for group, names in GROUPS.items() if group in chosen for name in names)


@dataclass(frozen=True, slots=True)
class TrainingFacts:
    """What CAM+ keeps of its training questions (M of them) to make features of others."""

    objects: tuple[str, ...]
    rooms: tuple[str, ...]
    truth: BoolArray
    seen: BoolArray
    reliability: Reliability

    @staticmethod
    def of(table: AnswerTable) -> TrainingFacts:
        """Return the facts of a labelled table."""
        reliability = Reliability.of(table)
        seen = np.asarray(reliability.trusted(table, SEEN).any(axis=1), dtype=bool)
        return TrainingFacts(table.objects, table.rooms, table.truth.copy(), seen, reliability)


def features(table: AnswerTable, facts: TrainingFacts, names: Sequence[str]) -> FloatArray:
    """Return the features of questions (N, F), columns as in `names`.

    Nothing is taken from training questions about the same object, so the features of a training
    question are made without its own label and those of its twins, just as for a new object.
    Once a trusted robot has seen the thing in the room, all that speaks for absence is 0: such
    evidence says nothing then, and the model need not learn that from few examples.
    """
    columns = _evidence(table, facts.reliability)
    columns |= _room_and_similar(table, facts)
    columns["prior_share"] = _prior_share(table, facts)
    unseen = 1.0 - columns["seen"]
    for name in columns:
        if name not in GROUPS["seen"]:
            columns[name] = columns[name] * unseen
    if not names:
        return np.zeros((len(table), 0))
    return np.column_stack([columns[name] for name in names])


def _evidence(table: AnswerTable, reliability: Reliability) -> dict[str, FloatArray]:
    told = table.present & reliability.honest[None, :]
    fraction = np.where(told, table.visited_fraction, 0.0)
    elsewhere = np.where(told, table.elsewhere, 0).max(axis=1, initial=0)
    return {
        "seen": reliability.trusted(table, SEEN).any(axis=1).astype(float),
        "covered": 1.0 - np.prod(1.0 - _COVER * fraction, axis=1),
        "elsewhere": (elsewhere > 0).astype(float),
        "rooms_elsewhere": np.log1p(elsewhere),
        "prior": log_odds(_mean_prior(table, told)),
        "answers": reliability.pooled_answers(table),
    }


def _prior_share(table: AnswerTable, facts: TrainingFacts) -> FloatArray:
    """Return the log of this room's share of where such a thing is to be expected (N,).

    Common sense says how likely each room of the house holds the thing; a room with many kinds of
    known things holds more of everything. A thing that could be anywhere is expected less in a
    given room than one that belongs there, though both may be as likely by themselves.
    """
    rooms = sorted(set(facts.rooms))
    other = _equal(table.objects, facts.objects, same=False)
    known = np.array(facts.rooms)[None, :] == np.array(rooms)[:, None]  # (R, M)
    rich = 1.0 + (other & facts.truth[None, :]).astype(float) @ known.T.astype(float)  # (N, R)
    expected = rich * np.array([[_likelihood(o, r) for r in rooms] for o in table.objects])
    here = np.array([_likelihood(o, r) for o, r in zip(table.objects, table.rooms, strict=True)])
    place = {room: i for i, room in enumerate(rooms)}
    own = np.array(
        [
            rich[i, place[room]] if room in place else rich[i].mean()
            for i, room in enumerate(table.rooms)
        ]
    )
    if not len(table):
        return np.zeros(0)
    return cast(FloatArray, np.log(here * own) - np.log(expected.sum(axis=1)))


@lru_cache(maxsize=50_000)
def _likelihood(thing: str, room: str) -> float:
    """Return what common sense says of a thing in a room, kept off 0."""
    return max(load_household().likelihood(thing, room), 0.01)


def _mean_prior(table: AnswerTable, told: BoolArray) -> FloatArray:
    """Return the mean common-sense probability over robots (N,); 0.5 where none is known."""
    count = told.sum(axis=1)
    total = np.where(told, table.prior, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), 0.5)


def _room_and_similar(table: AnswerTable, facts: TrainingFacts) -> dict[str, FloatArray]:
    """Return what training questions say of a room, and of objects with words in common.

    The room's rate counts questions on things that no robot saw there. "kitchen cabinet" is like
    "cabinet": a YES of such an object in this room speaks for YES.
    """
    other = _equal(table.objects, facts.objects, same=False)
    here = _equal(table.rooms, facts.rooms)
    truth = facts.truth.astype(float)[None, :]
    open_ = other & ~facts.seen[None, :]
    mean = ((open_ * truth).sum(axis=1) + 1.0) / (open_.sum(axis=1) + 2.0)
    asked = (open_ & here).sum(axis=1)
    yes = ((open_ & here) * truth).sum(axis=1)
    rate = (yes + _ROOM_STRENGTH * mean) / (asked + _ROOM_STRENGTH)
    alike = word_overlap(table.objects, facts.objects) * other
    sign = 2.0 * truth - 1.0
    return {
        "room_rate": log_odds(rate),
        "similar_here": (alike * here * sign).sum(axis=1),
    }


def word_overlap(a: Sequence[str], b: Sequence[str]) -> FloatArray:
    """Return the share of common words of each pair of labels (len(a), len(b)), 0..1 (Jaccard)."""
    words = sorted({word for label in (*a, *b) for word in label.split()})
    place = {word: i for i, word in enumerate(words)}

    def bags(labels: Sequence[str]) -> FloatArray:
        bag = np.zeros((len(labels), len(words)))
        for i, label in enumerate(labels):
            for word in label.split():
                bag[i, place[word]] = 1.0
        return bag

    first, second = bags(a), bags(b)
    common = first @ second.T
    either = first.sum(axis=1)[:, None] + second.sum(axis=1)[None, :] - common
    return cast(FloatArray, common / np.maximum(either, 1.0))


def _equal(a: Sequence[str], b: Sequence[str], *, same: bool = True) -> BoolArray:
    """Return where labels of `a` and `b` are (not) the same (len(a), len(b))."""
    codes: dict[str, int] = {}
    first: IntArray = np.array([codes.setdefault(x, len(codes)) for x in a], dtype=np.int64)
    second: IntArray = np.array([codes.setdefault(x, len(codes)) for x in b], dtype=np.int64)
    equal = first[:, None] == second[None, :]
    return equal if same else ~equal


@dataclass(frozen=True, slots=True)
class TwinFacts:
    """What training labels of the same object say of a question: the leak of the random split.

    Where a bank asks as many YES as NO questions of an object, the balance of the known ones tells
    the rest. It is real knowledge of the house (where the mug is, it is not elsewhere), but a part
    of it comes from how the bank is made; therefore it is a group of its own. `counts` (N,) is the
    number of known questions on the object, `inputs` (N, 3): YES minus NO among them (kept within
    +-3), number of YES, and the known answer to the very same question (+1, -1, 0 unknown).
    """

    counts: IntArray
    inputs: FloatArray

    @staticmethod
    def of(table: AnswerTable, facts: TrainingFacts, *, training: bool) -> TwinFacts:
        """Return the facts of a table.

        With `training` it is the training table: each question is left out of its own facts.
        """
        same = _equal(table.objects, facts.objects)
        if training:
            same = same & ~np.eye(len(table), dtype=bool)
        here = _equal(table.rooms, facts.rooms)
        sign = np.where(facts.truth, 1.0, -1.0)[None, :]
        balance = np.clip((same * sign).sum(axis=1), -3.0, 3.0)
        yes = np.log1p((same * (sign > 0)).sum(axis=1))
        repeated = np.sign((same * here * sign).sum(axis=1))
        return TwinFacts(same.sum(axis=1), np.column_stack([balance, yes, repeated]))


def as_lists(facts: TrainingFacts) -> dict[str, Any]:
    """Return the facts as plain data for a file."""
    return {
        "objects": list(facts.objects),
        "rooms": list(facts.rooms),
        "truth": facts.truth.astype(int).tolist(),
        "seen": facts.seen.astype(int).tolist(),
        "reliability": facts.reliability.as_lists(),
    }


def from_lists(data: dict[str, Any]) -> TrainingFacts:
    """Return the facts that `as_lists` wrote.

    Raises:
        KeyError, ValueError, TypeError: The data is not of that form.
    """
    facts = TrainingFacts(
        tuple(str(x) for x in data["objects"]),
        tuple(str(x) for x in data["rooms"]),
        np.array(data["truth"], dtype=bool),
        np.array(data["seen"], dtype=bool),
        Reliability.from_lists(data["reliability"]),
    )
    if not len(facts.objects) == len(facts.rooms) == len(facts.truth) == len(facts.seen):
        raise ValueError("training facts: lists of different length")
    return facts
