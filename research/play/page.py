"""People play in the browser: an aiohttp server on this machine, one secret link per person."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from aiohttp import WSMsgType, web

from coterie_console.site import MAX_MESSAGE_CHARS, PageError, Site
from coterie_console.text import plain
from coterie_llm import inline_data
from coterie_requests.asking import (
    ANSWER_CHARS,
    NOBODY,
    QUESTION_CHARS,
    WordsAnswer,
    WordsQuestion,
    told_choice,
)
from research.play.actions import choices
from research.play.person import Choice, Person
from research.play.record import QUESTIONS, SCALE, PlayError
from research.play.session import PlaySession, Quit
from research.play.state import state_of

PACE = 0.08
"""How long a step of a walk is shown [s]."""
GONE = 3.0
"""After which a person whose pages are all closed is not waited for any more [s]."""
_DATA = Path(__file__).with_name("data")
_FILES = {
    "/dom.js": "dom.js",  # the console's
    "/play.js": str(_DATA / "play.js"),
    "/play.css": str(_DATA / "play.css"),
}
Phase = Literal["wait", "choose", "going", "questions", "thanks", "ended"]
_log = logging.getLogger(__name__)


class Seat:
    """One person's place: the link, the pages that are open there, and what is waited for.

    Args:
        name: Who plays here.
        pace: How long a step of a walk is shown [s].
    """

    def __init__(self, name: str, pace: float = PACE) -> None:
        self.name, self.pace = name, pace
        self.token = secrets.token_urlsafe(16)
        self.phase: Phase = "wait"
        self.turn = 0
        self.person: Person | None = None
        self.sockets: set[web.WebSocketResponse] = set()
        self.answered = asyncio.Event()
        self._found: list[Choice] = []
        self._waiting: asyncio.Future[Choice] | None = None
        self._session: PlaySession | None = None
        self._one_at_a_time = asyncio.Lock()
        self._question: WordsQuestion | None = None
        self._asked = 0
        self._typed: asyncio.Future[str] | None = None

    # --- the interface of the person -------------------------------------------------------------

    async def decide(self, person: Person) -> Choice:
        """Show what can be done and wait for a click or words."""
        self.person = person
        self._found = choices(person)
        self.turn += 1
        self._waiting = asyncio.get_running_loop().create_future()
        await self.show("choose")
        try:
            choice = await self._waiting
        finally:
            self._waiting, self._found = None, []
        await self.show("wait")
        return choice

    async def underway(self, person: Person) -> None:
        """Show a step of a walk."""
        await self.show("going")
        await asyncio.sleep(self.pace)

    async def answer(self, question: WordsQuestion) -> WordsAnswer:
        """Show a question of another agent's model and wait for what is typed, in its time."""
        if not self.sockets:
            return WordsAnswer(reason=NOBODY)
        end = time.monotonic() + question.within
        async with self._one_at_a_time:
            if time.monotonic() >= end:
                return WordsAnswer(reason="the person was busy with another question")
            self._question, self._asked = question, self._asked + 1
            typed = self._typed = asyncio.get_running_loop().create_future()
            try:
                await self.show(self.phase, self._session)
                return await self._answered(typed, end, question.choices)
            finally:
                self._question = self._typed = None
                await self.show(self.phase, self._session)

    async def _answered(
        self, typed: asyncio.Future[str], end: float, choices: Sequence[str]
    ) -> WordsAnswer:
        there = time.monotonic()
        while (now := time.monotonic()) < end:
            await asyncio.wait([typed], timeout=min(1.0, end - now))
            if typed.done():
                text = told_choice(inline_data(typed.result(), limit=ANSWER_CHARS), choices)
                return WordsAnswer(text, "" if text else "the person gave no answer")
            there = time.monotonic() if self.sockets else there
            if time.monotonic() - there > GONE:
                return WordsAnswer(reason="the person has left")
        return WordsAnswer(reason="the person did not answer in time")

    # --- pages -----------------------------------------------------------------------------------

    async def show(self, phase: Phase, session: PlaySession | None = None) -> None:
        """Show a phase on all pages of this seat."""
        self.phase = phase
        self._session = session
        text = json.dumps(self.state())
        for socket in tuple(self.sockets):
            with contextlib.suppress(ConnectionError, RuntimeError):
                await socket.send_str(text)

    def state(self) -> dict[str, Any]:
        """Return what the page shows now."""
        out: dict[str, Any] = {"phase": self.phase, "turn": self.turn, "name": plain(self.name)}
        if self.person is not None:
            out |= state_of(self.person, self._found)
        asked = self._question
        if asked is not None:
            out["question"] = {
                "number": self._asked,
                "asker": plain(asked.asker),
                "text": plain(asked.text, QUESTION_CHARS),
                "choices": [plain(choice, 100) for choice in asked.choices],
            }
        session = self._session
        if session is not None:
            out["summary"] = [list(row) for row in session.summary()]
            out["scale"] = SCALE
            out["questions"] = [[name, QUESTIONS[name]] for name in session.record.asked()]
        return out

    def hear(self, said: Any, session: PlaySession) -> None:
        """Do what a page asks for.

        Raises:
            ValueError: It cannot be done now; says why.
            PlayError: Answers are not complete, or cannot be saved.
        """
        if not isinstance(said, dict):
            raise ValueError("expected an object")
        do = said.get("do")
        if do == "answers":
            if self.phase != "questions":
                raise ValueError("there is nothing to answer now")
            answers, comment = said.get("answers"), said.get("comment", "")
            if not isinstance(answers, dict) or not isinstance(comment, str):
                raise ValueError("expected answers and a comment")
            session.answer(self.name, answers, comment)
            self.phase = "thanks"
            self.answered.set()
        elif do == "answer":
            text = said.get("text")
            if not isinstance(text, str):
                raise ValueError("expected words")
            # A page that shows an earlier question, or a second answer, does nothing.
            if said.get("number") == self._asked and self._typed and not self._typed.done():
                self._typed.set_result(text)
        elif do == "stop" and self.person is not None:
            self.person.stop()
        elif do in ("choose", "say"):
            # A click on a page that shows an earlier moment, or a second one, does nothing.
            if said.get("turn") != self.turn or self._waiting is None or self._waiting.done():
                return
            self._waiting.set_result(self._choice(said))
        else:
            raise ValueError(f"{str(do)[:40]!r} is nothing that can be done")

    def _choice(self, said: Mapping[str, Any]) -> Choice:
        assert self.person is not None
        if said["do"] == "say":
            text, to = said.get("text"), said.get("to", "")
            if not isinstance(text, str) or not isinstance(to, str):
                raise ValueError("expected words, and for whom")
            return self.person.message(text, to)
        for choice in self._found:
            if choice.id == said.get("id"):
                return choice
        raise ValueError("that cannot be done any more")


class PlayPage:
    """Serves the pages of all people of a session.

    Args:
        session: What is played; its interfaces are the seats.
        seats: Seat by person.
        port: Where; None: the first free one from 8080 on; 0: any.
    """

    def __init__(
        self, session: PlaySession, seats: Mapping[str, Seat], port: int | None = None
    ) -> None:
        self.session, self.seats = session, seats
        handlers = {"/": self._page, "/socket": self._socket}
        self._site = Site(handlers, _FILES, port=port)

    @property
    def port(self) -> int:
        """Where it is served."""
        return self._site.port

    def link(self, name: str) -> str:
        """Return a person's link."""
        return f"http://localhost:{self.port}/?seat={self.seats[name].token}"

    async def start(self) -> None:
        """Begin to serve.

        Raises:
            PlayError: The port cannot be had.
        """
        try:
            await self._site.start()
        except PageError as error:
            raise PlayError(str(error)) from None

    async def stop(self) -> None:
        """End serving; the port is free afterwards."""
        for seat in self.seats.values():
            for socket in tuple(seat.sockets):
                with contextlib.suppress(Exception):
                    await socket.close()
        await self._site.stop()

    async def play(self) -> None:
        """Play the session to the end of the questionnaire.

        Raises:
            PlayError: It cannot be saved or resumed.
            Quit: It was ended before; it is saved.
        """
        try:
            await self.session.play()
            for name, seat in self.seats.items():
                seat.person = self.session.people[name]
                there = name in self.session.record.answers
                if there:
                    seat.answered.set()
                await seat.show("thanks" if there else "questions", self.session)
            for seat in self.seats.values():
                await seat.answered.wait()
        except (asyncio.CancelledError, Quit, PlayError):
            for seat in self.seats.values():
                await seat.show("ended")
            raise
        for seat in self.seats.values():
            await seat.show("thanks", self.session)

    # --- requests --------------------------------------------------------------------------------

    def _seat(self, request: web.Request) -> Seat:
        token = request.query.get("seat", "")
        for seat in self.seats.values():
            if hmac.compare_digest(token.encode(), seat.token.encode()):
                return seat
        raise web.HTTPForbidden(text="open the link that ./coterie play printed; it has a key")

    async def _page(self, request: web.Request) -> web.Response:
        self._seat(request)
        return self._site.page(str(_DATA / "play.html"))

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        seat = self._seat(request)
        socket = web.WebSocketResponse(heartbeat=20.0, max_msg_size=MAX_MESSAGE_CHARS)
        await socket.prepare(request)
        seat.sockets.add(socket)
        try:
            await socket.send_json(seat.state())
            async for message in socket:
                if message.type != WSMsgType.TEXT:
                    continue
                try:
                    seat.hear(json.loads(message.data), self.session)
                    if seat.phase == "thanks":
                        await seat.show("thanks", self.session)
                except (ValueError, PlayError) as error:
                    await socket.send_json({"error": plain(str(error), 400)})
        except ConnectionError:
            pass
        finally:
            seat.sockets.discard(socket)
        return socket
