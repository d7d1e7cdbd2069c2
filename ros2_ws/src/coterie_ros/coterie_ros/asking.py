"""Questions in words over services: to the person who gave the task, and to other robots."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from coterie_core.waiting import in_time
from coterie_llm import Decider
from coterie_msgs.srv import AskInWords
from coterie_requests.asking import NOBODY, Asking, WordsAnswer, WordsQuestion
from coterie_ros.clients import NoAnswer, ServiceClient
from coterie_ros.conversions.asking import (
    words_answer_from_msg,
    words_answer_to_msg,
    words_question_from_msg,
    words_question_to_msg,
)
from coterie_ros.conversions.checks import ConversionError
from coterie_ros.parameters import ParameterSpec

if TYPE_CHECKING:
    from coterie_requests.ask_back import Person
    from coterie_ros.agent_node import AgentNode

PERSON = "ask_person"
"""Service of the team: whoever gave the task answers."""
ROBOT = "ask_in_words"
"""Service of a robot: it tells what it knows."""
_DISCOVERY_TIMEOUT_S = 0.3
"""Time that a person's service is looked for; it is there before the task is [s]."""
_LOST_TIMEOUT_S = 2.0
"""Time that the service of whoever was asked may be out of sight [s]."""

ROOMS_PARAMETER = ParameterSpec(
    "rooms_given",
    False,
    "The map has had all rooms from the start, so that what is in none of them is not there.",
)

Answerer = Callable[[WordsQuestion], Awaitable[WordsAnswer]]


class ServiceContacts:
    """Reaches the person and robots over their services.

    Args:
        node: Node that asks; call it in `on_setup`.
        team: Prefix of the team's names, ending in `/`, or empty.
    """

    def __init__(self, node: AgentNode, team: str) -> None:
        self._node, self._team = node, team
        self._person = ServiceClient(node, AskInWords, f"{team}{PERSON}")
        self._robots: dict[str, ServiceClient] = {}

    async def ask_person(self, question: WordsQuestion) -> WordsAnswer:
        """Ask whoever gave the task; at once without an answer where nobody is there."""
        if not await self._person.wait(_DISCOVERY_TIMEOUT_S):
            return WordsAnswer(reason=NOBODY)
        return await self._asked(self._person, question)

    async def ask_robot(self, robot: str, question: WordsQuestion) -> WordsAnswer:
        """Ask another robot what it knows."""
        client = self._robots.get(robot)
        if client is None:
            client = ServiceClient(self._node, AskInWords, f"{self._team}{robot}/{ROBOT}")
            self._robots[robot] = client
        return await self._asked(client, question)

    async def _asked(self, client: ServiceClient, question: WordsQuestion) -> WordsAnswer:
        request = words_question_to_msg(question)
        calling = asyncio.ensure_future(client.call(request, timeout=question.within, attempts=1))
        try:
            while not calling.done():
                await asyncio.wait({calling}, timeout=1.0)
                if not calling.done() and not await client.wait(_LOST_TIMEOUT_S):
                    return WordsAnswer(reason="whoever was asked has gone")
            return words_answer_from_msg(calling.result(), client.name)
        except NoAnswer:
            return WordsAnswer(reason=f"no answer came within {question.within:.0f} s")
        except ConversionError as error:
            self._node.problem(str(error))
            return WordsAnswer(reason="the answer could not be read")
        finally:
            calling.cancel()


def node_asking(
    node: AgentNode, decider: Decider, who: str, robots: Sequence[str], team: str = ""
) -> Asking | None:
    """Return what a node's model asks with; None where rules decide, which ask nobody.

    Call it in `on_setup`.

    Args:
        node: The node.
        decider: Decider that decides for it.
        who: Its name as an asker.
        robots: The team.
        team: Prefix of the team's names, ending in `/`, or empty.
    """
    return None if decider.rule_only else Asking(who, robots, ServiceContacts(node, team))


def node_person(node: AgentNode, team: str = "") -> Person:
    """Return how a node asks the person who gave a request; call it in `on_setup`.

    Args:
        node: The node.
        team: Prefix of the team's names, ending in `/`, or empty.
    """
    return ServiceContacts(node, team).ask_person


def serve_words(node: AgentNode, name: str, answer: Answerer) -> None:
    """Offer a service that answers questions in words.

    Args:
        node: The node; call it in `on_setup` or `on_start`.
        name: Name of the service.
        answer: Answers, by `within` of the question; later ones are dropped.
    """

    async def work(request: AskInWords.Request) -> AskInWords.Response:
        try:
            question = words_question_from_msg(request, name)
        except ConversionError as error:
            node.problem(str(error))
            return words_answer_to_msg(WordsAnswer(reason=str(error)))
        try:
            return words_answer_to_msg(await in_time(answer(question), question.within))
        except asyncio.TimeoutError:
            return words_answer_to_msg(WordsAnswer(reason="not answered in time"))

    node.serve(AskInWords, name, work)
