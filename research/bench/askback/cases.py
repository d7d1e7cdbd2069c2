"""Requests of the five kinds and clear ones, with what is true of them in the house."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from coterie_core.household import load_household, plural
from coterie_requests.detector_vocabulary import household_vocabulary
from coterie_world.coverage import SEEN_WELL_QUALITY
from research.bench.askback.situation import Situation
from research.bench.askback.templates import KIND_OF, NO_ROOMS, SENTENCES, Command, Part

_WIDE = frozenset({"appliance", "clothes", "computer", "decoration", "food", "toy", "books"})
"""Names that take in other categories: "food" is fruit, too."""
_IN_WHOLE = ("ambiguous", "absent", "absent_here", "no_such_room", "subjective", "missed", "clear")
_IN_PART = ("not_seen_yet", "underspecified", "clear")


@dataclass(frozen=True, slots=True)
class Case:
    """One request: its words, what it is, and the true things that it may mean.

    `template` tells the sort of sentence, `kind` what it is ("missed": of a thing that is there and
    that nobody has seen, though somebody looked well where it is); `meant` are the ids of the true
    things that fit and that the team has on its map, `label` their name.
    """

    house: int
    whole: bool
    command: Command
    template: str
    kind: str
    words: str
    label: str = ""
    meant: tuple[str, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        """The case as a flat record."""
        return asdict(self)


def cases(situation: Situation, part: Part, each: int = 2) -> Iterator[Case]:
    """Yield requests about a house: of each sort and command at most `each`."""
    rng = random.Random(f"{part} {situation.name}")
    pools = _pools(situation)
    for template in _IN_WHOLE if situation.whole else _IN_PART:
        for command, sentences in SENTENCES[part][template].items():
            chosen = [sentences[k % len(sentences)] for k in range(rng.randrange(99), 99 + 99)]
            made: dict[str, Case] = {}
            for sentence in chosen[: 4 * each]:
                case = _made(situation, template, command, sentence, pools, rng)
                if case is not None and len(made) < each:
                    made[case.words] = case
            yield from made.values()


@dataclass(frozen=True, slots=True)
class _Pools:
    several: tuple[str, ...]
    once: tuple[str, ...]
    absent: tuple[str, ...]
    unseen: tuple[str, ...]
    missed: tuple[str, ...]
    furniture: tuple[str, ...]
    rooms: tuple[tuple[str, str], ...]


def _pools(situation: Situation) -> _Pools:
    household = load_household()
    labels = [label for label in household_vocabulary() if label not in _WIDE]
    true = {label: len(situation.true_things(label)) for label in labels}
    known = {label: len(situation.known_things(label)) for label in labels}
    items = [label for label in labels if household.categories[label].kind == "item"]
    covered = situation.coverage
    unseen, missed = [], []
    for label in items:
        rooms = {thing.room for thing in situation.true_things(label)}
        if rooms and not known[label] and all(covered.share(room) < 0.4 for room in rooms):
            unseen.append(label)
        if (
            rooms
            and not known[label]
            and all(covered.share(room) >= SEEN_WELL_QUALITY for room in rooms)
        ):
            missed.append(label)
    counts = Counter(room.type for room in situation.truth.rooms.values())
    return _Pools(
        several=tuple(k for k in items if _seen_truly(situation, k) >= 2),
        once=tuple(k for k in items if true[k] == 1 == known[k] == _seen_truly(situation, k)),
        absent=tuple(k for k in items if not true[k] and not known[k]),
        unseen=tuple(unseen),
        missed=tuple(missed),
        furniture=tuple(
            k
            for k in labels
            if household.categories[k].kind == "furniture"
            and true[k] == 1 == known[k] == _seen_truly(situation, k)
            and situation.true_things(k)[0].receptacles
        ),
        rooms=tuple(
            (room.id, room.name)
            for _, room in sorted(situation.truth.rooms.items())
            if counts[room.type] == 1
        ),
    )


def _seen_truly(situation: Situation, label: str) -> int:
    return len(_meant(situation, label))


def _meant(situation: Situation, label: str, room: str = "") -> tuple[str, ...]:
    """Return the true things of a label that are on the team's map."""
    found = {
        situation.stands_for(thing, label)
        for thing in situation.known_things(label)
        if not room or thing.room == room
    }
    return tuple(sorted(found - {""}))


def _made(
    situation: Situation,
    template: str,
    command: Command,
    sentence: str,
    pools: _Pools,
    rng: random.Random,
) -> Case | None:
    """Fill a sentence; None where the house has nothing for it."""
    source = {
        "ambiguous": pools.several, "absent": pools.absent, "absent_here": pools.several,
        "not_seen_yet": pools.unseen, "subjective": pools.several, "clear": pools.several,
        "missed": pools.missed,
    }.get(template, pools.once or pools.several)  # fmt: skip
    needs = {"{x}": source, "{xs}": source, "{u}": pools.once, "{t}": pools.furniture}
    if any(key in sentence and not values for key, values in needs.items()):
        return None
    if "{room}" in sentence and not pools.rooms:
        return None
    label = rng.choice(source) if source else ""
    _, room = rng.choice(pools.rooms) if pools.rooms else ("", "")
    if template == "absent_here":
        empty = [
            (id_, name)
            for id_, name in pools.rooms
            if not any(t.room == id_ for t in situation.true_things(label))
            and not any(t.room == id_ for t in situation.known_things(label))
        ]
        if not empty:
            return None
        _, room = rng.choice(empty)
    once = rng.choice(pools.once) if pools.once else ""
    words = sentence.format(
        x=label,
        xs=plural(label) if label else "",
        u=once,
        t=rng.choice(pools.furniture) if pools.furniture else "",
        room=room,
        noroom=rng.choice(NO_ROOMS),
    )
    kind = KIND_OF.get(template, template)
    name = once if "{u}" in sentence else label
    meant = _meant(situation, name) if "{x}" in sentence or "{u}" in sentence else ()
    return Case(situation.seed, situation.whole, command, template, kind, words, name, meant)
