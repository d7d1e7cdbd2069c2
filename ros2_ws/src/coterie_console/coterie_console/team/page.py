"""The console's page: who may open it, what it is sent, and what it may ask for."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from aiohttp import WSMsgType, web

from coterie_console.site import MAX_MESSAGE_CHARS, Site
from coterie_console.team.state import SECTIONS, ConsoleState, Section
from coterie_console.text import plain

UPDATE_PERIOD_S = 0.1
"""A page is sent what has changed at most so often [s]."""
SLOW: Mapping[Section, float] = {"map": 1.0, "timeline": 0.5, "health": 1.0}
"""Sections that are sent more seldom [s]."""
MAX_PAGES = 20
_HELLO_TIMEOUT_S = 10.0
"""Time in which a page that was opened has to say who it is [s]."""
_SCRIPTS = (
    "dom.js",
    "console.js",
    "fences.js",
    "hand_over.js",
    "permits.js",
    "pictures.js",
    "plan.js",
    "why.js",
)
_FILES = {f"/{name}": name for name in (*_SCRIPTS, "console.css")}
_log = logging.getLogger(__name__)

Role = Literal["viewer", "operator"]
Said = Mapping[str, Any]


class Refused(ValueError):
    """A command is not carried out; says why."""


class Tab:
    """An open page: its connection, its role, and which version of each section it has."""

    def __init__(self, socket: web.WebSocketResponse, role: Role, who: str) -> None:
        self.socket, self.role, self.who = socket, role, who
        self.has: dict[Section, int] = dict.fromkeys(SECTIONS, 0)
        self.due: dict[Section, float] = dict.fromkeys(SECTIONS, 0.0)
        self.watched: tuple[str, str] | None = None  # robot and camera
        self.working: set[asyncio.Task[None]] = set()

    async def send(self, text: str) -> None:
        """Send a message; a page that went away meanwhile does not matter."""
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self.socket.send_str(text)


class ConsolePage:
    """Serves the page of a team.

    On this machine alone it opens for whoever sits here, as an operator. At an address of the
    network nobody opens it without a key, of an operator or of a viewer.

    Args:
        state: State that is shown.
        commands: Commands that an operator's page may give, by name.
        looks: Commands that a viewer's page may give, too, by name; none of them changes anything.
        host: Address to serve at.
        port: Port to serve at; None: the first free one from 8080 on; 0: any.
        who: Name of the person at this machine, for the log.
        changed: Called when a page was opened or closed.
        frames: Function that returns the origins that a frame may come from; see `Site`.
        replay: Name of the recording that is shown: everybody looks on, and the page says so; "":
            a team that runs.

    Attributes:
        keys: Key of each role; only asked for on the network.
        tabs: The pages that are open.
    """

    def __init__(
        self,
        state: ConsoleState,
        commands: Mapping[str, Command],
        looks: Mapping[str, Command] | None = None,
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        who: str = "somebody",
        changed: Callable[[], object] = lambda: None,
        frames: Callable[[], str] = lambda: "",
        replay: str = "",
    ) -> None:
        self.state, self._commands, self._looks = state, dict(commands), dict(looks or {})
        self._replay = replay
        self._who, self._changed = who, changed
        self.keys: dict[Role, str] = {
            "operator": secrets.token_urlsafe(18),
            "viewer": secrets.token_urlsafe(18),
        }
        self.tabs: set[Tab] = set()
        handlers = {"/": self._page, "/socket": self._socket}
        self.site = Site(handlers, _FILES, host=host, port=port, frames=frames)

    def link(self, role: Role = "operator", name: str = "localhost") -> str:
        """Return the page's address for a role; a key stands behind #, which nobody logs."""
        key = f"#key={self.keys[role]}" if self.site.on_network or role != "operator" else ""
        return f"http://{name}:{self.site.port}/{key}"

    async def start(self) -> None:
        """Begin to serve.

        Raises:
            PageError: The port cannot be had.
        """
        await self.site.start()

    async def stop(self) -> None:
        """End serving; the port is free afterwards."""
        for tab in tuple(self.tabs):
            with contextlib.suppress(Exception):
                await tab.socket.close()
        await self.site.stop()

    # -- requests ------------------------------------------------------------------------------

    async def _page(self, request: web.Request) -> web.Response:
        return self.site.page("console.html")

    def _role(self, key: object) -> Role | None:
        """Return what a key allows; without one, on this machine alone, all."""
        said = key if isinstance(key, str) else ""
        most: Role = "viewer" if self._replay else "operator"
        for role, known in self.keys.items():
            if hmac.compare_digest(said.encode(), known.encode()):
                return "viewer" if role == "viewer" else most
        return None if said or self.site.on_network else most

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(heartbeat=20.0, max_msg_size=MAX_MESSAGE_CHARS)
        await socket.prepare(request)
        role = await self._greeted(socket)
        if role is None:
            await socket.close()
            return socket
        who = self._who if not self.site.on_network else f"{role} at {request.remote or 'a page'}"
        tab = Tab(socket, role, who)
        self.tabs.add(tab)
        self._changed()
        sending = asyncio.ensure_future(self._keep_sending(tab))
        try:
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    self._hear(tab, message.data)
        except ConnectionError:
            pass
        finally:
            sending.cancel()
            self.tabs.discard(tab)
            self._changed()
        return socket

    async def _greeted(self, socket: web.WebSocketResponse) -> Role | None:
        """Return the role of a page that has just been opened; None: it may not."""
        try:
            message = await socket.receive(timeout=_HELLO_TIMEOUT_S)
            said = json.loads(message.data) if message.type == WSMsgType.TEXT else {}
        except (asyncio.TimeoutError, ValueError, RecursionError):
            return None
        role = self._role(said.get("key", "")) if isinstance(said, dict) else None
        trouble = ""
        if role is None:
            trouble = "open the link that ./coterie console printed; it has a key"
        elif len(self.tabs) >= MAX_PAGES:
            role, trouble = None, f"{MAX_PAGES} pages are open already; close one"
        with contextlib.suppress(ConnectionError, RuntimeError):
            if role is None:
                await socket.send_str(json.dumps({"closed": trouble}))
                return None
            hello = {"role": role, "now": self.state.wall(), "replay": plain(self._replay)}
            trails = self.state.trails()
            await socket.send_str(f'{{"hello":{json.dumps(hello)},"trails":{trails}}}')
        return role

    @property
    def operators(self) -> int:
        """How many operators' pages are open."""
        return sum(tab.role == "operator" for tab in self.tabs)

    # -- out -----------------------------------------------------------------------------------

    async def _keep_sending(self, tab: Tab) -> None:
        """Send what has changed; a page that reads slowly gets less, not later."""
        clock = asyncio.get_running_loop().time
        while True:
            now = clock()
            parts: list[str] = []
            for section in SECTIONS:
                version = self.state.version(section)
                if version == tab.has[section] or now < tab.due[section]:
                    continue
                tab.has[section] = version
                tab.due[section] = now + SLOW.get(section, 0.0)
                parts.append(f'"{section}":{self.state.text(section)}')
            if parts:
                await tab.send('{"state":{' + ",".join(parts) + "}}")
            await asyncio.sleep(UPDATE_PERIOD_S)

    # -- in ------------------------------------------------------------------------------------

    def _hear(self, tab: Tab, text: str) -> None:
        """Do what a page asks for; each thing in a task of its own, so that a stop never waits."""
        number: object = None
        try:
            said = json.loads(text)
            if not isinstance(said, dict):
                raise Refused("expected an object")
            number = said.get("id")
            command = self._command(tab, said.get("do"))
        except (ValueError, RecursionError) as error:
            self._work(tab, tab.send(_reply(number, False, str(error))))
            return
        self._work(tab, self._do(tab, command, said, number))

    def _work(self, tab: Tab, work: Any) -> None:
        task = asyncio.ensure_future(work)
        tab.working.add(task)
        task.add_done_callback(tab.working.discard)

    def _command(self, tab: Tab, name: object) -> Command:
        if isinstance(name, str) and name in self._looks:
            return self._looks[name]
        if self._replay:
            raise Refused("this is a replay: there is nothing to command")
        if not isinstance(name, str) or name not in self._commands:
            raise Refused(f"{str(name)[:40]!r} is nothing that can be done")
        if tab.role != "operator":
            raise Refused("a viewer looks on; to command, open the operator's link")
        return self._commands[name]

    async def _do(self, tab: Tab, command: Command, said: Said, number: object) -> None:
        try:
            told = _reply(number, True, await command(said, tab))
        except Refused as error:
            told = _reply(number, False, str(error))
        except Exception as error:
            _log.exception("the console could not do that")
            told = _reply(number, False, f"{type(error).__name__}: {error}")
        await tab.send(told)


Command = Callable[[Said, Tab], Awaitable[str]]
"""Function that carries out a command: gets what the page said and the page, returns the reply."""


def _reply(number: object, done: bool, text: str) -> str:
    known = number if isinstance(number, int) else None
    return json.dumps({"reply": {"id": known, "done": done, "text": plain(text, 400)}})


def words_of(said: Said, name: str, most: int) -> str:
    """Return a text of a command.

    Raises:
        Refused: It is none, is empty or too long.
    """
    text = said.get(name)
    if not isinstance(text, str) or not text.split():
        raise Refused(f"expected words in {name!r}")
    if len(text) > most:
        raise Refused(f"{len(text)} characters; at most {most}")
    return " ".join(text.split())
