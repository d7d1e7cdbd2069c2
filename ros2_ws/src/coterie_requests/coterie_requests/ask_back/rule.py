"""Rules that judge a request: what it speaks of is there, one of it, and no matter of taste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from coterie_core.conformal import DENIAL_LEVEL, LEVELS, load_conformal
from coterie_core.wording import enumerated
from coterie_requests.ask_back.judgement import Judgement
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_requests.grammar import Door
from coterie_requests.request import Act, Request, Thing
from coterie_requests.taste import is_taste
from coterie_requests.understanding.grounding import Resolver
from coterie_requests.understanding.map_geometry import named_room, one_of_each, plain
from coterie_requests.understanding.phrases import Phrase, phrase_of
from coterie_requests.understanding.problems import NotUnderstood, Problem, ProblemKind
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.coverage import Coverage
from coterie_world.scene import Room, SceneGraph, SceneObject

LEFT_OUT: dict[ProblemKind, str] = {
    "pronoun": "object", "object": "object", "target": "target", "person": "target",
    "ambiguous": "which", "empty": "object",
}  # fmt: skip
"""Part that is left out where words were not read for such a problem."""
PLACE_ASKED = ("is_there", "relation")
"""Questions about the place that is said, which so does not tell which thing is meant."""
_LOOKED_FOR = ("find", "look", "check")
"""Tasks that tell whether there is a thing, and where: it is not presumed."""
_MIN_DENIAL = 0.5
"""Least probability (0..1) that there is none from which a person is asked before a search."""
_MAX_CHOICES = 8
"""Things that a question offers to choose from."""
_MAX_SHOWN = 4
_WHAT = {"ask": "Which thing do you ask about?", "find": "What shall be found?",
         "do": "Which thing do you mean?"}  # fmt: skip


@dataclass(frozen=True)
class RequestState:
    """A request and what is known.

    Attributes:
        words: The words of the person.
        command: Command that they are given to, the door of their reading.
        scene: The map; it must not change meanwhile.
        coverage: Coverage of the map's rooms; None: estimated from the number of their objects.
        vocabulary: Labels that the detector can report.
        robots: Names that may be spoken to.
        request: The request that was read of the words; None: `settle` reads them.
        rooms_given: Whether the map had all rooms from the start, so that one that it has not is
            not there.
        coverage_level: Share of denials that shall be right; see `coterie_core.conformal`.
        problem: Reason why the words were not read, or leave nothing to do, which an answer may
            settle.
    """

    words: str
    command: Door
    scene: SceneGraph
    coverage: Coverage | None = None
    vocabulary: DetectorVocabulary = field(default_factory=DetectorVocabulary)
    robots: tuple[str, ...] = ()
    request: Request | None = None
    rooms_given: bool = False
    coverage_level: float = DENIAL_LEVEL
    problem: Problem | None = None

    @cached_property
    def looked(self) -> Coverage:
        """How much of each room was looked at."""
        return self.coverage or Coverage(self.scene)

    @cached_property
    def names(self) -> Vocabulary:
        """Names that mean something here."""
        return Vocabulary.of(self.scene, self.robots)

    @cached_property
    def resolver(self) -> Resolver:
        """Finds what phrases mean on the map."""
        return Resolver(self.scene)

    @property
    def all_rooms(self) -> bool:
        """Whether the map shows all rooms of the house."""
        return self.rooms_given or self.looked.closed

    @property
    def rooms(self) -> list[Room]:
        """All rooms of the map."""
        return list(self.scene.rooms.values())


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
    told = _of_taste(state, state.request)
    for mention in _mentions(state, state.request) if told is None else ():
        for rule in (_missing_room, _missing_thing, _too_many):
            with suppress(NotUnderstood):  # a place that is not there is a mention of its own
                told = told or rule(state, mention)
    return told or Judgement()


# -- what a request speaks of --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Mention:
    """What a request speaks of: a thing, a place, or what something is brought to.

    `presumed` tells whether it is taken to be there, rather than looked for.
    """

    phrase: Phrase
    role: str
    act: Act
    presumed: bool


def _mentions(state: RequestState, request: Request) -> Iterator[_Mention]:
    """Yield what a request takes for granted: places before what is there.

    Things of a task are taken to be there though they were not spoken of as known, unless it only
    looks for them.
    """
    task = state.command == "do"
    for step in (part for one in request.steps for part in (one, *one.options)):
        heads = [(thing, "thing") for thing in step.things]
        heads += [(thing, "target") for thing in (step.to.things if step.to else ())]
        for whole, own in heads:
            for one in (*_within(whole), whole):
                bare = step.act in PLACE_ASKED and one is whole
                thing = one.but(places=()) if bare else one
                phrase = phrase_of(thing, state.names)
                role = own if one is whole else "place"
                if phrase.person or phrase.house or phrase.robot or phrase.anything:
                    continue
                if task or phrase.definite or phrase.floor or (phrase.room and not phrase.label):
                    looked_for = task and role == "thing" and step.act in _LOOKED_FOR
                    yield _Mention(phrase, role, step.act, not looked_for)


def _within(thing: Thing) -> Iterator[Thing]:
    """Yield what the words for a thing name besides it, inner ones first, without alternatives."""
    places = (p for p in thing.places if len(p.things) == 1 or p.relation == "between")
    for one in (*(t for place in places for t in place.things), *thing.by, *thing.without):
        yield from _within(one)
        yield one


def _of_taste(state: RequestState, request: Request) -> Judgement | None:
    """What asks for an opinion; None where the words name one certain thing all the same."""
    asked = [(word, step.things[0] if step.things else None) for step in request.steps
             for word in (step.attribute, *step.choices) if is_taste(word)]  # fmt: skip
    asked += [(word, thing) for thing in request.mentioned() for word in thing.attributes
              if is_taste(word, thing.use)]  # fmt: skip
    if not asked:
        return None
    said = " and ".join(dict.fromkeys(repr(word) for word, _ in asked[:2]))
    text = f"{said} is a matter of taste, which robots cannot look up"
    if state.command == "ask":
        return Judgement("subjective", text)
    phrase = next((phrase_of(thing, state.names) for _, thing in asked if thing), Phrase(""))
    fits = _distinct(state.resolver.things(phrase)) if phrase.label else []
    if len(fits) == 1:
        return None
    if not fits or len(fits) > _MAX_CHOICES:
        return Judgement("subjective", text, "By what shall it be chosen?", said=phrase.said)
    ids, choices = tuple(thing.id for thing in fits), tuple(state.resolver.described(fits))
    return Judgement("subjective", text, "Which one do you mean?", choices, ids, said=phrase.said)


# -- places and things that are not there --------------------------------------------------------


def _missing_room(state: RequestState, mention: _Mention) -> Judgement | None:
    phrase = mention.phrase
    bare = replace(phrase, places=())
    if phrase.floor or (phrase.room and not phrase.label):
        try:
            state.resolver.rooms(bare)
        except NotUnderstood as error:
            return _no_such_room(state, phrase, error.problem.text)
        return None
    goes = mention.act == "go" or mention.role == "place"
    if phrase.known or not goes or state.resolver.things(bare):
        return None
    return _no_such_room(state, phrase, f"the map has no {phrase.noun!r}")


def _no_such_room(state: RequestState, phrase: Phrase, text: str) -> Judgement:
    unlooked = state.looked.missing(state.rooms)
    if not state.all_rooms or not state.rooms:
        left = state.looked.told(unlooked) or "there may be rooms that the map does not show yet"
        told = f"no {phrase.noun or phrase.said} has been seen so far, and {left}"
        missing = tuple(state.looked.names(unlooked))
        return Judgement("not_seen_yet", told, missing=missing, slot="room")
    names = enumerated(sorted(named_room(room) for room in state.rooms), 12)
    return Judgement(
        "false_premise",
        text,
        "Which room do you mean?" if state.command == "do" else "",
        evidence=(f"the map has {len(state.rooms)} rooms: {names}",),
        slot="room",
        said=phrase.said,
    )


def _missing_thing(state: RequestState, mention: _Mention) -> Judgement | None:
    """What nobody has seen: denied where it was looked for well enough, else not seen yet."""
    phrase, resolver, task = mention.phrase, state.resolver, state.command == "do"
    if resolver.is_place(phrase) or not phrase.known or not phrase.label or phrase.members:
        return None
    if not mention.presumed or phrase.label in state.scene.objects or resolver.things(phrase):
        return None
    labels = [thing.label.top for thing in state.scene.objects.values()]
    check = state.vocabulary.check(phrase.label, labels)
    if not check.reportable:
        never = check.reporting == "never_reported" and state.command == "ask"
        return Judgement("not_seen_yet", check.sentence()) if never else None
    rooms = resolver.where(phrase)
    unlooked = state.looked.unlooked(phrase.label, rooms)
    sure = state.looked.absence(phrase.label, rooms)
    everywhere = len(rooms) == len(state.rooms)
    levels = (state.coverage_level, min(LEVELS))
    least, least_of_all = (load_conformal().denial(at, everywhere=everywhere) for at in levels)
    open_ended = (everywhere and not state.all_rooms) or not rooms
    unsure = bool(unlooked) or open_ended
    if task and (unsure or sure < max(_MIN_DENIAL, least_of_all)):
        return None  # robots go and look
    ask = Judgement()
    if task:
        question = "Shall the robots look for one all the same?"
        ask = Judgement(question=question, choices=("yes", "no"), slot="anyway")
    others = resolver.things(replace(phrase, places=(), color="", ordinal=0))
    elsewhere = f"; a {plain(others[0].label.top)} was seen" if others else ""
    elsewhere += f" {at}" if others and (at := resolver.whereabouts(others[0])) else ""
    evidence = f"absent with probability {sure:.2f}, {least:.2f} is needed"
    if unsure or sure < least:
        weak = unlooked or ([] if open_ended else state.looked.glanced(rooms)[:_MAX_SHOWN])
        left = state.looked.told(unlooked)
        if not left and open_ended:
            left = "there may be rooms that the map does not show yet"
        elif not left:
            badly = f"{enumerated([named_room(room) for room in weak])} not looked over well"
            left = badly if weak else "such things are easily missed, or usual there"
        told = f"no {_described(phrase)} was seen so far; {left}{elsewhere}"
        missing = tuple(state.looked.names(weak))
        return replace(ask, kind="not_seen_yet", text=told, missing=missing, evidence=(evidence,))
    places = enumerated([named_room(room) for room in rooms], _MAX_SHOWN)
    share = 100 * min(state.looked.share(room.id) for room in rooms)
    reports = "reports" if state.vocabulary.labels is not None else "may report"
    scope = "in this house" if everywhere else f"in {places}"
    bare = _described(replace(phrase, places=()))
    return replace(
        ask,
        kind="false_premise",
        text=f"there is no {bare} {scope}, as far as it was looked at{elsewhere}",
        evidence=(
            f"looked at: {places}, the least of them to {share:.0f} %",
            evidence,
            f"the detector {reports} {phrase.noun!r}",
        ),
    )


def _described(phrase: Phrase) -> str:
    places = (f"{place.relation} {place.phrase.said}" for place in phrase.places)
    said = (*phrase.ignored, phrase.color, phrase.noun or phrase.label, *places)
    return " ".join(filter(None, said))


# -- several that fit ----------------------------------------------------------------------------


def _too_many(state: RequestState, mention: _Mention) -> Judgement | None:
    """Several things, or rooms, that fit what is spoken of as one."""
    phrase = mention.phrase
    chosen = phrase.order or phrase.ordinal or phrase.which in ("rest", "other")
    if not phrase.definite or phrase.number != "one" or chosen or phrase.alternatives:
        return None
    if state.resolver.is_place(phrase):
        if not phrase.room or phrase.floor or state.command == "ask":
            return None
        rooms = state.resolver.rooms(phrase)
        ids, choices = [room.id for room in rooms], [room.name for room in rooms]
        noun, slot = phrase.room, "room"
    else:
        if phrase.label in state.scene.objects:
            return None
        fits = _distinct(state.resolver.things(phrase))
        if mention.role == "target":  # any of those in one room will do
            fits = list({thing.room: thing for thing in reversed(fits)}.values())[::-1]
        ids, choices = [thing.id for thing in fits], state.resolver.described(fits)
        noun, slot = phrase.noun or phrase.label, mention.role
    if len(ids) < 2:
        return None
    many = len(ids) > _MAX_CHOICES
    count = f"{len(ids)} {'rooms' if slot == 'room' else 'things'} fit {phrase.said!r}"
    return Judgement(
        "ambiguous",
        f"{count}: {enumerated(choices, _MAX_SHOWN)}",
        f"Which {noun} do you mean?" + (" Say in which room or on what" if many else ""),
        () if many else tuple(choices),
        tuple(ids),
        evidence=(count,),
        slot=slot,
        said=phrase.said,
    )


def _distinct(things: Sequence[SceneObject]) -> list[SceneObject]:
    """Leave out what may be another thing of the list, mapped twice."""
    clearest = sorted(things, key=lambda thing: (-thing.observations, thing.id))
    return sorted((group[0] for group in one_of_each(clearest)), key=lambda thing: thing.id)
