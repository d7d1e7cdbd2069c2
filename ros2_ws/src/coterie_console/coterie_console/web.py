"""A page in the browser, served by viser on this machine only: port, guard, callbacks, shutdown."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import os
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator

import viser
import websockets.asyncio.server

from coterie_console.site import FIRST_PORT, HOST, MAX_PORTS_TRIED, PageError

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
        self._ended = threading.Event()
        self.server.gui.set_panel_label(title)
        self.server.gui.configure_theme(
            show_logo=False,
            show_share_button=False,
            brand_color=(38, 98, 160),
            control_width="small",
        )

    async def attempt(self, do: Callable[[], Awaitable[None] | None]) -> None:
        """Do something; an error is logged and does not end the page."""
        try:
            waiting = do()
            if waiting is not None:
                await waiting
        except Exception:
            _log.exception("the page could not do that")

    def every(self, period: float, do: Callable[[], None]) -> None:
        """Do something every `period` [s] on the server's loop, until the page ends."""
        loop = self.server.get_event_loop()

        async def once() -> None:
            await self.attempt(do)
            if not self._ended.is_set():
                loop.call_later(period, lambda: loop.create_task(once()))

        loop.call_soon_threadsafe(lambda: loop.create_task(once()))

    def close(self) -> None:
        """Stop serving; the port is free afterwards."""
        self._ended.set()
        with contextlib.redirect_stdout(io.StringIO()):  # viser says that it stopped
            self.server.stop()


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
