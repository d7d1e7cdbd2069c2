"""Turns a sentence into a Question (object, room) with words the robots know."""

from __future__ import annotations

import collections
import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from coterie_core.household import load_household, normalized
from coterie_core.questions import Question
from coterie_llm import CheckFailed, Decider, Decision, Message, RulesModel, as_data
from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding import foreign_words, language_told, nearest, written_out
from coterie_requests.understanding.turned import negations
from coterie_requests.understanding.word_order import heaped_words, misplaced_words
from coterie_safety.why.context import about

_MAX_TEXT = 300
_LEAD = re.compile(
    r"^(?:please |(?:do you |can you )?(?:know|think|believe|say|tell me) |"
    r"if |whether |that )*"
    r"(?:(?:is|are|was|were)(?: not)? there |there (?:is|are|was|were) |"
    r"(?:do|did|does|can|could|will|have|has|may|would|should)(?: not)? "
    r"(?:you|we|i|one|it|they|anyone|somebody|someone) "
    r"(?:have |has |see |seen |saw |find |found |get |got |spot |spotted |notice |noticed |ever )*|"
    r"(?:is|are|was|were|does|do|has|have|any chance of|got) )?"
)
_ARTICLE = re.compile(
    r"^(?:(?:a|an|any|some|the|one|my|our|your|at least|another|single|kind of|sort of) )+"
)
_IN = re.compile(r" (?:in|inside|within|at|on|from|of|around|throughout) (?=\S)")
_HAS = re.compile(
    r"^(?:(?:does|do|has|have|did) )?(?P<room>.+?) (?:have|has|contain|contains|hold|got|got any) "
    r"(?P<thing>.+)$"
)
_TAIL = re.compile(
    r" (?:on|under|beside|next to|near|behind|by|above|below|in front of|somewhere|anywhere|"
    r"there|here|please|lying|standing|present|located|to be found|or not)(?: .*)?$"
)
_MAX_ROOMS_SHOWN = 12
"""Most rooms that a refusal lists."""
_ROOMS, _HINT = " (its rooms: ", "; did you mean "
ANOTHER_ROOM = "another room"
"""Name that a model gives where it finds the room in no list."""
_VAGUE = {
    *("big", "small", "large", "little", "tiny", "huge", "main", "nice", "new", "old", "modern"),
    *("clean", "messy", "tidy", "dirty", "whole", "entire", "only", "same", "lovely", "cozy"),
}
_SAYS_NOTHING = {
    *("a", "an", "the", "any", "some", "my", "our", "your", "single", "real", "really", "actually"),
    *("still", "already", "ever", "currently", "now", "right", "also", "maybe", "perhaps"),
}
"""Words about a thing that tell nothing of it."""
_HOUSE = {
    *("house", "home", "apartment", "flat", "building", "place", "anywhere", "somewhere", "here"),
    *("whole house", "entire house", "any room", "any of the rooms", "rooms", "everywhere"),
}


@dataclass(frozen=True, slots=True)
class ParseState:
    """A sentence and the words known here: rooms by name, objects by label."""

    text: str
    rooms: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


class ParsedQuestion(BaseModel):
    """What is asked: is there an object in a room."""

    reason: str = Field(
        "", max_length=200, description="first: what the words mean, in one short sentence"
    )
    object: str = Field(max_length=80, description="what is looked for: a noun in the singular")
    room: str = Field(
        "",
        max_length=80,
        description="the room, as listed; '' for the whole house; 'another room' where it is none "
        "of these",
    )
    other_room: str = Field(
        "", max_length=80, description="only for 'another room': the person's words for it"
    )

    @property
    def named_room(self) -> str:
        """The room that is asked about, listed or not ("": the whole house)."""
        return self.other_room if self.room == ANOTHER_ROOM else self.room


class ParseQuestion(Decision[ParseState, ParsedQuestion]):
    """Find out which object and which room a sentence asks about."""

    name: ClassVar[str] = "mele.parse_question"
    reply_type: ClassVar[type[BaseModel]] = ParsedQuestion
    max_tokens: ClassVar[int] = 180

    def prompt(self, state: ParseState) -> Sequence[Message]:
        """Show the sentence, and the rooms and labels known."""
        return (
            Message.system(
                "A person asks household robots whether something is in a room. Name the object "
                "and the room the question is about. Use a room from the list where one fits, "
                "and a known object label where one means the same; otherwise keep the person's "
                "own words, in the singular. The question may be in any language; object and "
                "room are named in that of the lists. An empty room stands for the whole house; a "
                "kind of room that several rooms are of is named by that kind."
            ),
            Message.user(
                f"{as_data('rooms', list(state.rooms))}\n"
                f"{as_data('known object labels', list(state.objects))}\n"
                f"{as_data('question', state.text[:_MAX_TEXT])}"
            ),
        )

    def options(self, state: ParseState) -> Mapping[str, Sequence[str]]:
        """Return the rooms known, kinds of which there are several, the house, and another room."""
        return {"room": [*state.rooms, *_several(state.rooms), "", ANOTHER_ROOM]}

    def check(self, state: ParseState, reply: ParsedQuestion) -> None:
        """There must be an object, and the room must be known unless the person's words name it."""
        if not reply.object.strip():
            raise CheckFailed("object is empty; name what the question looks for")
        room = reply.named_room.strip().lower()
        if not room and reply.room == ANOTHER_ROOM:
            raise CheckFailed("other_room is empty; give the person's own words for the room")
        listed = {name.lower() for name in (*state.rooms, *_several(state.rooms))}
        if room and room not in listed and room not in state.text.lower():
            raise CheckFailed(
                f"room {room!r} is neither listed nor asked for; use a listed room, '', or "
                f"{ANOTHER_ROOM!r} with the person's own words in other_room"
            )

    def rule(self, state: ParseState) -> ParsedQuestion:
        """Take the sentence apart by its usual shapes; an empty object means: not understood."""
        thing, room = _phrases(state.text, state.rooms)
        return ParsedQuestion(object=nearest_object(thing, state.objects)[:80], room=room[:80])


def _phrases(text: str, rooms: Sequence[str]) -> tuple[str, str]:
    """Return a sentence's words for the thing, and the room ("": the whole house)."""
    said = re.sub(r"[\s?!.,;:\"]+", " ", written_out(text[:_MAX_TEXT])).strip()
    thing, room = _split(said, rooms)
    return _TAIL.sub("", _strip(thing)), room


def _unheard(phrase: str, labels: Collection[str] = ()) -> tuple[str, ...]:
    """Return the words of a phrase that say more than the name of the thing: "red", "no", "two".

    Explorers look for a thing by its name alone. Of a phrase without a known name all is the name.
    """
    said = " ".join(phrase.lower().split())
    named = load_lexicon().mentions(said)
    if not named or said in labels:
        return ()
    start, end, _ = named[0]
    if said[start - 1 : start] == "-":
        return ()  # "t-shirt"
    rest = f"{said[:start]} {said[end:]}".split()
    rooms = load_household().room_words
    return tuple(word for word in rest if word not in _SAYS_NOTHING and word not in rooms)


def _around(text: str) -> tuple[str, ...]:
    """Return the words of a question that no thing in one room, now, has a place for."""
    return negations(text) + tuple(_NOT_ONE_ROOM.findall(text.lower()))


def _several(rooms: Sequence[str]) -> list[str]:
    """Return the kinds of which there are several rooms, and which are no room's name."""
    kinds = collections.Counter(load_household().room_type(name) for name in rooms)
    names = {name.lower() for name in rooms}
    return sorted(k for k, count in kinds.items() if k and count > 1 and k not in names)


def _split(text: str, rooms: Sequence[str]) -> tuple[str, str]:
    """Return the words for the object and the room ("" for the whole house)."""
    cuts = list(_IN.finditer(text))
    for cut in reversed(cuts):
        words = _TAIL.sub("", _ARTICLE.sub("", text[cut.end() :]))
        found = find_room(words, rooms)
        if found is not None:
            return text[: cut.start()], found
    owner = _HAS.match(text)
    if owner is not None:
        found = find_room(_ARTICLE.sub("", _strip_verb(owner["room"])), rooms)
        if found is not None:
            return owner["thing"], found
    inside = [cut for cut in cuts if cut.group().strip() in ("in", "inside", "within", "at")]
    if inside:
        cut = inside[-1]
        return text[: cut.start()], _TAIL.sub("", _ARTICLE.sub("", text[cut.end() :])).strip()
    return text, ""


def _strip_verb(words: str) -> str:
    return re.sub(r"^(?:does|do|has|have|did|is|are) ", "", words)


def _strip(words: str) -> str:
    """Return the words without the verbs and articles in front."""
    rest = _LEAD.sub("", f"{words.strip()} ", count=1)
    return _ARTICLE.sub("", rest.lstrip()).strip()


def find_room(words: str, rooms: Iterable[str]) -> str | None:
    """Return the known room that words mean, "" for the whole house, None if neither.

    Tried in this order: the exact name, a name without spaces between, the household's synonyms
    ("lounge" for a living room) when no more than one room fits, a spelling that is near.
    """
    said = normalized(words) if not re.search(r"\d", words) else " ".join(words.split()).lower()
    if said in _HOUSE:
        return ""
    names = {" ".join(name.lower().split()): name for name in rooms}
    if said in names:
        return names[said]
    packed = {name.replace(" ", ""): original for name, original in names.items()}
    if said.replace(" ", "") in packed:
        return packed[said.replace(" ", "")]
    household = load_household()
    kind = room_kind(said)
    if kind and said not in household.kindred_rooms and not re.search(r"\d", said):
        same = [original for name, original in names.items() if household.room_type(name) == kind]
        if len(same) == 1:
            return same[0]
        if same:
            return kind
    if re.search(r"\d", said):
        return None  # "bedroom 7" is not "bedroom 2" misspelled
    near = difflib.get_close_matches(said, list(names), n=1, cutoff=0.84)
    return names[near[0]] if near else None


def room_kind(words: str) -> str:
    """Return the type of room that words name, "" if they name none.

    No word of them is passed over but such as tell no room from another ("big kitchen"): an
    "upstairs kitchen" is not any kitchen.
    """
    household = load_household()
    for part in (words, *words.split("/")):
        kind = household.room_type(part)
        if not kind:
            continue
        said = normalized(part)
        names = {normalized(name) for name in household.room_types[kind].words}
        bare = " ".join(word for word in said.split() if word not in _VAGUE)
        if not names.isdisjoint({said, bare, bare.replace(" ", "")}):
            return kind
    return ""


def unknown_room(words: str, rooms: Iterable[str], *, all_known: bool = False) -> str:
    """Return why there is no such room, for people; empty if there is, or may be, one.

    Args:
        words: Name that the person gives the room.
        rooms: Names of the rooms known.
        all_known: Whether the house has no others.
    """
    names = tuple(rooms)
    if find_room(words, names) is not None:
        return ""
    kind = room_kind(words)
    if kind and not all_known:
        return ""
    some = f"{_ROOMS}{', '.join(sorted(names)[:_MAX_ROOMS_SHOWN])})" if names else ""
    if kind:
        return f"this house has no room {words[:60]!r}{some}"
    pool = (*names, *load_household().room_types)
    near = nearest(normalized(words[:60]), pool, 1) or tuple(
        name for name in pool if f" {normalized(words)}".endswith(f" {name}")
    )
    hint = f"{_HINT}{near[0]!r}?" if near else ""
    return f"no room {words[:60]!r} is known here{hint}{some}"


def said_once(reasons: Iterable[str]) -> str:
    """Return why a team cannot tell: each reason of its robots once, with the rooms of them all.

    Robots know different rooms, so that they word one and the same `unknown_room` differently.
    """
    hints: dict[str, str] = {}
    rooms: dict[str, set[str]] = {}
    for reason in reasons:
        words, _, listed = reason.partition(_ROOMS)
        what, mark, hint = words.partition(_HINT)
        hints[what] = hints.get(what) or mark + hint
        known = listed.removesuffix(")").split(", ") if listed else ()
        rooms.setdefault(what, set()).update(known)
    return "; ".join(
        what
        + hint
        + (f"{_ROOMS}{', '.join(sorted(rooms[what])[:_MAX_ROOMS_SHOWN])})" if rooms[what] else "")
        for what, hint in hints.items()
    )


def nearest_object(words: str, labels: Iterable[str]) -> str:
    """Return the known label that words mean, or the household's name for it, or the words."""
    said = " ".join(words.lower().split())
    known = sorted(set(labels))
    if said in known or not said:
        return said
    household = load_household()
    singular = {normalized(label): label for label in known}
    for form in (normalized(said), household.canonical(said)):
        if form in singular:
            return singular[form]
    if household.category(said) is not None:
        kind = household.canonical(said)
        same = [label for label in known if household.canonical(label) == kind]
        return same[0] if len(same) == 1 else kind
    near = difflib.get_close_matches(said, [*known, *household.categories], n=1, cutoff=0.84)
    return near[0] if near else normalized(said)


class NotAQuestion(ValueError):
    """A sentence names no object that could be looked for; says how to ask."""


async def understand(
    text: str,
    rooms: Iterable[str] = (),
    objects: Iterable[str] = (),
    *,
    decider: Decider | None = None,
    id: str = "",
) -> Question:
    """Return the question a sentence asks.

    Args:
        text: Sentence, such as "Is there a mug in the kitchen?"; any further text is cut at 300
            characters.
        rooms: Names of the rooms known.
        objects: Labels known.
        decider: Decider that reads the sentence; None: the rule.
        id: The question's id.

    Raises:
        NotAQuestion: There is no object in it.
    """
    state = ParseState(text, tuple(sorted(set(rooms))), tuple(sorted(set(objects))))
    if decider is None or decider.rule_only:
        foreign = foreign_words(text[:_MAX_TEXT], (*state.rooms, *state.objects))
        if foreign is not None and foreign.whole:
            raise NotAQuestion(language_told(foreign, what="question"))
    if decider is None:
        decider = Decider(RulesModel())
    with about(question=id or None):
        reply = (await decider.decide(ParseQuestion(), state)).reply
    thing = " ".join(reply.object.lower().split())
    heap = ""
    if decider.rule_only:
        heap = misplaced_words(text[:_MAX_TEXT])
        unheard = _unheard(_phrases(text, state.rooms)[0], state.objects) + _around(text)
        if unheard and not heap:
            raise NotAQuestion(
                f"{text[:80]!r}: robots that look for a thing go by its name, and {unheard[0]!r} "
                f"says more than that; ask, for example: Is there a {thing} in the kitchen?"
            )
        heap = heap or heaped_words(thing)
    if heap:
        raise NotAQuestion(
            f"not understood: {heap!r} makes no sense there; ask, for example: "
            "Is there a mug in the kitchen?"
        )
    if not thing:
        raise NotAQuestion(
            f"{text[:80]!r} names nothing to look for; ask, for example: "
            "Is there a mug in the kitchen?"
        )
    room = reply.named_room
    found = find_room(room, state.rooms) if room else ""
    return Question(id, thing, room if found is None else found, text[:_MAX_TEXT])


_NOT_ONE_ROOM = re.compile(
    r"\b(?:another|every|each|outside|or(?! not\b)|yesterday|tomorrow|earlier|later)\b"
)
QuestionKind = Literal["presence", "open", "either"]
"""Whether explorers can answer (is such a thing in that room?), or the agent for open questions."""

_ASKS = re.compile(
    r"^(?:(?:please|so|and|ok|hey|robots?|well|(?:can|could) you (?:tell me|say|check) "
    r"(?:if|whether)) )+"
)
_THERE = re.compile(
    r"^(?:is|are|was|were)(?: not)? there |^there (?:is|are) |"
    r"^(?:do|did|does|can|could|have|has) (?:you|we|i|they|anyone|somebody) "
    r"(?:ever |already )?(?:have|got|get|see|seen|saw|find|found|spot|spotted|notice|noticed)\b|"
    r"^(?:any|got)\b"
)
_OPEN = re.compile(
    r"\b(?:what|where|which|who|whose|when|why|how|if|whats|wheres|whos|theres|i|my|we|me)\b|"
    r"^(?:describe|name|list|count|tell|explain|can|could|should|would|will|may|might|do|does|did|"
    r"has|have)\b"
)
_MAX_BARE_WORDS = 8
"""Most words of a thing (in a room) that is named and nothing else."""
_STATE = re.compile(r"^(?:is|are|was|were)\b")
_SPACE = re.compile(r"there (?:enough |any |still )*(?:room|space|place) (?:for|to|on|in|left)\b")
_MORE = re.compile(r"\b(?:more|fewer|less|as many|enough|anything|something|nothing)\b")
_BESIDE = re.compile(
    r" (?:on|on top of|under|underneath|beneath|beside|next to|near|close to|behind|above|below|"
    r"over|in front of|between|(?:to )?the (?:left|right) of) "
)


def question_kind(text: str, rooms: Iterable[str] = ()) -> QuestionKind:
    """Tell who can answer a sentence, by its form.

    "presence": is there such a thing (in that room); also a thing alone ("mug in the kitchen").
    "open": anything else. "either": a presence question that also says where in the room ("a cup
    on the table"), which explorers answer without that detail, or more of the thing ("a red cup"),
    which they do not answer.

    Args:
        text: The sentence.
        rooms: Names of the rooms known.
    """
    said = re.sub(r"[\s?!.,;:\"]+", " ", text[:_MAX_TEXT].lower()).strip()
    said = _ASKS.sub("", written_out(said))
    there = _THERE.match(said)
    if there:
        if _SPACE.search(said) or _MORE.search(said) or _OPEN.search(said[there.end() :]):
            return "open"
        more = _BESIDE.search(said) or _unheard(_phrases(said, tuple(rooms))[0]) or _around(said)
        return "either" if more else "presence"
    owner = _HAS.match(said)
    if owner is not None and said.split()[0] in ("does", "do", "has", "have", "did"):
        place = _ARTICLE.sub("", _strip_verb(owner["room"]))
        return "presence" if find_room(place, rooms) is not None else "open"
    if _STATE.match(said):
        cut = list(_IN.finditer(said))
        where = _ARTICLE.sub("", said[cut[-1].end() :]) if cut else ""
        room = find_room(where, rooms) if where else None
        # "Is the mug in the kitchen?" asks for a thing in a room, "is the door open?" and "are the
        # curtains in the kitchen closed?" do not.
        known = room is not None and len(where.split()) <= max(len(room.split()), 1)
        thing = _STATE.match(said) and not re.match(r"^\w+ (?:it|this|that|they)\b", said)
        return "presence" if known and thing and not _BESIDE.search(said) else "open"
    return "open" if _OPEN.search(said) or len(said.split()) > _MAX_BARE_WORDS else "presence"
