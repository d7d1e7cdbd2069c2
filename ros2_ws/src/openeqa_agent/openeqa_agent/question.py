"""Open questions in words to what they ask."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from coterie_core.colors import basic_color
from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding import plain_text, unknown_words
from coterie_requests.understanding.descriptions import (
    ANY,
    MAX_QUESTION_CHARS,
    PREPOSITION,
    Thing,
    clean,
    describe,
    room_said,
)
from coterie_requests.understanding.turned import comparatives, negations
from openeqa_agent.associations import things_for
from openeqa_agent.narrower import narrower
from openeqa_agent.patterns import AUX, CAN, KINDS, WE
from openeqa_agent.rewrite import excluded, politely, shaped
from openeqa_agent.understood import OpenQuestion, sort_category

_THERE = re.compile(
    r"^(?P<aux>is|are) there (?P<a>(?:an?|any|some|the) [\w -]+?) or (?P<b>(?:an?|any|some|the) "
    rf"[\w -]+?)(?P<where> {PREPOSITION} .+)?$"
)
_PLACES = re.compile(
    rf"^(?P<head>(?:is|are) (?:the|my|our|your|an?) [\w -]+?) (?P<a>{PREPOSITION} [\w -]+?) or "
    r"(?P<b>[\w -]+)$"
)
_SUBJECTS = re.compile(
    r"^(?P<aux>is|are) (?P<a>(?:the|my|our|your) [\w -]+?) or (?P<b>(?:the|my|our|your) [\w -]+?) "
    rf"(?P<where>{PREPOSITION} .+)$"
)
_MORE = re.compile(
    r"^(?:are|is) there more (?P<a>[\w -]+?) or (?:more )?(?P<b>[\w -]+?)"
    rf"(?P<where> {PREPOSITION} .+)?$|^(?:are|is) there more (?P<c>[\w -]+?) than (?P<d>[\w -]+?)"
    rf"(?P<there> {PREPOSITION} .+)?$"
)

_ASKS = re.compile(
    r"\b(?:what|which|where|how|who|whose|why|when|is|are|does|do|did|can|could|has|have|will|"
    r"would|was|were|count)\b"
)
_OF_A_THING = ("is_there", "where", "how_many", "color", "state", "relation")
_ASKING = re.compile(r"\b(?:what|which|where|how|who|whose|why|when)\b")
_YES_NO = re.compile(r"(?:is|are|was|were|can|could|would|will|do|does|did|has|have|should)\b")
_SPEAKS = re.compile(r"\b(?:i|me|my|we|us|our|you|may|with what)\b")
_EMPTY = re.compile(
    rf"^(?:(?:{AUX}|can|could|would|will|do|does|did|has|have|should|there|it|this|that|the|an?|any)"
    r"\b\s*)*$"
)
_DEFINITE = re.compile(r"\b(?:the|this|these|my|our|your|both)\b")
_FILLER = re.compile(
    r"\b(?:in|inside|around|throughout|of) (?:the|this|our|my|that) (?:entire |whole )?"
    r"(?:house|home|apartment|flat|building|scene|image|picture|video|environment)\b(?! in\b)"
    r"|\b(?:also|please|currently|by any chance|exactly)\b"
)
_SUBJECT = re.compile(
    r"\b(?:(?:i|we|you) (?:are |have |just |really |think i )*(?:need|want|lost|miss|"
    r"misplaced|put|"
    r"left|saw|own|can not find|could not find|do not (?:see|find|remember where i (?:put|left))|"
    r"looking for|searching for|look for|like to find)|looking for|there (?:is|are)|"
    r"(?:is|are) there|notice|see|find|something (?:is|hangs|stands|lies|sits)) "
    r"(?P<thing>(?!to\b|it\b).+)$"
)
_SO = re.compile(r"^.*, so (?=what|which|where|how)")
"""What was said before the clause that asks."""
_LATER = re.compile(
    r" (?:yesterday|today|earlier|before|somewhere|anywhere|this morning|last (?:week|night)|"
    r"again|"
    r"recently|just now)\b.*$"
)
_IT = r"(?:it|they|them|that|those|this|these)"
_PRONOUN = re.compile(
    rf"^(?P<ask>(?:where|what|which|how many|what color|what kind)\b.*?) {_IT}(?: (?:is|are))?$"
)
_ANY_PRONOUN = re.compile(rf"\b(?:{_IT}|the (?:one|thing|object))\b")
_SOMETHING = re.compile(
    r"^(?:there (?:is|are) |(?:i|we|you) (?:can |could |do )?(?:see|saw|notice|noticed|found|"
    r"spotted|"
    r"have seen) )?(?:something|some thing|a thing|an object)\b"
)
_CARRIES = re.compile(
    r"^(?P<where>(?:the|my|our) .+?) (?:carries|holds|has|bears|supports) (?:something|a thing|an "
    r"object)\b"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What is offered, as said, and a question for each: of yes or no, or of how many."""

    words: tuple[str, ...]
    questions: tuple[str, ...]


def split_choice(core: str) -> Choice | None:
    """Return the choice that a clause offers between things or places; None: it offers none."""
    if " or " not in core and " than " not in core:
        return None
    more = _MORE.match(core)
    if more and more["a"]:
        where = more["where"] or ""
        return _choice((more["a"], more["b"]), "how many {} are there" + where)
    if " or " not in core:
        return None
    there = _THERE.match(core)
    if there:
        return _choice((there["a"], there["b"]), f"is there {{}}{there['where'] or ''}")
    subjects = _SUBJECTS.match(core)
    if subjects:
        return _choice((subjects["a"], subjects["b"]), f"is {{}} {subjects['where']}")
    places = _PLACES.match(core)
    if places:
        first, second = places["a"], places["b"]
        if not re.match(rf"(?:{PREPOSITION}|the|my|our|an?)\b", second):
            return None  # "is the chest in the hall open or closed"
        if not re.match(rf"{PREPOSITION}\b", second):
            second = f"{re.match(PREPOSITION, first)[0]} {second}"  # type: ignore[index]
        return _choice((first, second), f"{places['head']} {{}}")
    return None


def _choice(words: tuple[str, str], form: str) -> Choice:
    said = tuple(word.strip() for word in words)
    return Choice(said, tuple(form.format(word) for word in said))


@lru_cache(maxsize=4096)
def parse_open(text: str) -> OpenQuestion:
    """Return what a question asks; never fails, whatever the text.

    Of a text of more than `descriptions.LONGEST` characters the first ones are read.
    """
    core, context = _core(clean(plain_text(text[: 2 * MAX_QUESTION_CHARS])))
    asked = core
    core, context = (" ".join(_FILLER.sub(" ", part).split()) for part in (core, context))
    core, without = excluded(politely(core))
    core = _with_subject(politely(core), context)
    core, opposite = shaped(core)
    choice = split_choice(core)
    if choice is not None:
        options = tuple(_understood(text, option, "") for option in choice.questions)
        found = OpenQuestion(
            text, "choice", options[0].category, options[0].target, choices=choice.words,
            options=options,
        )  # fmt: skip
        return replace(found, unheard=_unheard(found, asked))
    found = replace(_understood(text, core, context), opposite=opposite)
    if without:
        parts = [describe(part) for part in re.split(r" and | or ", without)]
        names = tuple(narrower(part.words) or part.name for part in parts)
        target = replace(found.target, without=tuple(name for name in names if name))
        found = replace(found, target=target)
    return replace(found, unheard=_unheard(found, asked))


def _unheard(found: OpenQuestion, asked: str) -> tuple[str, ...]:
    """Return the words of a clause that deny or compare, where a reading has nothing for them."""
    words: tuple[str, ...] = ()
    every = (found, *found.options)
    things = [thing for one in every for thing in (one.target, *one.others)]
    if not any(one.opposite or one.use == "not" for one in every):
        if not any(thing.without for thing in things) and "not" not in found.choices:
            words = negations(_SO.sub("", asked))
    # "How can I make it darker?": what a thing is to do may be told by comparing.
    if not any(one.kind == "size" or (one.kind == "used_for" and one.parsed) for one in every):
        traits = {trait for thing in things for trait in thing.words.split() if thing.traits}
        words += tuple(word for word in comparatives(asked) if word not in traits)
    return words


def _understood(text: str, core: str, context: str) -> OpenQuestion:
    """Return what a clause in a usual shape asks."""
    found = _anaphoric(core, context)
    for pattern, build in KINDS:
        if found is not None:
            break
        match = pattern.search(core)
        if match is not None:
            found = build(match, core)
    if found is None or _is_salad(found, core):
        found = _by_words(text, core, context, found)
    if found.kind in ("used_for", "space") and context:
        # "I want to hang up my jacket. What should I use?": the use is in what was said before.
        found = replace(found, use=f"{found.use}, {context}" if found.use else context)
        room = describe(context).room
        if room and not found.target.room:
            found = replace(found, target=replace(found.target, room=room))
    elif not found.target.room and re.match(r"(?:going by|judging by|in|from)\b", context):
        room = describe(context).room
        found = replace(found, target=replace(found.target, room=room))
    polar = found.polar or (found.kind == "other" and bool(_YES_NO.match(_EMPTY.sub("", core))))
    found = replace(found, text=text, polar=polar)
    return replace(found, category=sort_category(found, core, context))


def _by_words(text: str, core: str, context: str, read: OpenQuestion | None) -> OpenQuestion:
    """What is asked where no pattern fits: what serves, if the words speak of uses."""
    said = f"{core}, {context}" if context else core
    room = describe(core).room
    polar = bool(_YES_NO.match(core)) and not _ASKING.search(core)
    asks = bool(_ASKS.search(said) or _SPEAKS.search(said))
    if asks and things_for(said) and not (_is_of_things(core, polar, read) or unknown_words(said)):
        place = "place" if re.match(r"where\b", core) else ""
        return OpenQuestion(
            text, "used_for", target=Thing("", room=room), attribute=place, polar=polar, use=said,
            parsed=False,
        )  # fmt: skip
    return OpenQuestion(text, target=replace(ANY, room=room), parsed=False)


def _is_of_things(core: str, polar: bool, read: OpenQuestion | None) -> bool:
    """Whether a clause asks about things that it names, so that no use is asked for.

    "Is the toilet lid closed?" is not answered by what closes, nor a color by a thing.
    """
    mentions = load_lexicon().mentions
    definite, named = len(_DEFINITE.findall(core)), len(mentions(core))
    if not polar:
        other = read is not None and read.kind not in ("what", "where")
        return other or (definite > 1 and named > 1)
    if read is None or read.kind != "is_there":
        return definite > 0
    # "Are there cleaning solutions for dirty plates?" names plates, but asks for none.
    head = bool(mentions(read.target.name))
    return head or read.relation is not None or (definite > 0 and named > 0)


def _is_salad(found: OpenQuestion, core: str) -> bool:
    """Whether the thing that was asked for is a heap of words, none of which is understood."""
    if found.kind in ("used_for", "space", "other", "which_room", "choice"):
        return False
    things = (found.target, *found.others)
    if any(not thing.understood for thing in things):
        return True
    bare = found.target
    said = bare.words or bare.relation or bare.room or bare.color or bare.traits or found.others
    if found.kind in _OF_A_THING and not said:
        return True
    if found.kind == "what" and bare.generic and not (bare.relation or bare.color or bare.traits):
        return not bare.room
    verb = re.compile(rf"\b(?:{AUX}|do|does|did|can|could|would|should|shall|will|put|take|use)\b")
    return any(not thing.known and bool(verb.search(thing.name)) for thing in things)


def _core(said: str) -> tuple[str, str]:
    """Return the clause that asks, and what was said before it."""
    parts = [part.strip() for part in re.split(r"[.?!;]+", said) if part.strip()]
    asking = [p for p in parts if _ASKS.match(p)] or [p for p in parts if _ASKS.search(p)]
    core = asking[-1] if asking else (parts[-1] if parts else "")
    context = " ".join(part for part in parts if part != core)
    clauses = [c.strip() for c in core.split(",") if c.strip()]
    if len(clauses) > 1:
        starts = [k for k, clause in enumerate(clauses) if _ASKS.match(clause)]
        if starts and starts[0] > 0:
            before = " ".join(clauses[: starts[0]])
            core = ", ".join(clauses[starts[0] :])
            if re.match(r"(?:besides|apart|aside|other than|except|not counting|ignoring)", before):
                core = f"{before}, {core}"
            else:
                context = f"{context} {before}".strip()
    return " ".join(core.split()), context.replace(",", " ")


def _subject(context: str) -> str:
    """The thing that was spoken of: what somebody lost, what there is, else what is named last."""
    said = _LATER.sub("", context)
    found = _SUBJECT.search(said)
    if found is not None and describe(found["thing"]).understood:
        return found["thing"]
    if len(said.split()) <= 8 and re.match(r"(?:the|my|our|your)\b", said):
        thing = describe(said)
        if thing.known or thing.relation or room_said(said):
            return said
    mentions = load_lexicon().mentions(said)
    if not mentions:
        return ""
    start, end, _ = mentions[0]
    return f"the {said[start:end]}"


def _with_subject(core: str, context: str) -> str:
    """Put what was spoken of before in the place of "it", and what something does into "what"."""
    if not context or not _ANY_PRONOUN.search(core):
        return core
    carries = _CARRIES.match(context)
    what = re.match(rf"(?:what|which) (?:{AUX}|might|could|may|can) {_IT}\b", core)
    if what and carries:
        return f"what is on {carries['where']}"
    if what and _SOMETHING.search(context):
        rest = context[_SOMETHING.search(context).end() :].strip()  # type: ignore[union-attr]
        color, _, more = rest.partition(" ")
        if basic_color(color):
            return f"what is the {color} thing {more}"
        return f"what {rest}" if re.match(rf"{AUX}\b|\w+s\b", rest) else f"what is {rest}"
    if _anaphoric(core, context) is not None:
        return core
    subject = _subject(context)
    if not subject or not describe(subject).words:
        return core
    thing = subject if re.match(r"(?:the|my|our|an?|some)\b", subject) else f"the {subject}"
    thing = re.sub(r"^(?:an?|some) ", "the ", thing)
    return _ANY_PRONOUN.sub(thing, core, count=1)


def _anaphoric(core: str, context: str) -> OpenQuestion | None:
    """Put the thing that was spoken of before in the place of "it"."""
    subject = _SUBJECT.search(_LATER.sub("", context))
    if subject is None:
        return None
    if re.match(rf"where (?:{AUX} (?:it|they|that|this)\b|{CAN} {WE} (?:look|find|search))", core):
        return OpenQuestion("", "where", target=describe(subject["thing"]))
    if re.match(rf"(?:what|which) {AUX} {_IT}(?: object)?$", core):
        return OpenQuestion("", "what", target=describe(subject["thing"]))
    match = _PRONOUN.match(core)
    if match is None:
        return None
    rewritten = f"{match['ask']} {subject['thing']}"
    for pattern, build in KINDS:
        found = pattern.search(rewritten)
        if found is not None and (result := build(found, rewritten)) is not None:
            return result
    return None
