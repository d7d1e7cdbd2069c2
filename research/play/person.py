"""A person as one of the agents: sees, remembers and hears what an agent would, and chooses.

Memory, observation and hearing are those of the REVECA agents, so a person knows neither more nor
less than an agent in the same place. Nothing here reads the world.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from coterie_console.text import plain
from coterie_core.cooperation import (
    Action,
    Briefing,
    Note,
    Percept,
    Result,
    Send,
    Spot,
    Thing,
    Vocabulary,
    understand,
)
from coterie_requests.asking import WordsAnswer, WordsQuestion
from reveca_agent.communication import Communicator
from reveca_agent.memory import Memory
from reveca_agent.observation import Observer
from reveca_agent.settings import Settings

Group = Literal["say", "do", "go", "wait", "further"]
"""Answers and messages; what is in reach; places; turning and waiting; what is seldom wanted."""
MOST_NEWS = 20
NOT_UNDERSTOOD = (
    "Your words are of no form that robots understand without a model; people and models read "
    "them. Understood are sentences such as “Did you take plate-1?”, “Did you search the "
    "kitchen?”, “I took plate-1.”, “I put plate-1 on table-1.”, “I searched the kitchen.”"
)
INTRODUCTION = (
    "You and the others share one household task: bring the things named under Goal to where they "
    "belong. Each click is a step, and everybody takes one at the same time; a walk is a step for "
    "every half metre. You have two hands. You see what is in the room you are in, but not into "
    "what is closed: open it. A message costs a step, too, and tells the others what you found, "
    "took or searched. It is over when all is in its place."
)
INTRODUCTION_TURNING = (
    "You and the others share one task: carry the things named under Goal to where they belong. "
    "Each click is a step, and everybody takes one at the same time; a walk is a step for every "
    "tenth of a metre. You have two hands; a container in a hand holds three things more. You see "
    "only what is ahead of you: look round to see all of a room. A message costs a step, too. It "
    "is over when all is in its place."
)
_SETTINGS = Settings(relevance=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that the person can do now.

    Attributes:
        id: Unique among the choices of a moment, and stable from one to the next.
        group: Where it is shown.
        text: What it is, for the person.
        action: Makes the action of a step.
        lasts: Most steps that it goes on for without asking again.
        until: What ends it before: a step, the walk's arrival, all of the room seen, any event.
        target: Id of the room or thing that it leads to, for a map.
    """

    id: str
    group: Group
    text: str
    action: Callable[[], Action]
    lasts: int = 1
    until: Literal["step", "arrival", "seen", "event"] = "step"
    target: str = ""


class Interface(Protocol):
    """How a person is asked: a terminal, a page."""

    async def decide(self, person: Person) -> Choice:
        """Wait for the person's choice."""

    async def underway(self, person: Person) -> None:
        """Show a step of something that goes on by itself; may call `person.stop()`."""

    async def answer(self, question: WordsQuestion) -> WordsAnswer:
        """Put a question of another agent's model; at once without an answer if nobody is there."""


class Person:
    """An agent whose next action a person chooses.

    Args:
        name: Its name in the team.
        interface: How the person is asked.

    Attributes:
        percept: What it perceives now.
        memory: What it knows.
        news: What happened since the last choice, in words, oldest first.
        chat: Messages heard and sent, oldest first.
        questions: Questions that others asked and that are not answered: id -> note.
        current: What is going on.
        tells: Called with every choice (for records).
    """

    def __init__(self, name: str, interface: Interface) -> None:
        self.name, self.interface = name, interface
        self.briefing: Briefing
        self.memory: Memory
        self.percept: Percept
        self.news: list[str] = []
        self.chat: list[Note] = []
        self.questions: dict[str, Note] = {}
        self.current: Choice | None = None
        self.tells: Callable[[Person, Choice], None] = lambda person, choice: None
        self.replay: list[Action] = []
        self.carried_out: set[str] = set()
        self._left = 0
        self._event = False
        self._count = 0

    # --- the Agent protocol ----------------------------------------------------------------------

    def begin(self, briefing: Briefing) -> None:
        """Start an episode: nothing is known but the rooms."""
        self.briefing = briefing
        self.memory = Memory(_SETTINGS, self.name, briefing.goal)
        self.observer = Observer(self.memory, briefing)
        self.ears = Communicator(self.memory, briefing)
        self.news, self.chat, self.questions = [], [], {}
        self.current, self._left, self._count = None, 0, 0
        self.carried_out = set()
        self._mates: frozenset[str] = frozenset()
        self._words = Vocabulary(self._thing_named, self._room_named)

    def observe(self, percept: Percept) -> None:
        """Take a percept in, and note what is new in it."""
        before = self._wanted_where()
        held = {*self.memory.hands, *(i for hand in self.memory.hands for i in self.inside(hand))}
        self.percept = percept
        self.observer.observe(percept)
        self._event = False
        self.carried_out |= held - set(percept.hands)
        mates = frozenset(mate.name for mate in percept.teammates)
        for name in sorted(mates - self._mates):
            self._tell(f"{plain(name)} is here.", stops=False)
            self._event = True
        self._mates = mates
        for note in percept.notes:
            self.receive(note)
        for id_, where in self._wanted_where().items():
            if before.get(id_) != where and id_ not in percept.hands and id_ not in held:
                self._tell(f"{plain(id_)}: {where}.")
        self.observer.new, self.observer.surprised = [], False
        self.ears.new, self.ears.things, self.ears.surprised = [], [], False
        if percept.result is not None and not percept.result.ok:
            self._tell(f"Not done: {plain(percept.result.text, 300)}.")

    def receive(self, note: Note) -> None:
        """Hear a message."""
        count = len(self.ears.new)
        self.ears.hear(note)
        if len(self.ears.new) == count:
            return  # a repeat, or not for this person
        understood = self.ears.new[-1]
        self.chat.append(understood)
        self._left, self._event = 0, True
        if understood.kind == "ask" and understood.facts and understood.facts.item:
            self.questions[understood.id] = understood
            self.ears.duties.clear()

    async def act(self) -> Action:
        """Go on with what goes on, or ask the person."""
        if self.replay:
            return self._did(self.replay.pop(0))
        if self.current is not None and self._goes_on(self.current, self.percept.result):
            await self.interface.underway(self)
            if self._left > 0:
                self._left -= 1
                return self._did(self.current.action())
        self.current = None
        choice = await self.interface.decide(self)
        self.news = []
        self.current, self._left = choice, choice.lasts - 1
        self.tells(self, choice)
        return self._did(choice.action())

    @property
    def introduction(self) -> str:
        """What a newcomer should know, in a few sentences."""
        return INTRODUCTION_TURNING if self.briefing.turn else INTRODUCTION

    # --- for interfaces --------------------------------------------------------------------------

    def stop(self) -> None:
        """End what goes on; the person is asked again."""
        self._left = 0

    def message(self, text: str, to: str = "") -> Choice:
        """Return the choice to say something in one's own words ("": to everybody).

        Raises:
            ValueError: Empty, longer than a message may be, or there is nobody of that name; says
                what to do. Costs nothing.
        """
        words = plain(text, 10_000)
        if not words:
            raise ValueError("a message needs some words")
        if len(words) > self.briefing.limit:
            raise ValueError(
                f"a message has at most {self.briefing.limit} characters, this one {len(words)}; "
                "shorten it"
            )
        if to and to not in self.briefing.others:
            raise ValueError(
                f"there is no {plain(to)!r} in the team: {', '.join(self.briefing.others)}"
            )
        note = Note(self.new_id(), self.name, "text", words, None, (to,) if to else ())
        return Choice("say", "say", f"Say: {words}", lambda: Send(note))

    def new_id(self) -> str:
        """Return the id of the next message."""
        return f"{self.name}-{self._count + 1}"

    def near(self, spot: Spot) -> bool:
        """Whether something can be handled from here."""
        here = self.memory.spot
        if here.room != spot.room:
            return False
        dx = here.position[0] - spot.position[0]
        dy = here.position[1] - spot.position[1]
        return dx * dx + dy * dy <= self.briefing.reach**2

    def wanted(self, thing: Thing) -> bool:
        """Whether the goal asks for such things, and this one is not where it belongs."""
        return thing.label in self.briefing.goal.items and thing.id not in self.memory.placed

    def room(self, id_: str) -> str:
        """Return a room's name; with its id, where several are called so."""
        room = self.briefing.ways.rooms.get(id_)
        if room is None:
            return plain(id_)
        name = plain(room.name or room.id)
        same = [r for r in self.briefing.ways.rooms.values() if r.name == room.name]
        return name if len(same) == 1 or name == room.id else f"{name} ({plain(room.id)})"

    def where(self, thing: Thing) -> str:
        """Say where a thing is, as far as known."""
        entry = self.memory.scene.get(thing.id)
        if entry is not None and entry.missing:
            return "not where it was"
        if thing.relation == "held":
            return f"in the hands of {'you' if thing.parent == self.name else plain(thing.parent)}"
        owner = self.memory.owner(thing)
        if owner is not None and owner.relation == "held":
            return f"in {plain(owner.id)}, {self.where(owner)}"
        place = f"{thing.relation} {plain(thing.parent)}, " if thing.parent else ""
        told = f", says {plain(entry.by)}" if entry is not None and entry.by else ""
        return f"{place}{self.room(thing.spot.room)}{told}"

    def progress(self) -> list[tuple[str, int, int, int]]:
        """Return a row per sub-goal: its words, things seen in place, told of, and needed."""
        rows = []
        for goal in self.briefing.goal.subgoals:
            claims = [c for c in self.memory.placed.values() if c.key == goal.key]
            seen = sum(1 for claim in claims if not claim.by)
            words = f"{goal.item} {goal.relation} {goal.target}"
            rows.append((words, seen, len(claims) - seen, goal.count))
        return rows

    def inside(self, container: str) -> list[str]:
        """Return what is known to be in or on something."""
        return [
            id_
            for id_, entry in self.memory.scene.items()
            if entry.thing.parent == container and not entry.missing
        ]

    # --- inside ----------------------------------------------------------------------------------

    def _goes_on(self, choice: Choice, result: Result | None) -> bool:
        if self._left <= 0 or result is None or not result.ok:
            return False
        if choice.until == "arrival":
            return not result.done
        if choice.until == "seen":
            return self.memory.spot.room not in self.percept.covered
        return choice.until == "event" and not self._event

    def _did(self, action: Action) -> Action:
        if isinstance(action, Send):
            self._count += 1
            note = understand(action.note, self._words)
            self.chat.append(note)
            if note.facts is None:
                self._tell(NOT_UNDERSTOOD, stops=False)
            if note.facts is not None and note.facts.item and note.kind == "ask":
                # An answer counts only if it was asked for, as with the agents.
                self.ears.asked[note.facts.item] = note.to[0] if note.to else ""
            if note.facts is not None:
                self.questions.pop(note.facts.reply_to, None)
        return action

    def _tell(self, text: str, stops: bool = True) -> None:
        self.news = [*self.news[1 - MOST_NEWS :], text]
        if stops:
            self._left, self._event = 0, True

    def _wanted_where(self) -> dict[str, str]:
        """Where things that the goal asks for are, in words."""
        items = self.briefing.goal.items
        return {
            id_: self.where(entry.thing)
            for id_, entry in self.memory.scene.items()
            if entry.thing.label in items
        }

    def _thing_named(self, word: str) -> tuple[str, str] | None:
        name = word.strip().lower().rstrip(".,;:!?")
        entry = self.memory.scene.get(name)
        return None if entry is None else (name, entry.thing.label)

    def _room_named(self, word: str) -> str | None:
        name = word.strip().lower().rstrip(".,;:!?").replace(" ", "-")
        for id_, room in self.briefing.ways.rooms.items():
            if name in (id_.lower(), room.name.lower().replace(" ", "-")):
                return id_
        return None
