"""Rules that judge a request: what it speaks of is there, one of it, and no matter of taste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from coterie_core.conformal import LEVELS
from coterie_core.wording import enumerated
from coterie_requests.ask_back.judgement import Judgement
from coterie_requests.ask_back.reading import Mention, mentions, words_of_taste
from coterie_requests.ask_back.state import RequestState
from coterie_requests.understanding.map_geometry import named_room, one_of_each, plain
from coterie_requests.understanding.phrases import Phrase, phrase_of
from coterie_requests.understanding.problems import NotUnderstood, ProblemKind
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
LEFT_OUT: Mapping[ProblemKind, str] = {
    "pronoun": "object", "object": "object", "target": "target", "person": "target",
    "ambiguous": "which", "empty": "object",
}  # fmt: skip
"""Part that is left out where words were not read for such a problem."""
_MAX_SHOWN = 4
_WHAT = {"ask": "Which thing do you ask about?", "find": "What shall be found?",
         "do": "Which thing do you mean?"}  # fmt: skip


def judged(state: RequestState) -> Judgement:
    """Return what a request is, by rule; one that was not read leaves something out."""
    problem = state.problem
    if problem is not None and problem.kind in LEFT_OUT:
        slot = LEFT_OUT[problem.kind]
        usual = "Where to? Name a room or a piece of furniture"
        question = problem.question or (usual if slot == "target" else _WHAT[state.command])
        choices = problem.suggestions if problem.kind == "ambiguous" else ()
        return Judgement("underspecified", problem.text, question, choices, slot=slot)
    if state.request is None:
        return Judgement()
    rules = [partial(_of_taste, state)]
    for mention in mentions(state.request, state.names, task=state.command == "do"):
        rules += [
            partial(rule, state, mention) for rule in (_missing_room, _missing_thing, _too_many)
        ]
    for rule in rules:
        with suppress(NotUnderstood):  # a place that is not there is a mention of its own
            found = rule()
            if found is not None:
                return found
    return Judgement()


def _of_taste(state: RequestState) -> Judgement | None:
    """What asks for an opinion; None where the words name one certain thing all the same."""
    assert state.request is not None
    found = words_of_taste(state.request)
    if not found:
        return None
    said = " and ".join(dict.fromkeys(repr(word) for word, _ in found[:2]))
    text = f"{said} is a matter of taste, which robots cannot look up"
    if state.command == "ask":
        return Judgement("subjective", text)
    phrase = next((phrase_of(thing, state.names) for _, thing in found if thing), Phrase(""))
    fits = _distinct(state.resolver.things(phrase)) if phrase.label else []
    if len(fits) == 1:
        return None
    if not fits or len(fits) > MAX_CHOICES:
        return Judgement("subjective", text, "By what shall it be chosen?", said=phrase.said)
    ids = tuple(thing.id for thing in fits)
    choices = tuple(state.resolver.described(fits))
    return Judgement("subjective", text, "Which one do you mean?", choices, ids, said=phrase.said)


# -- places and things that are not there --------------------------------------------------------


def _missing_room(state: RequestState, mention: Mention) -> Judgement | None:
    phrase = mention.phrase
    if phrase.floor or (phrase.room and not phrase.label):
        try:
            state.resolver.rooms(replace(phrase, places=()))
        except NotUnderstood as error:
            return _no_such_room(state, phrase, error.problem.text)
        return None
    goes = mention.step.act == "go" or mention.role == "place"
    if phrase.known or not goes or state.resolver.things(replace(phrase, places=())):
        return None
    names = enumerated(sorted(room.name for room in state.rooms), 12) or "no rooms"
    return _no_such_room(state, phrase, f"the map has no {phrase.noun!r}; it has {names}")


def _no_such_room(state: RequestState, phrase: Phrase, text: str) -> Judgement:
    unlooked = state.looked.missing(state.rooms)
    if not state.all_rooms or not state.rooms:
        return Judgement(
            "not_seen_yet",
            f"no {phrase.noun or phrase.said} has been seen so far, and "
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
        said=phrase.said,
    )


def _missing_thing(state: RequestState, mention: Mention) -> Judgement | None:
    """What nobody has seen: denied where it was looked for well enough, else not seen yet."""
    phrase = mention.phrase
    if state.resolver.is_place(phrase) or not phrase.known or not phrase.label or phrase.members:
        return None
    if not mention.presumed or phrase.label in state.scene.objects:
        return None
    if state.resolver.things(phrase):
        return None
    rooms = state.resolver.where(phrase)
    check = state.vocabulary.check(
        phrase.label, [t.label.top for t in state.scene.objects.values()]
    )
    name = phrase.noun or phrase.label
    others = state.resolver.things(replace(phrase, places=(), color="", ordinal=0))
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
    at = state.resolver.whereabouts(first)
    return f"; a {plain(first.label.top)} was seen{f' {at}' if at else ''}"


# -- several that fit ----------------------------------------------------------------------------


def _too_many(state: RequestState, mention: Mention) -> Judgement | None:
    phrase = mention.phrase
    if not mention.only or phrase.order or phrase.ordinal or phrase.which in ("rest", "other"):
        return None
    if state.resolver.is_place(phrase):
        return _too_many_rooms(state, mention)
    if phrase.number != "one" or phrase.anything or phrase.alternatives:
        return None
    fits = _distinct(state.resolver.things(phrase))
    if mention.role == "target":  # any of those in one room will do
        fits = list({thing.room: thing for thing in reversed(fits)}.values())[::-1]
    if len(fits) < 2 or phrase.label in state.scene.objects:
        return None
    choices = state.resolver.described(fits)
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
    rooms = state.resolver.rooms(phrase)
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


def _distinct(things: Sequence[SceneObject]) -> list[SceneObject]:
    """Leave out what may be another thing of the list, mapped twice."""
    clearest = sorted(things, key=lambda thing: (-thing.observations, thing.id))
    return sorted((group[0] for group in one_of_each(clearest)), key=lambda thing: thing.id)
