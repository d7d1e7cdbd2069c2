"""Words that are none, what they may be meant to be, and sentences in other languages."""

from __future__ import annotations

import pytest

from coterie_requests.understanding import (
    NotUnderstood,
    code_in,
    foreign_words,
    is_english,
    is_name,
    language_told,
    nearest,
    plain_text,
    shown,
    unknown_words,
    written_out,
)
from coterie_requests.understanding.english import slips

ENGLISH = (
    "Carry the laundry basket to the bathroom upstairs, please.",
    "What color is the bedsheet in my room?",
    "Is there a café on the corner?",
    "I'm looking for Anna's t-shirt; it was on the nightstand.",
    "Put die number 2 in the bin",
    "Does the CO2 sensor work?",
    "go in",
)


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_english(text) -> None:
    assert foreign_words(text) is None
    assert unknown_words(text) == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wo ist mein Schlüssel?", "German"),
        ("Stell den Becher auf den Tisch", "German"),
        ("Où sont mes lunettes ?", "French"),
        ("Mets le livre sur la table", "French"),
        ("¿Dónde están las llaves?", "Spanish"),
        ("Dov'è il mio libro?", "Italian"),
        ("Onde está a chave?", "Portuguese"),
        ("Waar is de sleutel?", "Dutch"),
        ("Gdzie są moje klucze?", "Polish"),
        ("Anahtarları masaya koy", "Turkish"),
        ("Принеси яблоко", "Russian"),
        ("打开窗户", "Chinese"),
        ("窓を開けて", "Japanese"),
        ("문을 열어", "Korean"),
        ("افتح الباب", "Arabic"),
        ("פתח את הדלת", "Hebrew"),
        ("दरवाज़ा खोलो", "Hindi"),
    ],
)
def test_other_languages_are_named(text, language) -> None:
    foreign = foreign_words(text)
    assert foreign is not None and foreign.whole and foreign.language == language
    assert language in language_told(foreign) and "English only" in language_told(foreign)


def test_a_foreign_word_in_english_is_named_as_one() -> None:
    foreign = foreign_words("Put the Schlüssel on the table")
    assert foreign is not None and not foreign.whole
    assert foreign.words == ("Schlüssel",) and foreign.language == "German"
    assert foreign_words("Put the Schlüssel on the table", known=("schlüssel",)) is None


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("frdige", "fridge"),
        ("tabel", "table"),
        ("bathrom", "bathroom"),
        ("pilow", "pillow"),
        ("refridgerator", "refrigerator"),
        ("dishwahser", "dishwasher"),
    ],
)
def test_misspelled_words_come_with_the_nearest(word, meant) -> None:
    (unknown,) = unknown_words(f"where is the {word}?")
    assert (unknown.word, unknown.position) == (word, 13)
    assert unknown.suggestions[0] == meant


def test_nonsense_has_no_suggestion_and_is_named() -> None:
    found = unknown_words("asdf qwzr is in the vlorptz")
    assert [word.word for word in found] == ["asdf", "qwzr", "vlorptz"]
    assert all(not word.suggestions for word in found)


def test_what_is_known_here_is_not_unknown() -> None:
    assert unknown_words("ask tiago-2 in the blorbroom", known=("tiago", "blorbroom 1")) == []
    assert unknown_words("find object_17 and mug#3") == []


def test_slips_are_counted() -> None:
    assert slips("bring", "brnig", 2) == 1
    assert slips("mug", "mugs", 1) == 1
    assert slips("kitten", "sitting", 3) == 3
    assert slips("cat", "elephant", 1) == 2
    assert nearest("mgus", ["mats", "mugs", "mug"])[0] == "mugs"
    assert nearest("ab", ["abc"]) == ()


def test_names_are_known_in_any_case() -> None:
    assert is_name("john") and is_name("Anna") and not is_name("table")
    assert is_english("dishes") and not is_english("anna")


def test_odd_text_is_plain() -> None:
    assert plain_text("\u201cgo\u201d\u202e\x00 \ud800there\n now") == '"go" there now'
    assert len(shown("x" * 500)) < 120 and "420 more" in shown("x" * 500)
    assert foreign_words("\ud800 \ud801") is None


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("Don’t; they won't and can't", "do not; they will not and can not"),
        ("I'm sure we've lost what she'd want", "i am sure we have lost what she would want"),
        ("Wheres Mom's mug? It's its lid.", "where is mom's mug? it is its lid."),
        ("Im told he is ill, were well", "i am told he is ill, were well"),
    ],
)
def test_contractions_are_written_out(text, full) -> None:
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


def test_long_words_and_texts_end_soon() -> None:
    assert unknown_words("q" * 5000)[0].suggestions == ()
    assert len(unknown_words("zqx " * 2000)) == 2000


@pytest.mark.parametrize(
    "text",
    [
        *("bring the 2nd mug at 3pm", "the 50cm box", "a 30x40cm frame", "$5 or 1,000", "24/7"),
        *("mug_2 and mug-2", "a 6-pack", "the 12-inch pan", "bedroom 2", "1.5 l, 15:30"),
    ],
)
def test_numbers_are_words(text: str) -> None:
    assert unknown_words(text) == []


@pytest.mark.parametrize("word", ["486cb7", "wh-1000xm4", "mug3", "b00k", "12QZ", "x99z"])
def test_odd_words_with_digits_are_unknown_but_for_names(word: str) -> None:
    assert [one.word for one in unknown_words(f"bring the {word} towel, please")] == [word]
    assert unknown_words(f"the {word} towel", [f"{word} towel"]) == []
    assert unknown_words(f"the {word}'s towel", [word]) == []
