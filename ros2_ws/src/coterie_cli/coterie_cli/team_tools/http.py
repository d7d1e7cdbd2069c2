"""The server over streamable HTTP: on loopback, else with a key; host and origin are checked."""

from __future__ import annotations

import hmac
import ipaddress
import os
import stat
import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from coterie_bringup.errors import CommandError

KEY_VARIABLE = "COTERIE_MCP_KEY"
SHORTEST_KEY = 24
"""Fewest characters of a key."""
PATH = "/mcp"


class KeyRequired:
    """Lets only requests through that carry the key, as `Authorization: Bearer KEY`."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._wanted = f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401."""
        if scope["type"] == "http":
            given = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(given) != 1 or not hmac.compare_digest(given[0], self._wanted):
                head = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
                await send({"type": "http.response.start", "status": 401, "headers": head})
                text = b"the key is missing or wrong: Authorization: Bearer KEY\n"
                await send({"type": "http.response.body", "body": text})
                return
        await self._app(scope, receive, send)


def key_of(file: Path | None) -> str:
    """Return the key that clients need: of a file, else of COTERIE_MCP_KEY; "": none is given.

    Raises:
        CommandError: It cannot be read, others may read it, or it is too short.
    """
    where, key = KEY_VARIABLE, os.environ.get(KEY_VARIABLE, "")
    if file is not None:
        where = str(file)
        try:
            with file.open(encoding="ascii") as opened:
                mode = os.fstat(opened.fileno()).st_mode
                key = opened.read(1000).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file}: the key cannot be read: {error}") from None
        if stat.S_IMODE(mode) & 0o077:
            raise CommandError(f"{file}: others may read this key: chmod 600 {file}")
        if not key:
            raise CommandError(f"{file}: no key in it; make one: openssl rand -hex 32 > {file}")
    if key and (len(key) < SHORTEST_KEY or not key.isascii() or not key.isprintable()):
        raise CommandError(
            f"{where}: a key has at least {SHORTEST_KEY} ASCII characters; make one: "
            "openssl rand -hex 32"
        )
    return key


def is_loopback(host: str) -> bool:
    """Whether only this computer reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def hosts_of(host: str, more: tuple[str, ...]) -> TransportSecuritySettings:
    """Return which Host and Origin headers are let through: of this computer, and those named."""
    literal = f"[{host}]" if ":" in host else host
    names = {"127.0.0.1", "localhost", "[::1]", literal, *more} - {"0.0.0.0", "[::]"}
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=sorted({form for name in names for form in (name, f"{name}:*")}),
        allowed_origins=sorted(
            {
                f"{scheme}://{name}{port}"
                for name in names
                for scheme in ("http", "https")
                for port in ("", ":*")
            }
        ),
    )


async def serve_http(
    server: MCPServer[Any], host: str, port: int, key: str, more_hosts: tuple[str, ...] = ()
) -> None:
    """Serve until told to end.

    Args:
        server: The server.
        host: Address to listen at.
        port: Port.
        key: What clients have to send; "": nothing, on loopback alone.
        more_hosts: Other names under which clients reach this computer.

    Raises:
        CommandError: Others could reach it without a key.
    """
    if not key and not is_loopback(host):
        raise CommandError(
            f"--host {host}: others reach this; give a key: --key-file FILE, or {KEY_VARIABLE}"
        )
    app: ASGIApp = server.streamable_http_app(
        streamable_http_path=PATH, host=host, transport_security=hosts_of(host, more_hosts)
    )
    if key:
        app = KeyRequired(app, key)
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, ws="none",
        timeout_graceful_shutdown=5,
    )  # fmt: skip
    shown = f"[{host}]" if ":" in host else host
    print(f"http://{shown}:{port}{PATH}; Ctrl-C ends", file=sys.stderr)
    await uvicorn.Server(config).serve()
