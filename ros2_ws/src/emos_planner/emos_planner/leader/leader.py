"""The leader: understands a task, gets the team to agree on who does what, and sees it through."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from coterie_core.geometry import Vec3
from coterie_core.resume import Resume
from coterie_core.tasks import RobotReport, SubTask, Verdict
from coterie_execution.geometry.toolbox import Toolbox
from coterie_llm import Decider, RulesModel
from coterie_requests.asking import Asking
from coterie_requests.read_request import read_request
from coterie_requests.request import Request
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_safety.why import belong, note
from coterie_safety.why.context import current
from coterie_safety.why.journal import keeping
from coterie_world.meaning import Meanings
from coterie_world.scene import SceneGraph
from emos_planner.allocation.problem import OPEN, Pair
from emos_planner.allocation.solver import Share, assign
from emos_planner.leader.assigned import keep_assignment
from emos_planner.leader.discussion import Channel, Setting, Solver, Talk, ask, discuss
from emos_planner.leader.hand_over import HandedOver, Wish, hand_over
from emos_planner.leader.options import LeaderOptions
from emos_planner.leader.progress import Change, Progress
from emos_planner.leader.splitting import split
from emos_planner.leader.state_file import Kept, state_of, task_of
from emos_planner.leader.transcript import Transcript, Turn
from emos_planner.leader.understand import nothing_to_do, understand
from emos_planner.lookups import Lookups

ToolboxFactory = Callable[[SceneGraph, Mapping[str, Resume]], Toolbox]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a discussion came to.

    `sub_tasks` are all of the task with their robots ("" where nobody does it, `unassigned` says
    why not, robot by robot); `left_out` robots that did not answer; `notes` what a person should
    know; `problems` what robots did that they must not.
    """

    sub_tasks: tuple[SubTask, ...]
    notes: tuple[str, ...]
    rounds: int = 0
    unassigned: Mapping[str, Mapping[str, Verdict]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    decided_by: str = "rule"


def with_offers(
    share: Share, work: Progress, robots: Collection[str], forbidden: Collection[Pair]
) -> Share:
    """Give what the solver gives to nobody to a robot that offered to do it.

    Who offers knows the place better than the leader's map; it is asked again in the discussion,
    and checks it with its own tools. A thing that is picked and placed goes to one robot.
    """
    open_ = [one.id for one in share.sub_tasks if not one.robot]
    given: dict[str, str] = {}
    for id in open_:
        unit = [one.id for one in work.graph.unit(id) if one.id in open_]
        offered = (robot for id in unit for robot in work.offering(id) if robot in robots)
        fit = (robot for robot in offered if not any((id, robot) in forbidden for id in unit))
        given |= dict.fromkeys(unit, next(fit, ""))
    plan = (o.model_copy(update={"robot": given.get(o.id, o.robot)}) for o in share.sub_tasks)
    left = {id: by for id, by in share.unassigned.items() if not given.get(id)}
    return replace(share, sub_tasks=tuple(plan), unassigned=left)


class Leader:
    """Leads one team through one task at a time.

    ROS-free: it speaks to robots through a `Channel`, and whoever drives it hands it the robots'
    reports and publishes `assignment` whenever `update` or `replan` says that something changed.

    Args:
        decider: Who splits and reassigns; with the rules, the solver's plan counts.
        scene: What is known of the house; the leader keeps a copy that grows.
        resumes: Robot -> what its body can do.
        options: Limits.
        channel: How to hear from robots; None: nobody is asked.
        toolbox_factory: Makes the tools for a scene.
        on_turn: Hears every turn of the discussions.
        asking: Lets a model ask the person and robots; None: there is no way to.
        clock: Wall time [s], for silence and deadlines.
        meanings: Compares a task with labels, where a prompt cannot show the whole map.
    """

    def __init__(
        self,
        decider: Decider,
        scene: SceneGraph,
        resumes: Mapping[str, Resume],
        *,
        options: LeaderOptions | None = None,
        channel: Channel | None = None,
        toolbox_factory: ToolboxFactory = Toolbox,
        on_turn: Callable[[Turn], object] | None = None,
        asking: Asking | None = None,
        clock: Callable[[], float] = time.monotonic,
        meanings: Meanings | None = None,
    ) -> None:
        options = options or LeaderOptions()
        self._meanings = meanings
        self.decider = decider
        self.scene = copy.deepcopy(scene)
        self.resumes = dict(resumes)
        self.options = options
        self.channel = channel
        self.clock = clock
        self._on_turn = on_turn
        self._asking = asking
        self._make_toolbox = toolbox_factory
        self._toolbox: Toolbox | None = None
        self._current: Progress | None = None

    # -- what there is to see -------------------------------------------------------------------

    @property
    def task(self) -> str:
        """Id of the task in work ("" if none)."""
        return self._current.id if self._current else ""

    @property
    def assignment(self) -> tuple[SubTask, ...]:
        """All sub-tasks with their robots and states, as they are now."""
        return self._current.sub_tasks if self._current else ()

    @property
    def round(self) -> int:
        """Rounds discussed so far."""
        return self._current.round if self._current else 0

    @property
    def progress(self) -> Progress:
        """The task in work.

        Raises:
            RuntimeError: No task was discussed.
        """
        if self._current is None:
            raise RuntimeError("no task was discussed yet: call discuss first")
        return self._current

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know about how the task was taken."""
        if self._current is None:
            return ()
        return (*self._current.graph.notes, *dict.fromkeys(self._current.notes))

    def toolbox(self) -> Toolbox:
        """Return the tools for what is known now."""
        if self._toolbox is None:
            self._toolbox = self._make_toolbox(copy.deepcopy(self.scene), self.resumes)
        return self._toolbox

    def _lookups(self, starts: Mapping[str, Vec3 | None]) -> Lookups:
        return Lookups(self.toolbox(), starts, asking=self._asking)

    def _transcript(self, task: str, words: str) -> Transcript:
        return Transcript(task, words, self._on_turn, lambda: self.clock())

    # -- stage 1 --------------------------------------------------------------------------------

    async def discuss(
        self,
        task: str,
        words: str,
        starts: Mapping[str, Vec3 | None],
        *,
        request: Request | None = None,
        resumed: bool = False,
    ) -> Agreement:
        """Split a task and let the team agree on who does what (EMOS, algorithm 1, stage 1).

        Args:
            task: An id.
            words: What the person said; treated as data.
            starts: The robots that are there -> where they are [m], None: unknown.
            request: What was read of the words; None: they are read now.
            resumed: It was begun before: what is in place already counts first.

        Raises:
            NotUnderstood: The words mean nothing to robots, or all is so already.
            ValueError: No robot is there, or one has no resume.
        """
        robots = tuple(starts)
        unknown = [robot for robot in robots if robot not in self.resumes]
        if not robots or unknown:
            raise ValueError(
                f"no resume of {', '.join(unknown)}; its resume node must run"
                if unknown
                else "no robot is there to do anything; start the robots' nodes"
            )
        if self._asking is not None:
            self._asking.begin(task)
        if current().task != task:  # else whoever took it in has kept it, as it was given
            belong(task=task)
            note("task", "leader", {"words": words, "robots": robots})
        transcript = self._transcript(task, words)
        if request is None:
            names = Vocabulary.of(self.scene, robots)
            request = await read_request(words, names, self.decider, "do")
        unseen = self.options.max_expected_unseen
        graph = understand(request, self.scene, robots, unseen=unseen, resumed=resumed)
        read = f"I read: {request.told()}"
        note("read", "leader", {"words": read})
        transcript.say("statement", "leader", read)
        if not graph.sub_tasks:
            raise NotUnderstood(nothing_to_do(graph), "nothing")
        work = Progress(task, words, graph, self.options, transcript, request)
        first, decided_by = await self._split(work, starts)
        self._current = work
        return await self._agree(work, work.sub_tasks, first, starts, decided_by)

    async def _split(self, work: Progress, starts: Mapping[str, Vec3 | None]) -> tuple[Share, str]:
        """Return the first proposal, and whose it is.

        A model sees at most `group_size` robots: of a larger team the solver's plan counts.
        """
        never = work.graph.forbidden(starts)
        second = self._solve(work, starts)(work.sub_tasks, starts, never)
        if len(starts) > self.options.group_size:
            return second, "rule"
        lookups = self._lookups(starts)
        return await split(work, second, lookups, self.decider, self._meanings)

    def _solve(self, work: Progress, starts: Mapping[str, Vec3 | None]) -> Solver:
        """Return the solver for what is still open; what is done or running stays as it is."""

        def solve(
            sub_tasks: Sequence[SubTask], robots: Collection[str], forbidden: Mapping[Pair, str]
        ) -> Share:
            ids = {one.id for one in sub_tasks}
            others = (one for one in work.sub_tasks if one.id not in ids)
            fixed = {one.id: one for one in others if one.state not in OPEN}
            plan, seed = [*fixed.values(), *sub_tasks], self.options.seed
            where = {robot: starts.get(robot) for robot in robots}
            share = assign(plan, where, self.toolbox(), forbidden=forbidden, seed=seed)
            mine = tuple(one for one in share.sub_tasks if one.id not in fixed)
            return replace(share, sub_tasks=mine)

        return solve

    async def _agree(
        self,
        work: Progress,
        sub_tasks: Sequence[SubTask],
        first: Share,
        starts: Mapping[str, Vec3 | None],
        decided_by: str,
    ) -> Agreement:
        before = work.graph.forbidden(starts)
        talk = Talk(forbidden=dict(before))
        talk.hear(first.unassigned)
        if self.channel is None:
            given = {one.id for one in first.sub_tasks}
            missing = [o.model_copy(update={"robot": ""}) for o in sub_tasks if o.id not in given]
            agreed: tuple[SubTask, ...] = (*first.sub_tasks, *missing)
        else:
            setting = self._setting(work, starts, self.channel)
            agreed = await discuss(setting, sub_tasks, first, talk)
        work.round += talk.rounds
        unassigned = {one.id: talk.verdicts.get(one.id, {}) for one in agreed if not one.robot}
        for (id, robot), why in talk.forbidden.items():
            if (id, robot) not in before and robot not in talk.left_out:
                work.graph.rule_out(id, robot, why)  # who was left out may answer next time
        if keeping():
            keep_assignment(work, talk, agreed, starts, self.toolbox(), decided_by)
        work.take(agreed, unassigned, talk.left_out)
        rounds, left_out = talk.rounds, talk.left_out
        return Agreement(work.sub_tasks, self.notes, rounds, unassigned, left_out, decided_by)

    def _setting(
        self, work: Progress, starts: Mapping[str, Vec3 | None], channel: Channel
    ) -> Setting:
        lookups, solve = self._lookups(starts), self._solve(work, starts)
        return Setting(work, lookups, solve, self.decider, channel)

    # -- stage 2 --------------------------------------------------------------------------------

    def update(self, report: RobotReport) -> list[Change]:
        """Take in a robot's report; return what changed (nothing: no need to publish)."""
        return self._current.on_report(report, self.clock()) if self._current else []

    def check_heartbeats(self) -> list[Change]:
        """Notice robots that have been silent for too long; call now and then."""
        return self._current.on_silence(self.clock()) if self._current else []

    def take_stop(self, robot: str, stopped: bool) -> list[Change]:
        """Take down that a person has stopped a robot, or released it; return what changed."""
        return self._current.on_stop(robot, stopped, self.clock()) if self._current else []

    @property
    def must_replan(self) -> bool:
        """Whether another discussion is due: things found, sub-tasks failed, robots dead."""
        return self._current is not None and self._current.must_replan

    async def replan(self, starts: Mapping[str, Vec3 | None]) -> Agreement:
        """Give open sub-tasks to robots anew through a short discussion.

        New sub-tasks come from what has been found; failed ones go to others (`reassign_limit`).

        Args:
            starts: The robots that are there and alive -> where they are [m].

        Raises:
            RuntimeError: No task was discussed.
        """
        work = self.progress
        belong(task=work.id)
        open_ = work.reopen()
        alive = {r: at for r, at in starts.items() if r not in work.heartbeats.dead}
        if not open_ or not alive:
            work.given_up.update({one.id: "no robot is left to do it" for one in open_})
            return Agreement(work.sub_tasks, self.notes)
        self._look_anew()
        never = work.graph.forbidden(alive)
        first = self._solve(work, alive)(open_, alive, never)
        first = with_offers(first, work, alive, never)
        return await self._agree(work, open_, first, alive, "rule")

    def _look_anew(self) -> None:
        """Let the tools see what has changed."""
        if self._toolbox is not None:
            self._toolbox = self._toolbox.with_scene(copy.deepcopy(self.scene), self.resumes)

    async def hand_over(self, wish: Wish, starts: Mapping[str, Vec3 | None]) -> HandedOver:
        """Have another robot do a sub-task, as a person wishes; not at the same time as `replan`.

        Args:
            wish: Which sub-task, and which robot.
            starts: The robots that are there and alive -> where they are [m].

        Raises:
            RuntimeError: No task was discussed.
        """
        work, channel = self.progress, self.channel
        belong(task=work.id)
        self._look_anew()

        async def ask_robot(plan: Sequence[SubTask]) -> Talk:
            assert channel is not None
            talk = Talk()
            setting = self._setting(work, starts, channel)
            await ask(setting, (wish.robot,), plan, work.round, talk)
            work.round += 1
            return talk

        asked = ask_robot if channel is not None else None
        return await hand_over(work, wish, self._lookups(starts), asked)

    # -- after a restart ------------------------------------------------------------------------

    def state(self) -> Any:
        """Return everything that another leader needs to go on with the task.

        Raises:
            RuntimeError: No task was discussed.
        """
        return state_of(self.progress)

    def restore(self, kept: Kept) -> None:
        """Go on with a task from a state and the map that was saved with it."""
        self.scene = copy.deepcopy(kept.scene)
        self._toolbox = None
        task = kept.state.task
        belong(task=task.id)
        transcript = self._transcript(task.id, task.words)
        self._current = task_of(kept.state, self.scene, self.options, transcript)


def rules_decider(who: str = "leader") -> Decider:
    """Return a decider that asks no model."""
    return Decider(RulesModel(), who=who)
