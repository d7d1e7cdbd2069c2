"""A page in the browser, served by viser on this machine only: port, guard, callbacks, shutdown."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import os
import re
import signal
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType
from typing import Any, Literal

import viser
import websockets.asyncio.server

from coterie_console.site import FIRST_PORT, HOST, MAX_PORTS_TRIED, PageError

Kind = Literal["info", "warning"]
_log = logging.getLogger(__name__)


class WebPage:
    """A viser server with what every page needs.

    All callbacks run one after another on the server's event loop, so a page needs no locks.

    Attributes:
        server: viser's server; the page adds its widgets and shapes to it.
        url: URL of the page.
    """

    def __init__(self, title: str, port: int | None = None) -> None:
        """Serve a page, empty at first.

        Args:
            title: Name of the page, shown above its controls.
            port: Port to serve at; None: the first free one from 8080 on; 0: any.

        Raises:
            PageError: The port cannot be had.
        """
        self.server = _serve(_free_port(port))
        self.url = f"http://localhost:{self.server.get_port()}"
        self._expected: tuple[type[Exception], ...] = (PageError,)
        self._ended = threading.Event()
        self.server.gui.set_panel_label(title)
        self.server.gui.configure_theme(
            show_logo=False, show_share_button=False, brand_color=(38, 98, 160)
        )

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

    def every(self, period: float, do: Callable[[], None]) -> None:
        """Do something every `period` [s] on the server's loop, until the page ends."""
        loop = self.server.get_event_loop()

        async def once() -> None:
            await self.attempt(do)
            if not self._ended.is_set():
                loop.call_later(period, lambda: loop.create_task(once()))

        loop.call_soon_threadsafe(lambda: loop.create_task(once()))

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

    def close(self) -> None:
        """Stop serving; the port is free afterwards."""
        self._ended.set()
        with contextlib.redirect_stdout(io.StringIO()):  # viser says that it stopped
            self.server.stop()


def put(handle: Any, **values: Any) -> None:
    """Set properties of a widget or shape, only those that differ: each one is a message."""
    for name, value in values.items():
        if getattr(handle, name) != value:
            setattr(handle, name, value)


def _open(url: str) -> None:
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(url)


def _free_port(port: int | None) -> int:
    """Return a port that is free now.

    Raises:
        PageError: The one that was asked for is not, or none is.
    """
    ports = range(FIRST_PORT, FIRST_PORT + MAX_PORTS_TRIED) if port is None else (port,)
    reason = ""
    for candidate in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, candidate))
                return int(probe.getsockname()[1])
            except (OSError, OverflowError) as error:
                reason = getattr(error, "strerror", None) or str(error)
    tried = f"port {port}" if port is not None else f"ports {ports[0]} to {ports[-1]}"
    raise PageError(f"{tried}: {reason}; end what is there, or choose another with --port")


def _serve(port: int) -> viser.ViserServer:
    os.environ.pop("_VISER_PORT_OVERRIDE", None)
    with _only_own_pages(port), contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=HOST, port=port, verbose=False)
    # viser can pass a page on through a server on the internet; this page stays here.
    server.request_share_url = lambda *_a, **_k: None  # type: ignore[method-assign]
    if server.get_port() != port:
        server.stop()
        raise PageError(f"port {port} was taken a moment ago; try again")
    return server


@contextlib.contextmanager
def _only_own_pages(port: int) -> Iterator[None]:
    """Let viser accept the browser's own page only.

    Browsers let any web page open a connection to a port of this machine, and say in the Origin
    which page it is; viser does not look at it.
    """
    serve = websockets.asyncio.server.serve
    own = re.compile(rf"http://(localhost|127\.0\.0\.1|\[::1\]):{port}")
    guarded = functools.partial(serve, origins=[own, None])
    websockets.asyncio.server.serve = guarded  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        websockets.asyncio.server.serve = serve  # type: ignore[misc]
