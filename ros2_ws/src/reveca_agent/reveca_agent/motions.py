"""What a cooperating robot's actions are for its body: sub-tasks for its executive, and ways."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from coterie_core.cooperation import Action, Close, GoTo, Grab, Open, Put, Reason, Result, Spot
from coterie_core.geometry import Vec3
from coterie_core.skills import LookAround, Outcome, Skill, Wait
from coterie_core.tasks import Obstacle, SubTask, SubTaskKind
from coterie_execution.geometry.viewpoints import BEST_AWAY
from coterie_world.scene import SceneObject
from coterie_world.sightings import as_thing
from reveca_agent.house_map import HouseMap
from reveca_agent.room_search import RoomSearch

MOST_SIDES = 3
"""From how many sides one looks at where a thing is said to be."""
HIDDEN = 100
"""Most things that were looked for, and are remembered."""
OUTCOME_REASONS: Mapping[Outcome, Reason] = {
    Outcome.UNKNOWN_TARGET: "gone",
    Outcome.UNREACHABLE: "no_way",
    Outcome.BLOCKED: "no_way",
    Outcome.TIMED_OUT: "no_way",
    Outcome.OUT_OF_REACH: "too_far",
    Outcome.NOT_VISIBLE: "too_far",
    Outcome.HAND_FULL: "hands_full",
    Outcome.HAND_EMPTY: "not_holding",
    Outcome.CLOSED: "closed",
    Outcome.UNSUPPORTED: "unable",
    Outcome.REFUSED: "not_portable",
}
"""What a skill that failed means for the agent."""
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
"""What stands against a sub-task before it is tried means for the agent."""


@dataclass(frozen=True, slots=True)
class Motion:
    """What an action without the hand is for a body: go to the first of `stands` that does [m].

    Then it does `then`; `faces` is where it looks at the end [m].
    """

    stands: tuple[Vec3, ...] = ()
    then: Skill | None = None
    faces: Vec3 | None = None

    def yaw(self, stand: Vec3) -> float | None:
        """Return the heading at a stand [rad]."""
        if self.faces is None:
            return None
        return math.atan2(self.faces[1] - stand[1], self.faces[0] - stand[0])


class Motions:
    """Makes sub-tasks and motions of actions.

    Args:
        house: What the robot knows of the house.
        search: Has rooms looked through.
    """

    def __init__(self, house: HouseMap, search: RoomSearch) -> None:
        self.house, self.search = house, search
        self._looked: deque[tuple[str, Spot]] = deque(maxlen=HIDDEN)

    def of(
        self, action: Action, here: Spot, holding: str, meant: str = ""
    ) -> SubTask | Motion | Result:
        """Return what an action is for the body; a result where it cannot be done at all.

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
        return Motion(then=Wait(self.house.shape.step))

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

    def _way(self, action: GoTo, here: Spot, holding: str) -> SubTask | Motion | Result:
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
            return self._look_for(action.target, action.spot, here)
        if action.target not in rooms:
            return _failed("unknown_target", f"{action.target} is no room or thing of the map")
        search = self.search.sub_task(action.target)
        if search is not None or action.target == here.room:
            return search or Result(True, True)
        return SubTask(id=f"go_to {action.target}"[:60], kind="go_to", rooms=(action.target,))

    def _look_for(self, target: str, spot: Spot, here: Spot) -> Motion:
        """Return how to look for what only others have told of: from where one sees it, then there.

        What lies at a robot's feet is in no image of a camera on its mast.
        """
        looked = (target, spot) in self._looked
        self._looked.append((target, spot))
        views = [] if looked else self._sides(spot.position, here.position)
        return Motion((*views, spot.position), LookAround(), spot.position)

    def _sides(self, spot: Vec3, here: Vec3) -> list[Vec3]:
        """Return from where one sees what can be handled from a spot [m], on different sides.

        The nearest side comes first: the back of a chair may hide what lies on it from another.
        """
        tools, robot, found = self.house.tools, self.house.robot, []
        parts = tools.components_of(robot, here)
        ahead = math.atan2(here[1] - spot[1], here[0] - spot[0])
        for turn in (0.0, -math.pi / 2.0, math.pi / 2.0, math.pi):
            x = spot[0] + BEST_AWAY * math.cos(ahead + turn)
            y = spot[1] + BEST_AWAY * math.sin(ahead + turn)
            stand = tools.kind(robot).space.stand((x, y, spot[2]), BEST_AWAY / 2.0, parts)
            found += [stand] if stand is not None else []
        return found[:MOST_SIDES]


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
