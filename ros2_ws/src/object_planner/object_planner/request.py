"""What a request in words asks for: things, uses, qualities, what to leave out, relations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from coterie_core.colors import COLOR_NAMES
from coterie_core.household import load_household
from coterie_core.relations import RelationKind
from coterie_requests.lexicon import Lexicon, load_lexicon
from coterie_requests.understanding import plain_text, written_out
from coterie_requests.understanding.descriptions import RELATIONS
from coterie_requests.understanding.quantities import SUPERLATIVES, ordinal_of
from coterie_requests.understanding.text import is_measure, with_digits
from coterie_requests.understanding.turned import negations
from coterie_world.sizes import SIZE_ORDERS
from object_planner.wish import Order, Relation, Request, Want
from object_planner.wording import not_understood, unknown_head, worded

_LONGEST = 600
"""Characters of a request that are read."""
_CAN = (
    # The verb, so that what is left is the thing of tin.
    (
        re.compile(
            r"\bcan(?= (?:i|you|we|it|one|be|not|hold|use|do|tell|show|give|make|keep|help)\b)"
        ),
        "could",
    ),
    (re.compile(r"\b(i|you|we|that|which) can\b"), r"\1 could"),
)
_OPENING = re.compile(
    r"^(?:(?:hey|hi|hello|please|robot|can you|could you|would you|will you|kindly)\W+)*"
    r"(?:i (?:am|was) (?:searching|looking|hunting)(?: for)?"
    r"|i (?:need|want|would like|could use|wish)(?: you)?"
    r"|i (?:can|could)(?: not)? (?:find|locate|see)"
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
    r"\b(?P<word>not(?! (?:find|locate|see)\b)|neither|nor|other than|except(?: for)?|besides"
    r"|apart from|aside from|rather than|instead of|excluding|anything but|without|never|no)\b"
    r"\s*(?:be\s+)?"
)
_END = re.compile(
    r"\s*(?:[,;.]\s*(?:because|since|as|so|and i|but i|i |where|which i)\b"
    r"|\bbecause\b|\bsince\b|[;.?!])"
)
_ORDERS: Mapping[str, Order] = {
    **{word: order for word, order in SUPERLATIVES.items() if order in SIZE_ORDERS},  # type: ignore[misc]
    **dict.fromkeys(("large", "big"), "largest"),
    **dict.fromkeys(("small", "little"), "smallest"),
    "tall": "tallest",
}
_BY = re.compile(
    r"\b(?:the (?:one |ones )?)?(?:that is )?(?:(?P<near>(?:nearest|closest)(?: to)?)"
    r"|(?P<far>(?:farthest|furthest|most distant)(?: away)?(?: from)?"
    r"|as far (?:away )?(?:as possible )?from))\b"
)
_COUNTED = re.compile(r"\bfrom (?:the|a|my) (?P<what>\w+(?: \w+)?)\s*$")
_POSSIBLE = re.compile(r"\bas possible\b")
_PLACING = re.compile(
    r"\b(?:things?|something|anything|tools?|object)\b.{0,12}?\bto (?:put|hang|place|pour|carry"
    r"|clean|sweep|wipe|cover|store|dry|mop|scrub|dust|spread|push|move|lay)\b"
)
_STRANDED = re.compile(r"\b(?:with|in|on|from|into|at|around in)\s*$")
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
    text = " ".join(written_out(plain_text(words[: 2 * _LONGEST])[:_LONGEST]).split())
    for pattern, full in _CAN:
        text = pattern.sub(full, text)
    text = re.sub(r"\bcups? of (?:coffee|tea)\b", lambda m: f"hot {m[0].split()[-1]}", text)
    return re.sub(r"[^\w\s,;.?!'-]", " ", text).strip()


@lru_cache(maxsize=1024)
def parse(words: str, known: tuple[str, ...] = ()) -> Request:
    """Return what a request asks for, by the tables of this package.

    Args:
        words: The request.
        known: Labels of the map, which mean something whether or not the tables have them.
    """
    lexicon = load_lexicon().knowing(known)
    wording = worded(clean(words), known)
    if wording.refusal:
        return Request(words=words, refusal=wording.refusal)
    whole = wording.text
    text, order, by = _ordered_by(whole, lexicon, wording.rank)
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
    anything = not stated and relations and _GENERIC.search(rest)  # "something on the table"
    if not (wants or anything or any(w.kind == "quality" for w in excludes)):
        wants = _wants(positive, positive, lexicon)
    order = order or next((_ORDERS[w] for w in re.findall(r"\w+", rest) if w in _ORDERS), None)
    if any(lexicon.uses[name].modifies == "overview" for _, name in lexicon.uses_in(positive)):
        order = "overview"
    asked = _ARTICLES.sub("", _OPENING.sub("", rest).strip())
    colors = tuple(name for name in COLOR_NAMES if re.search(rf"\b{name}\b", positive))
    rooms = _rooms(positive)
    unknown = () if stated else not_understood(whole, lexicon, {*COLOR_NAMES, *_room_words()})
    head = unknown_head(_OPENING.sub("", positive).strip(), lexicon)
    if head and head not in wording.strange and any(want.kind == "use" for want in wants):
        unknown, head = (*unknown, head), ""  # "a contraption to boil water": the use is known
    sizes = () if stated else _measures(whole)
    prevented = tuple(word for word in negations(whole) if word.startswith("from "))
    if prevented and not any(want.kind == "thing" for want in wants):
        unknown, wants = (*unknown, *prevented), ()  # "to keep a door from closing" is no keeping
    strange = tuple(word for word in (*wording.strange, *sizes) if word not in (*known, head))
    return Request(
        words=words,
        wants=wants,
        qualities=() if stated else _qualities(rest, wants, lexicon),
        excludes=tuple(excludes),
        relations=relations,
        rooms=rooms,
        colors=colors if not stated and _before_thing(asked, colors) else (),
        order=order,
        by=by,
        rank=wording.rank,
        beyond=lexicon.beyond_in(rest) if any(want.kind == "use" for want in wants) else "",
        unknown=tuple(dict.fromkeys((*unknown, *strange))),
        head=head,
        read_as=wording.read_as,
        later=wording.later,
    )


def _ordered_by(
    text: str, lexicon: Lexicon, rank: int
) -> tuple[str, Order | None, tuple[Want, ...]]:
    """Take "farthest from the window" out of a text, and "(third) from the door"."""
    match = _BY.search(text)
    order: Order = "nearest"
    if match is None and rank > 1:
        match = _COUNTED.search(text)
        after, begins = (match["what"], match.start("what")) if match else ("", 0)
    elif match is not None:
        order = "farthest" if match["far"] else "nearest"
        after, begins = text[match.end() :], match.end()
    if match is None:
        return text, None, ()
    to = lexicon.mentions(after)
    if not to or not _TO.match(after[: to[0][0]]):
        return text, None, ()
    wants = (_thing(after, to[0]),)
    rest = f"{text[: match.start()]} {text[begins + to[0][1] :]}"
    return " ".join(_POSSIBLE.sub(" ", rest).split()), order, wants


def _measures(text: str) -> tuple[str, ...]:
    """Return the measures in a text ("50cm", "3pm"), which no table of things tells."""
    said = (token for token, _ in with_digits(text) if is_measure(token))
    return tuple(token for token in said if not token.isdigit() and not ordinal_of(token))


def _before_thing(asked: str, colors: tuple[str, ...]) -> bool:
    """Whether a color says what the thing is like, and is no part of another phrase."""
    words = asked.split()[:4]
    return any(color in words for color in colors)


def _thing(text: str, mention: tuple[int, int, str]) -> Want:
    """The thing that is mentioned in a text, with the words for it if there are several."""
    start, end, name = mention
    phrase = text[start:end]
    return Want(kind="thing", name=name, phrase=phrase if " " in phrase else "")


@lru_cache(maxsize=1)
def _room_words() -> frozenset[str]:
    return frozenset(part for name in load_household().room_words for part in name.split())


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
        kind = next(kind for pattern, kind in RELATIONS if pattern.fullmatch(match["how"]))
        things = tuple(_thing(match["what"], one) for one in to)
        relations.append(Relation(kind=kind, to=things, negated=negative, inverse=True))
        if negative:
            negated = [other for other in negated if other is not part]
        else:
            positive = f"{part[: match.start()]} {part[match.end() :]}"
    return " ".join(positive.split()), negated, tuple(relations)


def _placed(part: str, lexicon: Lexicon) -> Relation | None:
    """The place that a negated part rules out: "(not) on the bed", "(not) near a window"."""
    for pattern, kind in RELATIONS:
        match = pattern.match(part.strip())
        if match is None or kind == "far from":
            continue
        rest = part.strip()[match.end() :]
        to = lexicon.mentions(rest)
        if to and _TO.match(rest[: to[0][0]]):
            things, _ = _alternatives(rest, to, 2 if kind == "between" else 4)
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
    for pattern, kind in RELATIONS:
        for match in pattern.finditer(text):
            if any(a < match.end() and match.start() < b for a, b, _ in found):
                continue
            after = [m for m in mentions if m[0] >= match.end()]
            if match.start() == 0 or not after:
                continue
            between = text[match.end() : after[0][0]]
            if not _TO.match(between) or any(other.search(between) for other, _ in RELATIONS):
                continue  # of "to sit on near the window" the first is no place
            to, stop = _alternatives(text, after, 2 if kind == "between" else 4)
            if _purpose(text, match.start(), stop, kind):
                continue
            relation = Relation(kind=kind, to=to)
            found.append((match.start(), stop, relation))
    rest = text
    for a, b, _ in sorted(found, key=lambda entry: -entry[0]):
        rest = f"{rest[:a]} {rest[b:]}"
    return " ".join(rest.split()), tuple(entry[2] for entry in sorted(found, key=lambda e: e[0]))


def _alternatives(
    text: str, mentions: list[tuple[int, int, str]], most: int
) -> tuple[tuple[Want, ...], int]:
    names, stop = [_thing(text, mentions[0])], mentions[0][1]
    for start, end, name in mentions[1:]:
        if len(names) == most or not re.fullmatch(
            r"\s*(?:,|or|and|nor|,\s*or)\s*(?:(?:a|an|the|my)\s+)?", text[stop:start]
        ):
            break
        names.append(_thing(text, (start, end, name)))
        stop = end
    return tuple(names), stop


def _purpose(text: str, start: int, stop: int, kind: RelationKind) -> bool:
    """Whether "under the bed" tells where a tool is used, not where it is: "to sweep under it"."""
    infinitive = _PLACING.search(text[:start])
    if infinitive is not None and kind in ("on", "in", "under", "near", "above", "behind"):
        return True
    return bool(
        re.search(r"\bto \w+", text[:start]) and _STRANDED.fullmatch(text[stop:].strip(" ?.!"))
    )


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
            return _alternatives(head, mentions, 6)[0]
    uses = [pair for pair in lexicon.uses_in(rest) if not lexicon.uses[pair[1]].modifies]
    strong = [pair for pair in uses if not lexicon.uses[pair[1]].weak] or uses
    strong = strong or [p for p in lexicon.uses_in(positive) if not lexicon.uses[p[1]].modifies]
    if strong:
        best = strong[0][0]
        return tuple(Want(kind="use", name=name) for weight, name in strong if weight == best)
    return tuple(_thing(head, one) for one in mentions[:1])


def _negated(part: str, wants: tuple[Want, ...], lexicon: Lexicon) -> tuple[list[Want], list[Want]]:
    """What a negated part asks for ("not at room temperature") and rules out."""
    asked = [
        Want(kind="use", name=name)
        for name, use in lexicon.uses.items()
        if any(cue in part for cue in use.negated_cues)
    ]
    if asked:
        return asked, []
    things = [_thing(part, one) for one in lexicon.mentions(part)]
    if things:
        return [], things
    named = [Want(kind="use", name=name) for _, name in lexicon.uses_in(part)]
    qualities = [Want(kind="quality", name=name) for name in lexicon.qualities_in(part)]
    return [], named + qualities


def _rooms(text: str) -> tuple[str, ...]:
    names = load_household().room_words
    found = [
        names[word]
        for word in sorted(names, key=len, reverse=True)
        if re.search(rf"\b(?:in|from|of|inside) (?:the |my |our |a )?{re.escape(word)}\b", text)
    ]
    return tuple(dict.fromkeys(found))
