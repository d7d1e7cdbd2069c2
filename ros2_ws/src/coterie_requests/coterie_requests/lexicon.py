"""Household words: labels, classes, uses and qualities, from `data/objects.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from coterie_core.colors import basic_color
from coterie_core.household import load_household, normalized, singulars
from coterie_core.yaml_marks import read_own

Grades = dict[str, float]
_NO_NAMES = ("object", "objects", "item", "thing", "misc", "unknown")
"""Names that data sets give to things of any kind: in a request they mean any thing."""
_QUALIFIER = re.compile(r"[\s_]*\([^()]*\)")
"""Qualifier that data sets write behind a name: "mouse_(computer_equipment)"."""
_ADJECTIVES = frozenset(
    ("big", "large", "small", "little", "tall", "high", "long", "short", "wooden", "wood", "metal",
     "plastic", "glass", "leather", "round", "square", "rectangular", "old", "new", "main",
     "double", "single", "foldable", "striped")
)  # fmt: skip
"""Words in a label that make no other kind of thing of it."""
_JOINED = re.compile(r" (?:of|with|for|from) ")
_NARROWER_GRADE = 0.9
"""Grade of a narrower thing, relative to the broader one."""
_MAX_GAP_WORDS = 3
"""Most words that may stand between the words of a cue."""
_HINDERED = re.compile(r"\b(?:keep|stop|prevent|hold)\b.*\b(?=from \w+ing\b)")
"""What somebody wants not to happen: "keep a door from closing"."""
_SAYS_LESS = 0.5
"""How much a thing is what several words mean, whose label is the last of them."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ObjectClass(_Part):
    """A word for several labels: "bag" for backpack, handbag, suitcase."""

    words: tuple[str, ...]
    labels: tuple[str, ...]


class Use(_Part):
    """What things are used for: phrases that ask for it, and how well each thing serves."""

    cues: tuple[str, ...]
    things: Grades = Field(default_factory=dict)
    negated_cues: tuple[str, ...] = Field((), description="cues whose negation asks for the use")
    weak: bool = Field(False, description="counts only where nothing more special is asked for")


class Quality(_Part):
    """What things are like: words, and how much each thing is so."""

    words: tuple[str, ...]
    things: Grades


class Lexicon(BaseModel):
    """The tables, with labels brought to one name each."""

    model_config = ConfigDict(extra="forbid")

    labels: dict[str, tuple[str, ...]]
    spellings: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    classes: dict[str, ObjectClass]
    uses: dict[str, Use]
    qualities: dict[str, Quality]
    kinds: dict[str, str] = Field(default_factory=dict, description="narrower thing -> broader")

    _names: dict[str, str] = PrivateAttr(default_factory=dict)

    def model_post_init(self, context: object, /) -> None:
        """Index the synonyms; names of the list itself win over synonyms of others."""
        for name, synonyms in self.labels.items():
            for synonym in synonyms:
                self._names.setdefault(normalized(synonym), name)
        for name in (*self.labels, *self.spellings):
            self._names[normalized(name)] = name
        for name, spellings in self.spellings.items():
            for spelling in spellings:
                self._names[normalized(spelling)] = name

    def canonical(self, label: str) -> str:
        """Return the one name of a label; a label that nobody knows stays as it is.

        Tried in this order: the words themselves, as ours or the household's, then without a
        qualifier ("iron_(for_clothing)"), each part of "a/b", the trailing words ("old red sofa"),
        and what precedes "of" and "with".
        """
        text = normalized(label)
        plain = normalized(_QUALIFIER.sub(" ", label)) or text
        parts = [part.strip() for part in plain.split("/") if part.strip()]
        words = _JOINED.split(plain)[0].split()
        tails = (" ".join(words[k:]) for k in range(1, len(words)))
        forms = dict.fromkeys((text, plain, *(parts if len(parts) > 1 else ()), *tails))
        known = next(filter(None, map(self._exact, forms)), "")
        return known or self._own_name(load_household().canonical(plain))

    def _own_name(self, known: str) -> str:
        return self._names.get(normalized(known), known)

    def _exact(self, text: str) -> str | None:
        """The one name of just these words, singular or plural; None if there is none."""
        for form in (text, *singulars(text)):
            if form in self._names:
                return self._names[form]
        house = load_household()
        for form in (text, *singulars(text), text + "s"):
            if form in house.categories or form in _synonyms():
                return self._own_name(house.canonical(form))
        return None

    def members(self, name: str) -> frozenset[str]:
        """Return the labels of a class, or the one label."""
        if name in self.classes:
            found = self.classes[name]  # maps may call a thing by the word of its class
            labels = frozenset(map(canonical, (*found.labels, *found.words)))
            return labels | {n for n, broad in self.kinds.items() if broad in labels}
        own = canonical(name)
        return frozenset((own, *(narrow for narrow, broad in self.kinds.items() if broad == own)))

    def spread(self, things: Mapping[str, float]) -> Mapping[str, float]:
        """Return grades per label: of classes their members', a label's own grade first."""
        classes = [name for name in things if name in self.classes and name not in self.labels]
        grades: Grades = {}
        for name in classes:
            for label in self.members(name):
                grades.setdefault(label, things[name])
        grades |= {canonical(name): things[name] for name in things if name not in classes}
        for narrow, broad in self.kinds.items():
            if broad in grades:
                grades.setdefault(narrow, round(_NARROWER_GRADE * grades[broad], 3))
        return MappingProxyType(grades)

    def cues_in(self, text: str) -> list[tuple[str, str, re.Match[str]]]:
        """Return the uses that a text asks for, by which cue, and where it stands.

        "To keep a door from closing" asks for nothing that closes. What another cue says more of
        counts for nothing: "drink" where it asks to "drink from".
        """
        hindered = _HINDERED.search(text)
        end = hindered.end() if hindered is not None else len(text)
        found = [
            (name, cue, match)
            for name, use in self.uses.items()
            for cue in use.cues
            if (match := cue_pattern(cue).search(text)) and match.start() < end
        ]
        spans = [(name, match.span()) for name, _, match in found]
        return [
            (name, cue, match)
            for name, cue, match in found
            if not any(
                other != name and start <= match.start() and match.end() < stop
                for other, (start, stop) in spans
            )
        ]

    def uses_in(self, text: str) -> list[str]:
        """Return the uses that a text asks for, the one with the most telling single cue first.

        "Wash my clothes" is laundry, although "wash my" speaks of hands. What is weak counts only
        where nothing more special is asked for.
        """
        told: dict[str, tuple[int, bool, int]] = {}
        for name, cue, _ in self.cues_in(text):
            telling = (len(cue.replace("_", " ").split()), "*" not in cue, len(cue))
            told[name] = max(telling, told.get(name, telling))
        strong = [name for name in told if not self.uses[name].weak] or list(told)
        return sorted(strong, key=lambda name: (told[name], name), reverse=True)

    def denied_in(self, text: str) -> bool:
        """Whether the denial of a text asks for a use: "not at room temperature"."""
        return any(cue in text for use in self.uses.values() for cue in use.negated_cues)

    def serving(self, text: str) -> Mapping[str, float]:
        """Return label -> how well such a thing has the use, or quality, that is asked for (0..1).

        Empty: nothing is known of it.
        """
        named = self.uses_in(text)
        if named:
            return self.spread(self.uses[named[0]].things)
        grades: Grades = {}
        for name in self.qualities_in(text):
            for label, grade in self.spread(self.qualities[name].things).items():
                grades[label] = max(grades.get(label, 0.0), grade)
        return grades

    def uncued(self, text: str) -> str:
        """Return a text without the parts that ask for uses."""
        for _, _, found in self.cues_in(text):
            text = text.replace(found[0], " ")
        return text

    def qualities_in(self, text: str) -> list[str]:
        """Return the qualities named in a text."""
        return [
            name
            for name, quality in self.qualities.items()
            if any(cue_pattern(word).search(text) for word in quality.words)
        ]


@lru_cache(maxsize=8192)
def canonical(label: str) -> str:
    """Return the lexicon's one name of a label, of whatever length."""
    return load_lexicon().canonical(label[:100])


@lru_cache(maxsize=8192)
def meant(noun: str) -> str:
    """Return the label or class that a noun stands for; a noun that no table has stays as it is."""
    words = normalized(noun[:100]).split()
    for tail in (" ".join(words[k:]) for k in range(len(words))):
        for form in (tail, *singulars(tail)):
            if form in mentionable():
                return mentionable()[form]
    text = " ".join(words)
    if load_household().category(text) is not None:
        return load_household().canonical(text)
    return next(iter(singulars(text)), text)


@lru_cache(maxsize=1024)
def serving(text: str) -> Mapping[str, float]:
    """Return `Lexicon.serving`, remembered."""
    return load_lexicon().serving(text)


@lru_cache(maxsize=8192)
def is_narrower(noun: str) -> bool:
    """Whether a noun in the singular says more than its name: a "dining table" is not any table.

    Adjectives ("round table") and what has a name of its own ("coffee table") do not.
    """
    lexicon, own = load_lexicon(), canonical(noun)
    # "Kitchen appliance" is a word for a whole class, but "table lamp" is one for a lamp, too.
    group = any(noun in known.words for known in lexicon.classes.values())
    if not noun.endswith(f" {own}") or (group and noun not in lexicon.labels.get(own, ())):
        return False
    told = noun.removesuffix(own).split()
    return any(word not in _ADJECTIVES and not basic_color(word) for word in told)


@lru_cache(maxsize=8192)
def is_called(label: str, noun: str) -> bool:
    """Whether a label says all that a noun does: an "old dining table" is a "dining table"."""
    said = noun.split()
    for form in (label, *singulars(label)):
        words = form.split()
        if words and said and words[-1] == said[-1] and set(said) <= set(words):
            return True
    return label.replace(" ", "") == noun.replace(" ", "")


@lru_cache(maxsize=16384)
def likeness(label: str, noun: str, *, there: bool = False) -> float:
    """Return how much a thing with a label is what a noun in the singular means (0..1).

    A label may say less than a narrower noun ("table" for "dining table") or be a synonym of it,
    but nothing else ("coffee table").

    Args:
        label: Label of a map.
        noun: What a person calls it.
        there: Whether it stands where the noun tells: what stands in the kitchen may be the
            "kitchen table", too.
    """
    lexicon, text, own = load_lexicon(), normalized(label[:100]), canonical(noun)
    if is_called(text, noun):
        return 1.0 if text == noun or not is_narrower(text) else 0.95
    name = canonical(label)
    if not is_narrower(noun):
        # "Coffee table" is asked for, "table" is known.
        broad, said = meant(noun), _SAYS_LESS if noun.endswith(f" {text}") else 0.0
        members = lexicon.members(broad)
        if name not in members:
            return said
        # A class called like one of its labels ("table") means that one first, then what is called
        # after it ("coffee table"); a desk only at a pinch.
        if name == broad or broad not in members:
            return 1.0
        return 0.9 if name.endswith(f" {broad}") else 0.55
    less = not is_narrower(text) or {text, noun} <= set(lexicon.labels.get(own, ()))
    kind = there and own in (name, lexicon.kinds.get(name))
    return float((name == own and less) or kind)


@cache
def _synonyms() -> frozenset[str]:
    """All other names that the household's things have."""
    things = load_household().categories.values()
    return frozenset(normalized(word) for thing in things for word in thing.synonyms)


@cache
def load_lexicon() -> Lexicon:
    """Return the tables.

    Raises:
        pydantic.ValidationError: The data file is broken.
    """
    text = resources.files("coterie_requests").joinpath("data/objects.yaml").read_text("utf-8")
    return Lexicon.model_validate(read_own("objects.yaml", text))


@cache
def mentionable() -> dict[str, str]:
    """Names of things and what they mean; classes before labels, ours before the house's."""
    lexicon = load_lexicon()
    names: dict[str, str] = {}
    for name, found in lexicon.classes.items():
        for word in found.words:
            names.setdefault(normalized(word), name)
    for name, synonyms in lexicon.labels.items():
        for word in (name, *synonyms):
            names.setdefault(normalized(word), name)
    for category in load_household().categories.values():
        for word in (category.label, *category.synonyms):
            names.setdefault(normalized(word), lexicon.canonical(word))
    for word in _NO_NAMES:
        names.pop(word, None)
    return names


@cache
def cue_pattern(cue: str) -> re.Pattern[str]:
    """Return the pattern of a cue: "*" is letters, "_" joins, else words may come between."""
    words = [re.escape(word).replace(r"\*", r"\w*").replace("_", r"\s+") for word in cue.split()]
    return re.compile(r"\b" + (rf"\b(?:\s+\S+){{0,{_MAX_GAP_WORDS}}}?\s+").join(words) + r"\b")
