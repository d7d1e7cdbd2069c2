"""Words to goals to sub-tasks, by rule: plain English, and a map that may be unfinished."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass

from coterie_core.scene import SceneGraph
from coterie_core.tasks import Predicate, SubTask
from emos_planner.leader.commands import parse_task
from emos_planner.leader.options import LeaderOptions
from emos_planner.leader.phrases import Phrase, Vocabulary
from emos_planner.leader.searches import Searches
from emos_planner.leader.verbs import NotUnderstood
from emos_planner.leader.wants import (
    Board,
    Want,
    expand,
    goals_of_wants,
    wants_of,
    wants_of_goals,
)

_UNSEEN = LeaderOptions().unseen

__all__ = ["NotUnderstood", "Understanding", "goals_of", "sub_tasks_of", "understand"]


@dataclass(slots=True)
class Understanding:
    """What a task means: wants, and the sub-tasks that they need with what is known now."""

    words: str
    wants: list[Want]
    board: Board
    scene: SceneGraph

    @property
    def goals(self) -> tuple[Predicate, ...]:
        """The goals as predicates."""
        return goals_of_wants(self.wants, self.scene)

    @property
    def sub_tasks(self) -> tuple[SubTask, ...]:
        """The sub-tasks; nobody is assigned yet."""
        return tuple(self.board.sub_tasks.values())

    def grow(self) -> list[str]:
        """Add what the map, which may have grown, now makes possible; return the new ids."""
        return expand(self.wants, self.scene, self.board)


def understand(
    words: str, scene: SceneGraph, robots: Iterable[str] = (), *, unseen: float = _UNSEEN
) -> Understanding:
    """Return what a task in words means on this map.

    Args:
        words: For example "Bring all mugs to the kitchen counter".
        scene: The map; read again by `Understanding.grow`.
        robots: Names of the robots, so that one may be spoken to.
        unseen: Expected number of unseen things that ends a search.

    Raises:
        NotUnderstood: Words that mean nothing to robots, or a room that is not there.
    """
    names = tuple(robots)
    wants = wants_of(parse_task(words, Vocabulary.of(scene, names)))
    board = Board(names, Searches(scene, unseen))
    for want in wants:
        _note_ignored(want, board)
    understanding = Understanding(words, wants, board, scene)
    understanding.grow()
    return understanding


def from_goals(
    goals: Iterable[Predicate], scene: SceneGraph, robots: Iterable[str] = (), words: str = ""
) -> Understanding:
    """Return the same for goals that are given as predicates."""
    board = Board(tuple(robots), Searches(scene))
    understanding = Understanding(words, wants_of_goals(goals), board, scene)
    understanding.grow()
    return understanding


def goals_of(words: str, scene: SceneGraph, robots: Iterable[str] = ()) -> tuple[Predicate, ...]:
    """Return the goals of a task in words; see `understand`.

    Raises:
        NotUnderstood: See there.
    """
    return understand(words, copy.copy(scene), robots).goals


def sub_tasks_of(
    goals: Iterable[Predicate], scene: SceneGraph, robots: Iterable[str] = ()
) -> tuple[SubTask, ...]:
    """Return the sub-tasks that reach goals: open, detect, pick, place, go, search.

    Raises:
        NotUnderstood: A goal cannot be reached on this map.
    """
    return from_goals(goals, scene, robots).sub_tasks


def _note_ignored(want: Want, board: Board) -> None:
    phrases: list[Phrase] = [p for p in (want.phrase, want.target) if p is not None]
    for phrase in phrases:
        if phrase.ignored:
            board.note(
                f"robots cannot tell {' and '.join(repr(w) for w in phrase.ignored)}: "
                f"any {phrase.noun} counts"
            )
