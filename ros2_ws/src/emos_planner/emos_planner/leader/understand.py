"""A request as a task graph: wants, and the sub-tasks that they need on an unfinished map."""

from __future__ import annotations

from collections.abc import Iterable

from coterie_core.household import load_household
from coterie_requests.request import Request
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.grounding import Resolver
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import SceneGraph
from emos_planner.leader.commands import wants_of
from emos_planner.leader.expand import expand
from emos_planner.leader.searches import ENOUGH, Searches
from emos_planner.leader.task_graph import TaskGraph, Want


def understand(
    request: Request,
    scene: SceneGraph,
    robots: Iterable[str] = (),
    *,
    unseen: float = ENOUGH,
    resumed: bool = False,
) -> TaskGraph:
    """Return what a request means on this map.

    Args:
        request: For example what was read of "Bring all mugs to the kitchen counter".
        scene: The map; read again by `expand`.
        robots: Names of the robots, so that one may be spoken to.
        unseen: Expected number of unseen things that ends a search.
        resumed: The task was begun before: what is in place already counts first.

    Raises:
        NotUnderstood: What is nothing to robots, or a room that is not there.
    """
    names = tuple(robots)
    wants = wants_of(request, Vocabulary.of(scene, names))
    graph = TaskGraph(names, Searches(scene, unseen), wants, resumed=resumed)
    graph.note(f"I read: {request.told()}")
    resolver = Resolver(scene)
    for want in wants:
        _check_target(want, resolver)
        _note_ignored(want, graph, resolver)
    expand(graph)
    for want in wants:
        _note_choice(want, graph, resolver)
    return graph


def nothing_to_do(graph: TaskGraph) -> str:
    """Return why there are no sub-tasks, in words: what is so already."""
    told = []
    for want in graph.wants:
        for id in sorted(want.satisfied):
            thing = graph.scene.objects.get(id)
            at = (thing.support or thing.container or thing.room) if thing is not None else ""
            told.append(f"{id} is {'at ' + at if at else 'there'} already ({want.text})")
    return "there is nothing to do" + (f": {'; '.join(told[:6])}" if told else "")


def _check_target(want: Want, resolver: Resolver) -> None:
    """Refuse to put things on what bears nothing; a search for it would be in vain."""
    target = want.target
    if want.kind != "bring" or target is None or resolver.is_place(target):
        return
    category = load_household().category(target.label)
    borne = any(thing.receptacles for thing in resolver.things(target))
    if category is not None and category.shape == "none" and category.kind != "item" and not borne:
        raise NotUnderstood(
            f"{want.text!r}: robots put things on and in furniture, and {target.said!r} is none",
            "target",
            target.said,
            question="On which piece of furniture, or in which room, shall it go?",
        )


def _note_ignored(want: Want, graph: TaskGraph, resolver: Resolver) -> None:
    for phrase in want.mentioned():
        if phrase.ignored:
            graph.note(
                f"robots cannot tell {' and '.join(repr(w) for w in phrase.ignored)}: "
                f"any {phrase.noun} counts"
            )
        if phrase.which in ("other", "another") and not phrase.excluded:
            graph.note(f"{phrase.said!r}: any {phrase.noun} counts that nothing else is done with")
        if phrase.order in ("nearest", "farthest") and not phrase.by:
            graph.note(f"{phrase.said!r}: robots take the one that is quickest to get")
        if phrase.by and not any(resolver.things(one) for one in phrase.by):
            graph.note(f"nobody has seen {phrase.by[0].said!r}: any {phrase.noun} counts")


def _note_choice(want: Want, graph: TaskGraph, resolver: Resolver) -> None:
    """Tell which of several things, and which of several places, was taken for the one meant."""
    for phrase, taken in ((want.phrase, want.assigned), (want.target, want.targets[:1])):
        if not want.assigned or phrase is None or not taken or resolver.is_place(phrase):
            continue
        fitting = resolver.things(phrase) if phrase.definite and phrase.number == "one" else []
        if len(fitting) > 1:
            graph.note(f"{len(fitting)} fit {phrase.said!r}: {', '.join(taken)} is taken")
