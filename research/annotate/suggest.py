"""What the object planner's rules would answer: a proposal, which counts only when accepted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from coterie_llm import Decider, RulesModel
from coterie_world.scene import SceneGraph
from object_planner.workflows import Roles, plan_objects

MOST = 10
"""Most objects of a suggestion."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Objects that the rules find for a query, best first (maybe none), and why."""

    query: str
    words: str
    ids: tuple[str, ...]
    explanation: str


def suggest(scene: SceneGraph, query: str, words: str) -> Suggestion:
    """Ask the rules; no model is involved and nothing is saved.

    Args:
        scene: The map.
        query: The id of the query.
        words: The request.
    """
    decider = Decider(RulesModel(), timeout_s=60.0, who="annotate")
    answer = asyncio.run(plan_objects(scene, words, Roles(decider), "grounded"))
    ids = [i for i in answer.plan.relevant_objects if i in scene.objects]
    return Suggestion(query, words, tuple(ids[:MOST]), answer.plan.reason)
