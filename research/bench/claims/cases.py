"""Tasks in words for the bench of claims: what is said, in which house, to which team."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from coterie_core.household import load_household, plural
from coterie_world.scene import SceneGraph, SceneObject
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.house import House
from habitat_bridge.house.usual import load_usual

Kind = Literal["bring_all", "bring_count", "find_all", "find_one", "check", "clear"]
Prior = Literal["rooms", "furniture", "everything"]
Detector = Literal["perfect", "noisy"]
TeamName = Literal["mixed", "wheels"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ALL: tuple[Kind, ...] = ("bring_all", "find_all", "clear")
"""Tasks about all things of a kind: "there is none" is a claim, too."""
PRIORS: tuple[Prior, ...] = get_args(Prior)
DETECTORS: tuple[Detector, ...] = get_args(Detector)
TEAMS: Mapping[TeamName, tuple[tuple[str, str], ...]] = {
    # Robot -> body: one team that gets everywhere, and one that never takes stairs.
    "mixed": (("rover", "wheels"), ("slim", "slim"), ("walker", "legs")),
    "wheels": (("rover", "wheels"), ("slim", "slim")),
}
ABSENT = 0.2
"""Share of tasks about a thing that the house may not hold: "none" can be claimed falsely, too."""
TARGETS = (
    "table", "coffee table", "side table", "desk", "counter", "kitchen island", "dresser",
    "tv stand", "console table", "nightstand", "bench", "workbench", "bed", "shelf",
)  # fmt: skip
"""Furniture that people have things brought to."""
_LARGEST = 0.4  # [m] longest edge of things that the tasks are about
_WIDE = frozenset({"appliance", "clothes", "computer", "decoration", "food", "toy"})
"""Names that take in other categories of the household: fruit is food, a teddy bear is a toy."""
_NUMBERS = {2: "two", 3: "three"}


@dataclass(frozen=True, slots=True)
class Case:
    """One task: words, and what they mean in the true house.

    `label` is the household's name of the thing, `count` how many are asked for (0: all), `room`
    the id of the room asked about ("" for the house), `source` ids of furniture to be cleared,
    `targets` ids of the furniture where the things belong ("" for tasks that bring nothing).
    """

    house: int
    kind: Kind
    prior: Prior
    detector: Detector
    team: TeamName
    words: str
    label: str
    count: int = 0
    room: str = ""
    source: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        """The case as a flat record."""
        return asdict(self)


@lru_cache(maxsize=2)
def house_of(seed: int) -> House:
    """Return the generated house of a seed: one floor or two."""
    return generate_house(seed, floors=1 + seed % 2)


def cases(houses: range, seed: int) -> Iterator[Case]:
    """Yield tasks: per house one of each prior, with kinds, detectors and teams in turn.

    Every value of the matrix comes equally often over the houses; which meet is drawn by seed.
    """
    for number in houses:
        rng = random.Random(f"{seed}-{number}")
        truth = EmbeddedWorld(house_of(number), seed=number).truth()
        kinds = rng.sample(KINDS, len(PRIORS))
        for k, prior in enumerate(PRIORS):
            detector = DETECTORS[(number + k) % 2]
            team: TeamName = "wheels" if (number // 2 + k) % 3 == 0 else "mixed"
            kind = kinds[k]
            if kind == "clear" and prior == "rooms":
                kind = "bring_all"  # what nobody knows of nobody can be asked to clear
            case = make_case(number, kind, prior, detector, team, truth, rng)
            if case is not None:
                yield case


def make_case(
    house: int,
    kind: Kind,
    prior: Prior,
    detector: Detector,
    team: TeamName,
    truth: SceneGraph,
    rng: random.Random,
) -> Case | None:
    """Return a task of a kind in a house, or None where the house offers none."""
    home = load_household()
    small = [
        t
        for t in truth.objects.values()
        if t.kind == "item" and max(t.box.size) <= _LARGEST and not t.receptacles
    ]
    by_label: dict[str, list[SceneObject]] = {}
    for thing in small:
        name = home.canonical(thing.label.top)
        if name not in _ambiguous():
            by_label.setdefault(name, []).append(thing)
    if not by_label:
        return None
    label = rng.choice(sorted(by_label))
    if kind in ("find_all", "find_one", "check") and rng.random() < ABSENT:
        sizes = load_usual()
        absent = [
            name
            for name, c in sorted(home.categories.items())
            if c.kind == "item" and c.place == "on" and name not in _ambiguous().union(by_label)
            and name in sizes and max(most for _, most in sizes[name].size) <= _LARGEST
        ]  # fmt: skip
        label = rng.choice(absent) if absent else label
    many = plural(label)
    base = (house, kind, prior, detector, team)
    if kind == "find_all":
        return Case(*base, f"Find all {many}", label)
    if kind == "find_one":
        return Case(*base, f"Find {_a(label)}", label, 1)
    if kind == "check":
        room = truth.rooms[rng.choice(sorted(truth.rooms))]
        words = f"Check whether there is {_a(label)} in the {room.name}"
        return Case(*base, words, label, room=room.id)
    tops = [t for t in truth.objects.values() if t.label.top in TARGETS and _has_top(t)]
    named: dict[tuple[str, str], list[str]] = {}
    for top in tops:
        named.setdefault((top.label.top, top.room), []).append(top.id)
    if not named:
        return None
    where, ids = rng.choice(sorted(named.items()))
    target = f"the {where[0]} in the {truth.rooms[where[1]].name}"
    if kind == "clear":
        full = {
            key: [i for i in ids if any(t.support == i and not t.container for t in small)]
            for key, ids in named.items()
            if key != where
        }
        sources = sorted(key for key, ids in full.items() if ids)
        if not sources:
            return None
        chosen = rng.choice(sources)
        words = (
            f"Put everything on the {chosen[0]} in the {truth.rooms[chosen[1]].name} on {target}"
        )
        return Case(*base, words, "", source=tuple(named[chosen]), targets=tuple(ids))
    if kind == "bring_count":
        count = rng.choice(sorted(_NUMBERS))
        words = f"Bring {_NUMBERS[count]} {many} to {target}"
        return Case(*base, words, label, count, targets=tuple(ids))
    return Case(*base, f"Bring all {many} to {target}", label, targets=tuple(ids))


def _a(label: str) -> str:
    return f"an {label}" if label[0] in "aeiou" else f"a {label}"


@lru_cache(maxsize=1)
def _ambiguous() -> frozenset[str]:
    """Return names whose words mean other things of the household, too: nobody could say which.

    "Glasses" are also several of a glass, "bottles" may be water bottles, and fruit is food.
    """
    names = load_household().categories
    said = Counter(plural(name) for name in names)
    heads = {name.split()[-1] for name in names if " " in name}
    return frozenset(name for name in names if said[plural(name)] > 1) | heads | _WIDE


def _has_top(thing: SceneObject) -> bool:
    return any(
        not r.inside and min(r.surface.size[:2]) > 0.3 and 0.3 < r.surface.center[2] % 3.0 < 1.2
        for r in thing.receptacles
    )
