"""What a cooperating robot's actions are for its body: where to stand, and which skill to do."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from coterie_core.cooperation import Action, Close, GoTo, Grab, Open, Put, Reason, Result, Spot
from coterie_core.geometry import Box, Vec3, wrap_angle
from coterie_core.skills import Close as CloseSkill
from coterie_core.skills import LookAround, Outcome, Pick, Place, Skill, Target, Wait
from coterie_core.skills import Open as OpenSkill
from coterie_world.free_space.free_cells import beside
from coterie_world.scene import SceneObject
from coterie_world.surfaces import free_points, reaching_over, usual_surfaces
from reveca_agent.house_map import TOP, HouseMap
from reveca_agent.lookouts import Lookout
from reveca_agent.room_search import RoomSearch

NEARLY = 0.3
"""A spot that is too far by less than this is tried all the same: maps are not exact [m]."""
SLACK = 0.1
"""That a height may be off and is tried all the same [m]."""
HANDY = 0.9
"""Height of a shelf that is easiest to put things on [m]."""
SMALL = 0.1
"""Edge of a held thing whose size nobody knows [m]."""
INWARD = 0.08
"""How far from the edge nearest to free floor things are put [m]."""
ELSEWHERE = 0.25
"""Where a thing could not be put, the next try is at least so far away [m]."""
NEARER = 0.1
"""Where the hand was too short, the next stand is nearer by at least so much [m]."""
FAN = math.radians(20.0)
"""Spots that lie in directions nearer than this to one another are as good [rad]."""
AROUND, STANDS = 40, 6
"""Spots about a hidden thing that are looked at, and how many of these are tried."""
BEFORE = 0.5
"""A hand gets to the floor so far from the robot's middle [m]."""
BESIDE = math.radians(30.0)
"""An arm may not reach what lies farther from straight ahead: the robot turns first [rad]."""
TOPS = 3
"""Pieces of furniture on which what nobody wants any more is tried to be put down."""
HIDDEN = 100
"""Most things that were hidden, or looked for, and are remembered."""
TRIES = 6
"""Spots on a piece of furniture that did not do and are remembered."""


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
        self._aims: dict[str, Vec3] = {}
        self._failed: dict[str, deque[Vec3]] = {}
        self._bears: dict[str, Vec3] = {}
        self._hidden: deque[str] = deque(maxlen=HIDDEN)
        self._looked: deque[tuple[str, Spot]] = deque(maxlen=HIDDEN)
        self._short = math.inf

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
            motion = self._handle(thing.room, thing.box, Pick(target), target, here)
            if thing.id in self._hidden and isinstance(motion, Motion):
                return self._in_view(motion, thing)
            return motion
        if isinstance(action, Put):
            if action.item != holding:
                return _failed("not_holding", f"{action.item} is not in the hand")
            owner = self.house.thing(action.target)
            if owner is None or owner.room not in self.house.ways.rooms:
                return _failed("unknown_target", f"{action.target} is not on the map")
            at = self._free_spot(owner, action.relation == "in", holding, here)
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

    def better_view(self, action: Action, outcome: Outcome, here: Spot) -> Lookout | None:
        """Return from where to look before an action is tried again; None: that would not help.

        Where the hand gets to furniture, what it holds and the furniture itself hide what is to
        bear it; and a hand that closed on nothing reached for where the thing is not.
        """
        if isinstance(action, Put) and outcome is Outcome.NOT_VISIBLE:
            owner, at = self.house.thing(action.target), self.aim(action.target)
        elif isinstance(action, Grab) and outcome is Outcome.HAND_EMPTY:
            owner = self.house.thing(action.item)
            at = owner.box.center if owner is not None else None
        else:
            return None
        if owner is None or at is None or owner.room not in self.house.scene.rooms:
            return None
        return self.house.nearest_view(at, owner.room, here.position)

    def only_told(self, action: Action) -> bool:
        """Tell whether an action is about what only another robot has seen so far."""
        name = ""
        if isinstance(action, (Open, Close)):
            name = action.container
        elif isinstance(action, (Grab, Put)):
            name = action.item if isinstance(action, Grab) else action.target
        own = name.startswith(f"{self.house.robot}-")
        return bool(name) and not own and self.house.thing(name) is None

    def put_down(self, here: Spot, heading: float, holding: str) -> Iterator[Motion]:
        """Yield ways to get rid of what nobody wants any more, at last onto the floor.

        Args:
            here: Where the body is.
            heading: Where it faces [rad].
            holding: Id of what its hand holds.
        """
        tops = [
            thing
            for thing in self.house.scene.objects.values()
            if thing.room == here.room and thing.is_open is None and thing.receptacles
        ]
        tops.sort(key=lambda t: (math.dist(t.box.center[:2], here.position[:2]), t.id))
        for top in tops[:TOPS]:
            motion = self.of(Put(holding, top.id), here, holding)
            if isinstance(motion, Motion):
                yield motion
        down = self.onto_floor(here.position, heading)
        at = down.receptacle.position
        ahead = math.atan2(at[1] - here.position[1], at[0] - here.position[0])
        turns = abs(wrap_angle(ahead - heading)) > BESIDE
        yield Motion((here.position,) if turns else (), down, at)

    def onto_floor(self, position: Vec3, heading: float) -> Place:
        """Return how to put what the hand holds onto the floor beside the robot.

        Args:
            position: Where it stands [m].
            heading: Where it faces [rad].
        """
        cells = self.house.floor.cells(position[2])
        return Place(Target("floor", beside(cells, position, heading, BEFORE)))

    def note_failed(self, target: str, bears_at: Vec3 | None = None) -> None:
        """Take in that a thing could not be put where it was to be put: it is tried elsewhere.

        That is where the robot saw that it bears things [m], if it saw such a spot.
        """
        self._bears.pop(target, None)
        if bears_at is not None:
            self._bears[target] = bears_at
        if target in self._aims:
            self._failed.setdefault(target, deque(maxlen=TRIES)).append(self._aims[target])

    def note_short(self, target: Vec3, here: Spot) -> None:
        """Take in that the hand did not get from here to a point [m]: others are handled nearer."""
        away = math.dist(target[:2], here.position[:2])
        self._short = min(self._short, max(away, self.house.shape.radius + NEARER))

    def note_hidden(self, item: str) -> None:
        """Take in that a thing is hidden from where it was reached for: it was seen before."""
        self._hidden.append(item)

    def _in_view(self, motion: Motion, thing: SceneObject) -> Motion:
        """Return a motion from the spots in reach that lie towards where a thing was seen from.

        Of these the farthest come first: what lies on a low board is hidden from above.
        """
        room = self.house.scene.rooms[thing.room]
        if thing.id not in self.house.seen_from:
            return motion
        eye, at = self.house.seen_from[thing.id]

        def off(spot: Vec3) -> tuple[float, float]:
            toward = math.atan2(eye[1] - at[1], eye[0] - at[0])
            turned = wrap_angle(math.atan2(spot[1] - at[1], spot[0] - at[0]) - toward)
            return round(abs(turned) / FAN), -math.dist(spot[:2], at[:2])

        spots = self.house.floor.beside(thing.box, room, self.house.shape.reach, most=AROUND)
        return replace(motion, stands=tuple(sorted(spots, key=off)[:STANDS]))

    def aim(self, target: str) -> Vec3 | None:
        """Return where on or in a piece of furniture a thing was last to be put [m]."""
        return self._aims.get(target)

    def _free_spot(self, owner: SceneObject, inside: bool, holding: str, here: Spot) -> Vec3:
        """Return a point on or in a piece of furniture where a thing may be put [m].

        Of its shelves the one at the best height; there the point nearest to free floor, and then
        to the robot, at which nothing is known to lie and no try has failed.
        """
        if owner.id in self._bears:
            self._aims[owner.id] = self._bears[owner.id]
            return self._aims[owner.id]
        held = self.house.thing(holding)
        item = held.box if held is not None else Box(owner.box.center, (SMALL, SMALL, SMALL))
        top = self._surface(owner, inside, item.size[2] / 2.0)
        # Where it looks full, trying tells: boxes of what was seen are rough.
        points = free_points(top, item, self._upon(owner, top, holding))
        for spots in (points, free_points(top, item, ())):
            for bad in self._failed.get(owner.id, ()):
                spots = spots[np.hypot(*(spots - bad[:2]).T) > ELSEWHERE]
            if len(spots):
                break
        else:
            self._failed.pop(owner.id, None)
            spots = points if len(points) else np.array([top.center[:2]])
        away = self.house.floor.away(spots, self.house.scene.rooms[owner.room])
        off = np.abs(away - away.min() - INWARD).round(1)
        far = np.hypot(*(spots - here.position[:2]).T)
        x, y = spots[np.lexsort((far, off))[0]]
        self._aims[owner.id] = (float(x), float(y), top.center[2])
        return self._aims[owner.id]

    def _surface(self, owner: SceneObject, inside: bool, hold: float) -> Box:
        """Return the surface of a piece of furniture that is easiest to put things on.

        Of what was found on the way rather one that the hand gets to while it holds a thing so far
        above that thing's foot [m]: a tall one does not get onto the highest board in reach.
        """
        shape, box = self.house.shape, owner.box
        floor = self.house.floor.elevation(self.house.scene.rooms[owner.room])
        best = floor + min(max(HANDY, shape.low), shape.high)
        fitting = [r.surface for r in owner.receptacles if r.inside is inside]
        if inside and not fitting:  # of what was found on the way nobody knows the shelves
            height = max(box.bottom + TOP, min(best, box.top - 2.0 * TOP))
            fitting = [Box((*box.center[:2], height), (*box.size[:2], 0.0), box.yaw)]
        elif not self.house.told(owner):
            usual = usual_surfaces(owner.label.top, box, floor=floor)
            for most in (shape.high - hold, shape.high):
                within = [s for s in usual if shape.low <= s.center[2] - floor <= most]
                if usual[0] in within:
                    return usual[0]
                if within:
                    return min(within, key=lambda surface: abs(surface.center[2] - best))
            return usual[0]
        fitting = fitting or [r.surface for r in owner.receptacles]
        if not fitting:
            return Box((*box.center[:2], box.top), (*box.size[:2], 0.0), box.yaw)
        return min(fitting, key=lambda surface: abs(surface.center[2] - best))

    def _upon(self, owner: SceneObject, top: Box, holding: str) -> list[Box]:
        """Return the boxes of what is known to lie on a surface, or to reach over it."""
        things = [
            thing
            for thing in self.house.scene.objects.values()
            if thing.kind == "item" and thing.id != holding and thing.room == owner.room
        ]
        if self.house.told(owner):
            return [t.box for t in things if owner.id in (t.support, t.container)]
        # Of furniture found on the way the upper face is known, and that is a sofa's back: what
        # lies at any height of it takes up room.
        furniture = (
            thing.box
            for thing in self.house.scene.objects.values()
            if thing.kind != "item" and thing.id != owner.id and thing.room == owner.room
        )
        out = reaching_over(top, owner.box, furniture)
        for thing in things:
            x, y, _ = thing.box.center
            if not owner.box.contains((x, y, owner.box.center[2])):
                continue
            if owner.box.bottom + INWARD < thing.box.bottom < owner.box.top + INWARD:
                width, depth, height = thing.box.size
                middle = (x, y, top.center[2] + height / 2.0)
                out.append(Box(middle, (width, depth, height), thing.box.yaw))
        return out

    def _way(self, action: GoTo, here: Spot, holding: str) -> Motion | Result:
        rooms, scene = self.house.ways.rooms, self.house.scene
        room = rooms.get(action.target)
        thing = self.house.thing(action.target)
        if action.spot is not None and action.spot.room in rooms:
            known = thing is not None and thing.id != holding and self.house.as_told(thing)
            more = self.house.stands(thing) if thing is not None and known else []
            others = [s for s in more if s != action.spot.position]
            if thing is None:
                return self._look_for(action.target, action.spot, here)
            return Motion((action.spot.position, *others), None, thing.box.center)
        if room is not None:
            if room.id == here.room:
                place = self.search.next_place(here)
                if place is None:
                    return Result(True, True)
                return Motion((place.position,), None, place.faces)
            known_places = [p.position for p in scene.places.values() if p.room == room.id]
            known_places.sort(key=lambda p: math.dist(p, here.position))
            return Motion((room.center, *known_places[:3]))
        if thing is None or thing.room not in rooms:
            return _failed("unknown_target", f"{action.target} is no room or thing of the map")
        return Motion(tuple(self.house.stands(thing)), None, thing.box.center)

    def _look_for(self, target: str, spot: Spot, here: Spot) -> Motion:
        """Return how to look for what only others have told of: from where one sees it, then there.

        What lies at a robot's feet is in no image of a camera on its mast.
        """
        looked = (target, spot) in self._looked
        views = [] if looked else self.house.overlooking(spot, here.position)
        self._looked.append((target, spot))
        return Motion((*views, spot.position), LookAround(), spot.position)

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
        most = self._short - NEARER
        near = [s for s in near if math.dist(s[:2], target.position[:2]) <= most] or near
        if not near:
            return _failed("no_way", f"no floor to stand on within reach of the {target.label}")
        return Motion(tuple(near), skill, target.position)


def _failed(reason: Reason, text: str) -> Result:
    return Result(False, False, reason, text)
