"""Clauses of the grammar as Steps: acts, where things go, and what pronouns stand for."""

from __future__ import annotations

from collections.abc import Sequence

import lark

from coterie_core.skill_registry import own_verbs
from coterie_requests.questions import question_steps
from coterie_requests.request import ALL, Act, Place, Step, Thing
from coterie_requests.things import IT, ONE, ThingReader, Tree, Word, like, trees, with_places
from coterie_requests.understanding.phrases import PERSONS
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.text import shown
from coterie_requests.understanding.vocabulary import Vocabulary

_ACTS: dict[str, Act] = {
    "bring": "bring", "put": "bring", "more": "bring", "needed": "bring", "belongs": "bring",
    "take": "take", "gather": "take", "find": "find", "look": "look", "look_in": "look",
    "check": "check", "go": "go", "going": "go", "open": "open", "close": "close",
    "stays": "bring", "own_skill": "use",
}  # fmt: skip
_IN_ORDER = frozenset(("open", "close", "go", "take", "use"))
"""Acts that are done in the order in which they were said."""


class StepReader:
    """Reads the parts of a text one after the other; pronouns look back at what was read."""

    def __init__(self, names: Vocabulary, door: str) -> None:
        self.names = names
        self.door = door
        self.steps: list[Step] = []
        self.asides: list[str] = []
        self._left: list[Thing] = []
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
            NotUnderstood: A pronoun stands for nothing.
        """
        things = (thing for step in self.steps for thing in step.things)
        for one in (inner for thing in things for inner in thing.mentioned()):
            if one.name in (IT, ONE):
                raise _pronoun(one)  # "what is on top of it?"
        return tuple(self._without_what_stays(step) for step in self.steps)

    def _without_what_stays(self, step: Step) -> Step:
        left = [thing for thing in self._left if thing.definite]
        things = tuple(
            t.model_copy(update={"without": (*t.without, *(o for o in left if o.name == t.name))})
            for t in step.things
        )
        return step.model_copy(update={"things": things}) if step.is_command else step

    # -- clauses ----------------------------------------------------------------------------------

    def _clause(self, node: Tree) -> None:
        said = self._reader.said(node)
        if node.data == "halt":
            raise NotUnderstood(
                "nothing was stopped: a task stops no robots; use ./coterie stop or the stop "
                "button", "verb", "stop",
            )  # fmt: skip
        if node.data == "forbidden":
            raise NotUnderstood(
                f"{shown(said)!r} is not to be done: robots do only what they are told", "negation",
                question="What shall they do? Say with 'except' what is not meant",
            )  # fmt: skip
        for robot in trees(node, "robot"):
            self._robot = self._robot_name(robot)
        for act in [node] if node.data in _ACTS else trees(node, *_ACTS):
            for part in trees(act, "placing") or [act]:
                self._act(act, part)

    def _robot_name(self, node: Tree) -> str:
        token = next((c for c in node.children if isinstance(c, lark.Token)), None)
        if token is None or token.type == "EVERYBODY":
            return "everybody"
        name = self.names.lookup(self._reader.word(token).name)
        return name.robot if name is not None else ""

    def _act(self, node: Tree, part: Tree) -> None:
        act, skill, said = _ACTS[node.data], "", self._reader.said(part)
        things, found = self._things(part), trees(part, "target", "strong")
        to, now = self._reader.target(found[0]) if found else (None, ())
        things = with_places(things, now)
        for one in trees(node, "going"):
            self._act(one, one)
        if node.data == "go":
            return
        if node.data == "going":
            things = tuple(self._reader.np(np) for np in trees(node, "np"))
        things = tuple(self._reader.without(thing, trees(node, "but")) for thing in things)
        places = self._reader.places(part)
        if node.data == "more":
            act = self.steps[-1].act if self.steps else act
        elif node.data == "gather":
            self._not_both(said, things, to)
        elif node.data == "stays":
            things, _ = self._resolved(things, None, act)
            self._left += things
            self.asides.append(f"leave {said}")
            return
        elif node.data == "look_in":
            things = tuple(place.thing for place in places)
        elif node.data == "needed" and self.door == "find":  # it is looked for, wherever it is
            act, things, to = "find", with_places(things, [to] if to else []), None
        elif act in ("find", "check"):
            things = with_places(things, places)
        elif act == "use":
            verb = next(c for c in node.children if isinstance(c, lark.Token))
            skill = own_verbs()[self._reader.word(verb).said]
        if to is not None and act == "take":
            act = "bring"
        if act == "bring" and to is None and trees(node, "person"):
            to = Place(relation="to", things=(Thing(name="me", said="me"),))
        self._add(act, things, to, said, skill)

    def _not_both(self, said: str, things: Sequence[Thing], to: Place | None) -> None:
        """Ask whether things that are gathered "in the sink" are there, or are to go there."""
        for place in (place for thing in things for place in thing.places if to is None):
            name = self.names.lookup(place.thing.name)
            into = {"in": "into", "on": "onto", "near": "to"}.get(place.relation)
            if into and name is not None and name.label:
                before, _, there = said.partition(f" {place.relation} ")
                raise NotUnderstood(
                    f"{shown(said)!r} may say where they are, or where they go", "ambiguous", said,
                    suggestions=(f"{before} {into} {there}", f"{before} from {there}"),
                    question=f"{into.title()} {place.thing.told()}, or are they there now?",
                )  # fmt: skip

    # -- steps ------------------------------------------------------------------------------------

    def _things(self, node: Tree) -> tuple[Thing, ...]:
        listed = trees(node, "things")
        return tuple(thing for one in listed for thing in self._reader.things(one))

    def _add(
        self,
        act: Act,
        things: tuple[Thing, ...],
        to: Place | None = None,
        said: str = "",
        skill: str = "",
    ) -> None:
        waits = any(t.name in (IT, ONE) for t in things)
        things, to = self._resolved(things, to, act)
        if any("no" in thing.attributes for thing in things):
            raise NotUnderstood(
                f"{shown(said)!r} asks for none of something: there is nothing to do", "nothing",
                question="Say it with 'except'",
            )  # fmt: skip
        last = self.steps[-1] if self.steps else None
        if act == "bring" and last is not None and self._is_begun(last, things):
            self.steps.pop()  # "pick up the socks and put them there" is one
            last = self.steps[-1] if self.steps else None
        then = last is not None and act != last.act and last.robot == self._robot
        if last is not None and not {act, last.act} & _IN_ORDER:
            then = then and last.act == "find" and waits
        self.steps.append(Step(act=act, skill=skill, things=things, to=to, robot=self._robot,
                               then=then, said=said))  # fmt: skip

    def _is_begun(self, step: Step, things: Sequence[Thing]) -> bool:
        """Whether a step takes the same things, and where they go is still to be said."""
        owed = step.to is None or step.to.thing.name in PERSONS
        named = [(one.name, one.amount) for one in things]
        return (
            step.act in ("bring", "take")
            and owed
            and step.robot == self._robot
            and [(one.name, one.amount) for one in step.things] == named
        )

    # -- pronouns ---------------------------------------------------------------------------------

    def _resolved(
        self, things: tuple[Thing, ...], to: Place | None, act: Act
    ) -> tuple[tuple[Thing, ...], Place | None]:
        """Put what was spoken of in the place of "it" and "the other one"."""
        each = (self._meant(t, act) if t.name in (IT, ONE) else [t] for t in things)
        made = [thing for meant in each for thing in meant]
        if to is not None and to.thing.name in (IT, ONE):
            to = to.model_copy(update={"things": (self._last(to.thing, made, places=True),)})
        return tuple(made), to

    def _meant(self, thing: Thing, act: Act) -> list[Thing]:
        if act in ("open", "close"):
            for step in reversed(self.steps if thing.name == IT else []):
                if step.act in ("open", "close") or step.to is not None:
                    return [like(thing, step.to.thing if step.to else step.things[0])]
            raise _pronoun(thing)
        if thing.name == ONE:
            return [self._last(thing)]
        moved = [s for s in self.steps if s.act not in ("open", "close", "go") and s.things]
        return [like(thing, one) for one in moved[-1].things] if moved else [self._last(thing)]

    def _last(self, thing: Thing, but: Sequence[Thing] = (), *, places: bool = False) -> Thing:
        """Return what was spoken of last for a pronoun; of places the last, of things the first."""
        for step in reversed(self.steps):
            mentioned = [*step.things, *(step.to.things if step.to and places else ())]
            for one in reversed(mentioned) if places else mentioned:
                if one.name and one not in but:
                    return like(thing, one)
        if not self._left:
            raise _pronoun(thing)
        return like(thing, self._left[-1])


def _pronoun(thing: Thing) -> NotUnderstood:
    said = thing.said or "them"
    return NotUnderstood(
        f"nothing was said before that {said!r} could stand for", "pronoun", said,
        question=f"What is {said!r}?",
    )  # fmt: skip
