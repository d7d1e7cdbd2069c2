"""A session in which people play some of the agents: lockstep, record, resuming, questionnaire."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from coterie_core.cooperation import Action, Agent, Percept
from coterie_llm import Decider
from coterie_requests.asking import NOBODY, Asking, WordsAnswer, WordsQuestion
from research.bench.reveca.baseline_coela import TextAgent
from research.bench.reveca.episodes import record as measured
from research.bench.reveca.methods import METHODS, WORLDS, World
from research.play.person import Choice, Interface, Person
from research.play.record import Decision, PlayError, Record
from reveca_agent.agent import RevecaAgent

NOT_WITH_PEOPLE = {
    "oracle": "it sees everything and plans for the whole team",
    "single": "it is one agent alone; use reveca",
}
"""Methods that cannot play beside a person, and why."""


class Quit(Exception):
    """A person ends the session; it can be resumed."""


class PlaySession:
    """An episode with people in it.

    Args:
        record: What is played: world, method, seed, agents; a record with steps is resumed.
        file: Where the session is saved, with every choice.
        interfaces: How each person is asked, by name.
        decider: Who answers the agents' decisions; None: the rules.

    Attributes:
        people: The people, by name.

    Raises:
        PlayError: There is no such world or method, or it does not play with people.
    """

    def __init__(
        self,
        record: Record,
        file: Path,
        interfaces: Mapping[str, Interface],
        decider: Decider | None = None,
    ) -> None:
        self.record, self.file, self.decider = record, file, decider
        self.world = make_world(record)
        record.team = list(self.world.team)
        self.people = {name: Person(name, asks) for name, asks in interfaces.items()}
        for person in self.people.values():
            person.tells = self._chosen
        self.agents: dict[str, Agent] = {
            **METHODS[record.method].make(self.world, decider),
            **self.people,
        }
        if decider is not None and not decider.rule_only:
            contacts = AskPeople(list(interfaces.values()))
            for name, agent in self.agents.items():
                if isinstance(agent, RevecaAgent | TextAgent):
                    agent.asking = Asking(name, (), contacts)
        self._asked_at: dict[str, float] = {}
        self._now = 0

    async def play(self) -> None:
        """Play the episode to its end; steps of the record are played again first.

        Raises:
            PlayError: It cannot be saved, or a resumed session goes another way than before.
            Quit: A person ended it; it is saved.
        """
        old = self.record
        record = self.record = old.model_copy(
            update={"rows": [], "messages": [], "state": "playing"}
        )
        briefings = self.world.reset(record.seed)
        for name, briefing in briefings.items():
            self.agents[name].begin(briefing)
        record.goal = next(iter(briefings.values())).goal.text()
        record.begun = record.begun or now()
        for name, person in self.people.items():
            person.replay = old.actions(name)
        again = max((row.last + 1 for row in old.rows), default=0)
        percepts = self.world.percepts()
        record.decisions = [one for one in old.decisions if one.step < again]
        try:
            while not self.world.done:
                percepts = await self._step(percepts)
                if self._now == again and record.rows != old.rows:
                    raise PlayError(
                        f"{self.file}: the others do not act as they did then (another version, "
                        "or a model that answers anew); start a new session"
                    )
        except (Quit, asyncio.CancelledError, KeyboardInterrupt):
            self._end("aborted", again, old)
            raise
        for name, percept in percepts.items():
            self.agents[name].observe(percept)
        waiting = [name for name in self.people if name not in record.answers]
        self._end("questions" if waiting else "finished", again, old)

    def answer(self, who: str, answers: Mapping[str, int], comment: str = "") -> bool:
        """Store a person's answers; return whether all have answered.

        Raises:
            PlayError: An answer is missing or wrong, or the file cannot be written.
        """
        self.record.answer(who, answers, comment)
        done = all(name in self.record.answers for name in self.people)
        self.record.state = "finished" if done else "questions"
        self.record.save(self.file)
        return done

    def summary(self) -> list[tuple[str, str]]:
        """Return how the episode went, for people."""
        found = self.record.metrics
        if not found:
            return []
        placed = self.world.metrics().placed
        return [
            ("Goal reached", "yes" if found["success"] else "no"),
            ("In place", f"{placed[0]} of {placed[1]}"),
            ("Steps", str(found["simulation_steps"])),
            ("Walked, on average", f"{found['travel_distance']:.1f} m"),
            ("Messages", f"{found['communication_steps']} ({found['characters']} characters)"),
        ]

    # --- inside ----------------------------------------------------------------------------------

    async def _step(self, percepts: Mapping[str, Percept]) -> Mapping[str, Percept]:
        for name, percept in percepts.items():
            self.agents[name].observe(percept)
        self._asked_at = dict.fromkeys(self.people, time.monotonic())
        actions: dict[str, Action] = dict(
            zip(percepts, await together([self.agents[n].act() for n in percepts]), strict=True)
        )
        percepts = self.world.step(actions)
        for name, action in actions.items():
            self.record.add(self._now, name, action, percepts[name].result)
        self._now += 1
        return percepts

    def _chosen(self, person: Person, choice: Choice) -> None:
        taken = time.monotonic() - self._asked_at[person.name]
        self.record.decisions.append(
            Decision(step=self._now, who=person.name, choice=choice.text, seconds=round(taken, 2))
        )
        self._measure()
        self.record.save(self.file)

    def _measure(self) -> None:
        record = self.record
        record.metrics = measured(
            record.world, record.method, record.seed, record.agents, self.world.metrics()
        )

    def _end(self, state: str, again: int, old: Record) -> None:
        if self._now < again:  # ended while it was played again: nothing new
            old.state = "aborted"
            self.record = old
        else:
            self.record.state = state  # type: ignore[assignment]
            self._measure()
        self.record.ended = now()
        self.record.save(self.file)


class AskPeople:
    """Whom the agents' models reach: everybody who plays; the first answer counts."""

    def __init__(self, people: Sequence[Interface]) -> None:
        self._people = people

    async def ask_person(self, question: WordsQuestion) -> WordsAnswer:
        """Put a question to all people; at once without an answer where nobody is there."""
        asked = [asyncio.ensure_future(person.answer(question)) for person in self._people]
        answer = WordsAnswer(reason=NOBODY)
        try:
            for one in asyncio.as_completed(asked):
                answer = await one
                if answer.text:
                    break
        finally:
            for task in asked:
                task.cancel()
        return answer

    async def ask_robot(self, robot: str, question: WordsQuestion) -> WordsAnswer:
        """Nothing: agents tell each other things by messages, which take steps."""
        return WordsAnswer(reason="send a message instead")


def make_world(record: Record) -> World:
    """Return the world of a record, with as many agents as it says.

    Raises:
        PlayError: There is no such world or method, or the number of agents does not go.
    """
    for kind, name, known in (("world", record.world, WORLDS), ("method", record.method, METHODS)):
        if name not in known:
            raise PlayError(f"{kind} {name[:40]!r}: expected one of {', '.join(known)}")
    if record.method in NOT_WITH_PEOPLE:
        raise PlayError(
            f"method {record.method!r} cannot play with people: {NOT_WITH_PEOPLE[record.method]}"
        )
    try:
        world = WORLDS[record.world](record.agents)
    except ValueError as error:
        raise PlayError(str(error)) from None
    if not 1 <= len(record.people) <= record.agents:
        raise PlayError(
            f"people: expected 1 to {record.agents}, the number of agents; got {len(record.people)}"
        )
    return world


def names_of_people(world: str, agents: int, people: int) -> list[str]:
    """Return who of a team are people: the first ones.

    Raises:
        PlayError: As `make_world`.
    """
    record = Record(world=world, method="reveca", seed=0, agents=agents, people=[""] * people)
    return list(make_world(record).team[:people])


async def together(waiting: Sequence[Awaitable[Action]]) -> list[Action]:
    """Wait for all; if one fails or is interrupted, the others are ended."""
    tasks = [asyncio.ensure_future(one) for one in waiting]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
