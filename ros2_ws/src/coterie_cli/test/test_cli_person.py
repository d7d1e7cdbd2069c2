"""The person at the terminal: a real pseudo-terminal, answers typed in time or not."""

from __future__ import annotations

import asyncio
import io
import os
import threading
import time
from collections.abc import Iterator

import pytest
from rich.console import Console
from rich.live import Live

from coterie_cli.person import PersonAtTerminal
from coterie_requests.asking import WordsQuestion


class Terminal:
    """A pseudo-terminal with a person at its other end."""

    def __init__(self) -> None:
        self.keys, end = os.openpty()
        self.stdin = os.fdopen(end, "r")
        self.shown = io.StringIO()
        self.person = PersonAtTerminal(Console(file=self.shown, force_terminal=True), self.stdin)

    def types(self, text: str, after: float = 0.1) -> None:
        threading.Timer(after, os.write, (self.keys, text.encode())).start()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.person.close()
    made.stdin.close()
    os.close(made.keys)


def asked(text: str, within: float = 20.0, *choices: str) -> WordsQuestion:
    return WordsQuestion("rover", "t", text, choices, within)


def test_what_is_typed_is_the_answer(terminal: Terminal) -> None:
    assert terminal.person.there
    terminal.types("2\n")
    question = asked("Which [red]cup\x1b[31m?", 20.0, "the red one", "the blue one")
    answer = asyncio.run(terminal.person.answer(question))
    assert answer.text == "the blue one"
    shown = terminal.shown.getvalue()
    assert "rover asks: Which [red]cup" in shown, "markup of a model is text"
    assert "\x1b[31m?" not in shown


def test_questions_come_one_after_the_other(terminal: Terminal) -> None:
    async def both() -> list[str]:
        asks = (terminal.person.answer(asked(text)) for text in ("first?", "second?"))
        return [answer.text for answer in await asyncio.gather(*asks)]

    terminal.types("a\nb\n")
    assert asyncio.run(both()) == ["a", "b"]


def test_nobody_waits_for_an_answer_that_does_not_come(terminal: Terminal) -> None:
    answer = asyncio.run(terminal.person.answer(asked("Well?", 0.5)))
    assert not answer.text and "in time" in answer.reason
    terminal.types("\n")
    answer = asyncio.run(terminal.person.answer(asked("Well?")))
    assert not answer.text and "gave no answer" in answer.reason


def test_nothing_is_drawn_over_a_question(terminal: Terminal) -> None:
    console = Console(file=terminal.shown, force_terminal=True)
    live = Live("the table", console=console, refresh_per_second=50)
    drawn: list[bool] = []
    threading.Timer(0.3, lambda: drawn.append(live.is_started)).start()
    with terminal.person.beside(live):
        assert live.is_started
        terminal.types("yes\n", after=0.6)
        assert asyncio.run(terminal.person.answer(asked("May I?"))).text == "yes"
        assert drawn == [False] and live.is_started
    assert not live.is_started


def test_what_is_shown_does_not_come_back_after_its_end(terminal: Terminal) -> None:
    live = Live("the table", console=Console(file=terminal.shown, force_terminal=True))
    waiting = threading.Thread(
        target=lambda: asyncio.run(terminal.person.answer(asked("Well?", 1.0)))
    )
    with terminal.person.beside(live):
        waiting.start()
        while "Well?" not in terminal.shown.getvalue():
            time.sleep(0.01)
    waiting.join()
    assert not live.is_started


def test_no_terminal_no_person() -> None:
    reader, writer = os.pipe()
    os.close(writer)
    with os.fdopen(reader, "r") as stdin:
        assert not PersonAtTerminal(Console(file=io.StringIO(), force_terminal=True), stdin).there
    closed = io.StringIO()
    closed.close()
    assert not PersonAtTerminal(Console(force_terminal=True), closed).there


@pytest.mark.ros
@pytest.mark.parametrize("there", [True, False], ids=["at a terminal", "no terminal"])
def test_who_gives_a_task_answers_the_teams_models(ros, terminal: Terminal, there: bool) -> None:
    pytest.importorskip("coterie_msgs")
    from coterie_bringup.task_record import TaskRecord
    from coterie_bringup.task_watcher import TaskWatcher
    from coterie_cli.person_seat import attend
    from coterie_msgs.srv import AskInWords
    from coterie_ros import conversions

    person = terminal.person
    if not there:
        person = PersonAtTerminal(Console(file=io.StringIO()), terminal.stdin)
    watcher = TaskWatcher(
        ["rover"],
        TaskRecord("tidy up"),
        attend=lambda node: attend(node, ["rover"], person, "do"),
        context=ros.context,
    )
    ros.add(watcher)
    ros.wait_active(watcher)
    client = ros.node("model").create_client(AskInWords, "ask_person")
    if not there:
        ros.spin(1.0)
        assert not client.service_is_ready(), "models are told at once that nobody is there"
        return
    ros.wait_for_matched(client)
    request = AskInWords.Request(
        asker="rover",
        question="Which cup?",
        choices=["red", "blue"],
        within=conversions.duration_to_msg(30.0),
    )
    terminal.types("blue\n")
    answer = ros.result(client.call_async(request))
    assert (answer.answered, answer.text) == (True, "blue")


@pytest.mark.ros
def test_a_second_command_says_who_answers_and_follows_when_that_has_ended(ros, terminal: Terminal):
    pytest.importorskip("coterie_msgs")
    from coterie_bringup.task_record import TaskRecord
    from coterie_bringup.task_watcher import TaskWatcher
    from coterie_cli.person_seat import attend, serve_person
    from coterie_ros.agent_node import AgentNode

    class Second(AgentNode):
        def on_setup(self, parameters) -> None:
            serve_person(self, other, "ask")

    shown = io.StringIO()
    other = PersonAtTerminal(Console(file=shown, force_terminal=True, width=200), terminal.stdin)
    first = ros.add(
        TaskWatcher(
            ["rover"],
            TaskRecord("tidy"),
            attend=lambda node: attend(node, ["rover"], terminal.person, "do"),
            context=ros.context,
        )
    )
    ros.wait_active(first)
    second = ros.add(Second("second", context=ros.context))
    ros.wait_active(second)
    assert f"./coterie do (process {os.getpid()}) answers the team's questions" in shown.getvalue()
    ears = ros.node("ears")
    ros.spin_until(lambda: ears.count_services("ask_person") == 1)
    ros.spin(1.5)
    assert ears.count_services("ask_person") == 1
    ros.remove(first)
    ros.spin_until(
        lambda: any(
            name == "/ask_person"
            for name, _ in ears.get_service_names_and_types_by_node("second", "/")
        ),
        what="the second to follow",
    )
