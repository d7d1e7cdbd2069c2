"""A request settled before anything is done about it: judged, asked back once, and judged again."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace

from coterie_llm import Decider
from coterie_requests.ask_back.apply_answer import Settling, meaning, with_answer
from coterie_requests.ask_back.judgement import Judgement
from coterie_requests.ask_back.rule import LEFT_OUT, judged
from coterie_requests.ask_back.state import RequestState
from coterie_requests.asking import NOBODY, WordsAnswer, WordsQuestion
from coterie_requests.read_request import read_request
from coterie_requests.request import Request
from coterie_requests.understanding.problems import NotUnderstood
from coterie_safety.why import note
from coterie_world.scene import SceneGraph
from coterie_world.sightings import seen_in_passing

Person = Callable[[WordsQuestion], Awaitable[WordsAnswer]]
"""Puts a question to whoever gave the request; at once without an answer where nobody is there."""
ANSWER_TIMEOUT_S = 60.0
"""Longest time that a person is waited for [s of wall time]."""
_ASKS = ("ambiguous", "underspecified", "subjective", "false_premise")


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
    settled = await _settled(state, decider, person, who, task, cleared, within)
    told = settled.judgement
    if not told.clear:
        body = {"words": f"{told.kind.replace('_', ' ')}: {told.text}", "question": told.question}
        more = {"answer": told.answer, "evidence": told.evidence, "went_on": settled.go_on}
        note("judged", who, {**body, **more}, task=task or None)
    return settled


async def _settled(
    state: RequestState,
    decider: Decider,
    person: Person | None,
    who: str,
    task: str,
    cleared: Callable[[Judgement], bool] | None,
    within: float,
) -> Settled:
    state = await _read(state, decider)
    told = judged(state)
    if told.clear or (cleared is not None and cleared(told)):
        return Settled(Judgement(), state.request)
    if told.kind == "ambiguous" and (best := _best_seen(state.scene, told.candidates)):
        return _taken(state, told, best)
    # A denial rests on likelihoods: where a room was seen in part only, looking tells more.
    unsure = told.kind == "not_seen_yet" or bool(state.looked.glanced(state.rooms))
    searched = told.slot == "anyway" and unsure
    if not told.question or (told.kind not in _ASKS and not searched):
        return Settled(told, state.request, go_on=False)
    put = WordsQuestion(who, task, f"{told.text}. {told.question}"[:500], told.choices, within)
    answer = await person(put) if person is not None else WordsAnswer(reason=NOBODY)
    if not answer.text:
        why = answer.reason or NOBODY
        if searched:  # a search does no harm, and its result tells what was found
            text = f"{told.text} ({why}); robots look for it all the same"
            return Settled(replace(told, text=text, settled=True), state.request)
        return Settled(replace(told, text=f"{told.text} ({why})"), state.request, go_on=False)
    again = replace(
        state,
        question=told.question,
        choices=told.choices,
        candidates=told.candidates,
        answer=answer.text,
    )
    found = await _answered(again, told, decider)
    if found.request is None:
        return Settled(replace(found.judgement, answer=answer.text), state.request, go_on=False)
    chosen = found.chosen
    left_out = tuple(id_ for id_ in told.candidates if id_ not in chosen) if chosen else ()
    kept = replace(told, answer=answer.text, settled=True)
    return Settled(kept, found.request, left_out, chosen[0] if len(chosen) == 1 else "")


async def _read(state: RequestState, decider: Decider) -> RequestState:
    """Return the state with the request, or with the reason why words leave something out."""
    if state.request is not None or state.problem is not None:
        return state
    try:
        read = await read_request(state.words, state.names, decider, state.command)
    except NotUnderstood as error:
        if error.problem.kind not in LEFT_OUT:
            raise
        return replace(state, problem=error.problem)
    return replace(state, request=read)


async def _answered(state: RequestState, before: Judgement, decider: Decider) -> Settling:
    """Return what a person's answer settles; a request of None: nothing.

    Where the grammar does not read the answer, a model says in plain English what is asked for with
    it. That is judged like any other request: what is still unclear is not settled.
    """
    found = with_answer(state, before)
    if found.request is not None or decider.rule_only or before.slot == "anyway":
        return found
    words = f"{state.words} (asked back: {state.question} answer: {state.answer})"
    try:
        request = await read_request(words, state.names, decider, state.command)
    except NotUnderstood as error:
        return replace(found, judgement=replace(before, text=f"{before.text}; {error}"))
    again = replace(state, request=request.model_copy(update={"words": state.words}), problem=None)
    return Settling(Judgement(), request=again.request) if judged(again).clear else found


def _best_seen(scene: SceneGraph, candidates: Sequence[str]) -> str:
    """Return the candidate that robots have seen far better than any other; "" for none."""
    doubtful = seen_in_passing(scene.objects[id_] for id_ in candidates if id_ in scene.objects)
    left = [id_ for id_ in candidates if id_ not in doubtful]
    return left[0] if len(left) == 1 < len(candidates) else ""


def _taken(state: RequestState, told: Judgement, best: str) -> Settled:
    """Go on with the one candidate that was seen well, and say so."""
    assert state.request is not None
    named = told.choices[told.candidates.index(best)] if told.choices else best
    text = f"{told.text}; {named} is taken, which was seen far better"
    request = meaning(state.request, told.said, best, state.scene)
    others = tuple(id_ for id_ in told.candidates if id_ != best)
    return Settled(replace(told, text=text, question="", settled=True), request, others, best)


def without(scene: SceneGraph, ids: Collection[str]) -> SceneGraph:
    """Return a map without some of its objects, for a request that does not mean them."""
    if not ids:
        return scene
    left = copy.copy(scene)
    left.objects = {id_: thing for id_, thing in scene.objects.items() if id_ not in ids}
    return left
