"""The order in which wants were said: what comes after what, as far as it was said."""

from __future__ import annotations

from collections.abc import Sequence

from coterie_core.tasks import SubTask, SubTaskState
from emos_planner.leader.board import Board
from emos_planner.leader.wants import Want


def put_in_order(wants: Sequence[Want], board: Board) -> None:
    """Let the sub-tasks of every "then" wait for those of the wants before it.

    Called again whenever the board has grown. What is waited for may fail: then it is over, and
    what waits begins all the same ("put the milk in the fridge, then close it").
    """
    before: list[str] = []
    for want in wants:
        mine = _sub_tasks(want, board)
        if want.then:
            for id in mine:
                earlier = [i for i in before if i != id and not _depends(i, id, board)]
                known = board.waits.get(id, ())
                added = tuple(i for i in dict.fromkeys(earlier) if i not in known)
                board.waits[id] = (*known, *added)
                one = board.sub_tasks[id]
                depends = tuple(dict.fromkeys((*one.depends_on, *added)))
                board.sub_tasks[id] = one.model_copy(update={"depends_on": depends})
        before += [id for id in mine if id not in before]


def wait_for_new(board: Board, tasks: dict[str, SubTask]) -> None:
    """Let what was said to come later wait for what was found to be done before it."""
    for id, earlier in board.waits.items():
        one = tasks.get(id)
        if one is not None and one.state is SubTaskState.PENDING:
            depends = (*one.depends_on, *(i for i in earlier if i in tasks))
            tasks[id] = one.model_copy(update={"depends_on": tuple(dict.fromkeys(depends))})


def is_over(board: Board, tasks: dict[str, SubTask], one: SubTask, lost: str) -> bool:
    """Let a sub-task wait no more for a lost one that was only said to come before it.

    Returns whether that was so; it waits on for what it cannot do without.
    """
    if lost not in board.waits.get(one.id, ()):
        return False
    depends = tuple(id for id in one.depends_on if id != lost)
    tasks[one.id] = one.model_copy(update={"depends_on": depends})
    return True


def _sub_tasks(want: Want, board: Board) -> list[str]:
    """Return the sub-tasks that serve a want, but for those that look at what is there already."""
    ids = [id for given in want.given.values() for id in given]
    if not want.enough:
        ids += [*want.searches, *want.target_searches]
    return [id for id in dict.fromkeys(ids) if id in board.sub_tasks]


def _depends(one: str, other: str, board: Board) -> bool:
    """Whether a sub-task waits, by way of others, for another one."""
    todo, seen = [one], {one}
    while todo:
        for id in board.sub_tasks[todo.pop()].depends_on:
            if id == other:
                return True
            if id not in seen and id in board.sub_tasks:
                seen.add(id)
                todo.append(id)
    return False
