"""Labels that a team's object detector can report: whether "not seen" says anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from coterie_core.household import load_household, normalized, singulars
from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding import nearest

Reporting = Literal["reportable", "never_reported", "unknown_word"]

STRUCTURE = frozenset(
    {"wall", "floor", "ceiling", "door", "window", "column", "beam", "staircase", "railing"}
)
"""Parts of the house that most detectors do not report; the household's names."""

_MAX_LABEL_CHARS = 100


@dataclass(frozen=True, slots=True)
class WordCheck:
    """What is known of a word before anybody looks for the thing.

    "reportable": a robot that looks well and does not see such a thing has learned something.
    "never_reported": the word is known, but the detector does not report such things, so that not
    having seen one says nothing. "unknown_word": neither the word lists nor any detection has it.
    """

    word: str
    reporting: Reporting
    nearest: tuple[str, ...] = ()

    @property
    def reportable(self) -> bool:
        """Whether not seeing such a thing says anything."""
        return self.reporting == "reportable"

    def sentence(self) -> str:
        """Return why nobody can tell, for people; empty if the thing can be looked for."""
        if self.reporting == "reportable":
            return ""
        if self.reporting == "never_reported":
            return f"no detector of these robots reports {self.word!r}, so they cannot tell"
        near = f"; did you mean {' or '.join(map(repr, self.nearest))}?" if self.nearest else ""
        return f"these robots do not know {self.word!r}{near}"


@dataclass(frozen=True, slots=True)
class DetectorVocabulary:
    """The labels that a detector can report.

    `labels` None: not known, as with most detectors on real robots. Then every word of the word
    lists may be reported, but for parts of the house, until a detection shows that it is.
    """

    labels: frozenset[str] | None = None

    @staticmethod
    def of(labels: Iterable[str]) -> DetectorVocabulary:
        """Return the vocabulary of these labels; none at all: it is not known."""
        given = frozenset(label for label in labels if label.strip())
        return DetectorVocabulary(given or None)

    def check(self, word: str, detected: Collection[str] = ()) -> WordCheck:
        """Tell what is known of a word.

        Args:
            word: A label, in any spelling, singular or plural, or the name of a class ("bag").
            detected: Labels that some detector has reported already; they count where the
                vocabulary is not known.
        """
        text = " ".join(word[:_MAX_LABEL_CHARS].split())
        asked = _names(text)
        known = self.labels if self.labels is not None else frozenset(detected)
        if asked & _all_names(known):
            return WordCheck(text, "reportable")
        if not is_known_word(text):
            if self.labels is not None and asked & _all_names(frozenset(detected)):
                return WordCheck(text, "reportable")
            return WordCheck(text, "unknown_word", nearest_words(text, known))
        if self.labels is not None or asked & STRUCTURE:
            return WordCheck(text, "never_reported")
        return WordCheck(text, "reportable")


def household_vocabulary(ignored: Collection[str] = ("door",)) -> tuple[str, ...]:
    """Return the labels of the simulated detectors: all things that generated houses can hold.

    Args:
        ignored: Labels left out; of doors only the front door is a thing in a generated house.
    """
    things = load_household().categories.values()
    return tuple(sorted(t.label for t in things if t.shape != "none" and t.label not in ignored))


def is_known_word(word: str) -> bool:
    """Tell whether the word lists know a word, its singular, or its last words ("old sofa")."""
    lexicon, text = load_lexicon(), normalized(word[:_MAX_LABEL_CHARS])
    if load_household().category(text) is not None:
        return True
    words = text.split()
    tails = {" ".join(words[k:]) for k in range(len(words))} if words else set()
    return not tails.isdisjoint(_listed()) or lexicon.canonical(text) in lexicon.labels


def nearest_words(word: str, more: Iterable[str] = (), count: int = 3) -> tuple[str, ...]:
    """Return the known words that are spelled most like one, likest first; may be empty."""
    text = normalized(word[:_MAX_LABEL_CHARS])
    pool = (*sorted(normalized(label) for label in more), *sorted(_listed()))
    found = nearest(text, pool, count)
    # "asdf mugg": one word of several may be near to one that is known.
    return found or tuple(
        near for part in text.split() if " " in text for near in nearest(part, pool, 1)
    )


def _names(word: str) -> frozenset[str]:
    """Return all names under which a word may be found: both word lists', and a class's members."""
    return _names_of(normalized(word[:_MAX_LABEL_CHARS]))


@cache
def _listed() -> frozenset[str]:
    """All words of the lists, in singular."""
    lexicon, things = load_lexicon(), load_household().categories.values()
    words = {name for thing in things for name in (thing.label, *thing.synonyms)}
    for listed in (lexicon.labels, lexicon.spellings):
        words.update(name for key, others in listed.items() for name in (key, *others))
    words.update(word for part in lexicon.classes.values() for word in part.words)
    words.update(lexicon.kinds)
    return frozenset(normalized(word) for word in words)


@lru_cache(maxsize=20_000)
def _names_of(text: str) -> frozenset[str]:
    lexicon, house = load_lexicon(), load_household()
    forms = (text, *singulars(text))
    names = {*forms, house.canonical(text), *lexicon.members(lexicon.canonical(text))}
    for name, part in lexicon.classes.items():
        if not {name, *part.words}.isdisjoint(forms):
            names |= lexicon.members(name)
    return frozenset(names | {house.canonical(name) for name in tuple(names)})


@lru_cache(maxsize=64)
def _all_names(labels: frozenset[str]) -> frozenset[str]:
    lexicon, house = load_lexicon(), load_household()
    names: set[str] = set()
    for label in labels:
        text = normalized(label)
        names |= {text, house.canonical(text), lexicon.canonical(text)}
    return frozenset(names)
