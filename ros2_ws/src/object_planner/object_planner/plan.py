"""Decisions about a request and a map: plan, reflect, refine, choose (object planning, section 3).

Every prompt holds the map as JSON and the request, fenced as data. The rules answer the same
questions with the tables and the geometry of this package.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, Field, field_validator

from coterie_core.language import (
    CheckFailed,
    Decision,
    Message,
    Tool,
    as_data,
    neutral_order,
    prompt_share,
)
from coterie_core.scene import SceneGraph, SceneObject
from coterie_core.scene.lookups import map_tools
from object_planner.examples import FEEDBACK_EXAMPLES, PLAN_EXAMPLES, REFINE_EXAMPLES
from object_planner.ground import Findings, Grounder, Mode
from object_planner.map_text import CHARACTERS_PER_TOKEN, MAP_TOKENS, ShownMap, map_entry, shown_map
from object_planner.request import parse

ExampleT = TypeVar("ExampleT")
MOST = 50
_EXPLAINED = 5  # objects whose reasons are told
"""Most objects in an answer."""
_LEAST_LINE = 60
"""Characters that an object takes at least in a prompt's map."""
_LOOKED_UP = 0.5
"""Share of a prompt's usual length from which there is room for look-ups."""
_ALL_EXAMPLES = 0.25
"""Share from which there is room for all examples."""


class Plan(BaseModel):
    """An answer to a request: the objects that fit, best first; none is an answer too."""

    reason: str = Field(
        "", max_length=800, description="first think: which objects serve, which do not, and why"
    )
    inferred_query: str = Field("", max_length=300, description="what the person wants, in short")
    achievable: bool = Field(description="whether objects of the map can serve the request")
    relevant_objects: list[str] = Field(
        default_factory=list,
        max_length=MOST,
        description="ids of the map, best first; empty where nothing fits",
    )

    @field_validator("relevant_objects")
    @classmethod
    def _once(cls, ids: list[str]) -> list[str]:
        """Weak models list the same id on and on: it counts where it comes first."""
        return list(dict.fromkeys(ids))


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


Style = Literal["task", "role"]
"""How a prompt speaks: a task for one model, or a role among several agents."""


@dataclass(frozen=True)
class PlanState:
    """A request and the map it is about.

    Attributes:
        seed: Of the order in which the map's objects are listed, which sways models: members of
            an ensemble get one each. None: the map's own order.
        tokens: The most that the map takes of a prompt.
        lookups: Whether a model may look things up in the map.
        likeness: Top label of the map -> cosine of its meaning with the request's, which says what
            of a large map is shown; empty: not compared.
    """

    scene: SceneGraph
    words: str
    mode: Mode = "uncertainty"
    style: Style = "task"
    seed: int | None = None
    tokens: int = MAP_TOKENS
    lookups: bool = False
    likeness: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def variant(self, **changes: Any) -> PlanState:
        """The same question put otherwise (style, seed); what was computed is kept."""
        other = dataclasses.replace(self, **changes)
        kept = ("findings", "grounder", *(() if "seed" in changes else ("_texts",)))
        other.__dict__.update({k: self.__dict__[k] for k in kept if k in self.__dict__})
        return other

    @property
    def text(self) -> str:
        """The map for the prompt; of a large one what matters for the request."""
        return self._shown.text

    @property
    def _shown(self) -> ShownMap:
        tokens = max(50, round(self.tokens * prompt_share()))
        if tokens not in self._texts:
            small = len(self.scene.objects) * _LEAST_LINE < tokens * CHARACTERS_PER_TOKEN
            relevant = () if small else self.grounder.relevant(parse(self.words))
            self._texts[tokens] = shown_map(
                self.scene, self.mode, tokens, relevant, self.seed, self.likeness
            )
        return self._texts[tokens]

    @cached_property
    def _texts(self) -> dict[int, ShownMap]:
        return {}

    def ids(self, *named: str) -> list[str]:
        """Ids that an answer may name: where a model can look up all, else those that are shown.

        Args:
            named: Ids that stand elsewhere in the prompt.
        """
        if self.lookups and prompt_share() >= _LOOKED_UP:
            return sorted(self.scene.objects)
        return sorted({*self._shown.ids, *(id_ for id_ in named if id_ in self.scene.objects)})

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
    """Check that every id is one of the map, and that the flag fits.

    Raises:
        CheckFailed: Names the id and what to do.
    """
    for id_ in plan.relevant_objects:
        if id_ not in scene.objects:
            raise CheckFailed(f"there is no object {id_[:60]!r} in the map; use its ids as given")
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
        reason=explained(findings, ids),
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
                "what things are for, where they are, and what the request rules out. The request "
                "may be in any language."
            ),
            *(
                message
                for map_, words, reply in _few(PLAN_EXAMPLES)
                for message in (
                    Message.user(f"Example map: {map_}\nExample request: {words}"),
                    Message.assistant(reply),
                )
            ),
            Message.user(f"{_asked(state)}\nWhich objects serve it?"),
        )

    def options(self, state: PlanState) -> Mapping[str, Sequence[str]]:
        """The ids of the map, as far as the model knows them."""
        return {"relevant_objects[]": state.ids()}

    def tools(self, state: PlanState) -> Sequence[Tool[Any]]:
        """Look-ups in the map, where the workflow allows them."""
        if not state.lookups:
            return ()

        def told(thing: SceneObject) -> dict[str, object]:
            return {"id": thing.id, **map_entry(state.scene, thing, state.mode)}

        return map_tools(state.scene, told)

    def check(self, state: PlanState, reply: Plan) -> None:
        """Every id is one of the map."""
        check_ids(state.scene, reply)

    def rule(self, state: PlanState) -> Plan:
        """The tables and the geometry."""
        return by_tools(state)


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
                f"that are right and leave the rest as it is. {_FORMAT}"
            ),
            *_examples(REFINE_EXAMPLES),
            Message.user(
                f"{_asked(state.question)}\n{_history(state)}\n{_answer(state.plan)}\n"
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


def _shown(plan: Plan) -> dict[str, Any]:
    """Return an answer for a prompt: with little room it loses its words before its objects."""
    return {"objects": plan.relevant_objects, "reason": plan.reason, "wanted": plan.inferred_query}


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
        answers = "\n".join(
            as_data(f"answer {k + 1}", _shown(state.plans[k]), limit=3000) for k in order
        )
        return (
            Message.system(
                "Several answers to one request are given. Choose the one whose objects serve the "
                "request best and whose order is best; an empty list is best where nothing serves. "
                f"{_FORMAT}"
            ),
            Message.user(f"{_asked(state.question)}\n{answers}\nWhich number is the best?"),
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


def _few(examples: Sequence[ExampleT]) -> Sequence[ExampleT]:
    """Return the examples that there is room for: all of them, or the first and the last."""
    return examples if prompt_share() >= _ALL_EXAMPLES else (examples[0], examples[-1])


def _examples(examples: Sequence[tuple[str, str]]) -> list[Message]:
    return [
        message
        for question, reply in _few(examples)
        for message in (Message.user(f"Example. {question}"), Message.assistant(reply))
    ]


def _asked(state: PlanState) -> str:
    # The map is made to the length that it may have: it is not to be cut a second time.
    whole = round((len(state.text) + 100) / prompt_share())
    return (
        f"{as_data('semantic map', state.text, limit=whole)}\n"
        f"{as_data('request', state.words, limit=600)}"
    )


def _answer(plan: Plan) -> str:
    whole = round(4000 / prompt_share())  # half an answer is nothing that could be reviewed
    return as_data("answer", plan.model_dump_json(), limit=whole)


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
