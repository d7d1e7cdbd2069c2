"""A Request as wants: what is to be brought, found, checked, gone to, opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from coterie_core.household import load_household
from coterie_requests.request import COMMANDS, Act, Command, Request, Step, Thing
from coterie_requests.understanding.phrases import Phrase, phrase_of
from coterie_requests.understanding.problems import NotUnderstood, ProblemKind
from coterie_requests.understanding.text import nearest, shown
from coterie_requests.understanding.vocabulary import Vocabulary
from emos_planner.leader.task_graph import SEEN, Want

MAX_COMMANDS = 60
EVERYBODY = "everybody"
_EXAMPLE = '"bring the mug to the kitchen counter"'
_DONE_AS: Mapping[Act, Command] = {"is_there": "check", "relation": "check", "where": "find"}
"""Questions that a task may hold, and what robots do to answer them."""
_PUT = ("to", "in", "on", "near")
"""How robots put things to others; "to": however is usual there."""


def wants_of(request: Request, names: Vocabulary) -> list[Want]:
    """Return the wants of a request, one per thing, in the order they were said.

    Args:
        request: What a person asks for.
        names: Names of the household, the map and the robots.

    Raises:
        NotUnderstood: A part of it is nothing that robots do, or lacks where to; nothing of it is
            done then, for half a task may be worse than none.
    """
    wants: list[Want] = []
    for step in request.steps:
        for want in _wants(step, names, request.words):
            phrase = want.phrase
            if phrase.which:  # "the other mug": none of those spoken of before
                before = (one.phrase for one in wants if one.phrase.label == phrase.label)
                told = (p for p in before if p.color or p.places or p.order or p.ordinal)
                out = (*phrase.excluded, *(replace(one, excluded=()) for one in told))
                want.phrase = replace(phrase, excluded=out)
            want.then = want.then and bool(wants)
            wants.append(want)
    if len(wants) > MAX_COMMANDS:
        many = f"{len(wants)} wishes at once; split the task (most: {MAX_COMMANDS})"
        raise NotUnderstood(many, "too_long")
    return wants


def _no(
    text: str, why: str, kind: ProblemKind, word: str = "", question: str = "",
    suggestions: tuple[str, ...] = (),
) -> NotUnderstood:  # fmt: skip
    """Return why a part of a task (`text`) cannot be done, and what to ask back."""
    told = f"{shown(text)!r}{why}"
    return NotUnderstood(told, kind, word, question=question, suggestions=suggestions)


def _wants(step: Step, names: Vocabulary, words: str) -> list[Want]:
    """Return the wants of a step, one for each of its things.

    Raises:
        NotUnderstood: Robots cannot do it, or a part of it is missing.
    """
    kind, text = _kind_of(step, words), step.said or step.told()
    things = step.things or (step.to.things if kind == "go" and step.to else ())
    if not things:
        raise _no(text, f": say what to {kind}, as in {_EXAMPLE}", "object")
    if kind not in SEEN:
        for thing in things:
            _one_of(text, thing.said, (thing, *thing.either))
    objects = [phrase_of(thing, names) for thing in things]
    target = _target(step, text, objects, names) if kind == "bring" else None
    relation = step.to.relation if target is not None and step.to is not None else ""
    made = partial(
        Want, target=target, relation="" if relation == "to" else relation,
        robot=_robot_of(step, names), everybody=step.robot == EVERYBODY, text=text,
        skill=step.skill,
    )  # fmt: skip
    found = []
    for k, phrase in enumerate(objects):
        is_room = bool(phrase.room or phrase.floor) and not phrase.label
        goes = kind == "go" or (kind in SEEN and is_room)  # a room is seen by going there
        if goes and not step.is_command:
            raise _no(text, " asks for a room and is no task: ask it with ./coterie ask", "verb")
        if goes:
            phrase = _place(text, phrase)
        else:
            _check_object(text, kind, phrase, is_room)
        need = 0 if phrase.number == "all" else max(phrase.count, 1)
        found.append(made("go" if goes else kind, phrase, need=need, then=step.then and not k))
    return found


def _kind_of(step: Step, words: str) -> Command:
    """Return what robots do for a step.

    Raises:
        NotUnderstood: They do not answer such questions on a task, or it says what not to do.
    """
    text = (step.said or step.told()) if step.is_command else words
    kind = cast(Command, step.act) if step.act in COMMANDS else _DONE_AS.get(step.act)
    if kind is None or step.options or step.choices or step.attribute:
        why = (
            " is a question and no task: robots on a task tell whether something is there, and "
            "where; ask it with ./coterie ask"
        )
        raise _no(text, why, "verb", text.split()[0])
    if step.negated and step.is_command:
        why = " says what is not to be done: robots do only what they are told"
        raise _no(text, why, "negation", text, "What shall they do?")
    if step.to is not None and kind not in ("bring", "go"):
        to = step.to.told()
        raise _no(text, f": what is meant by {to!r}?", "target", to)
    return kind


def _one_of(text: str, words: str, things: Sequence[Thing]) -> None:
    """Ask back which of several things, or places, is meant: robots choose none of them.

    Raises:
        NotUnderstood: There are several.
    """
    if len(things) > 1:
        bare = (thing.but(either=()) for thing in things)
        each = ((one.said or one.told()).removeprefix("either ") for one in bare)
        said = tuple(one.partition(" or ")[0] for one in each)
        why = f" leaves open which one: {' or '.join(said)}"
        raise _no(text, why, "ambiguous", words, "Which one do you mean?", said)


def _target(step: Step, text: str, objects: Sequence[Phrase], names: Vocabulary) -> Phrase:
    """Return where things go.

    Raises:
        NotUnderstood: It is not said, or no one place where robots put things.
    """
    if step.to is None or step.to.negated:
        raise _where_to(text, objects)
    relation = step.to.relation
    if relation not in _PUT:
        why = f": robots put things in, on and near others, not {relation!r} them"
        raise _no(text, why, "target", relation, "Where else shall it go?")
    places = (*step.to.things, *step.to.thing.either)
    _one_of(text, " or ".join(place.said for place in places), places)
    target = _place(text, phrase_of(step.to.thing, names))
    if target.number != "one" and not target.floor:
        why = f": {target.said!r} are several places, and robots take a thing to one"
        raise _no(text, why, "target", target.said, "Which one?")
    return target


def _robot_of(step: Step, names: Vocabulary) -> str:
    """Return the robot that is spoken to ("": none in particular).

    Raises:
        NotUnderstood: The team has no such robot.
    """
    said = step.robot.lower()
    if said in ("", EVERYBODY):
        return ""
    known = {robot.lower(): robot for robot in names.robots}
    if said not in known:
        near = nearest(said, names.robots)
        team = ", ".join(names.robots) or "no robot at all"
        hint = f"; did you mean {near[0]!r}?" if near else ""
        told = f"no robot is called {said!r}; the team has {team}{hint}"
        raise NotUnderstood(told, "robot", said, suggestions=near or names.robots)
    return known[said]


def _check_object(text: str, command: Command, thing: Phrase, is_room: bool) -> None:
    """Refuse what cannot be done with such a thing.

    Raises:
        NotUnderstood: It is a person, a room, any thing, or nothing that anybody knows.
    """
    if thing.person or thing.house or (thing.robot and not thing.label):
        kind: ProblemKind = "person" if thing.person else "object"
        raise _no(text, f": {thing.said!r} is nothing to {command}", kind, thing.said)
    if is_room:
        why = f": {thing.said!r} is a room and stays where it is"
        raise _no(text, why, "object", thing.said)
    if thing.anything and not thing.places:
        asked = "Say where: everything on what, or in which room?"
        raise _no(text, f": {thing.said!r} may be any", "object", thing.said, asked)
    words = thing.noun.split()
    if not thing.known and (thing.use or not all(w.isascii() and w.isalpha() for w in words)):
        why = f": nothing is known that is called, or serves, {thing.noun!r}"
        raise _no(text, why, "word", thing.noun)


def _place(text: str, place: Phrase) -> Phrase:
    """Return a place that robots know, or the room of a person: "my wife in the bedroom".

    Raises:
        NotUnderstood: No robot searches a house for a name without meaning.
    """
    if place.person and place.places:
        place = place.places[0].phrase
    if place.person:
        who = "you are" if place.noun in ("me", "us", "here") else f"{place.said!r} is"
        asked = f"Where is that? Name a room or a piece of furniture, as in {_EXAMPLE}"
        raise _no(text, f": robots do not know where {who}", "person", place.said, asked)
    if not place.known or place.anything or (place.robot and not place.label):
        said = place.noun or place.said
        asked = "Where is that? Name a room or a piece of furniture"
        raise _no(text, f": nothing here that is called {said!r} is a place", "place", said, asked)
    return place


def _where_to(text: str, things: Sequence[Phrase]) -> NotUnderstood:
    """Return the question where to, with where such things usually are."""
    household = load_household()
    known = (household.category(thing.label) for thing in things if thing.known)
    groups = (group for category in known if category is not None for group in category.on)
    usual = [place for group in groups for place in household.members(group)[:2]]
    near = tuple(dict.fromkeys(place for place in usual if place != "floor"))[:4]
    hint = f" For example {', '.join(f'the {place}' for place in near)}" if near else ""
    said = things[0].said
    asked = f"Where shall {said} go?{hint}"
    return _no(text, f": say where to, as in {_EXAMPLE}", "target", said, asked, near)
