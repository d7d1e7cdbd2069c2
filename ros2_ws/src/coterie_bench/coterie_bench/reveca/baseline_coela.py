"""CoELA-like: everything is kept as text, and at every turn a model decides to talk or to act.

There is no rating of relevance, no prediction of what others do and no validation. What does not
fit the prompt any more is cut off, the oldest first. Messages are free text: status reports and
what was found.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_bench.reveca.baseline_common import BASE, BaselineAgent
from coterie_core.cooperation import (
    Action,
    Briefing,
    Facts,
    Note,
    Send,
    Sighting,
    Thing,
    Whereabouts,
    compose,
)
from coterie_core.language import CheckFailed, Decider, Decision, Message, RulesModel, as_data
from reveca_agent.plans import Plan

LINES = 60
"""Lines of text that are remembered: things, messages and deeds together."""
REPORT = 20
"""Steps after which the rule has something to report again."""
MOST_OPTIONS = 12


@dataclass(frozen=True, slots=True)
class Turn:
    """What a decision is about: the goal, what is remembered, the plans on the list.

    `news` counts what was found or done since the last message, `quiet` the steps since then.
    """

    goal: str
    lines: tuple[str, ...]
    options: tuple[str, ...]
    costs: tuple[float, ...]
    news: int
    quiet: int


class TurnReply(BaseModel):
    """Talk, or act by one of the plans."""

    send: bool = Field(False, description="send a message to the others instead of acting")
    plan: int = Field(1, ge=1, description="number of the plan, from 1")


class TalkOrAct(Decision[Turn, TurnReply]):
    """Decide whether to say something, or which plan to follow."""

    name: ClassVar[str] = "coela.talk_or_act"
    reply_type: ClassVar[type[BaseModel]] = TurnReply
    max_tokens: ClassVar[int] = 100

    def prompt(self, state: Turn) -> Sequence[Message]:
        """Show the goal, all that is remembered and the list of plans."""
        return (
            Message.system(
                "You are one of several robots that tidy up a home together. Choose the plan that "
                "brings the team nearer to its goal, or tell the others what you know where that "
                "saves them work. A message takes a step, as every action does."
            ),
            Message.user(
                f"{as_data('goal', state.goal)}\n{as_data('memory', list(state.lines))}\n"
                f"{as_data('plans', list(state.options))}"
            ),
        )

    def check(self, state: Turn, reply: TurnReply) -> None:
        """The plan must be on the list."""
        if not reply.send and reply.plan > len(state.options):
            raise CheckFailed(f"there is no plan {reply.plan}; choose 1 to {len(state.options)}")

    def rule(self, state: Turn) -> TurnReply:
        """Report at the start, after news, when it was quiet for long; else the nearest plan."""
        if state.quiet >= REPORT or (state.news and state.quiet >= REPORT // 4):
            return TurnReply(send=True)
        best = min(range(len(state.costs)), key=lambda k: (state.costs[k], k))
        return TurnReply(plan=best + 1)


class TextAgent(BaselineAgent):
    """Keeps a text of what it saw, heard and did; talks or acts as its decision says.

    Args:
        name: Its name in the team.
        decider: Who decides; None: the rule.
    """

    def __init__(self, name: str, decider: Decider | None = None) -> None:
        super().__init__(name, BASE)
        self.decider = decider or Decider(RulesModel(), who=name)

    def begin(self, briefing: Briefing) -> None:
        """Start an episode."""
        super().begin(briefing)
        self.lines: deque[str] = deque(maxlen=LINES)
        self._said = -REPORT
        self._news: dict[str, None] = {}
        self._told: set[str] = set()
        self._taken: dict[str, str] = {}
        self._count = 0
        self._note: Note | None = None
        self._revisions: dict[str, Thing] = {}

    def receive(self, note: Note) -> None:
        """Write down what was said, and take what it names for granted."""
        if note.sender == self.name:
            return
        self.lines.append(f"{note.sender} said: {note.text}")
        facts = note.facts
        if facts is None:
            return
        for id_ in (*(facts.me.hands if facts.me else ()), facts.heading):
            if id_:
                self._taken[id_] = note.sender
        for one in facts.seen:
            self.lines.append(f"{one.id} is {one.relation or 'in'} {one.parent or one.room}")

    async def act(self) -> Action:
        """Write down what is new; then talk or act."""
        self._write()
        return await super().act()

    async def _next(self) -> Action:
        if self.plan is None:
            self.plan = await self.choose()
            if self._note is not None:
                note, self._note = self._note, None
                return Send(note)
        return await super()._next()

    async def choose(self) -> Plan | None:
        """Ask the decision; a message is kept for sending, and the plan is chosen next time."""
        plans = self._plans()
        if not plans:
            return self.look_again()
        state = Turn(
            self.memory.goal.text(),
            tuple(self.lines),
            tuple(plan.text() for plan, _ in plans),
            tuple(cost for _, cost in plans),
            len(self._news),
            self.memory.step - self._said if len(self.briefing.team) > 1 else 0,
        )
        if self.decider.rule_only:
            reply = self.decider.decide_by_rule(TalkOrAct(), state).reply
        else:
            reply = (await self.decider.decide(TalkOrAct(), state)).reply
        if reply.send:
            self._note = self._report()
            return None
        return plans[reply.plan - 1][0]

    def _write(self) -> None:
        """Put into words what has changed in view, and what is seen again after forgetting it."""
        for id_, entry in self.memory.scene.items():
            thing = entry.thing
            if entry.step != self.memory.step:
                continue
            if self._revisions.get(id_) == thing and self._remembered(id_):
                continue
            self._revisions[id_] = thing
            where = f"{thing.relation} {thing.parent}" if thing.parent else "on the floor"
            self.lines.append(f"I saw {id_} {where} in {thing.spot.room}")
            if thing.label in self.memory.goal.items and thing.relation != "held":
                self._news[id_] = None
                if self._taken.get(id_):
                    del self._taken[id_]  # it lies there: nobody has it

    def _plans(self) -> list[tuple[Plan, float]]:
        step, plans = self.memory.step, []
        for place, items in self.deliveries():
            cost = self.steps_to(place.spot)
            late = 0.0 if self.full else 4.0
            plans.append((Plan("deliver", place.id, items, step), cost + late))
        carrier = self.carrier()
        if carrier is not None and carrier.id not in self._taken:
            plans.append((Plan("fetch", carrier.id, (), step), self.steps_to(carrier.spot) / 2.0))
        if not self.full:
            plans += [
                (Plan("fetch", thing.id, (), step), self.steps_to(thing.spot))
                for thing in self.wanted()
                if thing.id not in self._taken and self._remembered(thing.id)
            ]
        for room in self.unseen_rooms():
            spot = self.briefing.ways.rooms[room].spot
            plans.append((Plan("explore", room, (), step), self.steps_to(spot) + 10.0))
        plans += [
            (Plan("look", container.id, (), step), self.steps_to(container.spot) + 10.0)
            for container in self.unopened()
            if self._remembered(container.id)
        ]
        plans.sort(key=lambda pair: (pair[1], pair[0].target))
        return plans[:MOST_OPTIONS]

    def _remembered(self, id_: str) -> bool:
        """Whether the text still tells of a thing; what was cut off is forgotten."""
        return any(id_ in line for line in self.lines)

    def _report(self) -> Note:
        """Where one is, what one holds and makes for, what was found: as status reports go."""
        memory = self.memory
        seen = []
        for id_ in list(self._news)[-8:]:
            thing = memory.scene[id_].thing
            seen.append(Sighting(id_, thing.label, thing.spot.room, thing.parent, thing.relation))
        me = Whereabouts(memory.spot.room, memory.spot.position, memory.hands)
        facts = Facts(me=me, seen=tuple(seen), heading=self.plan.target if self.plan else "")
        text, said = compose("start", facts, self.briefing.limit)
        self._count += 1
        self._said = memory.step
        self._news.clear()
        return Note(f"{self.name}-{self._count}", self.name, "text", text, said, (), memory.step)
