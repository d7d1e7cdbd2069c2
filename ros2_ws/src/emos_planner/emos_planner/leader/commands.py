"""Household imperatives as wishes: what is to be brought, found, checked, gone to, opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from coterie_core.household import load_household
from coterie_requests.understanding import NotUnderstood, shown, words_of
from coterie_requests.understanding.phrases import STOPS, Phrase
from coterie_requests.understanding.quantities import SUPERLATIVES, begins_phrase
from coterie_requests.understanding.turned import comparatives, negations
from coterie_requests.understanding.vocabulary import Vocabulary
from emos_planner.leader.clauses import Clause, checked, clauses_of
from emos_planner.leader.parts import Part, complete, grouped, parts_of, where_to
from emos_planner.leader.places import Places
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
    base_verb,
)
from emos_planner.leader.wishes import Wish

__all__ = ["CAN_DO", "NotUnderstood", "Wish", "parse_task"]

MOST_WISHES = 60
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


def parse_task(words: str, names: Vocabulary) -> tuple[Wish, ...]:
    """Return the wishes of a task, one per verb and object, in the order they were said.

    Raises:
        NotUnderstood: Empty, too long, in another language, or a part of it means nothing to
            robots; nothing of it is done then, for half a task may be worse than none.
    """
    names = checked(words, names)
    reader = _Reader(names)
    clause = None
    try:
        for sentence in sentences_of(words, names.robots):
            context = len(reader.wishes)
            for clause in clauses_of(sentence, names, words):
                reader.read(clause)
            if sentence.context:
                reader.context = reader.wishes[context:]
                del reader.wishes[context:]
            elif sentence.needs:
                reader.needed = True
    except NotUnderstood as error:
        raise _with_progress(error, reader.wishes, words) from None
    wishes = reader.wishes
    owed = [wish.asks for wish in wishes if wish.kind == "take" and wish.asks is not None]
    if owed:
        raise _with_progress(owed[0], (), words)
    if not wishes:
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
    if len(wishes) > MOST_WISHES:
        raise NotUnderstood(
            f"{len(wishes)} wishes at once; split the task (most: {MOST_WISHES})", "too_long"
        )
    return tuple(wishes)


def _with_progress(error: NotUnderstood, wishes: Sequence[Wish], words: str) -> NotUnderstood:
    """Say what was understood before that, and that nothing of it is done."""
    problem = error.problem
    text = problem.text
    if wishes:
        told = ", ".join(repr(wish.text) for wish in wishes[:3])
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


class _Reader(Places):
    """Reads the clauses of a task one after the other; pronouns look back at what was read."""

    def read(self, clause: Clause) -> None:
        """Add the wishes of one clause; its verb is the next one's, where that has none.

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
        begun = len(self.wishes)
        self._read(text)
        denied = negations(text)
        heard = [p for w in self.wishes[begun:] for p in (w.object, w.target) if p is not None]
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
            del self.wishes[begun:]
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
            if not self.wishes:
                raise NotUnderstood(
                    f"{shown(text)!r} says what is not to be done: robots do only what they are "
                    "told",
                    "negation",
                    text,
                    question="What shall they do?",
                )
            left_out = tuple(self._items(what)) if what else ()
            for k, wish in enumerate(self.wishes):
                if wish.kind in ("bring", "take") and wish.object.number == "all":
                    spared = replace(wish.object, excluded=(*wish.object.excluded, *left_out))
                    self.wishes[k] = replace(wish, object=spared)
            said = f"{text!r}: it is left where it is"
        if self.wishes:
            self.wishes[-1] = replace(self.wishes[-1], notes=(*self.wishes[-1].notes, said))

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


FROM_WORDS = ("to", "into", "onto")
