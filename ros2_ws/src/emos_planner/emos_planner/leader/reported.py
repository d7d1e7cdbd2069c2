"""Things that robots report, in the leader's map: news, mistakes, and what was moved meanwhile."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field

from coterie_core.geometry import Box, Vec3, distance
from coterie_core.tasks import RobotReport, SubTask, SubTaskState, Thing
from coterie_world.association import SIGHTING
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.sightings import (
    kind_of,
    note_found,
    put_down,
    room_at,
    support_at,
    taken_up,
)
from emos_planner.allocation.handover import ON_SURFACE

SURE = 2
"""Looks that have to show a thing before it counts as seen, or be in vain before it is gone."""

_ABOVE = 0.4  # [m] above furniture whose middle of a thing on it lies at most

_RUNNING, _DONE, _FAILED = SubTaskState.RUNNING, SubTaskState.DONE, SubTaskState.FAILED


@dataclass(slots=True)
class ReportedThings:
    """Takes what robots see and do into the leader's map.

    Each robot numbers things on its own: `<robot>/<its id>` goes to the id of the leader's map.
    """

    scene: SceneGraph
    doubted: dict[str, int] = field(default_factory=dict)
    alias: dict[str, str] = field(default_factory=dict)
    sightings: dict[str, int] = field(default_factory=dict)
    taken: dict[str, tuple[Vec3, dict[str, int]]] = field(default_factory=dict)
    of_map: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Take down what the map has shown before anybody has looked."""
        self.of_map = frozenset(self.scene.objects)

    def integrate_report(
        self, thing: Thing, report: RobotReport, sub_tasks: Collection[SubTask]
    ) -> tuple[SceneObject, bool] | None:
        """Put a thing of a report into the map; return it and whether that is news.

        None: it is in a hand, brought where it was to go, stale, or was taken for a mistake.
        """
        name = f"{report.robot}/{thing.id}"
        known_as = self.alias.get(name, "")
        self.sightings[name] = max(thing.sightings, self.sightings.get(name, 0))
        handled = [o for o in sub_tasks if o.object and o.object.id == thing.id]
        if thing.id and any(o.kind == "pick" and o.state in (_RUNNING, _DONE) for o in handled):
            if not any(o.kind == "place" and o.state is _FAILED for o in handled):
                return None  # it is in somebody's hand, or already where it should be
        if self._brought_there(thing, sub_tasks) or self._is_stale(name, thing):
            return None
        if known_as in self.doubted and thing.sightings < self.doubted[known_as] + SURE:
            return None
        mine = {a for r, a in self.alias.items() if r.startswith(f"{report.robot}/") and r != name}
        noted = note_found(self.scene, thing, report.robot, report.time, known_as, mine)
        if noted is None:
            return None
        found, news = noted
        self.alias[name] = found.id
        best = max(self._looks_at(found.id), default=0)
        if not news and found.kind == "item" and thing.position and thing.sightings >= best:
            # Who has seen it best knows best where it is; the first look may have been a far one.
            found.box = Box(thing.position, found.box.size, found.box.yaw)
        found.observations = sum(self._looks_at(found.id))  # each look once, told ever so often
        return noted

    def _looks_at(self, id: str) -> list[int]:
        """Return how many looks of each robot have shown a thing."""
        return [self.sightings.get(name, 0) for name, known in self.alias.items() if known == id]

    def is_glimpsed(self, id: str) -> bool:
        """Whether one look of this task has shown a thing, and neither another one nor the map."""
        thing = self.scene.objects.get(id)
        if thing is None or id in self.of_map:
            return False
        return id in self.alias.values() and thing.observations < SURE

    def forget(self, id: str) -> None:
        """Take a thing for a mistake; so many looks as before do not bring it back."""
        self.scene.objects.pop(id, None)
        self.doubted[id] = max(self._looks_at(id), default=0)

    def changed(self, one: SubTask) -> None:
        """Take down what a sub-task that is done has changed in the house."""
        thing = one.object.id if one.object else ""
        item = self.scene.objects.get(thing)
        if one.kind == "pick":
            if item is not None:
                self.taken[thing] = (item.box.center, dict(self.sightings))
            taken_up(self.scene, thing)
        elif one.kind == "place" and one.receptacle is not None:
            put_down(self.scene, thing, one.receptacle.id)
        elif one.kind in ("open", "close") and item is not None:
            item.is_open = one.kind == "open"

    def drop_here(
        self, pick: SubTask, place: SubTask, report: RobotReport | None
    ) -> tuple[SubTask, SubTask]:
        """Take down that a thing lies where a robot has put it that could not bring it there.

        That is where its own map has the thing now; else on the floor where it stands.

        Returns:
            Both sub-tasks, with where the thing is.
        """
        thing = pick.object
        if thing is None or report is None or report.position is None:
            return pick, place
        x, y, z = report.position
        at = (x, y, z + ON_SURFACE)
        for told in report.found if not report.holding else ():
            known_as = self.alias.get(f"{report.robot}/{told.id}")
            if told.position is not None and thing.id in (told.id, known_as):
                at = told.position
        known = self.scene.objects.get(thing.id)
        if known is not None:
            known.box = Box(at, known.box.size, known.box.yaw)
            known.room = report.room or room_at(self.scene, at)
            known.support = known.container = ""
        lies = {"object": thing.model_copy(update={"position": at, "room": report.room})}
        return pick.model_copy(update=lies), place.model_copy(update=lies)

    def _is_stale(self, name: str, thing: Thing) -> bool:
        """Whether a robot's map shows a thing where it was before another took it away.

        Robots go on telling what they have seen once. Only looks since then say that there is
        another thing in that place.
        """
        if not thing.sightings or thing.position is None:
            return False
        kind = kind_of(thing.label)
        for id, (place, before) in self.taken.items():
            known = self.scene.objects.get(id)
            if known is None or kind_of(known.label.top) != kind:
                continue
            if self.alias.get(name) == id or distance(place, thing.position) <= SIGHTING.distance_m:
                if distance(known.box.center, thing.position) > SIGHTING.distance_m:
                    if thing.sightings < before.get(name, 0) + SURE:
                        return True
        return False

    def _brought_there(self, thing: Thing, sub_tasks: Collection[SubTask]) -> bool:
        """Whether this is what is being put there, or has been: the map has it elsewhere still."""
        kind = kind_of(thing.label)
        targets = {
            o.receptacle.id
            for o in sub_tasks
            if o.kind == "place"
            and o.state in (_RUNNING, _DONE)
            and o.receptacle
            and o.object
            and kind_of(o.object.label) == kind
        }
        if not targets or thing.position is None:
            return False
        known = self.scene.objects.get(thing.id)
        if known is not None and distance(known.box.center, thing.position) <= SIGHTING.distance_m:
            return False
        if support_at(self.scene, thing.position)[0] in targets:
            return True
        # Of furniture that was found on the way only middle and usual size are known.
        found = (self.scene.objects.get(id) for id in targets)
        return any(
            math.dist(owner.box.center[:2], thing.position[:2]) <= max(owner.box.size[:2])
            and owner.box.bottom <= thing.position[2] <= owner.box.top + _ABOVE
            for owner in found
            if owner is not None and not owner.told_surfaces
        )
