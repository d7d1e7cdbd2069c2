"""`./coterie permits`: a person allows or refuses what robots ask for, and takes it back."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import re
import socket
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from rclpy.context import Context
from rich.console import Console
from rich.table import Table

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import RunState, key_file
from coterie_bringup.signals import ended_by_signals
from coterie_bringup.spinning import in_loop, spinning
from coterie_cli.person import PersonAtTerminal
from coterie_core.wording import enumerated
from coterie_llm import inline_data
from coterie_requests.asking import WordsQuestion
from coterie_ros.agent_node import AgentNode
from coterie_ros.permit_client import PermitClient
from coterie_ros.stopping import STOPPED
from coterie_safety.permits import TASK, Decision, Permit, PermitRequest
from coterie_safety.permits.names import REQUESTS

_SETTLE = 6.0
"""How long the robots' lists of requests are waited for [s]; a robot that asks nobody has none."""
_FOUND = 2.5
"""How long who asks and is no robot of the team, an assistant, may take to be found [s]."""
_ID = 12
"""Digits of the hash of what is shown that stand for it: an answer by them is to these words."""
_ALIKE = 600.0
"""How long the answer that allows goals alike does [s]."""
ONCE, LONGER, REFUSE = "allow this once", "allow goals alike for 10 minutes", "refuse"
_YES, _NO = ("y", "yes", "allow"), ("n", "no")
_ALL = 5000
"""Characters of a request that are shown: a person reads all that they sign."""
_IN_QUESTION = 500
"""Characters of it that a question to a person has room for; more is shown before."""
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?")
_UNITS = {None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def who() -> str:
    """Return who sits here: login and computer."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


class PermitsAtTerminal:
    """Puts robots' requests to whoever sits at the terminal; make it in a node's `on_start`.

    Args:
        node: The command's node.
        robots: The team's robots.
        person: Answers; where nobody is there, it is only said that a robot waits.
        say: Shows a line.

    Attributes:
        client: Of the robots' requests.
    """

    def __init__(
        self,
        node: AgentNode,
        robots: Sequence[str],
        person: PersonAtTerminal,
        say: Callable[[str], object],
    ) -> None:
        self._node, self._person, self._say = node, person, say
        self._put: set[str] = set()
        self.client = PermitClient(node, robots, key_file(), self._changed)

    def _changed(self) -> None:
        for request in self.client.waiting.values():
            if request.id not in self._put:
                self._put.add(request.id)
                self._node.run(self._ask(request), "permit")

    async def _ask(self, request: PermitRequest) -> None:
        if not self._person.there:
            asked = inline_data(request.text, limit=_ALL)
            self._say(f"{request.goal.robot} waits for a permit: {asked}; see ./coterie permits")
            return
        while (left := request.until - time.time()) > 0.0:
            if len(request.text) > _IN_QUESTION:
                self._say(f"  {inline_data(request.text, limit=_ALL)}")
            alike = () if request.goal.skill == TASK else (LONGER,)
            choices = (ONCE, *alike, REFUSE)
            question = WordsQuestion(
                request.goal.robot, "", f"may it? {request.text}", choices, left
            )
            text = (await self._person.answer(question)).text
            if request.id not in self.client.waiting or not text:
                return  # answered elsewhere, over, or left to others
            decision = decision_of(text)
            if decision is None:
                self._say(f"  not understood: {inline_data(text)}; type one of the numbers")
                continue
            lasting = _ALIKE if text == LONGER else 0.0
            try:
                _, told = await self.client.answer(request, decision, who(), lasting=lasting)
            except ValueError as error:
                told = str(error)
            self._say(f"  {inline_data(told, limit=300)}")
            return


def decision_of(text: str) -> Decision | None:
    """Return what a person's words mean; None: nothing that is clear."""
    said = text.strip().lower()
    if said in (ONCE, LONGER, *_YES):
        return Decision.ALLOW
    return Decision.REFUSE if said in (REFUSE, *_NO) else None


class _PermitNode(AgentNode):
    """The node of `./coterie permits`."""

    SAYS_READY = False

    def __init__(
        self, robots: Sequence[str], person: PersonAtTerminal | None, say: Callable[[str], object],
        *, namespace: str = "", context: Context | None = None,
    ) -> None:  # fmt: skip
        self._robots, self._person, self._say = list(robots), person, say
        super().__init__(
            f"permits_{os.getpid()}",
            namespace=namespace or None,
            context=context,
            parameters={"diagnostics_period": 0.0},
            light=True,
        )

    def on_start(self) -> None:
        """Hear of the robots' requests; put them to the person where one is there."""
        if self._person is not None:
            self.permits = PermitsAtTerminal(self, self._robots, self._person, self._say).client
        else:
            self.permits = PermitClient(self, self._robots, key_file())

    def unheard(self, topic: str) -> list[str]:
        """Return the robots of the team whose lists have not come, and that publish a topic."""
        silent = [robot for robot in self._robots if robot not in self.permits.heard]
        return [robot for robot in silent if self.count_publishers(f"{robot}/{topic}")]

    async def told(self, meant: str = "", *, standing: bool = False) -> None:
        """Wait until robots and assistants had time to tell.

        Args:
            meant: Beginning of an id, or name of a robot: once it is there, no more is waited for.
            standing: Whether it is of a permit that holds, and not of a request.
        """
        begin = time.monotonic()
        while (waited := time.monotonic() - begin) < _SETTLE:
            told = waited > _FOUND and not self.unheard(REQUESTS)
            client = self.permits
            there = _meant(client.standing, meant) if standing else _meant(client.waiting, meant)
            if there or (told and not meant):
                break
            await asyncio.sleep(0.05)


@contextlib.contextmanager
def _permit_node(
    state: RunState, person: PersonAtTerminal | None, say: Callable[[str], object]
) -> Iterator[_PermitNode]:
    with spinning(
        lambda context: _PermitNode(
            state.robots, person, say, namespace=state.namespace, context=context
        ),
        domain=state.domain,
        environment=state.environment,
    ) as node:
        yield node


def show(state: RunState) -> int:
    """Print the requests that wait and the permits that hold; return 0."""

    async def work() -> tuple[PermitClient, list[str]]:
        with _permit_node(state, None, print) as node:
            await in_loop(node, node.told())
            return node.permits, node.unheard(STOPPED)

    permits, free = asyncio.run(work())
    console = Console(highlight=False)
    silent = [robot for robot in state.robots if robot not in {*permits.heard, *free}]
    if free:
        console.print(f"nobody has to permit what {_plain(enumerated(free))} do", style="dim")
    if silent:
        console.print(f"not heard of: {_plain(enumerated(silent))}", style="yellow")
    if not (state.robots or permits.heard):
        console.print(f"nobody who asks for permits was found in ROS domain {state.domain}")
    if permits.waiting:
        table = Table("id", "request", "left", "asked by", box=None)
        for request in permits.waiting.values():
            text = _plain(inline_data(request.text, limit=_ALL))
            table.add_row(request.shown[:_ID], text, _left(request.until), _plain(request.rule))
        console.print(table)
        console.print(
            "answer with ./coterie permits allow ID, or refuse ID --reason ...", style="dim"
        )
    elif permits.heard:
        robots = _plain(", ".join(sorted(permits.heard)))
        console.print(f"nothing waits for a permit of {robots}")
    if permits.standing:
        table = Table("id", "holds for", "left", "given by", box=None)
        for permit in permits.standing.values():
            text = _plain(inline_data(permit.text, limit=_ALL))
            by = _plain(inline_data(permit.by, limit=80))
            table.add_row(permit.shown[:_ID], text, _left(permit.until), by)
        console.print(table)
        console.print("take back with ./coterie permits revoke ID", style="dim")
    return 0


def _left(until: float) -> str:
    seconds = max(until - time.time(), 0.0)
    return f"{seconds:.0f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def decide(
    decision: Decision,
    id_: str,
    by: str,
    reason: str,
    lasting: str,
    state: RunState,
) -> int:
    """Answer a request; return 0 if that was accepted, else 1.

    Args:
        decision: What the person decides.
        id_: Beginning of the hash of what was shown, as `show` has it, or name of a robot with one
            request.
        by: Who says so; "": the login.
        reason: Why.
        lasting: How long goals alike are allowed, such as `10m`; "": this one is, once.
        state: The team.

    Raises:
        CommandError: No such request, or several; no span of time; no key.
    """
    seconds = span(lasting) if lasting else 0.0

    async def answer(node: _PermitNode) -> tuple[bool, str]:
        await node.told(id_)
        request = chosen(node.permits.waiting, id_)
        return await node.permits.answer(request, decision, by or who(), reason, lasting=seconds)

    return _decided(answer, state)


def revoke(id_: str, by: str, reason: str, state: RunState) -> int:
    """End a permit for goals alike; return 0 if that was accepted, else 1.

    Args:
        id_: Beginning of the hash of what was shown, as `show` has it, or name of a robot with one
            permit.
        by: Who says so; "": the login.
        reason: Why.
        state: The team.

    Raises:
        CommandError: No such permit, or several; no key.
    """

    async def answer(node: _PermitNode) -> tuple[bool, str]:
        await node.told(id_, standing=True)
        permit = chosen(node.permits.standing, id_, "permit that holds")
        return await node.permits.revoke(permit, by or who(), reason)

    return _decided(answer, state)


def _decided(
    answer: Callable[[_PermitNode], Coroutine[Any, Any, tuple[bool, str]]],
    state: RunState,
) -> int:
    async def work() -> tuple[bool, str]:
        with _permit_node(state, None, print) as node:
            try:
                return await in_loop(node, answer(node))
            except ValueError as error:
                raise CommandError(str(error)) from None

    accepted, told = asyncio.run(work())
    print(inline_data(told, limit=400))
    return 0 if accepted else 1


_Named = TypeVar("_Named", PermitRequest, Permit)


def _meant(among: Mapping[str, _Named], id_: str) -> list[_Named]:
    return [
        one
        for one in among.values()
        if id_ and (one.shown.startswith(id_.lower()) or one.goal.robot == id_)
    ]


def chosen(among: Mapping[str, _Named], id_: str, kind: str = "request that waits") -> _Named:
    """Return the request, or the permit, that is meant.

    Raises:
        CommandError: None is, or several are.
    """
    meant = _meant(among, id_)
    if len(meant) == 1:
        return meant[0]
    ids = ", ".join(f"{one.shown[:_ID]} ({one.goal.robot})" for one in meant or among.values())
    noun = kind.split()[0]
    what = f"several {noun}s are" if meant else f"no {kind} is"
    raise CommandError(f"{what} called {inline_data(id_)}; {noun}s: {ids or 'there is none'}")


def span(text: str) -> float:
    """Return a span of time [s], such as `90`, `10m` or `1h`.

    Raises:
        CommandError: It is none.
    """
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None or not float(found[1]) > 0.0:
        raise CommandError(f"{text!r} is no span of time; for example 90s, 10m or 1h")
    return float(found[1]) * _UNITS[found[2]]


def watch(state: RunState) -> int:
    """Put requests to whoever sits at the terminal, until Ctrl-C.

    Raises:
        CommandError: Nobody can type here.
    """
    console = Console()
    person = PersonAtTerminal(console)
    if not person.there:
        raise CommandError("permits watch asks at a terminal; here is none")

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    async def work() -> None:
        async with ended_by_signals():
            with contextlib.closing(person), _permit_node(state, person, say):
                say("requests for permits are shown here; Ctrl-C ends")
                await asyncio.Event().wait()

    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(work())
    return 0
