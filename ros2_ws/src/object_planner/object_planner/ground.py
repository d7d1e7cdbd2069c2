"""What of a map a request calls for: the things that are found, best first, with reasons."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest

from coterie_core.colors import stated_color
from coterie_requests.request import Act, Request, Thing
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.grounding import DENIED, UNKNOWN_COLOR, Found, Resolver
from coterie_requests.understanding.phrases import Phrase
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import SceneGraph
from object_planner.settings import Mode

OTHER_QUESTIONS: frozenset[Act] = frozenset(
    ("how_many", "color", "attribute", "state", "relation", "size", "space")
)
"""Questions that no list of objects answers."""


@dataclass(slots=True)
class Findings:
    """Objects that fit, best first.

    Attributes:
        note: Why there are none.
        remarks: What was left out of the request.
        understood: Whether the words are known well enough to say anything.
    """

    found: list[Found] = field(default_factory=list)
    note: str = ""
    remarks: tuple[str, ...] = ()
    understood: bool = True

    @property
    def told(self) -> str:
        """The note and the remarks."""
        return "; ".join(filter(None, (self.note, *self.remarks)))

    @property
    def ids(self) -> list[str]:
        """Ids, best first."""
        return [one.id for one in self.found]


class Grounder:
    """Finds what a request asks for in one map.

    Args:
        scene: The map.
        mode: certainty: a thing is what its top label says; uncertainty: the whole distribution.
    """

    def __init__(self, scene: SceneGraph, mode: Mode = "uncertainty") -> None:
        self.scene = scene
        self.mode: Mode = mode
        self.map = Resolver(scene, certain=mode == "certainty")

    @property
    def names(self) -> Vocabulary:
        """Names that mean something on this map."""
        return self.map.names

    @cached_property
    def _is_colored(self) -> bool:
        return any(stated_color(thing.properties) for thing in self.scene.objects.values())

    def find(self, request: Request) -> Findings:
        """Return the objects that the first step of a request calls for; later ones are told."""
        step, *later = request.steps
        if step.act in OTHER_QUESTIONS or not step.things:
            note = f"understood as: {request.told()}; objects of the map are no answer to that"
            return Findings(note=note, understood=False)
        each = [self.fitting(self.map.phrase(thing)) for thing in step.things]
        found = list({one.id: one for findings in each for one in findings.found}.values())
        remarks = [remark for findings in each for remark in findings.remarks]
        if later:
            asked = "; ".join(one.said or one.told() for one in later)
            remarks.append(f"only the first wish is answered; ask again for: {asked!r}")
        note = "" if found else each[0].note
        understood = any(findings.understood for findings in each)
        return Findings(found, note, tuple(dict.fromkeys(remarks)), understood)

    def fitting(self, phrase: Phrase) -> Findings:
        """Return what fits a phrase, in the order that is asked for, and what was left out."""
        either = (replace(phrase, alternatives=()), *phrase.alternatives)
        refused = [self._refused(one) for one in either]
        known = [one for one, why in zip(either, refused, strict=True) if not why]
        if not known:
            return Findings(note=refused[0], understood=False)
        words = [word for one in either for word in self._unknown(one)]
        words += [word for one in phrase.excluded for word in self.map.unknown(one)]
        remarks = [f"left out, as nothing is known of it: {word!r}" for word in words]
        missing = next((by for by in phrase.by if not self.map.find(by)), None)
        if missing is not None:
            told = missing.noun or missing.said
            return Findings(note=f"there is no {told} in the map to measure from")
        wanted = replace(known[0], alternatives=tuple(known[1:]))
        try:
            for place in wanted.places:
                if self.map.is_place(place.phrase) and not place.negated:
                    self.map.rooms(place.phrase)
            found = [one for one in self.map.find(wanted) if self._agrees(one, wanted)]
            note = "" if found else self._why_not(wanted)
        except NotUnderstood as error:  # there is no such room, or nothing can stand so to one
            found, note = [], str(error)
        if phrase.order or phrase.sized or phrase.by:
            note = note or f"there are {len(found)} such things, no more"
            found = self.map.chosen(found, phrase) if phrase.ordinal else found
        elif phrase.ordinal not in (0, 1):
            counted = "as nothing says by what to count"
            remarks.append(f"left out: number {phrase.ordinal}, {counted}")
        return Findings(found, "" if found else note, tuple(remarks))

    def relevant(self, request: Request) -> list[str]:
        """Ids that have to do with a request, most first: what fits, what is ruled out, anchors.

        Anchors are the tables of "near a table". Of each kind come in turn, so that thousands of
        one kind do not crowd out the others.
        """
        groups = [self.find(request).ids]
        for thing in request.steps[0].things:
            for one in self.map.phrase(thing).mentioned():
                bare = replace(one, places=(), excluded=(), alternatives=(), by=(), color="")
                named = not (bare.anything or self.map.is_place(bare))
                groups.append([found.id for found in self.map.find(bare)] if named else [])
        turns = zip_longest(*groups)
        return list(dict.fromkeys(id_ for turn in turns for id_ in turn if id_ is not None))

    def denies(self, id_: str, request: Request) -> str:
        """Return why an object cannot be right, whatever it is called ("" if it may be)."""
        why = ""
        for thing in request.steps[0].things:
            if id_ in (one.id for other in thing.without for one in self.map.find(other)):
                why = "the request rules it out"
                continue
            there = self.map.phrase(Thing(places=thing.places))
            if not thing.places or id_ in (one.id for one in self.map.find(there)):
                return ""
            why = f"it is not {' '.join(place.told() for place in thing.places)}"
        return why

    # -- what is told -------------------------------------------------------------------------

    def _unknown(self, phrase: Phrase) -> list[str]:
        """Return the words of a phrase of which nothing is known here."""
        words = [word for word in self.map.unknown(phrase) if phrase.known or word != phrase.noun]
        colored = [phrase.color] if phrase.color and not self._is_colored else []
        order = phrase.order if phrase.order in ("nearest", "farthest") and not phrase.by else ""
        return [*words, *colored, *filter(None, (phrase.which, order))]

    def _refused(self, phrase: Phrase) -> str:
        """Return why nothing can be found by such words; "" if something can."""
        unknown = self._unknown(phrase)
        told = phrase.qualities or phrase.places or phrase.excluded or phrase.order or phrase.by
        words = [phrase.noun] if not phrase.known else unknown
        if not phrase.known or (phrase.anything and unknown and not told):
            told_words = ", ".join(map(repr, words))
            return f"not understood: {told_words}; nothing is known of what that is, or is for"
        if phrase.anything and not (told or phrase.color or phrase.sized):
            return "it names nothing that could be found"
        return ""

    def _agrees(self, one: Found, phrase: Phrase) -> bool:
        """Whether the map says nothing else of a thing's color and state."""
        fit = self.map.traits(one.thing, phrase)
        return fit > (UNKNOWN_COLOR if phrase.color and self._is_colored else DENIED)

    def _why_not(self, phrase: Phrase) -> str:
        """Return why nothing fits: the place that does not exist, or in which nothing does."""
        if not self.map.find(replace(phrase, places=(), excluded=(), alternatives=())):
            return "nothing in the map fits the request" + self._numbered()
        for place in phrase.places:
            if not self.map.is_place(place.phrase) and not self.map.find(place.phrase):
                why = f"so that it does not tell what is {place.relation} it"
                return f"the map has no {place.phrase.noun}, {why}"
        if phrase.excluded and self.map.find(replace(phrase, excluded=())):
            return "all that would fit is what the request rules out"
        told = (
            f"{'not ' * place.negated}{place.relation} {place.phrase.said}"
            for place in phrase.places
        )
        return f"nothing that fits is {' and '.join(told) or 'so'}"

    def _numbered(self) -> str:
        """That things are called by numbers, where they are."""
        tops = [self.map.label(thing) for thing in self.scene.objects.values()]
        numbers = sorted(filter(str.isdecimal, tops))
        if not numbers:
            return ""
        return (
            f": {len(numbers)} of the map's {len(tops)} things are called by numbers "
            f"({', '.join(list(dict.fromkeys(numbers))[:5])}) and no word finds them; make the map "
            "with the names of the detector's classes (Hydra: a label space)"
        )
