"""A task as it is judged before it is begun: what was read of its words, and what is left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from coterie_llm import Decider
from coterie_requests.ask_back import RequestState
from coterie_requests.ask_back.answers import read_or_problem
from coterie_world.coverage import Coverage
from coterie_world.scene import SceneGraph
from emos_planner.leader.commands import wants_of


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
    looked = coverage or Coverage(scene, given=True)
    state = RequestState(words, "do", scene, looked, robots=tuple(robots), rooms_given=rooms_given)
    request, problem = await read_or_problem(
        state, decider, lambda read: wants_of(read, state.names)
    )
    return replace(state, request=request, problem=problem)
