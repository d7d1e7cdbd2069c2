"""What a cooperating robot's actions are for its body: where to stand, and which skill to do."""

from __future__ import annotations

import math
from dataclasses import dataclass

from coterie_core.cooperation import Action, Close, GoTo, Grab, Open, Put, Reason, Result, Spot
from coterie_core.geometry import Box, Vec3
from coterie_core.scene import SceneObject
from coterie_core.skills import Close as CloseSkill
from coterie_core.skills import Open as OpenSkill
from coterie_core.skills import Pick, Place, Skill, Target, Wait
from reveca_agent.house_map import HouseMap
from reveca_agent.room_search import RoomSearch

NEARLY = 0.3
"""A spot that is too far by less than this is tried all the same: maps are not exact [m]."""
SLACK = 0.1
"""That a height may be off and is tried all the same [m]."""
HANDY = 0.9
"""Height of a shelf that is easiest to put things on [m]."""


@dataclass(frozen=True, slots=True)
class Motion:
    """What an action is for a body: go to the first of `stands` that does [m], then do `then`.

    `faces` is where to look at the end [m].
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
    """Makes motions of actions.

    Args:
        house: What the robot knows of the house.
        search: How far it looked through the rooms.
    """

    def __init__(self, house: HouseMap, search: RoomSearch) -> None:
        self.house, self.search = house, search
        self._full: dict[str, int] = {}

    def of(self, action: Action, here: Spot, holding: str) -> Motion | Result:
        """Return what an action is for the body; a result where it cannot be done at all.

        Args:
            action: What the agent decided.
            here: Where the body is.
            holding: Id of what its hand holds; "": nothing.
        """
        if isinstance(action, GoTo):
            return self._way(action, here, holding)
        if isinstance(action, Grab):
            thing = self.house.thing(action.item)
            if thing is None or thing.id == holding or self.house.as_told(thing) is None:
                return _failed("gone", f"{action.item} is not where it was")
            target = Target(thing.label.top, thing.box.center, thing.id)
            return self._handle(thing.room, thing.box, Pick(target), target, here)
        if isinstance(action, Put):
            if action.item != holding:
                return _failed("not_holding", f"{action.item} is not in the hand")
            owner = self.house.thing(action.target)
            if owner is None or owner.room not in self.house.ways.rooms:
                return _failed("unknown_target", f"{action.target} is not on the map")
            at = self.surface(owner, action.relation == "in")
            target = Target(owner.label.top, at, owner.id)
            return self._handle(
                owner.room, Box(at, (0.02, 0.02, 0.02)), Place(target), target, here
            )
        if isinstance(action, (Open, Close)):
            owner = self.house.thing(action.container)
            if owner is None or owner.room not in self.house.ways.rooms:
                return _failed("unknown_target", f"{action.container} is not on the map")
            target = Target(owner.label.top, owner.box.center, owner.id)
            skill = OpenSkill(target) if isinstance(action, Open) else CloseSkill(target)
            return self._handle(owner.room, owner.box, skill, target, here)
        return Motion(then=Wait(self.house.shape.step))

    def put_down(self, here: Spot, holding: str) -> Motion | None:
        """Return how to get rid of what nobody wants any more; None: there is no way."""
        tops = [
            thing
            for thing in self.house.scene.objects.values()
            if thing.room == here.room and thing.is_open is None and thing.receptacles
        ]
        if not tops:
            x, y, z = here.position
            return Motion(then=Place(Target("floor", (x + 0.5, y, z))))
        nearest = min(tops, key=lambda t: (math.dist(t.box.center[:2], here.position[:2]), t.id))
        motion = self.of(Put(holding, nearest.id), here, holding)
        return motion if isinstance(motion, Motion) else None

    def note_full(self, target: str) -> None:
        """Take in that there was no room where something was to be put."""
        self._full[target] = self._full.get(target, 0) + 1

    def surface(self, owner: SceneObject, inside: bool) -> Vec3:
        """Return a point on or in a piece of furniture that is easy to get at [m].

        Of its shelves the one at the best height, there where one stands nearest to it.
        """
        fitting = [r for r in owner.receptacles if r.inside is inside] or owner.receptacles
        if not fitting:
            x, y, _ = owner.box.center
            return (x, y, owner.box.top)
        room, shape = self.house.scene.rooms[owner.room], self.house.shape
        floor = self.house.floor.elevation(room)
        best = min(max(HANDY, shape.low), shape.high)
        surface = min((r.surface for r in fitting), key=lambda b: abs(b.center[2] - floor - best))
        stand = self.house.floor.nearest(surface, room)
        (x0, y0, _), (x1, y1, _) = surface.axis_aligned()
        edge = min(0.12, (x1 - x0) / 2.0, (y1 - y0) / 2.0)
        # Where it was full, another part of it is tried: a third along its longer side.
        shift = (0.0, 1.0 / 3.0, -1.0 / 3.0)[self._full.get(owner.id, 0) % 3]
        wide = x1 - x0 > y1 - y0
        x = stand[0] + (shift * (x1 - x0) if wide else 0.0)
        y = stand[1] + (0.0 if wide else shift * (y1 - y0))
        x = min(max(x, x0 + edge), x1 - edge)
        y = min(max(y, y0 + edge), y1 - edge)
        return (x, y, surface.center[2])

    def _way(self, action: GoTo, here: Spot, holding: str) -> Motion | Result:
        rooms, scene = self.house.ways.rooms, self.house.scene
        room = rooms.get(action.target)
        thing = self.house.thing(action.target)
        if action.spot is not None and action.spot.room in rooms:
            known = thing is not None and thing.id != holding and self.house.as_told(thing)
            more = self.house.stands(thing) if thing is not None and known else []
            others = [s for s in more if s != action.spot.position]
            return Motion(
                (action.spot.position, *others), None, thing.box.center if thing else None
            )
        if room is not None:
            if room.id == here.room:
                place = self.search.next_place(here)
                return Result(True, True) if place is None else Motion((place,))
            known_places = [p.position for p in scene.places.values() if p.room == room.id]
            known_places.sort(key=lambda p: math.dist(p, here.position))
            return Motion((room.center, *known_places[:3]))
        if thing is None or thing.room not in rooms:
            return _failed("unknown_target", f"{action.target} is no room or thing of the map")
        return Motion(tuple(self.house.stands(thing)), None, thing.box.center)

    def _handle(
        self, room_id: str, box: Box, skill: Skill, target: Target, here: Spot
    ) -> Motion | Result:
        """Return from where to do a skill on a box: from here, if it is in reach, else beside it.

        Where the map shows no floor to stand on near it, that is the result.
        """
        shape, floor = self.house.shape, self.house.floor
        room = self.house.scene.rooms[room_id]
        level = floor.elevation(room)
        if isinstance(skill, (OpenSkill, CloseSkill)):
            lowest, highest = box.bottom - level, box.top - level  # any part of the front will do
        else:
            lowest = highest = box.center[2] - level
        if highest < shape.low - SLACK or lowest > shape.high + SLACK:
            return _failed(
                "too_far",
                f"the {target.label} is {lowest:.2f} m above the floor, the hand gets to "
                f"{shape.low:.2f} to {shape.high:.2f} m",
            )
        spots = floor.beside(box, room, shape.reach)
        near = [spot for spot in spots if floor.gap(box, spot) <= shape.reach + NEARLY]
        if here.room == room_id and floor.gap(box, here.position) <= 0.8 * shape.reach:
            near = [here.position, *near]
        if not near:
            return _failed("no_way", f"no floor to stand on within reach of the {target.label}")
        return Motion(tuple(near), skill, target.position)


def _failed(reason: Reason, text: str) -> Result:
    return Result(False, False, reason, text)
