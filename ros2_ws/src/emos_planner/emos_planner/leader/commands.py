"""Household imperatives as commands: what is to be brought, found, checked, gone to, opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from coterie_core.household import load_household
from coterie_requests.understanding import NotUnderstood, shown, words_of
from coterie_requests.understanding.phrases import STOPS, Phrase
from coterie_requests.understanding.quantities import SUPERLATIVES, begins_phrase
from coterie_requests.understanding.turned import comparatives, negations
from coterie_requests.understanding.vocabulary import Vocabulary
from emos_planner.leader.clauses import Clause, checked, clauses_of
from emos_planner.leader.parts import Part, complete, grouped, items, located, parts_of, where_to
from emos_planner.leader.sentences import sentences_of
from emos_planner.leader.verbs import (
    ASKS,
    CAN_DO,
    CANNOT,
    EXAMPLE,
    GATHER,
    MEANT,
    PUT,
    SIDES,
    STRONG,
    TO_GET,
    VERBS,
    WEAK,
    WHERE,
    WHERE_LATE,
    WHETHER_AT,
    YES_NO,
    CommandKind,
    base_verb,
)

__all__ = ["CAN_DO", "NotUnderstood", "Command", "parse_task"]

_ABOUT = frozenset(("around", "in", "into", "inside", "on", "through", "about", "over", "under"))
"""What stands before the place that is looked at."""
MAX_COMMANDS = 60
_SPARED = re.compile(
    r"^(?:but )?(?:do not|never|not) (?P<verb>touch|move|take|bring|include|disturb|pick up|remove|"
    r"forget|drop|break|spill|hurry|rush|worry|wake|bother)(?P<what>.*)$"
)
_NONE = re.compile(r"\b(?:zero|0|no(?! (?:more|longer|matter))) [a-z]")
_HOW_MANY = re.compile(
    r"\b(?:half|most|many|lots?|plenty|part|some part|majority) of\b|\benough [a-z]"
)
_NEGATED = re.compile(r"^(?:but )?(?:do not|does not|never|not)\b")
_QUESTION = re.compile(r"^(?:what|which|who|whose|why|how|is|are|do|does|did|was|were|has|have)\b")
_STATE_ASKED = re.compile(
    r"\b(?:is|are) (?:\w+ )?(?:open|closed|shut|on|off|clean|dirty|empty|full|free|locked|"
    r"ready|ok)$"
)
_NAMES_NOTHING = frozenset(SUPERLATIVES) | set(
    words_of(
        "mine yours hers ours theirs whose be been being am was were do does did has have had can "
        "could should would must shall may might will"
    )
)
"""Words that are part of no thing's name, so that nothing of that name is looked for."""
_THERE = frozenset(("inside", "in", "there", "on", "onto", "into"))
FROM_WORDS = ("to", "into", "onto")


@dataclass(frozen=True, slots=True)
class Command:
    """One thing that a person wants: verb, object, and where to (`relation`: in, on or near).

    `then` says that it is begun when all commands before it are done. `notes` are said words that
    change nothing. `asks`: why it cannot be done unless what follows says where to.
    """

    kind: CommandKind
    object: Phrase
    target: Phrase | None = None
    relation: str = ""
    robot: str = ""
    everybody: bool = False
    text: str = ""
    then: bool = False
    notes: tuple[str, ...] = ()
    asks: NotUnderstood | None = None


def parse_task(words: str, names: Vocabulary) -> tuple[Command, ...]:
    """Return the commands of a task, one per verb and object, in the order they were said.

    Raises:
        NotUnderstood: Empty, too long, in another language, or a part of it means nothing to
            robots; nothing of it is done then, for half a task may be worse than none.
    """
    names = checked(words, names)
    reader = _Reader(names)
    clause = None
    try:
        for sentence in sentences_of(words, names.robots):
            context = len(reader.commands)
            for clause in clauses_of(sentence, names, words):
                reader.read(clause)
            if sentence.context:
                reader.context = reader.commands[context:]
                del reader.commands[context:]
            elif sentence.needs:
                reader.needed = True
    except NotUnderstood as error:
        raise _with_progress(error, reader.commands, words) from None
    commands = reader.commands
    owed = [
        command.asks for command in commands if command.kind == "take" and command.asks is not None
    ]
    if owed:
        raise _with_progress(owed[0], (), words)
    if not commands:
        if reader.context:
            what = reader.context[0].object.said
            raise NotUnderstood(
                f"{shown(words)!r} tells where {what} is and asks for nothing",
                "empty",
                question=f"What shall robots do with {what}?",
            )
        raise NotUnderstood(
            f"{shown(words)!r} asks for nothing that robots can do; {CAN_DO}", "empty"
        )
    if len(commands) > MAX_COMMANDS:
        raise NotUnderstood(
            f"{len(commands)} wishes at once; split the task (most: {MAX_COMMANDS})", "too_long"
        )
    return tuple(commands)


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
        language=problem.language,
    )


class _Reader:
    """Reads the clauses of a task one after the other; pronouns look back at what was read."""

    def __init__(self, names: Vocabulary) -> None:
        self.names = names
        self.commands: list[Command] = []
        self.context: list[Command] = []
        self.needed = False
        self.verb = ""
        self._clause = Clause("")
        self._asks: NotUnderstood | None = None

    def read(self, clause: Clause) -> None:
        """Add the commands of one clause; its verb is the next one's, where that has none.

        Raises:
            NotUnderstood: The clause means nothing to robots, or more than was read of it.
        """
        self._clause, self._asks = clause, None
        text = clause.text
        compared = [word for word in comparatives(text) if word != "than"]
        if compared:
            raise NotUnderstood(
                f"{shown(text)!r}: robots cannot tell which one is {compared[0]!r}",
                "ambiguous",
                compared[0],
                question="Which one do you mean? Say where it is, or what color",
            )
        begun = len(self.commands)
        self._read(text)
        denied = negations(text)
        heard = [p for w in self.commands[begun:] for p in (w.object, w.target) if p is not None]
        for phrase in heard:
            strange = [w for w in phrase.noun.split() if not phrase.known and w in _NAMES_NOTHING]
            if strange:
                raise NotUnderstood(
                    f"{shown(text)!r}: what {strange[0]!r} means there is not understood",
                    "word",
                    strange[0],
                    question=f"What is {phrase.said!r}?",
                )
        if denied and heard and not any(p.excluded for h in heard for p in h.mentioned()):
            del self.commands[begun:]
            raise NotUnderstood(
                f"{shown(text)!r}: what {denied[0]!r} means there is not understood",
                "negation",
                denied[0],
                question="What shall they do? Say it without a negation, or with 'except'",
            )

    def _read(self, text: str) -> None:
        if _NONE.search(text):
            raise NotUnderstood(f"{shown(text)!r} asks for none: there is nothing to do", "nothing")
        vague = _HOW_MANY.search(text)
        if vague is not None:
            raise NotUnderstood(
                f"{shown(text)!r} leaves open how many", "ambiguous", vague.group().split()[0],
                question="How many? A number, or all",
            )  # fmt: skip
        spared = _SPARED.match(text)
        if spared is not None:
            self._spare(spared["verb"], spared["what"].strip(), text)
            return
        if _NEGATED.match(text):
            raise NotUnderstood(
                f"{shown(text)!r} says what is not to be done: robots do only what they are told",
                "negation",
                text,
                question="What shall they do?",
            )
        for pattern, kind in ((WHERE, "find"), (WHERE_LATE, "find"), (ASKS, "check")):
            found = pattern.match(text)
            if found is not None and not _STATE_ASKED.search(text):
                self._add("find" if kind == "find" else "check", self._items(found["what"]))
                self.verb = kind
                return
        located_ = WHETHER_AT.match(text) or YES_NO.match(text)
        if located_ is not None:
            said = f"{located_['what']} {located_['where'].removeprefix('still ')}"
            self._add("check", self._items(said))
            self.verb = "check"
            return
        self._imperative(text)

    def _imperative(self, text: str) -> None:
        words = text.split()
        if words[0] not in VERBS:
            base = base_verb(words[0])
            if base and (words[0].endswith("ing") or not self.verb):
                words[0] = base
            elif not self.verb or words[0] in MEANT or words[0] in CANNOT or _QUESTION.match(text):
                raise NotUnderstood(self._no_verb(text, words[0]), "verb", words[0])
            else:
                words = [self.verb, *words]
        verb, rest = words[0], words[1:]
        kind = VERBS[verb]
        out = False
        if kind in ("bring", "take"):
            if rest[:1] == ["out"] or (rest[-1:] == ["out"] and len(rest) > 1):
                out, rest = True, rest[1:] if rest[0] == "out" else rest[:-1]
            if verb == "pick" and rest[:1] == ["up"]:
                rest = rest[1:]
            if verb == "drop" and rest[:1] == ["off"]:
                rest = rest[1:]
            away = rest[-1:] == ["away"] or rest[:1] == ["away"]
            while rest and rest[-1] in ("down", "up", "away", "back", "along", "over", "together"):
                rest = rest[:-1]
            while rest and rest[0] in ("down", "back", "away", "over", "out", "up"):
                rest = rest[1:]
            if not rest:
                raise NotUnderstood(
                    f"{shown(text)!r}: say what to {verb}, as in {EXAMPLE['bring']}", "object"
                )
            if away and verb in PUT and not any(w in STRONG or w in WEAK for w in rest):
                raise self._where_to(text, self._items(" ".join(rest)))
        if verb == "look" and rest[:1] == ["at"]:
            kind, rest = "look", rest[1:]
        if verb == "come" and rest in ([], ["back"], ["here"]):
            raise NotUnderstood(
                f"{shown(text)!r}: robots do not know where you are", "person", text,
                question="Which room shall they come to?",
            )  # fmt: skip
        if kind == "bring" and rest[:1] and rest[0] in STRONG and verb not in PUT:
            kind = "go"  # "move to the kitchen", "return to the hall"
        self.verb = verb
        if (
            (kind == "find" or verb == "check")
            and "for" not in rest
            and self._look(text, verb, rest)
        ):
            return
        if kind == "find":
            self._find(text, rest)
        elif kind == "go" or (verb == "gather" and rest[:1] in (["in"], ["at"])):
            self._go(text, rest)
        elif kind == "bring" or (kind == "take" and any(w in STRONG for w in rest)):
            self._bring(text, verb, rest, out)
        elif kind == "check" and rest[:1] and rest[0] in ("whether", "if", "that"):
            self._state(text)
            self._add("check", self._items(" ".join(rest[1:])))
        elif kind == "check" and "for" in rest:
            self._find(text, rest)
        elif kind == "check":
            self._state(text)
            self._see("look", self._items(" ".join(rest)))
        else:
            if not rest:
                raise NotUnderstood(f"{shown(text)!r}: say what to {verb}", "object")
            things = self._items(" ".join(rest))
            self._asks = self._gathered(text, verb, things)
            self._see(kind, things)

    def _gathered(self, text: str, verb: str, things: Sequence[Phrase]) -> NotUnderstood | None:
        """Ask whether things that are gathered in or on furniture are there, or are to go there."""
        if verb not in GATHER:
            return None
        places = [place for thing in things for place in thing.places]
        source = any(place.relation == "from" for place in places)
        for place in places:
            if place.relation in ("in", "on", "near") and (place.phrase.label or source):
                said = place.phrase.said
                return NotUnderstood(
                    f"{shown(text)!r}: are they {place.relation} {said}, or shall they go there?",
                    "target",
                    said,
                    question="Where shall they go? If they are there now, say 'from'",
                )
        return None

    def _state(self, text: str) -> None:
        if _STATE_ASKED.search(text):
            raise NotUnderstood(
                f"{shown(text)!r}: robots on a task check whether something is there, not how it "
                "is; ask the team instead (./coterie ask)",
                "verb",
                text.split()[0],
            )

    def _no_verb(self, clause: str, word: str) -> str:
        if _QUESTION.match(clause):
            return f"{shown(clause)!r} is a question and no task: ask it with ./coterie ask"
        known = self.names.find(clause.split(), 0) is not None
        if word not in MEANT and (word in STOPS or begins_phrase(word) or known):
            return f"{shown(clause)!r} does not say what to do; {CAN_DO}: {EXAMPLE['bring']}"
        near = MEANT.get(word)
        hint = f"; nearest that they can do: {EXAMPLE[near]}" if near else f": {EXAMPLE['bring']}"
        return (
            f"{shown(clause)!r} is not understood: {word!r} is nothing that robots can do; "
            f"{CAN_DO}{hint}"
        )

    def _spare(self, verb: str, what: str, text: str) -> None:
        """As in "don't touch the vase": left out of what is moved."""
        said = f"{text!r}: robots do it as they always do"
        if verb in ("touch", "move", "take", "bring", "include", "disturb", "pick up", "remove"):
            if not self.commands:
                raise NotUnderstood(
                    f"{shown(text)!r} says what is not to be done: robots do only what they are "
                    "told",
                    "negation",
                    text,
                    question="What shall they do?",
                )
            left_out = tuple(self._items(what)) if what else ()
            for k, command in enumerate(self.commands):
                if command.kind in ("bring", "take") and command.object.number == "all":
                    spared = replace(command.object, excluded=(*command.object.excluded, *left_out))
                    self.commands[k] = replace(command, object=spared)
            said = f"{text!r}: it is left where it is"
        if self.commands:
            self.commands[-1] = replace(self.commands[-1], notes=(*self.commands[-1].notes, said))

    def _bring(self, clause: str, verb: str, rest: list[str], out: bool) -> None:
        """Objects, then where to; several such pairs may follow one another."""
        implied: list[Part] = []
        if len(rest) > 1 and rest[-1] in _THERE:
            if rest[-2] in _THERE:
                rest = rest[:-1]
            implied = ["in" if rest[-1] in ("inside", "in", "into") else "on" if rest[-1] == "on"
                       else "to"]  # fmt: skip
            rest = rest[:-1]
        parts = parts_of(rest, self.names, clause)
        parts = self._to_persons(clause, parts)
        first = parts[0] if parts else None
        if verb == "leave" and isinstance(first, Phrase) and not first.bare:
            raise NotUnderstood(
                f"{shown(clause)!r}: 'leave' may mean to put it there, or not to move it",
                "ambiguous",
                verb,
                question="Shall robots put it there, or let it stay? Say 'put', or leave it out",
            )
        if implied:
            place = self._last_place()
            if place is None:
                raise NotUnderstood(
                    f"{shown(clause)!r}: what does {rest[-1]!r} stand for?", "pronoun", rest[-1]
                )
            parts = [*parts, *implied, place]
        if out and parts and not any(p in FROM_WORDS for p in parts):
            self._add("take", grouped(parts, clause))
            return
        strong = any(isinstance(p, str) and p in STRONG for p in parts)
        group: list[Part] = []
        for k, part in enumerate(parts):
            if part == "and" and complete(group, strong) and complete(parts[k + 1 :], strong):
                self._move(clause, verb, group, strong)
                group = []
            else:
                group.append(part)
        self._move(clause, verb, group, strong)

    def _to_persons(self, clause: str, parts: list[Part]) -> list[Part]:
        """Leave out "me" in "bring me the mug to the kitchen"; alone it says no place."""
        first = parts[0] if parts else None
        if not isinstance(first, Phrase):
            return parts
        if not (first.person or first.noun in self.names.persons):
            return parts
        try:
            self._known_place(clause, replace(first, person=True, places=()))
        except NotUnderstood as error:
            if len(parts) < 2 or not isinstance(parts[1], Phrase):
                raise
            self._asks = error  # what follows may say it: "... and lay it onto the sofa"
        return parts[1:]

    def _move(self, clause: str, verb: str, parts: Sequence[Part], strong: bool) -> None:
        cut = where_to(parts, strong)
        twice = (
            cut is not None and parts[cut - 1] == "and" and any(p in STRONG for p in parts[:cut])
        )
        if cut is not None and verb not in PUT:
            is_source = not strong and (self._asks is not None or verb in TO_GET)
            if parts[cut] in SIDES or is_source:
                cut = None  # "get the ball from under the sofa", "bring me the mug on the table"
        if cut is None:
            things = grouped(parts, clause)
            place = self._needed_place(things)
            if place is not None:
                self._add("bring", things, place[0], place[1])
                return
            if things and (verb in TO_GET or self._asks is not None):
                self._add("take", things)
                return
            raise self._where_to(clause, things)
        word = str(parts[cut])
        things = grouped(parts[:cut], clause)
        places = grouped(parts[cut + 1 :], clause)
        if not things:
            raise NotUnderstood(
                f"{shown(clause)!r}: name what to move, as in {EXAMPLE['bring']}", "object"
            )
        if twice or len(places) != 1 or (places[0].number == "all" and not places[0].known):
            raise NotUnderstood(
                f"{shown(clause)!r}: name one place where it is to go, as in {EXAMPLE['bring']}",
                "target",
            )
        target = places[0]
        if word in SIDES:
            raise NotUnderstood(
                f"{shown(clause)!r}: robots put things in, on and near others, not {word!r} them",
                "target",
                word,
                question="Where else shall it go?",
            )
        if target.number == "all" and target.known and not target.pronoun:
            raise NotUnderstood(
                f"{shown(clause)!r}: {target.said!r} are several places, and robots take a thing "
                "to one",
                "target",
                target.said,
                question="Which one?",
            )
        if not target.pronoun:
            self._known_place(clause, target)
            if target.person or target.noun in self.names.persons:
                target = target.places[0].phrase  # "to my wife in the bedroom"
        relation = {"into": "in", "onto": "on", "to": ""}.get(word, WEAK.get(word, ""))
        self._add("bring", things, target, relation)

    def _where_to(self, clause: str, things: Sequence[Phrase]) -> NotUnderstood:
        """Return the question where to, with where such things usually are."""
        household = load_household()
        usual: list[str] = []
        for thing in things:
            category = household.category(thing.label) if thing.known else None
            for group in category.on if category is not None else ():
                usual += household.members(group)[:2]
        suggestions = tuple(dict.fromkeys(place for place in usual if place != "floor"))[:4]
        hint = f" For example {', '.join(f'the {place}' for place in suggestions)}" if usual else ""
        said = things[0].said if things else "it"
        return NotUnderstood(
            f"{shown(clause)!r}: say where to, as in {EXAMPLE['bring']}",
            "target",
            said,
            suggestions=suggestions,
            question=f"Where shall {said} go?{hint}",
        )

    # -- where to go, where to look, and what for ------------------------------------------------

    def _items(self, text: str) -> list[Phrase]:
        return items(text, self.names, self._clause.text)

    def _see(self, kind: CommandKind, things: Sequence[Phrase]) -> None:
        """Add commands to see things; to see a room, a robot goes there."""
        for thing in things:
            room = bool(thing.room or thing.floor) and not (thing.label or thing.pronoun)
            self._add("go" if room else kind, [thing])

    def _look(self, clause: str, verb: str, rest: list[str]) -> bool:
        """As in "look around the kitchen", "look in the drawer", "search the kitchen"."""
        around = rest[:1] and rest[0] in _ABOUT
        if verb not in ("look", "search", "check") or not (around or verb == "search"):
            return False
        where = rest[1:] if around else rest
        places = self._items(" ".join(where)) if where else []
        if not places or any(place.house for place in places):
            raise NotUnderstood(
                f"{shown(clause)!r}: say what to look for, as in {EXAMPLE['find']}", "object"
            )
        if any(place.places for place in places):
            return False
        if not around and not all(place.room or place.floor or not place.known for place in places):
            return False  # "search my keys"
        for place in places:
            if not place.pronoun:
                self._known_place(clause, place)
        self._see("look", places)
        return True

    def _find(self, clause: str, rest: list[str]) -> None:
        """As in "find the keys", "search the kitchen for keys", "look upstairs for the towel"."""
        rest = rest[1:] if rest[:1] in (["me"], ["us"]) and len(rest) > 1 else rest
        if "for" in rest:
            k = rest.index("for")
            where, what = rest[:k], rest[k + 1 :]
        else:
            where, what = [], rest
        if not what:
            raise NotUnderstood(
                f"{shown(clause)!r}: say what to look for, as in {EXAMPLE['find']}", "object"
            )
        things = self._items(" ".join(what))
        if where and where[0] not in ("around", "everywhere"):
            if where[0] not in WEAK and where[0] not in SIDES:
                where = ["in", *where]
            places = parts_of(where, self.names, clause)
            for place in places:
                if isinstance(place, Phrase) and not (place.pronoun or place.house):
                    self._known_place(clause, place)
            things = [located(thing, places, clause) for thing in things]
        self._see("find", things)

    def _go(self, clause: str, rest: list[str]) -> None:
        skipped = ("to", "into", "in", "over", "back", "near", "towards", "toward", "and", "inside",
                   "at", "on", "up", "down", "out", "by", "off", "through")  # fmt: skip
        while rest and rest[0] in skipped:
            rest = rest[1:]
        if not rest:
            raise NotUnderstood(
                f"{shown(clause)!r}: say where to go, as in {EXAMPLE['go']}", "target"
            )
        rest = ["and" if word in ("to", "into") else word for word in rest]
        for phrase in self._items(" ".join(rest)):
            if phrase.pronoun:
                self._add("go", [phrase])
                continue
            self._known_place(clause, phrase)
            self._append(Command("go", phrase, everybody=self._clause.everybody))

    def _known_place(self, clause: str, place: Phrase) -> None:
        """Nobody searches a house for a place whose name means nothing."""
        person = place.person or place.noun in self.names.persons
        if person and not place.places:
            raise NotUnderstood(
                f"{shown(clause)!r}: robots do not know where {_you(place.said)}",
                "person",
                place.said,
                question=f"Where is that? Name a room or a piece of furniture, as in "
                f"{EXAMPLE['bring']}",
            )
        if place.known or person:
            return
        raise NotUnderstood(
            f"{shown(clause)!r}: nothing here is called {place.noun or place.said!r}",
            "place",
            place.noun or place.said,
            question="Where is that? Name a room or a piece of furniture",
        )

    # -- what pronouns stand for ----------------------------------------------------------------

    def _last_place(self) -> Phrase | None:
        """What "inside" and "there" stand for: where the last command was about."""
        for command in reversed([*self.context, *self.commands]):
            if command.kind in ("open", "close", "go"):
                return command.object
            if command.target is not None:
                return command.target
            if command.object.places:
                return command.object.places[-1].phrase
        return None

    def _needed_place(self, things: Sequence[Phrase]) -> tuple[Phrase, str] | None:
        """Where "get two" is to go, said of a need before it; the need itself is served by it."""
        last = self.commands[-1] if self.commands else None
        if not self.needed or last is None or last.target is None:
            return None
        same = all(t.pronoun or t.label == last.object.label for t in things)
        return (last.target, last.relation) if same else None

    def _meant(self, thing: Phrase, kind: CommandKind) -> Phrase:
        before = [*self.context, *self.commands]
        if not before:
            raise NotUnderstood(
                f"{shown(self._clause.text)!r}: what does {thing.said!r} stand for?",
                "pronoun",
                thing.said,
                question="Name the thing",
            )
        last = before[-1]
        household = load_household()
        if kind in ("open", "close") and last.target is not None:
            category = household.category(last.target.label)
            if category is not None and category.opens:
                return last.target
        if kind not in ("open", "close", "go", "look"):
            things = [w for w in before if w.kind not in ("open", "close", "go")]
            last = things[-1] if things else last
        return last.object

    def _add(
        self,
        kind: CommandKind,
        things: Sequence[Phrase],
        target: Phrase | None = None,
        relation: str = "",
    ) -> None:
        """Add a command per thing; "it", "them", "the one" take their noun from before."""
        clause = self._clause.text
        things = [one for thing in things for one in self._all_of(thing)]
        first = len(self.commands)
        for thing in things:
            if thing.person or thing.noun in self.names.persons or (thing.house and kind != "go"):
                raise NotUnderstood(
                    f"{shown(clause)!r}: {thing.said!r} is nothing to {kind}; {CAN_DO}",
                    "person" if not thing.house else "object",
                    thing.said,
                )
            if thing.room and not thing.label and kind in ("bring", "take"):
                raise NotUnderstood(
                    f"{shown(clause)!r}: {thing.said!r} is a room and stays where it is", "object",
                    thing.said,
                )  # fmt: skip
            if not thing.known and not thing.pronoun and not thing.anything:
                if not all(word.isascii() and word.isalpha() for word in thing.noun.split()):
                    raise NotUnderstood(
                        f"{shown(clause)!r}: nothing is called {thing.noun!r}", "word", thing.noun
                    )
            linked = False
            if thing.pronoun:
                meant = self._meant(thing, kind)
                if kind == "bring" and self.needed and self.commands[-1].object is meant:
                    self.commands.pop()  # "we are out of cups: get two" is one command
                    first = min(first, len(self.commands))
                    linked = False
                else:
                    linked = kind != "bring" or thing.which == ""
                thing = self._like(thing, meant)
            if kind == "bring" and self._taken_before(thing, target, relation):
                continue
            if target is not None and target.pronoun:
                place = self._last_place()
                if place is None or (not self.commands and not self.context):
                    raise NotUnderstood(
                        f"{shown(clause)!r}: what does {target.said!r} stand for?",
                        "pronoun",
                        target.said,
                    )
                target = target.like(place) if target.count == 1 and target.color else place
            ordered = linked and bool(self.commands) and kind in ("open", "close")
            ordered = ordered or self._follows_opening(kind, target)
            self._append(
                Command(kind, thing, target, relation, then=ordered and len(self.commands) == first)
            )
        if self._clause.then and first < len(self.commands) and first > 0:
            self.commands[first] = replace(self.commands[first], then=True)

    def _all_of(self, thing: Phrase) -> list[Phrase]:
        """What "them" stands for, if several things were named at once."""
        if not thing.pronoun or thing.said not in ("them", "both", "all of them", "both of them"):
            return [thing]
        last = self.commands[-1].text if self.commands else ""
        named = [w for w in self.commands if w.text == last and w.kind in ("take", "find", "bring")]
        return [w.object for w in named] if len(named) > 1 else [thing]

    def _like(self, thing: Phrase, meant: Phrase) -> Phrase:
        full = thing.like(meant)
        if thing.which == "other" and not thing.said.startswith(("it", "them")):
            # "the other one": not the one that was spoken of.
            full = replace(full, excluded=(replace(meant, excluded=()),) if _tells(meant) else ())
        return full

    def _follows_opening(self, kind: CommandKind, target: Phrase | None) -> bool:
        """Whether something is put into what was opened before, or that is closed again."""
        opened = [w.object.label for w in self.commands if w.kind == "open"]
        return kind == "bring" and target is not None and target.label in opened

    def _taken_before(self, thing: Phrase, target: Phrase | None, relation: str) -> bool:
        """Make "take the mug" and "put it on the desk" one command, in the place of the first."""
        merged = False
        for k in range(len(self.commands) - 1, -1, -1):
            command = self.commands[k]
            same = command.object.label == thing.label and command.object.noun == thing.noun
            fewer = thing.number == "some" and thing.count != command.object.count
            if command.kind == "take" and same and fewer:
                raise NotUnderstood(
                    f"{shown(self._clause.text)!r}: {thing.said!r} are not all of "
                    f"{command.object.said!r}",
                    "ambiguous",
                    thing.said,
                    question="Where shall the rest go?",
                )
            if command.kind == "take" and same and target is not None and not target.pronoun:
                self.commands[k] = replace(
                    command, kind="bring", target=target, relation=relation,
                    text=f"{command.text} and {self._clause.text}",
                )  # fmt: skip
                merged = True
            elif merged or command.kind == "bring":
                break
        return merged

    def _append(self, command: Command) -> None:
        clause = self._clause
        self.commands.append(
            replace(
                command,
                robot=clause.robot,
                text=command.text or clause.text,
                asks=self._asks if command.kind == "take" else None,
                then=command.then or (clause.then and bool(self.commands)),
                notes=(*command.notes, *clause.notes),
            )
        )
        self._clause = replace(clause, then=False, notes=())


def _you(said: str) -> str:
    if said in ("me", "us", "myself", "here"):
        return "you are"
    return f"{said!r} is"


def _tells(phrase: Phrase) -> bool:
    """Whether a phrase picks some things out of all that bear its name."""
    return bool(phrase.color or phrase.places or phrase.order or phrase.ordinal)
