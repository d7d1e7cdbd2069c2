"""What an open question asks: its kind, the thing, where it stands, the answers it offers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from coterie_core.lexicon import load_lexicon
from coterie_core.relations import RelationKind
from openeqa_agent.categories import Category, categorize
from openeqa_agent.words import ANY, Thing, basic_color, clean, describe, room_said

Kind = Literal[
    "is_there",
    "what",
    "where",
    "how_many",
    "color",
    "attribute",
    "state",
    "which_room",
    "used_for",
    "relation",
    "size",
    "space",
    "other",
]
"""What is asked: whether there is such a thing; what stands somewhere; where; how many; its color;
another attribute (material, shape, ...); its state; the room; what serves a use; whether a relation
holds; how large or which is larger or nearer; whether there is room for more; none of these."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question understood as far as its words go.

    Attributes:
        text: As asked.
        kind: What is asked.
        category: One of the benchmark's seven.
        target: The thing that is asked about, or what kind of thing is asked for.
        others: Further things: what the target is compared with, or nearness is measured to.
        attribute: "material", "shape", "floor", "open", "clean", "larger", "nearer", "far", ...
        choices: Answers that the question offers ("open or closed"), as said.
        polar: Whether yes or no is asked for.
        use: The words that name a use, for `used_for` and `space`.
    """

    text: str
    kind: Kind = "other"
    category: Category = "object_recognition"
    target: Thing = ANY
    others: tuple[Thing, ...] = ()
    attribute: str = ""
    choices: tuple[str, ...] = ()
    polar: bool = False
    use: str = ""

    @property
    def relation(self) -> RelationKind | None:
        """How the target stands to the anchors."""
        return self.target.relation

    @property
    def anchors(self) -> tuple[Thing, ...]:
        """What the target stands to."""
        return self.target.anchors

    @property
    def room(self) -> str:
        """The room that is spoken of, or ""."""
        return self.target.room


_ASKS = re.compile(
    r"\b(?:what|which|where|how|who|why|when|is|are|does|do|did|can|could|has|have|will|would|was|were)\b"
)
_AUX = r"(?:is|are|was|were)"
_I = r"(?:i|we|you|one|someone|somebody|people|a person|the adult|he|she|they)"
STATES: dict[str, str] = {
    **dict.fromkeys(("open", "opened", "ajar", "drawn", "unlocked"), "open"),
    **dict.fromkeys(("closed", "close", "shut", "locked"), "closed"),
    **dict.fromkeys(("on", "turned on", "switched on", "lit", "running", "powered on"), "on"),
    **dict.fromkeys(("off", "turned off", "switched off", "powered off"), "off"),
    **dict.fromkeys(("clean", "tidy", "neat", "organized", "organised", "clear"), "clean"),
    **dict.fromkeys(("dirty", "messy", "cluttered", "untidy", "disorganized", "used"), "messy"),
    **dict.fromkeys(("empty", "free", "unoccupied", "available", "vacant"), "empty"),
    **dict.fromkeys(("full", "occupied", "filled"), "full"),
    **dict.fromkeys(("made", "made up"), "made"),
    **dict.fromkeys(("plugged in", "plugged", "connected"), "plugged in"),
    **dict.fromkeys(("unmade",), "unmade"),
    **dict.fromkeys(("folded",), "folded"),
}
"""Words for states, and one name for each."""
_STATE = re.compile(
    rf"^(?P<thing>.+?)(?: {_AUX})?(?: (?:currently|fully|completely|all|already|still|been|in))*"
    r" (?P<not>not )?(?P<state>"
    + "|".join(sorted(map(re.escape, STATES), key=len, reverse=True))
    + r")(?: or (?P<other>.+))?$"
)
_LARGER = {
    "bigger": "larger", "larger": "larger", "smaller": "smaller", "taller": "taller",
    "higher": "higher", "shorter": "shorter", "lower": "lower", "wider": "wider",
    "longer": "longer",
    "closer": "nearer", "nearer": "nearer", "closest": "nearer", "nearest": "nearer",
    "biggest": "larger", "largest": "larger", "smallest": "smaller", "tallest": "taller",
    "farther": "farther", "further": "farther", "farthest": "farther", "furthest": "farther",
}  # fmt: skip
_COMPARED = "|".join(_LARGER)
_MORE = "|".join(word for word in _LARGER if not word.endswith("est"))


@lru_cache(maxsize=4096)
def parse_open(text: str) -> OpenQuestion:
    """Return what a question asks; never fails, whatever the text."""
    said = clean(text)
    core = _core(said)
    found = OpenQuestion(text)
    for pattern, build in _KINDS:
        match = pattern.search(core)
        if match is not None:
            result = build(match, core)
            if result is not None:
                found = result
                break
    else:
        found = OpenQuestion(text, target=describe(core))
    room = found.target.room or room_said(said)
    if room and found.kind not in ("which_room",):
        found = replace(found, target=replace(found.target, room=found.target.room or ""))
    return replace(found, text=text, category=categorize(text))


def _core(said: str) -> str:
    """Return the clause that asks: the last sentence with a question word, conditions cut."""
    parts = [part.strip() for part in re.split(r"[.?!;]+", said) if part.strip()]
    asking = [p for p in parts if _ASKS.match(p)] or [p for p in parts if _ASKS.search(p)]
    core = asking[-1] if asking else (parts[-1] if parts else "")
    clauses = [c.strip() for c in core.split(",") if c.strip()]
    if len(clauses) > 1:
        starts = [k for k, clause in enumerate(clauses) if _ASKS.match(clause)]
        if starts and starts[0] > 0:
            core = " ".join(clauses[starts[0] :])
    core = re.sub(r"^(?:also|and|so|then|please|tell me|do you know|can you tell me)\s+", "", core)
    return " ".join(core.replace(",", " ").split())


def _thing(words: str | None) -> Thing:
    return describe(re.sub(rf"^\s*(?:{_AUX})\s+", "", words or "").strip())


# -- one builder per pattern: the question, or None where the words mean something else --------

Build = Callable[[re.Match[str], str], OpenQuestion | None]


def _room(match: re.Match[str], core: str) -> OpenQuestion:
    rest = re.sub(r"\b(?:in|located|kept|at|found)\s*$", "", match["rest"])
    rest = re.sub(rf"^\s*(?:{_AUX}|does|do|did|can|has|have|should i go to see)\b", "", rest)
    rest = re.sub(r"^\s*(?:there|i see|you see|i find|we find|contains?)\b", "", rest)
    if re.fullmatch(r"\s*(?:this|that|it|the room)?\s*(?:room)?\s*", rest):
        return OpenQuestion("", "which_room", attribute="this")
    return OpenQuestion("", "which_room", target=describe(rest), attribute=match["what"])


def _count(match: re.Match[str], core: str) -> OpenQuestion:
    rest = re.sub(
        rf"\b(?:{_AUX} there|do {_I} (?:have|see)|does .* have|can (?:be seen|{_I} see)|{_AUX}|"
        r"exist|visible|present|in total|in all|available|in (?:the|this) (?:scene|picture|image|"
        r"video|house|home|room|place|apartment))\b",
        " ",
        match["rest"],
    )
    return OpenQuestion("", "how_many", target=describe(" ".join(rest.split())))


def _color(match: re.Match[str], core: str) -> OpenQuestion:
    return OpenQuestion("", "color", target=_thing(match["thing"]), attribute="color")


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
    polar = bool(re.match(rf"(?:{_AUX} there|do|does|can|could|have)\b", core))
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
    words = re.sub(r"\bor not$", "", match["thing"])
    thing = describe(words.strip())
    if re.search(r"\b(?:room|space|enough)\b", words.split(" for ")[0]) and not thing.known:
        return OpenQuestion("", "space", target=thing, attribute="space", polar=True, use=words)
    if thing.generic and re.search(r"\b(?:to|that|i|we) \w+", words) and not thing.relation:
        use = re.sub(rf"^.*?\b(?:to|that can|(?:that )?{_I} can use to)\b", "", words)
        return OpenQuestion("", "used_for", target=Thing("", room=thing.room), polar=True, use=use)
    return OpenQuestion("", "is_there", target=thing, polar=True)


def _compared(match: re.Match[str], core: str) -> OpenQuestion | None:
    """Which of two is larger or nearer, or whether one is."""
    attribute = _LARGER[match["how"]]
    polar = bool(re.match(rf"{_AUX}\b", core))
    rest = match["rest"]
    if polar:
        first = _thing(match["first"])
        to = re.sub(r"^(?:to|than|from)\s+", "", rest)
        parts = re.split(r"\s+(?:than|or)\s+", to, maxsplit=1)
        return OpenQuestion(
            "", "size", target=first, others=tuple(describe(p) for p in parts if p),
            attribute=attribute, polar=True,
        )  # fmt: skip
    if " or " in rest:
        anchor = re.match(r"(?:to|from|than) (?P<to>.+?)(?: the (?P<list>.+ or .+))$", rest)
        head = re.match(r"(?:the )?(?P<list>.+ or .+)$", rest)
        words = anchor["list"] if anchor else (head["list"] if head else rest)
        to = anchor["to"] if anchor else ""
        offered = tuple(w.strip() for w in re.split(r"\s+or\s+", words) if w.strip())
        others = tuple(describe(w) for w in offered)
        if to:
            others = (*others, describe(to))
        return OpenQuestion("", "size", others=others, attribute=attribute, choices=offered)
    to = re.sub(r"^(?:to|from|than)\s+", "", rest)
    kind = re.sub(rf"^(?:what|which)\b|\b{_AUX}\b|\bthe\b", " ", match["first"])
    others = (describe(to),) if to else ()
    return OpenQuestion("", "size", target=describe(kind), others=others, attribute=attribute)


def _measure(match: re.Match[str], core: str) -> OpenQuestion:
    parts = re.split(r"\s+(?:from|to|and)\s+", re.sub(r"^(?:is|are|away)\s+", "", match["rest"]))
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
    colored = re.match(r"(?P<thing>.+) (?P<a>[a-z-]+)(?: or (?P<b>[a-z-]+))?(?: in color)?$", rest)
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
    words = re.sub(rf"^(?:{_AUX}|can be seen|can {_I} see|do {_I} see)\s+", "", match["rest"])
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


_CAN = r"(?:can|could|should|would|might|may|do|must)"
_TRAIT = r"(?P<what>material|shape|brand|pattern|size|type|kind|sort|style|company|breed)"
_SEEN = r"(?:see|seen|notice|noticed|find|found|spot|spotted)"
_SOMETHING = r"(?:something|anything|somewhere|anywhere|a place|any place)"
_STANDS = (
    r"(?:on|under|in|next|behind|above|inside|near|between|beside|over|left|hanging|written|below)"
)
_HOME = rf"(?:{_I}|this (?:house|home|place|room|apartment)|the (?:house|home|apartment))"
_WHERE_DID = (
    rf"(?:{_AUX}|did {_I} (?:put|leave|left|see|place|keep)|"
    rf"can {_I} (?:find|see|look for|locate)|do {_I} (?:keep|find|store)|has .* been|might|could)"
)
_TABLE: tuple[tuple[str, Build], ...] = (
    (r"\b(?:what|which) (?P<what>room|floor|level|story|part of the house)s?\b(?P<rest>.*)", _room),
    (r"\bhow many\b(?P<rest>.*)", _count),
    (r"\bwhat is the number of\b(?P<rest>.*)", _count),
    (rf"\b(?:what|which) colors? (?:pattern )?(?:{_AUX} )?(?P<thing>.+)", _color),
    (
        r"\b(?:what|which) (?:is|are) (?:the )?(?:\w+ )?colors? (?:scheme |pattern )?"
        r"of (?P<thing>.+)",
        _color,
    ),
    (
        rf"\b(?:what|which) {_TRAIT}s? (?:of )?(?:{_AUX} |does |do )?(?P<thing>.+)",
        _attribute,
    ),
    (
        rf"\b(?:what|which) {_AUX} (?:the )?{_TRAIT}s?(?: name)? (?:of|on) (?P<thing>.+)",
        _attribute,
    ),
    (rf"\bwhat {_AUX} (?P<thing>.+?) made (?:of|from|out of)$", _made_of),
    (
        rf"\bwhere (?:{_CAN}|would you suggest) ?{_I}? "
        r"(?P<use>(?!find|see|look for|locate).+)",
        _use,
    ),
    (rf"\bwhere {_I} {_CAN} (?P<use>.+)", _use),
    (
        rf"\b(?:where|in which place|on which side|which side) {_WHERE_DID} ?(?P<thing>.+)",
        _where,
    ),
    (rf"^(?:have|did) {_I} {_SEEN} (?P<thing>.+)", _where),
    (rf"\bwhere ?(?:{_AUX})? (?P<thing>.+)", _where),
    (
        rf"\b(?:what|which) (?:\w+ ){{0,2}}?{_CAN} {_I} "
        r"(?:use|sit|do|go|need|take|eat|drink|grab|wear|check|try)?(?: on| in| it)?"
        r"(?: to| for| if| when| as)? ?(?P<use>.*)",
        _use,
    ),
    (rf"\bhow {_CAN} {_I} (?P<use>.+)", _use),
    (rf"\bhow {_I} {_CAN} (?P<use>.+)", _use),
    (rf"\b(?:what|which) .*\b{_I} {_CAN} use (?:to|for) (?P<use>.+)", _use),
    (
        rf"^{_AUX} there (?:any |enough |some |more |still )*(?:room|space) (?P<rest>.+)",
        _space,
    ),
    (r"^(?:can|could) (?:i|we|you|the .+?) (?:fit|put|place|add|store) (?P<rest>.+)", _space),
    (
        rf"^{_AUX} there {_SOMETHING}(?: here)?(?: that| where)?(?: {_I} {_CAN}(?: use| go)?)? ?"
        rf"(?:in the \w+ )?(?:to|for|can|could)? (?P<use>(?!{_STANDS}\b).+)",
        _use,
    ),
    (rf"^{_AUX} (?P<first>.+?) (?P<how>{_MORE}) (?P<rest>(?:to|than|from) .+)", _compared),
    (rf"^(?:what|which) (?P<first>.*?)\b(?P<how>{_COMPARED})\b(?P<rest>.*)", _compared),
    (
        r"\bhow (?P<how>tall|high|big|large|wide|long|deep|far|close)\b (?P<rest>.+)",
        _measure,
    ),
    (rf"^{_AUX} there (?P<thing>.+)", _presence),
    (
        rf"^(?:do|does|did|have|has) {_HOME} (?:have|got|own|see|contain)? ?(?P<thing>.+)",
        _presence,
    ),
    (r"^(?:does|do) (?P<owner>.+?) (?:have|contain|hold) (?P<thing>.+)", _does),
    (rf"^(?:can|could) {_I} (?P<use>.+)", _use),
    (rf"^(?:{_AUX}|has|have) (?P<rest>.+)", _state),
    (rf"^{_AUX} (?P<rest>.+)", _polar),
    (r"\b(?:what|which|who)\b (?P<rest>.+)", _what),
)
_KINDS = tuple((re.compile(pattern), build) for pattern, build in _TABLE)


def uses_of(question: OpenQuestion) -> list[str]:
    """Return names of the lexicon's uses that a question asks for, best first."""
    lexicon = load_lexicon()
    found = lexicon.uses_in(clean(question.use)) or lexicon.uses_in(clean(question.text))
    strong = [pair for pair in found if not lexicon.uses[pair[1]].weak] or found
    return [name for _, name in strong if not lexicon.uses[name].modifies]
