"""What a request takes for granted: things and places spoken of as known, and words of taste."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from coterie_requests.request import Place, Request, Step, Thing
from coterie_requests.taste import is_taste
from coterie_requests.understanding.phrases import Phrase, phrase_of
from coterie_requests.understanding.vocabulary import Vocabulary

_LOOKED_FOR = ("find", "look", "check")
"""Tasks that tell whether there is a thing, and where: it is not presumed."""
PLACE_ASKED = ("is_there", "relation")
"""Questions about the place that is said, which so does not tell which thing is meant."""
Role = Literal["thing", "place", "target"]


@dataclass(frozen=True, slots=True)
class Mention:
    """What a request speaks of as known: "the mug on the desk", "the attic".

    Attributes:
        thing: Thing as it was said.
        phrase: What that stands for.
        role: A thing, a place where something is, or what something is brought to.
        step: Step that it is part of.
        presumed: Whether it is taken to be there, rather than looked for.
    """

    thing: Thing
    phrase: Phrase
    role: Role
    step: Step
    presumed: bool = True

    @property
    def only(self) -> bool:
        """Whether one certain thing is meant, so that several that fit are too many."""
        return self.phrase.definite and self.phrase.number == "one"


def steps_of(request: Request) -> Iterator[Step]:
    """Yield the steps of a request, and what they offer to choose from."""
    for step in request.steps:
        yield from (step, *step.options)


def things_of(request: Request) -> Iterator[Thing]:
    """Yield every thing of a request, and all that their words name."""
    for step in steps_of(request):
        for thing in (*step.things, *(step.to.things if step.to else ())):
            yield from thing.mentioned()


def mentions(request: Request, names: Vocabulary, *, task: bool) -> list[Mention]:
    """Return what a request takes for granted: places before what is there.

    Args:
        request: The request.
        names: Names that mean something, see `Vocabulary.of`.
        task: Whether it is a task: its things are taken to be there though they were not spoken of
            as known, unless it only looks for them.
    """
    found: list[tuple[Thing, Role, Step]] = []
    for step in steps_of(request):
        for thing in step.things:
            own = thing.model_copy(update={"places": ()}) if step.act in PLACE_ASKED else thing
            found += [(one, "place", step) for one in _within(thing)] + [(own, "thing", step)]
        for place in step.to.things if step.to else ():
            found += [(one, "place", step) for one in _within(place)] + [(place, "target", step)]
    told = []
    for one, role, step in found:
        phrase = phrase_of(one, names)
        if phrase.person or phrase.house or phrase.robot or phrase.anything:
            continue
        if task or phrase.definite or phrase.floor or (phrase.room and not phrase.label):
            looked_for = task and role == "thing" and step.act in _LOOKED_FOR
            told.append(Mention(one, phrase, role, step, not looked_for))
    return told


def _within(thing: Thing) -> Iterator[Thing]:
    """Yield what the words for a thing name besides it, inner ones first, without alternatives."""
    places: list[Place] = [p for p in thing.places if len(p.things) == 1 or p.relation == "between"]
    for one in (*(t for place in places for t in place.things), *thing.by, *thing.without):
        yield from _within(one)
        yield one


def words_of_taste(request: Request) -> list[tuple[str, Thing | None]]:
    """Return adjectives that only an opinion tells, each with the thing it is said of."""
    found: list[tuple[str, Thing | None]] = []
    for step in steps_of(request):
        first = step.things[0] if step.things else None
        asked = (step.attribute, *step.choices)
        found += [(word, first) for word in asked if is_taste(word)]
    for thing in things_of(request):
        found += [(word, thing) for word in thing.attributes if is_taste(word, thing.use)]
    return found
