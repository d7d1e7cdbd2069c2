"""Heaps of words: what stands where no sentence has it is found, what people say is left alone."""

from __future__ import annotations

import pytest

from coterie_requests.parsing import NotAQuestion, understand
from coterie_requests.understanding.word_order import heaped_words, misplaced_words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Where is the of drawer?", "the of"),
        ("What is in a when bowl?", "a when"),
        ("Is the kettle warm because?", "because"),
        ("Which shelf holds vases who?", "who"),
        ("How many spoons why are there?", "spoons why"),
        ("Is the stool than and the bench?", "than and"),
        ("Where is the stool stool?", "stool stool"),
        ("What is on the stool kettle bench?", "stool kettle bench"),
    ],
)
def test_what_stands_where_no_sentence_has_it_is_named(text, found):
    assert misplaced_words(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "Is the lamp on or off?",
        "Tell me where the vase is.",
        "What should I put the flowers in if the vase is broken?",
        "If I wanted to sleep, what would I lie on?",
        "There is something on the stove. What is it?",
        "Is there a stool here? If so, where?",
        "Which of the two is taller, and why?",
        "What can the coffee table book be put next to?",
    ],
)
def test_sentences_pass(text):
    assert misplaced_words(text) == ""


def test_a_noun_phrase_has_no_second_article_and_no_verb():
    assert heaped_words("shirt the refrigerator") == "shirt the refrigerator"
    assert heaped_words("chair is table") == "chair is table"
    assert heaped_words("wooden chair along the wall") == ""


async def test_a_presence_question_that_is_a_heap_is_refused():
    with pytest.raises(NotAQuestion, match="'the of' makes no sense"):
        await understand("Is there a kettle in the of kitchen?", ["kitchen"], ["kettle"])
