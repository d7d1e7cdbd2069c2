"""Run Habitat-MAS episodes: EMOS, its ablations, fixed assignments, and how far each got."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from coterie_core.resume import Resume
from coterie_core.resume_text import ResumeFormat
from coterie_core.skills import Skill, SkillRefused, SkillResult
from coterie_core.tasks import Predicate, SubTask
from coterie_fixtures.emos_team import LocalChannel, run_team
from coterie_llm import Decider, ModelProfile, UsageMeter, build_model
from coterie_requests.request import Command
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.phrases import Phrase
from coterie_world.scene import SceneGraph
from coterie_world.team_map import TeamMap
from emos_planner.leader.expand import expand
from emos_planner.leader.leader import Leader
from emos_planner.leader.options import LeaderOptions
from emos_planner.leader.searches import Searches
from emos_planner.leader.task_graph import TaskGraph, Want
from emos_planner.robot.agent import AgentLimits, RobotAgent
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.factory import NoiseLevel
from habitat_bridge.prior import PriorMap, prior_map
from research.bench.emos.ablation import DealingLeader, without_numbers, without_resume
from research.bench.emos.counting import CountingDecider
from research.bench.emos.episodes import Episode, Goal, WorldKind, world_of
from research.bench.emos.goals import GoalProblem

Method = Literal[
    "emos",
    "no_numbers",
    "no_resume",
    "no_discussion",
    "dealt",
    "emos_reassign",
    "random",
    "nearest",
    "single",
    "oracle",
    "swapped",
]
METHODS: tuple[Method, ...] = get_args(Method)
BY_CHANCE: tuple[Method, ...] = ("dealt", "random")
"""Methods that draw lots: a bench runs them with several seeds."""
KNOWING_GOALS: tuple[Method, ...] = ("random", "nearest", "single", "oracle", "swapped")
"""Methods that are handed the goal's predicates; all others get the words and nothing else."""
DT = 0.25
"""Length of a step [s]."""
MAX_STEPS = 2400
"""Steps after which an episode ends."""
_BELIEVED: Mapping[str, Callable[[Resume], Resume]] = {
    "no_numbers": without_numbers,
    "no_resume": without_resume,
}
"""What leader and robots believe of a body, where it is not all of it."""
_COUNTED = ("calls", "by_model", "by_rule", "at_once", "asked_again", "overruled", "tool_uses")
_QUIET = 8  # steps with nothing going on after which nothing will happen any more

_OPTIONS: Mapping[str, LeaderOptions] = {
    # As in the paper nothing is given anew once it is carried out: what was agreed on counts.
    "emos": LeaderOptions(reassign_limit=0),
    "emos_reassign": LeaderOptions(),
    "no_numbers": LeaderOptions(use_resume_numbers=False, reassign_limit=0),
    "no_resume": LeaderOptions(use_resume_numbers=False, reassign_limit=0),
    "dealt": LeaderOptions(reassign_limit=0),
    # Every robot is handed the words alone, and does what it believes to be its to do.
    "no_discussion": LeaderOptions(reassign_limit=0),
}


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """How an episode went.

    `subgoals` is the share of the sub-goals reached (0..1), `goals` tells it for each, `steps` of
    the simulation, `rounds` of discussion, `skills` begun by all robots, `tokens` of prompts and
    replies (estimated where a rule decided), `seconds` of wall time. `refused`: the words were not
    understood. `decisions` counts who decided: see `UsageMeter`.
    """

    episode: str
    family: int
    method: str
    success: bool
    subgoals: float
    steps: int
    rounds: int
    skills: int
    tokens: int
    prompt_tokens: int
    seconds: float
    message: str = ""
    refused: bool = False
    goals: Mapping[str, bool] = field(default_factory=dict)
    decisions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass
class _Watch:
    """What the referee sees: sub-goals reached on the way, things detected."""

    world: EmbeddedWorld
    goals: GoalProblem
    resumes: Mapping[str, Resume]
    detections: dict[str, set[str]]
    latched: set[int]

    def look(self, step: int) -> bool:
        """Note what is so now; True once all holds."""
        if step % 4:
            return False
        for robot in self.detections:
            seen = self.world.observe(robot).detections
            self.detections[robot] |= {d.instance for d in seen if d.instance}
        reached = self.goals.reached(
            self.world.truth(), self.detections, self.resumes, self.latched
        )
        for k, predicate in enumerate(self.goals.episode.checked):
            # To have been there, or to have seen it, is enough; a thing must stay where it is put.
            if reached[k] and predicate.name != "object_at_receptacle":
                self.latched.add(k)
        return all(reached)


async def run_episode(
    episode: Episode,
    method: Method,
    *,
    profile: ModelProfile | None = None,
    form: ResumeFormat = "json",
    seed: int = 0,
    max_steps: int = MAX_STEPS,
    kind: WorldKind = "embedded",
    prior: PriorMap = "everything",
    noise: NoiseLevel = "none",
    meter: UsageMeter | None = None,
) -> EpisodeResult:
    """Run one episode by one method in lockstep.

    Leaders get the episode's words and never its goal. `oracle`, `swapped`, `random`, `nearest`
    and `single` have no leader: their sub-tasks are made of the goal itself.

    Args:
        episode: The episode.
        method: The method.
        profile: Of the model that leader and robots think with; None: the rules.
        form: Of the resumes that a model is shown.
        seed: Of `random` and `dealt`; with the episode's id, so that each has lots of its own.
        max_steps: Steps after which it ends.
        kind: Of the world.
        prior: What the team knows of the house beforehand.
        noise: Of the robots' detectors; the referee's eyes have none.
        meter: Counts calls and decisions; None: one of the episode's own.
    """
    begun = time.perf_counter()
    world, resumes = world_of(episode, kind, noise)
    believed = _BELIEVED.get(method)
    believes = {name: believed(one) if believed else one for name, one in resumes.items()}
    watch = _Watch(world, GoalProblem(episode), resumes, {robot: set() for robot in resumes}, set())
    rounds, skills, message, refused = 0, 0, "", False
    profile, meter = profile or ModelProfile(kind="rules"), meter or UsageMeter()
    model = build_model(profile, meter)
    larger = build_model(profile.larger, meter) if profile.larger is not None else None
    deciders = {
        name: CountingDecider(
            model,
            who=name,
            timeout_s=profile.decision_s,
            on_decided=meter.watch(name),
            policy=profile.policy,
            larger=larger,
        )
        for name in (*resumes, "leader")
    }
    try:
        scene = prior_map(world.truth(), prior)
        lot = random.Random(f"{seed}-{episode.id}").randrange(2**31)
        options = _OPTIONS.get(method, LeaderOptions()).model_copy(
            update={
                "resume_format": form,
                "seed": lot,
                # Time stands still meanwhile: a slow model is no worse here than a quick one.
                "reflect_timeout": max(30.0, 2.0 * profile.decision_s),
            }
        )
        agents = {
            name: RobotAgent(
                name,
                resume,
                deciders[name],
                TeamMap(scene, name),
                limits=AgentLimits(
                    resume_format=form, use_resume_numbers=options.use_resume_numbers
                ),
            )
            for name, resume in believes.items()
        }
        if method == "no_discussion":
            for robot, agent in agents.items():
                agent.observe(world.observe(robot))
            alone, message = await each_alone(episode, deciders, scene, believes, options, agents)
            refused = bool(message)
            skills = await carry_out(world, agents, alone, watch, max_steps, together=False)
        elif method in _OPTIONS:
            leading = DealingLeader if method == "dealt" else Leader
            leader = leading(deciders["leader"], scene, believes, options=options)
            try:
                run = await run_team(
                    world,
                    leader,
                    dict(agents),
                    episode.words,
                    max_steps=max_steps,
                    dt=DT,
                    on_step=watch.look,
                )
                rounds, skills = leader.round, sum(run.skills.values())
                message = run.outcome.message
            except NotUnderstood as error:
                message, refused = str(error), True
        else:
            tasks = fixed(episode, method, seed, scene, resumes)
            skills = await carry_out(world, agents, tasks, watch, max_steps)
        watch.look(0)
        success, reached = watch.goals.told(world.truth(), watch.detections, resumes, watch.latched)
        steps = world.steps
    finally:
        world.close()
        await deciders["leader"].aclose()
    costs = [decider.total for decider in deciders.values()]
    return EpisodeResult(
        episode.id,
        episode.family,
        method,
        success,
        sum(reached) / max(len(reached), 1),
        steps,
        rounds,
        skills,
        sum(cost.prompt + cost.reply for cost in costs),
        sum(cost.prompt for cost in costs),
        time.perf_counter() - begun,
        message[:300],
        refused,
        {
            f"{predicate.name} {k + 1}": is_so
            for k, (predicate, is_so) in enumerate(zip(episode.checked, reached, strict=True))
        },
        _by_decision(meter),
    )


def _by_decision(meter: UsageMeter) -> dict[str, dict[str, int]]:
    """Return decision -> how often it was made, and by whom, over all robots."""
    counts: dict[str, dict[str, int]] = {}
    for row in meter.as_json():
        told = counts.setdefault(row["decision"], dict.fromkeys(_COUNTED, 0))
        for name in _COUNTED:
            told[name] += row[name]
    return counts


async def each_alone(
    episode: Episode,
    deciders: Mapping[str, Decider],
    scene: SceneGraph,
    resumes: Mapping[str, Resume],
    options: LeaderOptions,
    agents: Mapping[str, RobotAgent],
) -> tuple[list[SubTask], str]:
    """Return what every robot sets out to do that was handed the raw task (EMOS, w/o discussion).

    Each understands the words for itself and takes all that it believes its body can do: nobody
    divides the work, so two may go for one thing. Also returns what could not be understood.
    """
    tasks: list[SubTask] = []
    said = ""
    for robot, resume in resumes.items():
        agent = agents[robot]
        leader = Leader(deciders[robot], scene, {robot: resume}, options=options)
        leader.channel = LocalChannel({robot: agent})
        start = next(r.start for r in episode.robots if r.name == robot)
        try:
            agreed = await leader.discuss(f"alone-{robot}", episode.words, {robot: start})
        except NotUnderstood as error:
            said = str(error)
            continue
        tasks += prefixed([one for one in agreed.sub_tasks if one.robot == robot], robot)
    return tasks, said


def prefixed(tasks: Sequence[SubTask], prefix: str) -> list[SubTask]:
    """Return sub-tasks with ids of their own; what they depend on beyond these is dropped."""
    names = {one.id: f"{prefix}-{one.id}" for one in tasks}
    return [
        one.model_copy(
            update={
                "id": names[one.id],
                "depends_on": tuple(names[d] for d in one.depends_on if d in names),
                "same_robot_as": names.get(one.same_robot_as, ""),
            }
        )
        for one in tasks
    ]


def fixed(
    episode: Episode,
    method: str,
    seed: int,
    scene: SceneGraph,
    resumes: Mapping[str, Resume],
) -> list[SubTask]:
    """Return all sub-tasks with the robots that a fixed assignment gives them.

    `nearest` gives each goal to the robot that starts nearest to its object, as the crow flies.
    """
    rng = random.Random(f"{seed}-{episode.id}")
    tasks: list[SubTask] = []
    for k, goal in enumerate(episode.goals):
        robot = {
            "oracle": goal.right,
            "swapped": goal.swapped,
            "random": rng.choice(sorted(resumes)),
            "nearest": _nearest(episode, goal),
            "single": episode.robots[0].name,
        }[method]
        made = sub_tasks_for(goal.predicate, scene, list(resumes))
        given = [one.model_copy(update={"robot": robot}) for one in made]
        tasks += prefixed(given, f"g{k}")
    return tasks


def sub_tasks_for(goal: Predicate, scene: SceneGraph, robots: Sequence[str]) -> tuple[SubTask, ...]:
    """Return the sub-tasks that reach a goal whose things are on the map."""
    kinds: dict[str, Command] = {"object_at_receptacle": "bring", "robot_detect_object": "find"}
    named = [
        Phrase(thing.id, noun=thing.id, label=thing.id)
        for thing in (goal.object, goal.receptacle)
        if thing is not None
    ]
    kind = kinds.get(goal.name, "go")
    want = Want(kind, named[0], named[1] if kind == "bring" else None, robot=goal.robot)
    graph = TaskGraph(tuple(robots), Searches(scene), [want])
    expand(graph)
    return tuple(graph.sub_tasks.values())


def _nearest(episode: Episode, goal: Goal) -> str:
    thing = goal.predicate.object
    assert thing is not None and thing.position is not None
    at = thing.position
    return min(episode.robots, key=lambda r: (math.dist(r.start, at), r.name)).name


async def carry_out(
    world: EmbeddedWorld,
    agents: Mapping[str, RobotAgent],
    tasks: Sequence[SubTask],
    watch: _Watch,
    max_steps: int,
    *,
    together: bool = True,
) -> int:
    """Let robots do their sub-tasks with nobody leading them; return the number of skills.

    With `together` each hears how far the others are; else it knows of its own only.
    """
    running: dict[str, Skill] = {}
    begun, last, states = 0, 0, {one.id: one for one in tasks}
    for robot, agent in agents.items():
        agent.observe(world.observe(robot))
        agent.assign("fixed", "", _told(states, robot, together))
    for step in range(1, max_steps + 1):
        for robot, agent in agents.items():
            if robot in running:
                continue
            skill = await agent.next_skill()
            if skill is None:
                continue
            begun, last = begun + 1, step
            try:
                world.start_skill(robot, skill)
                running[robot] = skill
            except SkillRefused as refused:
                _ended(world, agents, robot, skill, refused.result)
        for robot, result in world.tick(DT).items():
            if robot in running:
                _ended(world, agents, robot, running.pop(robot), result)
        for agent in agents.values():
            states.update({one.id: one for one in agent.report().sub_tasks})
        events = [event for agent in agents.values() for event in agent.events()]
        for robot, agent in agents.items():
            agent.assign("fixed", "", _told(states, robot, together))
            for event in events if together else ():
                agent.hear(event)
        if running:
            last = step
        if watch.look(step) or step - last > _QUIET:
            break
    return begun


def _told(states: Mapping[str, SubTask], robot: str, together: bool) -> list[SubTask]:
    return [one for one in states.values() if together or one.robot == robot]


def _ended(
    world: EmbeddedWorld,
    agents: Mapping[str, RobotAgent],
    robot: str,
    skill: Skill,
    result: SkillResult,
) -> None:
    agents[robot].skill_ended(skill, result)
    agents[robot].observe(world.observe(robot))
