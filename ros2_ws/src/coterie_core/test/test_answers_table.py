"""AnswerTable: building, taking parts, lying agents, JSON."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_core.answer_table import EVIDENCE_KINDS, AnswerTable
from coterie_core.questions import Answer, Evidence, LabelledQuestion, Question

AGENTS = ("r1", "r2", "r3")


def questions(n: int) -> list[LabelledQuestion]:
    return [
        LabelledQuestion(
            Question(f"q{i}", f"thing {i // 2}", f"room {i}"), i % 2 == 0, f"g{i // 2}"
        )
        for i in range(n)
    ]


answers = st.lists(
    st.builds(
        Answer,
        st.sampled_from(["q0", "q1", "q2", "unknown"]),
        st.sampled_from([*AGENTS, "stranger"]),
        st.booleans(),
        st.floats(0.5, 1.0),
        st.builds(
            Evidence,
            st.sampled_from(EVIDENCE_KINDS),
            looks=st.integers(0, 9),
            visited_fraction=st.floats(0, 1),
            prior=st.floats(0, 1),
            elsewhere=st.lists(st.text(max_size=3), max_size=3).map(tuple),
            sightings=st.integers(0, 9),
        ),
    ),
    max_size=20,
)


def same(a: AnswerTable, b: AnswerTable) -> bool:
    return a.to_json() == b.to_json()


@settings(deadline=None)
@given(answers)
def test_json_round_trip_and_inversion(given_answers: list[Answer]) -> None:
    table = AnswerTable.of("home", AGENTS, questions(3), given_answers)
    assert same(AnswerTable.from_json(table.to_json()), table)
    liar = table.invert("r2")
    assert np.array_equal(liar.answers[:, 1], ~table.answers[:, 1])
    assert np.array_equal(liar.answers[:, [0, 2]], table.answers[:, [0, 2]])
    assert np.array_equal(liar.p_yes[:, 1], 1.0 - table.p_yes[:, 1])
    for name in ("confidence", "evidence", "looks", "visited_fraction", "prior", "present"):
        assert np.array_equal(getattr(liar, name), getattr(table, name))
    assert same(liar.invert("r2"), table)


@settings(deadline=None)
@given(answers)
def test_rows_give_back_the_last_answers(given_answers: list[Answer]) -> None:
    table = AnswerTable.of("home", AGENTS, questions(3), given_answers)
    last = {(a.question, a.robot): a for a in given_answers}
    for i in range(3):
        row = {a.robot: a for a in table.row(i)}
        assert set(row) == {r for q, r in last if q == f"q{i}" and r in AGENTS}
        for robot, answer in row.items():
            original = last[f"q{i}", robot]
            assert (answer.yes, answer.confidence) == (original.yes, original.confidence)
            assert answer.evidence.kind == original.evidence.kind
            assert len(answer.evidence.elsewhere) == len(original.evidence.elsewhere)


def test_missing_answers_count_neither_way() -> None:
    right = [Answer("q0", "r1", True, 0.9, Evidence("seen")) for _ in range(2)]
    table = AnswerTable.of("home", AGENTS, questions(4), right)
    assert table.present.sum() == 1
    assert table.accuracy().tolist() == [1.0, 0.0, 0.0]
    assert table.p_yes[1].tolist() == [0.5, 0.5, 0.5]


def test_parts_keep_their_order() -> None:
    table = AnswerTable.of("home", AGENTS, questions(4), [])
    part = table.take([2, 0])
    assert part.questions == ("q2", "q0")
    assert part.truth.tolist() == [True, True]
    assert part.question(0) == questions(4)[2]
    assert table.take(~table.truth).questions == ("q1", "q3")
    assert table.with_agents(["r3", "r1"]).agents == ("r3", "r1")
    assert len(table.take([])) == 0
    assert same(AnswerTable.from_json(table.take([]).to_json()), table.take([]))
    with pytest.raises(KeyError, match="no agent 'r9' in this table; agents: r1, r2, r3"):
        table.invert("r9")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no valid JSON"),
        ("[]", "format"),
        ('{"format": "coterie/answers/1"}', "missing field"),
    ],
)
def test_what_is_no_table_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AnswerTable.from_json(text)


def test_columns_of_another_shape_are_refused() -> None:
    table = AnswerTable.of("home", AGENTS, questions(4), [])
    with pytest.raises(ValueError, match="looks has shape"):
        AnswerTable(
            **{
                **{name: getattr(table, name) for name in AnswerTable.__dataclass_fields__},
                "looks": np.zeros((4, 2), dtype=np.int64),
            }
        )
