"""Names for things that a detector finds without knowing them, from their pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_core.household import normalized
from coterie_llm import Decision, Image, Message, Probability
from coterie_world.scene import LabelBelief, SceneGraph
from semantic_mapper.instances import Instance

UNNAMED = frozenset({"object", "thing", "item", "something", "unknown", "unknown object"})
"""Labels of detectors that find things of any kind."""
_BETTER = 2.0
"""A thing that got no name is looked at again when its picture shows so many times as much."""
_OUTWEIGHS = 2.5
"""A sure name has this many times the evidence of the label that says nothing."""


@dataclass(frozen=True, slots=True)
class Pictured:
    """A thing's picture."""

    image: Image


class ThingNamed(BaseModel):
    """What a thing is."""

    reason: str = Field("", max_length=300, description="first: what one sees of it")
    label: str = Field(
        "",
        max_length=40,
        pattern=r"^[A-Za-z][A-Za-z -]*$|^$",
        description="then its kind in one or two everyday words, such as toaster; empty: not clear",
    )
    confidence: Probability = Field(0.5, description="probability that it is one")


class NameThing(Decision[Pictured, ThingNamed]):
    """What kind of thing does a picture show?"""

    name: ClassVar[str] = "mapper.name_thing"
    reply_type: ClassVar[type[BaseModel]] = ThingNamed
    max_tokens: ClassVar[int] = 200

    def prompt(self, state: Pictured) -> Sequence[Message]:
        """Show the picture."""
        return (
            Message.system(
                "A robot has found a thing in a home and does not know what it is. The image is "
                "cut out around it. Say what kind of thing fills the middle of the image."
            ),
            Message.user("What is it?", state.image),
        )

    def rule(self, state: Pictured) -> ThingNamed:
        """Nothing is known without looking."""
        return ThingNamed(reason="no model looks at it")


@dataclass(slots=True)
class Namer:
    """Remembers which things got which names, and which are still to be looked at.

    Names are in the map that is told, and not in the one that is built: there a thing is what its
    detector reports, else it would not be the same thing at the next look.
    """

    _names: dict[str, tuple[str, float]] = field(default_factory=dict)
    _asked: dict[str, float] = field(default_factory=dict)  # id -> quality of the picture then

    def next(self, things: Iterable[Instance]) -> tuple[str, Image] | None:
        """Return id and picture of the next thing to look at: that whose picture shows most."""
        waiting = [
            thing
            for thing in things
            if thing.state != "gone" and thing.id not in self._names and thing.crop is not None
            if normalized(thing.labels.top) in UNNAMED
            if thing.crop_quality >= _BETTER * self._asked.get(thing.id, 0.0)
        ]
        best = max(waiting, key=lambda one: one.crop_quality, default=None)
        if best is None or best.crop is None:
            return None
        self._asked[best.id] = best.crop_quality
        return best.id, Image(best.crop.tobytes(), "image/jpeg")

    def take(self, id_: str, named: ThingNamed) -> bool:
        """Give a thing its name; return whether it got one."""
        label = normalized(named.label)
        if not label or label in UNNAMED or named.confidence <= 0.5:
            return False
        self._names[id_] = label, named.confidence
        return True

    def name(self, scene: SceneGraph) -> SceneGraph:
        """Write the names into a map, beside what the detector says; return the map."""
        for id_, (label, confidence) in self._names.items():
            thing = scene.objects.get(id_)
            if thing is not None and normalized(thing.label.top) in UNNAMED:
                weight = _OUTWEIGHS * confidence * thing.label.weights[thing.label.top]
                thing.label = LabelBelief({**thing.label.weights, label: weight})
        return scene
