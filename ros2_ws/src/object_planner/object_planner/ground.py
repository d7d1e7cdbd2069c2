"""A request's objects in a map: scores by labels and geometry, best first, with reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Literal

import numpy as np

from coterie_core.geometry import Box
from coterie_core.lexicon import Lexicon, load_lexicon
from coterie_core.relations import PAIRS, between, overview
from coterie_core.scene import SceneGraph, SceneObject
from object_planner.request import Relation, Request, Want

Mode = Literal["certainty", "uncertainty"]
ENOUGH = 0.35
"""Least probability for a thing to count as of a label that is not its top one."""
USEFUL = 0.15
"""Least grade for a thing to count as good for a use."""
NEAREST = 12
"""Of so many nearest things relations are computed; the others are farther away than these."""
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
    def ids(self) -> list[str]:
        """Ids, best first."""
        return [one.id for one in self.found]


class Nearby:
    """Things by where they are: the nearest ones of a box, without looking at every pair."""

    def __init__(self, things: Sequence[SceneObject]) -> None:
        self.ids = [thing.id for thing in things]
        self._centers = np.array([thing.box.center for thing in things]).reshape(-1, 3)
        sizes = np.array([thing.box.size for thing in things]).reshape(-1, 3)
        self._radii = np.linalg.norm(sizes, axis=1) / 2.0

    def near(self, box: Box, but: str, most: int = NEAREST) -> list[str]:
        """Ids of the nearest things, nearest first, without `but`; all where there are few."""
        if len(self.ids) <= most:
            return [id_ for id_ in self.ids if id_ != but]
        away = np.linalg.norm(self._centers - np.array(box.center), axis=1) - self._radii
        chosen = np.argpartition(away, most)[: most + 1]
        ordered = sorted((float(away[k]), self.ids[k]) for k in chosen)
        return [id_ for _, id_ in ordered if id_ != but][:most]


class Grounder:
    """Finds what a request asks for in one map.

    Args:
        scene: The map.
        mode: certainty: a thing is what its top label says; uncertainty: the whole distribution.
        lexicon: The tables.
    """

    def __init__(
        self, scene: SceneGraph, mode: Mode = "uncertainty", lexicon: Lexicon | None = None
    ) -> None:
        self.scene = scene
        self.mode: Mode = mode
        self.lexicon = lexicon or load_lexicon()
        self._labels = {thing.id: self._distribution(thing) for thing in scene.objects.values()}
        self._tables: dict[Want, Mapping[str, float]] = {}
        self._scores: dict[Want, dict[str, tuple[float, str]]] = {}
        self._anchors: dict[Want, Nearby] = {}

    def find(self, request: Request) -> Findings:
        """Return the objects that fit."""
        findings = Findings(request)
        if not (request.clear or request.excludes):
            findings.note = "none of the words of the request is known"
            return findings
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
            findings.note = "nothing in the map fits the request"
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
                findings.note = (
                    findings.note or f"nothing that fits is {relation.kind} such a thing"
                )
        findings.found = self._ordered(list(candidates.values()), request)
        if findings.found:
            findings.note = ""
        return findings

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
        if request.rooms and best > 0.0:
            known = {room.type for room in self.scene.rooms.values()}
            room = self.scene.rooms.get(self.scene.objects[id_].room)
            if known & set(request.rooms) and (room is None or room.type not in request.rooms):
                return 0.0, ""
        return best, why

    def grade(self, id_: str, want: Want) -> tuple[float, str]:
        """How well an object is or does what is wanted (0..1), and by which label."""
        scores = self._scores.setdefault(want, {})
        found = scores.get(id_)
        if found is None:
            found = scores[id_] = self._grade(id_, want)
        return found

    def _grade(self, id_: str, want: Want) -> tuple[float, str]:
        weights = self._labels[id_]
        if not weights:
            return 0.0, ""
        top = next(iter(weights))
        grades = self._grades(want)
        if want.kind == "thing":
            mass = sum(p for label, p in weights.items() if label in grades)
            if top not in grades and mass < ENOUGH:
                return 0.0, ""
            own = max((label for label in weights if label in grades), key=lambda k: weights[k])
            return mass, own
        shares = {label: p * grades.get(label, 0.0) for label, p in weights.items()}
        score = sum(shares.values())
        serving = sum(p for label, p in weights.items() if grades.get(label, 0.0) >= USEFUL)
        if grades.get(top, 0.0) < USEFUL and serving < ENOUGH:
            return 0.0, ""
        return score, max(shares, key=lambda label: (shares[label], label))

    def ruled_out(self, id_: str, request: Request) -> bool:
        """Whether an object is, or does, what the request says it shall not."""
        weights = self._labels[id_]
        for want in request.excludes:
            grades = self._grades(want)
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
            box = things[one.id].box
            if request.order == "largest":
                return (-box.volume,)
            if request.order == "smallest":
                return (box.volume,)
            if request.order == "tallest":
                return (-box.size[2],)
            if request.order == "highest":
                return (-box.center[2],)
            if request.order == "lowest":
                return (box.center[2],)
            return ()

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
