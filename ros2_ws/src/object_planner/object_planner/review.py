"""Decisions about answers to a request: reflect, refine, choose (object planning, section 3)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field

from coterie_llm import (
    CheckFailed,
    Decision,
    Message,
    as_data,
    neutral_order,
    prompt_share,
)
from object_planner.examples import FEEDBACK_EXAMPLES, REFINE_EXAMPLES
from object_planner.plan import Plan, PlanState, asked, by_tools, check_ids, examples, form


class RefinedPlan(Plan):
    """An answer after a review."""


class Feedback(BaseModel):
    """What is wrong with an answer, by the three criteria, and what to change."""

    reason: str = Field("", max_length=500, description="first: what would you have answered?")
    correctness: str = Field("", max_length=500, description="request understood, ids right?")
    relevance: str = Field("", max_length=500, description="order right, none missing, none over?")
    clarity: str = Field("", max_length=500, description="is the answer's own reason plain?")
    suggestions: list[Annotated[str, Field(max_length=200)]] = Field(
        default_factory=list, max_length=10, description="changes to make; empty: leave it as it is"
    )
    acceptable: bool = Field(False, description="the answer needs no further change")


class Choice(BaseModel):
    """Which of several answers is the best."""

    reason: str = Field("", max_length=400, description="first think: which objects serve?")
    number: int = Field(ge=1, description="then the number of the best answer")


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
                "(relevance), is its reason plain (clarity)? Then list concrete changes. "
                "Suggest none where the answer is right: above all, an empty list is right where "
                f"nothing in the map serves. {form()}"
            ),
            *examples(FEEDBACK_EXAMPLES),
            Message.user(
                f"{asked(state.question)}\n{_history(state)}\n{_shown('answer', state.plan)}"
            ),
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
            suggestions=[one[:200] for one in suggestions[:10]],
            acceptable=not suggestions,
        )


class Refine(Decision[ReviewState, RefinedPlan]):
    """The answer again, with the suggested changes (Eq. 4, 6, 9)."""

    name: ClassVar[str] = "objects.refine"
    reply_type: ClassVar[type[BaseModel]] = RefinedPlan

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
                f"that are right and leave the rest as it is. {form()}"
            ),
            *examples(REFINE_EXAMPLES),
            Message.user(
                f"{asked(state.question)}\n{_history(state)}\n{_shown('answer', state.plan)}\n"
                f"{as_data('review', feedback, limit=4000)}\nGive the improved answer."
            ),
        )

    def options(self, state: ReviewState) -> Mapping[str, Sequence[str]]:
        """The ids of the map, as far as the model knows them."""
        plans = (state.plan, *(one.plan for one in state.history))
        named = [id_ for plan in plans for id_ in plan.relevant_objects]
        return {"relevant_objects[]": state.question.ids(*named)}

    def check(self, state: ReviewState, reply: RefinedPlan) -> None:
        """Every id is one of the map."""
        check_ids(state.question.scene, reply)

    def rule(self, state: ReviewState) -> RefinedPlan:
        """What the tools find; an answer that was acceptable stays."""
        if state.feedback is not None and not state.feedback.suggestions:
            return RefinedPlan(**state.plan.model_dump())
        return RefinedPlan(**by_tools(state.question).model_dump())


_ANSWER_CHARS, _LEAST_ANSWER, _SHORT_REASON = 3000, 100, 60
_LEAST_SHOWN = 8
"""Objects of an answer that are shown however short the prompt is."""


def _shown(label: str, plan: Plan) -> str:
    """Return an answer for a prompt: with little room it loses most words before objects."""
    room = max(_LEAST_ANSWER, round(_ANSWER_CHARS * prompt_share()))
    told: dict[str, Any] = plan.model_dump()
    ids = plan.relevant_objects
    if len(json.dumps(told, ensure_ascii=False)) > room:
        kept = len(ids)
        while kept > _LEAST_SHOWN and len(json.dumps(ids[:kept])) > room:
            kept -= 1
        reason = plan.reason[:_SHORT_REASON]
        told = {"reason": reason, "relevant_objects": [id_[:80] for id_ in ids[:kept]]}
        if kept < len(ids):
            told["objects left out"] = len(ids) - kept
    # What is made to its length is not to be cut a second time.
    return as_data(label, told, limit=round(2 * _ANSWER_CHARS / prompt_share()))


class ChoosePlan(Decision[ChoiceState, Choice]):
    """Which of several answers is the best? (Eq. 11)."""

    name: ClassVar[str] = "objects.choose"
    reply_type: ClassVar[type[BaseModel]] = Choice
    max_tokens: ClassVar[int] = 300

    def prompt(self, state: ChoiceState) -> Sequence[Message]:
        """Show the answers by number only."""
        order = neutral_order(
            range(len(state.plans)), lambda k: f"{state.plans[k].model_dump_json()} {k}"
        )
        answers = "\n".join(_shown(f"answer {k + 1}", state.plans[k]) for k in order)
        return (
            Message.system(
                "Several answers to one request are given. Choose the one whose objects serve the "
                "request best and whose order is best; an empty list is best where nothing serves. "
                f"{form()}"
            ),
            Message.user(f"{asked(state.question)}\n{answers}\nWhich number is the best?"),
        )

    def options(self, state: ChoiceState) -> Mapping[str, Sequence[int]]:
        """The numbers of the answers."""
        return {"number": list(range(1, len(state.plans) + 1))}

    def only_reply(self, state: ChoiceState) -> Choice | None:
        """The first, where all list the same objects in the same order."""
        same = len({tuple(plan.relevant_objects) for plan in state.plans}) == 1
        return Choice(reason="all are one", number=1) if same else None

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
        return Choice(reason="agrees best with geometry and uses", number=best + 1)


def _history(state: ReviewState) -> str:
    """The rounds before: answers with their explanations, and what was said to them."""
    rounds = [
        {
            "answer": one.plan.relevant_objects,
            "reason": one.plan.reason,
            "correctness": one.feedback.correctness if one.feedback else "",
            "relevance": one.feedback.relevance if one.feedback else "",
            "said": one.feedback.suggestions if one.feedback else [],
        }
        for one in state.history
    ]
    return as_data("earlier rounds", rounds, limit=6000) if rounds else ""
