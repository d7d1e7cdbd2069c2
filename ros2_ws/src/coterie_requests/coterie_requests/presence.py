"""Questions whether there is a thing in a room, which explorers answer; names of rooms."""

from __future__ import annotations

from collections.abc import Iterable

from coterie_core.household import load_household, normalized
from coterie_core.questions import Question
from coterie_llm import Decider
from coterie_requests.read_request import read_request
from coterie_requests.request import ALL, Place, Request, Step, Thing, request_from_json
from coterie_requests.understanding.phrases import phrase_of
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.text import nearest
from coterie_requests.understanding.vocabulary import Vocabulary, plain_name
from coterie_safety.why.context import about

_MAX_ROOMS_SHOWN = 12
"""Most rooms that a refusal lists."""
_ROOMS, _HINT = " (known: ", "; did you mean "


def presence_of(request: Request, names: Vocabulary, id: str = "") -> Question | None:
    """Return the question whether there is a thing of a name in one room; None: it asks for more.

    Args:
        request: What a person asks.
        names: Names that mean something here.
        id: The question's id.
    """
    step = request.steps[0]
    plain = Step(act="is_there", things=step.things[:1], said=step.said)
    if len(request.steps) > 1 or step != plain or not step.things or request.asides:
        return None
    thing = step.things[0]
    phrase, room = phrase_of(thing, names), _room(thing, names)
    said, label = plain_name(thing.name), phrase.label
    own = said in names.labels
    all_of_them = thing.amount > 1 or (thing.definite and thing.amount == ALL)
    more = all_of_them or _says_more(thing) or (phrase.compound and not own) or phrase.ignored
    if room is None or more or phrase.anything or phrase.robot or phrase.person:
        return None
    kind_of = phrase.members or not label or said.endswith(f" {label}")  # a "table lamp", a "toy"
    return Question(id, said if own or kind_of else label, room, request.words)


def _says_more(thing: Thing) -> bool:
    """Whether words tell more of a thing than its name and place."""
    kept = ("name", "said", "amount", "definite", "places")
    return thing != Thing(**{name: getattr(thing, name) for name in kept})


def _room(thing: Thing, names: Vocabulary) -> str | None:
    """Return the one room that a thing is asked for in ("": the whole house); None: elsewhere."""
    if not thing.places:
        return ""
    place = thing.places[0]
    where = place.thing
    plain = Place(relation="in", things=(where,))
    if thing.places != (plain,) or where.places or where.amount != 1 or _says_more(where):
        return None
    phrase = phrase_of(where, names)
    if phrase.floor or (phrase.label and phrase.known and not phrase.room):
        return None
    return "" if phrase.house else phrase.room or plain_name(where.name)


async def request_of(question: Question, names: Vocabulary, decider: Decider) -> Request:
    """Return what a question asks: as whoever took it has read it, else read now.

    Raises:
        NotUnderstood: Its words are not read.
    """
    if question.request:
        return request_from_json(question.request, question.text)
    with about(question=question.id or None):
        return await read_request(question.text, names, decider, "ask")


async def read_presence(question: Question, names: Vocabulary, decider: Decider) -> Question:
    """Return a question with object and room, from its words where it lacks them.

    Args:
        question: Such as "Is there a mug in the kitchen?".
        names: Names that mean something here.
        decider: Decider that reads it.

    Raises:
        NotUnderstood: It is not read, or asks for more than whether there is a thing in a room.
    """
    if question.object:
        return question
    request = await request_of(question, names, decider)
    found = presence_of(request, names, question.id)
    if found is None:
        raise NotUnderstood(
            f"{question.text[:80]!r} asks for more than whether there is a thing of a name in a "
            f"room ({request.told()[:120]}); ask, for example: Is there a mug in the kitchen?",
            "nothing",
        )
    return found


def unknown_room(words: str, rooms: Iterable[str], *, all_known: bool = False) -> str:
    """Return why there is no such room, for people; empty if there is, or may be, one.

    Args:
        words: Name that the person gives the room.
        rooms: Names of the rooms known.
        all_known: Whether the house has no others.
    """
    names, household, said = tuple(rooms), load_household(), plain_name(words[:60])
    known = Vocabulary.named(rooms=names)
    found = known.lookup(said) or known.lookup(normalized(said))
    kind = found.room if found is not None else ""
    alike = not any(letter.isdigit() for letter in said)  # "bedroom 7" is not "bedroom 2"
    same = kind in names or (alike and any(household.room_type(n) == kind for n in names))
    if kind and (same or not all_known):
        return ""
    some = f"{_ROOMS}{', '.join(sorted(names)[:_MAX_ROOMS_SHOWN])})" if names else ""
    if kind:
        return f"this house has no room {words[:60]!r}{some}"
    pool = (*names, *household.room_types)
    near = nearest(said, pool, 1) or [name for name in pool if said.endswith(f" {name}")]
    return f"no room {words[:60]!r} is known here{f'{_HINT}{near[0]!r}?' if near else ''}{some}"


def said_once(reasons: Iterable[str]) -> str:
    """Return why a team cannot tell: each reason of its robots once.

    Robots know different rooms, so that they word one and the same `unknown_room` differently: what
    tells most of it stands for all.
    """
    told: dict[str, str] = {}
    for reason in reasons:
        what = reason.partition(_ROOMS)[0].partition(_HINT)[0]
        told[what] = max(told.get(what, ""), reason, key=len)
    return "; ".join(told.values())
