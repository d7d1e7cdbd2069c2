"""What a request in words asks for: things, uses, qualities, what to leave out, relations."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from pydantic import BaseModel, ConfigDict

from coterie_core.household import load_household
from coterie_core.lexicon import Lexicon, load_lexicon
from coterie_core.relations import RelationKind

Order = Literal["largest", "smallest", "tallest", "highest", "lowest", "overview"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Want(_Part):
    """One thing asked for (or ruled out): a label or class, a use, or a quality, by name."""

    kind: Literal["thing", "use", "quality"]
    name: str


class Relation(_Part):
    """Where it should be, by what; several `to` are alternatives, but for "between"."""

    kind: RelationKind
    to: tuple[Want, ...]
    negated: bool = False
    inverse: bool = False
    """The other way round: "a desk with a lamp on it"."""


class Request(_Part):
    """A request understood: any of `wants` that has every one of the rest.

    `rooms` are room types or names that were mentioned. `clear` is false where nothing in the
    words is known. `beyond` names what no home can hold or serve ("a helicopter").
    """

    words: str
    wants: tuple[Want, ...] = ()
    qualities: tuple[Want, ...] = ()
    excludes: tuple[Want, ...] = ()
    relations: tuple[Relation, ...] = ()
    rooms: tuple[str, ...] = ()
    order: Order | None = None
    beyond: str = ""

    @property
    def clear(self) -> bool:
        """Whether anything was understood."""
        return bool(self.wants or self.qualities)


_LONGEST = 600
"""Characters of a request that are read."""
_CONTRACTIONS = (
    (re.compile(r"\b(can|could|would|should|do|does|did|is|are|was|have|has)n[’']?t\b"), r"\1 not"),
    (re.compile(r"\bcannot\b"), "can not"),
    # The verb, so that what is left is the thing of tin.
    (
        re.compile(
            r"\bcan(?= (?:i|you|we|it|one|be|not|hold|use|do|tell|show|give|make|keep|help)\b)"
        ),
        "could",
    ),
    (re.compile(r"\b(i|you|we|that|which) can\b"), r"\1 could"),
    (re.compile(r"\bwon[’']?t\b"), "will not"),
    (re.compile(r"[’']m\b"), " am"),
    (re.compile(r"[’']re\b"), " are"),
    (re.compile(r"[’']d\b"), " would"),
    (re.compile(r"[’']s\b"), " is"),
)
_OPENING = re.compile(
    r"^(?:(?:hey|hi|hello|please|robot|can you|could you|would you|will you|kindly)\W+)*"
    r"(?:i (?:am|was) (?:searching|looking|hunting)(?: for)?"
    r"|i (?:need|want|would like|could use|wish)(?: you)?|i can(?: not)? find"
    r"|where (?:is|are|did i (?:put|leave))|(?:is|are) there|do (?:we|you|i) have"
    r"|(?:find|bring|get|fetch|give|show|tell|hand|pass|pick)(?: up)?(?: me| us)?"
    r"|locate|identify|search(?: for)?|look for|point (?:me )?to|go to|take me to|which|what)\b\s*"
    r"(?:to (?:find|get|see|have)\b\s*)?"
)
_ARTICLES = re.compile(
    r"^(?:(?:a|an|the|any|some|all|my|your|our|one|every|each|of|other|more)\b\s*)+"
)
_GENERIC = re.compile(
    r"\b(?:something|anything|somewhere|anywhere|object|item|thing|place|spot|what|where|which|tool"
    r"|surface|way)s?\b"
)
_NEGATION = re.compile(
    r"(?:,\s*)?(?:\b(?:that|which|and|but|it)\s+)*"
    r"(?:\b(?:is|are|does|do|can|could|should|must|will|would)\s+)?"
    r"\b(?P<word>not|neither|nor|other than|except(?: for)?|besides|apart from|aside from"
    r"|rather than|instead of|excluding|anything but|without|never|no)\b\s*(?:be\s+)?"
)
_END = re.compile(
    r"\s*(?:[,;.]\s*(?:because|since|as|so|and i|but i|i |where|which i)\b"
    r"|\bbecause\b|\bsince\b|[;.?!])"
)
_WORDS: tuple[tuple[str, RelationKind], ...] = (
    ("in front of|facing|opposite", "in front of"),
    ("on top of|upon", "on"),
    ("far (?:away )?from|away from|not (?:near|close to)", "far from"),
    ("close to|closest to|near to|near|nearest to|nearest", "near"),
    ("next to|beside|adjacent to|alongside|nearby|around|by", "near"),
    ("to the left of|left of", "left of"),
    ("to the right of|right of", "right of"),
    ("behind|in back of", "behind"),
    ("under|underneath|below|beneath", "under"),
    ("above|over", "above"),
    ("between", "between"),
    ("inside of|inside|within|in", "in"),
    ("on", "on"),
)
_RELATIONS = tuple((re.compile(rf"\b(?:{words})\b"), kind) for words, kind in _WORDS)
_ORDERS: tuple[tuple[re.Pattern[str], Order], ...] = (
    (re.compile(r"\b(?:largest|biggest|widest|large|big)\b"), "largest"),
    (re.compile(r"\b(?:smallest|tiniest|small|little)\b"), "smallest"),
    (re.compile(r"\b(?:tallest|tall)\b"), "tallest"),
    (re.compile(r"\b(?:highest)\b"), "highest"),
    (re.compile(r"\b(?:lowest)\b"), "lowest"),
)
_BORNE = re.compile(
    r"\b(?:with|have|has|having|bears?|holds?|carr(?:y|ies))\b(?P<what>[^,;.?!]{2,60}?)"
    r"\b(?P<how>on top of|on|in|inside|under|underneath|near|next to|above|in front of)"
    r" (?:it|them|top|itself)\b"
)
_STATEMENT = re.compile(
    r"^(?:there (?:is|are|was|were)|it is|i (?:just |have |accidentally |have just )*"
    r"(?:spil|drop|cut|broke|lost|got|made)|my |some(?:body|one) |the \w+ (?:is|are|caught|has)\b)"
)
_ASKED = re.compile(r"\b(?:something|anything|somewhere|what|where|which|find|need|want)\b")
_TO = re.compile(
    r"^\s*(?:(?:a|an|the|my|your|our|any|some|another|one of the|all|every)\s+)*(?:\w+\s+){0,2}?$"
)


def clean(words: str) -> str:
    """Return a request in lower case, contractions written out, single spaces."""
    text = " ".join(words[:_LONGEST].lower().split())
    for pattern, full in _CONTRACTIONS:
        text = pattern.sub(full, text)
    text = re.sub(r"\bcups? of (?:coffee|tea)\b", lambda m: f"hot {m[0].split()[-1]}", text)
    return re.sub(r"[^\w\s,;.?!'-]", " ", text).strip()


@lru_cache(maxsize=1024)
def parse(words: str) -> Request:
    """Return what a request asks for, by the tables of this package."""
    lexicon = load_lexicon()
    text = clean(words)
    positive, negated = _split(text, lexicon)
    positive, negated, borne = _borne(positive, negated, lexicon)
    rest, relations = _relations(positive, lexicon)
    stated = _STATEMENT.match(text) and not _ASKED.search(text)
    if stated:
        relations = ()  # "there are crumbs on the carpet": where the trouble is, not the remedy
    relations += borne
    wants = _wants(rest, positive, lexicon)
    excludes: list[Want] = []
    for part in negated:
        placed = _placed(part, lexicon)
        if placed is not None:
            relations += (placed,)
            continue
        more, kept = _negated(part, wants, lexicon)
        wants += tuple(w for w in more if w not in wants)
        excludes += kept
    if not wants and not any(w.kind == "quality" for w in excludes):
        wants = _wants(positive, positive, lexicon)
    order = next((order for pattern, order in _ORDERS if pattern.search(rest)), None)
    if any(lexicon.uses[name].modifies == "overview" for _, name in lexicon.uses_in(positive)):
        order = "overview"
    return Request(
        words=words,
        wants=wants,
        qualities=() if stated else _qualities(rest, wants, lexicon),
        excludes=tuple(excludes),
        relations=relations,
        rooms=_rooms(positive),
        order=order,
        beyond=lexicon.beyond_in(rest) if any(want.kind == "use" for want in wants) else "",
    )


def _qualities(rest: str, wants: tuple[Want, ...], lexicon: Lexicon) -> tuple[Want, ...]:
    """Qualities asked for, but for those of the very words that ask for a use ("too hot")."""
    taken = [part for want in wants if want.kind == "use" for part in lexicon.cued(want.name, rest)]
    used = {name for part in taken for name in lexicon.qualities_in(part)}
    return tuple(
        Want(kind="quality", name=name) for name in lexicon.qualities_in(rest) if name not in used
    )


def _borne(
    positive: str, negated: list[str], lexicon: Lexicon
) -> tuple[str, list[str], tuple[Relation, ...]]:
    """Take out what the wanted thing bears: "with a lamp on it", "(not) have a lamp on it"."""
    relations: list[Relation] = []
    for negative, part in ((False, positive), *((True, part) for part in negated)):
        match = _BORNE.search(part)
        if match is None:
            continue
        to = lexicon.mentions(match["what"])
        if not to:
            continue
        kind = next(kind for pattern, kind in _RELATIONS if pattern.fullmatch(match["how"]))
        things = tuple(Want(kind="thing", name=name) for _, _, name in to)
        relations.append(Relation(kind=kind, to=things, negated=negative, inverse=True))
        if negative:
            negated = [other for other in negated if other is not part]
        else:
            positive = f"{part[: match.start()]} {part[match.end() :]}"
    return " ".join(positive.split()), negated, tuple(relations)


def _placed(part: str, lexicon: Lexicon) -> Relation | None:
    """The place that a negated part rules out: "(not) on the bed", "(not) near a window"."""
    for pattern, kind in _RELATIONS:
        match = pattern.match(part.strip())
        if match is None or kind == "far from":
            continue
        rest = part.strip()[match.end() :]
        to = lexicon.mentions(rest)
        if to and _TO.match(rest[: to[0][0]]):
            names, _ = _alternatives(rest, to, 2 if kind == "between" else 4)
            things = tuple(Want(kind="thing", name=name) for name in names)
            return Relation(kind=kind, to=things, negated=True)
    return None


def _split(text: str, lexicon: Lexicon) -> tuple[str, list[str]]:
    """Part the text into what is asked for and what is ruled out."""
    positive, negated, at = "", [], 0
    for match in _NEGATION.finditer(text):
        if match.start() < at:
            continue
        end = _END.search(text, match.end())
        stop = end.start() if end else len(text)
        part = text[match.end() : stop]
        known = lexicon.mentions(part) or lexicon.uses_in(part) or lexicon.qualities_in(part)
        named = lexicon.mentions(part) or (
            match["word"] == "without" and lexicon.qualities_in(part)  # "without being electric"
        )
        if match["word"] in ("without", "no", "never") and not named:
            continue  # "without anyone seeing": how, not what
        if not known:
            continue
        later = _NEGATION.search(part)
        if later and match["word"] in ("not", "neither", "nor"):  # "not a chair, nor on the bed"
            stop = match.end() + later.start()
            part = part[: later.start()]
        positive += text[at : match.start()] + " "
        negated.append(part)
        at = stop
    return (positive + text[at:]).strip(), negated


def _relations(text: str, lexicon: Lexicon) -> tuple[str, tuple[Relation, ...]]:
    """Take "near a table" and the like out of a text."""
    found: list[tuple[int, int, Relation]] = []
    mentions = lexicon.mentions(text)
    for pattern, kind in _RELATIONS:
        for match in pattern.finditer(text):
            if any(a < match.end() and match.start() < b for a, b, _ in found):
                continue
            after = [m for m in mentions if m[0] >= match.end()]
            if match.start() == 0 or not after:
                continue
            if not _TO.match(text[match.end() : after[0][0]]):
                continue
            to, stop = _alternatives(text, after, 2 if kind == "between" else 4)
            relation = Relation(kind=kind, to=tuple(Want(kind="thing", name=n) for n in to))
            found.append((match.start(), stop, relation))
    rest = text
    for a, b, _ in sorted(found, key=lambda entry: -entry[0]):
        rest = f"{rest[:a]} {rest[b:]}"
    return " ".join(rest.split()), tuple(entry[2] for entry in sorted(found, key=lambda e: e[0]))


def _alternatives(
    text: str, mentions: list[tuple[int, int, str]], most: int
) -> tuple[list[str], int]:
    names, stop = [mentions[0][2]], mentions[0][1]
    for start, end, name in mentions[1:]:
        if len(names) == most or not re.fullmatch(
            r"\s*(?:,|or|and|nor|,\s*or)\s*(?:(?:a|an|the|my)\s+)?", text[stop:start]
        ):
            break
        names.append(name)
        stop = end
    return names, stop


def _wants(rest: str, positive: str, lexicon: Lexicon) -> tuple[Want, ...]:
    """Things where the request names one first, uses where it asks for "something to ..."."""
    head = _ARTICLES.sub("", _OPENING.sub("", rest).strip())
    mentions = lexicon.mentions(head)
    # "A tool to cut with", "my shirt is creased": what it is for counts, not the word for it.
    named = bool(mentions) and not (
        lexicon.uses_in(rest)
        and (
            _GENERIC.fullmatch(head[mentions[0][0] : mentions[0][1]])
            or (_STATEMENT.match(rest) and not _ASKED.search(rest))
        )
    )
    if named:
        before = head[: mentions[0][0]]
        if len(before.split()) <= 2 and not _GENERIC.search(before) and "to " not in before:
            names, _ = _alternatives(head, mentions, 6)
            return tuple(Want(kind="thing", name=name) for name in names)
    uses = [pair for pair in lexicon.uses_in(rest) if not lexicon.uses[pair[1]].modifies]
    strong = [pair for pair in uses if not lexicon.uses[pair[1]].weak] or uses
    strong = strong or [p for p in lexicon.uses_in(positive) if not lexicon.uses[p[1]].modifies]
    if strong:
        best = strong[0][0]
        return tuple(Want(kind="use", name=name) for weight, name in strong if weight == best)
    return tuple(Want(kind="thing", name=name) for _, _, name in mentions[:1])


def _negated(part: str, wants: tuple[Want, ...], lexicon: Lexicon) -> tuple[list[Want], list[Want]]:
    """What a negated part asks for ("not at room temperature") and rules out."""
    asked = [
        Want(kind="use", name=name)
        for name, use in lexicon.uses.items()
        if any(cue in part for cue in use.negated_cues)
    ]
    if asked:
        return asked, []
    things = [Want(kind="thing", name=name) for _, _, name in lexicon.mentions(part)]
    if things:
        return [], things
    named = [Want(kind="use", name=name) for _, name in lexicon.uses_in(part)]
    qualities = [Want(kind="quality", name=name) for name in lexicon.qualities_in(part)]
    return [], named + qualities


def _rooms(text: str) -> tuple[str, ...]:
    house = load_household()
    names: dict[str, str] = {}
    for kind in house.room_types.values():
        for word in (kind.name, *kind.synonyms):
            names[word] = kind.name
    found = [
        names[word]
        for word in sorted(names, key=len, reverse=True)
        if re.search(rf"\b(?:in|from|of|inside) (?:the |my |our |a )?{re.escape(word)}\b", text)
    ]
    return tuple(dict.fromkeys(found))
