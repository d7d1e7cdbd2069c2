"""A page of plain HTML served by aiohttp: port, guard of host and origin, headers, files."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from aiohttp import web

HOST = "127.0.0.1"
"""Pages are for the person at this machine; through a tunnel (ssh -L) for others."""
FIRST_PORT = 8080
MAX_PORTS_TRIED = 50
"""Ports that are tried from the first on, where none was asked for."""
MAX_MESSAGE_CHARS = 20_000
"""Longest message of a browser [characters]."""

_DATA = Path(__file__).with_name("data")
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PageError(Exception):
    """A page cannot be served; says what is in the way and what to do."""


class Site:
    """Serves files and handlers of one page to browsers that show this page, and no other.

    Browsers let any web page send requests to any address, and say in `Origin` which page it is;
    a name that somebody else owns may point to this machine, and `Host` tells it.

    Args:
        handlers: Function that answers each path.
        files: Path -> name of a file in `data`, or the absolute path of another one.
        host: Address to serve at; the loopback address: this machine alone.
        port: Port to serve at; None: the first free one from 8080 on; 0: any.
        frames: Function that returns the origins that a frame in the page may come from, as a
            Content-Security-Policy says it.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        files: Mapping[str, str],
        *,
        host: str = HOST,
        port: int | None = None,
        frames: Callable[[], str] = lambda: "",
    ) -> None:
        self.host, self.port = host, 0
        self._wanted, self._frames = port, frames
        self._files = dict(files)
        self._names = _own_names() if self.on_network else {"localhost"}
        self._runner: web.AppRunner | None = None
        self._app = web.Application(middlewares=[self._guard], client_max_size=MAX_MESSAGE_CHARS)
        for path, handler in handlers.items():
            self._app.router.add_get(path, handler)
        for path in files:
            self._app.router.add_get(path, self._file)

    @property
    def on_network(self) -> bool:
        """Whether others than this machine can reach it."""
        with contextlib.suppress(ValueError):
            return not ipaddress.ip_address(self.host).is_loopback
        return self.host != "localhost"

    async def start(self) -> None:
        """Begin to serve.

        Raises:
            PageError: The port cannot be had.
        """
        self._runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        first = range(FIRST_PORT, FIRST_PORT + MAX_PORTS_TRIED)
        tried = first if self._wanted is None else [self._wanted]
        reason = ""
        for port in tried:
            site = web.TCPSite(self._runner, self.host, port)
            try:
                await site.start()
            except (OSError, OverflowError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                continue
            self.port = int(self._runner.addresses[0][1])
            return
        await self.stop()
        ports = f"port {tried[0]}" if len(tried) == 1 else f"ports {tried[0]} to {tried[-1]}"
        raise PageError(f"{ports}: {reason}; end what is there, or choose another with --port")

    async def stop(self) -> None:
        """End serving; the port is free afterwards."""
        if self._runner is not None:
            await self._runner.cleanup()

    def page(self, name: str) -> web.Response:
        """Return a file of `data`."""
        file = _DATA / name
        return web.Response(text=file.read_text("utf-8"), content_type=_TYPES[file.suffix])

    async def _file(self, request: web.Request) -> web.Response:
        return self.page(self._files[request.path])

    def _own(self, host: str) -> bool:
        """Whether a Host header names this server, by an address or by a name of this machine."""
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        if name.lower() in self._names:
            return True
        with contextlib.suppress(ValueError):
            address = ipaddress.ip_address(name.strip("[]"))
            # An address cannot be made to point elsewhere, as a name can.
            return self.on_network or address.is_loopback
        return False

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Serve this page's own requests only, and let it load nothing from elsewhere."""
        origin = request.headers.get("Origin")
        if not self._own(request.host) or (
            origin is not None and origin != f"http://{request.host}"
        ):
            raise web.HTTPForbidden(text="this page is for its own address only")
        response = await handler(request)
        if not response.prepared:
            frames = self._frames()
            response.headers["Content-Security-Policy"] = (
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
                f"connect-src 'self' ws://{request.host}; "
                + (f"frame-src {frames}; " if frames else "")
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            )
            response.headers["X-Content-Type-Options"] = "nosniff"
            response.headers["Referrer-Policy"] = "no-referrer"
            response.headers["Cache-Control"] = "no-store"
        return response


def _own_names() -> set[str]:
    """Names under which this machine may be called in its network."""
    name = socket.gethostname().lower()
    return {"localhost", name, name.partition(".")[0], f"{name.partition('.')[0]}.local"}
