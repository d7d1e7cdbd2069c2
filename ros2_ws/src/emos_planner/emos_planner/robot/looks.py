"""A robot's looks in a task, and what they leave unseen of each kind of thing it searches."""

from __future__ import annotations

from collections.abc import Callable

from coterie_core.geometry import Vec3
from coterie_core.tasks import SubTask
from coterie_world.sightings import kind_of
from emos_planner.geometry.toolbox import Toolbox
from emos_planner.robot.coverage import Coverage, Look


class Looks:
    """Books the looks of one robot.

    Args:
        robot: Its name.
        toolbox: Returns the tools for what it knows now.
    """

    def __init__(self, robot: str, toolbox: Callable[[], Toolbox]) -> None:
        self.robot = robot
        self._toolbox = toolbox
        self._looks: list[Look] = []
        self._covers: dict[str, Coverage] = {}

    def begin(self) -> None:
        """Begin another task: nothing is searched yet."""
        self._covers = {}

    def search(self, one: SubTask) -> list[str]:
        """Take over a search; return the containers (ids) that others have opened for it."""
        if one.kind != "search" or one.object is None:
            return []
        kind = kind_of(one.object.label)
        cover = self._covers.setdefault(kind, Coverage(self.robot, kind))
        if one.receptacle is not None:
            cover.owners.add(one.receptacle.id)
        if not one.looked:
            return []
        cover.hear(one.looked)
        return list(cover.opened(self._toolbox()))

    def add(self, position: Vec3, heading: float | None) -> None:
        """Take down a look from a place [m], in a direction [rad] or (None) all around."""
        self._looks.append(Look(position, heading))

    def count(self) -> None:
        """Take down what the last looks have left unseen; what they showed is on the map by now."""
        looks, self._looks = self._looks, []
        for look in looks if self._covers else ():
            tools = self._toolbox()
            for cover in self._covers.values():
                cover.look(tools, look)

    def coverage(self, one: SubTask) -> Coverage | None:
        """Return what the looks of a search leave unseen; None for any other sub-task."""
        if one.kind != "search" or one.object is None:
            return None
        return self._covers.get(kind_of(one.object.label))

    def report(self) -> dict[str, dict[str, float]]:
        """Return kind -> what the own looks leave open, as the leader hears it."""
        return {label: cover.report() for label, cover in self._covers.items()}
