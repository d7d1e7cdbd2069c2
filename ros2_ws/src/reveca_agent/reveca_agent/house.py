"""A house as one cooperating robot knows it: observations become percepts, actions become skills.

The worlds of the bench give percepts and take actions themselves. In a house, simulated or real, a
robot has its detector, a map known beforehand, and the skills of its driver; this makes one of the
other, free of ROS.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from coterie_core.cooperation import (
    Action,
    Briefing,
    Close,
    Gate,
    Goal,
    GoTo,
    Grab,
    HomeRoom,
    Note,
    Open,
    Percept,
    Put,
    Reason,
    Result,
    Spot,
    Teammate,
    Thing,
    Walkways,
)
from coterie_core.geometry import Box, Vec3
from coterie_core.household import load_household
from coterie_core.object_events import EventKind, ObjectEvent, event_of
from coterie_core.observation import Observation
from coterie_core.scene import LabelBelief, Receptacle, SceneGraph, SceneObject
from coterie_core.sightings import room_at
from coterie_core.skills import Close as CloseSkill
from coterie_core.skills import Open as OpenSkill
from coterie_core.skills import Outcome, Pick, Place, Skill, SkillResult, Target, Wait
from coterie_core.team_map import SAME, TeamMap
from reveca_agent.memory import Memory
from reveca_agent.naming import Naming
from reveca_agent.standing import FreeFloor

IN_VIEW = 2.0
"""What a robot looks for and does not see within this distance may not be there [m]."""
MISSES = 4
"""Looks after which a thing that should be in view is taken to be gone: detectors miss things."""
MISSES_OF_OWN = 12
"""The same for what the robot put there itself."""
WELL_SEEN = 0.5
"""How well a place must be seen to count as looked at."""
LOOK_AGAIN = 60.0
"""A room that was left so long ago is looked through anew [s]."""
MATE_KEPT = 5.0
"""How long a teammate's last word on where it is counts [s]."""
MOST_LOST = 500
"""Things no longer seen whose names are remembered."""
NEARLY = 0.3
"""A spot that is too far by less than this is tried all the same: maps are not exact [m]."""
SLACK = 0.1
"""That a height may be off and is tried all the same [m]."""
HANDY = 0.9
"""Height of a shelf that is easiest to put things on [m]."""
LARGEST = 0.5
"""What is larger in every direction is not carried [m]."""

_REASONS: dict[Outcome, Reason] = {
    Outcome.UNKNOWN_TARGET: "gone",
    Outcome.UNREACHABLE: "no_way",
    Outcome.BLOCKED: "no_way",
    Outcome.TIMED_OUT: "no_way",
    Outcome.OUT_OF_REACH: "too_far",
    Outcome.NOT_VISIBLE: "too_far",
    Outcome.HAND_FULL: "hands_full",
    Outcome.HAND_EMPTY: "not_holding",
    Outcome.CLOSED: "closed",
    Outcome.UNSUPPORTED: "not_portable",
    Outcome.REFUSED: "not_portable",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What the robot's body means for cooperating.

    Attributes:
        radius: Of its footprint [m].
        reach: From how far its hand gets to things, sideways from its middle [m].
        speed: At which it drives [m/s].
        step: How long one step of the agent's is [s].
        low, high: Lowest and highest that the hand gets to above the floor [m].
    """

    radius: float = 0.25
    reach: float = 0.8
    speed: float = 0.6
    step: float = 1.0
    low: float = 0.0
    high: float = 1.6


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


@dataclass(slots=True)
class _Look:
    """How far a room is looked through since it was entered."""

    entered: float
    left: float = math.inf
    quality: dict[str, float] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)


class HouseBody:
    """One robot in a house.

    Args:
        name: The robot's.
        scene: What is known of the house: rooms and ways, and what furniture there is.
        shape: Its body.

    Raises:
        ValueError: The map has no room.
    """

    def __init__(self, name: str, scene: SceneGraph, shape: Shape) -> None:
        self.name, self.shape = name, shape
        self.map = TeamMap(scene, name)
        self.floor = FreeFloor(self.map.scene, shape.radius)
        self.ways = _ways(self.map.scene, self.floor)
        if not self.ways.rooms:
            raise ValueError(
                "the map known beforehand has no room with an outline or places; "
                "set cooperation: prior_map: rooms or furniture"
            )
        self._furnished = any(thing.receptacles for thing in scene.objects.values())
        self.names = Naming(name)
        self.holding = ""
        self.time = 0.0
        self.spot = Spot("", (0.0, 0.0, 0.0))
        self.begun = 0.0
        self._revision = 0
        self._misses: dict[str, int] = {}
        self._lost: dict[str, SceneObject] = {}
        self._put: set[str] = set()
        self._known: set[str] = set()
        self._full: dict[str, int] = {}
        self._looks: dict[str, _Look] = {}
        self._mates: dict[str, tuple[float, Teammate]] = {}
        self._stands: dict[str, tuple[Box, list[Vec3]]] = {}
        self._result: Result | None = None
        self._told_all = False
        # What became of things; whoever tells it clears it.
        self.events: deque[ObjectEvent] = deque(maxlen=1000)

    # --- episodes --------------------------------------------------------------------------------

    def briefing(
        self, goal: Goal, team: Sequence[str], *, max_time: float, seed: int = 0
    ) -> Briefing:
        """Return what the agent is told, and begin to count steps now."""
        self.begun, self._told_all, self._result = self.time, False, None
        self._revision += 1
        step = self.shape.step
        return Briefing(
            name=self.name,
            team=tuple(team),
            goal=goal,
            ways=self.ways,
            hands=1,
            stride=self.shape.speed * step,
            reach=max(0.6, self.shape.reach),
            horizon=max(1, int(max_time / step)),
            seed=seed,
        )

    # --- what comes in ---------------------------------------------------------------------------

    def observe(self, observation: Observation) -> None:
        """Take in what the robot perceives."""
        self.time = max(self.time, observation.time)
        self._moved(observation.pose.position, observation.room.id if observation.room else "")
        before = set(self.map.scene.objects)
        seen = set(self.map.observe(observation, self.holding))
        new = [id_ for id_ in sorted(seen) if id_ not in before]
        self._furnish(new)
        seen = (seen - set(new)) | set(self._back(new))
        self._look(observation)
        self._miss(seen)
        self._revision += 1

    def _furnish(self, new: Sequence[str]) -> None:
        """Furniture that no map told of is for what such furniture is for, in general.

        What such things are put on has a top; what opens is taken to be closed until it is opened.
        Where a map told of furniture, what it lacks is more likely taken for something else.
        """
        if self._furnished:
            return
        objects = self.map.scene.objects
        found = [objects[id_] for id_ in new if objects[id_].kind != "item"]
        for thing in found:
            category = load_household().category(thing.label.top)
            if category is None:
                continue
            if category.opens:
                thing.is_open = False
            if category.opens or category.label in _carrying():
                x, y, _ = thing.box.center
                top = Box((x, y, thing.box.top), (*thing.box.size[:2], 0.02), thing.box.yaw)
                thing.receptacles = [Receptacle(f"{thing.id}/top", top)]
        if found:
            self.floor.forget()
            self._stands.clear()
            for id_ in new:
                if objects[id_].kind == "item":
                    self.map.rest(objects[id_])  # it may stand on what is known since now only

    def moved(self, position: Vec3, time: float) -> None:
        """Take in where the robot is now [m], on its way."""
        self.time = max(self.time, time)
        self._moved(position, "")

    def teammate(self, name: str, room: str, position: Vec3, holding: str) -> None:
        """Take in where a teammate says it is; it counts as in view while in the same room."""
        if name == self.name or room not in self.ways.rooms:
            return
        hands: tuple[Thing, ...] = ()
        if holding:
            kind = load_household().canonical(holding)
            hands = tuple(
                Thing(id_, kind, "item", Spot(room, position), name, "held", None, True)
                for id_ in self.names.held_by(name)[:1]
            )
        self._mates[name] = (self.time, Teammate(name, Spot(room, position), hands))

    def _moved(self, position: Vec3, room: str) -> None:
        if room not in self.ways.rooms:
            room = room_at(self.map.scene, position) or self.spot.room
        if room not in self.ways.rooms:
            room = min(
                self.ways.rooms.values(), key=lambda r: (math.dist(r.center, position), r.id)
            ).id
        if room != self.spot.room:
            left = self._looks.get(self.spot.room)
            if left is not None:
                left.left = self.time
            look = self._looks.get(room)
            if look is None or self.time - look.left > LOOK_AGAIN:
                self._looks[room] = _Look(self.time)
        self.spot = Spot(room, position)

    def _look(self, observation: Observation) -> None:
        look = self._looks[self.spot.room]
        places = self.map.scene.places
        for id_, quality in observation.seen.items():
            place = places.get(id_)
            if place is not None and place.room == self.spot.room:
                look.quality[id_] = max(quality, look.quality.get(id_, 0.0))

    def _miss(self, seen: set[str]) -> None:
        """Forget things that should be in view and were not, so many times."""
        for thing in list(self.map.scene.objects.values()):
            id_ = thing.id
            if id_ in seen:
                self._misses.pop(id_, None)
                continue
            if thing.kind != "item" or thing.room != self.spot.room or id_ == self.holding:
                continue
            if self._hidden(thing):
                continue
            if math.dist(thing.box.center[:2], self.spot.position[:2]) > IN_VIEW:
                continue
            self._misses[id_] = self._misses.get(id_, 0) + 1
            if self._misses[id_] >= (MISSES_OF_OWN if id_ in self._put else MISSES):
                self._forget(id_)

    def _back(self, new: Sequence[str]) -> list[str]:
        """Give things seen first now the names they had: one's own of before, or another's."""
        objects = self.map.scene.objects
        names = []
        for id_ in new:
            thing = objects[id_]
            kind = load_household().canonical(thing.label.top)
            near = [
                (math.dist(lost.box.center, thing.box.center), name)
                for name, lost in self._lost.items()
                if name not in objects and load_household().canonical(lost.label.top) == kind
            ]
            if near and min(near)[0] <= SAME:
                name = min(near)[1]
                del self._lost[name]
                del objects[id_]
                thing.id = name
                self.map.scene.add_object(thing)
                names.append(name)
            else:
                names.append(self.names.found(self.map.scene, id_))
        self.names.seen(self.map.scene)
        return names

    def _forget(self, id_: str) -> None:
        self._misses.pop(id_, None)
        self._stands.pop(id_, None)
        thing = self.map.scene.objects.pop(id_, None)
        if thing is not None:
            self._lost[id_] = thing
            if len(self._lost) > MOST_LOST:
                del self._lost[next(iter(self._lost))]
        self._revision += 1

    def _hidden(self, thing: SceneObject) -> bool:
        holder = self.map.thing(thing.container or thing.support)
        return holder is not None and holder.is_open is False and bool(thing.container)

    # --- what the agent gets ---------------------------------------------------------------------

    @property
    def step(self) -> int:
        """Steps since the goal was given."""
        return int((self.time - self.begun) / self.shape.step + 1e-9)

    @property
    def since_begin(self) -> float:
        """Time since the goal was given [s]."""
        return self.time - self.begun

    def step_at(self, time: float) -> int:
        """Return the step at a time of the world's clock [s]; 0 for before the goal was given."""
        return min(self.step, max(0, int((time - self.begun) / self.shape.step)))

    def take_over(self, memory: Memory, holding: str, begun: float) -> None:
        """Go on where a process of this robot before this one ended."""
        self.begun = min(begun, self.time) if math.isfinite(begun) else self.time
        self._names_of_before(memory)
        if holding:
            entry = memory.scene.get(holding)
            label = entry.thing.label if entry is not None else "thing"
            if self.map.thing(holding) is None:
                box = Box(self.spot.position, (0.1, 0.1, 0.1))
                self.map.scene.add_object(SceneObject(holding, LabelBelief.of(label), box))
            self.holding = holding

    def _names_of_before(self, memory: Memory) -> None:
        """Let things have the names that they had, and new ones others."""
        named = {id_: e.thing for id_, e in memory.scene.items() if e.thing.kind == "item"}
        self.map.reserve((*named, *memory.hands))
        # What was seen since the start was named without knowing; it is seen again soon.
        for id_ in [id_ for id_ in self.map.scene.objects if id_.startswith(f"{self.name}-")]:
            del self.map.scene.objects[id_]
            self._misses.pop(id_, None)
            self._stands.pop(id_, None)
            self.names.drop(id_)
        for id_, one in named.items():
            if id_ not in self.map.scene.objects and one.relation != "held":
                self.names.expect(id_, one.label, one.parent or one.spot.room)
        self._revision += 1

    def arrived(self, spot: Spot) -> None:
        """Take in that the body stands as near to a spot as it gets."""
        if spot.room == self.spot.room:
            self.spot = spot

    def percept(self, notes: Iterable[Note] = ()) -> Percept:
        """Return what the agent perceives now; the result is that of its last action.

        The first one of a goal holds all that the robot knows of the house, from work before too.
        """
        room = self.spot.room
        first, self._told_all = not self._told_all, True
        shown = [
            thing
            for one in self.map.scene.objects.values()
            if (first or one.room == room) and (thing := self._thing(one)) is not None
        ]
        now = self.time
        mates = [
            mate
            for when, mate in self._mates.values()
            if mate.spot.room == room and now - when <= MATE_KEPT
        ]
        return Percept(
            step=self.step,
            spot=self.spot,
            hands=(self.holding,) if self.holding else (),
            things=shown,
            view=(room, self._revision),
            covered=(room,) if self._covered(room) else (),
            teammates=mates,
            notes=[self.names.heard(note, self.map.scene) for note in notes],
            result=self._result,
        )

    def _covered(self, room: str) -> bool:
        look = self._looks.get(room)
        return look is not None and not self._to_see(room, look) and bool(look.quality)

    def _to_see(self, room: str, look: _Look) -> list[str]:
        return [
            place.id
            for place in self.map.scene.places.values()
            if place.room == room
            and look.quality.get(place.id, 0.0) < WELL_SEEN
            and place.id not in look.tried
        ]

    def _thing(self, one: SceneObject) -> Thing | None:
        if one.id == self.holding or one.room not in self.ways.rooms or self._hidden(one):
            return None
        label = load_household().canonical(one.label.top) or one.label.top
        if one.kind == "item":
            if max(one.box.size) > LARGEST:
                return None
            parent = one.container or one.support
            holder = self.map.thing(parent)
            if holder is None or holder.kind == "item":
                parent = ""
            relation = "" if not parent else ("in" if one.container else "on")
            if holder is not None and parent and holder.is_open is not None:
                relation = "in"
            spot = Spot(one.room, self._stand(one)[0])
            return Thing(one.id, label, "item", spot, parent, relation, None, True)  # type: ignore[arg-type]
        if one.is_open is None and not one.receptacles:
            return None
        kind = "surface" if one.is_open is None else "container"
        spot = Spot(one.room, self._stand(one)[0])
        return Thing(one.id, label, kind, spot, is_open=one.is_open)  # type: ignore[arg-type]

    def _stand(self, one: SceneObject) -> list[Vec3]:
        kept = self._stands.get(one.id)
        if kept is not None and kept[0] == one.box:
            return kept[1]
        room = self.map.scene.rooms[one.room]
        stands = self.floor.beside(one.box, room, self.shape.reach)
        middle = self.ways.rooms[one.room].center
        stands.sort(key=lambda s: math.dist(s, middle))
        self._stands[one.id] = (one.box, stands)
        return stands

    # --- what the agent does ---------------------------------------------------------------------

    def motion(self, action: Action) -> Motion | Result:
        """Return what an action is for the body; a result where it cannot be done at all."""
        if isinstance(action, GoTo):
            return self._way(action)
        if isinstance(action, Grab):
            thing = self.map.thing(action.item)
            if thing is None or self._thing(thing) is None:
                return _failed("gone", f"{action.item} is not where it was")
            target = Target(thing.label.top, thing.box.center, thing.id)
            return self._handle(thing.room, thing.box, Pick(target), target)
        if isinstance(action, Put):
            if action.item != self.holding:
                return _failed("not_holding", f"{action.item} is not in the hand")
            owner = self.map.thing(action.target)
            if owner is None or owner.room not in self.ways.rooms:
                return _failed("unknown_target", f"{action.target} is not on the map")
            at = self._surface(owner, action.relation == "in")
            target = Target(owner.label.top, at, owner.id)
            spot = Box(at, (0.02, 0.02, 0.02))
            self.about_to_put()
            return self._handle(owner.room, spot, Place(target), target)
        if isinstance(action, (Open, Close)):
            owner = self.map.thing(action.container)
            if owner is None or owner.room not in self.ways.rooms:
                return _failed("unknown_target", f"{action.container} is not on the map")
            target = Target(owner.label.top, owner.box.center, owner.id)
            skill = OpenSkill(target) if isinstance(action, Open) else CloseSkill(target)
            return self._handle(owner.room, owner.box, skill, target)
        return Motion(then=Wait(self.shape.step))

    def put_down(self) -> Motion | None:
        """Return how to get rid of what nobody wants any more; None: the hand is empty."""
        if not self.holding:
            return None
        here = self.spot.room
        tops = [
            thing
            for thing in self.map.scene.objects.values()
            if thing.room == here and thing.is_open is None and thing.receptacles
        ]
        if not tops:
            x, y, z = self.spot.position
            return Motion(then=Place(Target("floor", (x + 0.5, y, z))))
        nearest = min(
            tops, key=lambda t: (math.dist(t.box.center[:2], self.spot.position[:2]), t.id)
        )
        motion = self.motion(Put(self.holding, nearest.id))
        return motion if isinstance(motion, Motion) else None

    def ended(self, action: Action, result: SkillResult) -> None:
        """Take in how an action ended."""
        if result.ok:
            self._result = Result(True, True)
            self._changed(action)
            return
        reason = _REASONS.get(result.outcome, "")
        if isinstance(action, Put) and result.outcome is Outcome.BLOCKED:
            reason = "full"
            self._full[action.target] = self._full.get(action.target, 0) + 1
        if isinstance(action, Grab):
            if result.outcome is Outcome.UNKNOWN_TARGET:
                self._happened("gone", action.item)
                self._forget(action.item)
            elif result.outcome is Outcome.CLOSED:
                self._shut(action.item)
        if result.outcome is Outcome.HAND_EMPTY:
            self.holding = ""
        self._result = Result(False, False, reason, result.reason)

    def about_to_put(self) -> None:
        """Take in that the hand lets go next: what is seen first from now on may be that."""
        self._known = set(self.map.scene.objects)

    def settled(self, result: Result) -> None:
        """Take in that an action could not be done at all, or needs no motion."""
        self._result = result

    def under_way(self) -> None:
        """Take in that the last action goes on."""
        self._result = Result(True, False)

    def _way(self, action: GoTo) -> Motion | Result:
        room = self.ways.rooms.get(action.target)
        thing = self.map.thing(action.target)
        if action.spot is not None and action.spot.room in self.ways.rooms:
            more = self._stand(thing) if thing is not None and self._thing(thing) else []
            others = [s for s in more if s != action.spot.position]
            return Motion(
                (action.spot.position, *others), None, thing.box.center if thing else None
            )
        if room is not None:
            look = self._looks.setdefault(room.id, _Look(self.time))
            left = self._to_see(room.id, look) if room.id == self.spot.room else []
            if left:
                position = self.spot.position
                places = self.map.scene.places
                chosen = min(left, key=lambda p: (math.dist(places[p].position, position), p))
                look.tried.add(chosen)
                return Motion((places[chosen].position,))
            if room.id == self.spot.room:
                look.quality.setdefault(room.id, 1.0)  # a map without places: one look counts
                return Result(True, True)
            known = [p.position for p in self.map.scene.places.values() if p.room == room.id]
            known.sort(key=lambda p: math.dist(p, self.spot.position))
            return Motion((room.center, *known[:3]))
        if thing is None or thing.room not in self.ways.rooms:
            return _failed("unknown_target", f"{action.target} is no room or thing of the map")
        return Motion(tuple(self._stand(thing)), None, thing.box.center)

    def _handle(self, room_id: str, box: Box, skill: Skill, target: Target) -> Motion | Result:
        """Return from where to do a skill on a box: from here, if it is in reach, else beside it.

        Where the map shows no floor to stand on near it, that is the result.
        """
        here, reach = self.spot.position, self.shape.reach
        room = self.map.scene.rooms[room_id]
        floor = self.floor.elevation(room)
        if isinstance(skill, (OpenSkill, CloseSkill)):
            lowest, highest = box.bottom - floor, box.top - floor  # any part of the front will do
        else:
            lowest = highest = box.center[2] - floor
        if highest < self.shape.low - SLACK or lowest > self.shape.high + SLACK:
            return _failed(
                "too_far",
                f"the {target.label} is {lowest:.2f} m above the floor, the hand gets to "
                f"{self.shape.low:.2f} to {self.shape.high:.2f} m",
            )
        spots = self.floor.beside(box, room, reach)
        near = [spot for spot in spots if self.floor.gap(box, spot) <= reach + NEARLY]
        if self.spot.room == room_id and self.floor.gap(box, here) <= 0.8 * reach:
            near = [here, *near]
        if not near:
            return _failed("no_way", f"no floor to stand on within reach of the {target.label}")
        return Motion(tuple(near), skill, target.position)

    def _surface(self, owner: SceneObject, inside: bool) -> Vec3:
        """Return a point on or in a piece of furniture that is easy to get at [m].

        Of its shelves the one at the best height, there where one stands nearest to it.
        """
        fitting = [r for r in owner.receptacles if r.inside is inside] or owner.receptacles
        room = self.map.scene.rooms[owner.room]
        if not fitting:
            x, y, _ = owner.box.center
            return (x, y, owner.box.top)
        floor = self.floor.elevation(room)
        best = min(max(HANDY, self.shape.low), self.shape.high)
        surface = min((r.surface for r in fitting), key=lambda b: abs(b.center[2] - floor - best))
        stand = self.floor.nearest(surface, room)
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

    def _changed(self, action: Action) -> None:
        if isinstance(action, Grab):
            self.holding = action.item
            self._happened("picked", action.item)
            self.map.take(action.item)
            self._put.discard(action.item)
        elif isinstance(action, Put):
            owner = self.map.thing(action.target)
            held, self.holding = self.holding, ""
            if owner is not None:
                self.map.put(held, owner.id, self._surface(owner, action.relation == "in"))
                thing = self.map.thing(held)
                if thing is not None:
                    self._is_what_appeared(thing, owner)
                if thing is not None and action.relation == "in":
                    thing.container = owner.id
            self._happened("placed", held)
            self._misses.pop(held, None)
            self._put.add(held)
        elif isinstance(action, (Open, Close)):
            self.map.set_open(action.container, isinstance(action, Open))
            self._happened("opened" if isinstance(action, Open) else "closed", action.container)
        self._revision += 1

    def _happened(self, kind: EventKind, id_: str) -> None:
        thing = self.map.thing(id_)
        if thing is not None and thing.label.top:
            self.events.append(event_of(kind, thing, self.name, self.time))

    def _is_what_appeared(self, thing: SceneObject, owner: SceneObject) -> None:
        """What is seen for the first time where one just put a thing is that thing.

        The robot looked again before it was told that putting it down had worked.
        """
        objects = self.map.scene.objects
        kind = load_household().canonical(thing.label.top)
        new = [
            other
            for id_, other in objects.items()
            if id_ not in self._known
            and other.kind == "item"
            and owner.id in (other.support, other.container)
            and load_household().canonical(other.label.top) == kind
        ]
        if new:
            twin = min(new, key=lambda o: (math.dist(o.box.center, thing.box.center), o.id))
            thing.box = twin.box
            del objects[twin.id]
            self._stands.pop(twin.id, None)
            self.names.same(twin.id, thing.id)

    def _shut(self, item: str) -> None:
        """An item cannot be taken because something around it is closed: take that down."""
        thing = self.map.thing(item)
        if thing is None:
            return
        for owner in self.map.scene.objects.values():
            if owner.is_open and owner.box.contains(thing.box.center, 0.05):
                owner.is_open = False
                thing.container = owner.id
        self._revision += 1


@cache
def _carrying() -> frozenset[str]:
    """Labels of what things are put on in homes."""
    household = load_household()
    owners = (name for one in household.categories.values() for name in one.on)
    return frozenset(member for name in owners for member in (household.members(name) or (name,)))


def household_goal(goal: Goal) -> Goal:
    """Return a goal with the household's names for its labels: a detector's synonyms count."""
    household = load_household()
    parts = tuple(
        replace(
            one,
            item=household.canonical(one.item) or one.item,
            target=household.canonical(one.target) or one.target,
        )
        for one in goal.subgoals
    )
    return replace(goal, subgoals=parts)


def _ways(scene: SceneGraph, floor: FreeFloor) -> Walkways:
    rooms: dict[str, HomeRoom] = {}
    for room in scene.rooms.values():
        places = [p.position for p in scene.places.values() if p.room == room.id]
        middle = floor.middle(room)
        if middle is None:
            if not places:
                continue
            mean = [sum(axis) / len(places) for axis in zip(*places, strict=True)]
            middle = min(places, key=lambda p: math.dist(p, mean))
        rooms[room.id] = HomeRoom(room.id, room.name, room.type, middle, tuple(room.polygon))
    gates = [
        Gate(c.id, c.room_a, c.room_b, c.position, c.position)
        for c in scene.connections.values()
        if c.room_a in rooms and c.room_b in rooms
    ]
    return Walkways(rooms.values(), gates)


def _failed(reason: Reason, text: str) -> Result:
    return Result(False, False, reason, text)
