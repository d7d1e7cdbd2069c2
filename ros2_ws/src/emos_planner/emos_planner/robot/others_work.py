"""What others of the team have done, as far as it changes what a robot knows of the house."""

from __future__ import annotations

from collections.abc import Sequence

from coterie_core.tasks import SubTask, SubTaskState, Thing
from coterie_world.team_map import TeamMap
from emos_planner.robot.witness import Witness


class OthersWork:
    """Takes over into a robot's map what others have done, each sub-task once.

    Args:
        team_map: What the robot knows of the house.
        witness: What it has seen itself, which counts for more.
    """

    def __init__(self, team_map: TeamMap, witness: Witness) -> None:
        self.map, self.witness = team_map, witness
        self._noted: set[str] = set()
        self._taken: dict[str, int] = {}  # what others have picked up -> own step then
        self._named: set[str] = set()

    def begin(self) -> None:
        """Begin another task."""
        self._noted, self._taken, self._named = set(), {}, set()

    def learn(self, thing: Thing) -> None:
        """Take over a thing that a sub-task names, and where others have left it."""
        self._named.add(thing.id)
        known = self.map.learn(thing)
        taken = self._taken.get(known.id) if known is not None else None
        if known is None or taken is None or self.witness.has_seen(known.id, taken):
            return
        if self.map.put_on(known.id):
            return  # whoever put it there has told where, which the leader knows roughly
        if thing.position is not None:
            x, y, z = thing.position
            self.map.put(known.id, "", (x, y, z - known.box.size[2] / 2.0))

    def note(self, others: Sequence[SubTask]) -> None:
        """Take over what is done of other robots' sub-tasks.

        Where a robot put a thing it tells itself, more exactly: that is not overwritten.
        """
        told = {
            one.object.id
            for one in others
            if one.kind == "place" and one.object is not None and one.receptacle is not None
            if one.state is SubTaskState.DONE
            if self.map.put_on(one.object.id) == one.receptacle.id
        }
        self._named.update(one.object.id for one in others if one.object is not None)
        for one in others:
            if one.object is None or one.state is not SubTaskState.DONE or one.id in self._noted:
                continue
            self._noted.add(one.id)
            if one.kind not in ("pick", "place") or one.object.id not in told:
                self._note(one, one.object)

    def _note(self, other: SubTask, meant: Thing) -> None:
        thing = self.map.resolve(meant)
        if thing is None:
            return
        if other.kind in ("pick", "place") and meant.id != thing.id in self._named:
            return  # another one near it, which the leader tells from this one
        if other.kind in ("open", "close"):
            self.map.set_open(thing.id, other.kind == "open")
        elif other.kind == "pick":
            self._taken[thing.id] = self.witness.step
            self.map.take(thing.id)
        elif other.kind == "place" and other.receptacle is not None:
            goal = self.map.learn(other.receptacle)
            taken = self._taken.pop(thing.id, -1)
            if goal is not None and not self.witness.has_seen(thing.id, taken):
                top = next((r for r in goal.receptacles if not r.inside), None)
                x, y, _ = goal.box.center
                at = top.surface.center if top is not None else (x, y, goal.box.top)
                self.map.put(thing.id, goal.id, at)
