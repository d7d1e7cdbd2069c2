"""Workflows: how several questions to models become one answer (object planning, section 3).

`baseline` asks once; `self_reflection` and `multi_agent` reflect and refine; `ensemble` lets six
answer and one choose; `grounded` is ours: every claim is checked with the tools, and a refinement
may only add what they confirm.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from coterie_core.wording import enumerated
from coterie_llm import Decided, Decider, Usage
from coterie_llm.embedders import EmbedderError
from coterie_requests.request import Request
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.text import shown
from coterie_world.meaning import Meanings, Near, likeness_by_label
from coterie_world.scene import SceneGraph
from object_planner.map_text import MAP_TOKENS
from object_planner.plan import MOST, Plan, PlanObjects, PlanState, by_tools, explained
from object_planner.review import ChoiceState, ChoosePlan, Refine, Reflect, ReviewState, Round
from object_planner.settings import Method, Mode

LIKELY, POSSIBLE = 0.3, 0.1
"""Least probability that a word means a label for its things to be shown, as a guess; and for the
label to be told."""

Stop = Literal["count", "unchanged", "model"]
METHODS: tuple[Method, ...] = get_args(Method)


def by_meaning(state: PlanState, meanings: Meanings) -> Plan | None:
    """Answer a request for a thing of unknown name by the labels nearest to it.

    The rest of the request (place, relations, colors) holds for what is shown. It is a guess, and
    said to be one with its probability; where none is likely enough, the explanation names the
    nearest labels and no object is shown.

    Args:
        state: The request and its map.
        meanings: Compares words.

    Returns:
        None where the request has no thing of unknown name.
    """
    word = _unknown_thing(state)
    if not word:
        return None
    labels = sorted({thing.label.top for thing in state.scene.objects.values() if thing.label.top})
    try:
        near = meanings.nearest(word, labels, scene=state.scene)
    except EmbedderError as error:
        return _told(state, word, f"nearness by meaning is not known: {error}")
    for one in near:
        if one.probability >= LIKELY:
            plan = _with_label(state, word, one)
            if plan is not None:
                return plan
    told = [f"{n.label} ({n.probability:.0%})" for n in near if n.probability >= POSSIBLE]
    if not told:
        return _told(state, word, "nothing in this map is near to it by meaning either")
    return _told(state, word, f"by meaning it may be, with little probability: {enumerated(told)}")


def _unknown_thing(state: PlanState) -> str:
    """Return the words that nothing is known of; "" where there are none."""
    if isinstance(state.request, NotUnderstood):
        return state.request.problem.word
    things = () if state.findings.understood else state.request.steps[0].things
    return next((thing.name for thing in things), "")


def _with_label(state: PlanState, word: str, near: Near) -> Plan | None:
    words = re.sub(rf"\b{re.escape(word)}\b", near.label, state.words, flags=re.IGNORECASE)
    if words == state.words:
        return None
    findings = PlanState(state.scene, words, mode=state.mode).findings
    if not findings.found:
        return None
    ids = findings.ids[:MOST]
    guess = (
        f"perhaps: {shown(word)} stands in no table; by meaning it is nearest to {near.label}, and "
        f"{near.probability:.0%} of words that near are"
    )
    return Plan(
        inferred_query=words[:300],
        achievable=True,
        relevant_objects=ids,
        reason=f"{guess}; {explained(findings, ids)}"[:800],
    )


def _told(state: PlanState, word: str, why: str) -> Plan:
    return Plan(
        inferred_query=state.words[:300],
        achievable=False,
        reason=f"not understood: {shown(word)}; {why}"[:800],
    )


@dataclass(frozen=True, slots=True)
class Options:
    """How a workflow runs.

    Attributes:
        mode: certainty: top labels only; uncertainty: their distribution.
        rounds: Rounds of reflection (2 in the paper).
        stop: When to stop before: `count` never, `unchanged` when a refinement leaves the objects
            as they are, `model` when the reviewer finds the answer acceptable.
        members: Planners of an ensemble (6 in the paper).
        memory: Show the rounds before (short-term memory).
        map_tokens: Most tokens that the map takes in a prompt.
        temperature: Sampling temperature of an ensemble's planners, unless the model's profile
            sets one: with 0 they would all give one answer.
        seed: Of the first member: each samples with a seed of its own and sees the map's objects
            in an order of its own (the first in the map's).
        limit: Most objects of the answer.
        meanings: Compares a word that no table lists with the map's labels; None: it stays unknown.
    """

    mode: Mode = "uncertainty"
    rounds: int = 2
    stop: Stop = "count"
    members: int = 6
    memory: bool = True
    map_tokens: int = MAP_TOKENS
    temperature: float = 0.7
    seed: int = 0
    limit: int = MOST
    meanings: Meanings | None = None


@dataclass(slots=True)
class Answer:
    """A workflow's answer and what it took.

    `steps` lists what every question brought; `dropped` says which objects the tools struck out
    and why. `understood`: whether an empty answer by the rules is one of known words.
    """

    plan: Plan
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    by_rule: int = 0
    steps: list[dict[str, Any]] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)
    understood: bool = True


@dataclass(slots=True)
class Roles:
    """Who is asked: one model for all, or several (multi-agent reflection, ensembles).

    `members` are an ensemble's planners; where there are fewer than asked for they take turns.
    """

    planner: Decider
    reviewer: Decider | None = None
    editor: Decider | None = None
    chooser: Decider | None = None
    members: Sequence[Decider] = ()


async def plan_objects(
    scene: SceneGraph,
    words: str,
    roles: Roles,
    method: Method = "grounded",
    options: Options = Options(),
    read: Request | None = None,
) -> Answer:
    """Answer a request by one of the workflows.

    Args:
        scene: The map.
        words: The request; treated as data.
        roles: Who is asked.
        method: The workflow.
        options: Rounds, members, mode.
        read: The request as it was read; None: the grammar reads it, where the tools need it.
    """
    run = _Run(scene, words, roles, options, read)
    if not roles.planner.rule_only:
        labels = (thing.label.top for thing in scene.objects.values())
        run.compare(await likeness_by_label(options.meanings, words, labels, scene))
    answer = await _WORKFLOWS[method](run)
    if options.meanings is not None and not answer.plan.relevant_objects:
        perhaps = await asyncio.to_thread(by_meaning, run.state(), options.meanings)
        if perhaps is not None:
            reply = {"by": "rule", "reason": "", "reply": perhaps.model_dump()}
            answer.steps.append({"step": "by meaning", **reply})
            return run.done(perhaps)
    return answer


class _Run:
    """One request on its way through a workflow: asks, counts, notes."""

    def __init__(
        self,
        scene: SceneGraph,
        words: str,
        roles: Roles,
        options: Options,
        read: Request | None,
    ) -> None:
        self.scene, self.roles, self.options = scene, roles, options
        self.answer = Answer(Plan(achievable=False))
        self._state = PlanState(scene, words, read, options.mode, tokens=options.map_tokens)
        if roles.planner.rule_only:
            _ = self._state.findings  # once for all questions of the request

    def compare(self, likeness: Mapping[str, float]) -> None:
        """Say how near the map's labels are to the request, before anything is asked."""
        self._state = self._state.variant(likeness=likeness)

    def state(self, **changes: Any) -> PlanState:
        return self._state.variant(**changes) if changes else self._state

    def note(self, step: str, decided: Decided[Any]) -> Any:
        self.answer.calls += decided.attempts
        self.answer.usage = self.answer.usage + decided.usage
        self.answer.by_rule += decided.decided_by == "rule"
        self.answer.steps.append(
            {
                "step": step,
                "by": decided.decided_by,
                "reason": decided.reason,
                "reply": decided.reply.model_dump(),
            }
        )
        return decided.reply

    async def plan(self, decider: Decider, state: PlanState, step: str = "plan") -> Plan:
        """Ask for a plan."""
        plan: Plan = self.note(step, await decider.decide(PlanObjects(), state))
        return plan

    def done(self, plan: Plan) -> Answer:
        """Return the answer, cut to the limit; its explanation tells of no object left out."""
        ids = plan.relevant_objects[: self.options.limit]
        told, cut = plan.reason, len(ids) < len(plan.relevant_objects)
        by_tools_maybe = cut or bool(self.answer.dropped or self.answer.by_rule)
        if by_tools_maybe and told == by_tools(self._state).reason:
            told = explained(self._state.findings, ids)
        elif cut:
            told = f"{told[:700]} (the first {len(ids)} of {len(plan.relevant_objects)})"
        if self.answer.by_rule and not ids:
            self.answer.understood = self._state.findings.understood
        self.answer.plan = plan.model_copy(update={"relevant_objects": ids, "reason": told})
        return self.answer


async def _baseline(run: _Run) -> Answer:
    return run.done(await run.plan(run.roles.planner, run.state()))


async def _self_reflection(run: _Run) -> Answer:
    planner = run.roles.planner
    return await _reflection(run, run.state(), planner, planner)


async def _multi_agent(run: _Run) -> Answer:
    roles = run.roles
    return await _reflection(
        run, run.state(style="role"), roles.reviewer or roles.planner, roles.editor or roles.planner
    )


async def _reflection(
    run: _Run, state: PlanState, reviewer: Decider, editor: Decider, stop: Stop | None = None
) -> Answer:
    stop = stop or run.options.stop
    plan = await run.plan(run.roles.planner, state)
    history: list[Round] = []
    for k in range(run.options.rounds):
        before = tuple(history) if run.options.memory else ()
        review = ReviewState(state, plan, history=before)
        feedback = run.note(f"reflect {k + 1}", await reviewer.decide(Reflect(), review))
        if stop == "model" and feedback.acceptable:
            break
        review = dataclasses.replace(review, feedback=feedback)
        refined: Plan = run.note(f"refine {k + 1}", await editor.decide(Refine(), review))
        history.append(Round(plan, feedback))
        same = refined.relevant_objects == plan.relevant_objects
        plan = refined
        if stop == "unchanged" and same:
            break
    return run.done(plan)


async def _ensemble(run: _Run) -> Answer:
    """Members differ by sampling and by the order in which they see the map.

    The rules have neither: all their members give one answer.
    """
    members = run.roles.members or (run.roles.planner,)
    options = run.options
    asked = []
    for k in range(options.members):
        seed = options.seed + k
        member = members[k % len(members)].sampled(options.temperature, seed)
        state = run.state(seed=seed) if k else run.state()
        asked.append(member.decide(PlanObjects(), state))
    plans = [
        run.note(f"plan {k + 1}", decided) for k, decided in enumerate(await asyncio.gather(*asked))
    ]
    chooser = run.roles.chooser or run.roles.planner
    choices = ChoiceState(run.state(), tuple(plans))
    choice = run.note("choose", await chooser.decide(ChoosePlan(), choices))
    return run.done(plans[choice.number - 1])


async def _grounded(run: _Run) -> Answer:
    """Ask once, strike out what the tools deny, and reflect only where they disagree.

    A refinement may only add what the tools confirm; an empty answer stays empty unless they do:
    most losses of the paper's reflection come from answers that were right to be empty. In mode
    `model` nothing overrules the model: it looks things up in the map, and then reflects until it
    finds its answer acceptable.
    """
    planner, state = run.roles.planner, run.state()
    if planner.mode_of(PlanObjects.name) == "model":
        return await _reflection(run, run.state(lookups=True), planner, planner, stop="model")
    plan = _kept(run, await run.plan(planner, state))
    found = state.findings.ids
    for k in range(run.options.rounds):
        if not state.findings.understood or _agree(plan, found):
            break
        feedback = Reflect().rule(ReviewState(state, plan))  # what the tools say, not an opinion
        review = ReviewState(state, plan, feedback)
        refined: Plan = run.note(f"refine {k + 1}", await planner.decide(Refine(), review))
        before, plan = plan, _kept(run, _only(refined, {*plan.relevant_objects, *found}))
        if plan.relevant_objects == before.relevant_objects:
            break
    request = state.request
    by_name = isinstance(request, Request) and not any(t.use for t in request.steps[0].things)
    if state.findings.understood and by_name and not _agree(plan, found):
        # Where the request names things by label, labels and geometry decide.
        plan = by_tools(state).model_copy(update={"inferred_query": plan.inferred_query})
    return run.done(plan)


def _agree(plan: Plan, found: Sequence[str]) -> bool:
    """Tell whether the first object is one that the tools find, or there is none for both."""
    ids = plan.relevant_objects
    return ids[0] in found if ids else not found


def _only(plan: Plan, ids: Collection[str]) -> Plan:
    kept = [id_ for id_ in plan.relevant_objects if id_ in ids]
    return plan.model_copy(update={"relevant_objects": kept, "achievable": bool(kept)})


def _kept(run: _Run, plan: Plan) -> Plan:
    """Return a plan without what the tools deny, and note why."""
    request, scene = run.state().request, run.scene
    denied = {id_: "no such object in the map" for id_ in plan.relevant_objects
              if id_ not in scene.objects}  # fmt: skip
    if isinstance(request, Request):
        for id_ in plan.relevant_objects:
            if id_ in scene.objects and (why := run.state().grounder.denies(id_, request)):
                denied[id_] = why
    run.answer.dropped.update(denied)
    return _only(plan, {*plan.relevant_objects} - denied.keys())


_WORKFLOWS: Mapping[Method, Callable[[_Run], Awaitable[Answer]]] = {
    "baseline": _baseline,
    "self_reflection": _self_reflection,
    "multi_agent": _multi_agent,
    "ensemble": _ensemble,
    "grounded": _grounded,
}
