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
from research.bench.reveca.transport_skills import transport_skills
from reveca_agent.memory import Memory
from reveca_agent.observation import Observer
from reveca_agent.plans import Plan, Task
from reveca_agent.searching import INSIDE, closed_containers, search_places
from reveca_agent.settings import Settings
from reveca_agent.skill_book import carried, room_left

RETRIES = 3
"""Failures at one target after which it counts as missing."""
DETOUR = 25.0
"""Steps that a container may be away, for each thing that it would help to carry."""
IDLE = 10
"""Steps after which an agent with nothing to do goes and looks again."""

BASE = Settings(relevance=False, collaborators=False, talk=False, ask="never", shown=5000)
"""What baselines remember with: all of it, everything is equal, nothing is predicted."""


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
        self.shares: dict[str, list[float]] = {}
        self.hidden: list[tuple[str, int]] = []

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
        action = self.memory.skills[self.plan.kind](self.plan, self.memory, self._near)
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

    def loose_containers(self) -> list[Thing]:
        """Containers that can be taken to carry things in, nearest first."""
        found = [
            entry.thing
            for entry in self.memory.scene.values()
            if entry.thing.portable and entry.thing.kind == "container" and not entry.missing
            and entry.thing.relation != "held"
        ]  # fmt: skip
        return sorted(found, key=lambda t: (self.steps_to(t.spot), t.id))

    def carrier(self) -> Thing | None:
        """A container worth taking: none is in hand, things to carry are left, and it is near."""
        lacking = sum(self.lacking().values())
        if len(self.memory.hands) or lacking < 2 or not self.briefing.turn:
            return None
        nearest = next(iter(self.loose_containers()), None)
        if nearest is None or self.steps_to(nearest.spot) > DETOUR * lacking:
            return None
        return nearest

    def places(self) -> list[tuple[Task, float]]:
        """Places not searched yet, nearest first, each with how many needed things to expect there.

        Rooms never entered, and closed containers of those that were; what is expected follows
        from the same beliefs beforehand as with all methods (`Settings.prior`).
        """
        lacking = self.lacking()
        known: dict[str, int] = {}
        for thing in self.wanted():
            known[thing.label] = known.get(thing.label, 0) + 1
        wanted = [
            (goal.item, count - known.get(goal.item, 0), INSIDE) for goal, count in lacking.items()
        ]
        targets = self.memory.goal.targets
        wanted += [(target, 1, 0.0) for target in sorted(targets) if not self._found(target)]
        wanted = [one for one in wanted if one[1] > 0]
        closed = [] if self.briefing.turn else closed_containers(self.memory)
        labels, hidden = [one[0] for one in wanted], [one[2] for one in wanted]
        found = search_places(self.memory, self.briefing, labels, hidden, closed)
        totals = [sum(shares[k] for _, shares in found) or 1.0 for k in range(len(wanted))]
        self.shares = {
            task.target: [share / total for share, total in zip(shares, totals, strict=True)]
            for task, shares in found
        }
        self.hidden = [(label, count) for label, count, _ in wanted]
        out = [
            (
                task,
                sum(n * s for (_, n), s in zip(self.hidden, self.shares[task.target], strict=True)),
            )
            for task, _ in found
        ]
        out = [pair for pair in out if pair[1] > 0.0 or not wanted]
        return sorted(out, key=lambda pair: (self.steps_to(pair[0].spot), pair[0].target))

    def _found(self, target: str) -> bool:
        return any(id_ in self.memory.scene for id_ in self.memory.targets.get(target, ()))

    def look_again(self) -> Plan:
        """A plan when all is searched and something lacks: the room seen longest ago."""
        rooms = self.memory.rooms
        oldest = min(self.briefing.ways.rooms, key=lambda id_: (rooms.get(id_, -1), id_))
        if self.memory.step - rooms.get(oldest, -IDLE) < IDLE:
            return Plan("wait", "", (), self.memory.step)
        return Plan("explore", oldest, (), self.memory.step)
