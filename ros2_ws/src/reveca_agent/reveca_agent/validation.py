"""The validation module: could a collaborator have touched a plan's thing, and is it likely?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_core.cooperation import Briefing, Thing
from coterie_core.language import CheckFailed, Decision, Message, as_data
from reveca_agent.memory import Entry, Memory
from reveca_agent.plans import Plan

CLOSE = 4.0
"""Steps below which looking is cheaper than asking: a question costs two, one for each."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What may have happened to a thing between the time it was seen and now.

    Attributes:
        who: The collaborator that took it; "" for nobody.
        likelihood: 0..1, from time and distance and what is known of that collaborator.
        text: The same in words.
    """

    who: str
    likelihood: float
    text: str


class ScenarioChoice(BaseModel):
    """Which scenario is the likeliest."""

    number: int = Field(ge=1, description="number of the likeliest scenario, from 1")
    reason: str = Field("", max_length=400, description="why, step by step, in short")


@dataclass(frozen=True, slots=True)
class ScenarioState:
    """The scenarios about one plan's thing."""

    plan: Plan
    thing: Thing
    seen: int
    now: int
    scenarios: Sequence[Scenario]


class JudgeScenario(Decision[ScenarioState, ScenarioChoice]):
    """Did a collaborator touch the thing since it was seen?"""

    name: ClassVar[str] = "reveca.judge_scenario"
    reply_type: ClassVar[type[BaseModel]] = ScenarioChoice
    max_tokens: ClassVar[int] = 256

    def prompt(self, state: ScenarioState) -> Sequence[Message]:
        """Show what was seen when, and the scenarios with times and distances."""
        lines = [f"{k}. {one.text}" for k, one in enumerate(state.scenarios, start=1)]
        where = f"{state.thing.relation} {state.thing.parent}" if state.thing.parent else ""
        return (
            Message.system(
                "A robot is about to act on a thing that it saw some steps ago. Others work in the "
                "same home. Think step by step about who had the time and a reason to take the "
                "thing, and give the number of the likeliest scenario."
            ),
            Message.user(
                f"{as_data('plan', state.plan.text())}\n"
                f"{as_data('thing', f'{state.thing.id} {where} in {state.thing.spot.room}')}\n"
                f"It was seen at step {state.seen}; now it is step {state.now}.\n"
                f"{as_data('scenarios', lines)}\nWhich number?"
            ),
        )

    def check(self, state: ScenarioState, reply: ScenarioChoice) -> None:
        """The number is that of a scenario."""
        if reply.number > len(state.scenarios):
            raise CheckFailed(
                f"there are scenarios 1 to {len(state.scenarios)}, not {reply.number}"
            )

    def rule(self, state: ScenarioState) -> ScenarioChoice:
        """The one with the greatest likelihood; nobody, if there is a tie."""
        best = max(range(len(state.scenarios)), key=lambda k: (state.scenarios[k].likelihood, -k))
        return ScenarioChoice(number=best + 1, reason="time, distance, reason and free hands")


def scenarios(plan: Plan, memory: Memory, briefing: Briefing) -> ScenarioState | None:
    """Return the scenarios for a plan, "nobody" first; None where there is nothing to doubt.

    A plan is in doubt if it is about a thing that one does not see now and that a collaborator
    had time to reach and leave since.
    """
    entry = memory.scene.get(plan.target)
    if plan.kind != "fetch" or entry is None or not memory.settings.collaborators:
        return None
    if entry.step >= memory.step and not entry.by:
        return None
    found = []
    nobody = 1.0
    for name in memory.collaborators:
        chance, text = _chance(name, entry, memory, briefing)
        if chance > 0.0:
            nobody *= 1.0 - chance
            found.append(Scenario(name, chance, text))
    if not found:
        return None
    found.sort(key=lambda one: (-one.likelihood, one.who))
    first = Scenario("", nobody, "nobody touched it")
    return ScenarioState(plan, entry.thing, entry.step, memory.step, (first, *found))


def _chance(name: str, entry: Entry, memory: Memory, briefing: Briefing) -> tuple[float, str]:
    """Return how likely a collaborator took a thing since it was seen, and why, in words."""
    mate, thing, stride = memory.collaborators[name], entry.thing, briefing.stride
    last = mate.last
    if last is None:
        return 0.0, ""
    slack = mate.could_reach(thing.spot, entry.step, memory.step, briefing.ways, stride)
    if slack < 1.0:
        return 0.0, ""
    text = f"{name} took it: it had {slack:.0f} steps to spare for that"
    if mate.heading == thing.id:
        return 0.9, f"{text}, and said it would fetch it"
    chance = 0.2
    if last.step >= entry.step and len(last.hands) >= briefing.hands:
        chance *= 0.3
        text += ", but had its hands full when last known"
    there = _was_there(name, entry, memory)
    if there == "announced":
        chance = min(0.9, chance * 3.5)
        text += f", and it made for {thing.spot.room}"
    elif there == "passed":
        chance = min(0.9, chance * 2.0)
        text += f", and its way led through {thing.spot.room}"
    return min(chance, 0.2 + 0.05 * slack), text


def _was_there(name: str, entry: Entry, memory: Memory) -> str:
    """Tell whether a collaborator made for the thing's room since ("announced"), or passed it."""
    mate, room = memory.collaborators[name], entry.thing.spot.room
    if mate.aim is not None and mate.aim.room == room and mate.since >= entry.step:
        return "announced"
    if any(trace.spot.room == room and trace.step >= entry.step for trace in mate.traces):
        return "passed"
    return ""


def worth_asking(state: ScenarioState, memory: Memory, briefing: Briefing) -> bool:
    """Tell whether the thing is so far away that a question costs less than going to look."""
    far = briefing.ways.distance(memory.spot, state.thing.spot) / briefing.stride
    return far > CLOSE
