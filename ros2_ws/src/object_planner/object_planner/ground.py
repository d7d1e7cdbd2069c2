"""A request's objects in a map: scores by labels and geometry, best first, with reasons."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from coterie_core.household import load_household, normalized, singulars
from coterie_core.relations import PAIRS, between, gap, overview
from coterie_requests.lexicon import Lexicon, load_lexicon
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.scene.lookups import Nearby
from coterie_world.sizes import SIZE_ORDERS, plausible_size
from object_planner.settings import Mode
from object_planner.wish import Relation, Request, Want

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
ENDS = 6
"""Of "between": so many at either end."""
SEATS = 40
"""So many of what fits best are looked at for the view from there."""
AROUND = 250
"""So many things about a place count for the view from there."""
HOLDS = 0.3
"""Strength from which a relation that a request rules out counts as there."""
RULED_OUT = 0.4
"""Probability from which a thing counts as what the request rules out."""


@dataclass(slots=True)
class Found:
    """An object that fits, how well (0..1), and why."""

    id: str
    score: float
    reasons: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Findings:
    """Objects that fit a request, best first; `note` says why there are none."""

    request: Request
    found: list[Found] = field(default_factory=list)
    note: str = ""

    @property
    def told(self) -> str:
        """The note, and what of the request was left out or read otherwise."""
        return "; ".join(filter(None, (self.note, *self.request.remarks)))

    @property
    def ids(self) -> list[str]:
        """Ids, best first."""
        return [one.id for one in self.found]


class Grounder:
    """Finds what a request asks for in one map.

    Args:
        scene: The map.
        mode: certainty: a thing is what its top label says; uncertainty: the whole distribution.
        lexicon: The tables.
        least: Least probability of a label that is not the top one, see ENOUGH.
    """

    def __init__(
        self,
        scene: SceneGraph,
        mode: Mode = "uncertainty",
        lexicon: Lexicon | None = None,
        least: float = ENOUGH,
    ) -> None:
        self.scene = scene
        self._least = least
        self.mode: Mode = mode
        self.lexicon = lexicon or load_lexicon()
        self._labels = {thing.id: self._distribution(thing) for thing in scene.objects.values()}
        self._raw = {
            thing.id: frozenset(
                form
                for label in (thing.label.weights if mode == "uncertainty" else [thing.label.top])
                for form in (normalized(label), *singulars(normalized(label)))
            )
            for thing in scene.objects.values()
        }
        self._phrases = frozenset().union(*self._raw.values())
        self._colored = any(thing.properties.get("color") for thing in scene.objects.values())
        self._doubtful: Grounder | None = None
        self._worths: dict[str, float] = {}
        self._tables: dict[Want, Mapping[str, float]] = {}
        self._scores: dict[Want, dict[str, tuple[float, str]]] = {}
        self._anchors: dict[Want, Nearby] = {}

    @property
    def known(self) -> tuple[str, ...]:
        """Labels of the map: words that mean something whether or not the tables have them."""
        return tuple(sorted(self._phrases))

    def find(self, request: Request) -> Findings:
        """Return the objects that fit; where none does for sure, those that perhaps do."""
        findings = Findings(request)
        findings.note = self._refused(request)
        if findings.note:
            return findings
        findings = self._find(request)
        if not findings.found and self.mode == "uncertainty" and request.order is None:
            perhaps = self._doubting()._find(request)
            for one in perhaps.found:
                one.reasons[0] = f"perhaps: {one.reasons[0]}"
            return perhaps if perhaps.found else findings
        return findings

    def _doubting(self) -> Grounder:
        """The same tools, content with less probability."""
        if self._doubtful is None:
            self._doubtful = Grounder(self.scene, self.mode, self.lexicon, PERHAPS)
        return self._doubtful

    def _find(self, request: Request) -> Findings:
        findings = Findings(request)
        if request.beyond:
            findings.note = f"no home has room for this: {request.beyond}"
            return findings
        candidates = {
            id_: Found(id_, score, [why])
            for id_ in self.scene.objects
            for score, why in (self.fits(id_, request),)
            if score > 0.0
        }
        if not candidates:
            findings.note = "nothing in the map fits the request" + self._numbered()
        for id_ in [i for i in candidates if self.ruled_out(i, request)]:
            del candidates[id_]
            findings.note = "all that would fit is what the request rules out"
        for relation in request.relations:
            for id_ in list(candidates):
                strength, other = self.relates(id_, relation)
                if strength <= 0.0:
                    del candidates[id_]
                    continue
                candidates[id_].score *= 0.5 + 0.5 * strength
                kind = f"not {relation.kind}" if relation.negated else relation.kind
                candidates[id_].reasons.append(f"{kind} {other}")
            if not candidates:
                missing = [w.name for w in relation.to if not self._anchor(w).ids]
                why = f"nothing that fits is {relation.kind} such a thing"
                if len(missing) == len(relation.to):
                    why = (
                        f"the map has no {' and no '.join(missing)}, so that it does not tell what"
                    )
                    why += f" is {relation.kind} it"
                findings.note = findings.note or why
        findings.found = self._ordered(list(candidates.values()), request)
        if findings.found:
            findings.note = ""
        if request.rank > 1 and request.order is not None and findings.found:
            if len(findings.found) < request.rank:
                findings.note = f"there are {len(findings.found)} such things, and no more"
            findings.found = findings.found[request.rank - 1 : request.rank]
        return findings

    def _numbered(self) -> str:
        """That things are called by numbers, where they are."""
        tops = [next(iter(weights), "") for weights in self._labels.values()]
        numbers = Counter(filter(str.isdecimal, tops))
        if not numbers:
            return ""
        return (
            f": {numbers.total()} of the map's {len(tops)} things are called by numbers "
            f"({', '.join(sorted(numbers)[:5])}) and no word finds them; make the map with the "
            "names of the detector's classes (Hydra: a label space)"
        )

    def _refused(self, request: Request) -> str:
        """Why a request cannot be answered from what is known of its words ("" if it can)."""
        if request.refusal:
            return request.refusal
        if request.head:
            return f"not understood: {request.head!r}; nothing is known of such a thing" + (
                f" ({', '.join(map(repr, request.unknown))} neither)" if request.unknown else ""
            )
        if request.clear:
            gone = [want.name for want in request.by if not self._anchor(want).ids]
            return f"there is no {gone[0]} in the map to measure from" if gone else ""
        if request.unknown:
            words = ", ".join(repr(word) for word in request.unknown)
            return f"not understood: {words}; without it the request would mean any thing"
        return "" if request.excludes else "none of the words of the request is known"

    def relevant(self, request: Request) -> list[str]:
        """Ids that have to do with a request, most first: what fits, what is ruled out, anchors.

        Anchors are the tables of "near a table". Of each kind come in turn, so that thousands of
        one kind do not crowd out the others.
        """
        others = (*request.excludes, *(want for r in request.relations for want in r.to))
        groups = [self.find(request).ids]
        for wants in (request.wants, request.qualities, others):
            scores = (
                {id_: max(self.grade(id_, want)[0] for want in wants) for id_ in self.scene.objects}
                if wants
                else {}
            )
            ranked = sorted(scores, key=lambda i: (-scores[i], -self._seen(i), i))
            groups.append([id_ for id_ in ranked if scores[id_] > 0.0])
        turns = zip_longest(*groups)
        return list(dict.fromkeys(id_ for turn in turns for id_ in turn if id_ is not None))

    def _seen(self, id_: str) -> int:
        return self.scene.objects[id_].observations

    # -- tools ---------------------------------------------------------------------------------

    def fits(self, id_: str, request: Request) -> tuple[float, str]:
        """How well an object is one of the wants and has all qualities (0..1), and why."""
        borne = any(r.kind in ("on", "in") and not r.negated for r in request.relations)
        if not request.wants and borne and load_household().kind(self.label(id_)) == "furniture":
            return 0.0, ""  # a chair's back over a table: it stands on the floor
        best, why = (0.0, "") if request.wants else (1.0, "any thing")
        for want in request.wants:
            score, label = self.grade(id_, want)
            if score > best:
                best = score
                why = (
                    f"{label} is a {want.name}" if want.kind == "thing" else f"{label}: {want.name}"
                )
                if label == want.name:
                    why = f"it is a {label}"
        uses = [want for want in request.wants if want.kind == "use"]
        if len(uses) > 1 and best > 0.0:
            # Of things equally good for one use the one that serves the other too comes first.
            best *= 0.9 + 0.1 * sum(self.grade(id_, use)[0] for use in uses) / len(uses)
        for quality in request.qualities:
            score, _ = self.grade(id_, quality)
            # Where a thing was named ("a soft bed"), the quality orders; alone, it decides.
            best *= max(score, 0.3) if any(w.kind == "thing" for w in request.wants) else score
        best *= self.worth(id_)
        if request.colors and self._colored:
            color = self.scene.objects[id_].properties.get("color", "")
            best *= 1.0 if color in request.colors else 0.0
        if request.rooms and best > 0.0:
            known = {room.type for room in self.scene.rooms.values()}
            room = self.scene.rooms.get(self.scene.objects[id_].room)
            if known & set(request.rooms) and (room is None or room.type not in request.rooms):
                return 0.0, ""
        return best, why

    def worth(self, id_: str) -> float:
        """What a thing counts for (0.25..1): how often it was seen, how plausible its size is."""
        found = self._worths.get(id_)
        if found is None:
            thing = self.scene.objects[id_]
            there = thing.confidence or (
                thing.observations / (thing.observations + SELDOM) if thing.observations else 1.0
            )
            size = self.plausible(id_)
            found = self._worths[id_] = (0.5 + 0.5 * there) * (0.5 + 0.5 * size)
        return found

    def plausible(self, id_: str) -> float:
        """How plausible a thing's size is for what it is taken for (0..1)."""
        box = self.scene.objects[id_].box
        return plausible_size(self.label(id_), box.size) if box.volume > 0.0 else 1.0

    def grade(self, id_: str, want: Want) -> tuple[float, str]:
        """How well an object is or does what is wanted (0..1), and by which label."""
        scores = self._scores.setdefault(want, {})
        found = scores.get(id_)
        if found is None:
            found = scores[id_] = self._grade(id_, want)
        return found

    def _grade(self, id_: str, want: Want) -> tuple[float, str]:
        weights = self._labels[id_]
        if not weights or not self._called(id_, want):
            return 0.0, ""
        top = next(iter(weights))
        grades = self._grades(want)
        if want.kind == "thing":
            mass = sum(p for label, p in weights.items() if label in grades)
            if top not in grades and mass < self._cut(weights[top]):
                return 0.0, ""
            own = max((label for label in weights if label in grades), key=lambda k: weights[k])
            return mass, own
        shares = {label: p * grades.get(label, 0.0) for label, p in weights.items()}
        score = sum(shares.values())
        serving = sum(p for label, p in weights.items() if grades.get(label, 0.0) >= USEFUL)
        if grades.get(top, 0.0) < USEFUL and serving < self._cut(weights[top]):
            return 0.0, ""
        return score, max(shares, key=lambda label: (shares[label], label))

    def _cut(self, top: float) -> float:
        """Least probability of labels that are not the top one, of probability `top`."""
        return self._least if self._least >= ENOUGH else max(self._least, RIVAL * top)

    def _called(self, id_: str, want: Want) -> bool:
        """Whether the very words fit: where some are a "coffee table", a desk is none."""
        forms = {want.phrase, *singulars(want.phrase)} if want.phrase else set()
        return not forms & self._phrases or bool(forms & self._raw[id_])

    def ruled_out(self, id_: str, request: Request) -> bool:
        """Whether an object is, or does, what the request says it shall not."""
        weights = self._labels[id_]
        for want in request.excludes:
            grades = self._grades(want)
            if not self._called(id_, want):
                continue
            if want.kind == "thing":
                mass = sum(p for label, p in weights.items() if self._named(label, want, grades))
            else:
                mass = sum(p * grades.get(label, 0.0) for label, p in weights.items())
            if mass >= RULED_OUT:
                return True
        return False

    def relates(self, id_: str, relation: Relation) -> tuple[float, str]:
        """How surely an object stands in a relation (0..1), and to which other object.

        A negated relation holds where the relation itself does not; one that is inverse holds from
        the other to the object.
        """
        if relation.negated:
            strength, _ = self.relates(id_, relation.model_copy(update={"negated": False}))
            return (0.0 if strength >= HOLDS else 1.0), "no such thing"
        box = self.scene.objects[id_].box
        others = [self._anchor(want).near(box, id_) for want in relation.to]
        best, name = 0.0, ""
        if relation.kind == "between":
            firsts, seconds = others[0][:ENDS], others[-1][:ENDS]
            for p in firsts:
                for q in seconds:
                    boxes = (self.scene.objects[p].box, self.scene.objects[q].box)
                    if p != q and (strength := between(box, boxes)) > best:
                        best, name = strength, f"{p} and {q}"
            return best, name
        flat = list(dict.fromkeys(o for group in others for o in group))
        strengths = {
            o: self._pair(o, id_, relation) if relation.inverse else self._pair(id_, o, relation)
            for o in flat
        }
        if relation.kind == "far from":
            # Far from all of them; where there is none, nothing is near.
            if not flat:
                return 1.0, "any such thing"
            nearest = min(flat, key=lambda o: (strengths[o], o))
            return strengths[nearest], nearest
        for other, strength in strengths.items():
            if strength > best:
                best, name = strength, other
        return best, name

    def label(self, id_: str) -> str:
        """The top label of an object, by its one name."""
        return next(iter(self._labels.get(id_, {})), "unknown")

    # -- inside --------------------------------------------------------------------------------

    def _anchor(self, want: Want) -> Nearby:
        found = self._anchors.get(want)
        if found is None:
            things = [t for i, t in self.scene.objects.items() if self.grade(i, want)[0] > 0.0]
            found = self._anchors[want] = Nearby(things)
        return found

    def _pair(self, a: str, b: str, relation: Relation) -> float:
        one, other = self.scene.objects[a], self.scene.objects[b]
        if (relation.kind == "on" and one.support == b) or (
            relation.kind == "in" and one.container == b
        ):
            return 1.0
        return PAIRS[relation.kind](one.box, other.box)

    def _grades(self, want: Want) -> Mapping[str, float]:
        found = self._tables.get(want)
        if found is None:
            found = self._tables[want] = self._table(want)
        return found

    def _table(self, want: Want) -> Mapping[str, float]:
        if want.kind == "use":
            return self.lexicon.spread(self.lexicon.uses[want.name].things)
        if want.kind == "quality":
            return self.lexicon.spread(self.lexicon.qualities[want.name].things)
        return dict.fromkeys(self.lexicon.members(want.name), 1.0)

    def _named(self, label: str, want: Want, grades: Mapping[str, float]) -> bool:
        """Whether a label is meant: "not a chair" means armchairs too, "no lamp" floor lamps."""
        return label in grades or label.endswith(want.name)

    def _distribution(self, thing: SceneObject) -> dict[str, float]:
        weights: dict[str, float] = {}
        for label, p in thing.label.distribution().items():
            if label.strip().lower() in ("", "unknown"):
                continue
            name = self.lexicon.canonical(label)
            weights[name] = weights.get(name, 0.0) + p
        ranked = dict(sorted(weights.items(), key=lambda kv: (-kv[1], kv[0])))
        if self.mode == "certainty" and ranked:
            return {next(iter(ranked)): 1.0}
        return ranked

    def _ordered(self, found: Sequence[Found], request: Request) -> list[Found]:
        things = self.scene.objects

        def size(one: Found) -> tuple[float, ...]:
            if request.order in SIZE_ORDERS:
                return (SIZE_ORDERS[request.order](things[one.id].box),)  # type: ignore[index]
            if request.order in ("nearest", "farthest"):
                away = self._away(one.id, request.by)
                return (away if request.order == "nearest" else -away,)
            return ()

        found = self._namesakes(found, request)
        if request.order == "overview":
            around = Nearby([thing for thing in things.values() if self._labels[thing.id]])
            best = sorted(found, key=lambda one: -one.score)
            for one in best[:SEATS]:
                seen = around.near(things[one.id].box, one.id, AROUND)
                one.score *= overview(things[one.id].box, [things[id_].box for id_ in seen])
            for one in best[SEATS:]:
                one.score = 0.0
        return sorted(
            found, key=lambda one: (*size(one), -one.score, -things[one.id].observations, one.id)
        )

    def _away(self, id_: str, wants: Sequence[Want]) -> float:
        """Gap to the nearest of some things [m]."""
        box = self.scene.objects[id_].box
        others = [other for want in wants for other in self._anchor(want).near(box, id_)]
        return min((gap(box, self.scene.objects[o].box) for o in others), default=math.inf)

    def _namesakes(self, found: Sequence[Found], request: Request) -> Sequence[Found]:
        """Of things in an order, those that bear the very name: a nightstand is a table at need."""
        if request.order in (None, "overview"):
            return found
        found = [one for one in found if self.plausible(one.id) >= PLAUSIBLE] or found
        names = [want.name for want in request.wants if want.kind == "thing"]
        bearing = [
            one
            for one in found
            if any(form.endswith(name) for form in self._raw[one.id] for name in names)
        ]
        return bearing or found
