"""Aggregator node: hears all robots' answers and publishes what the team answers."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from std_srvs.srv import Trigger

from cam_aggregator.base import Aggregator, AggregatorError
from cam_aggregator.collector import Collector, OpenQuestion
from cam_aggregator.debate import Debate, LastWords
from cam_aggregator.labels import Labels, few_labels
from cam_aggregator.moved import after_moves
from cam_aggregator.registry import accepted_options, aggregator_names, make_aggregator
from cam_aggregator.store import ModelFileError, load_model, save_model
from coterie_core.questions import Answer, FinalAnswer, OpenAnswer, Question
from coterie_core.waiting import in_time
from coterie_msgs.action import AskTeam
from coterie_msgs.msg import Answer as AnswerMsg
from coterie_msgs.msg import DiscussionTurn, Label
from coterie_msgs.msg import FinalAnswer as FinalAnswerMsg
from coterie_msgs.msg import Question as QuestionMsg
from coterie_requests.ask_back import judged_answers, not_understood
from coterie_requests.debate import ROUNDS, Speaker, Utterance, debate
from coterie_requests.presence import presence_of, read_presence, request_of
from coterie_requests.read_request import ReadRequest
from coterie_requests.understanding.problems import NotUnderstood, Problem
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.clients import ActionClient, GoalRejected, NoAnswer
from coterie_ros.conversions.judgement import judgement_to_msg
from coterie_ros.main import ProcessOptions, run_nodes
from coterie_ros.model import MODEL_PARAMETER, node_decider
from coterie_ros.parameters import Parameters, ParameterSpec
from coterie_ros.serving import GoalContext
from coterie_safety.why import note

AGGREGATOR_PARAMETERS = (
    ParameterSpec(
        "method",
        "majority_vote",
        "Aggregator that makes the team's answer from the robots' answers; a class of your own is "
        f"module:Class, else one of: {', '.join(aggregator_names())}.",
    ),
    ParameterSpec(
        "robots", [], "Names of the robots whose answers are waited for; empty is refused."
    ),
    ParameterSpec(
        "deadline",
        10.0,
        "Time to wait for the robots' answers to a question that sets no time of its own.",
        "s",
        minimum=0.05,
        maximum=3600.0,
    ),
    ParameterSpec(
        "model_directory", "", "Folder of the trained aggregators; empty: none are kept."
    ),
    ParameterSpec(
        "house",
        "",
        "Name of the house that a trained aggregator belongs to; empty: a house without a name.",
    ),
    ParameterSpec(
        "labels_needed",
        0,
        "Labels from which a method must have learned for abstain_below to hold what it promises; "
        "0: any number will do.",
        minimum=0,
    ),
    ParameterSpec(
        "abstain_below",
        0.0,
        "Confidence below which the team abstains from an answer; 0: it never does.",
        minimum=0.0,
        maximum=1.0,
    ),
    ParameterSpec(
        "turn_timeout", 30.0, "Time to wait for a robot's turn in a debate.", "s", minimum=0.1
    ),
    ParameterSpec(
        "open_timeout",
        600.0,
        "Time to wait for the answer to an open question.",
        "s",
        minimum=0.1,
        maximum=3600.0,
    ),
    ParameterSpec("explore", True, "A robot may go and look for the answer to an open question."),
    ParameterSpec("seed", 0, "Seed of the learned aggregators."),
    MODEL_PARAMETER,
)

TICK = 0.05
"""How often deadlines are looked at [s]."""
KEEP = 2.0
"""How often new labels are written to their file [s]."""
PROGRESS = 0.2
"""How often the client of a question is told who has answered [s]."""
WORKERS = 8
"""How many questions are worked on at a time (a debate waits for robots most of the time)."""
LOST = 4.0
"""How long who answers an open question may be gone [s]."""
MOST_ROOMS = 1000
"""How many names of rooms to remember."""


class AggregatorNode(AgentNode):
    """`aggregator`; see docs/ros_graph.md for its topics and services."""

    PARAMETERS = AGGREGATOR_PARAMETERS

    def on_setup(self, parameters: Parameters) -> None:
        """Make or load the aggregator; offer the services."""
        self.robots: list[str] = list(parameters["robots"])
        if not self.robots:
            raise ValueError("parameter 'robots' is empty; list the robots whose answers count")
        self.method: str = parameters["method"]
        self.decider = node_decider(
            self, parameters.json("model_profile"), "aggregator", (ReadRequest(),)
        )
        self._rooms: set[str] = set()
        self.fallback: Aggregator = make_aggregator("confidence_vote")
        self.aggregator: Aggregator | None = self._first(parameters)
        self.collector = Collector(self.robots, parameters["deadline"])
        folder = self._folder(parameters)
        self.labels = Labels.beside(folder, parameters["house"], self.robots)
        self.at_end(self._keep_labels)  # for the next start
        if trouble := self.labels.read():
            self.problem(trouble)
        self._waiting: dict[str, list[asyncio.Future[FinalAnswer]]] = {}
        self._work: asyncio.Queue[OpenQuestion] = asyncio.Queue()
        self._heard: dict[tuple[str, str, int], asyncio.Future[Utterance]] = {}
        self._discussion = self.publisher(DiscussionTurn, "discussion", "messages")
        self._finals = self.publisher(FinalAnswerMsg, "final_answer", "answers")
        self._questions = self.publisher(QuestionMsg, "question", "questions")
        self._open = ActionClient(self, AskTeam, "ask_open")
        self.serve_action(AskTeam, "ask", self._on_ask)
        self.serve(Trigger, "train", self._on_train, timeout=600.0)
        self.diagnostics.add_source("questions", self._figures)

    def on_start(self) -> None:
        """Listen to questions, answers and labels, and work on what is complete."""
        self.subscribe(
            QuestionMsg,
            "question",
            "questions",
            self._on_question,
            convert=lambda message: (
                conversions.question_from_msg(message),
                conversions.deadline_from_msg(message),
            ),
        )
        for robot in self.robots:
            self.subscribe(
                AnswerMsg,
                f"{robot}/answer",
                "answers",
                partial(self._on_answer, robot),
                convert=partial(conversions.answer_from_msg, topic=f"{robot}/answer"),
            )
        self.subscribe(
            Label, "label", "answers", self._on_label, convert=conversions.label_from_msg
        )
        self.subscribe(
            DiscussionTurn,
            "discussion",
            "messages",
            self._on_turn,
            convert=conversions.checked_debate_turn,
        )
        for worker in range(WORKERS):
            self.run(self._decide_all(), f"decide {worker}")
        self.every(TICK, self._close_due, "deadlines")
        self.every(KEEP, self._keep_labels, "labels")

    # -- collecting -----------------------------------------------------------------------------

    async def _on_question(self, asked: tuple[Question, float]) -> None:
        question, deadline = asked
        try:
            question = await read_presence(question, self._names(), self.decider)
        except NotUnderstood as error:
            self.problem(f"question {question.id}: {error}")
            return
        if self.collector.ask(question, deadline):
            self._close_if_complete(question.id)

    def _note_rooms(self, names: Iterable[str]) -> None:
        """Remember names of rooms, so that sentences about them are understood."""
        if len(self._rooms) < MOST_ROOMS:
            self._rooms.update(name for name in names if name)

    def _names(self) -> Vocabulary:
        return Vocabulary.named(rooms=sorted(self._rooms), robots=self.robots)

    def _on_answer(self, robot: str, answer: Answer) -> None:
        if answer.robot != robot:
            self.diagnostics.count("forged_answers")
            self.problem(f"{robot}/answer: an answer in the name of {answer.robot!r}: dropped")
            return
        self._note_rooms(answer.evidence.elsewhere)
        self.collector.add(answer)
        entry = self.collector.get(answer.question)
        if entry is not None and answer.evidence.looks and answer.evidence.kind != "nothing":
            self._note_rooms((entry.question.room,))
        self._close_if_complete(answer.question)

    def _on_label(self, label: tuple[str, bool, str]) -> None:
        question, truth, _ = label
        self.labels.tell(question, truth)

    def _close_if_complete(self, question: str) -> None:
        entry = self.collector.take_complete(question)
        if entry is not None:
            self._work.put_nowait(entry)

    def _close_due(self) -> None:
        for entry in self.collector.take_due():
            self._work.put_nowait(entry)

    # -- deciding -------------------------------------------------------------------------------

    async def _decide_all(self) -> None:
        while True:
            entry = await self._work.get()
            try:
                final = await self._decide(entry)
            except Exception as error:  # one question that fails must not silence the team
                self.report_failure(f"question {entry.question.id}", error)
                final = self.fallback.decide(entry.question, entry.answers, self.robots)
                final = replace(
                    final, explanation=f"{self.method} failed ({error}); {final.explanation}"
                )
            least = self.parameters["abstain_below"]
            final = after_moves(final, entry.answers, self.robots, abstain_below=least)
            self._publish(entry, final)

    async def _decide(self, entry: OpenQuestion) -> FinalAnswer:
        if self.method == Debate.name:
            return await self._debate(entry)
        if self.aggregator is None:
            final = self.fallback.decide(entry.question, entry.answers, self.robots)
            note = f"{self.method} is not trained yet"
            return replace(final, explanation=f"{note}; {final.explanation}")
        # A forest takes milliseconds: not in the loop, which also hears the answers.
        return await asyncio.to_thread(
            self.aggregator.decide, entry.question, entry.answers, self.robots
        )

    async def _debate(self, entry: OpenQuestion) -> FinalAnswer:
        """Let the robots that answered debate over the `discussion` topic; then the majority."""
        before = self.fallback.decide(entry.question, entry.answers, self.robots)
        if before.yes is None:  # nobody answered, or nobody can tell: nothing to talk about
            return replace(before, method=self.method)
        first = {answer.robot: answer for answer in entry.answers if answer.robot in self.robots}
        speakers: list[Speaker] = [
            _RemoteSpeaker(self, robot) for robot in self.robots if robot in first
        ]
        result = await debate(entry.question, speakers)
        last = [
            replace(first[said.speaker], yes=said.yes, confidence=said.confidence)
            for said in result.finals
        ]
        final = LastWords(abstain_below=self.parameters["abstain_below"]).decide(
            entry.question, last, self.robots, observed=list(first.values())
        )
        changed = [a.robot for a in last if a.yes != first[a.robot].yes]
        talk = f"after {len(result.conversation)} statements"
        if changed:
            talk += f", in which {', '.join(changed)} gave in"
        return replace(final, explanation=f"{talk}; {final.explanation}")

    async def call(
        self, question: Question, robot: str, talk: Sequence[Utterance], *, final: bool
    ) -> Utterance | None:
        """Give a robot the floor and wait for what it says; None where it keeps silent."""
        turn = ROUNDS if final else sum(1 for said in talk if said.speaker == robot)
        heard: asyncio.Future[Utterance] = asyncio.get_running_loop().create_future()
        key = (question.id, robot, turn)
        self._heard[key] = heard
        try:
            self._discussion.publish(
                conversions.call_to_speak(question, robot, turn, talk, final=final, time=self.now())
            )
            return await in_time(heard, self.parameters["turn_timeout"])
        except asyncio.TimeoutError:
            self.problem(f"debate on {question.id}: {robot} kept silent in round {turn + 1}")
            return None
        finally:
            del self._heard[key]

    def _on_turn(self, turn: DiscussionTurn) -> None:
        heard = self._heard.get((turn.topic, turn.speaker, turn.round))
        if heard is None or heard.done() or turn.kind == DiscussionTurn.PROPOSE:
            return
        heard.set_result(conversions.utterance_from_msg(turn))

    def _publish(self, entry: OpenQuestion, final: FinalAnswer) -> None:
        self.collector.keep_answer(entry, final)
        elapsed = time.monotonic() - entry.asked
        self._finals.publish(
            conversions.final_answer_to_msg(
                final, question=entry.question, time=self.now(), elapsed=elapsed
            )
        )
        self.labels.unsaved |= entry.question.id in self.labels.truths
        self.diagnostics.count("final_answers")
        for waiter in self._waiting.pop(entry.question.id, []):
            if not waiter.done():
                waiter.set_result(final)

    # -- actions and services ---------------------------------------------------------------------

    async def _on_ask(self, goal: GoalContext) -> AskTeam.Result:
        result = await self._answered(goal)
        return goal.succeed(result) if result.success else goal.abort(result)

    async def _answered(self, goal: GoalContext) -> AskTeam.Result:
        message = goal.request.question
        message.id = message.id or f"ask-{uuid.uuid4().hex[:12]}"
        try:
            question = conversions.question_from_msg(message, "ask")
        except ValueError as error:
            return AskTeam.Result(success=False, message=str(error))
        if not question.object:
            try:
                names = self._names()
                request = await request_of(question, names, self.decider)
                # Whoever answers it gets what was read, and reads nothing anew.
                message.request = request.model_dump_json(exclude_defaults=True)
                presence, problem = presence_of(request, names, question.id), None
            except NotUnderstood as error:
                presence, problem = None, error.problem
            if presence is None:
                return await self._ask_open(goal, problem)
            question = presence
        message.object, message.room = question.object, question.room
        waiter: asyncio.Future[FinalAnswer] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(question.id, []).append(waiter)
        started = time.monotonic()
        self._questions.publish(message)
        final = await self._heard_of(goal, question.id, waiter)
        entry = self.collector.get(question.id)
        answers, now = entry.answers if entry else [], self.now()
        return AskTeam.Result(
            success=True,
            judgement=judgement_to_msg(judged_answers(question, answers)),
            answer=conversions.final_answer_to_msg(
                final, question=question, time=now, elapsed=time.monotonic() - started
            ),
            answers=[conversions.answer_to_msg(answer, time=now) for answer in answers],
        )

    async def _heard_of(
        self, goal: GoalContext, question: str, waiter: asyncio.Future[FinalAnswer]
    ) -> FinalAnswer:
        """Wait for the team's answer, and tell the client whose answers are there so far."""
        told: list[str] | None = None
        while not waiter.done():
            entry = self.collector.get(question)
            robots = list({answer.robot: None for answer in entry.answers}) if entry else []
            if robots != told:
                told = robots
                hearing = AskTeam.Feedback.HEARING
                goal.feedback(
                    AskTeam.Feedback(stage=hearing, robots=robots, expected=len(self.robots))
                )
            await asyncio.wait({waiter}, timeout=PROGRESS)
        return waiter.result()

    async def _ask_open(self, goal: GoalContext, problem: Problem | None) -> AskTeam.Result:
        """Have the map asked; who answers open questions knows more names than explorers told."""
        message = goal.request.question
        if not await self._open.wait(0.0):
            if problem is not None:
                return _unclear(message.id, message.text, problem)
            return AskTeam.Result(
                message="this is an open question, and nobody in this team answers those: add "
                "`open_questions: {}` (and `mapper: {}`) to the team file, or ask whether there is "
                "something: Is there a mug in the kitchen?"
            )
        explore = bool(self.parameters["explore"] and goal.request.explore)
        asked = AskTeam.Goal(question=message, explore=explore)
        try:
            end = await self._open.run(
                asked,
                on_feedback=goal.feedback,
                timeout=self.parameters["open_timeout"],
                lost_after=LOST,
                stopping=LOST,
            )
        except (NoAnswer, GoalRejected) as error:
            return AskTeam.Result(is_open=True, message=str(error))
        return end.result

    async def _on_train(self, request: Trigger.Request) -> Trigger.Response:
        table = self.labels.table(self.collector)
        self._keep_labels()
        try:
            aggregator = self._make(self.parameters)
            if aggregator.needs_labels and len(table) == 0:
                raise AggregatorError(
                    "no labelled question was answered yet; publish the truth on 'label'"
                )
            await asyncio.to_thread(aggregator.fit, table)
        except ValueError as error:
            return Trigger.Response(success=False, message=f"{self.method}: {error}")
        self.aggregator = aggregator
        where = await asyncio.to_thread(self._store, aggregator)
        few = few_labels(aggregator, self.parameters["labels_needed"])
        text = f"{self.method} trained on {len(table)} labelled questions{where}{few}"
        if not aggregator.needs_labels:
            text = f"{self.method} needs no labels and learns nothing; labelled questions: "
            text += str(len(table))
        self.get_logger().info(text)
        return Trigger.Response(success=True, message=text)

    def _first(self, parameters: Parameters) -> Aggregator | None:
        """Return the aggregator to begin with: one that needs no labels, a stored one, or None."""
        aggregator = self._make(parameters)
        if not aggregator.needs_labels:
            return aggregator
        folder = self._folder(parameters)
        if folder is None or not folder.exists():
            return None
        house = parameters["house"]
        stored = load_model(folder, house=house, agents=self.robots, method=self.method)
        stored.abstain_below = parameters["abstain_below"]  # not what held when it was trained
        few = few_labels(stored, parameters["labels_needed"])
        self.get_logger().info(f"{self.method} for {house!r} loaded from {folder}{few}")
        return stored

    def _store(self, aggregator: Aggregator) -> str:
        """Keep a trained model for the next start; returns where, as the end of a sentence."""
        folder = self._folder(self.parameters)
        if folder is None or not aggregator.needs_labels:
            return ""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            save_model(aggregator, folder)
        except (ModelFileError, OSError) as error:
            self.problem(f"model not stored: {error}")
            return f", but not stored: {error}"
        return f", stored in {folder}"

    def _folder(self, parameters: Parameters) -> Path | None:
        directory = parameters["model_directory"]
        return Path(directory) / self.method if directory else None

    def _make(self, parameters: Parameters) -> Aggregator:
        options = {"seed": parameters["seed"], "abstain_below": parameters["abstain_below"]}
        known = accepted_options(self.method)
        return make_aggregator(self.method, **{k: v for k, v in options.items() if k in known})

    def _keep_labels(self) -> None:
        if trouble := self.labels.save(self.collector):
            self.problem(trouble)

    def _figures(self) -> dict[str, Any]:
        return {
            "open": self.collector.waiting,
            "late_answers": self.collector.late,
            "labels": len(self.labels),
            "method": self.method if self.aggregator is not None else "confidence_vote (untrained)",
        }


def _unclear(question: str, words: str, problem: Problem) -> AskTeam.Result:
    """Return the result of a question that is not understood: what is asked back."""
    told = not_understood(problem)
    note("question", "aggregator", {"words": words}, question=question)
    note("answer", "the team", {"words": told.line, "judgement": told.data}, question=question)
    answer = OpenAnswer(question, problem.line, guessed=True)
    return AskTeam.Result(
        success=True,
        is_open=True,
        open=conversions.open_answer_to_msg(answer, frame=conversions.MAP),
        judgement=judgement_to_msg(told),
    )


class _RemoteSpeaker:
    """A robot that speaks on the other side of the `discussion` topic."""

    def __init__(self, node: AggregatorNode, robot: str) -> None:
        self.node = node
        self.robot = robot

    async def speak(
        self, question: Question, conversation: Sequence[Utterance], *, final: bool
    ) -> Utterance | None:
        """Take a turn; None where the robot keeps silent."""
        return await self.node.call(question, self.robot, conversation, final=final)


def make_node(options: ProcessOptions) -> AgentNode:
    """Make the team's aggregator."""
    return AggregatorNode("aggregator", namespace=options.namespace, context=options.context)


def main() -> None:
    """Run the aggregator."""
    raise SystemExit(run_nodes(make_node))


if __name__ == "__main__":
    main()
