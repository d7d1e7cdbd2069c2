"""A task as it is judged before it is begun: what its words take for granted, by their parser."""

from __future__ import annotations

from collections.abc import Iterable

from coterie_requests.ask_back import Mention, RequestState
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.coverage import Coverage
from coterie_world.scene import SceneGraph
from emos_planner.leader.commands import Command, parse_task

_LOOKED_FOR = ("find", "check", "look")
"""Commands that ask whether there is a thing, and where: it is not presumed."""


def task_state(
    words: str,
    scene: SceneGraph,
    robots: Iterable[str] = (),
    coverage: Coverage | None = None,
    *,
    rooms_given: bool = False,
) -> RequestState:
    """Return what a task is judged by.

    Args:
        words: The task.
        scene: The leader's map; things on it may have been given, and seen by nobody.
        robots: Names of the robots.
        coverage: What robots have looked at; None: as the things tell that robots have seen.
        rooms_given: Whether the map has had all rooms from the start.
    """
    names = tuple(robots)
    looked = coverage or Coverage(scene, given=True)
    try:
        commands = parse_task(words, Vocabulary.of(scene, names))
    except NotUnderstood as error:
        return RequestState(
            words, "do", scene, looked, robots=names, problem=error.problem, rooms_given=rooms_given
        )
    mentions = tuple(mention for command in commands for mention in _mentions(command))
    return RequestState(
        words, "do", scene, looked, robots=names, mentions=mentions, rooms_given=rooms_given
    )


def _mentions(command: Command) -> list[Mention]:
    thing = command.object
    presumed = command.kind not in _LOOKED_FOR
    found = [Mention(thing, only=thing.definite and thing.number == "one", presumed=presumed)]
    found += [
        Mention(place.phrase, only=place.phrase.definite and place.phrase.number == "one")
        for place in thing.places
    ]
    if command.target is not None:
        target = command.target
        found.append(Mention(target, "target", target.definite and target.number == "one"))
    return found
