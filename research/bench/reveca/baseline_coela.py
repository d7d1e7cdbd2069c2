"""CoELA-like: what it knows is told as text, and a model decides what to do next, or to speak.

After CoELA's modules: memory of the goal, of itself, of others, of the scene, of deeds and of
dialogue; a message is worded first and is then one of the options among which is chosen. There is
no rating of relevance, no prediction of what others do and no validation. What is told uses up a
window: what does not fit any more is left out, the oldest first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from coterie_core.cooperation import (
    Action,
    Briefing,
    Facts,
    Note,
    Percept,
    Send,
    Sighting,
    Whereabouts,
    compose,
)
from coterie_llm import (
    CheckFailed,
    Decider,
    Decision,
    Message,
    RulesModel,
    Tool,
    as_data,
    neutral_order,
)
from coterie_requests.asking import Asking
from research.bench.reveca.baseline_common import BaselineAgent
from reveca_agent.communication import Communicator, looked, searched
from reveca_agent.entries import thing_text
from reveca_agent.plans import Plan
from reveca_agent.settings import Settings

LINES = 60
"""Most lines of the scene that a prompt tells of."""
DEEDS = 10
"""Latest own deeds that it tells of."""
DIALOGUE = 6
"""Latest messages that it tells of, one's own included."""
QUIET = 5
"""Fewest steps between two messages of one agent."""
MAX_NOTES = 20
"""Most messages of one agent in an episode."""
MOST_OPTIONS = 12
LATER = 4.0
"""Steps that bringing is put off, by the rule, while more can be taken."""
TOLD = 20.0
"""Steps that it is put off where a teammate was already."""
SEEN = Settings(
    relevance=False, collaborators=True, talk=False, ask="never", discount=False, shown=LINES
)
"""What it remembers with: of others what it saw and heard of them, but no prediction."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a decision is about, in words, and the options; the last may be the message.

    Attributes:
        name: Who decides.
        me: Where it is, what it holds, how many steps are left.
        progress: Sub-goals, with what is still to be brought.
        rooms: What is known of every room.
        scene: Things in view or remembered, newest first.
        mates: Where others were last seen and what they held.
        deeds: What it did lately.
        dialogue: Messages of late.
        options: What can be done, in words.
        costs: Steps of each.
        message: The message that can be sent instead; "": none is offered.
        news: Needed things that it tells of, as data.
        asking: How the model asks the person; None: there is no way to.
    """

    name: str
    me: str
    progress: tuple[str, ...]
    rooms: tuple[str, ...]
    scene: tuple[str, ...]
    mates: tuple[str, ...]
    deeds: tuple[str, ...]
    dialogue: tuple[str, ...]
    options: tuple[str, ...] = ()
    costs: tuple[float, ...] = ()
    message: str = ""
    news: int = 0
    asking: Asking | None = field(default=None, compare=False)


SEND = "send the message"
"""The option that is no plan."""


class Wording(BaseModel):
    """A message, before it is decided whether it is sent."""

    reason: str = Field("", max_length=400, description="first think: what would save steps?")
    text: str = Field(max_length=500, description="then the message, at most 500 characters")


class TurnReply(BaseModel):
    """What to do next."""

    reason: str = Field("", max_length=600, description="first think, step by step, in short")
    option: str = Field(description="then the option, exactly as given")


def _told(state: Turn) -> str:
    return "\n".join(
        (
            as_data("your state", state.me),
            as_data("goal and what is still to be brought", list(state.progress)),
            as_data("rooms", list(state.rooms)),
            as_data("things", list(state.scene), limit=12_000),
            as_data("teammates", list(state.mates) or "not seen or heard yet"),
            as_data("what you did", list(state.deeds) or "nothing yet"),
            as_data("dialogue", list(state.dialogue) or "nothing was said yet"),
        )
    )


def _neutral(state: Turn) -> list[str]:
    """Return the options in an order that tells nothing: they come nearest first."""
    return neutral_order(state.options, lambda one: one, salt=state.me)


_FORM = "IN(a, b): n, or ON, means that n of a belong there. Positions (x, y) are in meters."


class WordMessage(Decision[Turn, Wording]):
    """Word the message that might be sent now."""

    name: ClassVar[str] = "coela.word_message"
    reply_type: ClassVar[type[BaseModel]] = Wording
    max_tokens: ClassVar[int] = 256

    def prompt(self, state: Turn) -> Sequence[Message]:
        """Show all that is known."""
        return (
            Message.system(
                f"You are {state.name}, a robot in a team that does household work together. Write "
                "the one message to your teammates that would save the team most steps now: what "
                "you found, took or brought, where nothing is left, what you will do next, or what "
                "you need to know. Name things and rooms by their ids. Do not repeat what was "
                "said. "
                f"{_FORM}"
            ),
            Message.user(f"{_told(state)}\nWhat do you say?"),
        )

    def rule(self, state: Turn) -> Wording:
        """No words of its own: the agent's report is sent as it is."""
        return Wording(text="")


class ActOrSpeak(Decision[Turn, TurnReply]):
    """Decide what to do next, or to send the message."""

    name: ClassVar[str] = "coela.act_or_speak"
    reply_type: ClassVar[type[BaseModel]] = TurnReply
    max_tokens: ClassVar[int] = 256

    def prompt(self, state: Turn) -> Sequence[Message]:
        """Show all that is known, and the options with their steps."""
        cost = dict(zip(state.options, state.costs, strict=True))
        steps = [{"option": one, "steps": round(cost[one])} for one in _neutral(state)]
        drafted = as_data("message that you could send", state.message or "none now")
        return (
            Message.system(
                f"You are {state.name}, a robot in a team that does household work together. "
                "Choose what brings the team nearest to its goal for the fewest steps: think step "
                "by step about what is still to be brought, where it may be, what you hold, how "
                "far things are and what the others do. Needed things that nobody has seen yet "
                "are in rooms not seen or in closed containers. A message takes a step, as every "
                f"action does. The options are in no particular order. {_FORM}"
            ),
            Message.user(
                f"{_told(state)}\n{drafted}\n{as_data('options', steps, limit=8000)}\nWhich option?"
            ),
        )

    def options(self, state: Turn) -> Mapping[str, Sequence[str]]:
        """The plans, and the message if one may be sent; in the order of the prompt."""
        return {"option": _neutral(state)}

    def tools(self, state: Turn) -> Sequence[Tool[Any]]:
        """Asking the person, where that is possible."""
        return state.asking.tools() if state.asking is not None else ()

    def only_reply(self, state: Turn) -> TurnReply | None:
        """The one option, where there is no other."""
        return TurnReply(option=state.options[0]) if len(state.options) == 1 else None

    def check(self, state: Turn, reply: TurnReply) -> None:
        """The option must be on the list."""
        if reply.option not in state.options:
            known = "; ".join(state.options)
            raise CheckFailed(f"{reply.option[:80]!r} is no option; choose one of: {known}")

    def rule(self, state: Turn) -> TurnReply:
        """The message where it tells of needed things that nobody was told of; else the nearest."""
        if state.message and state.news:
            return TurnReply.model_construct(reason="this is news", option=SEND)
        acts = [k for k in range(len(state.options)) if state.options[k] != SEND]
        best = min(acts, key=lambda k: (state.costs[k], state.options[k]))
        return TurnReply.model_construct(reason="the nearest", option=state.options[best])


class TextAgent(BaselineAgent):
    """Tells a model what it knows as text, and does or says what it chooses.

    It takes over what others tell it: things seen, taken and brought, rooms searched. It never says
    two things in a row, nothing within `QUIET` steps of the last message, and `MAX_NOTES` at most.

    Args:
        name: Its name in the team.
        decider: Who decides; None: the rule.
        settings: Bounds of its memory; `tokens` bounds the scene in prompts.

    Attributes:
        asking: Lets its model ask the person; None: there is no way to.
    """

    def __init__(
        self, name: str, decider: Decider | None = None, settings: Settings = SEEN
    ) -> None:
        super().__init__(name, replace(settings, collaborators=True))
        self.decider = decider or Decider(RulesModel(), who=name)
        self.asking: Asking | None = None

    def begin(self, briefing: Briefing) -> None:
        """Start an episode."""
        super().begin(briefing)
        self.ears = Communicator(self.memory, briefing)
        self.deeds: deque[str] = deque(maxlen=DEEDS)
        self.dialogue: deque[str] = deque(maxlen=DIALOGUE)
        self.notes = 0
        self._said = -QUIET
        self._told: set[str] = set()
        self._doing = ""
        self._note: Note | None = None

    def observe(self, percept: Percept) -> None:
        """Take a percept in; what was heard may change what is known of the scene."""
        super().observe(percept)
        self.ears.new, self.ears.things = [], []
        if self.ears.surprised:
            self.ears.surprised, self.observer.surprised = False, True

    def receive(self, note: Note) -> None:
        """Hear a message: as dialogue, and what it says of things and rooms as knowledge."""
        heard = len(self.ears.memory.heard)
        self.ears.hear(note)
        if len(self.ears.memory.heard) > heard or self.ears.new:
            self.dialogue.append(f"step {note.step} {note.sender}: {note.text}")
        self.ears.duties.clear()  # it answers in words, if it wants to

    async def _next(self) -> Action:
        if self.plan is None:
            self.plan = await self.choose()
            if self._note is not None:
                note, self._note = self._note, None
                return Send(note)
        return await super()._next()

    async def choose(self) -> Plan | None:
        """Ask for words, then for the choice; a message is kept for sending."""
        plans = self._plans()
        if not plans:
            return self.look_again()
        state = self._turn()
        texts = [plan.text() for plan, _ in plans]
        costs = [cost for _, cost in plans]
        note = await self._draft(state)
        if note is not None:
            texts.append(SEND)
            costs.append(1.0)
        state = replace(
            state,
            options=tuple(texts),
            costs=tuple(costs),
            message=note.text if note is not None else "",
            news=len(note.facts.seen) if note is not None and note.facts is not None else 0,
            asking=self.asking,
        )
        if self.decider.rule_only:
            reply = self.decider.decide_by_rule(ActOrSpeak(), state).reply
        else:
            reply = (await self.decider.decide(ActOrSpeak(), state)).reply
        if reply.option == SEND:
            self._send(note)
            return None
        chosen = texts.index(reply.option)
        plan = plans[chosen][0]
        self.deeds.append(f"step {self.memory.step}: {plan.text()}")
        return plan

    # --- messages --------------------------------------------------------------------------------

    def may_speak(self) -> bool:
        """Whether a message is among the options now."""
        quiet = self.memory.step - self._said
        spoke = isinstance(self._action, Send)
        return (
            len(self.briefing.team) > 1 and not spoke and quiet >= QUIET and self.notes < MAX_NOTES
        )

    async def _draft(self, state: Turn) -> Note | None:
        """Word a message; None where none may be sent."""
        if not self.may_speak():
            return None
        if self.decider.rule_only:
            words = self.decider.decide_by_rule(WordMessage(), state).reply.text
        else:
            words = (await self.decider.decide(WordMessage(), state)).reply.text
        id_ = f"{self.name}-{self.notes + 1}"
        words = " ".join(words.split())[: self.briefing.limit]
        if words:
            return Note(id_, self.name, "text", words, None, (), self.memory.step)
        text, said = compose("start", self._report(), self.briefing.limit)
        return Note(id_, self.name, "text", text, said, (), self.memory.step)

    def _send(self, note: Note | None) -> None:
        if note is None:
            return
        self._note = note
        self.notes += 1
        self._said = self.memory.step
        self.dialogue.append(f"step {self.memory.step} {self.name} (you): {note.text}")
        if note.facts is not None:
            self._told |= {one.id for one in note.facts.seen}
            self._told |= {*note.facts.searched, *(one.room for one in note.facts.looked)}

    def _report(self) -> Facts:
        """Where one is, what one holds and makes for, what was found and searched."""
        memory = self.memory
        seen = [
            Sighting(t.id, t.label, t.spot.room, t.parent, t.relation)
            for t in self.wanted()
            if t.id not in self._told and not memory.scene[t.id].by
        ]
        return Facts(
            me=Whereabouts(memory.spot.room, memory.spot.position, memory.hands),
            seen=tuple(seen[:8]),
            searched=tuple(id_ for id_ in searched(memory) if id_ not in self._told),
            looked=tuple(one for one in looked(memory) if one.room not in self._told),
        )

    # --- what is told ----------------------------------------------------------------------------

    def _turn(self) -> Turn:
        memory, briefing = self.memory, self.briefing
        x, y, _ = memory.spot.position
        held = ", ".join(memory.hands) or "nothing"
        me = (
            f"step {memory.step}, {briefing.horizon - memory.step} steps left; in "
            f"{memory.spot.room} at ({x:.1f}, {y:.1f}); holding {held}, {briefing.hands} hands"
        )
        rooms = []
        for room in briefing.ways.rooms.values():
            far = f"{self.steps_to(room.spot):.0f} steps"
            closed = memory.unopened(room.id)
            known = "seen" if room.id in memory.rooms else "not seen"
            if room.id not in memory.rooms and room.id in (memory.searched | memory.looked):
                known = "not seen, a teammate was there"
            rooms.append(
                f"{room.id}: {known}, {far}" + (f"; closed: {', '.join(closed)}" if closed else "")
            )
        goal = memory.goal
        useful = [
            entry
            for entry in memory.shown()
            if entry.thing.label in goal.items | goal.targets
            or entry.thing.id in goal.targets
            or entry.thing.kind == "container"
        ]
        scene = [
            f"{thing_text(e.thing)}, {self.steps_to(e.thing.spot):.0f} steps"
            + (f", says {e.by}" if e.by else "")
            + (", not there any more" if e.missing else "")
            for e in useful
        ]
        return Turn(
            self.name,
            me,
            tuple(f"{one}, {left} to go" for one, left in memory.needs().items()),
            tuple(rooms),
            tuple(scene),
            tuple(mate.text(memory.step) for mate in memory.collaborators.values()),
            tuple(self.deeds),
            tuple(self.dialogue),
        )

    def _plans(self) -> list[tuple[Plan, float]]:
        step = self.memory.step
        plans: list[tuple[Plan, float]] = []
        things = [] if self.full else list(self.wanted())
        visible = {entry.thing.id for entry in self.memory.shown()}
        things = [thing for thing in things if thing.id in visible]
        late = 0.0 if self.full or not things else LATER
        for place, items in self.deliveries():
            cost = self.steps_to(place.spot) + len(items)
            plans.append((Plan("deliver", place.id, items, step), cost + late))
        carrier = self.carrier()
        if carrier is not None:
            plans.append((Plan("fetch", carrier.id, (), step), self.steps_to(carrier.spot) / 2.0))
        aims = {mate.heading for mate in self.memory.collaborators.values() if mate.heading}
        plans += [
            (Plan("fetch", t.id, (), step), self.steps_to(t.spot) + 1.0)
            for t in things
            if t.id not in aims
        ]
        known = set(self.memory.searched) | set(self.memory.looked)
        for task, _ in self.places():
            if task.kind == "look" and task.target not in visible:
                continue
            cost = self.steps_to(task.spot) + task.extra
            cost += TOLD if task.target in known else 0.0
            plans.append((Plan(task.kind, task.target, (), step), cost))
        plans.sort(key=lambda pair: (pair[1], pair[0].target))
        return plans[:MOST_OPTIONS]
