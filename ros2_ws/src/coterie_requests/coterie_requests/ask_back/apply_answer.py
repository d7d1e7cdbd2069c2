"""A person's answer worked into a request: the thing that was meant, or what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from coterie_llm import inline_data
from coterie_requests.ask_back.judgement import Judgement
from coterie_requests.ask_back.reading import PLACE_ASKED, things_of
from coterie_requests.ask_back.state import RequestState
from coterie_requests.asking import told_choice
from coterie_requests.grammar import read, read_place, read_thing
from coterie_requests.request import ALL, Request, Step, Thing
from coterie_requests.understanding.phrases import PERSONS, phrase_of
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.text import plain_text
from coterie_requests.understanding.vocabulary import Vocabulary, plain_name
from coterie_world.scene import SceneGraph

_YES = frozenset(("yes", "yeah", "yep", "sure", "ok", "okay", "please"))
_NO = frozenset(("no", "nope", "never", "none", "neither", "stop", "cancel", "forget", "nothing"))
_ALL = frozenset(("all", "both", "each", "every", "everything"))
_ANY = frozenset(("any", "either", "whichever", "whatever"))


@dataclass(frozen=True, slots=True)
class Settling:
    """What an answer settles: the judgement now, ids that were chosen, the request to go on with.

    The request is None where the answer settles nothing.
    """

    judgement: Judgement
    chosen: tuple[str, ...] = ()
    request: Request | None = None


def with_answer(state: RequestState, before: Judgement) -> Settling:
    """Return what the answer in a state settles, by the grammar that reads requests.

    Args:
        state: State with `answer`, and the `choices` and `candidates` that were offered.
        before: Judgement of the request without the answer.
    """
    said = plain_text(state.answer).strip(" .!?").lower()
    first = said.split()[0] if said else ""
    chosen: tuple[str, ...] = ()
    request = None
    if first in _NO or not first:
        pass
    elif before.slot == "anyway":
        request = state.request if first in _YES else None
    elif state.request is not None and before.slot == "target":
        request = _with_place(state.request, said, state.names)
    elif state.request is None or state.problem is not None:
        request = _completed(state, told_choice(said, state.choices))
    elif state.candidates:
        chosen = _chosen(state, before, said, first)
        request = with_ids(state.request, before.said, chosen, state.scene)
    elif (new := _read_answer(state, before, said)) is not None:
        request = instead(state.request, before.said, lambda _: new)
    if request is not None:
        return Settling(Judgement(answer=state.answer), chosen, request)
    told = inline_data(state.answer)
    text = f"{before.text}; the answer {told!r} does not tell it" if said else before.text
    return Settling(replace(before, text=text, answer=state.answer))


def meaning(request: Request, said: str, id_: str, scene: SceneGraph) -> Request:
    """Return a request in which words that were unclear stand for one thing or room of the map.

    Args:
        request: The request.
        said: Words of the thing, see `Judgement.said`.
        id_: Id of the thing or room that is meant.
        scene: The map.
    """
    room = scene.rooms.get(id_)
    name = room.name if room is not None else id_
    # What was asked of it is not what tells which one it is.
    kept = any(step.act in PLACE_ASKED for step in request.steps)

    def meant(old: Thing) -> Thing:
        return Thing(name=plain_name(name), said=name, places=old.places if kept else ())

    return instead(request, said, meant).model_copy(
        update={"words": request.words.replace(said, name, 1) if said else request.words}
    )


def with_ids(
    request: Request, said: str, ids: tuple[str, ...], scene: SceneGraph
) -> Request | None:
    """Return a request in which unclear words stand for ids; all of them: for all that they fit."""
    if len(ids) == 1:
        return meaning(request, said, ids[0], scene)
    every = instead(request, said, lambda old: old.model_copy(update={"amount": ALL}))
    return every if ids else None


def instead(request: Request, said: str, new: Callable[[Thing], Thing]) -> Request:
    """Return a request with another thing for the one that some words are of, wherever it is."""
    old = _of_words(request, said)

    def changed(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(changed(one) for one in part)
        if isinstance(part, Thing) and _unsaid(part) == _unsaid(old):
            return new(part)
        if isinstance(part, BaseModel):
            return part.model_copy(update={name: changed(value) for name, value in part})
        return part

    return request if old is None else changed(request)


def _of_words(request: Request, said: str) -> Thing | None:
    """Return the thing that some words are of; None for no words."""
    found = (one for one in things_of(request) if said and said in (one.said, one.told()))
    return next(found, None)


def _unsaid(thing: Thing | None) -> Thing | None:
    """Return a thing without its words: it may also have been said to be "it"."""
    return thing and thing.model_copy(update={"said": ""})


def _chosen(state: RequestState, before: Judgement, said: str, first: str) -> tuple[str, ...]:
    """Return the ids among the candidates that an answer means; none: it does not tell."""
    ids = state.candidates
    choice = told_choice(said, state.choices)
    if choice in state.choices:
        return (ids[state.choices.index(choice)],)
    if first in _ALL or first in _ANY:
        return ids if first in _ALL else ids[:1]
    thing = _read_answer(state, before, said)
    if thing is None:
        return ()
    if thing.rank > 0 and not thing.choice:  # the second of what was offered
        return ids[thing.rank - 1 : thing.rank]
    phrase = phrase_of(thing, state.names)
    try:
        if state.resolver.is_place(phrase):
            rooms = {room.id for room in state.resolver.rooms(phrase)}
            held = state.scene.objects
            fits = [id_ for id_ in ids if id_ in rooms or (id_ in held and held[id_].room in rooms)]
        else:
            fits = [one.id for one in state.resolver.things(phrase) if one.id in ids]
    except NotUnderstood:
        return ()
    return tuple(fits) if len(fits) == 1 else ()


def _read_answer(state: RequestState, before: Judgement, said: str) -> Thing | None:
    """Return the thing that an answer names, perhaps only by what tells it from the others."""
    old = _of_words(state.request, before.said) if state.request is not None else None
    if old is None:
        return None
    noun = old.name or "thing"
    words = " ".join(noun if word in ("one", "ones") else word for word in said.split())
    for text in (words, f"the {words}", f"the {noun} {words}"):
        try:
            return read_thing(text, state.names)
        except NotUnderstood:
            continue
    return None


def _with_place(request: Request, said: str, names: Vocabulary) -> Request | None:
    """Return the request with where things go; None: the answer is no place."""
    for text in (said, f"to {said}", f"to the {said}"):
        try:
            place = read_place(text, names)
        except NotUnderstood:
            continue
        steps = (
            step.model_copy(update={"to": place}) if _lacks_place(step) else step
            for step in request.steps
        )
        return request.model_copy(update={"steps": tuple(steps)})
    return None


def _lacks_place(step: Step) -> bool:
    return step.act == "bring" and (step.to is None or step.to.thing.name in PERSONS)


def _completed(state: RequestState, said: str) -> Request | None:
    """Return the request with what was left out, where the grammar reads it so."""
    for text in _completions(state, said):
        try:
            return read(text, state.names, state.command)
        except NotUnderstood:
            continue
    return None


def _completions(state: RequestState, said: str) -> Iterator[str]:
    """Yield the words with an answer for what is unclear, or where it may be missing."""
    assert state.problem is not None
    words = " ".join(state.words.split()).rstrip(" .!?")
    named, kind = (f"the {said}", said), state.problem.kind
    unclear = state.problem.word
    if unclear and unclear in words and kind != "target":
        yield from (words.replace(unclear, one, 1) for one in named)
    if kind in ("object", "empty", "pronoun"):
        parts = words.split()
        for k in range(1, len(parts) + 1):
            yield from (" ".join((*parts[:k], one, *parts[k:])) for one in named)
    yield said
