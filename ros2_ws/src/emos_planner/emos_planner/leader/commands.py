"""A Request as commands: what is to be brought, found, checked, gone to, opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from coterie_core.household import load_household
from coterie_requests.request import COMMANDS, Act, Place, Request, Step
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


def commands_of(request: Request, names: Vocabulary) -> tuple[Command, ...]:
    """Return the commands of a request, one per thing, in the order they were said.

    Args:
        request: What a person asks for.
        names: Names of the household, the map and the robots.

    Raises:
        NotUnderstood: A part of it is nothing that robots do, or lacks where to; nothing of it is
            done then, for half a task may be worse than none.
    """
    reader = _Reader(names, request.words)
    try:
        for step in request.steps:
            reader.add(step)
        reader.end()
    except NotUnderstood as error:
        raise _with_progress(error, reader.commands, request.words) from None
    return tuple(reader.commands)


def _with_progress(error: NotUnderstood, commands: Sequence[Command], words: str) -> NotUnderstood:
    """Say what was understood before that, and that nothing of it is done."""
    problem = error.problem
    text = problem.text
    if commands:
        told = ", ".join(repr(command.text) for command in commands[:3])
        text = f"{text} (understood: {told}; nothing is done of a task that is only half clear)"
    return NotUnderstood(
        text,
        problem.kind,
        problem.word,
        sentence=words,
        suggestions=problem.suggestions,
        question=problem.question,
    )


class _Reader:
    """Collects the commands of steps, each checked against those before it."""

    def __init__(self, names: Vocabulary, words: str) -> None:
        self.names = names
        self.words = words
        self.commands: list[Command] = []
        self._owed: NotUnderstood | None = None
        """Why the last command is still without a place; what follows may name it."""

    def add(self, step: Step) -> None:
        """Add the commands of a step.

        Raises:
            NotUnderstood: Robots cannot do it, or a part of it is missing.
        """
        kind = _kind_of(step, self.words)
        if self._owed is not None and kind != "bring":
            raise self._owed
        text = step.said or step.told()
        things = step.things or (step.to.things if kind == "go" and step.to else ())
        if not things:
            raise NotUnderstood(f"{shown(text)!r}: say what to {kind}, as in {_EXAMPLE}", "object")
        objects = [phrase_of(thing, self.names) for thing in things]
        if kind == "go":
            objects = [_place_of(phrase) for phrase in objects]
        target = self._target(step, text, objects) if kind == "bring" else None
        command = Command(
            "take" if kind == "bring" and target is None else kind,
            objects[0],
            target,
            _relation_of(step.to) if target is not None else "",
            _robot_of(step, self.names),
            step.robot == EVERYBODY,
            text,
        )
        for k, phrase in enumerate(objects):
            one = replace(command, object=phrase, then=step.then and k == 0)
            self._append(_as_going(one), of_question=not step.is_command)

    def end(self) -> None:
        """Check the whole.

        Raises:
            NotUnderstood: A place is still missing, or there are too many commands.
        """
        if self._owed is not None:
            raise self._owed
        if len(self.commands) > MAX_COMMANDS:
            raise NotUnderstood(
                f"{len(self.commands)} wishes at once; split the task (most: {MAX_COMMANDS})",
                "too_long",
            )

    def _target(self, step: Step, text: str, objects: Sequence[Phrase]) -> Phrase | None:
        """Return where things go; None where only what follows can say it ("bring me the mug")."""
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
        first, *others = (phrase_of(thing, self.names) for thing in step.to.things)
        target = replace(first, alternatives=(*first.alternatives, *others)) if others else first
        target = _place_of(target)
        try:
            _check_place(text, target)
        except NotUnderstood as error:
            if not target.person:
                raise
            self._owed = error  # "bring me the mug", and then: "put it on the table"
            return None
        if target.number != "one" and not target.floor:
            raise NotUnderstood(
                f"{shown(text)!r}: {target.said!r} are several places, and robots take a thing "
                "to one",
                "target",
                target.said,
                question="Which one?",
            )
        return target

    def _append(self, command: Command, *, of_question: bool) -> None:
        """Add a command once it is checked, or merge it with the one that it completes."""
        _check_object(command, of_question=of_question)
        if self._merged(command):
            if not any(one.kind == "take" for one in self.commands):
                self._owed = None
            return
        if self._owed is not None and command.kind == "bring":
            raise self._owed
        phrase = command.object
        if phrase.which in ("other", "another", "rest"):
            before = [one.object for one in self.commands if one.object.label == phrase.label]
            spoken_of = tuple(replace(one, excluded=()) for one in before if _tells(one))
            phrase = replace(phrase, excluded=(*phrase.excluded, *spoken_of))
        then = bool(self.commands) and (command.then or self._waits(command))
        self.commands.append(replace(command, object=phrase, then=then))

    def _merged(self, command: Command) -> bool:
        """Make "take the mug" and "put the cup on the desk" one, as labels tell the same thing."""
        for k in range(len(self.commands) - 1, -1, -1):
            one = self.commands[k]
            if command.kind != "bring" or one.kind != "take":
                continue
            if (one.object.label, one.object.noun) != (command.object.label, command.object.noun):
                continue
            if command.object.number == "some" and command.object.count != one.object.count:
                raise NotUnderstood(
                    f"{shown(command.text)!r}: {command.object.said!r} are not all of "
                    f"{one.object.said!r}",
                    "ambiguous",
                    command.object.said,
                    question="Where shall the rest go?",
                )
            text = f"{one.text} and {command.text}"
            self.commands[k] = replace(
                one, kind="bring", target=command.target, relation=command.relation, text=text
            )
            return True
        return False

    def _waits(self, command: Command) -> bool:
        """Whether it is about furniture that is opened or closed before, or closes what was used.

        Only so "open the cupboard, put the bowls in it and close it again" is done in this order.
        """
        moves = ("open", "close")
        return any(
            (command.kind in moves or one.kind in moves) and _furniture(one) & _furniture(command)
            for one in self.commands
        )


def _kind_of(step: Step, words: str) -> CommandKind:
    """Return what robots do for a step.

    Raises:
        NotUnderstood: They do not answer such questions on a task, or it says what not to do.
    """
    text = (step.said or step.told()) if step.is_command else words
    kind = _DONE_AS.get(step.act)
    if step.act in COMMANDS:
        kind = cast(CommandKind, step.act)
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
    if kind == "take" and step.to is not None:
        return "bring"
    if step.to is not None and kind not in ("bring", "go"):
        raise NotUnderstood(
            f"{shown(text)!r}: what is meant by {step.to.told()!r}?", "target", step.to.told()
        )
    return kind


def _robot_of(step: Step, names: Vocabulary) -> str:
    """Return the robot that is spoken to ("": none in particular).

    Raises:
        NotUnderstood: The team has no such robot.
    """
    said = step.robot
    if said in ("", EVERYBODY):
        return ""
    for robot in names.robots:
        if robot.lower() == said.lower():
            return robot
    near = nearest(said.lower(), names.robots)
    team = ", ".join(names.robots) or "no robot at all"
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise NotUnderstood(
        f"no robot is called {said!r}; the team has {team}{hint}",
        "robot",
        said,
        suggestions=near or names.robots,
    )


def _as_going(command: Command) -> Command:
    """Return a command in which robots go to a room that is to be seen."""
    thing = command.object
    seen = command.kind in ("find", "look", "check")
    return replace(command, kind="go") if seen and _is_room(thing) else command


def _is_room(phrase: Phrase) -> bool:
    return bool(phrase.room or phrase.floor) and not phrase.label


def _check_object(command: Command, *, of_question: bool) -> None:
    """Refuse what cannot be done with such a thing."""
    thing, kind, text = command.object, command.kind, command.text
    if kind == "go":
        if of_question:
            raise NotUnderstood(
                f"{shown(text)!r} asks for a room and is no task: ask it with ./coterie ask", "verb"
            )
        _check_place(text, thing)
    elif thing.person or thing.house or (thing.robot and not thing.label):
        raise NotUnderstood(
            f"{shown(text)!r}: {thing.said!r} is nothing to {kind}",
            "object" if not thing.person else "person",
            thing.said,
        )
    elif _is_room(thing):
        raise NotUnderstood(
            f"{shown(text)!r}: {thing.said!r} is a room and stays where it is",
            "object",
            thing.said,
        )
    unknown = not (thing.known or thing.person)
    if unknown and (thing.use or not all(w.isascii() and w.isalpha() for w in thing.noun.split())):
        raise NotUnderstood(
            f"{shown(text)!r}: nothing is known that is called, or serves, {thing.noun!r}",
            "word",
            thing.noun,
        )


def _relation_of(place: Place | None) -> str:
    return "" if place is None or place.relation == "to" else place.relation


def _place_of(phrase: Phrase) -> Phrase:
    """Return the room of a person whose room was said: "my wife in the bedroom"."""
    return phrase.places[0].phrase if phrase.person and phrase.places else phrase


def _check_place(text: str, place: Phrase) -> None:
    """Refuse a place that nobody knows: no robot searches a house for a name without meaning."""
    if place.person:
        who = "you are" if place.noun in ("me", "us", "here") else f"{place.said!r} is"
        raise NotUnderstood(
            f"{shown(text)!r}: robots do not know where {who}",
            "person",
            place.said,
            question=f"Where is that? Name a room or a piece of furniture, as in {_EXAMPLE}",
        )
    if place.known and not place.anything and not (place.robot and not place.label):
        return
    raise NotUnderstood(
        f"{shown(text)!r}: nothing here that is called {place.noun or place.said!r} is a place",
        "place",
        place.noun or place.said,
        question="Where is that? Name a room or a piece of furniture",
    )


def _where_to(text: str, things: Sequence[Phrase]) -> NotUnderstood:
    """Return the question where to, with where such things usually are."""
    household = load_household()
    usual: list[str] = []
    for thing in things:
        category = household.category(thing.label) if thing.known else None
        for group in category.on if category is not None else ():
            usual += household.members(group)[:2]
    suggestions = tuple(dict.fromkeys(place for place in usual if place != "floor"))[:4]
    hint = f" For example {', '.join(f'the {place}' for place in suggestions)}" if usual else ""
    return NotUnderstood(
        f"{shown(text)!r}: say where to, as in {_EXAMPLE}",
        "target",
        things[0].said,
        suggestions=suggestions,
        question=f"Where shall {things[0].said} go?{hint}",
    )


def _furniture(command: Command) -> set[str]:
    """Return the labels of what a command opens, closes, takes things from or puts them in."""
    own = [command.object] if command.kind in ("open", "close") else []
    target = [command.target] if command.target is not None else []
    places = [place.phrase for place in command.object.places]
    return {phrase.label for phrase in (*own, *target, *places) if phrase.label}


def _tells(phrase: Phrase) -> bool:
    """Whether a phrase picks some things out of all that bear its name."""
    return bool(phrase.color or phrase.places or phrase.order or phrase.ordinal)
