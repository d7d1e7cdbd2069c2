"""Text from outside is plain and bounded, misspelled words come with the nearest ones."""

from __future__ import annotations

import pytest

from coterie_requests.understanding import (
    NotUnderstood,
    code_in,
    nearest,
    plain_text,
    shown,
    written_out,
)

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("frdige", "fridge"),
        ("tabel", "table"),
        ("bathrom", "bathroom"),
        ("refridgerator", "refrigerator"),
        ("mgus", "mugs"),
    ],
)
def test_misspelled_words_come_with_the_nearest(word: str, meant: str) -> None:
    known = ["Table", "bathroom", "fridge", "mats", "mugs", "refrigerator", "table"]
    assert nearest(word, known)[0] == meant
    assert nearest("vlorptz", known) == () == nearest("", known)
    assert nearest("x" * 100_000, known) == ()


def test_odd_text_is_plain() -> None:
    assert plain_text("\u201cgo\u201d\u202e\x00 \ud800there\n now") == '"go" there now'
    assert len(shown("x" * 500)) < 120 and "420 more" in shown("x" * 500)


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("Don’t; they won't and can't", "do not; they will not and can not"),
        ("I'm sure we've lost what she'd want", "i am sure we have lost what she would want"),
        ("Wheres Mom's mug? It's its lid.", "where is mom's mug? it is its lid."),
        ("Im told he is ill, were well", "i am told he is ill, were well"),
    ],
)
def test_contractions_are_written_out(text: str, full: str) -> None:
    assert written_out(text) == full


def test_code_and_markup_are_no_sentences() -> None:
    assert code_in("open(door) if x == 2 else <i>shut</i>") == ["open(door)", "==", "<i>shut</i>"]
    text = "Is room #2 (upstairs) 50% full; mom's mug(s) and/or mug_2 for $5? Don't *guess*..."
    assert code_in(text) == []
    assert code_in("Where is shelf[3]?", ["shelf[3]"]) == []


def test_a_problem_names_word_and_place() -> None:
    error = NotUnderstood("no 'x' here", "word", "x", sentence="bring X", question="Which one?")
    assert error.problem.position == 6 and error.problem.kind == "word"
    assert str(error) == "no 'x' here. Which one?"
