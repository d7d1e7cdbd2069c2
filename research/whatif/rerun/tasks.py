"""What would have become of a task: without a robot, or with another model; in lockstep, no ROS."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from coterie_core.resume import Resume
from coterie_fixtures.emos_team import TeamRun, run_team
from coterie_llm import ModelProfile, UsageMeter
from coterie_requests.understanding import NotUnderstood
from coterie_world.team_map import TeamMap
from emos_planner.leader.leader import Leader
from emos_planner.leader.options import LeaderOptions
from emos_planner.robot.agent import AgentLimits, RobotAgent
from habitat_bridge.simulator import WorldError
from research.whatif.rerun.kept import CannotReplay, KeptNodes, from_json
from research.whatif.rerun.worlds import (
    WorldAgain,
    check_repeatable,
    check_there,
    decider_of,
    profile_of,
)

MOST_STEPS = 8000
_DT = 0.25


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """How a task ended: who did what at first, what was reached, at what cost.

    `seconds` are simulated, `skills` those begun, by robot; `model_calls` requests to a model.
    """

    given: Mapping[str, str]
    state: str
    message: str
    achieved: int
    wanted: int
    seconds: float
    rounds: int
    skills: Mapping[str, int]
    by_model: int = 0
    model_calls: int = 0

    @property
    def same(self) -> tuple[object, ...]:
        """Return what two runs have to have in common to count as the same."""
        skills, given = tuple(sorted(self.skills.items())), tuple(self.given.items())
        return given, self.state, self.achieved, self.wanted, self.seconds, skills, self.message


class TaskAgain:
    """Lets a run's team do a task again, in the same house from the same starts.

    Args:
        nodes: Parameters of the run's nodes.

    Raises:
        CannotReplay: It was no simulated team with a leader in lockstep.
    """

    def __init__(self, nodes: KeptNodes) -> None:
        self._leader = nodes.of("leader")
        self._robots = nodes.all_of("robot")
        if nodes.of("bridge") and not self._leader:
            raise CannotReplay("this team has no leader, and does no tasks")
        self._world = WorldAgain(nodes)
        if not self._world.lockstep:
            raise CannotReplay("it ran in real time: no two such runs are the same")
        self._specs = self._world.specs
        self._profile = from_json(self._leader, "model_profile")
        check_repeatable((self._profile, *map(profile_of, self._robots.values())))

    @property
    def robots(self) -> list[str]:
        """Names of the robots that do tasks."""
        return [spec.name for spec in self._specs if spec.name in self._robots]

    def run(
        self, words: str, without: Collection[str] = (), profile: ModelProfile | None = None
    ) -> TaskEnd:
        """Do the task once.

        Args:
            words: The task.
            without: Robots that are not there.
            profile: Of the model that all think with; None: each its own.

        Raises:
            CannotReplay: There is no such robot, or the world cannot be made again.
        """
        check_there(without, self.robots, "does tasks")
        try:
            return asyncio.run(self._run(words, frozenset(without), profile))
        except WorldError as error:
            raise CannotReplay(f"its world cannot be made again: {error}") from None

    async def _run(
        self, words: str, without: frozenset[str], profile: ModelProfile | None
    ) -> TaskEnd:
        meter = UsageMeter()
        world = self._world.make(without)
        try:
            scene = self._world.known(world)
            options = self._options(profile)
            resumes = {
                spec.name: Resume.of_embodiment(spec.body).model_copy(update={"robot": spec.name})
                for spec in self._specs
                if spec.name in self._robots and spec.name not in without
            }
            agents = {
                name: RobotAgent(
                    name,
                    resume,
                    decider_of(name, profile_of(self._robots[name]), profile, meter),
                    TeamMap(scene, name),
                    limits=AgentLimits(),
                )
                for name, resume in resumes.items()
            }
            own = decider_of("leader", self._profile, profile, meter)
            leader = Leader(own, scene, resumes, options=options)
            run = await run_team(world, leader, dict(agents), words, max_steps=MOST_STEPS, dt=_DT)
        except NotUnderstood as error:
            return TaskEnd({}, "not_done", str(error), 0, 0, 0.0, 0, {})
        finally:
            world.close()
        return _end_of(run, meter)

    def _options(self, profile: ModelProfile | None) -> LeaderOptions:
        known = {
            name: self._leader[name]
            for name in LeaderOptions.model_fields
            if name in self._leader and name != "permits"
        }
        options = LeaderOptions(**known, permits=from_json(self._leader, "permits") or {})
        if profile is None:
            return options
        # Time stands still meanwhile: a slow model is no worse here than a quick one.
        patience = max(options.reflect_timeout, 2.0 * profile.decision_s)
        return options.model_copy(update={"reflect_timeout": patience})


def _end_of(run: TeamRun, meter: UsageMeter) -> TaskEnd:
    outcome = run.outcome
    given = {one.description or one.id: one.robot for one in run.agreement.sub_tasks}
    rows = meter.as_json()
    return TaskEnd(
        given,
        outcome.state.value,
        outcome.message,
        outcome.achieved,
        outcome.wanted,
        round(run.time, 6),
        run.agreement.rounds + run.replans,
        dict(run.skills),
        sum(row["by_model"] for row in rows),
        sum(row["calls"] for row in rows),
    )
