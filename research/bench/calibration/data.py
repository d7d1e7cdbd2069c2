"""Explorations for calibration: what robots found, kept apart from what they make of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie_core.answer_table import EVIDENCE_KINDS, AnswerTable, BoolArray, FloatArray, IntArray
from coterie_core.confidence import ConfidenceModel
from coterie_core.questions import LabelledQuestion
from coterie_fixtures.explorations import ExplorerRun, run_exploration
from coterie_requests.common_sense import load_common_sense
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import WorldError
from mele_explorer.answering import Answerer, Findings
from mele_explorer.bank import QuestionBank
from research.bench.graph_houses import WALKER, list_scans, load_graph_world

FIT_HOUSES = tuple(range(100, 112))
"""Seeds of the generated houses that the numbers are fitted on."""
TEST_HOUSES = tuple(range(500, 512))
"""Seeds of the generated houses that they are tested on."""
BODY = "wheels"
HOPS = 10
_SEEN, _NOT_THERE, _PRIOR_ONLY = (
    EVIDENCE_KINDS.index(kind) for kind in ("seen", "not_there", "prior_only")
)


@dataclass(frozen=True, slots=True)
class Exploration:
    """What K robots found of N questions in one house.

    `generated`: a house of the generator, else one from files. Arrays are (N, K): `sense` is what
    common sense says (0..1), `visited` the share of the room's places seen well, `looks_per_place`
    and `looks` views, `found` the probability that a remembered object is what was asked for, and
    `best` that of the likeliest single one.
    """

    house: str
    generated: bool
    seed: int
    items: tuple[LabelledQuestion, ...]
    sense: FloatArray
    visited: FloatArray
    looks_per_place: FloatArray
    looks: IntArray
    found: FloatArray
    best: FloatArray
    elsewhere: IntArray
    sightings: IntArray

    @property
    def robots(self) -> int:
        """Number of robots K."""
        return int(self.sense.shape[1])

    @property
    def truth(self) -> BoolArray:
        """What is so (N,)."""
        return np.array([item.truth for item in self.items], dtype=bool)

    def table(self, model: ConfidenceModel, robots: int) -> AnswerTable:
        """Return what the first `robots` robots answer by the rule with these numbers."""
        k = min(robots, self.robots)
        prior = model.prior.of(self.sense[:, :k])
        found, looks = self.found[:, :k], self.looks[:, :k]
        p = model.detector.there(prior, self.visited[:, :k], self.looks_per_place[:, :k], found)
        seen = self.best[:, :k] >= 0.5
        kind = np.where(seen, _SEEN, np.where(looks > 0, _NOT_THERE, _PRIOR_ONLY))
        return AnswerTable(
            house=self.house,
            agents=tuple(f"agent_{j + 1}" for j in range(k)),
            questions=tuple(item.question.id for item in self.items),
            objects=tuple(item.question.object for item in self.items),
            rooms=tuple(item.question.room for item in self.items),
            groups=tuple(item.group or item.question.object for item in self.items),
            truth=self.truth,
            answers=p > 0.5,
            confidence=np.maximum(p, 1.0 - p),
            evidence=kind.astype(np.int64),
            looks=looks,
            visited_fraction=self.visited[:, :k],
            elsewhere=self.elsewhere[:, :k],
            prior=prior,
            sightings=self.sightings[:, :k],
        )


@dataclass(frozen=True, slots=True)
class Trip:
    """An exploration to be made: of the house `scan` in `graphs`, else of the generated `seed`."""

    graphs: Path | None
    scan: str
    seed: int
    robots: int

    def explore(self) -> Exploration:
        """Explore."""
        if self.graphs is None:
            return explore_generated(self.seed, self.robots)
        return explore_scan(self.graphs, self.scan, self.seed, self.robots)


def trips(
    graphs: Path | None, houses: tuple[int, ...], seeds: int, robots: int, crowd: int
) -> list[Trip]:
    """Return what to explore: all houses of a folder, and generated ones, small teams and crowds.

    Crowds explore in the trial after the last of each house of the folder, and in two of the
    generated houses.

    Args:
        graphs: Folder of topological houses; None: none.
        houses: Seeds of generated houses, each of which is explored once.
        seeds: Trials of each house of the folder.
        robots: Robots of a small team.
        crowd: Robots of a crowd, as far as the house has places for them to start from; 0: none.

    Raises:
        WorldError: The folder holds no houses.
    """
    known = []
    for scan in [] if graphs is None else list_scans(graphs):
        known += [Trip(graphs, scan, seed, robots) for seed in range(seeds)]
        known += [Trip(graphs, scan, seeds, crowd)] if crowd else []
    return known + [
        Trip(None, "", seed, crowd if crowd and number < 2 else robots)
        for number, seed in enumerate(houses)
    ]


def explore_scan(graphs: Path, scan: str, seed: int, robots: int) -> Exploration:
    """Return what robots find in a topological house."""
    world = load_graph_world(graphs, scan, seed=seed)
    return _explore(world, WALKER, scan, False, seed, robots)


def explore_generated(seed: int, robots: int) -> Exploration:
    """Return what robots with a usual detector find in a generated house of one floor."""
    world = EmbeddedWorld(generate_house(seed, floors=1), seed=seed, threads=1)
    return _explore(world, EMBODIMENTS[BODY], f"generated {seed}", True, seed, robots)


def _explore(
    world: Any, body: Any, name: str, generated: bool, seed: int, robots: int
) -> Exploration:
    for k in range(robots):
        try:
            world.add_robot(f"agent_{k + 1}", body)
        except WorldError:
            if k == 0:
                raise
            break  # the house is full
    bank = QuestionBank.from_graph(world.truth(), seed)
    runs = asyncio.run(run_exploration(world, steps=HOPS, seed=seed))
    return Exploration(name, generated, seed, tuple(bank.items), **_columns(runs, bank))


def _columns(runs: Sequence[ExplorerRun], bank: QuestionBank) -> dict[str, Any]:
    """Return the findings of all robots as arrays (N, K)."""
    found: list[list[Findings]] = []
    for run in runs:
        answerer = Answerer(run.memory, load_common_sense())
        found.append([answerer.findings(item.question) for item in bank.items])
    names = ("sense", "visited", "looks_per_place", "looks", "found", "best", "sightings")
    data: dict[str, Any] = {
        name: np.array([[getattr(f, name) for f in column] for column in found]).T for name in names
    }
    data["elsewhere"] = np.array([[len(f.elsewhere) for f in column] for column in found]).T
    return data
