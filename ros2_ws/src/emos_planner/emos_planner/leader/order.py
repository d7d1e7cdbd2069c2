"""The order in which wants were said: what comes after what, as far as it was said."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from coterie_core.tasks import Obstacle, SubTask, SubTaskState
from emos_planner.leader.task_graph import TaskGraph, Want

_OPEN = (SubTaskState.PENDING, SubTaskState.RUNNING)


def put_in_order(wants: Sequence[Want], graph: TaskGraph) -> None:
    """Let the sub-tasks of every "then" wait for those of the wants before it.

    Called again whenever the graph has grown. What is waited for may fail: then it is over, and
    what waits begins all the same ("put the milk in the fridge, then close it").
    """
    before: list[str] = []
    for want in wants:
        mine = _sub_tasks(want, graph)
        if want.then:
            for id in mine:
                earlier = [i for i in before if i != id and not _depends(i, id, graph)]
                known = graph.waits.get(id, ())
                added = tuple(i for i in dict.fromkeys(earlier) if i not in known)
                graph.waits[id] = (*known, *added)
                one = graph.sub_tasks[id]
                depends = tuple(dict.fromkeys((*one.depends_on, *added)))
                graph.sub_tasks[id] = one.model_copy(update={"depends_on": depends})
        before += [id for id in mine if id not in before]


def wait_for_new(graph: TaskGraph, tasks: dict[str, SubTask]) -> None:
    """Let what was said to come later wait for what was found to be done before it."""
    for id, earlier in graph.waits.items():
        one = tasks.get(id)
        if one is not None and one.state is SubTaskState.PENDING:
            depends = (*one.depends_on, *(i for i in earlier if i in tasks))
            tasks[id] = one.model_copy(update={"depends_on": tuple(dict.fromkeys(depends))})


def block(
    graph: TaskGraph, tasks: dict[str, SubTask], given_up: dict[str, str], dropped: Collection[str]
) -> None:
    """Give up what waits for something that will not be done, for as long as that is so.

    Args:
        graph: Knows what was only said to come earlier: that is not waited for any longer.
        tasks: The sub-tasks as they are now; changed in place.
        given_up: Id -> why nobody does it; grows.
        dropped: Ids of those that count no longer.
    """
    for id, why in list(given_up.items()):
        one = tasks.get(id)
        if one is None or not any(why == _waits(o) and o not in given_up for o in one.depends_on):
            continue
        del given_up[id]  # what it waits for was done, or somebody does it after all
        if one.state is not SubTaskState.DONE and id not in dropped:
            update = {"state": SubTaskState.PENDING, "robot": "", "reason": ""}
            tasks[id] = one.model_copy(update=update)
    changed = True
    while changed:
        changed = False
        for one in list(tasks.values()):
            if one.state not in _OPEN or one.id in given_up or one.id in dropped:
                continue
            lost = next((other for other in one.depends_on if other in given_up), "")
            if not lost:
                continue
            if lost in graph.waits.get(one.id, ()):
                depends = tuple(id for id in one.depends_on if id != lost)
                tasks[one.id] = one.model_copy(update={"depends_on": depends})
            else:
                given_up[one.id] = reason = _waits(lost)
                tasks[one.id] = one.model_copy(update={"reason": reason})
            changed = True


def _waits(lost: str) -> str:
    return f"waits for {lost}, which nobody does"


def take_lost(
    wants: Iterable[Want],
    graph: TaskGraph,
    tasks: Mapping[str, SubTask],
    given_up: Collection[str],
    failures: Mapping[str, Mapping[str, str]],
) -> bool:
    """Take down which things nobody can see to; tell whether others are to be looked for.

    What was put where nobody can look is not lost: no other one is brought instead.
    """
    looked = {
        id
        for id, reasons in failures.items()
        if any(reason.startswith(Obstacle.NOT_THERE.value) for reason in reasons.values())
    }
    more = False
    for want in wants:
        open_ = {
            thing: {i for i in ids if i in given_up and tasks[i].state is not SubTaskState.DONE}
            for thing, ids in want.assigned.items()
        }
        want.unseen = {
            thing for thing, ids in open_.items() if ids and ids <= graph.checks - looked
        }
        if not want.any_will_do or want.label in graph.book.scene.objects:
            continue
        before = want.count
        want.lost = {thing for thing, ids in open_.items() if ids} - want.unseen
        more |= want.count < min(before, want.need)
    return more


def _sub_tasks(want: Want, graph: TaskGraph) -> list[str]:
    """Return the sub-tasks that serve a want, but for those that look at what is there already."""
    ids = [id for given in want.assigned.values() for id in given]
    if not want.enough:
        ids += [*want.searches, *want.target_searches]
    return [id for id in dict.fromkeys(ids) if id in graph.sub_tasks]


def _depends(one: str, other: str, graph: TaskGraph) -> bool:
    """Whether a sub-task waits, by way of others, for another one."""
    todo, seen = [one], {one}
    while todo:
        for id in graph.sub_tasks[todo.pop()].depends_on:
            if id == other:
                return True
            if id not in seen and id in graph.sub_tasks:
                seen.add(id)
                todo.append(id)
    return False
