"""The tools of one robot, over its own map and what is believed of its body."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from coterie_core.geometry import Vec3
from coterie_core.resume import Resume
from coterie_core.tasks import SubTask
from coterie_execution.geometry.floorplan import Driven
from coterie_execution.geometry.results import Estimate
from coterie_execution.geometry.toolbox import Toolbox
from coterie_world.sightings import as_thing
from coterie_world.team_map import TeamMap


class OwnTools:
    """The tools of one robot, made anew when its map or what is told of its body has changed.

    Args:
        robot: Its name.
        resume: What its body can do.
        team_map: What it knows of the house.
    """

    def __init__(self, robot: str, resume: Resume, team_map: TeamMap) -> None:
        self.robot, self.map = robot, team_map
        self.resume = resume
        self._toolbox: Toolbox | None = None
        self._made_of: tuple[int, Resume] | None = None

    def toolbox(self) -> Toolbox:
        """Return the tools for what this robot knows now."""
        made_of = (self.map.version, self.resume)
        if self._toolbox is None or self._made_of != made_of:
            scene, resumes = copy.deepcopy(self.map.scene), {self.robot: self.resume}
            mobility = self.resume.mobility
            driven = Driven(tuple(self.map.trail), mobility.radius if mobility else 0.0)
            if self._toolbox is None:
                self._toolbox = Toolbox(scene, resumes, driven)
            else:
                self._toolbox = self._toolbox.with_scene(scene, resumes, driven)
            self._made_of = made_of
        return self._toolbox

    def estimate(self, one: SubTask, position: Vec3 | None, holding: str) -> Estimate:
        """Return what the tools say of a sub-task now, as this robot's own map has it.

        Args:
            one: The sub-task.
            position: Where the robot stands [m].
            holding: Id of what its hand holds ("": nothing).
        """
        held = (holding or None) if one.kind == "place" else holding
        return self.toolbox().estimate(self.robot, self._grounded(one), position, holding=held)

    def estimate_later(
        self, one: SubTask, position: Vec3 | None, others: Mapping[str, SubTask]
    ) -> Estimate:
        """Return the same for when its turn has come.

        What a place puts down is in the hand by then, what `others` (by id) open is open.
        """
        before = (others.get(id) for id in one.depends_on)
        opened = [o.object.id for o in before if o and o.kind == "open" and o.object]
        holding = one.object.id if one.kind == "place" and one.object is not None else ""
        return self.toolbox().estimate(self.robot, one, position, holding=holding, opened=opened)

    def _grounded(self, one: SubTask) -> SubTask:
        """The sub-task with ids and places as this robot's own map has them."""
        changes = {}
        for name in ("object", "receptacle"):
            thing = getattr(one, name)
            known = self.map.resolve(thing) if thing is not None else None
            if known is not None:
                changes[name] = as_thing(known)
        return one.model_copy(update=changes) if changes else one
