"""A request for objects, asked back about where it is not clear."""

from __future__ import annotations

from dataclasses import dataclass

from coterie_requests.ask_back import Judgement, Person, RequestState, settle, without
from object_planner.workflows import Answer, Method, Options, Roles, plan_objects


@dataclass(frozen=True, slots=True)
class FoundFor:
    """Ids that fit a request, best first, why, what it is, and what the workflow answered."""

    ids: list[str]
    explanation: str
    judgement: Judgement
    answer: Answer


async def find_settled(
    state: RequestState,
    roles: Roles,
    method: Method = "grounded",
    options: Options | None = None,
    person: Person | None = None,
) -> FoundFor:
    """Judge a request, ask back once, and find what it calls for.

    Where nobody answers which of several is meant, all of them are found: a list guesses nothing.
    What is called not there, or not seen yet, is looked for all the same, since a workflow knows
    other names for it; the judgement stands where it finds none.
    """
    settled = await settle(state, roles.planner, person, who="object_planner")
    told = settled.judgement
    scene = without(state.scene, settled.left_out)
    answer = await plan_objects(scene, settled.words, roles, method, options or Options())
    ids = answer.plan.relevant_objects
    if settled.go_on:
        return FoundFor(ids, answer.plan.reason, told, answer)
    if told.kind in ("false_premise", "not_seen_yet") and told.slot != "room":
        if ids:
            return FoundFor(ids, answer.plan.reason, Judgement(), answer)
        return FoundFor([], told.line, told, answer)
    if told.kind == "underspecified" or told.slot == "room":
        return FoundFor([], told.line, told, answer)
    return FoundFor(ids, f"{told.line}; {answer.plan.reason}", told, answer)
