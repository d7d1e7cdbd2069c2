"""Sentences to robots with their meanings, and how their readings are marked."""

from __future__ import annotations

import pytest

from coterie_llm import ModelProfile, build_decider
from coterie_requests.grammar import read
from coterie_requests.read_request import ReadRequest, ReadState
from research.bench.models.requests import ASK_BACK, reading, sentences, vocabulary

pytestmark = pytest.mark.quick


def test_requests_have_meanings_that_the_grammar_reads_and_stand_in_no_prompt() -> None:
    said = sentences(tuned=True) | sentences(tuned=False)
    assert len(said) == len(sentences(tuned=True)) + len(sentences(tuned=False)) > 50
    for words, meanings in said.items():
        requests = [read(one, vocabulary()) for one in meanings if one != ASK_BACK]
        assert requests or meanings == [ASK_BACK], words
    start = ReadRequest().prompt(ReadState("", vocabulary()))[0].text
    assert not [words for words in said if words in start]


async def test_a_request_that_was_read_as_another_one_is_told() -> None:
    """Articles, synonyms and the wording do not matter; things, numbers and places do."""
    decider = build_decider(ModelProfile())
    for words, meaning, right in (
        ("put the couch in the kitchen", "bring a sofa to the kitchen", True),
        ("bring two mugs to the kitchen", "bring 2 cups to the kitchen", True),
        ("bring two mugs to the kitchen", "bring three mugs to the kitchen", False),
        ("bring two mugs to the kitchen", ASK_BACK, False),
        ("where is the mug?", "find the mug", False),
        ("bring it", ASK_BACK, True),
    ):
        told = await reading(words, [meaning], decider)
        assert told["all right"] == right, words
        assert told["another request"] == (not right)
