"""A house as one cooperating robot knows it: observations become percepts, actions become skills.

The worlds of the bench give percepts and take actions themselves. In a house, simulated or real, a
robot has its detector, a map known beforehand, and the skills of its driver; this makes one of the
other, free of ROS.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from coterie_core.cooperation import (
    Action,
    Briefing,
    Close,
    Goal,
    GoTo,
    Grab,
    Note,
    Open,
    Percept,
    Put,
    Result,
    Spot,
    Teammate,
    Thing,
)
from coterie_core.geometry import Box, Pose, Vec3
from coterie_core.observation import Observation
from coterie_core.skills import NavigateTo, Outcome, Place, Skill, SkillResult
from coterie_core.skills import Open as OpenSkill
from coterie_core.tasks import SubTask
from coterie_execution.executive import Executive
from coterie_execution.options import Option, Purpose
from coterie_world.association import SIGHTING
from coterie_world.object_events import EventKind, ObjectEvent, event_of
from coterie_world.right_of_way import YieldRequest, make_way
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from coterie_world.sightings import kind_of, room_at
from reveca_agent.house_map import HouseMap, Shape
from reveca_agent.memory import Memory
from reveca_agent.motions import OBSTACLE_REASONS, Motions, reason_of
from reveca_agent.naming import Naming, rename
from reveca_agent.room_search import RoomSearch

IN_VIEW = 2.0
"""What a robot looks for and does not see within this distance may not be there [m]."""
MISSES = 4
"""Looks after which a thing that should be in view is taken to be gone: detectors miss things."""
MISSES_OF_OWN = 12
"""The same for what the robot put there itself."""
MATE_KEPT = 5.0
"""How long a teammate's last word on where it is counts [s]."""
MOST_LOST = 500
"""Things no longer seen whose names are remembered."""


class HouseBody:
    """One robot in a house.

    Args:
        name: The robot's.
        scene: What is known of the house: rooms and ways, and what furniture there is.
        shape: Its body.

    Attributes:
        result: What became of the last action; None: nothing yet.

    Raises:
        ValueError: The map has no room.
    """

    def __init__(self, name: str, scene: SceneGraph, shape: Shape) -> None:
        self.name, self.shape = name, shape
        self.map = HouseMap(scene, name, shape)
        self.names = Naming(name)
        self.executive = Executive(name, self.map.own, opens=False)
        self.aside = self.executive.aside
        self.search = RoomSearch(self.executive)
        self.motions = Motions(self.map, self.search)
        self.time = 0.0
        self.spot = Spot("", (0.0, 0.0, 0.0))
        self.begun = 0.0
        self._revision = 0
        self._misses: dict[str, int] = {}
        self._lost: dict[str, SceneObject] = {}
        self._put: set[str] = set()
        self._mates: dict[str, tuple[float, Teammate]] = {}
        self.result: Result | None = None
        self._told_all = False
        # What became of things; whoever tells it clears it.
        self.events: deque[ObjectEvent] = deque(maxlen=1000)

    @property
    def holding(self) -> str:
        """Id of what the hand holds; "": nothing."""
        return self.executive.holding

    @holding.setter
    def holding(self, item: str) -> None:
        self.executive.holding = item

    @property
    def pose(self) -> Pose:
        """Where it stood when it last looked."""
        return self.executive.pose or Pose((0.0, 0.0, 0.0))

    # --- episodes --------------------------------------------------------------------------------

    def briefing(
        self, goal: Goal, team: Sequence[str], *, max_time: float, seed: int = 0
    ) -> Briefing:
        """Return what the agent is told, and begin to count steps now."""
        self.begun, self._told_all, self.result = self.time, False, None
        self.map.targets, self.map.items = goal.targets, goal.items
        self.search.begin(goal.items)
        self._revision += 1
        step = self.shape.step
        return Briefing(
            name=self.name,
            team=tuple(team),
            goal=goal,
            ways=self.map.ways,
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
        self.executive.pose = observation.pose
        self._moved(observation.pose.position, observation.room.id if observation.room else "")
        before = set(self.map.scene.objects)
        seen = set(self.map.observe(observation, self.holding))
        new = [id_ for id_ in sorted(seen) if id_ not in before]
        self.map.furnish(new)
        seen = (seen - set(new)) | set(self._back(new))
        self._miss(seen, observation.pose)
        self._revision += 1

    def moved(self, position: Vec3, time: float) -> None:
        """Take in where the robot is now [m], on its way."""
        self.time = max(self.time, time)
        self.map.drove(position)
        self.executive.pose = Pose(position, self.pose.yaw)
        self._moved(position, "")

    def teammate(self, name: str, room: str, position: Vec3, holding: str) -> None:
        """Take in where a teammate says it is; it counts as in view while in the same room."""
        if name == self.name or room not in self.map.ways.rooms:
            return
        hands: tuple[Thing, ...] = ()
        if holding:
            kind = kind_of(holding)
            hands = tuple(
                Thing(id_, kind, "item", Spot(room, position), name, "held", None, True)
                for id_ in self.names.held_by(name)[:1]
            )
        self._mates[name] = (self.time, Teammate(name, Spot(room, position), hands))

    def _moved(self, position: Vec3, room: str) -> None:
        if room not in self.map.ways.rooms:
            room = room_at(self.map.scene, position) or self.spot.room
        if room not in self.map.ways.rooms:
            room = min(
                self.map.ways.rooms.values(), key=lambda r: (math.dist(r.center, position), r.id)
            ).id
        if room != self.spot.room:
            self.search.enter(room, self.spot.room, self.time)
        self.spot = Spot(room, position)

    def _miss(self, seen: set[str], pose: Pose) -> None:
        """Forget things that should be in view and were not, so many times."""
        for thing in list(self.map.scene.objects.values()):
            id_ = thing.id
            if id_ in seen:
                self._misses.pop(id_, None)
                continue
            if thing.room != self.spot.room or id_ == self.holding:
                continue
            if math.dist(thing.box.center[:2], self.spot.position[:2]) > IN_VIEW:
                continue
            if not self.map.may_be_gone(thing) or not self.shape.looks_at(pose, thing.box.center):
                continue
            self._misses[id_] = self._misses.get(id_, 0) + 1
            if self._misses[id_] >= (MISSES_OF_OWN if id_ in self._put else MISSES):
                self._forget(id_)

    def _back(self, new: Sequence[str]) -> list[str]:
        """Give things seen first now the names they had: one's own of before, or another's."""
        objects = self.map.scene.objects
        names = []
        # Furniture first: by its name it is known where other things lie.
        for id_ in sorted(new, key=lambda one: objects[one].kind == "item"):
            thing = objects[id_]
            kind = kind_of(thing.label.top)
            alike = (
                (name, lost.box)
                for name, lost in self._lost.items()
                if name not in objects and kind_of(lost.label.top) == kind
            )
            name = SIGHTING.nearest(thing.box.center, alike)
            if name is not None:
                del self._lost[name]
                rename(self.map.scene, id_, name)
                names.append(name)
            else:
                names.append(self.names.found(self.map.scene, id_))
        self.names.seen(self.map.scene)
        return names

    def _forget(self, id_: str) -> None:
        self._misses.pop(id_, None)
        thing = self.map.remove(id_)
        if thing is not None:
            self._lost[id_] = thing
            if len(self._lost) > MOST_LOST:
                del self._lost[next(iter(self._lost))]
        self._revision += 1

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
            self.map.remove(id_)
            self._misses.pop(id_, None)
            self.names.drop(id_)
        for id_, one in named.items():
            if id_ not in self.map.scene.objects and one.relation != "held":
                self.names.expect(id_, one.label, one.parent or one.spot.room)
        self._revision += 1

    def arrived(self, way: GoTo) -> bool:
        """Take in that the body is as near as it gets; tell whether in the room of its way."""
        if way.spot is None:
            return way.target not in self.map.ways.rooms or way.target == self.spot.room
        there = way.spot.room == self.spot.room
        self.spot = way.spot if there else self.spot
        return there

    def percept(self, notes: Iterable[Note] = ()) -> Percept:
        """Return what the agent perceives now; the first one of a goal all that the robot knows."""
        heard = [self.names.heard(note, self.map.scene) for note in notes]
        for note in heard:
            self._taken(note)
        room = self.spot.room
        first, self._told_all = not self._told_all, True
        doubtful = self.map.doubtful()
        shown = [
            thing
            for one in self.map.scene.objects.values()
            if (first or one.room == room)
            and one.id not in (self.holding, *doubtful)
            and (thing := self.map.as_told(one)) is not None
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
            covered=(room,) if self.search.covered(room) else (),
            sure=False,
            teammates=mates,
            notes=heard,
            result=self.result,
        )

    def _taken(self, note: Note) -> None:
        """Forget where a thing lay that another one says to have taken from there.

        The map would show it there until the robot has looked in vain so often, and what it shows
        counts more than words. If it is there all the same, the next look finds it again.
        """
        facts = note.facts
        if facts is None or not (note.kind == "done" or facts.answer in ("taken", "placed")):
            return
        thing = self.map.thing(facts.item)
        if thing is None or thing.kind != "item" or thing.id == self.holding:
            return
        if not facts.place or facts.place not in (thing.support, thing.container):
            self._forget(thing.id)

    async def make_way(
        self,
        carry_out: Callable[[Skill], Awaitable[SkillResult]],
        ask_way: Callable[[YieldRequest], object],
        idle: bool,
    ) -> bool:
        """Go aside for a robot that has asked for it; tell whether this one moved.

        Args:
            carry_out: Has its driver carry out a skill.
            ask_way: Asks the others for the way.
            idle: Whether it has nothing else to do.
        """

        def find(*asked: Any) -> Vec3 | None:
            return self.aside.find(self.spot.position, *asked)

        ask = partial(self.ask_way, ask_way)
        return await make_way(self.aside, find, carry_out, ask, idle)

    def ask_way(self, ask_way: Callable[[YieldRequest], object], drive: NavigateTo) -> None:
        """Have the others asked for the way of a drive."""
        for request in self.aside.ask(drive, self.spot.position, self.time):
            ask_way(request)

    # --- what the agent does ---------------------------------------------------------------------

    def motion(self, action: Action, meant: str = "") -> SubTask | Result:
        """Return what an action is for the body; a result where there is nothing to do for it.

        `meant` is the id of what it goes somewhere for.
        """
        return self.motions.of(action, self.spot, self.holding, meant)

    def holds_useless(self, goal: Goal) -> bool:
        """Tell whether the hand holds what a goal does not want."""
        thing = self.map.thing(self.holding)
        return thing is not None and kind_of(thing.label.top) not in goal.items

    def put_away(self, step: Option, result: SkillResult) -> None:
        """Take in how a step to put down what nobody wants any more went."""
        skill = step.skill
        assert skill is not None
        self.executive.clearing.ended(skill, result, self.holding, self.spot.room)
        if result.ok and isinstance(skill, Place):
            at = result.put_at or skill.receptacle.position
            self._placed(skill.receptacle.instance, at, False)
            self._revision += 1
        elif result.outcome is Outcome.HAND_EMPTY:
            self.holding = ""

    def stepped(self, action: Action, step: Option, result: SkillResult) -> bool:
        """Take in how a step for an action went; tell whether that ends the action."""
        self.executive.ended(step, result)
        if step.step.purpose is Purpose.DO and (result.ok or not self._may_go_on(action, result)):
            if isinstance(step.skill, Place) and result.put_at is None:
                result = replace(result, put_at=step.skill.receptacle.position)
            self.ended(action, result)
            # What was put down in plain view is looked at.
            return not (result.ok and isinstance(action, Put) and self.to_be_seen(action.item))
        if result.ok and isinstance(step.skill, OpenSkill):
            self.map.set_open(step.skill.target.instance, True)
        return False

    @staticmethod
    def _may_go_on(action: Action, result: SkillResult) -> bool:
        """Whether the executive may try an action again: not what is off the map then."""
        if isinstance(action, Put):
            return result.outcome is not Outcome.HAND_EMPTY
        return result.outcome not in (Outcome.UNKNOWN_TARGET, Outcome.CLOSED)

    def gave_up(self, action: Action, end: Option, last: SkillResult | None) -> None:
        """Take in that the executive gave an action up: after how its last skill failed, if any."""
        if last is not None:
            self.ended(action, last)
        else:
            reason = OBSTACLE_REASONS.get(end.obstacle, "") if end.obstacle is not None else ""
            self.result = Result(False, False, reason, end.reason)

    def ended(self, action: Action, result: SkillResult) -> None:
        """Take in how an action ended."""
        if result.ok:
            self.result = Result(True, True)
            self._changed(action, result.put_at)
            return
        reason = reason_of(result.outcome)
        if result.outcome is Outcome.BLOCKED and isinstance(action, (GoTo, Put)):
            reason = "full" if isinstance(action, Put) else "in_the_way"
        if isinstance(action, Grab):
            if result.outcome is Outcome.UNKNOWN_TARGET:
                self._happened("gone", action.item)
                self._forget(action.item)
            elif result.outcome is Outcome.CLOSED:
                self._shut(action.item)
        elif isinstance(action, (Open, Close)) and result.outcome is Outcome.UNKNOWN_TARGET:
            self._forget(action.container)
        if result.outcome is Outcome.HAND_EMPTY:
            self.holding = ""
        self.result = Result(False, False, reason, result.reason)

    def to_be_seen(self, item: str) -> str:
        """Return the label of what was put down where a camera shows it from here; "": it is not.

        What lies under boards, in something or behind doors may be hidden.
        """
        thing = self.map.thing(item)
        if thing is None or not self.map.lies_openly(thing) or not self.shape.cameras:
            return ""
        return thing.label.top if self.shape.looks_at(self.pose, thing.box.center) else ""

    def fell(self, item: str) -> None:
        """Take in that what was put down is not there: it fell."""
        self._happened("gone", item)
        self.map.fell(item)
        self._put.discard(item)
        self._revision += 1

    def about_to_put(self) -> None:
        """Take in that the hand lets go next."""
        self.map.about_to_put(self.holding)

    def _changed(self, action: Action, put_at: Vec3 | None) -> None:
        if isinstance(action, Grab):
            self.holding = action.item
            self._happened("picked", action.item)
            self.map.take(action.item)
            self._put.discard(action.item)
        elif isinstance(action, Put):
            at = put_at or self._top_of(action.target)
            self._placed(action.target, at, action.relation == "in")
        elif isinstance(action, (Open, Close)):
            self.map.set_open(action.container, isinstance(action, Open))
            self._happened("opened" if isinstance(action, Open) else "closed", action.container)
        self._revision += 1

    def _top_of(self, target: str) -> Vec3:
        owner = self.map.thing(target)
        if owner is None:
            return self.spot.position
        return (*owner.box.center[:2], owner.box.top)

    def _placed(self, owner_id: str, position: Vec3, inside: bool) -> None:
        held, self.holding = self.holding, ""
        twin = self.map.put(held, owner_id, position)
        if twin:
            self.names.same(twin, held)
        if inside:
            self.map.put_inside(held, owner_id)
        self._happened("placed", held)
        self._misses.pop(held, None)
        self._put.add(held)

    def _happened(self, kind: EventKind, id_: str) -> None:
        thing = self.map.thing(id_)
        if thing is not None and thing.label.top:
            self.events.append(event_of(kind, thing, self.name, self.time))

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
