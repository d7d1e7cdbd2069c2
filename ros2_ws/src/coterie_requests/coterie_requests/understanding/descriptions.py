"""Things as a question speaks of them: nouns, colours, traits, rooms, where they stand."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from coterie_core.colors import basic_color
from coterie_core.household import load_household, normalized, singulars
from coterie_core.relations import RelationKind
from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding import words_of, written_out

_SIDE = r"(?:on |at |to |towards )?(?:the |my )?(?:immediate )?{}(?:[- ]hand)?(?: side)? of"
_RELATIONS: tuple[tuple[str, RelationKind], ...] = (
    (r"on (?:the )?top of|atop|upon|on the (?:surface|seat) of", "on"),
    (_SIDE.format("left"), "left of"),
    (_SIDE.format("right"), "right of"),
    (r"in front of|at the front of|across from|across|opposite(?: to| of)?|facing", "in front of"),
    (r"directly behind|behind|at the back of|in back of", "behind"),
    (r"under(?:neath)?|below|bellow|beneath", "under"),
    (r"above|over(?! there)", "above"),
    (r"between", "between"),
    (r"far (?:away )?from|not (?:near|close to)|away from|farthest from|furthest from", "far from"),
    (r"(?:next|adjacent|close|closest|nearest|attached) to|besides?|along ?side|near(?: to)?|"
     r"nearby|(?:leaning )?against|around|by|surrounding|"
     r"at the (?:foot|edge|end|side|corner) of|at(?! least| most| all)", "near"),
    (r"inside(?: of)?|within|in the (?:middle|center) of|in(?! front)|from", "in"),
    (r"on|onto", "on"),
)  # fmt: skip
RELATIONS = tuple((re.compile(rf"\b(?:{words})\b"), kind) for words, kind in _RELATIONS)
"""Patterns of the words for each relation, in the order in which they are tried."""
PREPOSITION = (
    r"(?:on|in|at|under|over|above|below|beneath|behind|beside|between|near|next to|by|inside|"
    r"against|in front of|to the (?:left|right) of|along|upstairs|downstairs)"
)
"""Pattern of the words that begin where something is."""


MAX_QUESTION_CHARS = 400
"""Characters of a question that are read; longer ones are refused where people ask."""

_SPELLINGS = (
    (re.compile(r"\bin[- ]between\b"), "between"),
    (re.compile(r"\bin ?front\b"), "in front"),
    (re.compile(r"\bcolou?r(s|ed)?\b"), r"color\1"),
    (re.compile(r"\bgr[ae]y\b"), "grey"),
)
_TRAITS = {
    **dict.fromkeys(("big", "large", "largest", "biggest", "huge", "long", "longest"), "large"),
    **dict.fromkeys(("small", "smaller", "smallest", "little", "tiny", "mini", "short"), "small"),
    **dict.fromkeys(("tall", "tallest", "high", "highest"), "tall"),
}
_OTHER_TRAITS = frozenset(
    re.findall(
        r"\w+",
        """wooden wood metal metallic plastic glass leather round square rectangular circular open
        closed empty full old new main other only same single double left right top bottom nearest
        closest upstairs downstairs first second third last middle center corner outside inside
        foldable hanging standing striped patterned clear transparent light bright soft decorative
        unique several various many all both two three four five my""",
    )
)
GENERIC = frozenset(
    re.findall(
        r"\w+",
        """object objects item items thing things something anything one ones stuff somewhere
        anywhere someone anyone what it that this these those contents""",
    )
)
_PLACED = re.compile(
    r"\b(?:that|which|who)?\s*(?:\b(?:is|are|was|were|has been|can be)\b)?\s*"
    r"\b(?:currently |directly |immediately |right |just |partly )*"
    r"(?:located|placed|kept|hanging|hung|sitting|standing|lying|laying|mounted|leaning|positioned|"
    r"found|seen|attached|draped|resting|laid|set|displayed|stored|plugged(?: in)?|sticking out)\b"
)
_TAIL = re.compile(
    r"\s+(?:that|which|who|with|of|for|used|made|called|labell?ed|has|have|is|are|to)\b.*$"
)
_FILLED = re.compile(
    r"(?:\s+(?:that|which|who|is|are|was|were|has|have|been|to|of|for|with|used|made|there|here|be|"
    r"it|i|we|you|can|could|in|my|the|this))*\s*"
)
"""Ends of a noun phrase that say nothing more of the thing."""
_LITTLE = frozenset(words_of("a an the my your our his her their its for of in on at to and or"))
_HEAPS = re.compile(
    r"\b(?:any|some|all|each|both|most|half"
    r"|(?:a |the )?(?:pile|stack|set|pair|piece|bunch|group|row|lot|couple|number|amount)s?) of\b"
)
_LEAD = re.compile(
    r"^(?:(?:a|an|the|any|some|my|your|our|one|every|each|of|there|kind|type|sort|another|more|"
    r"other|most|directly|immediately|right|just|also|please|currently)\b\s*)+"
)


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing as a question describes it.

    Attributes:
        words: The noun phrase without articles.
        name: A label or class of the lexicon, or the noun itself; "" for any thing ("object").
        known: Whether the lexicon or the household knows the name.
        color: Basic colour name, or "".
        traits: "large", "small", "tall", and other adjectives.
        room: Room type or name that was said, or "".
        relation: Relation to `anchors`, or None.
        anchors: One thing, or two for "between".
        without: Names of things that shall not count ("besides the books").
        unread: Words that say more of it, and that nothing is known of.
    """

    words: str
    name: str = ""
    known: bool = False
    color: str = ""
    traits: tuple[str, ...] = ()
    room: str = ""
    relation: RelationKind | None = None
    anchors: tuple[Thing, ...] = ()
    without: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def generic(self) -> bool:
        """Whether any thing will do."""
        return not self.name

    @property
    def understood(self) -> bool:
        """Whether its words are those of a thing: a known name, any thing, or one word."""
        return self.known or self.generic or len(self.name.split()) == 1


ANY = Thing("")
"""No thing in particular."""


def clean(text: str) -> str:
    """Return words in lower case, contractions written out, single spaces, no odd characters."""
    text = " ".join(written_out(text[:MAX_QUESTION_CHARS]).split())
    for pattern, full in _SPELLINGS:
        text = pattern.sub(full, text)
    text = re.sub(r"[^\w\s,;.?!'/-]", " ", text.replace(":", ","))
    return " ".join(re.sub(r"'s\b|(?<!\w)'|'(?!\w)", " ", text).split())


@lru_cache(maxsize=4096)
def describe(text: str, depth: int = 2) -> Thing:
    """Return what a noun phrase speaks of: "the red mug on the desk in the office"."""
    text = " ".join(_HEAPS.sub(" ", re.sub(r"[^\w\s'-]", " ", text)).split())
    text, room = _take_room(text)
    relation, head, tail = _split(text)
    anchors: tuple[Thing, ...] = ()
    if relation and depth > 0:
        parts = re.split(r"\s+and\s+", tail, maxsplit=1) if relation == "between" else [tail]
        anchors = tuple(describe(part, depth - 1) for part in parts if part.strip())
        inner = next((a.room for a in anchors if a.room), "")
        room = room or inner
        anchors = tuple(a for a in anchors if a.words)
        if not anchors:
            relation = None
    noun = _TAIL.sub("", " " + head).strip() or head
    thing = _noun(noun)
    unread = thing.unread
    if noun != head and not _FILLED.fullmatch(head[len(noun) :]):
        unread = (*unread, head[len(noun) :].strip())
    return replace(
        thing, room=room, relation=relation if anchors else None, anchors=anchors, unread=unread
    )


def _split(text: str) -> tuple[RelationKind | None, str, str]:
    """Part "towel on the chair" into relation, what, and what it stands to."""
    best: tuple[int, int, RelationKind] | None = None
    for pattern, kind in RELATIONS:
        for match in pattern.finditer(text):
            if not text[match.end() :].strip():
                continue
            if best is None or match.start() < best[0]:
                best = (match.start(), match.end(), kind)
            break
    if best is None:
        return None, _PLACED.sub(" ", text), ""
    head = _PLACED.sub(" ", text[: best[0]])
    return best[2], " ".join(head.split()), text[best[1] :].strip()


def _noun(text: str) -> Thing:
    """Return the thing a noun phrase without relations names."""
    text = _LEAD.sub("", text.strip())
    color, traits, kept = "", [], []
    lexicon = load_lexicon()
    mentions = lexicon.mentions(text)
    head_start = mentions[-1][0] if mentions and mentions[-1][1] == len(text) else len(text)
    at = 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        if start >= head_start:
            kept.append(word)
        elif basic_color(word):
            color = color or basic_color(word)
        elif word in _TRAITS:
            traits.append(_TRAITS[word])
        elif word in _OTHER_TRAITS:
            traits.append(word)
        elif word not in ("colored", "color", "shaped", "and", "or", "very"):
            kept.append(word)
    noun = " ".join(kept)
    bare = [word for word in kept if word not in GENERIC]
    if not bare:
        return Thing(words=text, color=color, traits=tuple(traits))
    found = lexicon.mentions(noun)
    if head_start < len(text) or (found and found[-1][1] == len(noun)):
        start, end, name = found[-1] if head_start == len(text) else mentions[-1]
        said = text[start:end] if head_start < len(text) else noun[start:end]
        unread = tuple(w for w in noun.removesuffix(said).split() if w not in _LITTLE)
        return Thing(text, name, True, color, tuple(traits), unread=unread)
    name = normalized(" ".join(bare))
    single = singulars(name)
    known = load_household().category(name) is not None
    if known:
        name = load_household().canonical(name)
    elif single:
        name = single[0]
    return Thing(text, name, known, color, tuple(traits))


@cache
def _room_words() -> tuple[tuple[str, str], ...]:
    """Words for rooms, longest first, and their type; words that are things too are left out."""
    ambiguous = {"bath", "tv", "step", "spa", "bar", "stair", "stairs", "workout", "exercise"}
    ambiguous |= {"storage", "aisle", "landing", "classroom", "outside", "outdoor", "outdoors"}
    words = {w.lower(): kind for w, kind in load_household().room_words.items()}
    words = {word: kind for word, kind in words.items() if word not in ambiguous}
    return tuple(sorted(words.items(), key=lambda kv: -len(kv[0])))


@cache
def _room_pattern() -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word, _ in _room_words())
    return re.compile(
        r"(?<!left )(?<!right )(?<!side )(?<!front )(?<!top )(?<!middle )(?<!next )(?<!bottom )"
        r"\b(?P<link>in|inside|of|from|at|within|to)\s+"
        r"(?:the |my |our |your |a |an |this |that )?"
        r"(?:(?P<which>first|second|third|upstairs|downstairs|main|big|large|small)\s+)?"
        rf"(?P<room>{words})\b"
        r"(?!['’]| (?:door|table|sink|counter|cabinet|wall|floor|window|chair)s?\b)"
        r"(?P<number>\s+\d+\b)?"
    )


def _take_room(text: str) -> tuple[str, str]:
    """Take "in the kitchen" out of a text; return the rest and the room."""
    matches = list(_room_pattern().finditer(text))
    if not matches:
        return text, ""
    match = matches[-1]
    name = dict(_room_words())[match["room"]] + (match["number"] or "")
    return " ".join((text[: match.start()] + " " + text[match.end() :]).split()), name


def room_said(text: str) -> str:
    """Return the room type or name that a text speaks of, or ""."""
    room = _take_room(text)[1]
    if room:
        return room
    words = dict(_room_words())
    names = [w for w in words if re.search(rf"\b{re.escape(w)}s?\b", text)]
    return words[names[0]] if names else ""
