"""What teams are asked for in a house, and whether it was done, by what is so in the house."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np

from coterie_cli.demo.questions import Asked, questions_of_house
from coterie_cli.demo.referee import bank_of_house
from coterie_core.cooperation import Goal
from coterie_core.geometry import Box
from coterie_core.questions import LabelledQuestion
from coterie_fixtures.map_score import compare
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.surfaces import free_points
from habitat_bridge.embedded.things import Things
from habitat_bridge.embedded.world import EmbeddedWorld
from research.bench.skills.tasks import fetches

Kind = Literal["explore", "map", "ask", "find", "tour", "do", "cooperate"]
Role = Literal["explorer", "worker", "cooperator"]
Way = Literal["direct", "lab"]
KINDS: dict[Kind, Role] = {
    "explore": "explorer",
    "map": "explorer",
    "ask": "explorer",
    "find": "explorer",
    "tour": "explorer",
    "do": "worker",
    "cooperate": "cooperator",
}
"""What is measured, and the role of the robots that do it."""
WAYS: tuple[Way, ...] = ("direct", "lab")

_AT = 1.0  # [m] of a thing on a map from where it is
_NEXT_TOUR = 1_000_000  # between the seeds of two tours of a house
_LEVEL = 0.01  # [m] within which things stand on one surface
_LARGE = 0.1  # [m^3] of furniture that is asked about: it is seen from anywhere in its room


@dataclass(frozen=True, slots=True)
class Trial:
    """How one thing that was asked for went one way.

    Attributes:
        house: Seed of the house.
        kind: What it is.
        number: Which one of its kind in the house.
        way: Directly or through the lab.
        done: Whether it was done.
        score: How far, 0 to 1: the share of the house's kinds that were met, of what shows in it
            that the map has under its label, of a tour's questions that were answered right; else
            1 for done.
        what: In words.
        cause: In a few words, why it was not done.
        reason: At length.
        simulated: Time that it took in the house [s].
        wall: Time that it took on the machine [s].
        wrong: Questions of a tour that were not answered right, each with the answer and the truth.
    """

    house: int
    kind: Kind
    number: int
    way: Way
    done: bool
    score: float
    what: str
    cause: str = ""
    reason: str = ""
    simulated: float = 0.0
    wall: float = 0.0
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Errand:
    """A thing of a kind to be brought onto a piece of furniture, both by label."""

    item: str
    top: str
    support: str

    @property
    def words(self) -> str:
        """As a person says it."""
        return f"Bring a {self.item} to the {self.top}"

    def done(self, things: Things) -> bool:
        """Tell whether such a thing is there: of a word for several kinds, one of these.

        It may stand on another one that is there, such as a cutting board.
        """
        there = {thing.id for thing in things.upon(self.support)}
        return any(thing.id in there for thing in self._such(things) if thing.id not in things.held)

    def truth(self, things: Things) -> str:
        """Tell where such things are: on what, and where that is [m]."""
        told = []
        for thing in self._such(things):
            owner = things.things.get(thing.support or thing.container)
            holder = things.held.get(thing.id)
            on = f"in {holder}'s hand" if holder else f"on {owner.label.top if owner else 'floor'}"
            at = ", ".join(f"{c:.2f}" for c in thing.box.center)
            told.append(f"{thing.label.top} {on} ({at})")
        top = things.things[self.support].box
        return f"{'; '.join(told)}; wanted {on_box(top)}"

    def _such(self, things: Things) -> list[SceneObject]:
        kinds = _kinds_meant(self.item)
        return [thing for thing in things if thing.label.top in kinds]


def on_box(box: Box) -> str:
    """Return where the middle of a box's top is, and how wide the box is, in words [m]."""
    x, y, _ = box.center
    return f"at ({x:.2f}, {y:.2f}, {box.top:.2f}), {box.size[0]:.2f} x {box.size[1]:.2f} wide"


@cache
def _kinds_meant(word: str) -> frozenset[str]:
    """Return the labels that a word stands for: a board game is a toy."""
    name = Vocabulary.of(SceneGraph()).lookup(word)
    return frozenset({word, *(name.members if name is not None else ())})


def furniture(truth: SceneGraph) -> list[str]:
    """Return the labels of furniture that is large enough to be seen by whoever comes by."""
    return sorted(
        {
            thing.label.top
            for thing in truth.objects.values()
            if thing.kind == "furniture" and thing.box.volume >= _LARGE
        }
    )


def questions(truth: SceneGraph, seed: int, count: int) -> list[LabelledQuestion]:
    """Choose questions about furniture: as many whose answer is yes as no."""
    rng = random.Random(seed)
    large = set(furniture(truth))
    bank = [q for q in bank_of_house(truth, seed) if q.question.object in large]
    chosen: list[LabelledQuestion] = []
    for yes in (True, False):
        those = [q for q in bank if q.truth is yes]
        chosen += rng.sample(those, min(len(those), (count + yes) // 2))
    return chosen


def requests(truth: SceneGraph, seed: int, count: int) -> list[str]:
    """Choose labels of furniture to be found."""
    labels = furniture(truth)
    return random.Random(seed).sample(labels, min(count, len(labels)))


def tours(truth: SceneGraph, seed: int, count: int) -> list[list[Asked]]:
    """Return what so many tours ask, each other things; the first what a tour of the seed asks."""
    return [questions_of_house(truth, seed + _NEXT_TOUR * number) for number in range(count)]


def errands(world: EmbeddedWorld, robot: str, seed: int, count: int) -> list[Errand]:
    """Choose things that a robot can fetch, and furniture of which the house has one.

    Args:
        world: The house as it is at the start.
        robot: Who is able to do them, by arm and body.
        seed: Of the choice.
        count: How many, at most; each is about another kind of thing, and there is room for all.
    """
    labels = Counter(thing.label.top for thing in world.contents)
    chosen: dict[str, Errand] = {}
    filled: dict[str, list[Box]] = {}
    for item, top in fetches(world, robot, np.random.default_rng([seed, 0x1AB])):
        errand = Errand(item.label.top, top.label.top, top.id)
        if labels[errand.top] != 1 or errand.done(world.contents):
            continue
        spot = room_for(world.contents, item, top, filled.get(top.id, ()))
        if spot is not None and errand.item not in chosen:
            chosen[errand.item] = errand
            filled.setdefault(top.id, []).append(spot)
    return list(chosen.values())[:count]


def room_for(
    things: Things, item: SceneObject, top: SceneObject, others: Sequence[Box] = ()
) -> Box | None:
    """Return where a thing fits onto furniture beside what lies there, and `others`, if it does."""
    for one in top.receptacles:
        if one.inside:
            continue
        height = one.surface.center[2]
        there = [*things.boxes_on(top.id, height)]
        there += [other for other in others if math.isclose(other.bottom, height, abs_tol=_LEVEL)]
        points = free_points(one.surface, item.box, there)
        if len(points):
            x, y = (float(c) for c in points[0])
            size = item.box.size
            return Box((x, y, height + size[2] / 2.0), size, item.box.yaw)
    return None


def shared_goals(errands: Sequence[Errand], count: int) -> list[tuple[Goal, list[Errand]]]:
    """Make goals that robots share, each of two errands where there are enough of them."""
    size = 2 if len(errands) >= 2 * count else 1
    parts = [list(errands[k : k + size]) for k in range(0, len(errands), size)]
    return [
        (Goal.parse("tidy up", [f"ON({one.item}, {one.top}): 1" for one in part]), part)
        for part in parts[:count]
    ]


def kinds_met(truth: SceneGraph, seen: Iterable[tuple[str, Sequence[float]]]) -> float:
    """Return the share of a house's kinds of things that were seen where there is one.

    Args:
        truth: The house.
        seen: Label and position [m] of what was detected.
    """
    places = _by_label(truth)
    met = {
        label
        for label, at in seen
        if any(math.dist(thing.box.center, at) <= _AT for thing in places.get(label, ()))
    }
    return len(met) / len(places)


def mapped(scene: SceneGraph, truth: SceneGraph, shows: Sequence[str]) -> tuple[str, float]:
    """Return how true a map is in words, and the share of what shows that it has by its label.

    Args:
        scene: The map.
        truth: The house.
        shows: Ids of its things that are not shut in.
    """
    found = compare(scene, truth, shows)
    right = found["recall"] * found["labels"]
    said = (f"{name} {found[name]:.2f}" for name in ("precision", "recall", "labels"))
    return f"{found['things']} things: {', '.join(said)}", right


def found_right(truth: SceneGraph, label: str, found: Iterable[SceneObject]) -> bool:
    """Tell whether one of the things that were found is of a kind, and is there."""
    there = [thing.box.center[:2] for thing in _by_label(truth).get(label, ())]
    return any(math.dist(at, thing.box.center[:2]) <= _AT for thing in found for at in there)


def _by_label(truth: SceneGraph) -> dict[str, list[SceneObject]]:
    places: dict[str, list[SceneObject]] = {}
    for thing in truth.objects.values():
        places.setdefault(thing.label.top, []).append(thing)
    return places


def missing(
    trials: Collection[Trial],
    houses: Iterable[int],
    kinds: Collection[Kind],
    ways: Sequence[Way] = WAYS,
) -> list[tuple[int, Role, Way]]:
    """Return the sessions (house, role, way) of which no trial is there yet, in order."""
    have = {(trial.house, KINDS[trial.kind], trial.way) for trial in trials}
    roles = list(dict.fromkeys(KINDS[kind] for kind in KINDS if kind in kinds))
    wanted: list[tuple[int, Role, Way]] = [
        (house, role, way) for house in houses for role in roles for way in ways
    ]
    return [one for one in wanted if one not in have]
