"""The ways of asking: a pattern for each, and what a question of that shape asks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from coterie_core.colors import basic_color
from coterie_requests.understanding.descriptions import ANY, Thing, describe, room_said
from coterie_requests.understanding.quantities import ORDINALS, ordinal_of
from openeqa_agent.understood import STATES, OpenQuestion

AUX = r"(?:is|are|was|were)"
WE = r"(?:i|we|you|one|someone|somebody|people|a person|the adult|he|she|they)"
_STATE = re.compile(
    rf"^(?P<thing>.+?)(?: {AUX})?(?: (?:currently|fully|completely|all|already|still|been|in))*"
    r" (?P<not>not )?(?P<state>"
    + "|".join(sorted(map(re.escape, STATES), key=len, reverse=True))
    + r")(?: or (?P<other>.+))?$"
)
_LARGER = {
    "bigger": "larger", "larger": "larger", "smaller": "smaller", "taller": "taller",
    "higher": "higher", "shorter": "shorter", "lower": "lower", "wider": "wider",
    "longer": "longer",
    "closer": "nearer", "nearer": "nearer", "closest": "nearer", "nearest": "nearer",
    "lowest": "lower", "highest": "higher", "widest": "wider", "longest": "longer",
    "shortest": "shorter", "thickest": "wider",
    "biggest": "larger", "largest": "larger", "smallest": "smaller", "tallest": "taller",
    "farther": "farther", "further": "farther", "farthest": "farther", "furthest": "farther",
}  # fmt: skip
_RANKS = "|".join(word for word, rank in ORDINALS.items() if rank > 1)
_COMPARED = "|".join(_LARGER)
_MORE = "|".join(word for word in _LARGER if not word.endswith("est"))


def _thing(words: str | None) -> Thing:
    return describe(re.sub(rf"^\s*(?:{AUX})\s+", "", words or "").strip())


# -- one builder per pattern: the question, or None where the words mean something else --------

Build = Callable[[re.Match[str], str], OpenQuestion | None]


def _room(match: re.Match[str], core: str) -> OpenQuestion:
    rest = re.sub(r"\b(?:in it|in|located|kept|at|found|inside)\s*$", "", match["rest"].strip())
    rest = re.sub(rf"^\s*(?:{AUX}|does|do|did|can|has|have|should i go to see|holds?)\b", "", rest)
    rest = re.sub(r"^\s*(?:there|i see|you see|i find|we find|contains?)\b", "", rest)
    rest = re.sub(r"^\s*the one (?:with|where|that has|containing)\b", "", rest)
    rest = re.sub(r"\b(?:stands?|is|are|in|hangs?)\s*$", "", rest)
    if re.fullmatch(r"\s*(?:this|that|it|the room)?\s*(?:room)?\s*", rest):
        return OpenQuestion("", "which_room", attribute="this")
    return OpenQuestion("", "which_room", target=describe(rest.strip()), attribute=match["what"])


def _purpose(match: re.Match[str], core: str) -> OpenQuestion:
    """What the room of some thing, or this one, is for."""
    thing = re.sub(r"\b(?:stands?|is|are|hangs?|located)\s*$", "", match["thing"] or "").strip()
    room = room_said(match["where"] or "")
    target = describe(thing) if thing else Thing("", room=room)
    return OpenQuestion("", "attribute", target=target, attribute="purpose")


def _people(match: re.Match[str], core: str) -> OpenQuestion:
    """How many people can sleep or sit."""
    how = "sleep" if re.search(r"\b(?:sleep|bed|lie)", core) else "sit"
    return OpenQuestion("", "size", target=describe(match["rest"] or ""), attribute=how)


def _count(match: re.Match[str], core: str) -> OpenQuestion:
    rest = re.sub(
        rf"\b(?:{AUX} there|do {WE} (?:have|see)|does .* have|can (?:be seen|{WE} see)|{AUX}|"
        r"exist|visible|present|in total|in all|available|in (?:the|this) (?:scene|picture|image|"
        r"video|house|home|room|place|apartment))\b",
        " ",
        match["rest"],
    )
    return OpenQuestion("", "how_many", target=describe(" ".join(rest.split())))


def _color(match: re.Match[str], core: str) -> OpenQuestion:
    words = re.sub(r"^(?:does|do|did|has|have)\b|\b(?:have|has|got)\s*$", "", match["thing"])
    return OpenQuestion("", "color", target=_thing(words.strip()), attribute="color")


def _left(match: re.Match[str], core: str) -> OpenQuestion | None:
    """Whether somebody left a thing open: "did someone leave the fridge open"."""
    state = STATES.get(match["state"], "")
    return (
        OpenQuestion("", "state", target=describe(match["thing"]), attribute=state, polar=True)
        if state
        else None
    )


def _in_state(match: re.Match[str], core: str) -> OpenQuestion | None:
    """In what state a thing is: "what state is the oven in, open or closed"."""
    offered = re.search(r"\b(?P<a>[\w ]+?) or (?P<b>[\w ]+)$", match["choices"] or "")
    choices = (offered["a"].strip(), offered["b"].strip()) if offered else ()
    state = STATES.get(choices[0], choices[0]) if choices else "open"
    return OpenQuestion(
        "", "state", target=describe(match["thing"]), attribute=state,
        choices=choices or ("open", "closed"),
    )  # fmt: skip


def _anything(match: re.Match[str], core: str) -> OpenQuestion:
    thing = describe(f"thing {match['where']}")
    return OpenQuestion("", "is_there", target=thing, polar=True)


def _people_do(match: re.Match[str], core: str) -> OpenQuestion:
    """What people here do, told by the things they have: "does anybody play the piano"."""
    use = f"{match['who']} {match['use']}"
    return OpenQuestion(
        "", "used_for", target=Thing("", room=describe(use).room), polar=True, use=use
    )


def _attribute(match: re.Match[str], core: str) -> OpenQuestion:
    words = re.sub(r"\b(?:made of|made from|made|out of|have|has)\b", " ", match["thing"])
    name = {"size": "size", "sort": "type", "kind": "type"}.get(match["what"], match["what"])
    return OpenQuestion("", "attribute", target=_thing(words), attribute=name)


def _made_of(match: re.Match[str], core: str) -> OpenQuestion:
    return OpenQuestion("", "attribute", target=_thing(match["thing"]), attribute="material")


def _where(match: re.Match[str], core: str) -> OpenQuestion:
    thing = re.sub(
        r"\b(?:located|kept|placed|stored|at|found|put|now|left)\s*$", "", match["thing"]
    )
    return OpenQuestion("", "where", target=describe(thing.strip()))


def _use(match: re.Match[str], core: str) -> OpenQuestion | None:
    polar = bool(re.match(rf"(?:{AUX} there|do|does|can|could|have|is|are)\b", core))
    place = "place" if re.match(r"(?:where|is there (?:somewhere|anywhere|a place))", core) else ""
    use = match["use"].strip()
    return OpenQuestion(
        "", "used_for", target=Thing("", room=describe(use).room), attribute=place, polar=polar,
        use=use,
    )  # fmt: skip


def _space(match: re.Match[str], core: str) -> OpenQuestion:
    return OpenQuestion(
        "", "space", target=describe(match["rest"]), attribute="space", polar=True,
        use=match["rest"].strip(),
    )  # fmt: skip


def _presence(match: re.Match[str], core: str) -> OpenQuestion | None:
    words = re.sub(r"\bor not$", "", match["thing"]).strip()
    way = re.match(r"(?:a |any |some )?ways? (?:to|of|for) (?P<use>.+)", words)
    if way:
        return OpenQuestion("", "used_for", target=describe(way["use"]), polar=True, use=way["use"])
    thing = describe(words)
    if re.match(r"(?:any |enough |some |more |still |much )*(?:room|space)\b", words):
        return OpenQuestion("", "space", target=thing, attribute="space", polar=True, use=words)
    if thing.generic and re.search(r"\b(?:to|that|i|we) \w+", words) and not thing.relation:
        use = re.sub(rf"^.*?\b(?:to|that can|(?:that )?{WE} can use to)\b", "", words)
        return OpenQuestion("", "used_for", target=Thing("", room=thing.room), polar=True, use=use)
    return OpenQuestion("", "is_there", target=thing, polar=True)


def _compared(match: re.Match[str], core: str) -> OpenQuestion | None:
    """Which of two is larger or nearer, or whether one is."""
    attribute = _LARGER[match["how"]]
    first, rest = match["first"].strip(), match["rest"].strip()
    to = re.sub(r"^(?:to|than|from|of)\s+", "", rest)
    if re.match(rf"{AUX}\b", core) and " or " in first:
        return _offered(first, to, attribute)
    near = attribute in ("nearer", "farther")
    if near and re.match(rf"{AUX}\b", core) and re.search(r"\bor\b", to) and " than " not in to:
        listed = re.sub(r"\bor (?:to|from) ", "or ", to)
        return _offered(listed, first, attribute)
    if re.match(rf"{AUX}\b", core):
        if not rest:
            return None
        parts = [p for p in re.split(r"\s+(?:than|or)\s+", to, maxsplit=1) if p]
        return OpenQuestion(
            "", "size", target=_thing(first), others=tuple(map(describe, parts)),
            attribute=attribute, polar=True,
        )  # fmt: skip
    if " or " in rest:
        anchor = re.match(r"(?:to|from|than) (?P<to>.+) the (?P<list>.+ or .+)$", rest)
        if anchor:
            return _offered(anchor["list"], anchor["to"], attribute)
        return _offered(rest, "", attribute)
    kind = re.sub(rf"^(?:what|which)\b|\b{AUX}\b|\bthe\b", " ", first)
    ordinal = re.search(rf"\b(?:{_RANKS}|\d{{1,3}}(?:st|nd|rd|th))\b", kind)
    rank = max(1, ordinal_of(ordinal[0])) if ordinal else 1
    kind = kind.replace(ordinal[0], " ") if ordinal else kind
    if attribute not in ("nearer", "farther"):
        rest = re.sub(r"^(?:piece|item|kind|sort|bit)s? of ", "", rest)
        target = describe(f"{kind} {rest}")
        return OpenQuestion("", "size", target=target, attribute=attribute, rank=rank)
    head, _, tail = f" {rest}".partition(" to " if " to " in f" {rest}" else " from ")
    others = (describe(tail or to),) if tail or to else ()
    return OpenQuestion(
        "", "size", target=describe(f"{kind} {head}"), others=others, attribute=attribute, rank=rank
    )


def _offered(words: str, to: str, attribute: str) -> OpenQuestion:
    """A choice between things: "the chair or the bed"."""
    parts = (w.strip().removeprefix("the ") for w in re.split(r"\s+or\s+", words))
    offered = tuple(part for part in parts if part)
    others = tuple(map(describe, offered)) + ((describe(to),) if to else ())
    return OpenQuestion("", "size", others=others, attribute=attribute, choices=offered)


def _measure(match: re.Match[str], core: str) -> OpenQuestion:
    parts = re.split(
        r"\s+(?:from|to|and)\s+",
        re.sub(r"^(?:(?:is|are|away|it|from|between)\s+)+", "", match["rest"]),
    )
    things = [describe(p) for p in parts if p.strip()]
    return OpenQuestion(
        "", "size", target=things[0] if things else ANY, others=tuple(things[1:]),
        attribute=match["how"],
    )  # fmt: skip


def _state(match: re.Match[str], core: str) -> OpenQuestion | None:
    found = _STATE.match(match["rest"])
    if found is None or not describe(found["thing"]).words:
        return None
    choices = (found["state"], re.sub(r"^not\b.*", "not", found["other"])) if found["other"] else ()
    thing = describe(found["thing"])
    if found["other"] and found["other"].strip() == "not":
        choices = ()
    return OpenQuestion(
        "", "state", target=thing, attribute=STATES[found["state"]], choices=choices,
        polar=not choices, use="not" if found["not"] else "",
    )  # fmt: skip


def _polar(match: re.Match[str], core: str) -> OpenQuestion | None:
    """Whether a thing is of a color, stands somewhere, or is as some word says."""
    rest = re.sub(r"\bor not$", "", match["rest"]).strip()
    colored = re.match(
        r"(?P<thing>.+?) (?P<a>[a-z-]+)(?: or (?P<b>[a-z-]+))?(?: in color| colored)?$", rest
    )
    if colored and basic_color(colored["a"]) and (not colored["b"] or basic_color(colored["b"])):
        choices = (colored["a"], colored["b"]) if colored["b"] else ()
        return OpenQuestion(
            "", "color", target=describe(colored["thing"]), attribute=colored["a"],
            choices=choices, polar=not choices,
        )  # fmt: skip
    thing = describe(rest)
    if (thing.relation or thing.room) and thing.name:
        return OpenQuestion("", "relation", target=thing, polar=True)
    head, _, last = rest.rpartition(" ")
    return OpenQuestion(
        "", "state", target=describe(head or rest), attribute=last if head else "", polar=True
    )


def _what(match: re.Match[str], core: str) -> OpenQuestion | None:
    words = re.sub(
        rf"^(?:{AUX}|can be seen|can {WE} see|do {WE} see|"
        rf"(?:did|do|does|have|has) (?:{WE}|they|somebody) (?:mount|put|hang|hung|place|leave|"
        rf"left|"
        r"keep|kept|set|store|install|stick)(?:ed|d)?|"
        r"hangs?|stands?|sits?|lies|rests?|leans?|goes|lives?)\s+",
        "",
        match["rest"],
    )
    kind, _, where = re.sub(r"\s+", " ", words).partition(" is ")
    if not where:
        kind, _, where = words.partition(" are ")
    if where and not re.match(r"(?:the|a)\b", words):
        words = f"{kind} {where}"
    words = re.sub(r"\b(?:can be (?:found|seen)|is|are|visible|kept)\b", " ", words)
    thing = describe(" ".join(words.split()))
    if not thing.words and not thing.relation and not thing.room:
        return None
    return OpenQuestion("", "what", target=thing)


def _does(match: re.Match[str], core: str) -> OpenQuestion | None:
    owner, thing = describe(match["owner"]), describe(match["thing"])
    if owner.room or room_said(match["owner"]) or not owner.known:
        room = owner.room or room_said(match["owner"])
        return OpenQuestion("", "is_there", target=replace(thing, room=room), polar=True)
    return OpenQuestion(
        "", "is_there", target=replace(thing, relation="in", anchors=(owner,)), polar=True
    )


CAN = r"(?:can|could|should|would|might|may|do|must)"
_TRAIT = r"(?P<what>material|shape|brand|pattern|size|type|kind|sort|style|company|breed)"
_SEEN = r"(?:see|seen|notice|noticed|find|found|spot|spotted)"
_SOMETHING = r"(?:something|anything|somewhere|anywhere|a place|any place)"
_STANDS = (
    r"(?:on|under|in|next|behind|above|inside|near|between|beside|over|left|hanging|written|below)"
)
_HOME = rf"(?:{WE}|this (?:house|home|place|room|apartment)|the (?:house|home|apartment))"
_WHERE_DID = (
    rf"(?:{AUX}|did {WE} (?:put|leave|left|see|place|keep)|"
    rf"can {WE} (?:find|see|look for|locate)|do {WE} (?:keep|find|store)|has .* been|might|could)"
)
_PEOPLE = (
    r"(?:the |any )?(?:people|anyone|anybody|somebody|someone|person|residents?|family|children|"
    r"kids?|owners?|tenants?|occupants?|a person|one|humans?|babies|pets?)"
)
_TABLE: tuple[tuple[str, Build], ...] = (
    (
        r"\b(?:what|which) is (?P<where>the (?:room|[\w ]+?)|this room|it)(?: (?:with|where|that "
        r"has|containing) (?P<thing>.+?))? (?:mainly |mostly |usually |primarily )?used for",
        _purpose,
    ),
    (
        rf"\bwhat (?:do|does|can|could|would) {WE} (?:usually |mostly |mainly |normally )?do in "
        r"(?P<where>the room|this room|[\w ]+?)(?: (?:with|where|that has) (?P<thing>.+))?$",
        _purpose,
    ),
    (r"\b(?:main |primary )?(?:purpose|function) of (?P<where>[\w ]*?room)(?P<thing>)", _purpose),
    (
        r"\b(?:how many people|how many persons|maximum number of people).*?\b"
        r"(?:sleep|sit|be seated|seated|a bed)\b(?P<rest>.*)",
        _people,
    ),
    (
        r"\b(?:what|which) (?:kind|type|sort) of (?P<what>room)s?\b(?P<rest>.*)",
        _room,
    ),
    (
        r"\b(?:what|which) (?P<what>room|floor|level|story|part of the house)"
        r"s?\b(?P<rest>.*)",
        _room,
    ),
    (
        r"\b(?:what|which|in what|in which) (?:state|condition) (?:is|are) (?P<thing>.+?)"
        r"(?: in)?(?P<choices> [\w]+ or [\w]+)?$",
        _in_state,
    ),
    (r"\bhow many\b(?P<rest>.*)", _count),
    (r"\b(?:what is the number of|(?:can|could|will) you count|^count)\b(?P<rest>.*)", _count),
    (rf"\b(?:what|which) colors? (?:pattern )?(?:{AUX} )?(?P<thing>.+)", _color),
    (
        r"\b(?:what|which) (?:is|are) (?:the )?(?:\w+ )?colors? (?:scheme |pattern )?"
        r"of (?P<thing>.+)",
        _color,
    ),
    (
        rf"\b(?:what|which) {_TRAIT}s? (?:of )?(?:{AUX} |does |do )?(?P<thing>.+)",
        _attribute,
    ),
    (
        rf"\b(?:what|which) {AUX} (?:the )?{_TRAIT}s?(?: name)? (?:of|on) (?P<thing>.+)",
        _attribute,
    ),
    (rf"\bwhat {AUX} (?P<thing>.+?) made (?:of|from|out of)$", _made_of),
    (
        rf"\bwhere (?:{CAN}|would you suggest) ?{WE}? "
        rf"(?P<use>(?!(?:{WE} )?(?:find|see|look for|locate|look)\b).+)",
        _use,
    ),
    (rf"\bwhere {WE} {CAN} (?P<use>.+)", _use),
    (
        rf"\b(?:where|in which place|on which side|which side) {_WHERE_DID} ?(?P<thing>.+)",
        _where,
    ),
    (rf"^(?:have|did) {WE} {_SEEN} (?P<thing>.+)", _where),
    (rf"^where ?(?:{AUX})? (?P<thing>.+)", _where),
    (
        rf"\b(?:what|which) (?:\w+ ){{0,2}}?{CAN} {WE} (?!{_SEEN}\b|call\b|have\b)"
        r"(?:use|sit|do|go|need|take|eat|drink|grab|wear|check|try)?(?: on| in| it)?"
        r"(?: to| for| if| when| as)? ?(?P<use>.*)",
        _use,
    ),
    (
        rf"\b(?:what|which) .*?\b(?:help|helps|serves?|allows?|lets?|enables?) {WE}? ?(?:me |us )?"
        r"(?:to |for )?(?P<use>.+)",
        _use,
    ),
    (rf"\bhow {CAN} {WE} (?P<use>.+)", _use),
    (rf"\bhow {WE} {CAN} (?P<use>.+)", _use),
    (rf"\b(?:what|which) .*\b{WE} {CAN} use (?:to|for) (?P<use>.+)", _use),
    (
        rf"^{AUX} there (?:any |enough |some |more |still )*(?:room|space) (?P<rest>.+)",
        _space,
    ),
    (r"^(?:can|could) (?:i|we|you|the .+?) (?:fit|put|place|add|store) (?P<rest>.+)", _space),
    (
        rf"^{AUX} there {_SOMETHING}(?: here)?(?: that| where)?(?: in the \w+| \w+)?? "
        rf"(?:{WE} {CAN}(?: use| go)?(?: to)?|to|for|can|could) (?P<use>(?!{_STANDS}\b).+)",
        _use,
    ),
    (
        rf"^(?:{AUX}|has|have) (?:there )?(?:something|anything|someone|somebody) ?"
        rf"(?:been )?(?:put|placed|left|standing|lying|kept|set|stored)? "
        rf"?(?P<where>{_STANDS}\b.+)",
        _anything,
    ),
    (
        rf"^(?:did|has|have|was|were) (?:{WE}|they|anyone|anybody) (?:leave|left|keep|kept) "
        r"(?P<thing>.+?) (?P<state>open|closed|on|off|unlocked|running|empty|full)$",
        _left,
    ),
    (rf"^(?:do|does|did|can|could|may) (?P<who>{_PEOPLE})(?: here)? (?P<use>.+)", _people_do),
    (
        rf"^{AUX} (?P<first>.+? or .+?) (?P<how>{_MORE})\b(?P<rest>.*)",
        _compared,
    ),
    (rf"^{AUX} (?P<first>.+?) (?P<how>{_MORE}) (?P<rest>(?:to|than|from) .+)", _compared),
    (rf"^(?:what|which) (?P<first>.*?)\b(?P<how>{_COMPARED})\b(?P<rest>.*)", _compared),
    (
        r"\bhow (?P<how>tall|high|big|large|wide|long|deep|far|close)\b (?P<rest>.+)",
        _measure,
    ),
    (rf"^{AUX} there (?P<thing>.+)", _presence),
    (
        rf"^(?:do|does|did|have|has) {_HOME} (?:have|got|own|see|contain)? ?(?P<thing>.+)",
        _presence,
    ),
    (r"^(?:does|do) (?P<owner>.+?) (?:have|contain|hold) (?P<thing>.+)", _does),
    (rf"^(?:can|could) {WE} (?P<use>.+)", _use),
    (rf"^(?:{AUX}|has|have) (?P<rest>.+)", _state),
    (rf"^{AUX} (?P<rest>.+)", _polar),
    (r"\b(?:what|which|who)\b (?P<rest>.+)", _what),
)
KINDS = tuple((re.compile(pattern), build) for pattern, build in _TABLE)
