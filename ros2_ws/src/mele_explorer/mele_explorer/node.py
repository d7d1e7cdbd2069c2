"""Explorer node: one robot that explores on request, remembers, and answers questions."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from std_msgs.msg import Bool

from coterie_core.confidence import DetectorModel
from coterie_core.geometry import Vec3
from coterie_core.observation import Observation
from coterie_core.questions import Answer, Question
from coterie_core.skills import NavigateTo, Outcome, Skill, SkillResult, Wait
from coterie_core.waiting import in_time
from coterie_llm import Decider, RulesModel, due_in, inline_data
from coterie_llm.due import time_to_think
from coterie_msgs.action import Explore
from coterie_msgs.msg import Answer as AnswerMsg
from coterie_msgs.msg import DiscussionTurn, TeamMessage
from coterie_msgs.msg import Observation as ObservationMsg
from coterie_msgs.msg import Question as QuestionMsg
from coterie_msgs.srv import Ask, GetSemanticMap
from coterie_requests.common_sense import load_common_sense
from coterie_requests.debate import LocalSpeaker
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_requests.presence import read_presence
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.main import ProcessOptions, nodes_of_robots, run_nodes
from coterie_ros.model import EMBEDDER_PARAMETER, MODEL_PARAMETER, node_decider, node_meanings
from coterie_ros.names import team_name
from coterie_ros.observations import Observations
from coterie_ros.parameters import Parameters, ParameterSpec
from coterie_ros.serving import GoalContext
from coterie_ros.skill_client import SkillClient
from coterie_ros.stopping import RobotStopped, StopWatch
from coterie_ros.team_memory import MEMORY_PARAMETERS, MemoryKeeper
from coterie_ros.yield_requests import hear_yield_requests
from coterie_world.free_space.yield_pose import yield_place
from coterie_world.meaning import label_relevance
from coterie_world.object_events import ObjectEvent
from coterie_world.right_of_way import RightOfWay, YieldRequest, make_way
from coterie_world.scene import rooms_text
from mele_explorer.answer_presence import AnswerPresence
from mele_explorer.answering import Answerer
from mele_explorer.choose_place import ChoosePlace
from mele_explorer.explorer import Explorer, ExplorerLimits
from mele_explorer.memory import Memory
from mele_explorer.memory_file import MemoryFileError, load_memory, save_memory
from mele_explorer.moves import note_event

EXPLORER_PARAMETERS = (
    ParameterSpec("robot", "", "Name of the robot; empty: the last part of the node's namespace."),
    ParameterSpec(
        "robots",
        [],
        "Names of all robots of the team, which this one makes way for; empty: for nobody.",
    ),
    ParameterSpec(
        "radius", 0.25, "Radius of the robot's footprint.", "m", minimum=0.05, maximum=2.0
    ),
    MODEL_PARAMETER,
    EMBEDDER_PARAMETER,
    ParameterSpec("seed", 0, "Seed of choices between equal places."),
    ParameterSpec("malicious", False, "The robot inverts every answer, for experiments."),
    ParameterSpec(
        "hop_timeout",
        300.0,
        "Time limit of one hop, in wall time.",
        "s",
        minimum=1.0,
        maximum=3600.0,
    ),
    ParameterSpec("state_directory", "", "Folder of the robot's memory; empty: none is kept."),
    ParameterSpec(
        "step_limit", 0, "Largest number of hops of one exploration; 0: no limit.", minimum=0
    ),
    *MEMORY_PARAMETERS,
    ParameterSpec(
        "detector_vocabulary",
        [],
        "Labels that the detector can report; empty: they are not known.",
    ),
    ParameterSpec(
        "detector_model",
        "",
        "Beliefs of the robot about its detector: a DetectorModel as JSON; empty: those measured "
        "of usual ones.",
        json=True,
    ),
    ParameterSpec(
        "deadline",
        10.0,
        "Time to answer a question that sets no time of its own.",
        "s",
        minimum=0.05,
        maximum=3600.0,
    ),
    ParameterSpec(
        "turn_timeout", 30.0, "Time limit of the robot's turn in a debate.", "s", minimum=0.1
    ),
    ParameterSpec(
        "concurrency",
        8,
        "Largest number of questions worked on at the same time.",
        minimum=1,
        maximum=256,
    ),
)

GIVEN_ANSWERS = 5000
"""How many own answers are remembered for debates."""


class WayOfExplorer(RightOfWay):
    """Making way of one explorer.

    Args:
        memory: What the explorer knows.
        radius: Of its body [m].
        look: Tells what it perceives now; None: nothing yet.
        carry_out: Has the robot carry out a skill, and tells it why.
        ask: Asks the other robots for the way.
        now: Tells the time [s].
    """

    def __init__(
        self,
        memory: Memory,
        radius: float,
        look: Callable[[], Observation | None],
        carry_out: Callable[[Skill, str], Awaitable[SkillResult]],
        ask: Callable[[YieldRequest], object],
        now: Callable[[], float],
    ) -> None:
        super().__init__(memory.robot)
        self._memory, self._radius, self._look = memory, radius, look
        self._carry_out, self._ask, self._now = carry_out, ask, now

    async def hop_ended(self, skill: Skill, result: SkillResult) -> None:
        """Take in how a hop ended: ask for the way that was blocked, and go aside if asked to."""
        drive = self.blocked_drive(skill, result)
        if drive is not None:
            self._ask_way(drive)
            await self.go(idle=False)

    async def go(self, idle: bool) -> None:
        """Go aside for a robot that has asked for it.

        Args:
            idle: Whether this one has nothing else to do.
        """

        async def carry_out(skill: Skill) -> SkillResult:
            return await self._carry_out(skill, f"makes way for {inline_data(self.whom)}")

        await make_way(self, self._spot, carry_out, self._ask_way, idle)

    def _spot(self, request: YieldRequest, closed: Sequence[Vec3], through: bool) -> Vec3 | None:
        seen, graph = self._look(), self._memory.graph
        if seen is None or through:
            return None
        here = seen.pose.position
        return yield_place(graph, seen.place, here, self._radius, request, closed)

    def _ask_way(self, drive: NavigateTo) -> None:
        seen, place = self._look(), self._memory.graph.places.get(drive.place)
        goal = drive.position if place is None else place.position
        if seen is not None and goal is not None:
            self._ask(self.request((seen.pose.position, goal), self._radius, self._now()))


class ExplorerNode(AgentNode):
    """`<robot>/explorer`; see docs/ros_graph.md for its topics, services and actions."""

    PARAMETERS = EXPLORER_PARAMETERS

    def on_setup(self, parameters: Parameters) -> None:
        """Make the model, load the memory, offer services and the action."""
        self.robot = parameters["robot"] or self.get_namespace().rpartition("/")[2]
        if not self.robot:
            raise ValueError(
                "parameter 'robot' is empty and the node has no namespace; give one of them"
            )
        self.decider = node_decider(
            self, parameters.json("model_profile"), self.robot, (ChoosePlace(),)
        )
        self._state_file = self._state_path(parameters["state_directory"])
        self.memory = self._restore()
        self._explorer: Explorer | None = None
        self._aside = WayOfExplorer(
            self.memory,
            parameters["radius"],
            look=lambda: self._seen.latest,
            carry_out=self._carry_out,
            ask=self._ask_way,
            now=self.now,
        )
        self._turn = asyncio.Lock()  # one exploration, or one time of going aside
        self._seen = Observations(self.robot, f"{self.get_namespace()}/observation", self.problem)
        self._given: OrderedDict[str, tuple[Question, Answer]] = OrderedDict()
        self._slots = asyncio.Semaphore(parameters["concurrency"])
        self.sense = load_common_sense()
        believed = parameters.json("detector_model")
        self.answerer = Answerer(
            self.memory,
            self.sense,
            self.decider,
            detector=None if believed is None else DetectorModel.model_validate(believed),
            vocabulary=DetectorVocabulary.of(parameters["detector_vocabulary"]),
            meanings=node_meanings(parameters.json("embedder")),
        )
        self.keeper = MemoryKeeper(self, f"{self.robot}.explorer", self._on_event)
        self.answerer.team = self.keeper.memory
        self._early: list[ObjectEvent] = []
        self._answers = self.publisher(AnswerMsg, "answer", "answers")
        self._takes_part = self.publisher(Bool, "takes_part", "latched")
        self._messages = self.publisher(TeamMessage, "message", "messages")
        self._discussion = self.publisher(
            DiscussionTurn, team_name(self.get_namespace(), "discussion"), "messages"
        )
        self._skills = SkillClient(self, arm=False)
        self.serve(Ask, "ask", self._on_ask, timeout=120.0)
        self.serve(GetSemanticMap, "memory", self._on_memory)
        self.serve_action(Explore, "explore", self._explore, when_busy="reject", check=_bounded)

    def on_start(self) -> None:
        """Listen to the bridge and to the team."""
        namespace = self.get_namespace()
        # A process that died in the middle of an exploration must not hold up the others' time.
        self._takes_part.publish(Bool(data=False))
        self._stop_watch = StopWatch(self)
        self.subscribe(
            ObservationMsg,
            "observation",
            "observations",
            self._on_observation,
            convert=conversions.observation_from_msg,
        )
        prefix = team_name(namespace, "")
        self.keeper.begin(prefix, observers=[self.robot], on_map=self._on_map)
        self.subscribe(
            QuestionMsg,
            team_name(namespace, "question"),
            "questions",
            self._on_question,
            convert=lambda message: (
                conversions.question_from_msg(message),
                conversions.deadline_from_msg(message),
            ),
        )
        self.subscribe(
            DiscussionTurn,
            team_name(namespace, "discussion"),
            "messages",
            self._on_discussion,
            convert=conversions.checked_debate_turn,
        )
        others = [name for name in self.parameters["robots"] if name != self.robot]
        hear_yield_requests(self, others, prefix, self._on_yield_request)

    def on_release(self) -> None:
        """Keep the memory for the next start."""
        self._save()
        self.keeper.save()

    # -- seeing ---------------------------------------------------------------------------------

    def _on_observation(self, observation: Observation) -> None:
        if self._seen.take(observation) and self._explorer is None:
            self.memory.update(observation)

    def _on_event(self, event: ObjectEvent) -> None:
        """Take in what a robot did to an object, as if seen."""
        room = self.keeper.memory.graph.rooms.get(event.to_room)
        if event.to_room and (room is None or not (room.type or room.polygon)):
            self._early.append(event)  # no map has told yet which room that is
            return
        if note_event(self.memory, event, room):
            self.keeper.save()  # an event counts once: both files know of it
            self._save()

    def _on_map(self) -> None:
        early, self._early = self._early, []
        for event in early:
            self._on_event(event)

    # -- exploring ------------------------------------------------------------------------------

    async def _explore(self, goal: GoalContext) -> Explore.Result:
        async with self._turn:
            return await self._explored(goal)

    async def _explored(self, goal: GoalContext) -> Explore.Result:
        request = goal.request
        most = self.parameters["step_limit"]
        wanted = request.max_steps or most
        limits = ExplorerLimits(
            steps=(min(wanted, most) if most else wanted) or None,
            seconds=conversions.duration_from_msg(request.max_time) or None,
            coverage=request.coverage or None,
        )
        observation = await self._seen.after(None, placed=True)
        if observation is None:
            return goal.abort(Explore.Result(reason=self._seen.missing))
        explorer = Explorer(self.robot, self.decider, limits, self.parameters["seed"], self.memory)
        self._explorer = explorer
        travelled = 0.0
        explorer.observe(observation)

        async def walk() -> Explore.Result:
            nonlocal observation, travelled
            assert observation is not None
            while True:
                skill = await explorer.next_skill()
                if skill is None:
                    return goal.succeed(self._result(explorer, travelled, explorer.stopped, True))
                self._report(goal, explorer, skill)
                result = await self._carry_out(skill, "to explore the house")
                travelled += result.distance
                explorer.skill_ended(skill, result)
                await self._aside.hop_ended(skill, result)
                newer = await self._seen.after(observation, placed=True)
                if newer is None:
                    reason = result.reason or self._seen.missing
                    return goal.abort(self._result(explorer, travelled, reason, False))
                observation = newer
                explorer.observe(observation)
                self._save()

        try:
            return await self._stop_watch.pursue(walk())
        except RobotStopped as stop:
            return goal.abort(self._result(explorer, travelled, str(stop), False))
        except asyncio.CancelledError:
            return goal.cancel(self._result(explorer, travelled, "cancelled", False))
        finally:
            self._explorer, self._aside.asked = None, None  # who still wants its way asks again
            self._takes_part.publish(Bool(data=False))

    async def _carry_out(self, skill: Skill, why: str) -> SkillResult:
        return await self._stop_watch.carried_out(partial(self._hop, skill, why))

    async def _hop(self, skill: Skill, why: str) -> SkillResult:
        """Send one hop to the bridge and wait for how it ended."""
        if isinstance(skill, Wait):
            self._takes_part.publish(Bool(data=False))  # the others' time goes on
            await asyncio.sleep(skill.duration)
            return SkillResult(Outcome.SUCCEEDED)
        self._takes_part.publish(Bool(data=isinstance(skill, NavigateTo)))
        return await self._skills.run(skill, why, timeout=self.parameters["hop_timeout"])

    # -- making way -----------------------------------------------------------------------------

    def _ask_way(self, request: YieldRequest) -> None:
        self._messages.publish(conversions.yield_request_to_msg(request, self.now()))

    def _on_yield_request(self, request: YieldRequest) -> None:
        if self._stop_watch.stopped:
            return  # nobody moves it, and its release does not either
        if self._explorer is not None:
            self._aside.hear(request, self.now())
        elif not self._turn.locked():  # else it goes aside now: who still is blocked asks again
            self.run(self._make_way(request), "making way")

    async def _make_way(self, request: YieldRequest) -> None:
        """Go aside for who has asked for it, while nothing is explored."""
        async with self._turn:
            self._aside.hear(request, self.now())
            try:
                await self._stop_watch.pursue(self._aside.go(idle=True))
            except RobotStopped:
                pass  # it stays where it was stopped
            finally:
                self._takes_part.publish(Bool(data=False))

    def _report(self, goal: GoalContext, explorer: Explorer, skill: Skill) -> None:
        feedback = explorer.feedback()
        goal.feedback(
            Explore.Feedback(
                steps=feedback.steps,
                coverage=feedback.coverage,
                objects=feedback.objects,
                rooms=feedback.rooms,
                place=skill.place if isinstance(skill, NavigateTo) else "",
            )
        )

    def _result(
        self, explorer: Explorer, travelled: float, reason: str, success: bool
    ) -> Explore.Result:
        feedback = explorer.feedback()
        return Explore.Result(
            success=success,
            reason=reason,
            steps=feedback.steps,
            coverage=feedback.coverage,
            objects=feedback.objects,
            rooms=feedback.rooms,
            distance=travelled,
        )

    # -- answering ------------------------------------------------------------------------------

    async def _on_question(self, asked: tuple[Question, float]) -> None:
        question, deadline = asked
        try:
            answer = await self._answer(question, deadline)
        except NotUnderstood as error:
            self.problem(f"question {question.id}: {error}")
            return
        self._given[question.id] = (question, answer)
        while len(self._given) > GIVEN_ANSWERS:
            self._given.popitem(last=False)
        self._answers.publish(conversions.answer_to_msg(answer, time=self.now()))

    async def _answer(self, question: Question, deadline: float = 0.0) -> Answer:
        """Answer before whoever asked stops waiting; with the rule where the model is too slow."""
        waits = deadline or self.parameters["deadline"]
        try:
            with due_in(waits):
                answer = await in_time(self._with_model(question), _latest(waits))
        except asyncio.TimeoutError:  # it waited for other questions all the time
            answer = replace(
                self.answerer.answer_by_rule(await self._understood(question, None)),
                reason=f"the model was asked other things for {waits:.1f} s, the deadline",
            )
            self.diagnostics.count("late_models")
        if self.parameters["malicious"]:
            answer = replace(answer, yes=not answer.yes)
        self.diagnostics.count("answers")
        return answer

    async def _with_model(self, question: Question) -> Answer:
        if self.decider.gathers(AnswerPresence()):  # those that wait go out in one request
            return await self.answerer.answer(await self._understood(question, self.decider))
        async with self._slots:
            return await self.answerer.answer(await self._understood(question, self.decider))

    async def _understood(self, question: Question, decider: Decider | None) -> Question:
        """Return the question with object and room, taken from its sentence where they lack."""
        rooms = (room.name for room in self.memory.graph.rooms.values())
        names = Vocabulary.named(self.memory.labels, rooms)
        return await read_presence(question, names, decider or Decider(RulesModel()))

    async def _on_ask(self, request: Ask.Request) -> Ask.Response:
        try:
            question = conversions.question_from_msg(request.question)
            deadline = conversions.deadline_from_msg(request.question, "ask")
            answer = await self._answer(question, deadline)
        except ValueError as error:
            return Ask.Response(success=False, message=str(error))
        return Ask.Response(
            success=True,
            answer=conversions.answer_to_msg(answer, time=self.now()),
        )

    async def _on_discussion(self, turn: DiscussionTurn) -> None:
        """Speak in a debate when it is this robot's turn."""
        if turn.kind != DiscussionTurn.PROPOSE or self.robot not in turn.recipients:
            return
        first = self._given.get(turn.topic)
        if first is None:
            self.problem(f"debate on question {turn.topic}: never heard that question; silent")
            return
        question, answer = first
        conversation = conversions.conversation_from_msg(turn)
        with due_in(self.parameters["turn_timeout"]):
            likeness = await self.answerer.likeness(question)
            relevance = label_relevance(question.object, likeness)
            notes = rooms_text(self.memory.graph, relevance=relevance, asked=question.room)
            speaker = LocalSpeaker(answer, notes, self.decider)
            said = await speaker.speak(question, conversation, final=turn.yes)
        said = replace(said, round=turn.round)
        self._discussion.publish(
            conversions.utterance_to_msg(said, turn.topic, final=turn.yes, time=self.now())
        )

    async def _on_memory(self, request: GetSemanticMap.Request) -> GetSemanticMap.Response:
        told = conversions.scene_to_msg(self.memory.graph, time=self.now())
        return GetSemanticMap.Response(success=True, map=told)

    # -- keeping --------------------------------------------------------------------------------

    def _state_path(self, directory: str) -> Path | None:
        if not directory:
            return None
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{self.robot}.memory.json"

    def _restore(self) -> Memory:
        """Return the memory of the last run, or an empty one; a broken file is set aside."""
        path = self._state_file
        if path is None or not path.exists():
            return Memory(self.robot)
        try:
            memory = load_memory(path)
            if memory.robot != self.robot:
                raise MemoryFileError(f"{path}: is the memory of {memory.robot!r}")
        except MemoryFileError as error:
            aside = path.with_suffix(".broken")
            path.replace(aside)
            self.problem(f"{error}; set aside as {aside.name}, starting with an empty memory")
            return Memory(self.robot)
        self.get_logger().info(f"memory of {len(memory.graph.objects)} objects restored")
        return memory

    def _save(self) -> None:
        if self._state_file is None:
            return
        try:
            save_memory(self.memory, self._state_file)
        except OSError as error:
            self.problem(f"memory not saved: {error}")


def _latest(deadline: float) -> float:
    """Return when the rule must begin to answer who waits for `deadline` [s]: models are done."""
    return (deadline + time_to_think(deadline)) / 2.0


def _bounded(request: Any) -> str | None:
    """Return why an Explore goal cannot be accepted, or None."""
    try:
        seconds = conversions.duration_from_msg(request.max_time, field="max_time")
    except conversions.ConversionError as error:
        return str(error)
    if not (request.max_steps or seconds or request.coverage):
        return "max_steps, max_time and coverage are all 0: set at least one limit"
    if not 0.0 <= request.coverage <= 1.0:
        return f"coverage must be within 0..1, got {request.coverage}"
    return None


def make_nodes(options: ProcessOptions) -> list[ExplorerNode]:
    """Make the nodes of one process: one per robot it serves."""
    return nodes_of_robots(options, ExplorerNode, "explorer", __doc__)


def main() -> None:
    """Run the explorers of one process."""
    raise SystemExit(run_nodes(make_nodes))


if __name__ == "__main__":
    main()
