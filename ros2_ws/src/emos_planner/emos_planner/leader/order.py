"""The order in which wants were said: what comes after what, as far as it was said."""

from __future__ import annotations

from coterie_core.tasks import Obstacle, SubTaskState
from coterie_safety.permits.gate import NO_PERMIT
from emos_planner.leader.task_graph import TaskGraph, Want

_OPEN = (SubTaskState.PENDING, SubTaskState.RUNNING)


def put_in_order(graph: TaskGraph) -> None:
    """Let the sub-tasks of every "then" wait for those of the wants before it.

    Called again whenever the graph has grown. What is waited for may fail: then it is over, and
    what waits begins all the same ("put the milk in the fridge, then close it").
    """
    before: list[str] = []
    for want in graph.wants:
        mine = _sub_tasks(want, graph)
        for id in mine if want.then else ():
            earlier = [i for i in before if i != id and id not in graph.before(i)]
            graph.waits[id] = tuple(dict.fromkeys((*graph.waits.get(id, ()), *earlier)))
            one = graph.sub_tasks[id]
            if one.state is SubTaskState.PENDING:
                graph.change(id, depends_on=tuple(dict.fromkeys((*one.depends_on, *earlier))))
        before += [id for id in mine if id not in before]


def block(graph: TaskGraph) -> None:
    """Give up what waits for something that will not be done, for as long as that is so.

    What was only said to come earlier is not waited for any longer.
    """
    for id, why in list(graph.given_up.items()):
        one = graph.sub_tasks[id]
        if any(why == _waits(o) and o not in graph.given_up for o in one.depends_on):
            del graph.given_up[id]  # what it waits for was done, or somebody does it after all
            if one.state is not SubTaskState.DONE:
                graph.open_again(id)
    while blocked := next(
        (
            (one, other)
            for one in graph.sub_tasks.values()
            if one.state in _OPEN and one.id not in graph.given_up
            for other in one.depends_on
            if other in graph.given_up
        ),
        None,
    ):
        one, lost = blocked
        if lost in graph.waits.get(one.id, ()):
            graph.change(one.id, depends_on=tuple(id for id in one.depends_on if id != lost))
        else:
            graph.give_up(one.id, _waits(lost))


def _waits(lost: str) -> str:
    return f"waits for {lost}, which nobody does"


def take_lost(graph: TaskGraph) -> bool:
    """Take down which things nobody can see to; tell whether others are to be looked for.

    What was put where nobody can look is not lost, nor is what nobody permitted: no other one is
    brought instead.
    """

    def failed(words: str) -> set[str]:
        return {id for id, by in graph.failures.items() if any(words in why for why in by.values())}

    looked = failed(Obstacle.NOT_THERE.value)
    lost = {i for i in graph.given_up if graph.sub_tasks[i].state is not SubTaskState.DONE}
    more = False
    for want in graph.wants:
        open_ = {thing: lost.intersection(ids) for thing, ids in want.assigned.items()}
        want.unseen = {
            thing for thing, ids in open_.items() if ids and ids <= graph.checks - looked
        }
        if not want.any_will_do or want.label in graph.scene.objects:
            continue
        before = want.count
        left = {thing for thing, ids in open_.items() if ids and not ids & failed(NO_PERMIT)}
        want.lost = left - want.unseen
        more |= want.count < min(before, want.need)
    return more


def _sub_tasks(want: Want, graph: TaskGraph) -> list[str]:
    """Return the sub-tasks that serve a want, but for those that look at what is there already."""
    ids = [id for given in want.assigned.values() for id in given]
    if not want.enough:
        ids += [*want.searches, *want.target_searches]
    return [id for id in dict.fromkeys(ids) if id in graph.sub_tasks]
