"""What others of the team have done, as far as it changes what a robot knows of the house."""

from __future__ import annotations

from coterie_core.tasks import SubTask, SubTaskState
from coterie_core.team_map import TeamMap
from emos_planner.robot.witness import Witness


class OthersWork:
    """Takes over into a robot's map what others have done, each sub-task once.

    Args:
        team_map: What the robot knows of the house.
        witness: What it has seen itself, which counts for more.
    """

    def __init__(self, team_map: TeamMap, witness: Witness) -> None:
        self.map, self.witness = team_map, witness
        self._noted: dict[str, int] = {}  # what others have done -> own step then

    def begin(self) -> None:
        """Begin another task."""
        self._noted = {}

    def note(self, other: SubTask) -> None:
        """Take over another robot's sub-task, if it is done."""
        if other.state is not SubTaskState.DONE or other.object is None or other.id in self._noted:
            return
        self._noted[other.id] = self.witness.step
        thing = self.map.resolve(other.object)
        if thing is None:
            return
        if other.kind in ("open", "close"):
            self.map.set_open(thing.id, other.kind == "open")
        elif other.kind == "pick":
            self.map.take(thing.id)
        elif other.kind == "place" and other.receptacle is not None:
            goal = self.map.resolve(other.receptacle)
            taken = self._noted.get(other.same_robot_as, -1)
            if goal is not None and not self.witness.has_seen(thing.id, taken):
                top = next((r for r in goal.receptacles if not r.inside), None)
                x, y, _ = goal.box.center
                at = top.surface.center if top is not None else (x, y, goal.box.top)
                self.map.put(thing.id, goal.id, at)
