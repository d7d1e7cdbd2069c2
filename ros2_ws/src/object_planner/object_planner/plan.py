"""Decisions about a request and a map: plan, reflect, refine, choose (object planning, section 3).

Every prompt holds the map as JSON and the request, fenced as data. The rules answer the same
questions with the tables and the geometry of this package.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field

from coterie_core.language import CheckFailed, Decision, Message, as_data
from coterie_core.scene import SceneGraph
from object_planner.examples import FEEDBACK_EXAMPLES, PLAN_EXAMPLES, REFINE_EXAMPLES
from object_planner.ground import Findings, Grounder, Mode
from object_planner.map_text import CHARACTERS_PER_TOKEN, MAP_TOKENS, map_json
from object_planner.request import parse

MOST = 50
_EXPLAINED = 5  # objects whose reasons are told
"""Most objects in an answer."""
_LEAST_LINE = 60
"""Characters that an object takes at least in a prompt's map."""


class Plan(BaseModel):
    """An answer to a request: the objects that fit, best first; none is an answer too."""

    inferred_query: str = Field("", max_length=300, description="what the person wants, in short")
    achievable: bool = Field(description="whether objects of the map can serve the request")
    relevant_objects: list[str] = Field(
        default_factory=list,
        max_length=MOST,
        description="ids of the map, best first; empty where nothing fits",
    )
    explanation: str = Field("", max_length=800, description="why these, and how they serve")


class ReasonedPlan(BaseModel):
    """A plan whose explanation is written before the ids: the model reasons first."""

    inferred_query: str = Field("", max_length=300, description="what the person wants, in short")
    explanation: str = Field(
        "", max_length=800, description="which objects serve, which do not, and why"
    )
    achievable: bool = Field(description="whether objects of the map can serve the request")
    relevant_objects: list[str] = Field(
        default_factory=list,
        max_length=MOST,
        description="ids of the map, best first; empty where nothing fits",
    )

    def plan(self) -> Plan:
        """The plan itself."""
        return Plan(**self.model_dump())


class Feedback(BaseModel):
    """What is wrong with an answer, by the three criteria, and what to change."""

    correctness: str = Field("", max_length=500, description="request understood, ids right?")
    relevance: str = Field("", max_length=500, description="order right, none missing, none over?")
    clarity: str = Field("", max_length=500, description="explanation plain?")
    suggestions: list[str] = Field(
        default_factory=list, max_length=10, description="changes to make; empty: leave it as it is"
    )
    acceptable: bool = Field(False, description="the answer needs no further change")


class Choice(BaseModel):
    """Which of several answers is the best."""

    number: int = Field(ge=1, description="number of the answer, from 1")
    reason: str = Field("", max_length=400)


Style = Literal["task", "role"]
"""How a prompt speaks: a task for one model, or a role among several agents."""


@dataclass(frozen=True)
class PlanState:
    """A request and the map it is about.

    Attributes:
        seed: Of the order in which the map's objects are listed, which sways models: members of
            an ensemble get one each. None: the map's own order.
        tokens: The most that the map takes of a prompt.
    """

    scene: SceneGraph
    words: str
    mode: Mode = "uncertainty"
    style: Style = "task"
    seed: int | None = None
    tokens: int = MAP_TOKENS

    def variant(self, **changes: Any) -> PlanState:
        """The same question put otherwise (style, seed); what was computed is kept."""
        other = dataclasses.replace(self, **changes)
        kept = ("findings", "grounder", *(() if "seed" in changes else ("text",)))
        other.__dict__.update({k: self.__dict__[k] for k in kept if k in self.__dict__})
        return other

    @cached_property
    def text(self) -> str:
        """The map for the prompt; of a large one what matters for the request."""
        small = len(self.scene.objects) * _LEAST_LINE < self.tokens * CHARACTERS_PER_TOKEN
        relevant = () if small else self.grounder.relevant(parse(self.words))
        return map_json(self.scene, self.mode, self.tokens, relevant, self.seed)

    @cached_property
    def grounder(self) -> Grounder:
        """The tools over the map."""
        return Grounder(self.scene, self.mode)

    @cached_property
    def findings(self) -> Findings:
        """What the tools find."""
        return self.grounder.find(parse(self.words))


@dataclass(frozen=True)
class Round:
    """One earlier round of reflection: an answer, what was said to it, what became of it."""

    plan: Plan
    feedback: Feedback | None = None


@dataclass(frozen=True)
class ReviewState:
    """An answer under review, with the rounds before it (short-term memory, Eq. 5 and 6)."""

    question: PlanState
    plan: Plan
    feedback: Feedback | None = None
    history: tuple[Round, ...] = ()


@dataclass(frozen=True)
class ChoiceState:
    """Answers to choose from; who wrote which is not told."""

    question: PlanState
    plans: tuple[Plan, ...]


_FORMAT = (
    "The map is JSON: id -> center and size of the box [m, z up], how often the object was seen, "
    "and what it is taken for (one label, or several with probabilities: a detector's opinion, "
    "which errs)."
)


def check_ids(scene: SceneGraph, plan: Plan) -> None:
    """Check that every id is one of the map, none comes twice, and the flag fits.

    Raises:
        CheckFailed: Names the id and what to do.
    """
    seen: set[str] = set()
    for id_ in plan.relevant_objects:
        if id_ not in scene.objects:
            raise CheckFailed(f"there is no object {id_[:60]!r} in the map; use its ids as given")
        if id_ in seen:
            raise CheckFailed(f"object {id_!r} is listed twice; list each once, best first")
        seen.add(id_)
    if plan.relevant_objects and not plan.achievable:
        raise CheckFailed("achievable is false, yet objects are listed; make them agree")


def by_tools(state: PlanState) -> Plan:
    """Answer with the tables and the geometry alone."""
    findings = state.findings
    ids = findings.ids[:MOST]
    return Plan(
        inferred_query=state.words[:300],
        achievable=bool(findings.found),
        relevant_objects=ids,
        explanation=explained(findings, ids),
    )


def explained(findings: Findings, ids: Sequence[str]) -> str:
    """Return why the tools found these objects: the first few of them, and no others."""
    reasons = {one.id: ", ".join(one.reasons) for one in findings.found}
    told = [f"{id_}: {reasons[id_]}" for id_ in ids if id_ in reasons][:_EXPLAINED]
    return "; ".join(filter(None, (*told, findings.told)))[:800]


class PlanObjects(Decision[PlanState, Plan]):
    """Which objects does a request call for? (Eq. 2, 7, 10)."""

    name: ClassVar[str] = "objects.plan"
    reply_type: ClassVar[type[BaseModel]] = Plan

    def prompt(self, state: PlanState) -> Sequence[Message]:
        """Show map, request and examples."""
        return self._prompt(state, PLAN_EXAMPLES)

    def _prompt(
        self, state: PlanState, examples: Sequence[tuple[str, str, str]]
    ) -> Sequence[Message]:
        opening = (
            "Answer a person's request with the objects of a home's semantic map that serve it."
            if state.style == "task"
            else "You are the planner of a robot team: you answer people's requests with objects "
            "of the home's semantic map."
        )
        return (
            Message.system(
                f"{opening} List ids, the one that serves best first, and leave out what does not "
                f"serve; an empty list is the right answer where nothing does. {_FORMAT} Think of "
                "what things are for, where they are, and what the request rules out."
            ),
            *(
                message
                for map_, words, reply in examples
                for message in (
                    Message.user(f"Example map: {map_}\nExample request: {words}"),
                    Message.assistant(reply),
                )
            ),
            Message.user(
                f"{as_data('semantic map', state.text, limit=len(state.text) + 100)}\n"
                f"{as_data('request', state.words, limit=600)}\nWhich objects serve it?"
            ),
        )

    def check(self, state: PlanState, reply: Plan) -> None:
        """Every id is one of the map."""
        check_ids(state.scene, reply)

    def rule(self, state: PlanState) -> Plan:
        """The tables and the geometry."""
        return by_tools(state)


class ReasonThenPlan(Decision[PlanState, ReasonedPlan]):
    """The same question, answered with the explanation before the ids."""

    name: ClassVar[str] = "objects.plan"
    reply_type: ClassVar[type[BaseModel]] = ReasonedPlan

    def prompt(self, state: PlanState) -> Sequence[Message]:
        """Show map, request and examples whose explanation comes first."""
        return PlanObjects()._prompt(
            state, [(map_, words, reasoned(reply)) for map_, words, reply in PLAN_EXAMPLES]
        )

    def check(self, state: PlanState, reply: ReasonedPlan) -> None:
        """Every id is one of the map."""
        check_ids(state.scene, reply.plan())

    def rule(self, state: PlanState) -> ReasonedPlan:
        """The tables and the geometry."""
        return ReasonedPlan(**by_tools(state).model_dump())


def reasoned(reply: str) -> str:
    """A plan's JSON with its explanation before the ids."""
    entry = json.loads(reply)
    return json.dumps({name: entry[name] for name in ReasonedPlan.model_fields})


class Reflect(Decision[ReviewState, Feedback]):
    """What is wrong with an answer? (Eq. 3, 5, 8)."""

    name: ClassVar[str] = "objects.reflect"
    reply_type: ClassVar[type[BaseModel]] = Feedback

    def prompt(self, state: ReviewState) -> Sequence[Message]:
        """Show the answer, what was asked, and what was said before."""
        opening = (
            "Review an answer to a request."
            if state.question.style == "task"
            else "You are the reviewer of a robot team: you judge the planner's answers."
        )
        return (
            Message.system(
                f"{opening} Somebody was asked which objects of a semantic map serve a person's "
                "request, best first. Judge the answer: is the request understood and every id "
                "right (correctness), is the order right with nothing missing and nothing over "
                "(relevance), is the explanation plain (clarity)? Then list concrete changes. "
                "Suggest none where the answer is right: above all, an empty list is right where "
                f"nothing in the map serves. {_FORMAT}"
            ),
            *_examples(FEEDBACK_EXAMPLES),
            Message.user(f"{_asked(state.question)}\n{_history(state)}\n{_answer(state.plan)}"),
        )

    def rule(self, state: ReviewState) -> Feedback:
        """Say what the tools confirm or deny of it."""
        question, listed = state.question, state.plan.relevant_objects
        wanted = question.findings.ids
        over = [id_ for id_ in listed if id_ not in wanted]
        missing = [id_ for id_ in wanted if id_ not in listed]
        suggestions = [f"leave out {id_}: it does not fit the request" for id_ in over[:5]]
        suggestions += [f"add {id_}: it fits the request" for id_ in missing[:4]]
        if not suggestions and listed and listed[0] != wanted[0]:
            suggestions = [f"put {wanted[0]} first: it fits best"]
        return Feedback(
            correctness="the ids are those of the map",
            relevance="; ".join(suggestions)[:500] or "nothing is missing, nothing is over",
            clarity="plain",
            suggestions=suggestions[:10],
            acceptable=not suggestions,
        )


class Refine(Decision[ReviewState, Plan]):
    """The answer again, with the suggested changes (Eq. 4, 6, 9)."""

    name: ClassVar[str] = "objects.refine"
    reply_type: ClassVar[type[BaseModel]] = Plan

    def prompt(self, state: ReviewState) -> Sequence[Message]:
        """Show the answer and what was said to it."""
        opening = (
            "Improve an answer by what a review says of it."
            if state.question.style == "task"
            else "You are the editor of a robot team: you improve the planner's answers by what "
            "the reviewer says."
        )
        feedback = state.feedback.model_dump() if state.feedback else {}
        return (
            Message.system(
                f"{opening} The answer lists the objects of a semantic map that serve a person's "
                "request, best first, or none where nothing serves. Make the suggested changes "
                f"that are right and leave the rest as it is. {_FORMAT}"
            ),
            *_examples(REFINE_EXAMPLES),
            Message.user(
                f"{_asked(state.question)}\n{_history(state)}\n{_answer(state.plan)}\n"
                f"{as_data('review', feedback, limit=4000)}\nGive the improved answer."
            ),
        )

    def check(self, state: ReviewState, reply: Plan) -> None:
        """Every id is one of the map."""
        check_ids(state.question.scene, reply)

    def rule(self, state: ReviewState) -> Plan:
        """What the tools find; an answer that was acceptable stays."""
        if state.feedback is not None and not state.feedback.suggestions:
            return state.plan
        return by_tools(state.question)


class ChoosePlan(Decision[ChoiceState, Choice]):
    """Which of several answers is the best? (Eq. 11)."""

    name: ClassVar[str] = "objects.choose"
    reply_type: ClassVar[type[BaseModel]] = Choice
    max_tokens: ClassVar[int] = 300

    def prompt(self, state: ChoiceState) -> Sequence[Message]:
        """Show the answers by number only."""
        answers = "\n".join(
            as_data(f"answer {k}", plan.model_dump(), limit=3000)
            for k, plan in enumerate(state.plans, start=1)
        )
        return (
            Message.system(
                "Several answers to one request are given. Choose the one whose objects serve the "
                "request best and whose order is best; an empty list is best where nothing serves. "
                f"{_FORMAT}"
            ),
            Message.user(f"{_asked(state.question)}\n{answers}\nWhich number is the best?"),
        )

    def check(self, state: ChoiceState, reply: Choice) -> None:
        """The number is that of an answer."""
        if reply.number > len(state.plans):
            raise CheckFailed(f"there are answers 1 to {len(state.plans)}, not {reply.number}")

    def rule(self, state: ChoiceState) -> Choice:
        """The answer that agrees best with what the tools find; ties go to the most frequent."""
        wanted = state.question.findings.ids
        lists = [tuple(plan.relevant_objects) for plan in state.plans]

        def worth(k: int) -> tuple[float, int]:
            ids = lists[k]
            if not ids or not wanted:
                return float(not ids and not wanted), lists.count(ids)
            shared = len(set(ids) & set(wanted)) / len(set(ids) | set(wanted))
            return shared + (ids[0] == wanted[0]), lists.count(ids)

        best = max(range(len(lists)), key=lambda k: (worth(k), -k))
        return Choice(number=best + 1, reason="agrees best with geometry and uses")


def _examples(examples: Sequence[tuple[str, str]]) -> list[Message]:
    return [
        message
        for question, reply in examples
        for message in (Message.user(f"Example. {question}"), Message.assistant(reply))
    ]


def _asked(state: PlanState) -> str:
    return (
        f"{as_data('semantic map', state.text, limit=len(state.text) + 100)}\n"
        f"{as_data('request', state.words, limit=600)}"
    )


def _answer(plan: Plan) -> str:
    return as_data("answer", plan.model_dump(), limit=4000)


def _history(state: ReviewState) -> str:
    """The rounds before: answers with their explanations, and what was said to them."""
    rounds = [
        {
            "answer": one.plan.relevant_objects,
            "explanation": one.plan.explanation,
            "correctness": one.feedback.correctness if one.feedback else "",
            "relevance": one.feedback.relevance if one.feedback else "",
            "said": one.feedback.suggestions if one.feedback else [],
        }
        for one in state.history
    ]
    return as_data("earlier rounds", rounds, limit=6000) if rounds else ""
