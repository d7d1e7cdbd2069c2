"""What of a map fits a request's things: graded by labels, uses and geometry, with reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest

from coterie_core.colors import basic_color, stated_color
from coterie_core.household import load_household, normalized, singulars
from coterie_core.relations import gap, overview
from coterie_requests.lexicon import load_lexicon
from coterie_requests.request import Act, Place, Request, Thing
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.grounding import Resolver, stands
from coterie_requests.understanding.phrases import phrase_of
from coterie_requests.understanding.vocabulary import Vocabulary, plain_name
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.scene.lookups import Nearby
from coterie_world.sizes import SIZE_ORDERS, plausible_size
from object_planner.senses import Meaning, Sense, denied_uses, meaning
from object_planner.settings import Mode

ENOUGH = 0.35
"""Least probability for a thing to count as of a label that is not its top one."""
PERHAPS = 0.2
"""The same where nothing fits better, and the label is nearly as likely as the top one."""
RIVAL = 0.75
"""Least probability of such a label, by that of the top one."""
SELDOM = 3
"""Looks after which half of the doubt whether a thing is there has gone."""
PLAUSIBLE = 0.4
"""Least plausibility of a size for a thing to take part in "the smallest" and the like."""
USEFUL = 0.15
"""Least grade for a thing to count as good for a use."""
SEATS = 40
"""So many of what fits best are looked at for the view from there."""
AROUND = 250
"""So many things about a place count for the view from there."""
HOLDS = 0.3
"""Strength from which a relation that a request rules out counts as there."""
RULED_OUT = 0.4
"""Probability from which a thing counts as what the request rules out."""
OTHER_QUESTIONS: frozenset[Act] = frozenset(
    ("how_many", "color", "attribute", "state", "relation", "size", "space")
)
"""Questions that no list of objects answers."""


@dataclass(slots=True)
class Found:
    """An object that fits, how well (0..1), and why."""

    id: str
    score: float
    reasons: list[str] = field(default_factory=list)


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
        least: Least probability of a label that is not the top one, see ENOUGH.
    """

    def __init__(
        self, scene: SceneGraph, mode: Mode = "uncertainty", least: float = ENOUGH
    ) -> None:
        self.scene = scene
        self.mode: Mode = mode
        self._least = least
        self._labels = {thing.id: self._distribution(thing) for thing in scene.objects.values()}
        self._said = {thing.id: self._called_by(thing) for thing in scene.objects.values()}
        self._worths = {id_: self._worth(id_) for id_ in scene.objects}
        self._meanings: dict[Thing, Meaning] = {}
        self._grades: dict[Sense, dict[str, tuple[float, str]]] = {}
        self._fitting: dict[Thing, Findings] = {}
        self._anchors: dict[Thing, Nearby] = {}

    @cached_property
    def names(self) -> Vocabulary:
        """Names that mean something on this map."""
        return Vocabulary.of(self.scene)

    @cached_property
    def _resolver(self) -> Resolver:
        return Resolver(self.scene)

    @cached_property
    def _doubting(self) -> Grounder:
        """The same tools, content with less probability."""
        return Grounder(self.scene, self.mode, PERHAPS)

    @cached_property
    def _colored(self) -> bool:
        return any(stated_color(thing.properties) for thing in self.scene.objects.values())

    # -- requests ------------------------------------------------------------------------------

    def find(self, request: Request) -> Findings:
        """Return the objects that the first step of a request calls for; later ones are told."""
        step, *later = request.steps
        if step.act in OTHER_QUESTIONS or not step.things:
            note = f"understood as: {request.told()}; objects of the map are no answer to that"
            return Findings(note=note, understood=False)
        each = [self.fitting(thing) for thing in step.things]
        found = list({one.id: one for findings in each for one in findings.found}.values())
        remarks = [remark for findings in each for remark in findings.remarks]
        if later:
            asked = "; ".join(one.said or one.told() for one in later)
            remarks.append(f"only the first wish is answered; ask again for: {asked!r}")
        note = "" if found else each[0].note
        understood = any(findings.understood for findings in each)
        return Findings(found, note, tuple(dict.fromkeys(remarks)), understood)

    def fitting(self, thing: Thing) -> Findings:
        """Return the objects that fit a thing; where none does for sure, those that perhaps do."""
        findings = self._fits(thing)
        if findings.found or self.mode == "certainty" or self.meaning(thing).order:
            return findings
        perhaps = self._doubting._fits(thing)
        found = [replace(f, reasons=[f"perhaps: {f.reasons[0]}", *f.reasons[1:]])
                 for f in perhaps.found]  # fmt: skip
        return replace(perhaps, found=found) if found else findings

    def meaning(self, thing: Thing) -> Meaning:
        """Return what the tables know of the words of a thing."""
        if thing not in self._meanings:
            labels = frozenset().union(*self._said.values())
            ids = {name: self._label(id_) for id_ in self.scene.objects for name in _id_names(id_)}
            self._meanings[thing] = meaning(thing, labels, ids)
        return self._meanings[thing]

    def relevant(self, request: Request) -> list[str]:
        """Ids that have to do with a request, most first: what fits, what is ruled out, anchors.

        Anchors are the tables of "near a table". Of each kind come in turn, so that thousands of
        one kind do not crowd out the others.
        """
        groups = [self.find(request).ids]
        for thing in (one for first in request.steps[0].things for one in first.mentioned()):
            known = self.meaning(thing)
            grades = [self._graded(sense) for sense in (*known.wants, *known.also)]
            scores = {
                id_: max(one[id_][0] for one in grades) for id_ in self.scene.objects if grades
            }
            ranked = sorted(scores, key=lambda i: (-scores[i], -self._seen(i), i))
            groups.append([id_ for id_ in ranked if scores[id_] > 0.0])
        turns = zip_longest(*groups)
        return list(dict.fromkeys(id_ for turn in turns for id_ in turn if id_ is not None))

    def denies(self, id_: str, request: Request) -> str:
        """Return why an object cannot be right, whatever it is called ("" if it may be)."""
        why = ""
        for thing in request.steps[0].things:
            failing = [place for place in thing.places if self._holds(id_, place)[0] <= 0.0]
            if any(self._is_one(id_, other) for other in thing.without):
                why = "the request rules it out"
            elif not failing:
                return ""
            else:
                why = f"it is not {failing[0].told()}"
        return why

    # -- one thing -----------------------------------------------------------------------------

    def _fits(self, thing: Thing) -> Findings:
        if thing not in self._fitting:
            try:
                self._fitting[thing] = self._chosen(thing)
            except NotUnderstood as error:  # there is no such room
                self._fitting[thing] = Findings(note=str(error))
        return self._fitting[thing]

    def _chosen(self, thing: Thing) -> Findings:
        """Return what fits a thing or one of its alternatives, in the order that is asked for."""
        each = [self._one(other) for other in (thing, *thing.either)]
        best: dict[str, Found] = {}
        for one in (found for findings in each for found in findings.found):
            if one.id not in best or best[one.id].score < one.score:
                best[one.id] = one
        note = "" if best else each[0].note
        remarks = [remark for findings in each for remark in findings.remarks]
        kept = [one for one in best.values()
                if not any(self._is_one(one.id, other) for other in thing.without)]  # fmt: skip
        if best and not kept:
            note = "all that would fit is what the request rules out"
        missing = next((by.told() for by in thing.by if not self._anchor(by).ids), "")
        if missing:
            return Findings(note=f"there is no {missing} in the map to measure from")
        order = self.meaning(thing).order or ("nearest" if thing.by else "")
        found = self._ordered(kept, thing, order)
        if thing.rank and order:
            k = thing.rank - 1 if thing.rank > 0 else thing.rank
            note = note or (
                "" if k < len(found) else f"there are {len(found)} such things, no more"
            )
            found = found[k:][:1]
        elif thing.rank not in (0, 1):
            remarks.append(f"left out: number {thing.rank}, as nothing says by what to count")
        return Findings(found, note, tuple(remarks), any(one.understood for one in each))

    def _one(self, thing: Thing) -> Findings:
        """Return what fits a thing by itself: its words, and each of its places."""
        known = self.meaning(thing)
        unknown = [*known.left_out, *((thing.color,) if thing.color and not self._colored else ())]
        unknown += [word for other in thing.without for word in self.meaning(other).left_out]
        remarks = tuple(f"left out, as nothing is known of it: {word!r}" for word in unknown)
        refused = known.refused
        if not refused and unknown and not (known.wants or known.also or thing.places):
            words = ", ".join(map(repr, unknown))
            refused = f"not understood: {words}; without it the request would mean any thing"
        if refused:
            return Findings([], refused, (), understood=False)
        scored = {id_: self._score(id_, thing, known) for id_ in self.scene.objects}
        candidates = {id_: Found(id_, s, [why]) for id_, (s, why) in scored.items() if s > 0.0}
        note = "" if candidates else "nothing in the map fits the request" + self._numbered()
        for place in thing.places:
            for id_ in list(candidates):
                strength, other = self._holds(id_, place)
                if strength <= 0.0:
                    del candidates[id_]
                    continue
                candidates[id_].score *= 0.5 + 0.5 * strength
                told = place.told() if place.negated else f"{place.relation} {other}"
                candidates[id_].reasons.append(told)
            if not candidates:
                note = note or self._why_not(place)
        return Findings(list(candidates.values()), note, remarks)

    def _why_not(self, place: Place) -> str:
        if self._rooms(place.things) is None and not any(self._anchor(t).ids for t in place.things):
            told = " and no ".join(one.told().removeprefix("the ") for one in place.things)
            return f"the map has no {told}, so that it does not tell what is {place.relation} it"
        return f"nothing that fits is {place.told()}"

    def _score(self, id_: str, thing: Thing, known: Meaning) -> tuple[float, str]:
        """How well an object is what a thing's own words say (0..1), and why."""
        furniture = load_household().kind(self._label(id_)) == "furniture"
        if not known.wants and furniture and self._borne(thing):
            return 0.0, ""  # a chair's back over a table: it stands on the floor
        score, why = (0.0, "") if known.wants else (1.0, "any thing")
        grades = {want: self._graded(want)[id_] for want in known.wants}
        for want, (grade, label) in grades.items():
            if grade > score:
                score, why = grade, f"{label}: {want.name}"
                if want.kind == "thing":
                    why = f"{label} is a {want.name}" if label != want.name else f"it is a {label}"
        if len(grades) > 1:
            # Of things equally good for one use the one that serves the other too comes first.
            score *= 0.9 + 0.1 * sum(grade for grade, _ in grades.values()) / len(grades)
        for sense in known.also:
            # Where a thing was named ("a soft bed"), the quality orders; alone, it decides.
            score *= max(self._graded(sense)[id_][0], 0.3 if thing.name else 0.0)
        if thing.color and self._colored:
            properties = self.scene.objects[id_].properties
            score *= stated_color(properties) == basic_color(thing.color)
        return score * self._worths[id_], why

    def _borne(self, thing: Thing) -> bool:
        """Whether a thing is said to be on or in another one."""
        on = (p for p in thing.places if p.relation in ("on", "in") and not p.negated)
        return any(self._rooms(place.things) is None for place in on)

    def _is_one(self, id_: str, other: Thing) -> bool:
        """Whether an object is, or does, what a request rules out."""
        known = self.meaning(other)
        if known.left_out or (other.color and not self._colored) or denied_uses(other):
            return False
        if other.color or other.places or other.choice or other.either:
            return id_ in self._fits(other).ids

        def does(sense: Sense) -> bool:
            table = self._table(sense)
            mass = sum(
                p * (1.0 if _ends(label, sense) else table.get(label, 0.0))
                for label, p in self._labels[id_].items()
            )
            return mass >= RULED_OUT and self._is_called(id_, sense)

        if not known.wants:
            return any(map(does, known.also))
        return any(map(does, known.wants)) and all(map(does, known.also))

    # -- one object ----------------------------------------------------------------------------

    def _worth(self, id_: str) -> float:
        """What a thing counts for (0.25..1): how often it was seen, how plausible its size is."""
        thing = self.scene.objects[id_]
        seen = thing.observations
        there = thing.confidence or (seen / (seen + SELDOM) if seen else 1.0)
        return (0.5 + 0.5 * there) * (0.5 + 0.5 * self._plausible(id_))

    def _plausible(self, id_: str) -> float:
        """How plausible a thing's size is for what it is taken for (0..1)."""
        box = self.scene.objects[id_].box
        return plausible_size(self._label(id_), box.size) if box.volume > 0.0 else 1.0

    def _seen(self, id_: str) -> int:
        return self.scene.objects[id_].observations

    def _label(self, id_: str) -> str:
        """The top label of an object, by its one name."""
        return next(iter(self._labels[id_]), "unknown")

    def _graded(self, sense: Sense) -> Mapping[str, tuple[float, str]]:
        """How well each object is or does what is wanted (0..1), and by which label."""
        if sense not in self._grades:
            table = self._table(sense)
            self._grades[sense] = {id_: self._grade(id_, sense, table) for id_ in self._labels}
        return self._grades[sense]

    def _grade(self, id_: str, sense: Sense, table: Mapping[str, float]) -> tuple[float, str]:
        weights = self._labels[id_]
        if not weights or not self._is_called(id_, sense):
            return 0.0, ""
        top, most = next(iter(weights.items()))
        serving = {label: p for label, p in weights.items() if table.get(label, 0.0) >= USEFUL}
        # Of labels that are not the top one so much is needed.
        cut = self._least if self._least >= ENOUGH else max(self._least, RIVAL * most)
        if top not in serving and sum(serving.values()) < cut:
            return 0.0, ""
        shares = {label: p * table.get(label, 0.0) for label, p in weights.items()}
        return sum(shares.values()), max(shares, key=lambda label: (shares[label], label))

    def _is_called(self, id_: str, sense: Sense) -> bool:
        """Whether the very words fit: where some are a "coffee table", a desk is none."""
        return not sense.phrase or sense.phrase in self._said[id_]

    def _holds(self, id_: str, place: Place) -> tuple[float, str]:
        """How surely an object is where it is said to be (0..1), and by which other one."""
        if place.negated:
            strength, _ = self._holds(id_, place.model_copy(update={"negated": False}))
            return float(strength < HOLDS), ""
        thing = self.scene.objects[id_]
        if (rooms := self._rooms(place.things)) is not None:
            return float(not rooms or thing.room in rooms), rooms.get(thing.room, "the house")
        near = [self._anchor(other).near(thing.box, id_) for other in place.things]
        return stands(thing, place.relation, [[self.scene.objects[o] for o in ids] for ids in near])

    def _rooms(self, things: Iterable[Thing]) -> Mapping[str, str] | None:
        """Return the rooms (id -> name) that things stand for; None: they stand for things.

        Raises:
            NotUnderstood: The map has no such room.
        """
        phrases = [phrase_of(thing, self.names) for thing in things]
        places = [phrase for phrase in phrases if self._resolver.is_place(phrase)]
        rooms = (room for phrase in places for room in self._resolver.rooms(phrase))
        return {room.id: room.name for room in rooms} if places else None

    # -- inside --------------------------------------------------------------------------------

    def _numbered(self) -> str:
        """That things are called by numbers, where they are."""
        numbers = Counter(filter(str.isdecimal, map(self._label, self._labels)))
        if not numbers:
            return ""
        return (
            f": {numbers.total()} of the map's {len(self._labels)} things are called by numbers "
            f"({', '.join(sorted(numbers)[:5])}) and no word finds them; make the map with the "
            "names of the detector's classes (Hydra: a label space)"
        )

    def _anchor(self, thing: Thing) -> Nearby:
        if thing not in self._anchors:
            ids = self._fits(thing).ids
            chosen = ids[:1] if thing.choice else ids
            self._anchors[thing] = Nearby([self.scene.objects[id_] for id_ in chosen])
        return self._anchors[thing]

    def _table(self, sense: Sense) -> Mapping[str, float]:
        lexicon = load_lexicon()
        if sense.kind == "thing":
            return dict.fromkeys(lexicon.members(sense.name), 1.0)
        table = lexicon.uses if sense.kind == "use" else lexicon.qualities
        return lexicon.spread(table[sense.name].things)

    def _called_by(self, thing: SceneObject) -> frozenset[str]:
        """All that a thing may be called by: its labels, their singulars, its id."""
        labels = thing.label.weights if self.mode == "uncertainty" else [thing.label.top]
        forms = (f for label in labels for f in (normalized(label), *singulars(normalized(label))))
        return frozenset((*forms, *_id_names(thing.id)))

    def _distribution(self, thing: SceneObject) -> dict[str, float]:
        weights: dict[str, float] = {}
        for label, p in thing.label.distribution().items():
            if label.strip().lower() not in ("", "unknown"):
                name = load_lexicon().canonical(label)
                weights[name] = weights.get(name, 0.0) + p
        ranked = dict(sorted(weights.items(), key=lambda kv: (-kv[1], kv[0])))
        if self.mode == "certainty" and ranked:
            return {next(iter(ranked)): 1.0}
        return ranked

    # -- orders --------------------------------------------------------------------------------

    def _ordered(self, found: list[Found], thing: Thing, order: str) -> list[Found]:
        if not order and self.meaning(thing).view:
            self._look_around(found)
        keys = {one.id: self._key(one.id, thing, order) for one in found}
        found = self._namesakes(found, thing) if order else found
        return sorted(found, key=lambda f: (keys[f.id], -f.score, -self._seen(f.id), f.id))

    def _key(self, id_: str, thing: Thing, order: str) -> float:
        """What an order sorts by, least first [m^3, m]."""
        box = self.scene.objects[id_].box
        if order in SIZE_ORDERS:
            return SIZE_ORDERS[order](box)  # type: ignore[index]
        ends = (end for by in thing.by for end in self._anchor(by).near(box, id_))
        away = min((gap(box, self.scene.objects[end].box) for end in ends), default=0.0)
        return -away if order == "farthest" else away

    def _look_around(self, found: Sequence[Found]) -> None:
        """Weight the best of what was found by how much of the place one sees from there."""
        things = self.scene.objects
        around = Nearby([thing for thing in things.values() if self._labels[thing.id]])
        for k, one in enumerate(sorted(found, key=lambda one: -one.score)):
            seen = around.near(things[one.id].box, one.id, AROUND) if k < SEATS else []
            view = overview(things[one.id].box, [things[id_].box for id_ in seen])
            one.score *= view if k < SEATS else 0.0

    def _namesakes(self, found: list[Found], thing: Thing) -> list[Found]:
        """Of things in an order, those that bear the very name: a nightstand is a table at need."""
        found = [one for one in found if self._plausible(one.id) >= PLAUSIBLE] or found
        noun = plain_name(thing.name)
        bearing = [one for one in found if any(s.endswith(noun) for s in self._said[one.id])]
        return bearing or found


def _id_names(id_: str) -> tuple[str, ...]:
    """Return an id as people say it; one without a number is a word like others."""
    return (plain_name(id_),) if any(map(str.isdigit, id_)) else ()


def _ends(label: str, sense: Sense) -> bool:
    """Whether a label says so itself: "not a chair" means armchairs, "no lamp" floor lamps."""
    return sense.kind == "thing" and label.endswith(sense.name)
