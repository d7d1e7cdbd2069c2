"""The rule judge: how right an answer is by its words, from 1 (wrong) to 5 (right)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from coterie_core.colors import basic_color
from coterie_core.household import load_household, singulars
from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding import written_out
from coterie_requests.understanding.map_geometry import STATES
from coterie_requests.understanding.quantities import COUNTS
from research.bench.openeqa.mentions import mentions

_STOP = frozenset(
    re.findall(
        r"\w+",
        """a an the of is are was were be been it its it's there here that this these those which
        who i you we they he she my your our their one some any to for and or with has
        have had do does did can could will would should may might very just also in on
        so as by at into from up then than please about approximately around located
        placed kept seems appears looks like looking object thing item house home room
        place side image scene answer question probably likely maybe me him her
        them slightly partially partly somewhat mostly little bit switched turned
        what where color colored colors made type kind next close near beside""",
    )
)
_MAX_CHARS = 400
_SPELLINGS = (
    (re.compile(r"\bin[- ]between\b"), "between"),
    (re.compile(r"\bin ?front\b"), "in front"),
    (re.compile(r"\bcolou?r(s|ed)?\b"), r"color\1"),
    (re.compile(r"\bgr[ae]y\b"), "grey"),
)
_YES = re.compile(r"^(?:yes|yeah|yep|yup|sure|correct|true|definitely|indeed|of course)\b")
_NO = re.compile(
    r"^(?:no(?! one)|nope|not|none|nothing|false|never|neither|negative|nah)\b"
    r"|\b(?:is|are|does|do|did|was|were|can|could|has|have|will|would) not\b"
    r"|\bthere (?:is|are) no\b|\bunlikely\b"
)
_POLAR = re.compile(
    r"^(?:is|are|was|were|do|does|did|can|could|has|have|will|would|should)\b(?!.* or )"
)
"""Beginnings of questions of yes or no."""
_OPPOSITES = tuple(
    frozenset(pair)
    for pair in (
        ("open", "closed"), ("on", "off"), ("clean", "messy"), ("full", "empty"),
        ("made", "unmade"), ("left", "right"), ("above", "below"), ("upstairs", "downstairs"),
        ("in front", "behind"), ("first floor", "second floor"), ("inside", "outside"),
        ("adult", "child"), ("new", "old"), ("round", "square"), ("light", "dark"),
    )
)  # fmt: skip
_SIDES = {
    "left": "left", "lefthand": "left", "right": "right", "righthand": "right",
    "above": "above", "over": "above", "top": "above", "under": "below", "below": "below",
    "underneath": "below", "beneath": "below", "bellow": "below", "bottom": "below",
    "behind": "behind", "front": "in front", "upstairs": "upstairs", "downstairs": "downstairs",
    "inside": "inside", "outside": "outside", "round": "round", "circular": "round",
    "square": "square", "rectangular": "square", "new": "new", "old": "old",
}  # fmt: skip
_ONE_WORD = {
    **dict.fromkeys(("fridge", "freezer"), "refrigerator"),
    **dict.fromkeys(("timber", "wooden", "hardwood", "woods"), "wood"),
    **dict.fromkeys(("metallic", "steel", "aluminum", "iron", "stainless"), "metal"),
    **dict.fromkeys(("cloth", "textile", "cotton", "fabrics"), "fabric"),
    **dict.fromkeys(("rectangular", "rectangle", "oblong"), "rectangle"),
    **dict.fromkeys(("circular", "circle", "round"), "round"),
    **dict.fromkeys(("trash", "garbage", "rubbish", "recycling", "waste"), "trash"),
    **dict.fromkeys(("picture", "painting", "photo", "poster", "artwork", "art"), "picture"),
    **dict.fromkeys(("stairs", "staircase", "stairway", "stairwell", "steps"), "stairs"),
    **dict.fromkeys(("bathroom", "restroom", "washroom", "toilet"), "bathroom"),
    **dict.fromkeys(("hall", "hallway", "corridor"), "hallway"),
    **dict.fromkeys(("blackboard", "chalkboard", "whiteboard", "board"), "board"),
    **dict.fromkeys(("corner", "corners"), "corner"),
}
_LIKE_COLORS = frozenset(
    frozenset(pair)
    for pair in (("white", "beige"), ("brown", "beige"), ("grey", "black"), ("blue", "teal"),
                 ("green", "teal"))
)  # fmt: skip
_NUMBERS = COUNTS | {"none": 0, "no": 0}


@dataclass(frozen=True)
class _Said:
    """An answer taken apart: its words by one name each, yes or no, numbers, colors, states."""

    plain: str
    words: frozenset[str]
    yes: bool | None
    numbers: frozenset[int]
    colors: frozenset[str]
    states: frozenset[str]


def rule_mark(question: str, answer: str, extra: Sequence[str], prediction: str) -> int:
    """Return the mark (1..5) that fixed rules give a prediction; the best over all right answers.

    Yes and no, numbers, colors and states are compared by what they mean; anything else by the
    words that carry meaning, brought to one name each, with sides ("left", "under") that
    contradict one another counting against it.
    """
    said = _take_apart(prediction)
    if not said.plain:
        return 1
    return max(_mark(question, _take_apart(right), said) for right in (answer, *extra))


def _mark(question: str, right: _Said, said: _Said) -> int:
    if not right.plain:
        return 1
    if right.plain == said.plain:
        return 5
    asked = _take_apart(question).plain
    polar = _POLAR.search(asked) is not None
    if right.yes is not None and (polar or not right.words):
        return _polar(question, right, said)
    if "how many" in asked or (right.numbers and not right.words):
        return _number(right, said)
    if right.colors and ("color" in asked or not (right.words - right.colors)):
        return _color(right, said)
    if right.states and (polar or not (right.words - right.states)):
        return _state(right, said)
    return _words(question, right, said)


def _polar(question: str, right: _Said, said: _Said) -> int:
    meant = said.yes
    if meant is None:
        # "Is the door open?" - "closed" says no without the word.
        asked = _take_apart(question).states
        if asked & said.states:
            meant = True
        elif any(frozenset((a, b)) in _OPPOSITES for a in asked for b in said.states):
            meant = False
        elif right.words and len(right.words & said.words) / len(right.words) >= 0.5:
            return 4
    if meant is None:
        return 2 if right.words & said.words else 1
    if meant != right.yes:
        return 1
    if right.yes and right.words and said.words:
        # "Yes, on the desk" - "yes, on the bed": the rest must fit as well.
        return max(2, _words(question, right, said))
    return 5


def _number(right: _Said, said: _Said) -> int:
    if not right.numbers:
        return 5 if right.words and right.words <= said.words else 1
    if not said.numbers:
        return 1
    if right.numbers & said.numbers:
        return 5 if len(said.numbers) <= len(right.numbers) + 1 else 3
    return 2 if min(abs(a - b) for a in right.numbers for b in said.numbers) == 1 else 1


def _color(right: _Said, said: _Said) -> int:
    if not said.colors:
        return _overlap(right.words, said.words)
    if right.colors == said.colors:
        return 5
    shared = right.colors & said.colors
    if shared:
        return 4 if len(shared) * 2 >= len(right.colors | said.colors) else 3
    alike = any(frozenset((a, b)) in _LIKE_COLORS for a in right.colors for b in said.colors)
    return 3 if alike else 1


def _state(right: _Said, said: _Said) -> int:
    if any(frozenset((a, b)) in _OPPOSITES for a in right.states for b in said.states):
        return 1
    return 5 if right.states & said.states else _overlap(right.words, said.words)


def _words(question: str, right: _Said, said: _Said) -> int:
    """Mark by shared words; what the question names already proves nothing."""
    if right.words and right.words <= _PERSONS and not said.words & _PERSONS:
        # "Jessica" for "a woman" may be the same person: nobody can tell from the words.
        return 3 if len(said.words) < 3 and not mentions(said.plain) else 1
    told = _take_apart(question).words
    wanted = (right.words - told) or right.words
    given = (said.words - told) or said.words
    mark = _overlap(wanted, given)
    if mark > 1 and right.yes is not None and said.yes is not None and right.yes != said.yes:
        return 1
    clash = any(
        frozenset((a, b)) in _OPPOSITES
        for a in right.words - said.words
        for b in said.words - right.words
    )
    clash = clash or _stands_otherwise(right, said) or _stands_otherwise(said, right)
    if mark == 5 and _VAGUE.search(right.plain) and (said.words - right.words) & _PLAIN_SIDES:
        mark = 4  # "left of it" for "next to it" says more than is known to be right
    return min(mark, 2) if clash else mark


_PERSONS = frozenset(
    {"person", "woman", "man", "girl", "boy", "lady", "child", "kid", "guy", "human"}
)
_VAGUE = re.compile(r"\b(?:next to|near|beside|by|close to)\b")
_PLAIN_SIDES = frozenset({"left", "right", "above", "below", "behind", "in front"})
_UPON = re.compile(r"\bon (?:top of )?(?:the|an?|my)\b(?! (?:floor|left|right|wall|ground))")


def _stands_otherwise(one: _Said, other: _Said) -> bool:
    """Whether one says that a thing is on another, the other that it is under it."""
    return bool(_UPON.search(one.plain)) and "below" in other.words and "below" not in one.words


def _overlap(wanted: frozenset[str], given: frozenset[str]) -> int:
    """Mark by how many of the wanted words are given, and how many given ones are wanted."""
    if not wanted or not given:
        return 1
    shared = sum(_weight(word) for word in wanted & given)
    if not shared:
        return 1
    recall = shared / sum(_weight(word) for word in wanted)
    precision = shared / sum(_weight(word) for word in given)
    heavy = {word for word in wanted if _weight(word) == 1.0}
    if heavy and not heavy & given:
        return 2 if recall > 0.4 else 1  # only a side or a color is the same
    if recall > 0.99:
        return 5
    if precision > 0.99:
        return 4 if recall >= 0.4 else 3
    both = 2.0 * recall * precision / (recall + precision)
    return 4 if both >= 0.6 else 3 if both >= 0.33 else 2


def _weight(word: str) -> float:
    """Words of place and quality carry less than nouns."""
    if word in _SIDES.values() or basic_color(word) or word in _LIGHT:
        return 0.4
    return 1.0


_LIGHT = frozenset(
    ("wall", "floor", "corner", "middle", "end", "edge", "large", "small", "big", "ground",
     "first", "second", "third", "entrance", "hanging", "leaning", "far", "upper", "lower")
)  # fmt: skip


@lru_cache(maxsize=8192)
def _take_apart(text: str) -> _Said:
    said = " ".join(written_out(text[:_MAX_CHARS]).split())
    for pattern, full in _SPELLINGS:
        said = pattern.sub(full, said)
    said = re.sub(r"'s\b|(?<!\w)'|'(?!\w)", " ", said)
    said = re.sub(r"[^\w\s'-]", " ", said).replace("-", " ")
    said = re.sub(
        r"\b(?:all the way|right)(?= (?:next|by|in|behind|above|on|at|under|near|after|"
        r"beside|below|between|over|inside|outside|across))",
        " ",
        said,
    )
    said = " ".join(said.split())
    yes = True if _YES.match(said) else False if _NO.search(said) else None
    rest = re.sub(_YES.pattern, " ", said)
    rest = re.sub(r"^(?:no|nope|not|none)\b", " ", rest).strip()
    numbers = frozenset(
        [int(n) for n in re.findall(r"\b\d{1,4}\b", said)]
        + [_NUMBERS[w] for w in said.split() if w in _NUMBERS and not (w == "no" and yes is False)]
        + ([0] if re.match(r"(?:none|no|nothing)\b", said) else [])
    )
    tokens = rest.split()
    colors = frozenset(color for word in tokens if (color := basic_color(word)))
    states = frozenset(
        state for word, state in STATES.items() if re.search(rf"\b{re.escape(word)}\b", rest)
    )
    words = {_word(token) for token in _named(rest).split()} - _STOP - {""}
    words = {word for word in words if word not in _NUMBERS}
    if words and re.search(r"\bon (?:the|an?|my|your|top|it|its|one)\b", rest):
        states -= {"on"}  # "on the table" is no state
    return _Said(said, frozenset(words), yes, numbers, colors, states)


@lru_cache(maxsize=8192)
def _named(text: str) -> str:
    """Bring things and rooms of several words to one name, written as one word."""
    lexicon = load_lexicon()
    for start, end, name in reversed(mentions(text)):
        one = name if name in lexicon.labels else next(iter(sorted(lexicon.members(name))), name)
        one = text[start:end] if name in lexicon.classes and name not in lexicon.labels else one
        text = f"{text[:start]} {one.replace(' ', '_')} {text[end:]}"
    for words, kind in _rooms():
        text = re.sub(rf"\b{re.escape(words)}\b", kind.replace(" ", "_"), text)
    return text


@lru_cache(maxsize=1)
def _rooms() -> tuple[tuple[str, str], ...]:
    words = load_household().room_words.items()
    pairs = {word.lower(): kind for word, kind in words if " " in word}
    return tuple(sorted(pairs.items(), key=lambda kv: -len(kv[0])))


@lru_cache(maxsize=8192)
def _word(token: str) -> str:
    """One name of a word: color, side, singular."""
    token = token.strip("'")
    if basic_color(token):
        return basic_color(token)
    if token in _SIDES:
        return _SIDES[token]
    if token in _ONE_WORD:
        return _ONE_WORD[token]
    single = singulars(token)
    token = single[0] if single and token not in ("stairs", "glasses", "clothes") else token
    return _ONE_WORD.get(token, token)
