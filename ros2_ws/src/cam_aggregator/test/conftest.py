"""A small made-up house for the tests of aggregators: 24 objects, 6 rooms, K robots."""

from __future__ import annotations

import numpy as np
import pytest

from coterie_core.answer_table import AnswerTable

ROOMS = ("bathroom", "bedroom", "hallway", "kitchen", "living room", "office")


def make_table(seed: int = 0, agents: int = 3, objects: int = 24) -> AnswerTable:
    """Each object is in one or two rooms, rich rooms first; robots see a part of the rooms."""
    rng = np.random.default_rng(seed)
    share = np.array([0.1, 0.15, 0.05, 0.35, 0.25, 0.1])
    asked: list[tuple[str, str, bool]] = []
    for i in range(objects):
        where = rng.choice(6, size=1 + int(rng.random() < 0.25), replace=False, p=share)
        free = [r for r in range(6) if r not in where]
        for room in where:
            asked.append((f"thing {i:02d}", ROOMS[room], True))
            asked.append((f"thing {i:02d}", ROOMS[int(rng.choice(free))], False))
    n = len(asked)
    truth = np.array([a[2] for a in asked])
    known = rng.random((6, agents)) < 0.4
    there = np.array([[known[ROOMS.index(a[1]), k] for k in range(agents)] for a in asked])
    seen = there & truth[:, None] & (rng.random((n, agents)) < 0.8)
    places: dict[str, set[str]] = {}
    for thing, room, yes in asked:
        if yes:
            places.setdefault(thing, set()).add(room)
    elsewhere = np.array(
        [
            [sum(known[ROOMS.index(r), k] for r in places[o] - {room}) for k in range(agents)]
            for o, room, _ in asked
        ]
    )
    prior = np.clip(0.3 + 0.06 * (2 * truth - 1) + rng.normal(0, 0.2, n), 0.02, 0.98)[:, None]
    prior = np.repeat(prior, agents, axis=1)
    p_yes = np.where(seen, 0.97, np.where(there, prior * 0.4, prior))
    return AnswerTable(
        house=f"house {seed}",
        agents=tuple(f"robot_{k + 1}" for k in range(agents)),
        questions=tuple(f"q{i}" for i in range(n)),
        objects=tuple(a[0] for a in asked),
        rooms=tuple(a[1] for a in asked),
        groups=tuple(a[0] for a in asked),
        truth=truth,
        answers=p_yes > 0.5,
        confidence=np.maximum(p_yes, 1 - p_yes),
        evidence=np.where(seen, 0, np.where(there, 1, 2)).astype(np.int64),
        looks=np.where(there, 3, 0).astype(np.int64),
        visited_fraction=np.where(there, 0.8, 0.0),
        elsewhere=elsewhere.astype(np.int64),
        prior=prior,
        sightings=np.where(seen, 2, 0).astype(np.int64),
    )


@pytest.fixture
def table() -> AnswerTable:
    return make_table()


@pytest.fixture
def house():
    return make_table
