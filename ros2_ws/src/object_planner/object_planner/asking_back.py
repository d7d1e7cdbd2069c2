"""A request for objects, asked back about where it is not clear."""

from __future__ import annotations

from dataclasses import dataclass

from coterie_requests.ask_back import (
    Judgement,
    Person,
    RequestState,
    not_understood,
    settle,
    without,
)
from coterie_requests.understanding import NotUnderstood
from object_planner.plan import Plan
from object_planner.settings import Method
from object_planner.workflows import Answer, Options, Roles, plan_objects


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
    """Read and judge a request, ask back once, and find what it calls for.

    Where nobody answers which of several is meant, all of them are found: a list guesses nothing.
    What is called not there, or not seen yet, is looked for all the same, since a workflow knows
    other names for it; the judgement stands where it finds none.
    """
    options = options or Options()
    try:
        settled = await settle(state, roles.planner, person, who="object_planner")
    except NotUnderstood as error:  # a model plans by the words alone, the rules by meaning
        answer = await plan_objects(state.scene, state.words, roles, method, options)
        ids = answer.plan.relevant_objects
        told = Judgement() if ids else not_understood(error.problem)
        return FoundFor(ids, answer.plan.reason, told, answer)
    told, request = settled.judgement, settled.request
    lacking = told.kind == "underspecified" or told.slot == "room"
    if request is None or (lacking and not settled.go_on):
        return FoundFor([], told.line, told, Answer(Plan(achievable=False)))
    scene = without(state.scene, settled.left_out)
    answer = await plan_objects(scene, request.words, roles, method, options, request)
    ids = answer.plan.relevant_objects
    if not answer.understood:
        told = Judgement("underspecified", answer.plan.reason)
    if settled.go_on:
        return FoundFor(ids, answer.plan.reason, told, answer)
    if told.kind in ("false_premise", "not_seen_yet"):
        found = Judgement() if ids else told
        return FoundFor(ids, answer.plan.reason if ids else told.line, found, answer)
    return FoundFor(ids, f"{told.line}; {answer.plan.reason}", told, answer)
