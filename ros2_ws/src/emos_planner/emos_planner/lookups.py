"""What a model may look up or ask while it decides: the map, bodies, the person, robots."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import BaseModel, Field

from coterie_core.geometry import Vec3
from coterie_core.tasks import SubTask
from coterie_execution.geometry.results import Estimate
from coterie_execution.geometry.toolbox import Toolbox
from coterie_llm import Tool, ToolRefused, inline_data
from coterie_requests.asking import Asking
from coterie_world.scene import SceneObject
from coterie_world.sightings import as_thing
from emos_planner.map_view import SAID, ranks, thing_line

_MOST_FOUND = 15


class Wanted(BaseModel):
    """What is searched for on the map."""

    text: str = Field(max_length=200, description="name, kind or use of a thing, in English")
    room: str = Field("", max_length=80, description="id of a room; empty: everywhere")


class OfThing(BaseModel):
    """A thing of the map."""

    thing: str = Field(max_length=120, description="its id")


class RobotAndThing(OfThing):
    """A robot and a thing."""

    robot: str = Field("", max_length=60, description="name of the robot; empty: yourself")


class RobotAndPlaces(RobotAndThing):
    """A robot, a thing, and perhaps where it is to be put."""

    onto: str = Field(
        "", max_length=120, description="id of furniture: can the hand put it there? empty: take it"
    )


class RobotAndGoal(BaseModel):
    """A robot and a place."""

    to: str = Field(max_length=120, description="id of a thing or of a room")
    robot: str = Field("", max_length=60, description="name of the robot; empty: yourself")


class Lookups:
    """Typed look-ups over what is known now.

    Args:
        toolbox: Bodies in the scene.
        starts: Robots that take part -> where they are [m], None: where the scene has them.
        own: The robot that asks; it may ask about its own body only. Empty: a leader asks.
        asking: Lets it ask the person and other robots; None: there is no way to.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        starts: Mapping[str, Vec3 | None],
        own: str = "",
        asking: Asking | None = None,
    ) -> None:
        self.toolbox, self.starts, self.own = toolbox, dict(starts), own
        self.asking = asking

    def __deepcopy__(self, memo: dict[int, object]) -> Lookups:
        """Return itself: neither toolbox nor starts ever change."""
        return self

    def estimates(
        self, one: SubTask, robots: Iterable[str], opened: Collection[str] = ()
    ) -> dict[str, Estimate]:
        """Return what the tools say of a sub-task, robot by robot, for when its turn has come.

        Hands are free then, but for what is to be placed.

        Args:
            one: The sub-task.
            robots: Who might do it.
            opened: Ids of containers that are open by then.
        """
        held = one.object.id if one.kind == "place" and one.object is not None else ""
        return {
            robot: self.toolbox.estimate(
                robot, one, self.starts.get(robot), holding=held, opened=opened
            )
            for robot in robots
        }

    def tools(self) -> tuple[Tool[Any], ...]:
        """Return the functions that a model may call."""
        return (
            Tool(
                "find_things",
                "Searches the map by name, kind or use; returns things with their facts.",
                Wanted,
                self._find,
            ),
            Tool(
                "facts",
                "All that the map tells of a thing: room, position [m], heights above the floor "
                "[m], size [m], what it is on or in, open or closed, what lies on or in it.",
                OfThing,
                self._facts,
            ),
            Tool(
                "reach",
                "Whether a robot gets there and its hand can take a thing, or put it on furniture; "
                "with the numbers.",
                RobotAndPlaces,
                self._reach,
            ),
            Tool(
                "sight",
                "Whether a robot gets a thing into a camera's view, from where it can stand; with "
                "the numbers.",
                RobotAndThing,
                self._sight,
            ),
            Tool(
                "path",
                "Whether a robot gets to a thing or into a room; length [m] and time [s].",
                RobotAndGoal,
                self._path,
            ),
            *(self.asking.tools() if self.asking is not None else ()),
        )

    # -- the functions --------------------------------------------------------------------------

    def _find(self, wanted: Wanted) -> dict[str, Any]:
        scene = self.toolbox.scene
        if wanted.room and wanted.room not in scene.rooms:
            rooms = ", ".join([*scene.rooms][:60])
            raise ToolRefused(f"there is no room {inline_data(wanted.room)}; the rooms are {rooms}")
        ranked = ranks(scene, wanted.text)
        found = sorted(
            (rank, id)
            for id, rank in ranked.items()
            if rank <= SAID and (not wanted.room or scene.objects[id].room == wanted.room)
        )
        return {
            "found": len(found),
            "things": [thing_line(scene.objects[id], scene) for _, id in found[:_MOST_FOUND]],
        }

    def _facts(self, asked: OfThing) -> dict[str, Any]:
        thing = self._thing(asked.thing)
        scene = self.toolbox.scene
        upon = [o.id for o in self.toolbox.catalog.upon(thing.id)]
        return {"facts": thing_line(thing, scene), "on or in it": upon[:40]}

    def _reach(self, asked: RobotAndPlaces) -> dict[str, Any]:
        thing = as_thing(self._thing(asked.thing))
        if asked.onto:
            onto = as_thing(self._thing(asked.onto))
            one = SubTask(id="asked", kind="place", object=thing, receptacle=onto)
            return self._told(asked.robot, one)
        return self._told(asked.robot, SubTask(id="asked", kind="pick", object=thing))

    def _sight(self, asked: RobotAndThing) -> dict[str, Any]:
        thing = as_thing(self._thing(asked.thing))
        return self._told(asked.robot, SubTask(id="asked", kind="detect", object=thing))

    def _path(self, asked: RobotAndGoal) -> dict[str, Any]:
        if asked.to in self.toolbox.scene.rooms:
            one = SubTask(id="asked", kind="go_to", rooms=(asked.to,))
        else:
            thing = as_thing(self._thing(asked.to))
            one = SubTask(id="asked", kind="go_to", object=thing)
        return self._told(asked.robot, one)

    # -- what they share ------------------------------------------------------------------------

    def _told(self, robot: str, one: SubTask) -> dict[str, Any]:
        name = self._robot(robot)
        found = self.estimates(one, (name,))[name]
        told: dict[str, Any] = {"robot": name, "possible": found.feasible, "why": found.reason}
        if found.feasible:
            told |= {"way [m]": round(found.distance, 1), "time [s]": round(found.time)}
        elif found.obstacle is not None:
            told["obstacle"] = found.obstacle.value
        return told

    def _robot(self, name: str) -> str:
        if self.own:
            if name not in ("", self.own):
                raise ToolRefused(f"you know your own body only; robot is {self.own} or empty")
            return self.own
        if name not in self.starts:
            raise ToolRefused(
                f"there is no robot {inline_data(name)}; the robots are {', '.join(self.starts)}"
            )
        return name

    def _thing(self, id: str) -> SceneObject:
        found = self.toolbox.scene.objects.get(id)
        if found is None:
            raise ToolRefused(
                f"the map has no thing with id {inline_data(id)}; find_things gives the ids"
            )
        return found


def opened_by(sub_tasks: Iterable[SubTask]) -> frozenset[str]:
    """Return the ids of containers that sub-tasks open."""
    things = (one.object for one in sub_tasks if one.kind == "open" and one.object is not None)
    return frozenset(thing.id for thing in things if thing.id)
