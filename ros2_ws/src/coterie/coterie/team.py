"""A team for programs without a loop: scripts and notebooks."""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from coterie.async_team import READY, AsyncTeam
from coterie.results import Answer, Event, FoundObject, Progress, TaskResult, TeamError
from coterie.semantic_map import SemanticMap
from coterie_safety.why import Explanation

T = TypeVar("T")

TAKING_BACK = 20.0
"""How long what Ctrl-C ends may take to be taken back [s]."""
_OPEN: set[Team] = set()
"""Teams that the end of the program closes."""


class Team:
    """A team of robots that runs: joined if it runs on this machine, started if not.

    Each method is that of `AsyncTeam`, and waits for its end. Ctrl-C takes back what it waits for.
    `with` closes the team at the end; so does the end of the program. Callbacks are called one
    after the other in a thread of their own, and may use the team.

    Args:
        team: Its name or team file.
        trust: Agree, from now on, to what its file runs, sends, reads and writes.

    Attributes:
        name: Name of the team; "": it runs on another machine.
        robots: Names of its robots.

    Raises:
        TeamError: It neither runs nor can be started.
    """

    def __init__(self, team: str | Path, *, trust: bool = False) -> None:
        self._begin(lambda: AsyncTeam.open(team, trust=trust))

    def __repr__(self) -> str:
        return repr(self._team).replace("Async", "", 1)

    @classmethod
    def join(
        cls, team: str | Path = "", *, domain: int | None = None, namespace: str | None = None
    ) -> Team:
        """Join a team that runs; see `AsyncTeam.join`."""
        made = cls.__new__(cls)
        made._begin(lambda: AsyncTeam.join(team, domain=domain, namespace=namespace))
        return made

    @classmethod
    def start(
        cls,
        team: str | Path,
        *,
        domain: int | None = None,
        timeout: float = READY,
        trust: bool = False,
    ) -> Team:
        """Start the processes of a team; see `AsyncTeam.start`."""
        made = cls.__new__(cls)
        made._begin(lambda: AsyncTeam.start(team, domain=domain, timeout=timeout, trust=trust))
        return made

    def _begin(self, make: Callable[[], Coroutine[Any, Any, AsyncTeam]]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="team", daemon=True)
        self._thread.start()
        self._callbacks = ThreadPoolExecutor(1, thread_name_prefix="team-callbacks")
        try:
            self._team = self._wait(make())
        except BaseException:
            self._end()
            raise
        self.name, self.robots = self._team.name, self._team.robots
        _OPEN.add(self)

    def close(self) -> None:
        """Leave the team; if this program started it, its processes end."""
        _OPEN.discard(self)
        if self._thread.is_alive():
            try:
                self._wait(self._team.close())
            finally:
                self._end()

    def _end(self) -> None:
        self._callbacks.shutdown(wait=False, cancel_futures=True)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ask(self, text: str, *, timeout: float = 300.0, explore: bool = True) -> Answer:
        """Ask the team a question; see `AsyncTeam.ask`."""
        return self._wait(self._team.ask(text, timeout=timeout, explore=explore))

    def find(self, text: str, *, limit: int = 10, timeout: float = 60.0) -> list[FoundObject]:
        """Return the objects of the team's map that a request calls for; see `AsyncTeam.find`."""
        return self._wait(self._team.find(text, limit=limit, timeout=timeout))

    def do(
        self,
        text: str,
        *,
        on_feedback: Callable[[Progress], object] = lambda progress: None,
        max_time: float = 0.0,
    ) -> TaskResult:
        """Have the team do a task, and wait for its end; see `AsyncTeam.do`."""
        feedback = self._beside(on_feedback)
        return self._wait(self._team.do(text, on_feedback=feedback, max_time=max_time))

    def explore(self) -> None:
        """Let all explorers explore to the limits of the team file; see `AsyncTeam.explore`."""
        self._wait(self._team.explore())

    def map(self) -> SemanticMap:
        """Return the team's map as it is now; see `AsyncTeam.map`."""
        return self._wait(self._team.map())

    def why(self, what: str = "") -> Explanation:
        """Return why the team answered or did something; see `AsyncTeam.why`."""
        return self._wait(self._team.why(what))

    def stop(self, reason: str = "", *robots: str) -> dict[str, str]:
        """Stop robots at once; see `AsyncTeam.stop`."""
        return self._wait(self._team.stop(reason, *robots))

    def release(self, *robots: str, reason: str = "") -> dict[str, str]:
        """Let stopped robots go on; see `AsyncTeam.release`."""
        return self._wait(self._team.release(*robots, reason=reason))

    def on_answer(self, callback: Callable[[Answer], object]) -> None:
        """Call a function with each answer of the team, whoever asked a yes-or-no question.

        Answers that were given before this program joined may come first.
        """
        self._team.on_answer(self._beside(callback))

    def on_event(self, callback: Callable[[Event], object]) -> None:
        """Call a function with each event of the team."""
        self._team.on_event(self._beside(callback))

    def _beside(self, callback: Callable[[T], object]) -> Callable[[T], None]:
        def guarded(told: T) -> None:
            try:
                callback(told)
            except Exception:  # of the user's function: the team goes on
                logging.getLogger(__name__).exception("a callback failed")

        def call(told: T) -> None:
            try:
                self._callbacks.submit(guarded, told)
            except RuntimeError:  # the team is being closed
                return

        return call

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        ended = threading.Event()

        async def kept() -> T:
            try:
                return await work
            finally:
                ended.set()

        future = asyncio.run_coroutine_threadsafe(kept(), self._loop)
        try:
            return future.result()
        except TeamError as error:  # how it got here tells a program nothing
            raise error.with_traceback(None) from None
        except KeyboardInterrupt:
            future.cancel()
            ended.wait(TAKING_BACK)
            raise


def _close_all() -> None:
    for team in tuple(_OPEN):
        team.close()


# What atexit calls comes too late: the threads that closing takes are no longer given out then.
getattr(threading, "_register_atexit", atexit.register)(_close_all)
