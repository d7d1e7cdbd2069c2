"""A request settled before anything is done about it: judged, asked back once, and judged again."""

from __future__ import annotations

import copy
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace

from coterie_llm import Decider
from coterie_requests.ask_back.decision import JudgeRequest, RequestReply, judgement_of
from coterie_requests.ask_back.judgement import Judgement
from coterie_requests.ask_back.rule import judged, with_answer
from coterie_requests.ask_back.state import RequestState
from coterie_requests.asking import NOBODY, WordsAnswer, WordsQuestion
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
        words: The request to go on with.
        left_out: Ids of what fits the words and was not meant.
        chosen: Id of the one that was; "" where none was chosen.
        go_on: Whether it can be worked on now.
    """

    judgement: Judgement
    words: str
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
    """Judge a request; where it is not clear, ask one question back and judge it with the answer.

    Args:
        state: The request and what is known.
        decider: Asks a model, or the rules.
        person: Function that asks the person; None: nobody is there.
        who: Name of the asker: a robot, or a node of the team.
        task: Id of the task.
        cleared: Tells whether the command can do it all the same, so that nobody needs to be asked:
            it makes no difference which of the candidates is meant, or it finds by other names what
            the judgement misses.
        within: Longest time that the person is waited for [s of wall time].
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
    told, _ = await _judge(state, decider)
    if not told.clear and cleared is not None and cleared(told):
        told = Judgement(decided_by=told.decided_by, reason=told.reason)
    if told.clear:
        return Settled(told, state.words)
    if told.kind == "ambiguous" and (best := _best_seen(state.scene, told.candidates)):
        return _taken(state, told, best)
    # A denial rests on likelihoods: where a room was seen in part only, looking tells more.
    unsure = told.kind == "not_seen_yet" or bool(state.looked.glanced(state.rooms))
    searched = told.slot == "anyway" and unsure
    if not told.question or (told.kind not in _ASKS and not searched):
        return Settled(told, state.words, go_on=False)
    put = WordsQuestion(who, task, f"{told.text}. {told.question}"[:500], told.choices, within)
    answer = await person(put) if person is not None else WordsAnswer(reason=NOBODY)
    if not answer.text:
        why = answer.reason or NOBODY
        if searched:  # a search does no harm, and its result tells what was found
            text = f"{told.text} ({why}); robots look for it all the same"
            return Settled(replace(told, text=text, settled=True), state.words)
        return Settled(replace(told, text=f"{told.text} ({why})"), state.words, go_on=False)
    again = replace(
        state,
        question=told.question,
        choices=told.choices,
        candidates=told.candidates,
        answer=answer.text,
    )
    now, reply = await _judge(again, decider)
    if not now.clear:
        return Settled(replace(now, answer=answer.text), state.words, go_on=False)
    chosen = tuple(id_ for id_ in reply.candidates if id_ in told.candidates)
    left_out = tuple(id_ for id_ in told.candidates if id_ not in chosen) if chosen else ()
    kept = replace(told, answer=answer.text, settled=True)
    words = " ".join(reply.request.split()) or state.words
    one = chosen[0] if len(chosen) == 1 else ""
    if one and state.command == "do" and words == state.words:
        words = _with_name(state, told.said, one)
    return Settled(kept, words, left_out, one)


def _best_seen(scene: SceneGraph, candidates: Sequence[str]) -> str:
    """Return the candidate that robots have seen far better than any other; "" for none."""
    doubtful = seen_in_passing(scene.objects[id_] for id_ in candidates if id_ in scene.objects)
    left = [id_ for id_ in candidates if id_ not in doubtful]
    return left[0] if len(left) == 1 < len(candidates) else ""


def _taken(state: RequestState, told: Judgement, best: str) -> Settled:
    """Go on with the one candidate that was seen well, and say so."""
    named = told.choices[told.candidates.index(best)] if told.choices else best
    text = f"{told.text}; {named} is taken, which was seen far better"
    words = _with_name(state, told.said, best) if state.command == "do" else state.words
    others = tuple(id_ for id_ in told.candidates if id_ != best)
    return Settled(replace(told, text=text, question="", settled=True), words, others, best)


def _with_name(state: RequestState, said: str, id_: str) -> str:
    """Return a task with the id of a thing, or the name of a room, for the words that were unclear.

    Tasks go on while the map grows, so that what is meant has to stand in the words.
    """
    room = state.scene.rooms.get(id_)
    pattern = r"\s+".join(map(re.escape, said.split()))
    found = re.search(rf"\b{pattern}\b", state.words, re.IGNORECASE) if said else None
    if found is None:
        return state.words
    return state.words[: found.start()] + (room.name if room else id_) + state.words[found.end() :]


async def _judge(state: RequestState, decider: Decider) -> tuple[Judgement, RequestReply]:
    """Return the judgement and the reply that it is of."""
    decided = await decider.decide(JudgeRequest(), state)
    if decided.decided_by == "model":
        told = judgement_of(state, decided.reply)
    elif state.answer:
        told = with_answer(state, judged(replace(state, answer=""))).judgement
    else:
        told = judged(state)
    return replace(told, decided_by=decided.decided_by, reason=decided.reason), decided.reply


def without(scene: SceneGraph, ids: Collection[str]) -> SceneGraph:
    """Return a map without some of its objects, for a request that does not mean them."""
    if not ids:
        return scene
    left = copy.copy(scene)
    left.objects = {id_: thing for id_, thing in scene.objects.items() if id_ not in ids}
    return left
