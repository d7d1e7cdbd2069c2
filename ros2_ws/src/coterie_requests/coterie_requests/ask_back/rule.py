"""Rules that judge a request, and that work a person's answer into it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coterie_core.conformal import LEVELS
from coterie_core.geometry import distance
from coterie_core.wording import enumerated
from coterie_llm import inline_data
from coterie_requests.ask_back.describing import described, named_room, plain_label, where
from coterie_requests.ask_back.judgement import Judgement
from coterie_requests.ask_back.reading import Mention
from coterie_requests.ask_back.state import RequestState
from coterie_requests.asking import told_choice
from coterie_requests.understanding import NotUnderstood, ProblemKind, is_english
from coterie_requests.understanding.phrases import Phrase
from coterie_requests.understanding.text import plain_text, words_of, written_out
from coterie_world.coverage import SEEN_WELL_QUALITY, recall
from coterie_world.scene import Room, SceneObject

ANYWAY: Mapping[str, Any] = {
    "question": "Shall the robots look for one all the same?",
    "choices": ("yes", "no"),
    "slot": "anyway",
}
"""Question about a task with what is not there, or probably not."""
MIN_DENIAL = 0.5
"""Least probability (0..1) that there is none from which a person is asked before a search."""
MAX_CHOICES = 8
"""Things that a question offers to choose from."""
_SAME_SPOT = 0.08
"""Things of one name that are nearer than this, or than half of their length, may be one [m]."""
_MAX_SHOWN = 4
_LEFT_OUT: dict[ProblemKind, str] = {
    "pronoun": "object", "object": "object", "target": "target", "person": "target",
    "ambiguous": "which", "empty": "object",
}  # fmt: skip
"""Part that is left out where a command's parser has such a problem."""
_INTO = ("in", "inside", "within", "to", "into", "at", "from", "around", "through")
"""Words before what is spoken of as a place."""
_WHAT = {"ask": "Which thing do you ask about?", "find": "What shall be found?",
         "do": "Which thing do you mean?"}  # fmt: skip
_ANY = re.compile(
    r"\b(?:any|either|whichever|whatever|does not matter|do not care|no matter|you choose)\b"
)
_ALL = re.compile(r"^(?:all|both|each|every one|everything)\b")
_YES = re.compile(r"^(?:yes|yeah|yep|sure|ok|okay|please do|go ahead|of course)\b")
_NO = re.compile(r"^(?:no|nope|never ?mind|none|neither|stop|cancel|forget it|do not)\b")
_LITTLE = frozenset(
    words_of("the a an one in on at of to it is that this my our mean i please near next room")
)
_VERB = re.compile(
    r"^(?:bring|take|put|move|carry|place|fetch|get|find|go|drive|show|where|what|which|how|is|are)\b"
)
_BARE_PRONOUN = r"\b(?:it|that one|this one|that|this|those|these|them|they|one of those)\b"
_PREPOSITION = re.compile(r"^(?:in|on|to|into|onto|at|near|next to|under|behind|beside)\b")
_STRANDED = re.compile(r"\s+(?:on|in|into|onto|to|at|away|down|over there|there)$")


def judged(state: RequestState) -> Judgement:
    """Return what a request is, by rule."""
    problem = state.problem
    if problem is not None and problem.kind in _LEFT_OUT:
        slot = _LEFT_OUT[problem.kind]
        question = problem.question or _question_for(slot, state)
        return Judgement("underspecified", problem.text, question, slot=slot)
    if problem is not None and problem.kind == "verb":
        return _of_what_cannot_be_done(state)
    if problem is not None:
        return _of_place(state) if problem.kind == "place" else Judgement()
    if state.unread:
        return Judgement()  # the command names the words: a judgement of the others drops them
    reading = state.reading
    if reading.pronoun and state.mentions is None:
        text = f"nothing was said before that {reading.pronoun!r} could stand for"
        if reading.pronoun == "how many":
            text = "it does not say of what"
        return Judgement("underspecified", text, _WHAT[state.command], slot="object")
    mentions = reading.mentions if state.mentions is None else state.mentions
    mentions = tuple(m for m in mentions if not m.phrase.pronoun and not m.phrase.person)
    if reading.taste:
        taste = _of_taste(state, mentions)
        if taste is not None:
            return taste
    for mention in mentions:
        for judge in (_missing_room, _missing_thing, _too_many):
            found = judge(state, mention)
            if found is not None:
                return found
    return Judgement()


def _question_for(slot: str, state: RequestState) -> str:
    return "Where to? Name a room or a piece of furniture" if slot == "target" else _WHAT[
        state.command
    ]  # fmt: skip


def _of_taste(state: RequestState, mentions: Sequence[Mention]) -> Judgement | None:
    """What asks for an opinion; None where the words name one certain thing all the same."""
    said = " and ".join(repr(word) for word in state.reading.taste[:2])
    text = f"{said} is a matter of taste, which robots cannot look up"
    fits: list[SceneObject] = []
    said_of = ""
    for mention in mentions:
        if mention.role == "thing" and not _is_place(state, mention.phrase):
            fits = fits or _distinct(_things(state, mention.phrase))
            said_of = said_of or mention.phrase.said
    if state.command != "ask" and len(fits) == 1:
        return None
    if not fits or len(fits) > MAX_CHOICES or state.command == "ask":
        question = "" if state.command == "ask" else "By what shall it be chosen?"
        return Judgement("subjective", text, question)
    choices = tuple(described(state.scene, fits))
    return Judgement(
        "subjective", text, "Which one do you mean?", choices, tuple(t.id for t in fits),
        said=said_of,
    )  # fmt: skip


# -- places and things that are not there --------------------------------------------------------


def _of_place(state: RequestState) -> Judgement:
    assert state.problem is not None
    return _no_such_room(state, state.problem.word or "such place", state.problem.text)


def _of_what_cannot_be_done(state: RequestState) -> Judgement:
    """What robots cannot do, with what is not there: "clean the sauna"; nothing is asked then."""
    assert state.problem is not None
    for mention in state.reading.mentions:
        if mention.phrase.known and not mention.phrase.pronoun:
            for judge in (_missing_room, _missing_thing):
                found = judge(state, mention)
                if found is not None and found.kind == "false_premise":
                    text = f"{found.text}; {state.problem.text}"
                    return replace(found, text=text, question="", choices=(), slot="")
    return Judgement()


def _missing_room(state: RequestState, mention: Mention) -> Judgement | None:
    phrase = mention.phrase
    if not phrase.label and (phrase.room or phrase.floor):
        try:
            state.resolver.rooms(replace(phrase, places=()))
        except NotUnderstood as error:
            return _no_such_room(state, phrase.noun or phrase.said, error.problem.text)
        return None
    unknown = not phrase.known and not phrase.label.isspace()
    on_map = bool(_things(state, replace(phrase, places=())))
    head = phrase.noun.split()[-1:]
    if unknown and not on_map and head and is_english(head[0]) and _said_as_place(state, phrase):
        names = enumerated(sorted(room.name for room in state.rooms), 12)
        return _no_such_room(
            state, phrase.noun, f"the map has no {phrase.noun!r}; it has {names or 'no rooms'}"
        )
    return None


def _said_as_place(state: RequestState, phrase: Phrase) -> bool:
    """Whether a word that nobody knows is said to be where something is: "in the orangery"."""
    text = state.reading.text
    return any(f"{word} the {phrase.noun}" in text for word in _INTO)


def _no_such_room(state: RequestState, name: str, text: str) -> Judgement:
    unlooked = state.looked.missing(state.rooms)
    if not state.all_rooms or not state.rooms:
        return Judgement(
            "not_seen_yet",
            f"no {name} has been seen so far, and "
            + (state.looked.told(unlooked) or "there may be rooms that the map does not show yet"),
            missing=tuple(state.looked.names(unlooked)),
            slot="room",
        )
    names = [named_room(room) for room in state.rooms]
    return Judgement(
        "false_premise",
        text,
        "Which room do you mean?" if state.command == "do" else "",
        evidence=(f"the map has {len(names)} rooms: {enumerated(sorted(names), 12)}",),
        slot="room",
        said=name,
    )


def _missing_thing(state: RequestState, mention: Mention) -> Judgement | None:
    """What nobody has seen: denied where it was looked for well enough, else not seen yet."""
    phrase = mention.phrase
    if _is_place(state, phrase) or not phrase.known or not phrase.label or phrase.members:
        return None
    if not mention.presumed or phrase.label in state.scene.objects:
        return None
    try:
        if _things(state, phrase):
            return None
        rooms = _rooms(state, phrase)
    except NotUnderstood:
        return None  # one of the places is missing, which is a mention of its own
    check = state.vocabulary.check(
        phrase.label, [t.label.top for t in state.scene.objects.values()]
    )
    name = phrase.noun or phrase.label
    others = _things(state, replace(phrase, places=(), color="", ordinal=0))
    if not check.reportable:
        if check.reporting == "never_reported" and state.command == "ask":
            return Judgement("not_seen_yet", check.sentence())
        return None
    unlooked = state.looked.unlooked(phrase.label, rooms)
    sure, least = state.looked.absence(phrase.label, rooms), state.least_denial(rooms)
    open_ended = len(rooms) == len(state.rooms) and not state.all_rooms
    if unlooked or sure < least or not rooms or open_ended:
        doubted = sure >= max(MIN_DENIAL, state.least_denial(rooms, min(LEVELS)))
        if state.command == "do" and (unlooked or open_ended or not rooms or not doubted):
            return None  # robots go and look
        weak = (
            unlooked
            or sorted(
                (room for room in rooms if state.looked.share(room.id) < SEEN_WELL_QUALITY),
                key=lambda room: state.looked.share(room.id),
            )[:_MAX_SHOWN]
        )
        left = state.looked.told(unlooked) or _left_open(phrase.label, rooms, weak)
        if open_ended and not unlooked:
            left, weak = "there may be rooms that the map does not show yet", []
        return Judgement(
            "not_seen_yet",
            f"no {_described(phrase)} was seen so far; {left}{_elsewhere(state, others)}",
            missing=tuple(state.looked.names(weak)),
            evidence=(f"absent with probability {sure:.2f}, {least:.2f} is needed",),
            **(ANYWAY if state.command == "do" else {}),
        )
    shares = [state.looked.share(room.id) for room in rooms]
    places = enumerated([named_room(room) for room in rooms], _MAX_SHOWN)
    scope = "in this house" if len(rooms) == len(state.rooms) else f"in {places}"
    evidence = [
        f"looked at: {places}, the least of them to {100 * min(shares):.0f} %",
        f"absent with probability {sure:.2f}, {least:.2f} is needed",
        f"the detector reports {name!r}"
        if state.vocabulary.labels is not None
        else "what the detector can report is not known; the word is one of the household's",
    ]
    return Judgement(
        "false_premise",
        f"there is no {_described(phrase, bare=True)} {scope}, as far as it was looked at"
        f"{_elsewhere(state, others)}",
        evidence=tuple(evidence),
        **(ANYWAY if state.command == "do" else {}),
    )


def _left_open(label: str, rooms: Sequence[Room], weak: Sequence[Room]) -> str:
    """Why looks at some rooms, none of which was left out, deny no such thing."""
    if weak:
        names = enumerated([named_room(room) for room in weak])
        return f"{names} {'were' if len(weak) > 1 else 'was'} not looked over well"
    if not rooms:
        return "no room is known yet"
    missed = round(10 * (1.0 - recall(label)))
    return (
        f"such things are easily missed: {missed} of 10 are not seen by who looks well"
        if missed > 1
        else "such rooms mostly have one"
    )


def _described(phrase: Phrase, *, bare: bool = False) -> str:
    said = " ".join(
        part for part in (*phrase.ignored, phrase.color, phrase.noun or phrase.label) if part
    )
    places = [f"{place.relation} {place.phrase.said}" for place in phrase.places]
    return said if bare else " ".join([said, *places])


def _elsewhere(state: RequestState, others: Sequence[SceneObject]) -> str:
    if not others:
        return ""
    first = others[0]
    at = where(state.scene, first)
    return f"; a {plain_label(first)} was seen{f' {at}' if at else ''}"


def _rooms(state: RequestState, phrase: Phrase) -> list[Room]:
    """Return the rooms where what a phrase means would be."""
    rooms = state.rooms
    for place in phrase.places:
        if _is_place(state, place.phrase):
            inside = {room.id for room in state.resolver.rooms(place.phrase)}
        else:
            inside = {thing.room for thing in _things(state, place.phrase)}
        rooms = [room for room in rooms if room.id in inside]
    return rooms


# -- several that fit ----------------------------------------------------------------------------


def _too_many(state: RequestState, mention: Mention) -> Judgement | None:
    phrase = mention.phrase
    if not mention.only or phrase.order or phrase.ordinal or phrase.which in ("rest", "other"):
        return None
    if _is_place(state, phrase):
        return _too_many_rooms(state, mention)
    if phrase.number != "one" or phrase.anything or phrase.alternatives:
        return None
    try:
        fits = _distinct(_things(state, phrase))
    except NotUnderstood:
        return None
    if len(fits) < 2 or phrase.label in state.scene.objects:
        return None
    if mention.role == "target":
        fits = _one_per_room(fits)  # any of those in one room will do
        if len(fits) < 2:
            return None
    choices = described(state.scene, fits)
    many = len(fits) > MAX_CHOICES
    count = f"{len(fits)} things fit {phrase.said!r}"
    return Judgement(
        "ambiguous",
        f"{count}: {enumerated(choices, _MAX_SHOWN)}",
        f"Which {phrase.noun or phrase.label} do you mean?"
        + (" Say in which room or on what" if many else ""),
        () if many else tuple(choices),
        tuple(thing.id for thing in fits),
        evidence=(count,),
        slot=mention.role,
        said=phrase.said,
    )


def _too_many_rooms(state: RequestState, mention: Mention) -> Judgement | None:
    phrase = mention.phrase
    if not phrase.room or phrase.floor or phrase.number != "one":
        return None
    try:
        rooms = state.resolver.rooms(phrase)
    except NotUnderstood:
        return None
    if len(rooms) < 2 or state.command == "ask":
        return None
    names = tuple(room.name for room in rooms)
    return Judgement(
        "ambiguous",
        f"{len(rooms)} rooms fit {phrase.said!r}: {enumerated(names, _MAX_SHOWN)}",
        f"Which {phrase.room} do you mean?",
        names[:MAX_CHOICES],
        tuple(room.id for room in rooms),
        slot="room",
        said=phrase.said,
    )


def _one_per_room(things: Sequence[SceneObject]) -> list[SceneObject]:
    first: dict[str, SceneObject] = {}
    for thing in things:
        first.setdefault(thing.room, thing)
    return list(first.values())


def _things(state: RequestState, phrase: Phrase) -> list[SceneObject]:
    return state.resolver.things(phrase)


def _is_place(state: RequestState, phrase: Phrase) -> bool:
    return state.resolver.is_place(phrase)


def _distinct(things: Sequence[SceneObject]) -> list[SceneObject]:
    """Leave out what may be another thing of the list, mapped twice."""
    kept: list[SceneObject] = []
    for thing in sorted(things, key=lambda t: (-t.observations, t.id)):
        apart = max(_SAME_SPOT, 0.5 * max(thing.box.size))
        if all(distance(thing.box.center, one.box.center) > apart for one in kept):
            kept.append(thing)
    return sorted(kept, key=lambda t: t.id)


@dataclass(frozen=True, slots=True)
class Settling:
    """What an answer settles: the judgement now, ids that were chosen, the request in full."""

    judgement: Judgement
    chosen: tuple[str, ...] = ()
    words: str = ""


def with_answer(state: RequestState, before: Judgement) -> Settling:
    """Return what the answer in a state settles.

    Args:
        state: State with `answer`, and the `choices` and `candidates` that were offered.
        before: Judgement of the request without the answer.
    """
    said = written_out(plain_text(state.answer)).strip(" .!")
    if before.kind in ("false_premise", "not_seen_yet") and before.slot == "anyway":
        if _YES.match(said):
            return Settling(Judgement(answer=state.answer), (), state.words)
        return Settling(replace(before, answer=state.answer))
    if state.candidates:
        return _chosen(state, before, said)
    if not said or _NO.match(said):
        return Settling(replace(before, answer=state.answer))
    return Settling(Judgement(answer=state.answer), (), _completed(state, before, said))


def _chosen(state: RequestState, before: Judgement, said: str) -> Settling:
    ids = state.candidates
    clear = Judgement(answer=state.answer)
    if _ALL.match(said):
        return Settling(clear, ids, state.words)
    if _ANY.search(said):
        return Settling(clear, ids[:1], state.words)
    choice = told_choice(said, state.choices)
    if choice in state.choices:
        return Settling(clear, (ids[state.choices.index(choice)],), state.words)
    if said in ids:
        return Settling(clear, (said,), state.words)
    wanted = set(re.findall(r"\w+", said)) - _LITTLE
    scores = [
        len(wanted & set(re.findall(r"\w+", f"{text} {id_}".lower())))
        for text, id_ in zip(state.choices, ids, strict=False)
    ]
    best = max(scores, default=0)
    if best and scores.count(best) == 1 and not _NO.match(said):
        return Settling(clear, (ids[scores.index(best)],), state.words)
    told = inline_data(state.answer)
    return Settling(
        replace(before, text=f"{before.text}; the answer {told!r} tells no single one",
                answer=state.answer)
    )  # fmt: skip


def _completed(state: RequestState, before: Judgement, said: str) -> str:
    """Return the request with what was left out."""
    answer = " ".join(state.answer.split()).strip(" .!?")
    if _VERB.match(said) and len(said.split()) > 2:
        return answer  # a request of its own
    words = " ".join(state.words.split()).rstrip(" .!?")
    if before.slot == "room" and before.said:
        bare = re.sub(r"^(?:the|in|to) ", "", answer, flags=re.IGNORECASE)
        return _put_in(rf"\b{re.escape(before.said)}\b", bare, words)
    if before.slot == "target":
        base = _STRANDED.sub("", words)
        return f"{base} {answer if _PREPOSITION.match(said) else f'to {_the(answer)}'}"
    if re.search(_BARE_PRONOUN, words, re.IGNORECASE):
        return _put_in(_BARE_PRONOUN, _the(answer), words)
    if before.slot == "object" and re.match(r"how many\b", words, re.IGNORECASE):
        return _put_in(r"how many", f"how many {answer}", words)
    return f"{words} {answer}"


def _put_in(pattern: str, told: str, words: str) -> str:
    """Return words with what a person told, as it stands, in place of the first match."""
    return re.sub(pattern, lambda _: told, words, count=1, flags=re.IGNORECASE)


def _the(answer: str) -> str:
    article = re.match(r"(?:the|a|an|my|our|your|all|every|some|\d|bed\w+ \d)", answer, re.I)
    return answer if article else f"the {answer}"
