"""The bench's phrases and the answerer's tables have not grown from one another."""

from __future__ import annotations

import itertools
import re
from importlib import resources

import pytest
import yaml

from coterie_core.household import load_household, singulars
from coterie_requests.lexicon import cue_pattern, load_lexicon
from research.bench.openeqa.phrases import load_phrases

_EMPTY = frozenset(
    re.findall(
        r"\w+",
        """a an the of or and to in on at by for with from as is are be was were been it its that
        this i you we they my your our me them what which who where when how do does did can could
        will would should may might must have has had not no so if then up down off out any some
        something somebody someone thing things here there get go come use""",
    )
)


def content(text):
    """The words of a text that carry meaning, in singular."""
    words = re.findall(r"[a-z]+", text.lower())
    return [(singulars(w) or (w,))[0] for w in words if w not in _EMPTY]


def pairs(text):
    words = content(text)
    return set(itertools.pairwise(words))


def names():
    """Pairs of words that are plain names of things and rooms: "washing machine"."""
    house, lexicon = load_household(), load_lexicon()
    told = [*house.categories, *house.room_types, *lexicon.labels]
    told += [s for c in house.categories.values() for s in c.synonyms]
    told += [s for synonyms in lexicon.labels.values() for s in synonyms]
    told += [s for r in house.room_types.values() for s in r.synonyms]
    return {pair for name in told for pair in pairs(name)}


def cues():
    """All that the answerer looks for in words: cues of uses, its own tables."""
    lexicon = load_lexicon()
    found = [cue for use in lexicon.uses.values() for cue in use.cues]
    path = resources.files("openeqa_agent").joinpath("data/common_sense.yaml")
    for table in yaml.safe_load(path.read_text("utf-8")).values():
        found += [str(text) for entry in table.items() for text in entry]
    return found


@pytest.mark.parametrize("name", ["day", "held_out"])
def test_no_phrase_shares_content_with_the_tables(name):
    """No two words of meaning in a row, and no cue of two words, are in both."""
    phrases = load_phrases(name)
    asked = [text for _, text in (*phrases.serves, *phrases.places)]
    asked += [text for text, _ in phrases.hints]
    assert len(asked) > 60
    plain = names()
    tables = {pair: cue for cue in cues() for pair in pairs(cue.replace("*", "").replace("_", " "))}
    shared = {(text, tables[p]) for text in asked for p in pairs(text) & set(tables) - plain}
    assert not shared
    long = [c for use in load_lexicon().uses.values() for c in use.cues if len(content(c)) > 1]
    assert not [(t, c) for t in asked for c in long if cue_pattern(c).search(t.lower())]


def test_the_check_finds_what_has_grown_together():
    """The first list of phrases, beside cues that were once made from it."""
    assert pairs("take the kettle off the stove") & pairs("kettle * stove")
    assert pairs("put out a small fire") & pairs("small fire") == {("small", "fire")}
