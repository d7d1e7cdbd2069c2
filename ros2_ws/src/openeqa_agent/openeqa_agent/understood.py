"""Open questions as they were read: the steps of a request, and the category of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coterie_requests.request import Request, Step, Thing
from coterie_requests.understanding import Problem

Category = Literal[
    "object_recognition",  # what is there
    "object_localization",  # where it is
    "attribute_recognition",  # its color, shape, material
    "spatial_understanding",  # how things stand to one another, what fits
    "object_state_recognition",  # open or closed, clean, on, full
    "functional_reasoning",  # what serves a purpose
    "world_knowledge",  # what follows from what people know
]
_CATEGORIES: dict[str, Category] = {
    "where": "object_localization",
    "which_room": "object_localization",
    "color": "attribute_recognition",
    "state": "object_state_recognition",
    "size": "spatial_understanding",
    "space": "spatial_understanding",
    "used_for": "functional_reasoning",
}
_PLAIN_ATTRIBUTES = ("material", "shape", "pattern", "size")
MORE: dict[str, str] = {
    **dict.fromkeys(("larger", "bigger", "largest", "biggest"), "larger"),
    **dict.fromkeys(("smaller", "smallest"), "smaller"),
    **dict.fromkeys(("taller", "tallest"), "taller"),
    **dict.fromkeys(("shorter", "shortest"), "shorter"),
    **dict.fromkeys(("higher", "highest"), "higher"),
    **dict.fromkeys(("lower", "lowest"), "lower"),
    **dict.fromkeys(("wider", "longer", "widest", "longest"), "wider"),
    **dict.fromkeys(("nearer", "closer", "nearest", "closest"), "nearer"),
    **dict.fromkeys(("farther", "further", "farthest", "furthest"), "farther"),
}
"""Words that compare, and one name for each."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question as far as it was read.

    Attributes:
        text: As asked.
        request: What was read; None: the words were not.
        problem: Why they were not.
    """

    text: str
    request: Request | None = None
    problem: Problem | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is asked, in the order in which it was said; empty: the words were not read."""
        return self.request.steps if self.request is not None else ()

    @property
    def things(self) -> tuple[Thing, ...]:
        """All things that the question names, those that are offered to choose from too."""
        return tuple(thing for step in self.steps for thing in step.mentioned())

    @property
    def acts(self) -> frozenset[str]:
        """What is asked."""
        return frozenset(step.act for step in self.steps)

    @property
    def category(self) -> Category:
        """One of the benchmark's seven, of what is asked first."""
        return category_of(self.steps[0]) if self.steps else "object_recognition"

    @property
    def polar(self) -> bool:
        """Whether yes or no is asked for."""
        return bool(self.steps) and all(is_polar(step) for step in self.steps)


def question_of(request: Request) -> OpenQuestion:
    """Return a request as a question; one that robots are to carry out is not read as one."""
    if request.is_question:
        return OpenQuestion(request.words, request)
    told = next(step.told() for step in request.steps if step.is_command)
    why = f"this asks robots to do something ({told}): give it as a task"
    return OpenQuestion(request.words, problem=Problem("verb", why))


def is_polar(step: Step) -> bool:
    """Whether a step asks for yes or no; a comparison without choices does."""
    if step.options or step.choices:
        return False
    if step.act in ("state", "color"):
        return bool(step.attribute)
    if step.act == "size":
        return step.attribute in MORE
    return step.act in ("is_there", "relation", "space")


def serves(step: Step) -> str:
    """Return the use that things are asked for ("to drink from"), or ""."""
    thing = step.things[0] if step.things else Thing()
    return thing.use if not thing.name else ""


def category_of(step: Step) -> Category:
    """Return the category of what is asked."""
    if step.options:
        return category_of(step.options[0])
    if serves(step):
        return "functional_reasoning"
    if step.act in _CATEGORIES:
        return _CATEGORIES[step.act]
    if step.act == "attribute":
        plain = step.attribute in _PLAIN_ATTRIBUTES
        return "attribute_recognition" if plain else "world_knowledge"
    relations = {place.relation for thing in step.things for place in thing.places}
    if step.act in ("is_there", "relation"):
        if step.act == "is_there" and not relations:
            return "world_knowledge"
        return "object_state_recognition" if relations <= {"in", "on"} else "spatial_understanding"
    if step.act == "what" and relations & {"between", "in front of", "under", "behind"}:
        return "spatial_understanding"
    return "object_recognition"
