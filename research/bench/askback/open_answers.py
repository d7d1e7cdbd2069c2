"""Open answers about a house: how sure they are, and whether they are right; one robot may lie."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from coterie_core.detections import ImageDetection
from coterie_llm import Decider, RulesModel
from coterie_requests.detector_vocabulary import household_vocabulary
from coterie_world.scene import SceneGraph
from coterie_world.scene.regions import Regions
from openeqa_agent.agents import OpenAgent
from research.bench.askback.told import Told
from research.bench.openeqa.facts import Facts
from research.bench.openeqa.judge import rule_mark
from research.bench.openeqa.questions import HouseQuestion, ask_house
from research.bench.openeqa.tour import Episode, Sight, make_tour
from research.bench.openeqa.world import TIDY, Home, known_part
from semantic_mapper.mapper import SemanticMapper
from semantic_mapper.options import MapperOptions

PER_CATEGORY = 6
TEAM = 3
"""Robots whose images the map is made of; with a liar, one of them reports wrong names."""
_RIGHT = 4
"""Mark (1..5) from which an answer counts as right."""
_STRETCH = 7
"""Images that one robot makes before another one's come: about a look around at one place."""


def open_answers(seed: int) -> tuple[Told, Told]:
    """Return what is answered about a generated house: by an honest team, and with a liar."""
    home = Home(seed)
    try:
        tour = make_tour(home, seed)
        asked = ask_house(Facts(home, tour, Sight(home)), seed, PER_CATEGORY)
        lied = lied_map(home, tour, seed)
        return _answered(seed, asked, tour.map), _answered(seed, asked, lied)
    finally:
        home.close()


def lied_map(home: Home, tour: Episode, seed: int) -> SceneGraph:
    """Return the map of a tour that three robots share, one of whom calls each thing another one.

    The liar has one wrong name for each right one and keeps to it, which is worse for a map than
    names by lot: its mistakes agree.
    """
    labels = list(household_vocabulary())
    order = np.random.default_rng([0x11A2, seed]).permutation(len(labels))
    wrong = {labels[order[k]]: labels[order[k - 1]] for k in range(len(labels))}
    liar = seed % TEAM
    mapper = SemanticMapper(MapperOptions(), Regions(home.truth))
    for k, frame in enumerate(tour.frames, 1):
        seen: Sequence[ImageDetection] = frame.detections or ()
        if (k - 1) // _STRETCH % TEAM == liar:
            seen = [
                replace(one, scores={wrong.get(name, name): s for name, s in one.scores.items()})
                for one in seen
            ]
        mapper.update(frame.frame, seen)
        if k % TIDY == 0:
            mapper.tidy()
    return known_part(mapper.scene(), set(tour.rooms))


def _answered(seed: int, asked: Sequence[HouseQuestion], scene: SceneGraph) -> Told:
    agent = OpenAgent(Decider(RulesModel()))
    sure: list[float] = []
    right: list[bool] = []
    for one in asked:
        reply = asyncio.run(agent.answer(one.question, scene))
        mark = rule_mark(one.question, one.answer, one.extra, reply.text)
        given = not reply.abstains and reply.confidence > 0.0
        sure.append(reply.confidence if given else 0.0)
        right.append(not given or mark >= _RIGHT)
    return Told(np.array(sure), np.array(right, dtype=bool), (str(seed),) * len(sure))
