"""A task as it is judged before it is begun: what was read of its words, and what is left out."""

from __future__ import annotations

from collections.abc import Iterable

from coterie_llm import Decider
from coterie_requests.ask_back import RequestState
from coterie_requests.ask_back.rule import LEFT_OUT
from coterie_requests.read_request import read_request
from coterie_requests.request import Request
from coterie_requests.understanding import NotUnderstood, Problem
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.coverage import Coverage
from coterie_world.scene import SceneGraph
from emos_planner.leader.commands import commands_of


async def task_state(
    words: str,
    scene: SceneGraph,
    robots: Iterable[str],
    decider: Decider,
    coverage: Coverage | None = None,
    *,
    rooms_given: bool = False,
) -> RequestState:
    """Read a task, and return what it is judged by.

    Args:
        words: The task.
        scene: The leader's map; things on it may have been given, and seen by nobody.
        robots: Names of the robots.
        decider: Asks the model that reads, or the grammar.
        coverage: What robots have looked at; None: as the things tell that robots have seen.
        rooms_given: Whether the map has had all rooms from the start.

    Raises:
        NotUnderstood: It is nothing to robots, and no answer of a person would help.
    """
    names = Vocabulary.of(scene, robots)
    request: Request | None = None
    problem: Problem | None = None
    try:
        request = await read_request(words, names, decider, "do")
        commands_of(request, names)
    except NotUnderstood as error:
        problem = error.problem  # an answer may complete it
        if problem.kind not in LEFT_OUT:
            raise
    return RequestState(
        words,
        "do",
        scene,
        coverage or Coverage(scene, given=True),
        robots=names.robots,
        request=request,
        problem=problem,
        rooms_given=rooms_given,
    )
