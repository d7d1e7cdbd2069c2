"""Object planner node: which objects of the team's map does a request call for?"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from dataclasses import replace

from coterie_core.waiting import in_time
from coterie_msgs.srv import QueryObjects
from coterie_requests.ask_back import RequestState
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_ros.agent_node import AgentNode
from coterie_ros.asking import ROOMS_PARAMETER, node_person
from coterie_ros.conversions.judgement import judgement_to_msg
from coterie_ros.main import ProcessOptions, run_nodes
from coterie_ros.model import (
    EMBEDDER_PARAMETER,
    MODEL_PARAMETER,
    node_decider,
    node_meanings,
)
from coterie_ros.parameters import Parameters, ParameterSpec, specs_of
from coterie_ros.team_memory import MEMORY_PARAMETERS, MemoryKeeper
from coterie_safety.why import belong, note
from object_planner.asking_back import find_settled
from object_planner.settings import PlannerSettings
from object_planner.workflows import Options, Roles

MOST_CHARACTERS = 600
"""Longest request [characters]."""
FIRST_MAP = 10.0
"""How long a request waits for the first map [s]."""


class PlannerNode(AgentNode):
    """`object_planner`: serves `query_objects` on the latest `semantic_map`."""

    PARAMETERS = (
        *specs_of(PlannerSettings),
        ParameterSpec(
            "rounds", 2, "Largest number of rounds of reflection.", minimum=0, maximum=10
        ),
        ParameterSpec("members", 6, "Number of planners of an ensemble.", minimum=1, maximum=20),
        ParameterSpec(
            "ensemble_temperature",
            0.7,
            "Sampling temperature of an ensemble's planners, unless the model's profile sets one.",
            minimum=0.0,
            maximum=2.0,
        ),
        ParameterSpec("ensemble_seed", 0, "Sampling seed of an ensemble's first planner."),
        ParameterSpec(
            "limit", 10, "Largest number of objects in an answer.", minimum=1, maximum=50
        ),
        ParameterSpec(
            "detector_vocabulary",
            [],
            "Labels that the detector can report; empty: they are not known.",
        ),
        ROOMS_PARAMETER,
        MODEL_PARAMETER,
        EMBEDDER_PARAMETER,
        *MEMORY_PARAMETERS,
    )

    def on_setup(self, parameters: Parameters) -> None:
        """Make the model; offer the service."""
        self.decider = node_decider(self, parameters.json("model_profile"), "object_planner")
        self.options = Options(
            mode=parameters["mode"],
            rounds=parameters["rounds"],
            members=parameters["members"],
            temperature=parameters["ensemble_temperature"],
            seed=parameters["ensemble_seed"],
            meanings=node_meanings(parameters.json("embedder")),
        )
        self.keeper = MemoryKeeper(self, "object_planner")
        self._vocabulary = DetectorVocabulary.of(parameters["detector_vocabulary"])
        self._person = node_person(self)
        self._mapped = asyncio.Event()
        self.serve(QueryObjects, "query_objects", self._on_query, timeout=600.0)

    def on_start(self) -> None:
        """Listen to the map, and to what robots do to objects."""
        self.keeper.begin(on_map=self._on_map)

    def on_release(self) -> None:
        """Keep the memory for the next start."""
        self.keeper.save()

    def _on_map(self) -> None:
        self._mapped.set()

    async def _on_query(self, request: QueryObjects.Request) -> QueryObjects.Response:
        words = " ".join(request.query.split())
        if not words or len(words) > MOST_CHARACTERS:
            return QueryObjects.Response(
                message=f"query: expected 1 to {MOST_CHARACTERS} characters, got {len(words)}; "
                'for example "something to sit on that is not a chair"'
            )
        with suppress(asyncio.TimeoutError):  # a team that has just come up has none yet
            await in_time(self._mapped.wait(), FIRST_MAP)
        if not self._mapped.is_set():
            return QueryObjects.Response(
                message="there is no map yet on topic semantic_map; is a mapper running?"
            )
        belong(question=f"find-{uuid.uuid4().hex[:8]}")
        note("question", "object_planner", {"words": words})
        found = await find_settled(
            RequestState(
                words,
                "find",
                self.keeper.memory.scene(),
                vocabulary=self._vocabulary,
                rooms_given=self.parameters["rooms_given"],
            ),
            Roles(self.decider),
            self.parameters["method"],
            replace(self.options, limit=request.limit or self.parameters["limit"]),
            self._person if self.parameters["ask_back"] else None,
        )
        ids = found.ids
        told = f"{len(ids)} objects: {', '.join(ids[:20])}" if ids else "no object"
        note("answer", "the team", {"words": told, "explanation": found.explanation})
        return QueryObjects.Response(
            success=True,
            objects=found.ids,
            explanation=found.explanation,
            judgement=judgement_to_msg(found.judgement),
        )


def make_nodes(options: ProcessOptions) -> list[PlannerNode]:
    """Return the planner of a team."""
    return [PlannerNode("object_planner", namespace=options.namespace, context=options.context)]


def main() -> None:
    """Run the planner."""
    raise SystemExit(run_nodes(make_nodes))


if __name__ == "__main__":
    main()
