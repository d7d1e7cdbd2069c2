"""A Request as commands: what is to be brought, found, checked, gone to, opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from coterie_core.household import load_household
from coterie_requests.request import COMMANDS, Act, Request, Step, Thing
from coterie_requests.request import Command as CommandKind
from coterie_requests.understanding.phrases import Phrase, phrase_of
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.text import nearest, shown
from coterie_requests.understanding.vocabulary import Vocabulary

MAX_COMMANDS = 60
EVERYBODY = "everybody"
_EXAMPLE = '"bring the mug to the kitchen counter"'
_DONE_AS: Mapping[Act, CommandKind] = {"is_there": "check", "relation": "check", "where": "find"}
"""Questions that a task may hold, and what robots do to answer them."""
_PUT = ("to", "in", "on", "near")
"""How robots put things to others; "to": however is usual there."""
_SEEN = ("find", "look", "check")


@dataclass(frozen=True, slots=True)
class Command:
    """One thing that a person wants: verb, object, and where to (`relation`: in, on or near).

    `then` says that it is begun when all commands before it are done.
    """

    kind: CommandKind
    object: Phrase
    target: Phrase | None = None
    relation: str = ""
    robot: str = ""
    everybody: bool = False
    text: str = ""
    then: bool = False
    skill: str = ""


def commands_of(request: Request, names: Vocabulary) -> tuple[Command, ...]:
    """Return the commands of a request, one per thing, in the order they were said.

    Args:
        request: What a person asks for.
        names: Names of the household, the map and the robots.

    Raises:
        NotUnderstood: A part of it is nothing that robots do, or lacks where to; nothing of it is
            done then, for half a task may be worse than none.
    """
    commands: list[Command] = []
    for step in request.steps:
        for command in _commands(step, names, request.words):
            phrase = command.object
            if phrase.which:  # "the other mug": none of those spoken of before
                before = [one.object for one in commands if one.object.label == phrase.label]
                spoken_of = tuple(
                    replace(one, excluded=())
                    for one in before
                    if one.color or one.places or one.order or one.ordinal
                )
                phrase = replace(phrase, excluded=(*phrase.excluded, *spoken_of))
            then = command.then and bool(commands)
            commands.append(replace(command, object=phrase, then=then))
    if len(commands) > MAX_COMMANDS:
        told = f"{len(commands)} wishes at once; split the task (most: {MAX_COMMANDS})"
        raise NotUnderstood(told, "too_long")
    return tuple(commands)


def _commands(step: Step, names: Vocabulary, words: str) -> list[Command]:
    """Return the commands of a step, one for each of its things.

    Raises:
        NotUnderstood: Robots cannot do it, or a part of it is missing.
    """
    kind, text = _kind_of(step, words), step.said or step.told()
    things = step.things or (step.to.things if kind == "go" and step.to else ())
    if not things:
        raise NotUnderstood(f"{shown(text)!r}: say what to {kind}, as in {_EXAMPLE}", "object")
    if kind not in _SEEN:
        for thing in things:
            _one_of(text, thing.said, (thing, *thing.either))
    objects = [phrase_of(thing, names) for thing in things]
    target = _target(step, text, objects, names) if kind == "bring" else None
    relation = step.to.relation if target is not None and step.to is not None else ""
    made = Command(
        kind, objects[0], target, "" if relation == "to" else relation, _robot_of(step, names),
        step.robot == EVERYBODY, text, step.then, step.skill,
    )  # fmt: skip
    found = []
    for k, phrase in enumerate(objects):
        is_room = bool(phrase.room or phrase.floor) and not phrase.label
        goes = kind == "go" or (kind in _SEEN and is_room)  # a room is seen by going there
        if goes and not step.is_command:
            asked = f"{shown(text)!r} asks for a room and is no task: ask it with ./coterie ask"
            raise NotUnderstood(asked, "verb")
        one = replace(made, object=phrase, then=made.then and not k)
        if goes:
            one = replace(one, kind="go", object=_place(text, phrase))
        else:
            _check_object(one, is_room)
        found.append(one)
    return found


def _kind_of(step: Step, words: str) -> CommandKind:
    """Return what robots do for a step.

    Raises:
        NotUnderstood: They do not answer such questions on a task, or it says what not to do.
    """
    text = (step.said or step.told()) if step.is_command else words
    kind = cast(CommandKind, step.act) if step.act in COMMANDS else _DONE_AS.get(step.act)
    if kind is None or step.options or step.choices or step.attribute:
        raise NotUnderstood(
            f"{shown(text)!r} is a question and no task: robots on a task tell whether something "
            "is there, and where; ask it with ./coterie ask",
            "verb",
            text.split()[0],
        )
    if step.negated and step.is_command:
        raise NotUnderstood(
            f"{shown(text)!r} says what is not to be done: robots do only what they are told",
            "negation",
            text,
            question="What shall they do?",
        )
    if step.to is not None and kind not in ("bring", "go"):
        raise NotUnderstood(
            f"{shown(text)!r}: what is meant by {step.to.told()!r}?", "target", step.to.told()
        )
    return kind


def _one_of(text: str, words: str, things: Sequence[Thing]) -> None:
    """Ask back which of several things, or places, is meant: robots choose none of them.

    Raises:
        NotUnderstood: There are several.
    """
    if len(things) > 1:
        bare = (thing.model_copy(update={"either": ()}) for thing in things)
        each = ((one.said or one.told()).removeprefix("either ") for one in bare)
        said = tuple(one.partition(" or ")[0] for one in each)
        raise NotUnderstood(
            f"{shown(text)!r} leaves open which one: {' or '.join(said)}",
            "ambiguous",
            words,
            suggestions=said,
            question="Which one do you mean?",
        )


def _target(step: Step, text: str, objects: Sequence[Phrase], names: Vocabulary) -> Phrase:
    """Return where things go.

    Raises:
        NotUnderstood: It is not said, or no one place where robots put things.
    """
    if step.to is None or step.to.negated:
        raise _where_to(text, objects)
    if step.to.relation not in _PUT:
        raise NotUnderstood(
            f"{shown(text)!r}: robots put things in, on and near others, not "
            f"{step.to.relation!r} them",
            "target",
            step.to.relation,
            question="Where else shall it go?",
        )
    places = (*step.to.things, *step.to.thing.either)
    _one_of(text, " or ".join(place.said for place in places), places)
    target = _place(text, phrase_of(step.to.thing, names))
    if target.number != "one" and not target.floor:
        raise NotUnderstood(
            f"{shown(text)!r}: {target.said!r} are several places, and robots take a thing to one",
            "target",
            target.said,
            question="Which one?",
        )
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


def _check_object(command: Command, is_room: bool) -> None:
    """Refuse what cannot be done with such a thing.

    Raises:
        NotUnderstood: It is a person, a room, any thing, or nothing that anybody knows.
    """
    thing, told = command.object, shown(command.text)
    if thing.person or thing.house or (thing.robot and not thing.label):
        raise NotUnderstood(
            f"{told!r}: {thing.said!r} is nothing to {command.kind}",
            "person" if thing.person else "object",
            thing.said,
        )
    if is_room:
        raise NotUnderstood(
            f"{told!r}: {thing.said!r} is a room and stays where it is", "object", thing.said
        )
    if thing.anything and not thing.places:
        asked = "Say where: everything on what, or in which room?"
        raise NotUnderstood(f"{told!r}: {thing.said!r} may be any", "object", thing.said,
                            question=asked)  # fmt: skip
    words = thing.noun.split()
    if not thing.known and (thing.use or not all(w.isascii() and w.isalpha() for w in words)):
        raise NotUnderstood(
            f"{told!r}: nothing is known that is called, or serves, {thing.noun!r}",
            "word",
            thing.noun,
        )


def _place(text: str, place: Phrase) -> Phrase:
    """Return a place that robots know, or the room of a person: "my wife in the bedroom".

    Raises:
        NotUnderstood: No robot searches a house for a name without meaning.
    """
    if place.person and place.places:
        place = place.places[0].phrase
    if place.person:
        who = "you are" if place.noun in ("me", "us", "here") else f"{place.said!r} is"
        raise NotUnderstood(
            f"{shown(text)!r}: robots do not know where {who}",
            "person",
            place.said,
            question=f"Where is that? Name a room or a piece of furniture, as in {_EXAMPLE}",
        )
    if not place.known or place.anything or (place.robot and not place.label):
        raise NotUnderstood(
            f"{shown(text)!r}: nothing here that is called {place.noun or place.said!r} is a place",
            "place",
            place.noun or place.said,
            question="Where is that? Name a room or a piece of furniture",
        )
    return place


def _where_to(text: str, things: Sequence[Phrase]) -> NotUnderstood:
    """Return the question where to, with where such things usually are."""
    household = load_household()
    known = (household.category(thing.label) for thing in things if thing.known)
    groups = (group for category in known if category is not None for group in category.on)
    usual = [place for group in groups for place in household.members(group)[:2]]
    near = tuple(dict.fromkeys(place for place in usual if place != "floor"))[:4]
    hint = f" For example {', '.join(f'the {place}' for place in near)}" if near else ""
    return NotUnderstood(
        f"{shown(text)!r}: say where to, as in {_EXAMPLE}",
        "target",
        things[0].said,
        suggestions=near,
        question=f"Where shall {things[0].said} go?{hint}",
    )
