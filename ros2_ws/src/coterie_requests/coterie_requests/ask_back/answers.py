"""A request settled before anything is done about it: judged, asked back once, and judged again."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from coterie_llm import Decider, inline_data
from coterie_requests.ask_back.judgement import Judgement
from coterie_requests.ask_back.rule import LEFT_OUT, PLACE_ASKED, RequestState, judged
from coterie_requests.asking import NOBODY, WordsAnswer, WordsQuestion, told_choice
from coterie_requests.grammar import read, read_place, read_thing
from coterie_requests.read_request import read_request
from coterie_requests.request import ALL, Request, Thing
from coterie_requests.understanding.phrases import PERSONS, phrase_of
from coterie_requests.understanding.problems import NotUnderstood, Problem
from coterie_requests.understanding.text import plain_text
from coterie_requests.understanding.vocabulary import plain_name
from coterie_safety.why import note
from coterie_world.scene import SceneGraph
from coterie_world.sightings import seen_in_passing

_Read = TypeVar("_Read")
Person = Callable[[WordsQuestion], Awaitable[WordsAnswer]]
"""Puts a question to whoever gave the request; at once without an answer where nobody is there."""
ANSWER_TIMEOUT_S = 60.0
"""Longest time that a person is waited for [s of wall time]."""
_YES = frozenset(("yes", "yeah", "yep", "sure", "ok", "okay", "please"))
_NO = frozenset(("no", "nope", "never", "none", "neither", "stop", "cancel", "forget", "nothing"))
_ALL = frozenset(("all", "both", "each", "every", "everything"))
_ANY = frozenset(("any", "either", "whichever", "whatever"))


@dataclass(frozen=True, slots=True)
class Settled:
    """What came of it.

    Attributes:
        judgement: Judgement of the request, with the person's answer if there was one.
        request: The request with what the answer adds; None where the words leave out something
            that nobody told, so that they were not read.
        left_out: Ids of what fits the words and was not meant.
        chosen: Id of the one that was; "" where none was chosen.
        go_on: Whether it can be worked on now.
    """

    judgement: Judgement
    request: Request | None
    left_out: tuple[str, ...] = ()
    chosen: str = ""
    go_on: bool = True


async def settle(
    state: RequestState,
    decider: Decider,
    person: Person | None = None,
    *,
    who: str = "team",
    task: str = "",
    cleared: Callable[[Judgement], bool] | None = None,
    within: float = ANSWER_TIMEOUT_S,
) -> Settled:
    """Read and judge a request; where it is not clear, ask one question and judge the answer.

    Args:
        state: The request and what is known. Words are read first, unless somebody has read them
            already, or found that they leave something out.
        decider: Asks the model, or the grammar, that reads words and answers.
        person: Function that asks the person; None: nobody is there.
        who: Name of the asker: a robot, or a node of the team.
        task: Id of the task.
        cleared: Tells whether the command can do it all the same, so that nobody needs to be asked:
            it makes no difference which of the candidates is meant, or it finds by other names what
            the judgement misses.
        within: Longest time that the person is waited for [s of wall time].

    Raises:
        NotUnderstood: The words are not read, and no answer of the person would help.
    """
    if state.request is None and state.problem is None:
        request, problem = await read_or_problem(state, decider)
        state = replace(state, request=request, problem=problem)
    told = judged(state)
    if told.clear or (cleared is not None and cleared(told)):
        return Settled(Judgement(), state.request)
    settled = await _asked(state, told, decider, person, WordsQuestion(who, task, "", (), within))
    told = settled.judgement
    body = {"words": f"{told.kind.replace('_', ' ')}: {told.text}", "question": told.question}
    more = {"answer": told.answer, "evidence": told.evidence, "went_on": settled.go_on}
    note("judged", who, {**body, **more}, task=task or None)
    return settled


async def read_or_problem(
    state: RequestState, decider: Decider, check: Callable[[Request], object] = bool
) -> tuple[Request | None, Problem | None]:
    """Return what words ask for, and the reason why they leave something out.

    Args:
        state: The words.
        decider: Asks the model, or the grammar, that reads them.
        check: Raises NotUnderstood where a request cannot be worked on.

    Raises:
        NotUnderstood: The words are not read, and no answer of a person would help.
    """
    request: Request | None = None
    try:
        request = await read_request(state.words, state.names, decider, state.command)
        check(request)
    except NotUnderstood as error:
        if error.problem.kind not in LEFT_OUT:
            raise
        return request, error.problem
    return request, None


async def _asked(
    state: RequestState,
    told: Judgement,
    decider: Decider,
    person: Person | None,
    question: WordsQuestion,
) -> Settled:
    """Ask the person what is not clear, and return what the answer settles."""
    clearest = _clearest(state, told)
    if clearest is not None:
        return clearest
    # A denial rests on likelihoods: where a room was seen in part only, looking tells more.
    unsure = told.kind == "not_seen_yet" or bool(state.looked.glanced(state.rooms))
    searched = told.slot == "anyway" and unsure
    if not told.question or (told.kind == "not_seen_yet" and not searched):
        return Settled(told, state.request, go_on=False)
    text = f"{told.text}. {told.question}"[:500]
    put = replace(question, text=text, choices=told.choices)
    answer = await person(put) if person is not None else WordsAnswer(reason=NOBODY)
    if not answer.text:
        why = f"{told.text} ({answer.reason or NOBODY})"
        if searched:  # a search does no harm, and its result tells what was found
            why += "; robots look for it all the same"
        return Settled(replace(told, text=why, settled=searched), state.request, go_on=searched)
    settled = _with_answer(state, told, answer.text)
    if settled is None and not decider.rule_only and told.slot != "anyway":
        settled = await _read_by_model(state, told, answer.text, decider)
    if settled is None:
        left = f"{told.text}; the answer {inline_data(answer.text)!r} does not tell it"
        return Settled(replace(told, text=left, answer=answer.text), state.request, go_on=False)
    return replace(settled, judgement=replace(told, answer=answer.text, settled=True))


def _clearest(state: RequestState, told: Judgement) -> Settled | None:
    """Take the one of several things that was seen far better than any other; None: ask."""
    known = state.scene.objects
    doubtful = seen_in_passing(known[id_] for id_ in told.candidates if id_ in known)
    clear = [id_ for id_ in told.candidates if id_ not in doubtful]
    if told.kind != "ambiguous" or state.request is None or len(clear) != 1 or not doubtful:
        return None
    named = told.choices[told.candidates.index(clear[0])] if told.choices else clear[0]
    text = f"{told.text}; {named} is taken, which was seen far better"
    request = _meaning(state.request, told.said, clear[0], state.scene)
    others = tuple(id_ for id_ in told.candidates if id_ != clear[0])
    return Settled(replace(told, text=text, question="", settled=True), request, others, clear[0])


async def _read_by_model(
    state: RequestState, told: Judgement, answer: str, decider: Decider
) -> Settled | None:
    """Let a model say in plain English what is asked for with an answer that no rule reads.

    That is judged like any other request: what is still unclear is not settled.
    """
    words = f"{state.words} (asked back: {told.question} answer: {answer})"
    try:
        request = await read_request(words, state.names, decider, state.command)
    except NotUnderstood:
        return None
    request = request.but(words=state.words)
    again = judged(replace(state, request=request, problem=None))
    return Settled(told, request) if again.clear else None


# -- a person's answer ---------------------------------------------------------------------------


def _with_answer(state: RequestState, told: Judgement, answer: str) -> Settled | None:
    """Return what an answer settles, by the grammar that reads requests; None: nothing."""
    said = plain_text(answer).strip(" .!?").lower()
    first, request = (said.split() or [""])[0], state.request
    if first in _NO or not first:
        return None
    if told.slot == "anyway":
        return Settled(told, request) if first in _YES else None
    if request is not None and told.slot == "target" and state.problem is not None:
        made = _with_place(state, request, said)
    elif request is None or state.problem is not None:
        made = _completed(state, told_choice(said, told.choices))
    elif told.candidates:
        chosen = _chosen(state, told, said, first)
        if not chosen:
            return None
        if len(chosen) > 1:
            every = _instead(request, told.said, lambda old: old.but(amount=ALL))
            return Settled(told, every)
        left_out = tuple(id_ for id_ in told.candidates if id_ not in chosen)
        meant = _meaning(request, told.said, chosen[0], state.scene)
        return Settled(told, meant, left_out, chosen[0])
    else:
        new = _read_answer(state, told, said)
        made = _instead(request, told.said, lambda _: new) if new is not None else None
    return Settled(told, made) if made is not None else None


def _meaning(request: Request, said: str, id_: str, scene: SceneGraph) -> Request:
    """Return a request in which unclear words stand for one thing or room of the map."""
    room = scene.rooms.get(id_)
    name = room.name if room is not None else id_
    # What was asked of it is not what tells which one it is.
    kept = any(step.act in PLACE_ASKED for step in request.steps)

    def meant(old: Thing) -> Thing:
        return Thing(name=plain_name(name), said=name, places=old.places if kept else ())

    words = request.words.replace(said, name, 1) if said else request.words
    return _instead(request, said, meant).but(words=words)


def _instead(request: Request, said: str, new: Callable[[Thing], Thing]) -> Request:
    """Return a request with another thing for the one that some words are of, wherever it is."""
    old = _of_words(request, said)

    def changed(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(map(changed, part))
        # It may also have been said to be "it".
        if isinstance(part, Thing) and old and part.but(said=old.said) == old:
            return new(part)
        if isinstance(part, BaseModel):
            return part.model_copy(update={name: changed(value) for name, value in part})
        return part

    return request if old is None else changed(request)


def _of_words(request: Request, said: str) -> Thing | None:
    """Return the thing that some words are of; None for no words."""
    found = (one for one in request.mentioned() if said and said in (one.said, one.told()))
    return next(found, None)


def _chosen(state: RequestState, told: Judgement, said: str, first: str) -> tuple[str, ...]:
    """Return the ids among the candidates that an answer means; none: it does not tell."""
    ids, choice = told.candidates, told_choice(said, told.choices)
    if choice in told.choices:
        return (ids[told.choices.index(choice)],)
    if first in _ALL or first in _ANY:
        return ids if first in _ALL else ids[:1]
    thing = _read_answer(state, told, said)
    if thing is None:
        return ()
    if thing.rank > 0 and not thing.choice:  # the second of what was offered
        return ids[thing.rank - 1 : thing.rank]
    resolver, phrase = state.resolver, phrase_of(thing, state.names)
    fits: set[str] = set()
    with suppress(NotUnderstood):
        if resolver.is_place(phrase):
            rooms = {room.id for room in resolver.rooms(phrase)}
            fits = {one.id for one in state.scene.objects.values() if one.room in rooms} | rooms
        else:
            fits = {one.id for one in resolver.things(phrase)}
    meant = tuple(fits & {*ids})
    return meant if len(meant) == 1 else ()


def _read_answer(state: RequestState, told: Judgement, said: str) -> Thing | None:
    """Return the thing that an answer names, perhaps only by what tells it from the others."""
    old = _of_words(state.request, told.said) if state.request is not None else None
    noun = (old.name if old is not None else "") or "thing"
    words = " ".join(noun if word in ("one", "ones") else word for word in said.split())
    forms = (words, f"the {words}", f"the {noun} {words}")
    return _first(lambda text: read_thing(text, state.names), forms if old is not None else ())


def _with_place(state: RequestState, request: Request, said: str) -> Request | None:
    """Return the request with where things go; None: the answer is no place."""
    forms = (said, f"to {said}", f"to the {said}")
    place = _first(lambda text: read_place(text, state.names), forms)
    steps = tuple(
        step.but(to=place)
        if step.act == "bring" and (step.to is None or step.to.thing.name in PERSONS)
        else step
        for step in request.steps
    )
    return request.but(steps=steps) if place is not None else None


def _completed(state: RequestState, said: str) -> Request | None:
    """Return what the words ask for with an answer in the place of what is unclear, or it alone."""
    words = " ".join(state.words.lower().split()).rstrip(" .!?")
    unclear = state.problem.word if state.problem is not None else ""
    forms = [words.replace(unclear, one, 1) for one in (f"the {said}", said)]
    forms = [*(forms if unclear and unclear in words else ()), said]
    return _first(lambda text: read(text, state.names, state.command), forms)


def _first(reader: Callable[[str], _Read], forms: Iterable[str]) -> _Read | None:
    """Return what is read of the first of some forms that is; None: of none."""
    for text in forms:
        with suppress(NotUnderstood):
            return reader(text)
    return None


def without(scene: SceneGraph, ids: Collection[str]) -> SceneGraph:
    """Return a map without some of its objects, for a request that does not mean them."""
    if not ids:
        return scene
    left = copy.copy(scene)
    left.objects = {id_: thing for id_, thing in scene.objects.items() if id_ not in ids}
    return left
