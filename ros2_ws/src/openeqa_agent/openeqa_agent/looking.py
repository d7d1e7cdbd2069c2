"""Going to look: one robot walks where the answer may be until the map tells, or it must stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from coterie_core.geometry import Vec3
from coterie_core.observation import Observation
from coterie_core.skills import NavigateTo, Outcome, SkillResult
from coterie_world.scene import SceneGraph
from openeqa_agent.explore import Explorer, ExplorerKind, ExplorerOptions
from openeqa_agent.understood import OpenQuestion

_FAULTS = 2
"""Hops in a row that a robot may not answer before it is taken for dead."""
_LABELS = 50
"""Most labels that are told of, the newest ones."""
_NO_PLACE = (
    "its observations tell no place that the robot stands at: have its map and its detections come?"
)


class Body(Protocol):
    """What going to look needs of a robot and of the map that is made of what it sees."""

    async def observation(self, after: Observation | None) -> Observation | None:
        """Return an observation newer than `after`, or the latest, or None, after a while."""
        ...

    async def go(self, skill: NavigateTo) -> SkillResult:
        """Go to a place; raises for nothing that the robot does, only where it is stopped."""
        ...

    def ask_way(self, way: Sequence[Vec3]) -> None:
        """Ask other robots for a way that one of them blocks, points in the map frame [m]."""
        ...

    async def scene(self) -> SceneGraph | None:
        """Return the map once it has had time to take in what was seen; None: there is none."""
        ...


@dataclass(slots=True)
class Walk:
    """Where a robot went [m, map frame], how far [m], and why it stopped."""

    path: list[Vec3] = field(default_factory=list)
    travelled: float = 0.0
    stopped: str = ""
    hops: int = 0


@dataclass(frozen=True, slots=True)
class Hop:
    """Where a robot goes next and why, how far it has gone [m], and labels that it has seen."""

    place: str
    reason: str
    travelled: float
    seen: tuple[str, ...] = ()


async def go_and_look(
    question: OpenQuestion,
    body: Body,
    walk: Walk,
    *,
    max_distance: float,
    kind: ExplorerKind = "question",
    options: ExplorerOptions | None = None,
    on_hop: Callable[[Hop], object] | None = None,
) -> None:
    """Walk until the map answers a question, nothing is left to see, or the way gets too long.

    A robot that does not answer, or whose observations stay away, ends the walk with a reason; so
    does nothing else that goes wrong on the way.

    Args:
        question: What is asked.
        body: The robot.
        walk: Is filled while it goes on.
        max_distance: How far it may go [m].
        kind: How it chooses where to go.
        options: How it decides.
        on_hop: Called before each hop.
    """
    seen = await body.observation(None)
    if seen is None:
        walk.stopped = "no observation of the robot came; is its bridge running?"
        return
    if not seen.place:
        walk.stopped = _NO_PLACE
        return
    explorer = Explorer(question, kind, options)
    positions: dict[str, Vec3] = {}
    faults = 0
    labels: dict[str, None] = {}
    while True:
        for view in seen.neighbours:
            positions[view.id] = view.position
        if not walk.path or walk.path[-1] != seen.pose.position:
            walk.path.append(seen.pose.position)
        explorer.observe(seen, await body.scene())
        skill = await explorer.next_skill()
        if skill is None:
            walk.stopped = explorer.stopped
            return
        target = positions.get(skill.place)
        ahead = math.dist(target, seen.pose.position) if target is not None else 0.0
        if walk.travelled + ahead > max_distance:
            walk.stopped = f"the next place is beyond the limit of {max_distance:g} m"
            return
        if on_hop is not None:
            on_hop(Hop(skill.place, explorer.reason, walk.travelled, tuple(labels)[-_LABELS:]))
        result = await body.go(skill)
        walk.hops += 1
        walk.travelled += result.distance
        explorer.skill_ended(skill, result)
        if result.outcome is Outcome.BLOCKED:
            body.ask_way(explorer.way(skill.place))
        faults = faults + 1 if result.outcome is Outcome.FAULT else 0
        if faults >= _FAULTS:
            walk.stopped = f"the robot does not answer: {result.reason}"
            return
        if not result.ok and result.distance <= 0.0:
            continue  # it did not move: another place may do
        newer = await body.observation(seen)
        if newer is None or newer.step <= seen.step:
            walk.stopped = result.reason or "no observation followed the hop"
            return
        if not newer.place:
            walk.stopped = _NO_PLACE
            return
        seen = newer
        labels.update(dict.fromkeys(found.label for found in seen.detections))
