"""The five household activities as goals, and where things lie at the start (C-WAH)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from coterie_core.cooperation import Goal, Relation, SubGoal, Thing
from coterie_core.household import load_household
from research.bench.reveca.homes import BOX, Home


@dataclass(frozen=True, slots=True)
class Activity:
    """A household activity: what is brought, and where to (the first of these that a home has)."""

    name: str
    items: tuple[str, ...]
    targets: tuple[tuple[Relation, str], ...]


ACTIVITIES: tuple[Activity, ...] = (
    Activity(
        "set the table",
        ("plate", "fork", "cup", "wine glass", "napkin"),
        (("on", "table"), ("on", "coffee table"), ("on", "desk"), ("on", "counter")),
    ),
    Activity(
        "put groceries away",
        ("milk", "cheese", "apple", "juice", "yogurt"),
        (("in", "refrigerator"), ("in", "cabinet"), ("on", "counter")),
    ),
    Activity(
        "prepare a meal",
        ("bread", "pan", "banana", "soup can", "pot"),
        (("on", "counter"), ("on", "kitchen island"), ("on", "table"), ("on", "desk")),
    ),
    Activity(
        "wash the dishes",
        ("plate", "bowl", "cup", "knife", "pan"),
        (("in", "dishwasher"), ("on", "sink"), ("on", "counter")),
    ),
    Activity(
        "have a drink or a snack",
        ("wine glass", "juice", "cookies", "apple", "mug"),
        (("on", "coffee table"), ("on", "sofa"), ("on", "table"), ("on", "bed")),
    ),
)

# What else lies about: never part of a goal.
_BYSTANDERS = (
    "books",
    "towel",
    "phone",
    "vase",
    "candle",
    "toy",
    "lamp",
    "keys",
    "pen",
    "shoes",
    "hat",
    "laptop",
    "scissors",
    "cushion",
    "speaker",
)
BROKEN = "broken"
"""What look-alikes are, seen from near."""
_IN_CONTAINER = 0.5
_STRAY = 0.12
"""Share of things that lie in a container, and weight of rooms where one would not look."""


@dataclass(slots=True)
class Setting:
    """An episode before its first step: the goal, and the things that can be carried.

    `guises`: what some of them are taken for from afar, id -> label.
    """

    goal: Goal
    items: dict[str, Thing]
    guises: dict[str, str] = field(default_factory=dict)


def arrange(
    home: Home,
    seed: int,
    activity: Activity,
    *,
    dummies: int = 0,
    bystanders: int = 10,
    hidden: bool = True,
    lookalikes: int = 0,
    confused: float = 0.0,
) -> Setting:
    """Draw a goal of 3 to 5 things and where all things lie.

    Dummies come last and from a stream of their own: the episode is the same with and without.

    Args:
        home: The home.
        seed: Of the episode.
        activity: What is to be done.
        dummies: Things without use for any goal, added for noise.
        bystanders: Things of everyday life that belong to no goal.
        hidden: Some things lie in containers.
        lookalikes: Things that from afar look like what the goal asks for: broken ones.
        confused: Share of things that from afar are taken for another of those that lie about.
    """
    draw = random.Random(f"setting {seed} {home.name} {activity.name}")
    relation, target = _target(home, activity)
    total = draw.randint(3, 5)
    kinds = draw.sample(activity.items, draw.randint(2, min(3, total)))
    counts = dict.fromkeys(kinds, 1)
    for _ in range(total - len(kinds)):
        counts[draw.choice(kinds)] += 1
    goal = Goal(activity.name, tuple(SubGoal(relation, k, target, n) for k, n in counts.items()))
    setting = Setting(goal, {})
    numbers: dict[str, int] = {}
    for kind, count in counts.items():
        for _ in range(count + draw.randint(0, 1)):
            _place(setting, home, kind, draw, numbers, hidden, avoid=target)
    others = [label for label in _BYSTANDERS if label not in counts]
    for label in draw.choices(others, k=bystanders):
        _place(setting, home, label, draw, numbers, hidden)
    noise = random.Random(f"dummies {seed} {home.name} {activity.name}")
    for _ in range(dummies):
        _place(setting, home, noise.choice(_dummy_labels()), noise, numbers, hidden)
    if lookalikes or confused:
        _disguise(setting, home, list(counts), lookalikes, confused, seed, target)
    return setting


def _disguise(
    setting: Setting,
    home: Home,
    kinds: Sequence[str],
    lookalikes: int,
    confused: float,
    seed: int,
    target: str,
) -> None:
    """Add look-alikes, confuse labels, and give all things names that tell nothing."""
    draw = random.Random(f"guises {seed} {home.name}")
    numbers: dict[str, int] = {}
    alike: dict[str, str] = {}
    for k in range(lookalikes):
        kind = kinds[k % len(kinds)]
        before = set(setting.items)
        _place(setting, home, kind, draw, numbers, True, avoid=target, mark=f"{BROKEN} ")
        alike |= dict.fromkeys(set(setting.items) - before, kind)
    labels = sorted({thing.label for thing in setting.items.values()} - set(alike.values()))
    labels = [label for label in labels if not label.startswith(BROKEN)] + list(kinds)
    ids = sorted(setting.items)
    draw.shuffle(ids)
    named: dict[str, Thing] = {}
    for number, id_ in enumerate(ids, start=1):
        thing, name = setting.items[id_], f"thing-{number}"
        named[name] = replace(thing, id=name)
        if id_ in alike:
            setting.guises[name] = alike[id_]
        elif draw.random() < confused:
            setting.guises[name] = draw.choice([x for x in labels if x != thing.label])
    setting.items = named


def _target(home: Home, activity: Activity) -> tuple[Relation, str]:
    labels = {thing.label for thing in home.fixed.values()}
    for relation, label in activity.targets:
        if label in labels:
            return relation, label
    thing = next(iter(home.fixed.values()))
    return ("in" if thing.kind == "container" else "on"), thing.label


@lru_cache(maxsize=1)
def _dummy_labels() -> tuple[str, ...]:
    """Labels of small things that no activity asks for."""
    household = load_household()
    asked = {household.canonical(kind) for one in ACTIVITIES for kind in one.items}
    return tuple(
        c.label
        for c in household.categories.values()
        if c.kind == "item" and not c.opens and c.label not in asked and c.place == "on" and c.on
    )


def _place(
    setting: Setting,
    home: Home,
    label: str,
    draw: random.Random,
    numbers: dict[str, int],
    hidden: bool,
    avoid: str = "",
    mark: str = "",
) -> None:
    numbers[label] = numbers.get(label, 0) + 1
    options, weights = _options(home, label, avoid)
    inside = hidden and draw.random() < _IN_CONTAINER
    wanted = "container" if inside else "surface"
    fitting = [k for k, thing in enumerate(options) if thing.kind == wanted]
    chosen = fitting or list(range(len(options)))
    owner = draw.choices([options[k] for k in chosen], [weights[k] for k in chosen])[0]
    label = f"{mark}{label}"
    id_ = f"{label.replace(' ', '-')}-{numbers[label.removeprefix(mark)]}"
    relation: Relation = "in" if owner.kind == "container" else "on"
    setting.items[id_] = Thing(id_, label, "item", owner.spot, owner.id, relation, portable=True)


_OPTIONS: dict[tuple[str, str, str], tuple[list[Thing], list[float]]] = {}


def _options(home: Home, label: str, avoid: str) -> tuple[Sequence[Thing], Sequence[float]]:
    """Return where a thing may lie and how likely: by room first, then by piece of furniture."""
    key = (home.name, label, avoid)
    found = _OPTIONS.get(key)
    if found is None:
        household = load_household()
        category = household.category(label)
        liked = {m for name in (category.on if category else ()) for m in household.members(name)}
        owners = [t for t in home.fixed.values() if t.label != avoid]
        per_room: dict[str, float] = {}
        for thing in owners:
            per_room[thing.spot.room] = per_room.get(thing.spot.room, 0.0) + _liking(thing, liked)
        weights = [
            (_STRAY + household.likelihood(label, home.ways.rooms[t.spot.room].type))
            * _liking(t, liked)
            / per_room[t.spot.room]
            for t in owners
        ]
        if len(_OPTIONS) > 5000:
            _OPTIONS.clear()
        found = _OPTIONS[key] = (owners, weights)
    return found


def _liking(thing: Thing, liked: set[str]) -> float:
    return 1.0 if thing.label in liked or thing.label == BOX else 0.25


def by_name(name: str) -> Activity:
    """Return an activity by its name.

    Raises:
        KeyError: There is none; says which there are.
    """
    names: Mapping[str, Activity] = {one.name: one for one in ACTIVITIES}
    if name not in names:
        raise KeyError(f"activity: expected one of {sorted(names)}, got {name!r}")
    return names[name]
