"""A page that a person works on until Ctrl-C: messages, errors, properties of widgets."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import webbrowser
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any, Literal

from coterie_console.site import PageError
from coterie_console.web import WebPage

Kind = Literal["info", "warning"]
_log = logging.getLogger(__name__)


class WorkPage(WebPage):
    """A page whose errors are told to who has it open."""

    def __init__(self, title: str, port: int | None = None) -> None:
        super().__init__(title, port)
        self._expected: tuple[type[Exception], ...] = (PageError,)

    def expect(self, *kinds: type[Exception]) -> None:
        """Name errors whose text is for the person; others are logged with their traceback."""
        self._expected += kinds

    async def attempt(self, do: Callable[[], Awaitable[None] | None]) -> None:
        """Do something; an error is told to the person and does not end the page."""
        try:
            waiting = do()
            if waiting is not None:
                await waiting
        except Exception as error:
            if isinstance(error, self._expected):
                self.tell(str(error), "warning")
            else:
                _log.exception("the page could not do that")
                self.tell(f"{type(error).__name__}: {error}; nothing was changed", "warning")

    def tell(self, text: str, kind: Kind = "info") -> None:
        """Show a message to everybody who has the page open."""
        for client in self.server.get_clients().values():
            client.add_notification(
                title="Note" if kind == "info" else "Not done",
                body=text[:600],
                auto_close_seconds=6.0 if kind == "info" else 12.0,
                color="blue" if kind == "info" else "orange",
            )

    def run(self, open_browser: bool) -> None:
        """Serve until Ctrl-C (or SIGTERM); the caller closes the page then.

        Args:
            open_browser: Show the page in the browser, where there is one.
        """

        def end(_number: int, _frame: FrameType | None) -> None:
            self._ended.set()

        before = {s: signal.signal(s, end) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            if open_browser:
                # A thread: some browsers run in the foreground until they are closed.
                threading.Thread(target=_open, args=(self.url,), daemon=True).start()
            while not self._ended.wait(0.5):
                pass
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def put(handle: Any, **values: Any) -> None:
    """Set properties of a widget or shape, only those that differ: each one is a message."""
    for name, value in values.items():
        if getattr(handle, name) != value:
            setattr(handle, name, value)


def _open(url: str) -> None:
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(url)
