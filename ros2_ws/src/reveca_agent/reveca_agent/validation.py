"""The validation module: could a collaborator have touched a plan's thing, and is it likely?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_core.cooperation import Briefing, Spot
from coterie_llm import CheckFailed, Decision, Message, as_data, neutral_order
from reveca_agent.memory import Memory
from reveca_agent.plans import Plan

CLOSE = 4.0
"""Steps below which looking is cheaper than asking: a question costs two, one for each."""

AGES = 60.0
"""Steps to spare in which one brings away what is in the hands and comes back."""
AGAIN = 1.75
"""How much that adds to the likelihood that who was in a room took what lay there: measured in
transport episodes, where three in four such things were gone."""
SAID = 0.85
"""Likelihood that a collaborator did what it said it would do next, once it had the time."""
PREDICTED = 0.65
"""Likelihood that a collaborator did what planning predicted of it."""


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


NOBODY = "nobody"


class ScenarioChoice(BaseModel):
    """Which scenario is the likeliest."""

    reason: str = Field("", max_length=600, description="first think, step by step, in short")
    who: str = Field(description=f"then who did it in the likeliest scenario, or '{NOBODY}'")


@dataclass(frozen=True, slots=True)
class ScenarioState:
    """The scenarios about one plan's thing.

    Attributes:
        plan: What one is about to do.
        about: The thing, container or room, in words.
        spot: Where that is.
        seen: Step at which it was last seen; None: never (a room).
        now: This step.
        scenarios: Of which exactly one happened.
        goal: What the team shares and what it still lacks, in words.
        tracks: For every collaborator where it was since, in words.
        messages: What was said of late.
    """

    plan: Plan
    about: str
    spot: Spot
    seen: int | None
    now: int
    scenarios: Sequence[Scenario]
    goal: Sequence[str] = ()
    tracks: Sequence[str] = ()
    messages: Sequence[str] = ()


class JudgeScenario(Decision[ScenarioState, ScenarioChoice]):
    """Did a collaborator touch the thing since it was seen?"""

    name: ClassVar[str] = "reveca.judge_scenario"
    reply_type: ClassVar[type[BaseModel]] = ScenarioChoice
    max_tokens: ClassVar[int] = 300

    def prompt(self, state: ScenarioState) -> Sequence[Message]:
        """Show what was seen when, and the scenarios with times and distances."""
        order = neutral_order(state.scenarios, lambda one: one.who, salt=str(state.now))
        told = [{"who": one.who or NOBODY, "what": one.text} for one in order]
        if state.plan.kind == "explore":
            seen = f"You have not seen that room yet. Now it is step {state.now}."
        else:
            seen = f"You saw it last at step {state.seen}; now it is step {state.now}."
        return (
            Message.system(
                "You are a robot that is about to go and do something in a home in which others "
                "work for the same goal. One of them may have done it already; if that is likely, "
                "it is worth asking instead of going there in vain. Every action takes a step. "
                "Think step by step about who had the time, who was near, what they said, and who "
                "has use for it by the goal; then name who did it in the likeliest scenario. The "
                "scenarios are in no particular order. IN(a, b): n, or ON, means that n of a "
                "belong there. Positions (x, y) are in meters."
            ),
            Message.user(
                f"{as_data('goal', list(state.goal))}\n"
                f"{as_data('plan', state.plan.text())}\n"
                f"{as_data('about', state.about)}\n{seen}\n"
                f"{as_data('others since then', list(state.tracks))}\n"
                f"{as_data('messages', list(state.messages) or 'none')}\n"
                f"{as_data('scenarios', told, limit=8000)}\nWho did it?"
            ),
        )

    def options(self, state: ScenarioState) -> Mapping[str, Sequence[str]]:
        """The collaborators that had the time, and nobody."""
        return {"who": sorted(one.who or NOBODY for one in state.scenarios)}

    def check(self, state: ScenarioState, reply: ScenarioChoice) -> None:
        """The name is that of a scenario."""
        names = [one.who or NOBODY for one in state.scenarios]
        if reply.who not in names:
            raise CheckFailed(f"no scenario has {reply.who[:60]!r}; one of {', '.join(names)}")

    def rule(self, state: ScenarioState) -> ScenarioChoice:
        """The one with the greatest likelihood; nobody, if there is a tie."""
        best = max(
            range(len(state.scenarios)),
            key=lambda k: (state.scenarios[k].likelihood, not state.scenarios[k].who, -k),
        )
        who = state.scenarios[best].who or NOBODY
        return ScenarioChoice(reason="time, distance, reason and free hands", who=who)


def scenarios(plan: Plan, memory: Memory, briefing: Briefing) -> ScenarioState | None:
    """Return the scenarios for a plan, "nobody" first; None where there is nothing to doubt.

    A plan is in doubt if it is about a thing, a closed container or a room that one does not see
    now and that a collaborator had time to reach since it was seen.
    """
    about = _about(plan, memory, briefing)
    if about is None or not memory.settings.collaborators:
        return None
    what, spot, since = about
    if since >= memory.step:
        return None
    found = []
    nobody = 1.0
    for name in memory.collaborators:
        chance, text = _chance(name, plan, spot, since, memory, briefing)
        if chance > 0.0:
            nobody *= 1.0 - chance
            found.append(Scenario(name, chance, text))
    if not found:
        return None
    found.sort(key=lambda one: (-one.likelihood, one.who))
    done = "searched" if plan.kind == "explore" else "opened" if plan.kind == "look" else "touched"
    first = Scenario("", nobody, f"nobody {done} it")
    seen = None if plan.kind == "explore" else since
    return ScenarioState(plan, what, spot, seen, memory.step, (first, *found))


def shown(state: ScenarioState, memory: Memory, briefing: Briefing) -> ScenarioState:
    """Return a state with all that a model should be told."""
    goal = [f"{one}, {lack} to go" for one, lack in memory.needs().items()]
    tracks = [
        mate.track(state.seen or 0, state.now, briefing, memory.settings.spatial)
        for mate in memory.collaborators.values()
    ]
    return replace(state, goal=goal, tracks=tracks, messages=memory.dialogue())


def _about(plan: Plan, memory: Memory, briefing: Briefing) -> tuple[str, Spot, int] | None:
    """Return what a plan is about in words, where that is, and when it was seen."""
    if plan.kind == "explore":
        room = briefing.ways.rooms.get(plan.target)
        if room is None or plan.target in memory.rooms:
            return None
        return f"{room.name}, a room", room.spot, 0
    entry = memory.scene.get(plan.target)
    if plan.kind not in ("fetch", "look") or entry is None:
        return None
    thing = entry.thing
    where = f" {thing.relation} {thing.parent}" if thing.parent else ""
    return f"{thing.id}{where} in {thing.spot.room}", thing.spot, memory.seen_at(entry)


def _chance(
    name: str, plan: Plan, spot: Spot, since: int, memory: Memory, briefing: Briefing
) -> tuple[float, str]:
    """Return how likely a collaborator did a plan already, and why, in words."""
    mate, stride = memory.collaborators[name], briefing.stride
    last = mate.last
    if last is None:
        return 0.0, ""
    slack = mate.could_reach(spot, since, memory.step, briefing.ways, stride)
    if slack < 1.0:
        return 0.0, ""
    deed = "took" if plan.kind == "fetch" else "searched"
    text = f"{name} {deed} it: it had "
    text += f"{slack:.0f} steps to spare for that" if memory.settings.spatial else "the time"
    if mate.heading == plan.target:
        return SAID, f"{text}, and said it would"
    chance = 0.2
    full = last.step >= since and len(last.hands) >= briefing.hands
    if plan.kind == "fetch" and full and slack < AGES:
        chance *= 0.3
        text += ", but had its hands full when last known"
    if mate.aim is not None and mate.aim.room == spot.room and mate.since >= since:
        chance *= 2.5
        text += f", and it made for {spot.room}"
    elif mate.passed(spot.room, since, briefing.ways):
        chance *= 2.0 + (AGAIN if plan.kind == "fetch" else 0.0) * min(1.0, slack / AGES)
        text += f", and was seen or heard from in {spot.room}"
    if plan.doubt == name:
        chance = max(chance, PREDICTED)
    return min(chance, 0.2 + 0.05 * slack, 0.95), text


def worth_asking(state: ScenarioState, memory: Memory, briefing: Briefing) -> bool:
    """Tell whether it is so far away that a question costs less than going to look."""
    return briefing.ways.distance(memory.spot, state.spot) / briefing.stride > CLOSE
