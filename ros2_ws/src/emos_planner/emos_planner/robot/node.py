"""Robot node: one robot of an EMOS team; reflects on proposals and carries out its share."""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from std_msgs.msg import Bool, String

from coterie_core.files import write_atomically
from coterie_core.observation import Observation
from coterie_core.plain_data import schema_problems
from coterie_core.resume import Resume
from coterie_core.skills import Outcome, Skill, SkillResult
from coterie_core.tasks import Proposal, RobotReport
from coterie_core.waiting import in_time
from coterie_llm import due_in, inline_data
from coterie_msgs.msg import (
    Assignment,
    DiscussionTurn,
    RobotStatus,
    TeamMessage,
)
from coterie_msgs.msg import Observation as ObservationMsg
from coterie_requests.asking import ANSWER_CHARS, WordsAnswer, WordsQuestion
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.asking import ROBOT, node_asking, serve_words
from coterie_ros.conversions.basics import header
from coterie_ros.conversions.checks import ConversionError
from coterie_ros.conversions.talk import yield_request_from_msg, yield_request_to_msg
from coterie_ros.conversions.tasks import (
    assignment_from_msg,
    proposal_from_msg,
    reflection_from_msg,
    reflection_to_msg,
    report_to_msg,
)
from coterie_ros.main import ProcessOptions, nodes_of_robots, run_nodes
from coterie_ros.model import MODEL_PARAMETER, node_decider
from coterie_ros.names import team_name
from coterie_ros.observations import Observations
from coterie_ros.parameters import Parameters, ParameterSpec, specs_of
from coterie_ros.reports import hear_messages
from coterie_ros.skill_client import SkillClient
from coterie_ros.stopping import RobotStopped, StopWatch
from coterie_ros.team_memory import MEMORY_PARAMETERS, MemoryKeeper
from coterie_ros.yield_requests import hear_yield_requests
from coterie_world.object_events import ObjectEvent
from coterie_world.right_of_way import YieldRequest
from coterie_world.scene import SceneGraph
from coterie_world.team_map import TeamMap
from emos_planner.leader.options import LeaderSettings
from emos_planner.map_view import SAID, ranks, thing_line, whole_lines
from emos_planner.robot.agent import AgentLimits, RobotAgent
from emos_planner.robot.choose import ChooseSkill
from emos_planner.robot.helping import HelpMessage, Kind

ROBOT_PARAMETERS = (
    ParameterSpec("robot", "", "Name of the robot; empty: the last part of the node's namespace."),
    ParameterSpec(
        "robots",
        [],
        "Names of all robots of the team whose messages are heard; empty: none are heard.",
    ),
    ParameterSpec(
        "others",
        [],
        "Robots of other roles that this one makes way for, too; empty: of its own role only.",
    ),
    MODEL_PARAMETER,
    *specs_of(AgentLimits),
    ParameterSpec(
        "skill_timeout", 300.0, "Time limit of one skill, in wall time.", "s", minimum=1.0
    ),
    next(spec for spec in specs_of(LeaderSettings) if spec.name == "reflect_timeout"),
    ParameterSpec("state_directory", "", "Folder of the robot's state; empty: none is kept."),
    *MEMORY_PARAMETERS,
)

KINDS: dict[int, Kind] = {
    TeamMessage.HELP: "ask",
    TeamMessage.OFFER: "offer",
    TeamMessage.TEXT: "say",
}
"""Kinds of TeamMessage about tasks that these robots read."""
_NUMBERS = {kind: number for number, kind in KINDS.items()}
HEARTBEAT = 1.0
"""Longest time between two reports, and between looks for work [s of wall time].

The news of a release may come so much later than the leader's assignment, too.
"""
_STATE = "robot_state.json"


def said_to_msg(said: HelpMessage | YieldRequest, time: float) -> TeamMessage:
    """Return what a robot says at a time [s] as a message."""
    if isinstance(said, YieldRequest):
        return yield_request_to_msg(said, time)
    return TeamMessage(
        header=header(time, ""),
        id=said.id,
        sender=said.sender,
        recipients=list(said.recipients),
        kind=_NUMBERS[said.kind],
        text=said.text,
        task=said.task,
        sub_task=said.sub_task,
    )


def said_from_msg(
    message: TeamMessage, topic: str = "message"
) -> HelpMessage | YieldRequest | None:
    """Return what a robot says; None for kinds of messages that these robots do not read.

    Raises:
        ValueError: A name that is empty or too long, a way that is none.
    """
    conversions.checked_team_message(message, topic)
    if message.kind == TeamMessage.WAY:
        return yield_request_from_msg(message, topic)
    if message.kind not in KINDS:
        return None
    try:
        return HelpMessage(
            id=message.id,
            sender=message.sender,
            recipients=tuple(message.recipients),
            kind=KINDS[message.kind],
            task=message.task,
            sub_task=message.sub_task,
            text=message.text,
        )
    except ValidationError as error:
        raise ValueError(f"{topic}: {schema_problems(error, 'message')}") from None


def known_of(question: str, report: RobotReport, scene: SceneGraph) -> str:
    """Return an answer of at most `ANSWER_CHARS` characters: plain facts, nothing concluded.

    Args:
        question: What is asked; the things that it names count.
        report: How the robot is now.
        scene: Its own map.
    """
    doing = report.skill or ("waits" if report.waiting else "thinks")
    hand = f"holds {report.holding}" if report.holding else "hand empty"
    where = f"in {report.room}" if report.room else "place unknown"
    lines = [inline_data(f"{where}, {hand}, does: {doing}", limit=300)]
    if report.help:
        lines.append(inline_data(f"asks for help: {report.help}", limit=300))
    ranked = ranks(scene, question)
    named = sorted((rank, id) for id, rank in ranked.items() if rank <= SAID)
    if not named:
        lines.append("its map holds nothing that the question names")
    for _, id in named:
        thing = scene.objects[id]
        last = thing.last_seen
        seen = f"; last seen at {last.time:.0f} s by {last.robot}" if last is not None else ""
        lines.append(inline_data(f"{thing_line(thing, scene)}{seen}", limit=300))
    return whole_lines(lines, ANSWER_CHARS - 40, "things")


class RobotNode(AgentNode):
    """`<robot>/robot`; see docs/ros_graph.md for its topics."""

    PARAMETERS = ROBOT_PARAMETERS

    def on_setup(self, parameters: Parameters) -> None:
        """Make the model, the clients, the topics."""
        namespace = self.get_namespace()
        self.robot = parameters["robot"] or namespace.rpartition("/")[2]
        if not self.robot:
            raise ValueError(
                "parameter 'robot' is empty and the node has no namespace; give one of them"
            )
        self.decider = node_decider(
            self, parameters.json("model_profile"), self.robot, (ChooseSkill(),)
        )
        self._asking = node_asking(
            self, self.decider, self.robot, parameters["robots"], team_name(namespace, "")
        )
        self.agent: RobotAgent | None = None
        self._resume: Resume | None = None
        self._scene: SceneGraph | None = None
        self.keeper = MemoryKeeper(self, self.robot, self._on_event)
        self._seen = Observations(self.robot, f"{self.get_namespace()}/observation", self.problem)
        self._wake = asyncio.Event()
        self._ready = asyncio.Event()
        self._skill: asyncio.Task[SkillResult] | None = None
        self._sub_task = ""
        self._taken_back = False
        self._assigned: tuple[str, int, Any] | None = None
        self._proposed = ("", "")  # task and words of the last proposal
        self._assigned_at = -HEARTBEAT
        self._held = False
        directory = parameters["state_directory"]
        self._file = Path(directory) / f"{self.robot}_{_STATE}" if directory else None
        self._status = self.publisher(RobotStatus, "status", "latched")
        self._messages = self.publisher(TeamMessage, "message", "messages")
        self._takes_part = self.publisher(Bool, "takes_part", "latched")
        discussion = team_name(namespace, "discussion")
        self._discussion = self.publisher(DiscussionTurn, discussion, "messages")
        self.keeper.announce(team_name(namespace, ""))
        serve_words(self, ROBOT, self._answer_in_words)
        self._skills = SkillClient(self)

    def on_start(self) -> None:
        """Listen to the bridge, the leader and the other robots; begin to work."""
        namespace = self.get_namespace()
        # A process that died in the middle of a skill must not hold up the others' time.
        self._takes_part.publish(Bool(data=False))
        self.subscribe(
            String, "resume", "latched", self._on_resume, convert=conversions.resume_from_msg
        )
        self.subscribe(
            ObservationMsg,
            "observation",
            "observations",
            self._on_observation,
            convert=conversions.observation_from_msg,
        )
        self._stop_watch = StopWatch(self, on_change=self._on_stop)
        self.keeper.begin(team_name(namespace, ""), on_map=self._on_map)
        self.subscribe(
            DiscussionTurn,
            team_name(namespace, "discussion"),
            "messages",
            self._on_turn,
            convert=conversions.checked_turn,
        )
        self.subscribe(
            Assignment,
            team_name(namespace, "assignment"),
            "latched",
            self._on_assignment,
            convert=assignment_from_msg,
        )
        prefix = team_name(namespace, "")
        others = [name for name in self.parameters["robots"] if name != self.robot]
        hear_messages(self, others, prefix, self._on_message, said_from_msg)
        hear_yield_requests(self, self.parameters["others"], prefix, self._on_yield_request)
        self.every(HEARTBEAT, self._tell, "status")
        self.live_by(self._work(), "work")

    def on_release(self) -> None:
        """Keep the state for the next start."""
        self._keep()
        self.keeper.save()

    # -- what comes in --------------------------------------------------------------------------

    def _on_resume(self, resume: Resume) -> None:
        if resume.robot != self.robot:
            self.problem(f"resume of {resume.robot!r} on the topic of {self.robot!r}: dropped")
            return
        self._resume = resume
        if self.agent is not None:
            self.agent.tools.resume = resume
        self._begin()

    def _on_map(self) -> None:
        self._scene = self.keeper.memory.scene()
        if self.agent is not None and self.agent.idle:
            self.agent.map.adopt(self._scene)  # not under its feet: a task has its own names
        self._begin()

    def _on_event(self, event: ObjectEvent) -> None:
        if self.agent is not None:
            self.agent.hear(event)

    def _begin(self) -> None:
        """Make the agent once body and house are known."""
        if self.agent is not None or self._resume is None or self._scene is None:
            return
        limits = AgentLimits.from_parameters(self.parameters)
        known = TeamMap(self._scene, self.robot)
        self.agent = RobotAgent(self.robot, self._resume, self.decider, known, limits=limits)
        self.agent.asking = self._asking
        self._restore(self.agent)
        if self._seen.latest is not None:
            self.agent.observe(self._seen.latest)
        if self._assigned is not None:
            self._assign(self.agent, self._assigned)
        self._ready.set()
        self._wake.set()
        self._tell()

    def _on_observation(self, observation: Observation) -> None:
        if self._seen.take(observation) and self.agent is not None:
            self.agent.observe(observation)

    def _on_turn(self, turn: DiscussionTurn) -> None:
        if turn.recipients and self.robot not in turn.recipients:
            return
        try:
            if turn.kind in (DiscussionTurn.ACCEPT, DiscussionTurn.REJECT):
                if self.agent is not None:
                    self.agent.overhear(reflection_from_msg(turn))
                return
            if turn.kind != DiscussionTurn.PROPOSE or turn.speaker != conversions.LEADER:
                return
            proposal = proposal_from_msg(turn)
        except ConversionError as error:
            self.problem(f"discussion: {error}")
            return
        self.run(self._reflect_in_time(proposal), "reflect")

    async def _reflect_in_time(self, proposal: Proposal) -> None:
        limit = self.parameters["reflect_timeout"]
        with due_in(limit):
            try:
                await in_time(self._ready.wait(), limit)
            except asyncio.TimeoutError:
                lacks = "resume" if self._resume is None else "map"
                self.problem(f"cannot reflect: no {lacks} has come within {limit:g} s")
            else:
                await self._reflect(proposal)

    async def _reflect(self, proposal: Proposal) -> None:
        assert self.agent is not None
        self._proposed = (proposal.task, proposal.words)
        if self.agent.task == proposal.task:
            self.agent.words = proposal.words
        reflection = await self.agent.reflect(proposal)
        refused = [v for v in reflection.verdicts if not v.feasible]
        words = "; ".join(f"{v.sub_task}: {v.reason}" for v in refused)
        differs = "; ".join(v.disagreement for v in reflection.verdicts if v.disagreement)
        text = f"no: {words}" if refused else "yes"
        if differs:
            text = f"{text} ({differs})"
        self._discussion.publish(reflection_to_msg(reflection, text[:4000], time=self._now()))

    def _on_stop(self, stopped: bool) -> None:
        """Hold from a stop on until the leader, who hears of the release too, assigns anew."""
        recent = time.monotonic() - self._assigned_at < HEARTBEAT
        self._held = stopped or (self._held and not recent)
        if self._held and self.agent is not None:
            self.agent.aside.asked = None
        self._wake.set()

    def _on_assignment(self, assignment: tuple[str, int, Any]) -> None:
        self._assigned, self._assigned_at = assignment, time.monotonic()
        self._held = self._held and self._stop_watch.stopped
        if self.agent is None:
            return
        self._assign(self.agent, assignment)
        if self._skill is not None and self._sub_task and not self.agent.works_on(self._sub_task):
            self._taken_back = True
            self._skill.cancel()  # somebody else does it now, or nobody shall
        self._wake.set()
        self._tell()

    def _assign(self, agent: RobotAgent, assignment: tuple[str, int, Any]) -> None:
        """Hand over an assignment with its own task's words: a person permits goals by them."""
        (task, _, sub_tasks), (proposed, words) = assignment, self._proposed
        agent.assign(task, words if proposed == task else "", sub_tasks)

    def _on_message(self, said: HelpMessage | YieldRequest) -> None:
        if isinstance(said, YieldRequest):
            self._on_yield_request(said)
        elif self.agent is not None:
            self.agent.receive(said, self.now())
            self._speak()

    def _on_yield_request(self, request: YieldRequest) -> None:
        if self.agent is None or self._held:
            return  # nobody moves who is held, and its release does not either
        self.agent.receive(request, self.now())
        if self.agent.aside.asked is not None:
            self._wake.set()

    async def _answer_in_words(self, question: WordsQuestion) -> WordsAnswer:
        if self.agent is None:
            return WordsAnswer(reason="not ready: it has no resume or map yet")
        return WordsAnswer(known_of(question.text, self.agent.report(), self.agent.map.scene))

    # -- working --------------------------------------------------------------------------------

    async def _work(self) -> None:
        """Choose a skill, carry it out, take in the result; wait when there is nothing to do."""
        await self._ready.wait()
        agent = self.agent
        assert agent is not None
        while True:
            self._wake.clear()
            busy = not agent.waiting
            if busy:
                self._takes_part.publish(Bool(data=True))
            await self._observation_after(None)
            skill = None if self._held else await agent.next_skill()
            self._speak()
            self.keeper.tell(agent.events())
            self._tell()
            if skill is None or self._held:
                self._takes_part.publish(Bool(data=False))
                try:
                    await in_time(self._wake.wait(), HEARTBEAT)
                except asyncio.TimeoutError:
                    pass
                continue
            seen = self._seen.latest
            self._takes_part.publish(Bool(data=True))
            # Who makes way, or puts down what nobody wants, does nothing that a leader takes back.
            current = agent.share.current
            self._sub_task = current if agent.works_on(current) else ""
            self._taken_back = False
            done = self._stop_watch.pursue(self._stop_watch.carried_out(partial(self._do, skill)))
            self._skill = asyncio.ensure_future(done)
            try:
                result = await self._skill
            except RobotStopped as stop:
                self._held = True
                result = SkillResult(Outcome.CANCELLED, str(stop))
            except asyncio.CancelledError:
                if not self._taken_back:
                    raise  # the node stops: its cancellation reaches the skill too
                result = SkillResult(Outcome.CANCELLED, "the leader took it back")
            finally:
                self._skill, self._sub_task = None, ""
            if result.outcome is not Outcome.REFUSED or result.duration:
                await self._observation_after(seen)
            agent.skill_ended(skill, result)
            self.keeper.tell(agent.events())
            if not result.ok:
                self.get_logger().info(f"{type(skill).__name__}: {result.reason}")
            self._keep()

    async def _do(self, skill: Skill) -> SkillResult:
        """Have the bridge (or the robot's driver) carry out a skill; return how it ended."""
        assert self.agent is not None
        timeout, agent = self.parameters["skill_timeout"], self.agent
        return await self._skills.run(skill, agent.why, on_way=agent.map.drove, timeout=timeout)

    async def _observation_after(self, seen: Observation | None) -> None:
        if await self._seen.after(seen) is None:
            self.problem(self._seen.missing)

    # -- what goes out --------------------------------------------------------------------------

    def _now(self) -> float:
        return self._seen.latest.time if self._seen.latest is not None else 0.0

    def _tell(self) -> None:
        """Publish the report: what changed, and that this robot lives."""
        if self.agent is not None:
            self._status.publish(report_to_msg(self.agent.report()))

    def _speak(self) -> None:
        if self.agent is None:
            return
        for said in self.agent.outbox():
            self._messages.publish(said_to_msg(said, self._now()))

    # -- keeping --------------------------------------------------------------------------------

    def _keep(self) -> None:
        if self._file is None or self.agent is None:
            return
        agent = self.agent
        state = {"task": agent.task, "words": agent.words, "holding": agent.holding}
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file, json.dumps(state))
        except OSError as error:
            self.problem(f"state not saved: {error}")

    def _restore(self, agent: RobotAgent) -> None:
        if self._file is None or not self._file.is_file():
            return
        try:
            state = json.loads(self._file.read_bytes())
            agent.resume_work(*(str(state[name]) for name in ("task", "words", "holding")))
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.problem(f"{self._file}: not taken over: {error}")


def make_nodes(options: ProcessOptions) -> list[RobotNode]:
    """Make the nodes of one process: one per robot it serves."""
    return nodes_of_robots(options, RobotNode, "robot", __doc__)


def main() -> None:
    """Run the robots of one process."""
    raise SystemExit(run_nodes(make_nodes))


if __name__ == "__main__":
    main()
