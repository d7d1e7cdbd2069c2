"""What a cooperating robot's actions are for its body: sub-tasks for its executive."""

from __future__ import annotations

from collections.abc import Mapping

from coterie_core.cooperation import Action, Close, GoTo, Grab, Open, Put, Reason, Result, Spot
from coterie_core.geometry import Box
from coterie_core.skills import NavigateTo, Outcome
from coterie_core.tasks import Obstacle, SubTask, SubTaskKind, Thing
from coterie_execution.geometry.things import ResolvedObject
from coterie_execution.trees import obstacle_of
from coterie_world.scene import SceneObject
from coterie_world.sightings import as_thing
from reveca_agent.house_map import HouseMap
from reveca_agent.room_search import RoomSearch

OUTCOME_REASONS: Mapping[Outcome, Reason] = {
    Outcome.TIMED_OUT: "no_way",
    Outcome.HAND_EMPTY: "not_holding",
    Outcome.REFUSED: "not_portable",
}
"""What a skill that failed means for the agent, where it is no obstacle of a sub-task."""
OBSTACLE_REASONS: Mapping[Obstacle, Reason] = {
    Obstacle.NO_PATH: "no_way",
    Obstacle.TOO_HIGH: "too_far",
    Obstacle.TOO_LOW: "too_far",
    Obstacle.TOO_FAR_IN: "too_far",
    Obstacle.OUT_OF_VIEW: "too_far",
    Obstacle.OCCLUDED: "too_far",
    Obstacle.TOO_HEAVY: "not_portable",
    Obstacle.UNKNOWN_THING: "gone",
    Obstacle.NOT_THERE: "gone",
    Obstacle.CLOSED: "closed",
    Obstacle.HANDS_FULL: "hands_full",
    Obstacle.NO_ROOM: "full",
    Obstacle.NO_ARM: "unable",
}
"""What stands against a sub-task means for the agent."""
_TOLD = "where another one stood"


class Motions:
    """Makes sub-tasks of actions.

    Args:
        house: What the robot knows of the house.
        search: Has rooms looked through.
    """

    def __init__(self, house: HouseMap, search: RoomSearch) -> None:
        self.house, self.search = house, search

    def of(self, action: Action, here: Spot, holding: str, meant: str = "") -> SubTask | Result:
        """Return what an action is for the body; a result where there is nothing to do for it.

        To go to a thing is to begin what the hand is to do there next.

        Args:
            action: What the agent decided.
            here: Where the body is.
            holding: Id of what its hand holds; "": nothing.
            meant: Id of what it goes there for; "": nothing in particular.
        """
        if isinstance(action, GoTo):
            thing = self.house.thing(meant)
            told = self.house.as_told(thing) if thing is not None and not holding else None
            if thing is not None and told and action.target in (told.id, told.parent):
                return _sub_task("pick", thing)
            return self._way(action, here, holding)
        if isinstance(action, Grab):
            thing = self.house.thing(action.item)
            if thing is None or thing.id == holding or self.house.as_told(thing) is None:
                return _failed("gone", f"{action.item} is not where it was")
            return _sub_task("pick", thing)
        if isinstance(action, Put):
            if action.item != holding:
                return _failed("not_holding", f"{action.item} is not in the hand")
            return self._at_furniture("place", action.target, holding, action.relation == "in")
        if isinstance(action, (Open, Close)):
            kind: SubTaskKind = "open" if isinstance(action, Open) else "close"
            return self._at_furniture(kind, action.container)
        return Result(True, True)

    def _at_furniture(
        self, kind: SubTaskKind, target: str, holding: str = "", inside: bool | None = None
    ) -> SubTask | Result:
        owner = self.house.thing(target)
        if owner is None or owner.room not in self.house.ways.rooms:
            return _failed("unknown_target", f"{target} is not on the map")
        return _sub_task(kind, owner, self.house.thing(holding), inside)

    def only_told(self, action: Action) -> bool:
        """Tell whether an action is about what only another robot has seen so far."""
        name = ""
        if isinstance(action, (Open, Close)):
            name = action.container
        elif isinstance(action, (Grab, Put)):
            name = action.item if isinstance(action, Grab) else action.target
        own = name.startswith(f"{self.house.robot}-")
        return bool(name) and not own and self.house.thing(name) is None

    def _way(self, action: GoTo, here: Spot, holding: str) -> SubTask | Result:
        rooms = self.house.ways.rooms
        thing = self.house.thing(action.target)
        if thing is not None and thing.id != holding and thing.room in rooms:
            if thing.kind == "item" and not holding and self.house.as_told(thing) is not None:
                return _sub_task("pick", thing)
            if thing.is_open is False:
                return _sub_task("open", thing)
            if holding and thing.kind != "item":
                return _sub_task("place", thing, self.house.thing(holding))
            return _sub_task("go_to", thing)
        if action.spot is not None and action.spot.room in rooms:
            there = Thing(label=_TOLD, position=action.spot.position, room=action.spot.room)
            return SubTask(id=f"go_to {action.target}"[:60], kind="go_to", object=there)
        if action.target not in rooms:
            return _failed("unknown_target", f"{action.target} is no room or thing of the map")
        search = self.search.sub_task(action.target)
        if search is not None or action.target == here.room:
            return search or Result(True, True)
        return SubTask(id=f"go_to {action.target}"[:60], kind="go_to", rooms=(action.target,))

    def view_of(self, spot: Spot) -> NavigateTo | None:
        """Return the way to where a camera shows what can be handled from a spot; None: nowhere.

        What lies at a robot's feet is in no image of a camera on its mast.
        """
        tools, robot = self.house.tools, self.house.robot
        meant = ResolvedObject("", Box(spot.position, (0.0, 0.0, 0.0)))
        stand = tools.view(robot, meant, tools.components_of(robot, spot.position)).spot
        return NavigateTo.facing(stand, spot.position) if stand is not None else None


def reason_of(outcome: Outcome) -> Reason:
    """Return what a skill that failed means for the agent."""
    return OUTCOME_REASONS.get(outcome) or OBSTACLE_REASONS.get(obstacle_of(outcome), "")


def _sub_task(
    kind: SubTaskKind,
    thing: SceneObject,
    held: SceneObject | None = None,
    inside: bool | None = None,
) -> SubTask:
    """Return what the hand is to do to a thing, or with what it holds."""
    meant, id_ = as_thing(thing), f"{kind} {thing.id}"[:60]
    if kind != "place":
        return SubTask(id=id_, kind=kind, object=meant)
    item = as_thing(held) if held is not None else meant
    return SubTask(id=id_, kind=kind, object=item, receptacle=meant, inside=inside)


def _failed(reason: Reason, text: str) -> Result:
    return Result(False, False, reason, text)
