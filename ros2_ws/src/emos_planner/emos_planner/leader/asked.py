"""What a model's plan may do for what was asked, whichever things it chooses; and what it must."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from coterie_core.tasks import SubTask
from coterie_requests.understanding.grounding import Resolver
from coterie_world.scene import SceneGraph
from emos_planner.leader.task_graph import SEEN, TaskGraph, Want

_ENDS: Mapping[str, str] = {
    "bring": "place",
    "take": "pick",
    **dict.fromkeys(SEEN, "detect"),
    "go": "go_to",
}
"""Kind of the sub-task that brings a want about, where that is not called so, too."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What was asked for, as far as it bounds what is moved.

    Attributes:
        places: Thing that may be moved (id) -> furniture that it may end on (ids); none: it is
            only taken.
        opened: Furniture that may be opened or closed (ids).
    """

    places: Mapping[str, frozenset[str]] = field(default_factory=dict)
    opened: frozenset[str] = frozenset()


def bounds_of(graph: TaskGraph) -> Bounds:
    """Return what may be moved and opened: all that fits the wants, not what a rule chose."""
    resolver = Resolver(graph.scene)
    places: dict[str, frozenset[str]] = {}
    opened: set[str] = set()
    for want in graph.wants:
        for thing in resolver.things(want.phrase):
            opened.add(thing.container)
            if want.kind in ("open", "close"):
                opened.add(thing.id)
            if want.kind in ("bring", "take"):
                places[thing.id] = places.get(thing.id, frozenset()) | set(want.targets)
        opened.update(want.targets)
    return Bounds(places, frozenset(opened))


def with_all_asked(
    graph: TaskGraph, plan: Sequence[SubTask], known: Sequence[SubTask]
) -> tuple[tuple[SubTask, ...], list[str]]:
    """Return a model's plan with all that was asked for, and what had to be added, in words.

    Where any thing will do, the one that the model has chosen serves; what it has left out is done
    as the rule has planned it.

    Args:
        graph: The task; its wants count what the model has chosen from now on.
        plan: The model's.
        known: The same task as the rule and the solver have planned it.
    """
    whole = {one.id: one for one in plan}
    by_id = {one.id: one for one in known}
    seen_to = {id for want in graph.wants for id in want.assigned}
    added: list[str] = []
    for want in graph.wants:
        missing = [id for id, ids in want.assigned.items() if not _reaches(want, id, ids, plan)]
        chosen = _chosen(want, plan, seen_to, graph.scene) if want.need else []
        for id in missing:
            if chosen:
                _count_instead(want, id, chosen.pop(0), plan)
                continue
            chain = [by_id[i] for i in want.assigned[id] if i in by_id and i not in whole]
            whole |= {one.id: one for one in chain}
            added += [one.description or one.id for one in chain[-1:]]
    done = tuple(
        one.model_copy(update={"depends_on": tuple(i for i in one.depends_on if i in whole)})
        for one in whole.values()
    )
    return done, [f"the model's plan had left out: {', '.join(added)}"] if added else []


def _reaches(want: Want, id: str, ids: Sequence[str], plan: Sequence[SubTask]) -> bool:
    """Whether a plan does what ends the work on one thing (or room) of a want."""
    last = ids[-1] if ids else ""
    kind = _ENDS.get(want.kind, want.kind)
    return any(one.id == last or (one.kind == kind and _about(one) == id) for one in plan)


def _about(one: SubTask) -> str:
    return one.object.id if one.object is not None else next(iter(one.rooms), "")


def _chosen(want: Want, plan: Sequence[SubTask], seen_to: set[str], scene: SceneGraph) -> list[str]:
    """Return things (ids) that fit a want, that a plan sees to, and nobody else asked for."""
    fits = {thing.id for thing in Resolver(scene).things(want.phrase)} - seen_to
    ends = (_about(one) for one in plan if one.kind == _ENDS.get(want.kind, want.kind))
    return [id for id in dict.fromkeys(ends) if id in fits]


def _count_instead(want: Want, id: str, chosen: str, plan: Sequence[SubTask]) -> None:
    """Let a want count the thing that a model has chosen in place of the one of the rule."""
    del want.assigned[id]
    want.assigned[chosen] = tuple(one.id for one in plan if _about(one) == chosen)
