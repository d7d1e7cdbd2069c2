"""Words that a detector reports, does not report, or that nobody knows."""

import pytest

from coterie_requests.detector_vocabulary import (
    DetectorVocabulary,
    household_vocabulary,
    is_known_word,
    nearest_words,
)

SIMULATED = DetectorVocabulary.of(household_vocabulary())
NOT_KNOWN = DetectorVocabulary.of(())


@pytest.mark.parametrize(
    "word", ["sofa", "settee", "sofas", "Grand Piano", "old red kettle", "bag"]
)
def test_things_of_homes_can_be_looked_for(word: str) -> None:
    assert SIMULATED.check(word).reportable
    assert NOT_KNOWN.check(word).reportable
    assert SIMULATED.check(word).sentence() == ""


@pytest.mark.parametrize("word", ["xyzzy", "brillig tove", "Fahrradschlauch"])
def test_words_that_nobody_knows_are_named(word: str) -> None:
    for vocabulary in (SIMULATED, NOT_KNOWN):
        found = vocabulary.check(word)
        assert found.reporting == "unknown_word"
        assert repr(word) in found.sentence()


def test_the_nearest_words_of_a_mistyped_one_are_offered() -> None:
    found = NOT_KNOWN.check("refrigerater")
    assert found.reporting == "unknown_word"
    assert "refrigerator" in found.nearest
    assert "did you mean 'refrigerator'" in found.sentence()
    assert nearest_words("qqqqqqqq") == ()


def test_parts_of_the_house_are_not_reported_until_they_are() -> None:
    for word in ("wall", "doors", "ceiling", "doorway"):
        assert NOT_KNOWN.check(word).reporting == "never_reported"
        assert SIMULATED.check(word).reporting == "never_reported"
    assert NOT_KNOWN.check("door", {"door"}).reportable
    # A declared vocabulary stands: one front door does not make a detector of all doors.
    assert SIMULATED.check("door", {"door"}).reporting == "never_reported"


def test_a_known_word_beyond_a_declared_vocabulary_is_never_reported() -> None:
    coarse = DetectorVocabulary.of(["person", "chair"])
    assert coarse.check("stapler").reporting != "reportable"
    assert coarse.check("sofa").reporting == "never_reported"
    assert coarse.check("chairs").reportable


def test_a_word_of_a_detector_is_known_though_no_list_has_it() -> None:
    assert not is_known_word("frobnicator")
    assert DetectorVocabulary.of(["frobnicator"]).check("frobnicators").reportable
    assert NOT_KNOWN.check("frobnicator", ["frobnicator"]).reportable


def test_endless_words_take_no_time_and_break_nothing() -> None:
    assert not NOT_KNOWN.check("x" * 100_000).reportable
    assert NOT_KNOWN.check("").reporting == "unknown_word"
