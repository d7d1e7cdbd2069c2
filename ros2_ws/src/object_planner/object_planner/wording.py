"""How a request is worded: one wish of several, ordinals, misspellings, words nobody knows."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from coterie_requests.lexicon import Lexicon, load_lexicon
from coterie_requests.understanding import (
    foreign_words,
    household_words,
    language_told,
    nearest,
    unknown_words,
)
from coterie_requests.understanding.quantities import ORDINALS, ordinal_of

_RANKS = (word for word, rank in ORDINALS.items() if rank > 1)
_ORDINAL = re.compile(rf"\b({'|'.join(_RANKS)}|\d{{1,3}}(?:nd|rd|th|st))\b[- ]?")
_LATER = re.compile(
    r"\s*(?:[,;.]\s*)?(?:\band\s+|\bbut\s+)?"
    r"\b(?:then|after that|afterwards?|after this|next (?=find|get|bring|look|show)|finally)\b"
    r"[\s,]*"
)
_FIRST = re.compile(r"^(?:first(?:ly)?(?: of all)?|to begin with|to start)\b[\s,]*")
_FUNCTION_WORDS = (
    "a an the some any my your our his her their its this that these those one ones it i you we "
    "they he she me us them who which what where when how why there here is are was were be "
    "been am do does did done can could shall should will would may might must has have had "
    "having not no nor neither either or and but if so as than then too also very more most "
    "much many few less least other another else same such all both each every of to from in on "
    "at by for with without about into onto over under above below between near far away off "
    "out up down again please robot find bring get fetch give show tell take put go come look "
    "search need want like use used using make made keep let something anything somewhere "
    "anywhere someone anyone thing things object objects item items place places spot spots way "
    "room house home place kind sort type piece pair set lot bit except besides rather instead "
    "because since while just only now today tonight right well good best nice possible really "
    "quite still already ever never closest nearest farthest furthest close next beside "
)
_FUNCTION = frozenset(_FUNCTION_WORDS.split())
_SLOT = re.compile(
    r"\b(?:with|having|that has|which has|that have|made (?:out )?of|made from|without|not|neither"
    r"|nor|no|other than|except(?: for)?|besides|apart from|aside from|excluding|that is|which is"
    r"|anything but)\s+"
    r"(?:(?:be|being|not|any|a|an|the|some|its|made|of|all|too|very|so|really)\s+)*"
    r"(?P<word>\w[\w'-]+)(?:\s+(?P<next>\w[\w'-]+))?"
)
_HEAD = re.compile(
    r"^(?:(?:a|an|the|any|some|another|every|each|all|both|my|your|our|his|her|their|this|these"
    r"|those|two|three|four|five|six|seven|eight|nine|ten|\d+)\s+)+(?P<phrase>[a-z][a-z' -]*?)"
    r"(?=\s+(?:to|that|which|who|with|without|for|from|in|on|at|by|near|next|beside|under|above|over"
    r"|behind|between|of|close|not|made|where|is|are|nearest|closest|farthest|furthest|and|or|but"
    r"|i|we|you)\b|[,;.?!]|$)"
)
_GENERIC = re.compile(
    r"^(?:(?:good|nice|suitable|safe|other|soft|small|big|large|flat|\w+est)\s+)*(?:things?|objects?"
    r"|items?|place|places|spot|spots|tool|tools|surface|way|somewhere|something|anything|kind"
    r"|sort|piece|furniture|device|gadget|utensil|appliance|container)\b"
)


@dataclass(frozen=True, slots=True)
class Wording:
    """A request ready to be parsed.

    Attributes:
        text: The wish that is looked at, in lower case, misspelled words set right.
        later: What is wished for after it ("" if nothing).
        rank: 2 for "the second largest"; 1 without an ordinal.
        read_as: Misspelled words and what they were read as.
        strange: Words that are no English and near to none.
        refusal: Why nothing can be done with it at all: another language.
    """

    text: str
    later: str = ""
    rank: int = 1
    read_as: tuple[tuple[str, str], ...] = ()
    strange: tuple[str, ...] = ()
    refusal: str = ""


def worded(text: str, known: Collection[str] = ()) -> Wording:
    """Return how a cleaned text is worded; `known` are labels that mean something here."""
    foreign = foreign_words(text, known)
    if foreign is not None and foreign.whole:
        return Wording(text, refusal=language_told(foreign, what="request"))
    read: list[tuple[str, str]] = []
    strange: list[str] = []
    for unknown in unknown_words(text, known):
        meant = _meant(unknown.word, unknown.suggestions)
        if meant:
            read.append((unknown.word, meant))
            text = re.sub(rf"\b{re.escape(unknown.word)}\b", meant, text)
        elif load_lexicon().mentions(unknown.word) == []:
            strange.append(unknown.word)
    text = _FIRST.sub("", text)
    parts = _LATER.split(text, maxsplit=1)
    later = parts[1].strip(" .,;") if len(parts) == 2 and parts[0].strip() else ""
    text = parts[0] if later else text
    rank = 1
    ordinal = _ORDINAL.search(text)
    if ordinal and not re.search(r"\b(?:for|in) a $", text[: ordinal.start()]):
        rank = max(1, ordinal_of(ordinal[1]))
        text = f"{text[: ordinal.start()]}{text[ordinal.end() :]}"
    return Wording(text.strip(" ,;"), later, rank, tuple(read), tuple(strange))


def _meant(word: str, suggestions: tuple[str, ...]) -> str:
    """What a misspelled word is read as: a word of the household or of requests, if one is near."""
    for one in (*suggestions[:1], *nearest(word, sorted(_FUNCTION))[:1]):
        if one.lower() in household_words() or one.lower() in _FUNCTION:
            return one.lower()
    return ""


@cache
def _single_words() -> frozenset[str]:
    """Words of the tables' cues and qualities: they mean something where they stand."""
    lexicon = load_lexicon()
    cues = [cue for use in lexicon.uses.values() for cue in (*use.cues, *use.negated_cues)]
    cues += [word for quality in lexicon.qualities.values() for word in quality.words]
    return frozenset(part.strip("*") for cue in cues for part in re.split(r"[ _]", cue))


def covered(text: str, lexicon: Lexicon) -> list[tuple[int, int]]:
    """Spans of a text that the tables know: things, uses, qualities."""
    spans = [(a, b) for a, b, _ in lexicon.mentions(text)]
    for _, use in lexicon.uses_in(text):
        spans += [
            (text.find(part), text.find(part) + len(part)) for part in lexicon.cued(use, text)
        ]
    return spans


def not_understood(text: str, lexicon: Lexicon, meant: Collection[str]) -> tuple[str, ...]:
    """Words in places where dropping them changes what is asked for, that nothing is known of.

    These are what follows "with", "made of", "not", ..., and adjectives before a thing's name.

    Args:
        text: One wish.
        lexicon: The tables.
        meant: Further words that mean something: colors, rooms.
    """
    spans = covered(text, lexicon)

    def unknown(word: str, at: int) -> bool:
        return (
            word not in _FUNCTION
            and word not in meant
            and not word.isdigit()
            and not any(a <= at < b for a, b in spans)
            and not lexicon.qualities_in(word)
            and not any(word.startswith(part) for part in _single_words() if len(part) > 3)
        )

    found: list[str] = []
    for match in _SLOT.finditer(text):
        word, at = match["word"], match.start("word")
        if word in _FUNCTION or word.endswith(("ing", "ed")):
            continue  # "not being", "that is used to": no thing and no quality
        after = match["next"]
        if after and any(a <= match.start("next") < b for a, b in spans):
            if unknown(word, at) and not any(a <= at < b for a, b in spans):
                found.append(word)
            continue
        if unknown(word, at):
            found.append(word)
    for a, _, _ in lexicon.mentions(text)[:1]:
        before = re.search(r"(?:^|\b(?:a|an|the|my|any|some)\s+)((?:[\w-]+\s+){1,3})$", text[:a])
        if before:
            words = before[1].split()
            start = before.start(1)
            for word in words:
                at = text.find(word, start)
                if unknown(word, at) and not word.endswith(("est", "ly")):
                    found.append(word)
    return tuple(dict.fromkeys(found))


def unknown_head(text: str, lexicon: Lexicon) -> str:
    """The noun that a request asks for, if the tables do not know it ("" if they do)."""
    match = _HEAD.match(text)
    if match is None or _GENERIC.match(match["phrase"]):
        return ""
    phrase = match["phrase"].strip()
    if lexicon.mentions(phrase) or lexicon.uses_in(text[: match.end()]):
        return ""
    words = phrase.split()
    if not words or words[-1] in _FUNCTION or lexicon.qualities_in(words[-1]):
        return ""
    return words[-1]
