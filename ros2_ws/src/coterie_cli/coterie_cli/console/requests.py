"""What people on the console's page want of a team: answers, things, tasks; and its questions."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

from action_msgs.srv import CancelGoal
from std_srvs.srv import Trigger

from coterie_bringup.task_watcher import OUTCOMES, STAGES, followed
from coterie_bringup.team_client import Operator
from coterie_cli.ask import notes, progress_text
from coterie_cli.console import answers
from coterie_cli.person_seat import PersonSeat
from coterie_console.team.page import Refused, Said, Tab, words_of
from coterie_console.team.records import Talk, Task
from coterie_console.team.state import ConsoleState
from coterie_console.text import plain
from coterie_core.questions import OpenAnswer, Question
from coterie_llm import inline_data
from coterie_msgs.action import ExecuteTask
from coterie_msgs.msg import DiscussionTurn
from coterie_msgs.srv import AskInWords
from coterie_requests.asking import (
    ANSWER_CHARS,
    NOBODY,
    QUESTION_CHARS,
    WordsAnswer,
    WordsQuestion,
    told_choice,
)
from coterie_ros.asking import PERSON
from coterie_ros.clients import ActionClient, GoalRejected, NoAnswer, ServiceClient
from coterie_ros.conversions.asking import words_answer_to_msg, words_question_from_msg
from coterie_ros.conversions.checks import ConversionError
from coterie_ros.conversions.tasks import (
    assignment_from_msg,
    proposal_from_msg,
    reflection_from_msg,
    sub_task_from_msg,
)
from coterie_ros.serving import serve
from coterie_world.scene import SceneGraph
from emos_planner.leader.transcript import Transcript

_ASK, _FIND = 300.0, 60.0
"""How long an answer, or a search, may take [s]."""
_TRAIN = 600.0
"""How long training may take [s]."""
_LONGEST = 600
_MOST_ASKED = 20
"""Questions and searches at work at a time."""
_GONE = 3.0
"""After which an operator whose pages are all closed is not waited for any more [s]."""


class Requests:
    """Questions, searches and tasks of people, and questions to them; for a node's `on_setup`.

    Args:
        node: The console's node.
        state: Is filled.
        operators: Returns how many pages of operators are open.
    """

    def __init__(self, node: Operator, state: ConsoleState, operators: Callable[[], int]) -> None:
        self._node, self.state, self._operators = node, state, operators
        self._tasks = ActionClient(node, ExecuteTask, "execute_task")
        self._cancel_all = ServiceClient(node, CancelGoal, "execute_task/_action/cancel_goal")
        self._trainer = ServiceClient(node, Trigger, "train")
        self._working: dict[str, asyncio.Task[None]] = {}
        self._service: Any = None
        self._seat = PersonSeat(node, f"the console's page (process {os.getpid()})")
        self._asked = 0
        self._typed: asyncio.Future[str] | None = None
        self._one_question, self._attending = asyncio.Lock(), asyncio.Lock()

    def commands(self) -> dict[str, Any]:
        """Return what an operator's page may ask for."""
        return {
            "ask": self._ask,
            "find": self._find,
            "task": self._task,
            "cancel": self._cancel,
            "resume": self._resume,
            "label": self._label,
            "train": self._train,
            "answer": self._answer,
        }

    def abilities(self) -> dict[str, bool]:
        """Return what the team can be asked for now; for the executor's thread."""
        return {
            **self._node.abilities(),
            "task": self._tasks.there,
            "train": self._trainer.there,
        }

    # -- questions and searches ----------------------------------------------------------------

    def _begin(self, id_: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._working[id_] = task
        task.add_done_callback(lambda _: self._working.pop(id_, None))

    async def _ask(self, said: Said, tab: Tab) -> str:
        words = self._words(said)
        talk = self.state.begin_talk("ask", words, tab.who)
        self._begin(talk.id, self._worked(talk, self._answered(talk, words)))
        return ""

    async def _find(self, said: Said, tab: Tab) -> str:
        words = self._words(said)
        talk = self.state.begin_talk("find", words, tab.who)
        self._begin(talk.id, self._worked(talk, self._found(talk, words)))
        return ""

    def _words(self, said: Said) -> str:
        words = words_of(said, "text", _LONGEST)
        if len(self._working) >= _MOST_ASKED:
            raise Refused(f"{_MOST_ASKED} questions and tasks are at work; wait for one of them")
        return words

    async def _worked(self, talk: Talk, work: Coroutine[Any, Any, str]) -> None:
        """Answer a question or search; `work` returns what is wrong ("": it is answered)."""
        try:
            trouble = await work
        except asyncio.CancelledError:
            talk.state, talk.told = "failed", "taken back"
            raise
        except (NoAnswer, GoalRejected) as error:
            trouble = str(error)
        except Exception as error:  # one answer that fails leaves the others alone
            self._node.report_failure(f"{talk.kind} {talk.id}", error)
            trouble = f"{type(error).__name__}: {error}"
        finally:
            self.state.touch("talk")
        talk.state = "failed" if trouble else "done"
        if trouble:
            talk.told = trouble
        told = trouble or f"{talk.answer['text']} {talk.answer['sure']}"
        self.state.moment("answer", "", f"{talk.words}: {told}")

    async def _answered(self, talk: Talk, words: str) -> str:
        def progress(message: Any) -> None:
            talk.told = self.state.in_words(progress_text(message))
            self.state.touch("talk")

        question = Question(f"ask-{uuid.uuid4().hex[:12]}", "", "", words)
        talk.asked = question.id
        answer = await self._node.ask(question, _ASK, progress)
        judgement = self._node.judgements.pop(question.id, None)
        if isinstance(answer, str):
            return answer or "the team could not answer, and does not say why"
        if isinstance(answer, OpenAnswer):
            talk.answer = answers.in_words(answer, self.state.scene)
            talk.told = self.state.in_words(notes(answer))
            answers.judged(talk.answer, judgement)
            return ""
        known: dict[str, SceneGraph] = {}
        for one in answer.answers:
            if one.evidence.objects and one.robot in self._node.robots:
                with contextlib.suppress(NoAnswer, ConversionError):
                    known[one.robot] = await self._node.memory(one.robot, timeout=2.0)
        names = [room.name for room in self.state.scene.rooms.values()]
        room = next((name for name in names if name.lower() in words.lower()), "")
        talk.answer = answers.presence(answer, room, known)
        talk.told = answer.final.explanation
        return ""

    async def _found(self, talk: Talk, words: str) -> str:
        answer = await self._node.find(words, 0, _FIND)
        if isinstance(answer, str):
            return answer or "the planner found nothing, and does not say why"
        talk.answer = answers.found(answer, self.state.scene)
        answers.judged(talk.answer, answer.judgement)
        talk.told = self.state.in_words(answer.explanation)
        return ""

    async def _label(self, said: Said, tab: Tab) -> str:
        """Tell the aggregator whether an answer was right; it learns from that."""
        talk = next((one for one in self.state.talks if one.id == said.get("talk")), None)
        right = said.get("right")
        if (
            talk is None
            or talk.answer.get("kind") not in ("yes", "no")
            or not isinstance(right, bool)
        ):
            raise Refused("only an answer yes or no can be marked as right or wrong")
        question = talk.answer.get("question")
        if not question:
            raise Refused("only answers about whether there is such a thing teach the aggregator")
        truth = (talk.answer["kind"] == "yes") == right
        self._node.label(question, truth, tab.who)
        talk.answer["label"] = right
        self.state.touch("talk")
        word = "right" if right else "wrong"
        self.state.moment("label", "", f"{tab.who}: {talk.words}: {word}")
        return f"marked as {word}"

    async def _train(self, said: Said, tab: Tab) -> str:
        """Let the aggregator learn from what was marked; what comes of it stands on the page."""
        if self.state.training.get("working"):
            raise Refused("the aggregator is being trained; wait for its end")
        self.state.trained(working=True)
        done, text = False, "the aggregator was not reached"
        try:
            told = await self._trainer.call(Trigger.Request(), timeout=_TRAIN, attempts=1)
            done, text = bool(told.success), str(told.message)
        except NoAnswer as error:
            text = str(error)
        finally:
            self.state.trained(done=done, text=text)
        self.state.moment("train", "", f"{tab.who}: {text}")
        if not done:
            raise Refused(text)
        return text

    # -- tasks ---------------------------------------------------------------------------------

    async def _task(self, said: Said, tab: Tab) -> str:
        return self._given(self._words(said), tab)

    def _given(self, words: str, tab: Tab, resumed: bool = False) -> str:
        going = self.state.current_task()
        if going is not None:
            raise Refused(f"a task is at work: {going.words}; wait for its end, or cancel it")
        task = self.state.begin_task(words, tab.who)
        task.resumed = resumed
        self._begin(f"task {task.id}", self._done(task, words))
        return ""

    async def _resume(self, said: Said, tab: Tab) -> str:
        """Give a task that ended early once more; what is in place counts as done."""
        task = next((one for one in self.state.tasks if one.id == said.get("task")), None)
        if task is None or not self.state.resumable(task):
            raise Refused("only a task that ended before all was done can be resumed")
        return self._given(task.meant or task.words, tab, resumed=True)

    async def _done(self, task: Task, words: str) -> None:
        goal = ExecuteTask.Goal(task=words, resume=task.resumed)

        def feedback(message: Any) -> None:
            task.stage, task.round = str(message.stage), int(message.round)
            with contextlib.suppress(ConversionError):
                self.state.sub_tasks([sub_task_from_msg(one) for one in message.sub_tasks])
            self.state.touch("tasks")

        try:
            end = await followed(
                self._tasks,
                goal,
                feedback,
                lambda: task.stage in STAGES[1:3],
                lambda text: self.state.said("console", "note", text),
            )
        except asyncio.CancelledError:
            self.state.end_task(task, "cancelled", "the robots were told to stop")
            raise
        except (GoalRejected, NoAnswer) as error:
            self.state.end_task(task, "not_done", str(error))
            return
        with contextlib.suppress(ConversionError):
            _, task.round, sub_tasks = assignment_from_msg(end.result.assignment)
            task.sub_tasks = sub_tasks or task.sub_tasks
        told = str(end.result.message)
        if end.result.not_searched:
            told += f"; not searched, or not enough: {', '.join(end.result.not_searched)}"
        self.state.end_task(task, OUTCOMES.get(int(end.result.outcome), "not_done"), told)

    async def _cancel(self, said: Said, tab: Tab) -> str:
        """Take back a question, or cancel a task, also one that was given elsewhere."""
        if "talk" in said:
            return self._taken_back(str(said["talk"]), "taken back")
        id_ = str(said.get("task"))
        task = next((one for one in self.state.tasks if one.id == id_), None)
        if task is None or task.outcome:
            raise Refused("this task does not go on any more")
        self.state.moment("cancel", "", f"{tab.who}: {task.words}")
        if task.own:
            return self._taken_back(f"task {id_}", "the task was cancelled")
        # A request for no goal in particular is for all goals of the leader.
        told = await self._cancel_all.call(CancelGoal.Request(), timeout=5.0, attempts=1)
        if told.return_code != CancelGoal.Response.ERROR_NONE:
            raise Refused("the leader has no task that can be cancelled")
        return "the task was cancelled"

    def _taken_back(self, id_: str, told: str) -> str:
        working = self._working.get(id_)
        if working is None:
            raise Refused("it is over already")
        working.cancel()
        return told

    def on_turn(self, turn: DiscussionTurn) -> None:
        """Take a turn of a discussion about a task."""
        if self.state.current_task() is None:
            return
        talk = Transcript("", "")
        try:
            if turn.kind == DiscussionTurn.PROPOSE:
                proposal = proposal_from_msg(turn)
                self.state.named(proposal.words)
                talk.propose(proposal, list(turn.recipients))
            elif turn.kind in (DiscussionTurn.ACCEPT, DiscussionTurn.REJECT):
                talk.reflect(reflection_from_msg(turn))
            else:
                talk.say("statement", turn.speaker, turn.text)
        except ConversionError as error:
            talk.say("problem", turn.speaker, f"not understood: {error}")
        said = talk.turns[-1]
        self.state.said(said.speaker, said.kind, said.text)

    # -- questions to the person ---------------------------------------------------------------

    async def attend(self, there: bool) -> None:
        """Take questions of the team while an operator's page is open, and leave them else.

        Where nobody looks, no service is offered: a terminal may be there that answers. Nor is it
        while a command of this computer does so; call it now and then.
        """
        async with self._attending:
            if there and self._service is None and self._seat.take():
                make = lambda: serve(self._node, AskInWords, PERSON, self._put, None)  # noqa: E731
                self._service = await self._node.in_executor(make)
            elif not there and self._service is not None:
                service, self._service = self._service, None
                await self._node.in_executor(self._node.destroy_service, service)
                self._seat.leave()

    async def _put(self, request: AskInWords.Request) -> AskInWords.Response:
        try:
            question = words_question_from_msg(request, PERSON)
        except ConversionError as error:
            return words_answer_to_msg(WordsAnswer(reason=str(error)))
        return words_answer_to_msg(await self._asked_person(question))

    async def _asked_person(self, question: WordsQuestion) -> WordsAnswer:
        end = time.monotonic() + question.within
        async with self._one_question:
            if time.monotonic() >= end:
                return WordsAnswer(reason="the person was busy with another question")
            self._asked += 1
            self.state.question = {
                "number": self._asked,
                "asker": plain(question.asker),
                "text": plain(question.text, QUESTION_CHARS),
                "choices": [plain(choice, 100) for choice in question.choices],
            }
            self.state.touch("question")
            self.state.moment("question", question.asker, question.text)
            typed = self._typed = asyncio.get_running_loop().create_future()
            try:
                return await self._typed_in_time(typed, end, question)
            finally:
                self._typed = self.state.question = None
                self.state.touch("question")

    async def _typed_in_time(
        self, typed: asyncio.Future[str], end: float, question: WordsQuestion
    ) -> WordsAnswer:
        there = time.monotonic()
        while (now := time.monotonic()) < end:
            await asyncio.wait([typed], timeout=min(1.0, end - now))
            if typed.done():
                words = inline_data(typed.result(), limit=ANSWER_CHARS)
                text = told_choice(words, question.choices)
                return WordsAnswer(text, "" if text else "the person gave no answer")
            there = time.monotonic() if self._operators() else there
            if time.monotonic() - there > _GONE:
                return WordsAnswer(reason=NOBODY)
        return WordsAnswer(reason="the person did not answer in time")

    async def _answer(self, said: Said, tab: Tab) -> str:
        text = said.get("text")
        if not isinstance(text, str) or len(text) > ANSWER_CHARS:
            raise Refused(f"expected words in 'text', at most {ANSWER_CHARS} characters")
        if said.get("number") != self._asked or self._typed is None or self._typed.done():
            raise Refused("this question was answered already, or its time is over")
        self._typed.set_result(text)
        return ""
