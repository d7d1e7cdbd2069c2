"""What would have become of a goal without one of the robots that cooperate, or with a model.

Robots that cooperate without a leader decide each for itself, by what they see and by messages. In
lockstep without ROS all of that comes in one order, so that the same team does the same again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from coterie_core.cooperation import Goal, GoalError
from coterie_core.skills import Detect, NavigateTo, Place, Wait
from coterie_fixtures.house_team import Deed, HouseTeam, in_place
from coterie_llm import ModelProfile, UsageMeter
from coterie_safety.permits.goal_scope import skill_name
from coterie_safety.why import Story
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.simulator import WorldError
from research.whatif.rerun.kept import CannotReplay, KeptNodes
from research.whatif.rerun.worlds import (
    WorldAgain,
    check_repeatable,
    check_there,
    decider_of,
    profile_of,
)
from reveca_agent.agent import RevecaAgent
from reveca_agent.settings import Settings

_PREDICATE = re.compile(r"\b(?:ON|IN)\([^()]*\): \d+")
_POINT = re.compile(r"\((-?[\d.]+, -?[\d.]+, -?[\d.]+)\)")


@dataclass(frozen=True, slots=True)
class Step:
    """Something that a robot began to do: when [s of simulated time], and what."""

    time: float
    robot: str
    what: str


@dataclass(frozen=True, slots=True)
class CooperationEnd:
    """How a goal ended.

    Attributes:
        ended: Robot -> what ended its work.
        reached: Things in place, as far as the robots know.
        wanted: Things to bring.
        in_place: Sub-goal -> things in place, in truth.
        seconds: Simulated time.
        placed: Robot -> things it put down.
        ways: Robot -> way travelled [m].
        messages: Robot -> messages sent.
        steps: What they did, in order.
        model_calls: Requests to a model.
    """

    ended: Mapping[str, str]
    reached: int
    wanted: int
    in_place: Mapping[str, int]
    seconds: float
    placed: Mapping[str, int]
    ways: Mapping[str, float]
    messages: Mapping[str, int]
    steps: tuple[Step, ...]
    model_calls: int = 0


class CooperationAgain:
    """Lets robots do a goal that they share again, in the same house from the same starts.

    Args:
        nodes: Parameters of the run's nodes.

    Raises:
        CannotReplay: There were no robots that cooperate in a simulated house.
    """

    def __init__(self, nodes: KeptNodes) -> None:
        self._agents = nodes.all_of("agent")
        self._world = WorldAgain(nodes)
        if not self._agents:
            raise CannotReplay("no robot of this team cooperates without a leader")
        check_repeatable([profile_of(own) for own in self._agents.values()])

    @property
    def lockstep(self) -> bool:
        """Whether the run's time stood still while robots thought."""
        return self._world.lockstep

    @property
    def robots(self) -> list[str]:
        """Names of the robots that cooperate."""
        return [spec.name for spec in self._world.specs if spec.name in self._agents]

    def run(
        self, goal: Goal, without: Collection[str] = (), profile: ModelProfile | None = None
    ) -> CooperationEnd:
        """Do a goal once.

        Args:
            goal: The goal.
            without: Robots that are not there.
            profile: Of the model that all think with; None: each its own.

        Raises:
            CannotReplay: There is no such robot, or the world cannot be made again.
        """
        check_there(without, self.robots, "cooperates")
        check_left(without, self.robots)
        try:
            return asyncio.run(self._run(goal, frozenset(without), profile))
        except WorldError as error:
            raise CannotReplay(f"its world cannot be made again: {error}") from None

    async def _run(
        self, goal: Goal, without: frozenset[str], profile: ModelProfile | None
    ) -> CooperationEnd:
        world = self._world.make(without)
        try:
            if not isinstance(world, EmbeddedWorld):
                raise CannotReplay("only the embedded simulator can be had again without ROS")
            specs = {s.name: s.body for s in self._world.specs if s.name in self._agents}
            there = {name: body for name, body in specs.items() if name not in without}
            own = {name: self._agents[name] for name in there}
            meter = UsageMeter()
            step = {float(one.get("step", 1.0)) for one in own.values()}
            team = HouseTeam(world, self._world.known(world), there, step=max(step))
            await team.run(
                goal,
                max(float(one.get("max_time", 1200.0)) for one in own.values()),
                people=[n for n in next(iter(own.values())).get("team", ()) if n not in specs],
                agents={name: self._agent(name, profile, meter) for name in there},
                seeds={name: int(one.get("seed", 0)) for name, one in own.items()},
            )
            return _end_of(team, goal, sum(row["calls"] for row in meter.as_json()))
        finally:
            world.close()

    def _agent(self, name: str, profile: ModelProfile | None, meter: UsageMeter) -> RevecaAgent:
        own = self._agents[name]
        decider = decider_of(name, profile_of(own), profile, meter)
        return RevecaAgent(name, decider, Settings(levels=own["levels"], plans=own["plans"]))


def goal_of(words: str) -> Goal:
    """Return the goal that was kept in one line.

    Raises:
        CannotReplay: There is none in it.
    """
    parts = _PREDICATE.findall(words)
    name = words[: words.find(parts[0])].rstrip(": ") if parts else words
    try:
        return Goal.parse(name, parts)
    except GoalError as error:
        raise CannotReplay(f"the goal is not kept whole: {error}") from None


def kept_steps(story: Story, tasks: Collection[str]) -> dict[str, list[str]]:
    """Return what each robot of a run did for a goal, by the log; {}: nothing is kept.

    Args:
        story: The run.
        tasks: Ids of the goal, each robot's own.
    """
    found: dict[str, list[str]] = {}
    for entry in sorted(story.entries, key=lambda one: one.seq):
        sent = story.get(str(entry.body.get("action", "")))
        if entry.kind == "goal" and sent is not None and sent.of.task in tasks:
            what = str(entry.body.get("what", ""))
            point = _POINT.search(what)
            skill = str(entry.body.get("skill", ""))
            found.setdefault(entry.robot, []).append(_step(skill, point[1] if point else ""))
    return found


def _end_of(team: HouseTeam, goal: Goal, calls: int) -> CooperationEnd:
    works = team.works
    lacking = [sum(work.agent.memory.needs().values()) for work in works.values()]
    steps = tuple(_told(deed) for deed in team.deeds if not isinstance(deed.skill, (Wait, Detect)))
    return CooperationEnd(
        {name: team.ended[name] for name in works},
        goal.total - min(lacking),
        goal.total,
        in_place(team.world, goal),
        round(team.world.time, 6),
        {n: sum(isinstance(d.skill, Place) and d.robot == n for d in team.deeds) for n in works},
        {name: round(work.distance, 6) for name, work in works.items()},
        {name: work.notes for name, work in works.items()},
        steps,
        calls,
    )


def _told(deed: Deed) -> Step:
    skill, point = deed.skill, ""
    if isinstance(skill, NavigateTo) and skill.position is not None:
        point = ", ".join(f"{v:.1f}" for v in skill.position)
    target = getattr(skill, "target", None) or getattr(skill, "receptacle", None)
    what = _step(skill_name(skill), point) + (f" {target.label}" if target is not None else "")
    return Step(round(deed.time, 2), deed.robot, what)


def _step(skill: str, point: str) -> str:
    return f"{skill} ({point})" if point else skill


def differs_from_run(kept: Mapping[str, Sequence[str]], again: CooperationEnd) -> str:
    """Return in what a replay is not as the run was; "" where it does the same, step by step."""
    if not kept:
        return "what the robots did is not kept"
    for robot in again.ended:
        was = list(kept.get(robot, ()))
        now = [one.what for one in again.steps if one.robot == robot]
        for number in range(max(len(was), len(now))):
            one = was[number] if number < len(was) else "nothing more"
            other = now[number] if number < len(now) else "nothing more"
            if not (other == one or other.startswith(f"{one} ")):
                return f"{robot}'s step {number + 1} was {one}, and is {other} in the replay"
    return ""


def first_difference(
    before: CooperationEnd, after: CooperationEnd
) -> tuple[Step | None, Step | None] | None:
    """Return the first step that a robot that is in both does otherwise, as it was and is now."""
    found: list[tuple[float, Step | None, Step | None]] = []
    for robot in after.ended:
        was = [one for one in before.steps if one.robot == robot]
        now = [one for one in after.steps if one.robot == robot]
        for k in range(max(len(was), len(now))):
            one = was[k] if k < len(was) else None
            other = now[k] if k < len(now) else None
            if one is None or other is None or one.what != other.what:
                found.append((min(s.time for s in (one, other) if s is not None), one, other))
                break
    if not found:
        return None
    _, one, other = min(found, key=lambda each: each[0])
    return one, other


def check_left(without: Collection[str], robots: Collection[str]) -> None:
    """Refuse to leave out all robots.

    Raises:
        CannotReplay: None would be left.
    """
    if not set(robots) - set(without):
        raise CannotReplay("nobody would be left")
