"""What all baselines share: they remember what they see, and carry out a plan step by step.

They see what REVECA agents see, with the same observation module and skill book: methods differ in
what they choose and say, not in their eyes or hands. None of them rates relevance, predicts what
others do, or validates a plan.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from coterie_core.cooperation import (
    Action,
    Briefing,
    Note,
    Percept,
    Result,
    Spot,
    SubGoal,
    Thing,
    Wait,
)
from reveca_agent.memory import Memory
from reveca_agent.observation import Observer
from reveca_agent.plans import Plan
from reveca_agent.settings import Settings
from reveca_agent.transport_skills import carried, room_left, transport_skills

RETRIES = 3
"""Failures at one target after which it counts as missing."""
DETOUR = 25.0
"""Steps that a container may be away, for each thing that it would help to carry."""
IDLE = 10
"""Steps after which an agent with nothing to do goes and looks again."""

BASE = Settings(relevance=False, collaborators=False, talk=False, ask="never")
"""What baselines remember with: everything is equal, nothing is predicted."""


class BaselineAgent:
    """An agent that chooses a plan with `choose` and sees it through.

    Args:
        name: Its name in the team.
        settings: Bounds of its memory.
    """

    def __init__(self, name: str, settings: Settings = BASE) -> None:
        self.name = name
        self.settings = settings
        self.memory: Memory
        self.briefing: Briefing
        self.plan: Plan | None = None

    # --- the Agent protocol ----------------------------------------------------------------------

    def begin(self, briefing: Briefing) -> None:
        """Start an episode with an empty memory."""
        self.briefing = briefing
        self.memory = Memory(self.settings, self.name, briefing.goal)
        if briefing.turn:
            self.memory.skills = transport_skills(briefing)
        self.observer = Observer(self.memory, briefing)
        self.random = random.Random(f"{self.name} {briefing.seed}")
        self.plan = None
        self._result: Result | None = None
        self._action: Action | None = None
        self._failed: dict[str, int] = {}

    def observe(self, percept: Percept) -> None:
        """Take a percept in."""
        self.observer.observe(percept)
        self.observer.new = []  # nothing is rated
        for note in percept.notes:
            self.receive(note)
        self._result = percept.result

    def receive(self, note: Note) -> None:
        """Hear a message; who does not talk does not listen either."""

    async def act(self) -> Action:
        """Go on with the plan, or choose another one."""
        self._learn()
        if self.observer.surprised:
            self.observer.surprised = False
            self.plan = None
        action = await self._next()
        self._action = action
        return action

    # --- what a baseline adds --------------------------------------------------------------------

    async def choose(self) -> Plan | None:
        """Return the next plan; None: there is nothing to do."""
        raise NotImplementedError

    # --- inside ----------------------------------------------------------------------------------

    async def _next(self) -> Action:
        for _ in range(3):
            action = self._execute()
            if action is not None:
                return action
            self.plan = await self.choose()
            if self.plan is None:
                break
        return self._execute() or Wait("nothing to do")

    def _execute(self) -> Action | None:
        if self.plan is None:
            return None
        action = self.memory.skills[self.plan.kind].next(self.plan, self.memory, self._near)
        if action is None:
            self.plan = None
        return action

    def _near(self, spot: Spot) -> bool:
        here = self.memory.spot
        if here.room != spot.room:
            return False
        dx = here.position[0] - spot.position[0]
        dy = here.position[1] - spot.position[1]
        return dx * dx + dy * dy <= self.briefing.reach**2

    def _learn(self) -> None:
        """Give up what fails again and again."""
        result, plan = self._result, self.plan
        if result is None or result.ok or plan is None or isinstance(self._action, Wait):
            return
        count = self._failed[plan.target] = self._failed.get(plan.target, 0) + 1
        entry = self.memory.scene.get(plan.target)
        if entry is not None and (result.reason == "gone" or count >= RETRIES):
            entry.missing = True
            self._failed.pop(plan.target)
        self.plan = None

    # --- what baselines choose from --------------------------------------------------------------

    def steps_to(self, spot: Spot) -> float:
        """Steps from here to a spot."""
        return self.briefing.ways.distance(self.memory.spot, spot) / self.briefing.stride

    @property
    def full(self) -> bool:
        """Whether nothing more can be taken."""
        return room_left(self.memory, self.briefing) <= 0

    def lacking(self) -> dict[SubGoal, int]:
        """How many things each sub-goal lacks, what one carries counted as brought."""
        needs = self.memory.needs()
        for thing in carried(self.memory):
            for goal in self.memory.goal.of_item(thing.label):
                if needs.get(goal, 0) > 0:
                    needs[goal] -= 1
                    break
        return {goal: count for goal, count in needs.items() if count > 0}

    def wanted(self) -> Iterator[Thing]:
        """Known things that a sub-goal lacks and that lie where they could be taken."""
        lacking = self.lacking()
        for entry in self.memory.scene.values():
            thing = entry.thing
            if thing.kind != "item" or entry.missing or thing.relation == "held":
                continue
            if thing.id in self.memory.placed or thing.parent in self.memory.hands:
                continue
            if any(lacking.get(goal, 0) > 0 for goal in self.memory.goal.of_item(thing.label)):
                yield thing

    def deliveries(self) -> list[tuple[Thing, tuple[str, ...]]]:
        """Targets that are known for what is in the hands, with what goes there; nearest first."""
        going: dict[str, tuple[Thing, list[str]]] = {}
        for thing in carried(self.memory):
            for goal in self.memory.goal.of_item(thing.label):
                places = [
                    self.memory.scene[t].thing
                    for t in self.memory.targets.get(goal.target, ())
                    if t in self.memory.scene
                ]
                if places:
                    place = min(places, key=lambda t: (self.steps_to(t.spot), t.id))
                    going.setdefault(place.id, (place, []))[1].append(thing.id)
                    break
        found = [(place, tuple(ids)) for place, ids in going.values()]
        return sorted(found, key=lambda pair: (self.steps_to(pair[0].spot), pair[0].id))

    def carrier(self) -> Thing | None:
        """A container worth taking: none is in hand, things to carry are left, and it is near."""
        lacking = sum(self.lacking().values())
        if len(self.memory.hands) or lacking < 2 or not self.briefing.turn:
            return None
        found = [
            entry.thing
            for entry in self.memory.scene.values()
            if entry.thing.portable and entry.thing.kind == "container" and not entry.missing
            and entry.thing.relation != "held"
        ]  # fmt: skip
        nearest = min(found, key=lambda t: (self.steps_to(t.spot), t.id), default=None)
        if nearest is None or self.steps_to(nearest.spot) > DETOUR * lacking:
            return None
        return nearest

    def unseen_rooms(self) -> list[str]:
        """Rooms never entered, nearest first: the frontier of what is known."""
        rooms = [r for r in self.briefing.ways.rooms.values() if r.id not in self.memory.rooms]
        return [r.id for r in sorted(rooms, key=lambda r: (self.steps_to(r.spot), r.id))]

    def unopened(self) -> list[Thing]:
        """Closed containers not looked into, nearest first."""
        found = [self.memory.scene[id_].thing for id_ in self.memory.closed]
        found = [t for t in found if t.id not in self.memory.searched]
        return sorted(found, key=lambda t: (self.steps_to(t.spot), t.id))

    def look_again(self) -> Plan:
        """A plan when all is searched and something lacks: the room seen longest ago."""
        rooms = self.memory.rooms
        oldest = min(self.briefing.ways.rooms, key=lambda id_: (rooms.get(id_, -1), id_))
        if self.memory.step - rooms.get(oldest, -IDLE) < IDLE:
            return Plan("wait", "", (), self.memory.step)
        return Plan("explore", oldest, (), self.memory.step)
