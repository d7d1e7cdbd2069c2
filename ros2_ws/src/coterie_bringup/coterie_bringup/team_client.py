"""The operator's side of a running team, over ROS: explore goals, questions, labels, answers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from std_srvs.srv import Trigger

from coterie_bringup.abilities import silent
from coterie_bringup.spinning import spinning
from coterie_core.observation import Observation
from coterie_core.questions import Answer, FinalAnswer, OpenAnswer, Question, is_guess
from coterie_core.waiting import in_time
from coterie_msgs.action import AskTeam, ExecuteTask, Explore, NavigateTo
from coterie_msgs.msg import Answer as AnswerMsg
from coterie_msgs.msg import FinalAnswer as FinalAnswerMsg
from coterie_msgs.msg import Label, SemanticMap
from coterie_msgs.msg import Observation as ObservationMsg
from coterie_msgs.msg import Question as QuestionMsg
from coterie_msgs.srv import GetSemanticMap, QueryObjects
from coterie_requests.ask_back import Judgement
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.clients import ActionClient, NoAnswer, ServiceClient
from coterie_ros.conversions.judgement import judgement_from_msg
from coterie_ros.parameters import Parameters
from coterie_safety.why.journal import Journal, kept_in, settings_from
from coterie_world.scene import SceneGraph

if TYPE_CHECKING:
    from coterie_bringup.team_sections import ExplorationSpec

T = TypeVar("T")

REACH = 15.0
"""How long whoever is asked may take to be found [s]."""
LOST = 5.0
"""How long whoever was asked may be gone [s]."""


def exploration_goal(limits: ExplorationSpec) -> Explore.Goal:
    """Return the goal of an explorer that ends at a team file's limits."""
    return Explore.Goal(
        max_steps=limits.steps,
        max_time=conversions.duration_to_msg(limits.time),
        coverage=limits.coverage,
    )


@dataclass(frozen=True, slots=True)
class TeamAnswer:
    """The answer of a team to one question, with the robots' own answers."""

    final: FinalAnswer
    answers: tuple[Answer, ...]

    @property
    def guessed(self) -> bool:
        """Whether no robot has observed what the team answers."""
        return is_guess(self.final, self.answers)


@dataclass(frozen=True, slots=True)
class FoundObjects:
    """Ids of the map that fit a request, best first, and why."""

    ids: tuple[str, ...]
    explanation: str
    judgement: Judgement | None = None


class Operator(AgentNode):
    """Talks to a team; its coroutines run in its own loop (`run`), callbacks come from there too.

    Attributes:
        answers: robot -> question id -> the robot's answer.
        finals: question id -> the team's answer.
        final_times: question id -> when that came, by time.monotonic() [s].
        judgements: question id -> whether the question that `ask` put was clear.
        diagnostics_of: node name -> its latest figures.
        on_observation: Hears of every robot's observations.
        on_behalf_of: Who lets robots explore, for `./coterie why`.
    """

    on_behalf_of = ""
    SAYS_READY = False  # it talks to a person, who asked for something else

    def __init__(
        self,
        robots: Sequence[str],
        *,
        namespace: str = "",
        environment: Mapping[str, str] | None = None,
        context: Context | None = None,
    ) -> None:
        self.robots = tuple(robots)
        settings = settings_from(environment or {})
        self._journal = Journal(settings, "operator") if settings is not None else None
        self.answers: dict[str, dict[str, Answer]] = {r: {} for r in robots}
        self.finals: dict[str, FinalAnswer] = {}
        self.final_times: dict[str, float] = {}
        self.judgements: dict[str, Judgement] = {}
        self.diagnostics_of: dict[str, dict[str, str]] = {}
        self.on_observation: Callable[[Observation], object] = lambda observation: None
        self._seen_of: set[str] = set()
        self._news = asyncio.Event()
        self._scene: asyncio.Future[SceneGraph] | None = None
        super().__init__(
            f"operator_{os.getpid()}",
            namespace=namespace or None,
            context=context,
            parameters={"diagnostics_period": 0.0},
            light=True,
        )

    def on_setup(self, parameters: Parameters) -> None:
        """Make publishers and clients."""
        self._questions = self.publisher(QuestionMsg, "question", "questions")
        self._labels = self.publisher(Label, "label", "answers")
        self._ask = ActionClient(self, AskTeam, "ask")
        self._task = ActionClient(self, ExecuteTask, "execute_task")
        self._ask_open = ActionClient(self, AskTeam, "ask_open")
        self._query = ServiceClient(self, QueryObjects, "query_objects")
        self._train = ServiceClient(self, Trigger, "train")
        if self._journal is not None:
            self.at_end(self._journal.close)
        self._explore = {r: ActionClient(self, Explore, f"{r}/explore") for r in self.robots}
        # A bridge offers all robots' actions at once; of real robots each has an adapter.
        self._bridge = {r: ActionClient(self, NavigateTo, f"{r}/navigate_to") for r in self.robots}
        self._memory = {r: ServiceClient(self, GetSemanticMap, f"{r}/memory") for r in self.robots}

    def on_start(self) -> None:
        """Listen to the robots and the aggregator."""
        for robot in self.robots:
            self.subscribe(
                ObservationMsg,
                f"{robot}/observation",
                "observations",
                self._on_observation,
                convert=conversions.observation_from_msg,
            )
            self.subscribe(
                AnswerMsg,
                f"{robot}/answer",
                "answers",
                partial(self._on_answer, robot),
                convert=conversions.answer_from_msg,
            )
        self.subscribe(
            FinalAnswerMsg,
            "final_answer",
            "answers",
            self._on_final,
            convert=conversions.final_answer_from_msg,
        )
        self.subscribe(DiagnosticArray, "/diagnostics", "diagnostics", self._on_diagnostics)

    # -- what a team does -------------------------------------------------------------------------

    async def wait_for_team(
        self, timeout: float, *, explorers: bool | Sequence[str] = True, leader: bool = False
    ) -> list[str]:
        """Wait until a team can be spoken to; return what is missing.

        Args:
            timeout: Longest wait [s].
            explorers: Whether the robots explore and answer, and an aggregator decides; or names
                of those that do.
            leader: Whether a leader takes tasks.
        """
        ends: dict[str, Any] = {
            f"bridge or adapter of {name}": end for name, end in self._bridge.items()
        }
        if explorers:
            names = self.robots if explorers is True else explorers
            ends |= {"aggregator": self._train} | {name: self._explore[name] for name in names}
        if leader:
            ends["leader"] = self._task
        ready = await asyncio.gather(*(end.wait(timeout) for end in ends.values()))
        return [name for name, there in zip(ends, ready, strict=True) if not there]

    async def wait_for_observations(self, timeout: float) -> list[str]:
        """Wait until every robot was heard to observe, so that none of what follows is missed.

        Returns what did not come in time [s], in words.
        """
        end = time.monotonic() + timeout
        while missing := [robot for robot in self.robots if robot not in self._seen_of]:
            if time.monotonic() >= end:
                break
            await asyncio.sleep(0.02)
        return [f"observations of {robot}" for robot in missing]

    async def explore(
        self, robot: str, goal: Explore.Goal, on_feedback: Callable[[Any], object]
    ) -> Any:
        """Let a robot explore; return the result message.

        Raises:
            GoalRejected: The robot refuses.
            NoAnswer: It does not answer.
        """
        client = self._explore[robot]
        with kept_in(self._journal):
            end = await client.run(goal, on_feedback=on_feedback, accept_timeout=15.0)
        return end.result

    def ask_all(self, questions: Sequence[Question], *, deadline: float) -> None:
        """Put questions to the team; the answers come to `answers` and `finals`.

        Args:
            questions: What to ask.
            deadline: How long robots may take [s].
        """
        for question in questions:
            self._questions.publish(conversions.question_to_msg(question, deadline=deadline))

    def label(self, question: str, truth: bool, source: str) -> None:
        """Tell the team the right answer to a question."""
        self._labels.publish(conversions.label_to_msg(question, truth, source))

    async def answered(
        self, questions: Sequence[str], timeout: float, *, on_news: Callable[[int], object]
    ) -> int:
        """Wait until the team has given its answers to these questions; return how many it gave.

        Args:
            questions: Ids.
            timeout: Longest time without any news [s].
            on_news: Called with the number of answered questions.
        """
        wanted = set(questions)
        while True:
            self._news.clear()
            count = len(wanted & self.finals.keys())
            on_news(count)
            if count == len(wanted):
                return count
            try:
                await in_time(self._news.wait(), timeout)
            except asyncio.TimeoutError:
                return count

    async def train(self, timeout: float = 60.0) -> tuple[bool, str]:
        """Let the aggregator learn from the labels; return whether it did and what it says."""
        response = await self._train.call(Trigger.Request(), timeout=timeout, attempts=2)
        return bool(response.success), str(response.message)

    def abilities(self) -> dict[str, bool]:
        """Return whether the team can be asked, and searched; for the executor's thread."""
        return {"ask": self._ask.there or self._ask_open.there, "find": self._query.there}

    async def ask(
        self,
        question: Question,
        timeout: float,
        on_progress: Callable[[AskTeam.Feedback], object] = lambda progress: None,
        *,
        explore: bool = True,
    ) -> TeamAnswer | OpenAnswer | str:
        """Ask the team one question; return its answer, or why there is none.

        A team without explorers has no aggregator: who answers open questions is asked then.
        Cancelling the caller takes the question back, and stops a robot that looks for its answer.

        Args:
            question: What to ask.
            timeout: How long to wait for the answer [s of wall time].
            on_progress: Called in this node's loop with how far it is.
            explore: Whether a robot may go and look for the answer.

        Raises:
            NoAnswer: Nobody is there, or whoever is does not respond, or goes away meanwhile.
            GoalRejected: Whoever answers has just been started again, or is not ready.
        """
        client = self._ask
        if not await self._ask.wait(5.0) and await self._ask_open.wait(0.0):
            client = self._ask_open
        elif not await self._ask.wait(min(timeout, REACH)):
            raise NoAnswer(f"nobody offers the action ask or ask_open: {silent('ask', 'the team')}")
        message = conversions.question_to_msg(question)
        end = await client.run(
            AskTeam.Goal(question=message, explore=explore),
            on_feedback=on_progress,
            timeout=timeout,
            lost_after=LOST,
            stopping=LOST,
        )
        told = end.result
        if not told.success:
            return str(told.message)
        judgement = judgement_from_msg(told.judgement, "ask")
        if judgement is not None:
            self.judgements[question.id] = judgement
        if told.is_open:
            return conversions.open_answer_from_msg(told.open)
        return TeamAnswer(
            conversions.final_answer_from_msg(told.answer),
            tuple(conversions.answer_from_msg(answer) for answer in told.answers),
        )

    async def find(self, words: str, limit: int, timeout: float) -> FoundObjects | str:
        """Ask which objects of the team's map fit a request; return them, or why not.

        Raises:
            NoAnswer: Nobody responds.
        """
        if not await self._query.wait(min(timeout, REACH)):
            raise NoAnswer(f"nobody offers the service query_objects: {silent('find', 'the team')}")
        request = QueryObjects.Request(query=words, limit=limit)
        told = await self._query.call(request, timeout=timeout, attempts=1)
        if not told.success:
            return str(told.message)
        judgement = judgement_from_msg(told.judgement, "query_objects")
        return FoundObjects(
            tuple(str(id_) for id_ in told.objects), str(told.explanation), judgement
        )

    async def map(self, timeout: float) -> SceneGraph | None:
        """Return the team's map as it was published last; None where none comes in time."""
        if self._scene is None:
            self._scene = asyncio.get_running_loop().create_future()
            self.subscribe(
                SemanticMap,
                "semantic_map",
                "latched",
                self._on_map,
                convert=conversions.scene_from_msg,
            )
        try:
            return await in_time(asyncio.shield(self._scene), timeout)
        except asyncio.TimeoutError:
            return None

    async def memory(self, robot: str, timeout: float = 10.0) -> SceneGraph:
        """Return what a robot knows of the house; nothing where it has nothing to give."""
        response = await self._memory[robot].call(GetSemanticMap.Request(), timeout=timeout)
        return conversions.scene_from_msg(response.map, f"{robot}/memory")

    # -- what comes in ----------------------------------------------------------------------------

    def _on_map(self, scene: SceneGraph) -> None:
        if self._scene is None or self._scene.done():
            self._scene = asyncio.get_running_loop().create_future()
        self._scene.set_result(scene)

    def _on_observation(self, observation: Observation) -> None:
        self._seen_of.add(observation.robot)
        self.on_observation(observation)

    def _on_answer(self, robot: str, answer: Answer) -> None:
        if answer.robot == robot:
            self.answers[robot][answer.question] = answer
            self._news.set()

    def _on_final(self, final: FinalAnswer) -> None:
        self.finals[final.question] = final
        self.final_times.setdefault(final.question, time.monotonic())
        self._news.set()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.diagnostics_of[status.name] = {v.key: v.value for v in status.values}


@contextlib.contextmanager
def operating(
    robots: Sequence[str],
    *,
    domain: int,
    namespace: str = "",
    environment: Mapping[str, str] | None = None,
) -> Iterator[Operator]:
    """Make an operator and spin it in a thread while the block runs.

    Args:
        robots: The robots to speak to.
        domain: The team's ROS domain.
        namespace: The team's namespace.
        environment: Discovery settings that the team runs with.
    """
    with spinning(
        lambda context: Operator(
            robots, namespace=namespace, environment=environment, context=context
        ),
        domain=domain,
        environment=environment,
    ) as operator:
        yield operator
