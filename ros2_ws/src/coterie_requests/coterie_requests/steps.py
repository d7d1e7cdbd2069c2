"""Clauses of the grammar as Steps: acts, where things go, and what pronouns stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import lark

from coterie_requests.questions import question_steps
from coterie_requests.request import ALL, Act, Place, Step, Thing
from coterie_requests.things import (
    IT,
    ONE,
    ThingReader,
    Tree,
    Word,
    like,
    nested,
    trees,
    with_places,
)
from coterie_requests.understanding.phrases import PERSONS
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.text import shown
from coterie_requests.understanding.vocabulary import Vocabulary

_PLAIN: dict[str, Act] = {
    "bring": "bring", "put": "bring", "more": "bring", "take": "take", "take_out": "take",
    "gather": "take", "find": "find", "find_at": "find", "look": "look", "look_in": "look",
    "check": "check", "check_at": "check", "go": "go", "open": "open", "close": "close",
}  # fmt: skip
_IN_ORDER = frozenset(("open", "close", "go", "take"))
"""Acts that are done in the order in which they were said."""


class StepReader:
    """Reads the parts of a text one after the other; pronouns look back at what was read."""

    def __init__(self, names: Vocabulary, door: str) -> None:
        self.names = names
        self.door = door
        self.steps: list[Step] = []
        self._context: list[Step] = []
        self._stays: list[Thing] = []
        self.asides: list[str] = []
        self._robot = ""
        self._reader = ThingReader(())

    def read(self, tree: Tree, words: Sequence[Word], then: bool) -> None:
        """Add the steps of one part; `then`: they come after all before."""
        self._reader = ThingReader(words)
        begun = len(self.steps)
        if tree.data == "found":
            self._add("find", self._things(tree))
        elif tree.data == "question":
            for step in question_steps(tree, self._reader):
                things, _ = self._resolved(step.things, None, step.act)
                self.steps.append(step.model_copy(update={"things": things}))
        else:
            for clause in trees(tree) if tree.data == "clauses" else [tree]:
                self._clause(clause)
        if then and begun and len(self.steps) > begun:
            self.steps[begun] = self.steps[begun].model_copy(update={"then": True})

    def serve(self, use: str) -> None:
        """Add that what serves a use is asked for."""
        self._add("find", (Thing(use=use, said=use, amount=ALL),), said=use)

    def finished(self) -> tuple[Step, ...]:
        """Return the steps of the whole text.

        Raises:
            NotUnderstood: Something was only told, and nothing asked for; or a pronoun stands for
                nothing.
        """
        if not self.steps and self._context:
            self.steps = [step for step in self._context if step.to is not None]
            if not self.steps:
                said = self._context[0].things[0].told()
                raise NotUnderstood(
                    f"that tells of {said} and asks for nothing", "empty",
                    question=f"What shall robots do with {said}?",
                )  # fmt: skip
        things = (thing for step in self.steps for thing in step.things)
        for one in (inner for thing in things for inner in thing.mentioned()):
            if one.name in (IT, ONE):
                raise _pronoun(one)  # "what is on top of it?"
        return tuple(self._spared(step) for step in self.steps)

    def _spared(self, step: Step) -> Step:
        """Leave out of a step the things that are to stay where they are."""
        things = tuple(
            t.model_copy(
                update={"without": (*t.without, *(s for s in self._stays if s.name == t.name))}
            )
            for t in step.things
        )
        return step.model_copy(update={"things": things}) if step.is_command else step

    # -- clauses ----------------------------------------------------------------------------------

    def _clause(self, node: Tree) -> None:
        if node.data in ("before", "after"):
            first, second = trees(node, "imperative")
            if node.data == "before":
                first, second = second, first
            self._clause(first)
            begun = len(self.steps)
            self._clause(second)
            if len(self.steps) > begun:
                self.steps[begun] = self.steps[begun].model_copy(update={"then": True})
        elif node.data == "halt":
            raise NotUnderstood(
                "nothing was stopped: a task stops no robots; use ./coterie stop or the stop "
                "button", "verb", "stop",
            )  # fmt: skip
        elif node.data == "forbidden":
            raise NotUnderstood(
                f"{shown(self._reader.said(node))!r} is not to be done: robots do only what they "
                "are told", "negation", question="What shall they do?",
            )  # fmt: skip
        elif node.data == "spared":
            self._spare(self._things(node))
        elif node.data in ("needed", "belongs", "there_is", "stands"):
            self._wish(node)
        else:
            for robot in trees(node, "robot"):
                self._robot = self._robot_name(robot)
            for act in trees(node, *_PLAIN, "going", "stays"):
                self._act(act)

    def _robot_name(self, node: Tree) -> str:
        token = next((c for c in node.children if isinstance(c, lark.Token)), None)
        if token is None or token.type == "EVERYBODY":
            return "everybody"
        name = self.names.lookup(self._reader.word(token).name)
        return name.robot if name is not None else ""

    def _act(self, node: Tree) -> None:
        if node.data in ("go", "going"):
            self._go(node)
            return
        act, things, to = _PLAIN.get(node.data, "bring"), self._things(node), self._target(node)
        things = tuple(self._reader.without(thing, trees(node, "but")) for thing in things)
        if node.data == "more":
            act = self.steps[-1].act if self.steps else act
        if node.data == "gather":
            self._not_both(node, things, to)
        if node.data == "stays":
            self._stay(things, self._reader.said(node))
            return
        if node.data == "take_out":
            raise _where_to(self._reader.said(node))
        if node.data == "put" and to is None:
            for some in _by_target(things):
                self._add(act, *_taken_apart(some), self._reader.said(node))
            return
        if node.data in ("take", "gather") and to is not None:
            act = "bring"
        if node.data == "bring" and to is None and self._reader.said(node).startswith("take "):
            act = "take"
        if node.data in ("find_at", "check_at", "look_in"):
            rooms = [Place(things=(self._reader.np(one),)) for one in trees(node, "np")]
            places = (*rooms, *self._places(node))
            if node.data == "look_in":
                act, things = "look", tuple(place.thing for place in places)
            else:
                things = with_places(things, places)
        if node.data == "bring" and to is None and trees(node, "person"):
            to = Place(relation="to", things=(Thing(name="me", said="me"),))
        self._add(act, things, to, self._reader.said(node))

    def _stay(self, things: tuple[Thing, ...], said: str) -> None:
        """Put down what was taken ("and leave it on the table"), or let things stay."""
        last = self.steps[-1] if self.steps else None
        if things[0].name == IT and last is not None and last.act == "take" and things[0].places:
            self._add("bring", *_taken_apart(things), said)
            return
        things, _ = self._resolved(things, None, "bring")
        self._context.append(Step(act="bring", things=things))
        self._stays += [thing for thing in things if thing.definite]
        self.asides.append(f"leave {said}")

    def _not_both(self, node: Tree, things: Sequence[Thing], to: Place | None) -> None:
        """Ask whether things that are gathered "in the sink" are there, or are to go there."""
        said = self._reader.said(node)
        places = [place for thing in things for place in thing.places]
        source = any(place.relation == "from" for place in places)
        places += [inner for place in places for inner in place.thing.places]
        for place in places if to is None else ():
            name = self.names.lookup(place.thing.name)
            furniture = source or (name is not None and bool(name.label))
            if place.relation in ("in", "on", "near") and furniture:
                into = {"in": "into", "on": "onto"}.get(place.relation, "to")
                before, _, there = said.partition(f" {place.relation} ")
                two = (f"{before} {into} {there}", f"{before} from {there}")
                raise NotUnderstood(
                    f"{shown(said)!r} may say where they are, or where they go", "ambiguous", said,
                    suggestions=two if there else (),
                    question=f"{into.title()} {place.thing.told()}, or are they there now?",
                )  # fmt: skip

    def _go(self, node: Tree) -> None:
        going = node if node.data == "going" else next(iter(trees(node, "going", "nowhere")), None)
        if going is None or going.data == "nowhere":
            raise NotUnderstood("robots do not know where you are", "person",
                                question="Which room shall they go to?")  # fmt: skip
        for np in trees(going, "np"):
            self._add("go", (self._reader.np(np),), None, self._reader.said(node))

    def _wish(self, node: Tree) -> None:
        things, to = self._things(node), self._target(node)
        if self.door == "find":  # what is needed is looked for, wherever it is
            self._add("find", things)
            return
        if to is None:
            things, to = _taken_apart(things)
        things, to = self._resolved(things, to, "bring")
        step = Step(act="bring", things=things, to=to, said=self._reader.said(node))
        if node.data in ("there_is", "stands"):
            here = with_places(self._things(node), self._places(node))
            none = "no" in here[0].attributes  # "there are no plates on the table": they go there
            self._context.append(step if none else Step(act="bring", things=here))
        elif to is None:
            raise _where_to(self._reader.said(node))
        else:
            self._context.append(step)
            self.steps.append(step)

    def _spare(self, things: tuple[Thing, ...]) -> None:
        if not self.steps:
            raise NotUnderstood(
                "that says what is not to be done: robots do only what they are told", "negation",
                question="What shall they do?",
            )  # fmt: skip
        for k, step in enumerate(self.steps):
            spared = tuple(
                thing.model_copy(update={"without": (*thing.without, *things)})
                for thing in step.things
            )
            self.steps[k] = step.model_copy(update={"things": spared})

    # -- what stands in trees ---------------------------------------------------------------------

    def _things(self, node: Tree) -> tuple[Thing, ...]:
        return tuple(t for one in trees(node, "things") for t in self._reader.things(one))

    def _places(self, node: Tree) -> tuple[Place, ...]:
        places = [self._reader.place(one) for one in trees(node, "place", "upstairs")]
        return nested(places, self._reader.words)

    def _target(self, node: Tree) -> Place | None:
        found = trees(node, "target", "strong")
        to = self._reader.target(found[0]) if found else None
        if to is not None and to.thing.name in PERSONS and to.thing.places:
            room = self.names.lookup(to.thing.places[0].thing.name)
            if room is not None and room.room and not room.label:
                return to.thing.places[0]  # "to my wife in the bedroom"
        return to

    # -- steps ------------------------------------------------------------------------------------

    def _add(
        self, act: Act, things: tuple[Thing, ...], to: Place | None = None, said: str = ""
    ) -> None:
        waits = any(t.name in (IT, ONE) for t in things)
        things, to = self._resolved(things, to, act)
        if any("no" in thing.attributes for thing in things):
            raise NotUnderstood(
                f"{shown(said)!r} asks for none of something: there is nothing to do", "nothing",
                question="Say it with 'except'",
            )  # fmt: skip
        last = self.steps[-1] if self.steps else None
        if act == "bring" and waits and last and _is_begun(last, self._robot):
            self.steps.pop()  # "pick up the socks and put them there" is one
            last = self.steps[-1] if self.steps else None
        if self._context and act == "bring" and waits:
            if last is self._context[-1]:
                self.steps.pop()  # "we are out of cups in the kitchen: get two"
            to = to or self._context[-1].to
        then = last is not None and act != last.act and last.robot == self._robot
        if last is not None and not {act, last.act} & _IN_ORDER:
            then = then and last.act == "find" and waits
        step = Step(act=act, things=things, to=to, robot=self._robot, then=then, said=said)
        self.steps.append(step)

    def _resolved(
        self, things: tuple[Thing, ...], to: Place | None, act: Act
    ) -> tuple[tuple[Thing, ...], Place | None]:
        """Put what was spoken of in the place of "it" and "the other one"."""
        each = (self._meant(t, act) if t.name in (IT, ONE) else [t] for t in things)
        made = [thing for meant in each for thing in meant]
        if to is not None and to.thing.name in (IT, ONE):
            meant = self._last(lambda thing: thing not in made, places=True)
            if meant is None:
                raise _pronoun(to.thing)
            to = to.model_copy(update={"things": (like(to.thing, meant),)})
        return tuple(made), to

    def _meant(self, thing: Thing, act: Act) -> list[Thing]:
        before = [*self._context, *self.steps]
        if thing.name == IT and before:
            step = before[-1]
            if act in ("open", "close"):
                opened = [s for s in before if s.act in ("open", "close")]
                if opened:
                    return [like(thing, opened[-1].things[0])]
                if step.act == "bring" and step.to is not None:
                    return [like(thing, step.to.thing)]
            moved = [s for s in before if s.act in ("bring", "take", "find", "check", "look")]
            step = moved[-1] if moved else step
            if step.things:
                return [like(thing, one) for one in step.things]
        meant = self._last(lambda one: True)
        if meant is None or act in ("open", "close"):
            raise _pronoun(thing)
        return [like(thing, meant)]

    def _last(self, fits: Callable[[Thing], bool], *, places: bool = False) -> Thing | None:
        for step in reversed([*self._context, *self.steps]):
            mentioned = [*step.things, *(step.to.things if step.to and places else ())]
            for thing in reversed(mentioned) if places else mentioned:
                if thing.name and fits(thing):
                    return thing
        return None


def _taken_apart(things: tuple[Thing, ...]) -> tuple[tuple[Thing, ...], Place | None]:
    """Return things and where they go, of "the books from the shelf on the bed"."""
    last = things[-1]
    if not last.places and last.without and last.without[-1].places:  # "but the red one on the bed"
        out = last.without[-1].model_copy(update={"places": last.without[-1].places[:-1]})
        own = last.model_copy(update={"without": (*last.without[:-1], out)})
        return (*things[:-1], own), last.without[-1].places[-1]
    if not last.places:
        return things, None
    target, kept = last.places[-1], last.places[:-1]
    if target.relation == "from" and target.thing.places:
        source = target.thing.model_copy(update={"places": target.thing.places[:-1]})
        kept = (*kept, target.model_copy(update={"things": (source,)}))
        target = target.thing.places[-1]
    if target.relation in ("from", "with"):
        return things, None
    moved = (
        t.model_copy(update={"places": kept if t.places == last.places else t.places})
        for t in things
    )
    return tuple(moved), target


def _by_target(things: tuple[Thing, ...]) -> list[tuple[Thing, ...]]:
    """Part things by where they go: "one plate on the table and the rest in the cabinet"."""
    return [tuple(some) for _, some in groupby(things, key=lambda thing: thing.places)]


def _is_begun(step: Step, robot: str) -> bool:
    """Whether a robot's step takes something, and where it goes is still to be said."""
    to_person = step.to is not None and step.to.thing.name in PERSONS
    return (
        step.robot == robot
        and not step.then
        and (step.act == "take" or (step.act == "bring" and (step.to is None or to_person)))
    )


def _where_to(said: str) -> NotUnderstood:
    return NotUnderstood(
        f"{shown(said)!r} does not say where to", "target", question="Where shall it go?"
    )


def _pronoun(thing: Thing) -> NotUnderstood:
    said = thing.said or "them"
    return NotUnderstood(
        f"nothing was said before that {said!r} could stand for", "pronoun", said,
        question=f"What is {said!r}?",
    )  # fmt: skip
