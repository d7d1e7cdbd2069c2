"""Decisions about a request and a map: plan, reflect, refine, choose (object planning, section 3).

Every prompt holds the map as JSON and the request, fenced as data. The rules answer the same
questions with the tables and the geometry of this package.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field, field_validator

from coterie_llm import (
    CheckFailed,
    Decision,
    Message,
    Tool,
    as_data,
    prompt_share,
)
from coterie_requests.grammar import read
from coterie_requests.request import Request
from coterie_requests.understanding import NotUnderstood
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.scene.lookups import map_tools
from object_planner.examples import PLAN_EXAMPLES, Example
from object_planner.ground import Findings, Grounder
from object_planner.map_text import CHARACTERS_PER_TOKEN, MAP_TOKENS, ShownMap, map_entry, shown_map
from object_planner.settings import Mode

MOST = 50
"""Most objects in an answer."""
_EXPLAINED = 5
"""Objects whose reasons are told."""
_LEAST_LINE = 60
"""Characters that an object takes at least in a prompt's map."""
_LOOKED_UP = 0.5
"""Share of a prompt's usual length from which there is room for look-ups."""
_ALL_EXAMPLES = 0.25
"""Share from which there is room for all examples."""
_LEAN = 0.05
"""Share below which a map tells only what and where things are, and one example is enough."""


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


Style = Literal["task", "role"]
"""How a prompt speaks: a task for one model, or a role among several agents."""


@dataclass(frozen=True)
class PlanState:
    """A request and the map it is about.

    Attributes:
        read: The request as it was read; None: the grammar reads the words.
        seed: Of the order in which the map's objects are listed, which sways models: members of
            an ensemble get one each. None: the map's own order.
        tokens: The most that the map takes of a prompt.
        lookups: Whether a model may look things up in the map.
        likeness: Top label of the map -> cosine of its meaning with the request's, which says what
            of a large map is shown; empty: not compared.
    """

    scene: SceneGraph
    words: str
    read: Request | None = None
    mode: Mode = "uncertainty"
    style: Style = "task"
    seed: int | None = None
    tokens: int = MAP_TOKENS
    lookups: bool = False
    likeness: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def variant(self, **changes: Any) -> PlanState:
        """The same question put otherwise (style, seed); what was computed is kept."""
        other = dataclasses.replace(self, **changes)
        kept = ("findings", "grounder", "request", *(() if "seed" in changes else ("_texts",)))
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
            known = () if small or isinstance(self.request, NotUnderstood) else (self.request,)
            relevant = [id_ for request in known for id_ in self.grounder.relevant(request)]
            self._texts[tokens] = shown_map(
                self.scene, self.mode, tokens, relevant, self.seed, self.likeness, lean=is_lean()
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
        if isinstance(self.request, NotUnderstood):
            return Findings(note=str(self.request), understood=False)
        return self.grounder.find(self.request)

    @cached_property
    def request(self) -> Request | NotUnderstood:
        """The request in its typed form, or why it has none."""
        try:
            return self.read or read(self.words, self.grounder.names, "find")
        except NotUnderstood as error:
            return error


def is_lean() -> bool:
    """Tell whether the prompt that is being made has room for the barest map only."""
    return prompt_share() < _LEAN


def form() -> str:
    """Return what the entries of the map that a prompt shows mean."""
    size = "center" if is_lean() else "center and size"
    seen = "" if is_lean() else "how often the object was seen, "
    return (
        f"The map is JSON: id -> {size} of the box [m, z up], {seen}and what it is taken for (one "
        "label, or several with probabilities: a detector's opinion, which errs)."
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
    told: dict[str, list[str]] = {}
    for id_ in [id_ for id_ in ids if id_ in reasons][:_EXPLAINED]:
        told.setdefault(reasons[id_], []).append(id_)
    each = (f"{', '.join(things)}: {reason}" for reason, things in told.items())
    return "; ".join(filter(None, (*each, findings.told)))[:800]


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
                f"serve; an empty list is the right answer where nothing does. {form()} Think of "
                "what things are for, where they are, and what the request rules out. The request "
                "may be in any language."
            ),
            *examples(PLAN_EXAMPLES),
            Message.user(f"{asked(state)}\nWhich objects serve it?"),
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


def examples(given: Sequence[Example]) -> list[Message]:
    """Return the examples that there is room for as messages: all, the first and last, or one."""
    if prompt_share() < _ALL_EXAMPLES:
        given = given[:1] if is_lean() else (given[0], given[-1])
    return [
        message
        for one in given
        for message in (Message.user(one.question(lean=is_lean())), Message.assistant(one.reply))
    ]


def asked(state: PlanState) -> str:
    """Return map and request for a prompt."""
    # The map is made to the length that it may have: it is not to be cut a second time.
    whole = round((len(state.text) + 100) / prompt_share())
    return (
        f"{as_data('semantic map', state.text, limit=whole)}\n"
        f"{as_data('request', state.words, limit=600)}"
    )
