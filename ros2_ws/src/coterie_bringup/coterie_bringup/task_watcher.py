"""A node that gives a task to a team's leader, and looks on while the team does it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from action_msgs.srv import CancelGoal
from rclpy.context import Context

from coterie_bringup.abilities import silent
from coterie_bringup.errors import CommandError
from coterie_bringup.spinning import spinning
from coterie_bringup.task_record import TaskRecord
from coterie_bringup.team_clock import TeamClock
from coterie_core.tasks import RobotReport, SubTask
from coterie_msgs.action import ExecuteTask
from coterie_msgs.msg import Assignment, DiscussionTurn, SemanticMap
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.clients import ActionClient, GoalEnd, GoalRejected, NoAnswer, ServiceClient
from coterie_ros.conversions.basics import duration_to_msg
from coterie_ros.conversions.checks import ConversionError
from coterie_ros.conversions.judgement import judgement_from_msg
from coterie_ros.conversions.tasks import (
    assignment_from_msg,
    proposal_from_msg,
    reflection_from_msg,
    sub_task_from_msg,
)
from coterie_ros.parameters import Parameters
from coterie_ros.reports import hear_reports
from coterie_world.scene import SceneGraph
from emos_planner.leader.transcript import Transcript

REATTACH = 3
"""How often a leader may die and come back during one task."""
LEADER_BACK = 60.0
"""How long to wait for a leader that has died [s]."""
STOPPING = 8.0
"""How long a cancelled task may take to stop the robots [s]."""
SETTLE = 2.0
"""How long a leader that has come back is given to find its task again [s]."""
OUTCOMES = {
    ExecuteTask.Result.DONE: "done",
    ExecuteTask.Result.PARTIAL: "partial",
    ExecuteTask.Result.NOT_DONE: "not_done",
    ExecuteTask.Result.CANCELLED: "cancelled",
}
STAGES = ("waiting", "discussion", "execution", "ended")
UNCONFIRMED = (
    "interrupted, but the leader has not confirmed that the task is over: the robots may go on "
    "with it; stop them with ./coterie stop"
)
"""What is told where a task may go on."""


async def followed(
    client: ActionClient,
    goal: ExecuteTask.Goal,
    on_feedback: Callable[[Any], object],
    begun: Callable[[], bool],
    news: Callable[[str], object],
    goal_id: bytes | None = None,
) -> GoalEnd:
    """Give a task; where the leader dies and comes back, follow what it goes on with.

    A leader that was started again knows no goals of before, but goes on with its task: the same
    words attach to it.

    Args:
        client: Of the leader's action.
        goal: The task.
        on_feedback: Gets the feedback.
        begun: Whether the leader has begun with it.
        news: Is told that the leader is back.
        goal_id: 16 bytes by which the task can be taken back; None: random ones.

    Raises:
        GoalRejected, NoAnswer: As the client does.
    """
    for again in range(REATTACH + 1):
        try:
            return await client.run(
                goal,
                on_feedback=on_feedback,
                accept_timeout=10.0,
                lost_after=60.0,
                goal_id=goal_id,
            )
        except (GoalRejected, NoAnswer):
            if again == REATTACH or not begun() or not await client.wait(LEADER_BACK):
                raise
            news("the leader is there again: following the task it goes on with")
            await asyncio.sleep(SETTLE)
    raise AssertionError("the last attempt returns or raises")


class TaskWatcher(AgentNode):
    """Gives one task and keeps a record of what it hears; `on_news` is called after each change.

    Args:
        robots: The team's robots.
        record: Is filled.
        attend: Called when the node starts, to put the team's questions to a person.
        namespace: The team's namespace.
        context: Of rclpy.
    """

    SAYS_READY = False  # it talks to a person, who asked for something else

    def __init__(
        self,
        robots: Sequence[str],
        record: TaskRecord,
        *,
        attend: Callable[[TaskWatcher], object] = lambda watcher: None,
        namespace: str = "",
        context: Context | None = None,
    ) -> None:
        self.robots = tuple(robots)
        self.record = record
        self._attend = attend
        self.record.transcript = Transcript("", record.words)
        self.stage = STAGES[0]
        self._told: set[tuple[str, int, str, str, int]] = set()
        self.on_news: Callable[[str], object] = lambda text: None
        self._begin = time.monotonic()
        self._at_work = False
        self._goal_id = uuid.uuid4().bytes
        super().__init__(
            f"task_watcher_{os.getpid()}",
            namespace=namespace or None,
            context=context,
            parameters={"diagnostics_period": 0.0},
            light=True,
        )

    def on_setup(self, parameters: Parameters) -> None:
        """Make the client."""
        self._client = ActionClient(self, ExecuteTask, "execute_task")
        self._cancel = ServiceClient(self, CancelGoal, "execute_task/_action/cancel_goal")

    def on_start(self) -> None:
        """Listen to leader, robots and map; let whoever attends the team begin."""
        self._attend(self)
        self.team_clock = TeamClock(self, self._on_time)
        self.subscribe(
            DiscussionTurn,
            "discussion",
            "messages",
            self._on_turn,
            convert=conversions.checked_turn,
        )
        self.subscribe(
            Assignment, "assignment", "latched", self._on_assignment, convert=assignment_from_msg
        )
        self.subscribe(
            SemanticMap, "semantic_map", "latched", self._on_map, convert=conversions.scene_from_msg
        )
        hear_reports(self, self.robots, self._on_report)

    async def leader_there(self, timeout: float) -> bool:
        """Wait for a leader; False where none came in time [s]."""
        return await self._client.wait(timeout)

    async def require_leader(self, who: str, timeout: float) -> None:
        """Wait until the leader of a team is there.

        Args:
            who: The team, such as "team home".
            timeout: Longest wait [s].

        Raises:
            CommandError: None came.
        """
        if not await self.leader_there(timeout):
            raise CommandError(f"no action execute_task within {timeout:g} s: {silent('do', who)}")

    async def cancel(self) -> bool:
        """Cancel all tasks of the leader, whoever gave them; False where none goes on.

        Raises:
            NoAnswer: The leader does not answer.
        """
        # A request for no goal in particular is for all goals.
        told = await self._cancel.call(CancelGoal.Request(), timeout=5.0, attempts=1)
        return bool(told.goals_canceling)

    async def take_back(self) -> bool:
        """Cancel the task that was given; whether the leader confirms that it is over."""
        request = CancelGoal.Request()
        request.goal_info.goal_id.uuid = list(self._goal_id)
        try:
            told = await self._cancel.call(request, timeout=5.0, attempts=2)
        except NoAnswer:
            return False
        over = told.return_code == CancelGoal.Response.ERROR_GOAL_TERMINATED
        return bool(told.goals_canceling) or over

    def wait_stopped(self) -> list[str]:
        """Wait until robots whose task was cancelled do nothing any more, but not for long.

        Returns:
            The robots that still do something, or have not told what they do.
        """
        end = time.monotonic() + STOPPING
        while True:
            reports = dict(self.record.reports)
            idle = [name for name, one in reports.items() if one.waiting or not one.skill]
            working = sorted({*reports, *self.robots}.difference(idle))
            if not working or time.monotonic() >= end:
                return working
            time.sleep(0.1)

    async def give(self, max_time: float, resume: bool = False) -> None:
        """Give the task and wait for its end; the record then says how it went.

        Args:
            max_time: Simulated time it may take [s]; 0: the leader's default.
            resume: It was begun before; what is in place already counts.

        Raises:
            CommandError: The leader does not answer or does not take it.
        """
        goal = ExecuteTask.Goal(
            task=self.record.words, max_time=duration_to_msg(max_time), resume=resume
        )
        self._begin = time.monotonic()
        self._at_work = True
        if self.team_clock.time is not None:
            self.record.passed(self.team_clock.time)
        try:
            end = await followed(
                self._client,
                goal,
                self._on_feedback,
                lambda: self.stage in STAGES[1:3],
                self._news,
                self._goal_id,
            )
        except (GoalRejected, NoAnswer) as error:
            raise CommandError(f"the task was not done: {error}", exit_code=1) from None
        finally:
            self.record.seconds = time.monotonic() - self._begin
            self._at_work = False
        result = end.result
        self.record.success = bool(result.success) and end.succeeded
        self.record.outcome = OUTCOMES.get(int(result.outcome), "not_done")
        self.record.achieved, self.record.wanted = int(result.achieved), int(result.wanted)
        self.record.not_searched = tuple(str(name) for name in result.not_searched)
        self.record.message = str(result.message)
        with contextlib.suppress(ConversionError):
            self.record.judgement = judgement_from_msg(result.judgement, "execute_task")
        with contextlib.suppress(ConversionError):
            task, round_, sub_tasks = assignment_from_msg(result.assignment)
            if sub_tasks:
                self.record.task, self.record.rounds = task, round_
                self.record.sub_tasks = sub_tasks
        self._stage("ended")

    # -- what comes in --------------------------------------------------------------------------

    def _on_time(self, time: float) -> None:
        if self._at_work:
            self.record.passed(time)

    def _on_feedback(self, feedback: Any) -> None:
        sub_tasks: list[SubTask] = []
        with contextlib.suppress(ConversionError):
            sub_tasks = [sub_task_from_msg(message) for message in feedback.sub_tasks]
        self.record.rounds = int(feedback.round)
        self._stage(str(feedback.stage))
        if sub_tasks:
            self.record.task = str(feedback.sub_tasks[0].task)
            self._update(sub_tasks)

    def _update(self, sub_tasks: Sequence[SubTask]) -> None:
        """Take over who does what and how far it is; tell what is new."""
        before = {one.id: one for one in self.record.sub_tasks}
        self.record.sub_tasks = tuple(sub_tasks)
        for one in sub_tasks:
            old = before.get(one.id)
            if old is not None and (old.state, old.robot) == (one.state, one.robot):
                continue
            news = (one.id, one.state, one.robot, one.reason, self.record.rounds)
            if news in self._told:  # it came on another way already, and this is late
                continue
            self._told.add(news)
            what = one.description or one.id
            if one.state == 0 and one.robot:
                self._news(f"{one.robot} is to {what}")
            elif one.state == 0:  # not dealt out yet, or a reason why nobody does it
                self._news(f"{what}: {one.reason}" if one.reason else f"to do: {what}")
            elif one.state == 3:
                self._news(f"{one.robot} could not {what}: {one.reason}")
            elif one.state == 2 and one.reason:
                self._news(f"{what}: {one.reason}")
            else:
                self._news(f"{one.robot} {'did' if one.state == 2 else 'begins to'} {what}")

    def _stage(self, stage: str) -> None:
        if stage != self.stage and stage in STAGES:
            if stage == "discussion" and self.stage == "execution":
                self.record.replans += 1
            self.stage = stage
            self._news(f"-- {stage}")

    def _on_turn(self, turn: DiscussionTurn) -> None:
        talk = self.record.transcript
        if talk is None:
            return
        talk.task = talk.task or turn.topic
        try:
            if turn.kind == DiscussionTurn.PROPOSE:
                proposal = proposal_from_msg(turn)
                if self.stage == STAGES[0]:  # before the leader's feedback says so
                    self._stage(STAGES[1])
                self.record.meant = proposal.words
                talk.propose(proposal, list(turn.recipients))
            elif turn.kind in (DiscussionTurn.ACCEPT, DiscussionTurn.REJECT):
                talk.reflect(reflection_from_msg(turn))
            else:
                talk.say("statement", turn.speaker, turn.text, round=int(turn.round))
        except ConversionError as error:
            talk.say("problem", turn.speaker, f"not understood: {error}")
        said = talk.turns[-1]
        mark = {"accept": "yes", "reject": "no"}.get(said.kind, said.kind)
        text = said.text.replace("who does what:\n- ", "").replace("\n- ", " | ")
        self._news(f"{said.speaker} [{mark}]: {' '.join(text.split())}")

    def _on_assignment(self, told: tuple[str, int, tuple[SubTask, ...]]) -> None:
        task, round_, sub_tasks = told
        # The one of the task before is kept for whoever comes; feedback tells the id of this one.
        if self.stage in STAGES[1:3] and sub_tasks and task == self.record.task:
            self.record.rounds = round_
            self._update(sub_tasks)

    def _on_report(self, report: RobotReport) -> None:
        self.record.take(report)
        self.on_news("")

    def _on_map(self, scene: SceneGraph) -> None:
        self.record.scene = scene

    def _news(self, text: str) -> None:
        if len(self.record.events) < 20_000:
            self.record.events.append(f"{time.monotonic() - self._begin:7.1f} s  {text}")
        self.on_news(text)


async def given(watcher: TaskWatcher, max_time: float, resume: bool = False) -> None:
    """Give the task of a watcher, from another loop; where cancelled, take it back first.

    The record's `interrupted` then says what became of it. Arguments and errors: `give`.
    """
    giving = watcher.run(watcher.give(max_time, resume), "task")
    try:
        await asyncio.wrap_future(giving)
    except asyncio.CancelledError:
        watcher.record.interrupted = UNCONFIRMED
        with contextlib.suppress(Exception):
            watcher.record.interrupted = await asyncio.shield(_taken_back(watcher))
        giving.cancel()
        raise


async def _taken_back(watcher: TaskWatcher) -> str:
    """Take the task back and wait for the robots; return what became of it, in words."""
    if not await asyncio.wrap_future(watcher.run(watcher.take_back(), "task taken back")):
        return UNCONFIRMED
    # The leader publishes an empty assignment: wait for the robots to be told.
    working = await asyncio.to_thread(watcher.wait_stopped)
    if working:
        return (
            f"interrupted; the leader has ended the task, and {', '.join(working)} has not told "
            "yet that it does nothing: look, or stop the robots with ./coterie stop"
        )
    return "interrupted; the leader has ended the task, and no robot works on it"


@contextlib.contextmanager
def watching(
    robots: Sequence[str],
    record: TaskRecord,
    *,
    domain: int,
    attend: Callable[[TaskWatcher], object] = lambda watcher: None,
    namespace: str = "",
    environment: Mapping[str, str] | None = None,
) -> Iterator[TaskWatcher]:
    """Make a watcher and spin it in a thread while the block runs.

    Args:
        robots: The team's robots.
        record: Is filled.
        domain: The team's ROS domain.
        attend: Called when the node starts, to put the team's questions to a person.
        namespace: The team's namespace.
        environment: Discovery settings that the team runs with.

    Raises:
        CommandError: The node does not come up.
    """
    with spinning(
        lambda context: TaskWatcher(
            robots, record, attend=attend, namespace=namespace, context=context
        ),
        domain=domain,
        environment=environment,
    ) as watcher:
        yield watcher
