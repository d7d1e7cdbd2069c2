"""Leader node: takes a task in words, lets the robots discuss it, watches them carry it out."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from coterie_core.geometry import Vec3
from coterie_core.tasks import Proposal, RobotReport, SubTask
from coterie_core.waiting import in_time
from coterie_llm import inline_data
from coterie_msgs.action import ExecuteTask
from coterie_msgs.msg import Assignment, SemanticMap
from coterie_msgs.srv import HandOver
from coterie_requests.ask_back import Judgement, not_understood, settle
from coterie_requests.read_request import ReadRequest
from coterie_requests.request import Request
from coterie_requests.understanding import NotUnderstood
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.asking import ROOMS_PARAMETER, node_asking, node_person
from coterie_ros.conversions.judgement import judgement_to_msg
from coterie_ros.conversions.tasks import assignment_to_msg, sub_task_to_msg
from coterie_ros.main import ProcessOptions, run_nodes
from coterie_ros.model import EMBEDDER_PARAMETER, MODEL_PARAMETER, node_decider, node_meanings
from coterie_ros.parameters import Parameters, ParameterSpec, specs_of
from coterie_ros.safe_publisher import SafePublisher
from coterie_ros.serving import GoalContext
from coterie_ros.team_memory import MEMORY_PARAMETERS, MemoryKeeper
from coterie_safety.permits.gate import NO_PERMIT
from coterie_safety.stop import one_line
from coterie_safety.why import belong, note
from coterie_world.coverage import Coverage
from coterie_world.scene import SceneGraph
from coterie_world.team_memory import TeamMemory
from emos_planner.leader.asking_back import task_state
from emos_planner.leader.channel import TICK, DiscussionTopic
from emos_planner.leader.gathering import GATHER, Gathering
from emos_planner.leader.hand_over import SERVICE, Wish
from emos_planner.leader.leader import Agreement, Leader
from emos_planner.leader.options import LeaderOptions
from emos_planner.leader.outcome import Outcome, TaskState, keep_outcome
from emos_planner.leader.presence import TeamPresence
from emos_planner.leader.progress import Change
from emos_planner.leader.state_file import StateError, TaskFiles, load_state

LEADER_PARAMETERS = (
    ParameterSpec("robots", [], "Names of the robots that the leader leads; empty is refused."),
    MODEL_PARAMETER,
    EMBEDDER_PARAMETER,
    *specs_of(LeaderOptions),
    ROOMS_PARAMETER,
    ParameterSpec(
        "state_directory",
        "",
        "Folder of the task's state and of the discussions; empty: none are kept.",
    ),
    ParameterSpec(
        "map_topic",
        "semantic_map",
        "Topic of the map of the house. With another topic than semantic_map the leader "
        "publishes the team's memory as semantic_map.",
    ),
    ParameterSpec(
        "observers",
        [],
        "Names of the robots whose observations enter the memory; empty: none, a mapper "
        "makes the map.",
    ),
    *MEMORY_PARAMETERS,
)


MAP_PERIOD = 1.0
"""Least time between two maps that it publishes [s of wall time]."""
SETTLE = 0.2
"""How long further news is waited for before sub-tasks are given anew [s of wall time]."""
_CANCELLED = Outcome(False, "cancelled: all robots stop", {}, TaskState.CANCELLED)


def _moved(leader: Leader, memory: TeamMemory) -> list[str]:
    """Return who brought away what was asked for and is not there."""
    told = []
    for want in leader.progress.graph.wants:
        if want.kind == "check" and want.label and not (want.assigned or want.satisfied):
            traces = [memory.left(want.label, room) for room in want.rooms]
            told += [memory.words(t) for t in traces if t is not None and not t.gone]
    return told[:3]


class LeaderNode(AgentNode):
    """`leader`; see docs/ros_graph.md for its topics and its action."""

    PARAMETERS = LEADER_PARAMETERS

    def on_setup(self, parameters: Parameters) -> None:
        """Make the model and offer the action."""
        self.robots: list[str] = list(parameters["robots"])
        if not self.robots:
            raise ValueError("parameter 'robots' is empty; list the robots of the team")
        self.decider = node_decider(
            self, parameters.json("model_profile"), "leader", (ReadRequest(),)
        )
        self._meanings = node_meanings(parameters.json("embedder"))
        self._asking = node_asking(self, self.decider, "leader", self.robots)
        self.options = LeaderOptions(
            **{n: parameters[n] for n in LeaderOptions.model_fields if n != "permits"},
            permits=parameters.json("permits") or {},
        )
        directory = parameters["state_directory"]
        self._files = TaskFiles(Path(directory) if directory else None, self.problem)
        self.keeper = MemoryKeeper(self, "leader")
        self._has_map = False
        self._news = asyncio.Event()
        self.team = TeamPresence(
            self,
            self.robots,
            self.options.heartbeat_timeout,
            self._on_report,
            self._news.set,
            self._on_stop,
        )
        self._talk = DiscussionTopic(self, self.team.alive)
        self._busy = ""
        self._words = ""
        self._goal: GoalContext | None = None
        self._since = time.monotonic()
        self._missing = self._no_rooms = ""
        self._resumed: asyncio.Task[None] | None = None
        self._ended: asyncio.Future[Outcome] | None = None
        self.leader: Leader | None = None
        self._judgement: Judgement | None = None
        self._person = node_person(self)
        self._assignment = self.publisher(Assignment, "assignment", "latched")
        self._map_out: SafePublisher | None = None
        self._told_map = -1
        if parameters["map_topic"] != "semantic_map":
            self._map_out = self.publisher(SemanticMap, "semantic_map", "latched")
        self._carried_out: Leader | None = None
        self._turn = asyncio.Lock()  # held by whoever decides who does what
        self.serve(HandOver, SERVICE, self._hand_over)
        self.serve_action(ExecuteTask, "execute_task", self._execute)
        self.diagnostics.add_source("task", self._figures)

    def on_start(self) -> None:
        """Listen to map and robots; go on with a task that a stop has interrupted."""
        parameters = self.parameters
        self.keeper.begin(
            map_topic=parameters["map_topic"],
            observers=parameters["observers"],
            on_map=self._on_map,
        )
        self.every(MAP_PERIOD, self._tell_map, "map")
        self._talk.begin()
        self.team.begin()
        self.run(self._go_on(), "go on with the last task")

    # -- what comes in --------------------------------------------------------------------------

    def _on_map(self) -> None:
        self._has_map = True
        self._tell_map()
        self._news.set()

    def _tell_map(self) -> None:
        """Publish what the team remembers, if it has changed."""
        memory = self.keeper.memory
        if self._map_out is None or not self._has_map or memory.version == self._told_map:
            return
        self._told_map = memory.version
        self._map_out.publish(conversions.scene_to_msg(memory.scene(), time=max(memory.time, 0.0)))

    def on_release(self) -> None:
        """Keep the memory for the next start."""
        self.keeper.save()

    def _on_report(self, report: RobotReport) -> None:
        if self.leader is not None and self.leader.task:
            if self._told(self.leader.update(report)):
                self._news.set()
        else:
            self._news.set()

    def _on_stop(self, robot: str, stopped: bool) -> None:
        if self.leader is not None:
            self._told(self.leader.take_stop(robot, stopped))
        self._news.set()

    # -- a Channel ------------------------------------------------------------------------------

    async def reflect(
        self, robots: Sequence[str], proposal: Proposal, deadline: float
    ) -> Mapping[str, object]:
        """Publish a proposal to robots; return what they answer until the deadline [s]."""
        self._feedback(self._goal, "discussion")
        return await self._talk.reflect(robots, proposal, deadline)

    # -- the action -----------------------------------------------------------------------------

    async def _execute(self, goal: GoalContext) -> ExecuteTask.Result:
        words = str(goal.request.task)[:4000]
        if self._busy:
            if self._ended is not None and words.strip() == self._words.strip():
                return await self._attend(goal)  # its client asks again after a restart
            why = f"refused: busy with {self._words!r}; cancel it or wait for its end"
            self.problem(f"execute_task: {why}")
            return goal.abort(ExecuteTask.Result(success=False, message=why))
        self._busy, self._words = f"task-{uuid.uuid4().hex[:8]}", words
        self._goal, self._judgement, self.leader = goal, None, None  # not that of the task before
        belong(task=self._busy)
        note("task", "leader", {"words": words})
        try:
            asked = conversions.duration_from_msg(goal.request.max_time, field="max_time")
            limit = asked or self.parameters["max_time"]
            starts = await self._gather()
            # What the team did and saw since the first map counts for this task, too.
            scene = self.keeper.memory.scene()
            self.leader = self._new_leader(scene)
            agreement = await self.leader.discuss(
                self._busy,
                words,
                starts,
                request=await self._clear(words, scene),
                resumed=bool(goal.request.resume),
            )
            self.leader.progress.heartbeats.start_heartbeat(starts, time.monotonic())
            self._after(agreement)
            outcome = await self._watch(goal, limit)
        except (NotUnderstood, ValueError) as error:
            why = "; ".join(filter(None, (str(error), self._no_rooms)))
            self._judge(error)
            self._stop(why)
            return goal.abort(self._result(Outcome(False, why, {})))
        except asyncio.CancelledError:
            self._stop("cancelled")
            return goal.cancel(self._result(_CANCELLED))
        except Exception:
            self._stop("an internal error")
            raise
        result = self._result(outcome)
        self._finish()
        return result if outcome.success else goal.abort(result)

    async def _clear(self, words: str, scene: SceneGraph) -> Request | None:
        """Return what was read of a task, once it was asked back about where it was not clear.

        None: nobody is asked back, and the leader reads the words itself.
        """
        if not self.parameters["ask_back"]:
            return None
        coverage = Coverage(scene, self.keeper.seen, given=True)
        given = self.parameters["rooms_given"]
        state = await task_state(
            words, scene, self.robots, self.decider, coverage, rooms_given=given
        )
        settled = await settle(state, self.decider, self._person, who="leader", task=self._busy)
        self._judgement = settled.judgement
        if not settled.go_on:
            raise NotUnderstood(settled.judgement.line, "ambiguous")
        return settled.request

    def _judge(self, error: Exception) -> None:
        """Keep that the words of a task were not understood, unless it was judged already."""
        judged = self._judgement is not None and not self._judgement.proceeds
        if judged or self._no_rooms or not isinstance(error, NotUnderstood):
            return
        if error.problem.kind != "nothing":
            self._judgement = not_understood(error.problem)

    async def _attend(self, goal: GoalContext) -> ExecuteTask.Result:
        """Follow a task that goes on after a restart of the leader."""
        assert self._ended is not None
        ended = self._ended
        try:
            while not ended.done():
                self._feedback(goal, "execution")
                await asyncio.wait({ended}, timeout=1.0)
        except asyncio.CancelledError:
            # Who watched it must not stop the next task when the time of this one is over.
            if not ended.done():
                if self._resumed is not None:
                    self._resumed.cancel()
                ended.set_result(_CANCELLED)
                self._stop("cancelled")
            return goal.cancel(self._result(_CANCELLED))
        outcome = ended.result()
        result = self._result(outcome)
        return result if outcome.success else goal.abort(result)

    def _new_leader(self, scene: SceneGraph) -> Leader:
        return Leader(
            self.decider,
            scene,
            self.team.resumes,
            options=self.options,
            channel=self,
            on_turn=lambda turn: self._talk.tell(turn, self._busy),
            meanings=self._meanings,
            asking=self._asking,
        )

    async def _gather(self, *, rooms: bool = False) -> dict[str, Vec3 | None]:
        """Wait for the map, its rooms and the robots; return where those that are there are."""
        self._no_rooms = ""
        begin = time.monotonic()
        wait = Gathering(self.parameters["start_time"], self.parameters["map_timeout"])
        while True:
            self._news.clear()
            there, now = self.team.there(), time.monotonic()
            has_rooms = rooms or bool(self.keeper.memory.graph.rooms)
            full = len(there) + len(self.team.stopped) >= len(self.robots)
            have = {"has_map": self._has_map, "has_rooms": has_rooms, "all_there": full}
            if wait.over(now - begin, now - self._since, **have):
                break
            try:
                await in_time(self._news.wait(), SETTLE)
            except asyncio.TimeoutError:
                pass
        if not self._has_map:
            raise ValueError(wait.without_map())
        self._no_rooms = "" if has_rooms else wait.without_rooms()
        missing = self.team.missing()
        lacks = (f"left out: {missing}" if missing else "", self._no_rooms)
        self._missing = "; ".join(filter(None, lacks))
        if self._missing:
            self.problem(self._missing)
        if not there:
            raise ValueError(self.team.nobody())
        return there

    async def _watch(self, goal: GoalContext | None, limit: float) -> Outcome:
        """Stage 2: merge reports, give anew what failed, until all wait or the time is over."""
        leader = self.leader
        assert leader is not None
        begin = self.team.world_time()
        self._carried_out = leader
        while True:
            self._feedback(goal, "execution")
            if leader.must_replan:
                await asyncio.sleep(SETTLE)
                async with self._turn:
                    self._after(await leader.replan(self._starts()))
                continue
            if leader.progress.finished:
                return leader.progress.outcome()
            if self.team.world_time() - begin > limit:
                outcome = leader.progress.outcome()
                self._stop(f"its time of {limit:g} s is over")
                # What was reached until then was reached, but what is under way is not.
                state = TaskState.PARTIAL if outcome.achieved else TaskState.NOT_DONE
                return replace(
                    outcome,
                    success=False,
                    state=state,
                    message=f"the time of {limit:g} s is over. {outcome.message}",
                )
            self._news.clear()
            try:
                await in_time(self._news.wait(), TICK)
            except asyncio.TimeoutError:
                pass
            self._told(leader.check_heartbeats())

    def _starts(self) -> dict[str, Vec3 | None]:
        assert self.leader is not None
        return {r: at for r, at in self.team.there().items() if r in self.leader.resumes}

    def _told(self, changes: Sequence[Change]) -> bool:
        """Log and publish changes; return whether there were any."""
        for change in changes:
            # A rule or a person that says no is no ill health of anybody.
            ill = change.kind in ("failed", "silent", "problem") and NO_PERMIT not in change.text
            if ill:
                self.problem(change.text)
            else:
                self.get_logger().info(change.text)
        if changes:
            self._publish()
        return bool(changes)

    def _after(self, agreement: Agreement) -> None:
        """Log what a discussion came to, publish it, keep the transcript."""
        for robot, why in agreement.left_out.items():
            self.problem(f"{robot} left out of the discussion: {why}")
        self.diagnostics.count("rounds", agreement.rounds)
        self._handed_over()

    async def _hand_over(self, request: HandOver.Request) -> HandOver.Response:
        """Have another robot do a sub-task, as a person wishes while a task is carried out."""
        task, leader = str(request.task), self._carried_out
        if leader is None:
            return HandOver.Response(
                message="no robot works on a task: none is in work, or its parts are not given yet"
            )
        if task and task != leader.task:
            shown = inline_data(task, limit=60)
            return HandOver.Response(message=f"{shown} is over; {leader.task} is in work")
        sub_task, robot = str(request.sub_task)[:60], str(request.robot)[:60]
        wish = Wish(sub_task, robot, one_line(str(request.by)), one_line(str(request.reason)))
        async with self._turn:
            if self._carried_out is leader:
                handed = await leader.hand_over(wish, self._starts())
                self.get_logger().info(f"{inline_data(wish.by, limit=200)}: {handed.message}")
        if self._carried_out is not leader:
            return HandOver.Response(message="the task is over")
        if handed.done:
            self._handed_over()
        return HandOver.Response(
            success=handed.done, message=handed.message, sub_tasks=list(handed.sub_tasks)
        )

    def _handed_over(self) -> None:
        """Publish who does what now, keep the transcript."""
        self._publish()
        if self.leader is not None:
            self._files.save_transcript(self.leader.progress.transcript)
        self._news.set()

    def _publish(self) -> None:
        leader = self.leader
        # A report that comes after the end must not give out again what was cancelled.
        if leader is None or not leader.task or leader.task != self._busy:
            return
        self._assignment.publish(
            assignment_to_msg(leader.task, leader.round, leader.assignment, time=self.now())
        )
        self._files.save(leader.state(), leader.scene)

    def _stop(self, why: str) -> None:
        """Let all robots stop: an empty assignment."""
        if self.leader is not None and self.leader.task:
            self.get_logger().info(f"{self._busy}: {why}: all robots stop")
            self._assignment.publish(
                assignment_to_msg(self.leader.task, self.leader.round, (), time=self.now())
            )
        self._finish()

    def _finish(self) -> None:
        self._busy, self._goal, self._ended, self._resumed = "", None, None, None
        self._carried_out = None
        self._files.forget()

    def _feedback(self, goal: GoalContext | None, stage: str) -> None:
        if goal is None or self.leader is None:
            return
        sub_tasks: Sequence[SubTask] = self.leader.assignment
        goal.feedback(
            ExecuteTask.Feedback(
                stage=stage,
                round=self.leader.round,
                sub_tasks=[sub_task_to_msg(one, self.leader.task) for one in sub_tasks],
            )
        )

    def _result(self, outcome: Outcome) -> ExecuteTask.Result:
        """Keep how a task ended; return it as a message."""
        keep_outcome(outcome)
        result = ExecuteTask.Result(
            outcome=getattr(ExecuteTask.Result, outcome.state.name),
            success=outcome.success,
            message=outcome.message[:4000],
            achieved=outcome.achieved,
            wanted=outcome.wanted,
            not_searched=list(outcome.not_searched),
            judgement=judgement_to_msg(self._judgement),
        )
        leader = self.leader
        if leader is None or not leader.task:
            return result  # it was not begun
        parts = (*leader.notes, *_moved(leader, self.keeper.memory), self._missing)
        if notes := "; ".join(filter(None, parts)):
            result.message = f"{outcome.message} ({notes})"[:4000]
        result.assignment = assignment_to_msg(
            leader.task, leader.round, leader.assignment, time=self.now()
        )
        return result

    # -- after a restart ------------------------------------------------------------------------

    async def _go_on(self) -> None:
        """Go on with the task in the state file; robots have kept their assignment meanwhile."""
        file = self._files.state
        if file is None:
            await self._tell_lost()
            return
        try:
            kept = load_state(file)
        except StateError as error:
            self.problem(f"{error}; the task in it is lost: give it again")
            return
        self._busy, self._words = kept.state.task.id, kept.state.task.words
        ended = self._ended = asyncio.get_running_loop().create_future()
        self._resumed = asyncio.current_task()
        try:
            self._has_map = True  # its own of before will do
            await self._gather(rooms=True)
            self.leader = self._new_leader(kept.scene)
            self.leader.restore(kept)
            self.leader.progress.heartbeats.start_heartbeat(self.robots, time.monotonic())
            for report in self.team.reports.values():
                self.leader.update(report)
            self.get_logger().info(f"{self._busy}: going on after a restart")
            self._publish()
            outcome = await self._watch(None, self.parameters["max_time"])
        except ValueError as error:
            outcome = Outcome(False, f"could not go on after a restart: {error}", {})
            self.problem(outcome.message)
        except Exception:
            ended.set_result(Outcome(False, "an internal error; the leader's log tells which", {}))
            self._stop("an internal error")
            raise
        self.get_logger().info(f"{kept.state.task.id}: {outcome.message}")
        ended.set_result(outcome)
        self._finish()

    async def _tell_lost(self) -> None:
        """Say so where robots work on a task that nobody remembers."""
        await asyncio.sleep(GATHER)
        for robot, report in self.team.reports.items():
            if report.task and not report.waiting and not self._busy:
                self.problem(
                    f"{robot} works on {inline_data(report.task)}, of which no state was kept "
                    "(parameter 'state_directory'): its words are lost; give the task again"
                )

    def _figures(self) -> dict[str, Any]:
        leader = self.leader
        states: dict[str, int] = {}
        if leader is not None:
            for one in leader.assignment:
                states[one.state.name.lower()] = states.get(one.state.name.lower(), 0) + 1
        return {
            "task": self._busy,
            "map": self._has_map,
            "robots_there": sum(1 for robot in self.robots if self.team.alive(robot)),
            **states,
        }


def make_node(options: ProcessOptions) -> AgentNode:
    """Make the team's leader."""
    return LeaderNode("leader", namespace=options.namespace, context=options.context)


def main() -> None:
    """Run the leader."""
    raise SystemExit(run_nodes(make_node))


if __name__ == "__main__":
    main()
