"""The bench of asking back: its requests, its rates, and thresholds from answers."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from coterie_core.answer_table import AnswerTable
from coterie_core.conformal import LEARNED_FROM, LEVELS, Thresholds
from coterie_core.questions import Answer, Evidence, LabelledQuestion, Question
from research.bench.askback.calibrate import Measured, calibrated, told_answers, told_learned
from research.bench.askback.cases import cases
from research.bench.askback.judges import Judges, right_candidates
from research.bench.askback.situation import Situation, explored
from research.bench.askback.tables import KINDS, rates
from research.bench.askback.templates import SENTENCES
from research.bench.askback.told import Told


@pytest.fixture(scope="module")
def part_of_a_house() -> Situation:
    return explored(61_007, False)


def test_sentences_of_tests_are_others_than_those_of_development() -> None:
    told = {
        part: {s for sort in kinds.values() for many in sort.values() for s in many}
        for part, kinds in SENTENCES.items()
    }
    assert not told["development"] & told["test"]
    assert SENTENCES["development"].keys() == SENTENCES["test"].keys()


def test_a_house_seen_in_part(part_of_a_house: Situation) -> None:
    chosen = list(cases(part_of_a_house, "development"))
    assert chosen == list(cases(part_of_a_house, "development"))
    assert {case.kind for case in chosen} == {"not_seen_yet", "underspecified", "clear"}
    judges = Judges(part_of_a_house)
    told = [(case, judges.verdict(case)) for case in chosen]
    right = sum((case.kind == "clear") == (verdict.kind == "clear") for case, verdict in told)
    assert right >= 0.8 * len(told)
    named = next(case for case in chosen if case.meant)
    assert not right_candidates(part_of_a_house, named, ("no-such-id",))


def record(kind: str, judged: str, house: int, **more: object) -> dict[str, object]:
    base = {"kind": kind, "judged": judged, "house": house, "words": f"{kind} {house}"}
    return base | {"before": False, "confidence": 0.5, "right_candidates": None} | more


def test_rates_of_the_team_and_of_chance() -> None:
    records = [record(kind, kind, house) for kind in KINDS for house in range(6)]
    rows = {(row["judge"], row["kind"]): row for row in rates(records)}
    assert rows["asks back", "clear"]["abstains"] == 0.0
    assert rows["asks back", "ambiguous"]["abstains"] == 1.0
    assert rows["asks back", "ambiguous"]["named"] == 1.0
    assert rows["always answers", "subjective"]["abstains"] == 0.0
    drawn = sum(rows["chance", kind]["abstains"] for kind in KINDS) / len(KINDS)
    assert drawn == pytest.approx(6 / 7, abs=0.01)


def table(house: str, wrong: int, questions: int = 10) -> AnswerTable:
    """Answers of two robots; of the first ones the truth is otherwise."""
    items = [
        LabelledQuestion(Question(f"{house}-{k}", "mug", "hall"), truth=k >= wrong)
        for k in range(questions)
    ]
    seen = Evidence("seen", looks=2, visited_fraction=1.0, prior=0.3, sightings=2)
    answers = [
        Answer(item.question.id, robot, True, 0.9, seen) for item in items for robot in ("a", "b")
    ]
    return AnswerTable.of(house, ["a", "b"], items, answers)


def test_thresholds_from_answers() -> None:
    found = []
    for k in range(25):
        none = Told(np.array([0.9]), np.array([True]), (f"h{k}",))
        doubtful = Told(np.array([0.7]), np.array([False]), (f"h{k}",))
        said = {"confidence_vote": told_answers("confidence_vote", table(f"h{k}", 1), liar=False)}
        found.append(Measured(said, said, none, doubtful, none, doubtful))
    made = Thresholds.model_validate(yaml.safe_load(calibrated(found, "houses", "command")))
    assert made.answers["confidence_vote"][80] == 0.0  # nine of ten are right as it is
    assert made.answers["confidence_vote"][95] > 0.5
    assert set(made.denials) == {round(100 * level) for level in LEVELS}
    assert (made.denials[95], made.denials_here[80]) == (0.0, 0.7)
    assert (made.open_answers[90], made.open_with_liar[90]) == (0.0, 0.7)
    liar = told_answers("majority_vote", table("h", 0), liar=True)
    honest = told_answers("majority_vote", table("h", 0), liar=False)
    assert liar.right.mean() < honest.right.mean() == 1.0


def test_who_learns_is_not_asked_what_it_learned_from() -> None:
    answers = table("h", 30, questions=LEARNED_FROM + 40)
    told = told_learned("decision_tree", answers, 3, liar=False)
    assert len(told.right) == 40 and set(told.houses) == {"h"}
    lied = told_learned("decision_tree", answers, 3, liar=True)
    assert lied.right.shape == told.right.shape
