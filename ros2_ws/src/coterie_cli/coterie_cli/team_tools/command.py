"""`./coterie mcp`: an assistant asks the team through the Model Context Protocol."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path

from coterie_bringup.errors import CommandError
from coterie_bringup.running_team import ended_by_signals


@dataclass(frozen=True, slots=True)
class McpOptions:
    """How the team is served.

    Attributes:
        http: Over streamable HTTP; else over standard input and output.
        host: Address to listen at.
        port: Port.
        key_file: Holds the key that clients need.
        hosts: Other names under which clients reach this computer.
        allow_proposals: Whether tasks may be proposed to a person.
        domain: ROS domain of the team.
        namespace: Its namespace.
    """

    http: bool = False
    host: str = "127.0.0.1"
    port: int = 8765
    key_file: Path | None = None
    hosts: tuple[str, ...] = ()
    allow_proposals: bool = False
    domain: int | None = None
    namespace: str | None = None


def mcp(options: McpOptions) -> int:
    """Serve the team until the client, or Ctrl-C, ends it; return the exit code.

    Raises:
        CommandError: The package is not installed, an option is wrong, or others could reach it
            without a key.
    """
    try:
        from coterie_cli.team_tools.http import key_of, serve_http
        from coterie_cli.team_tools.link import TeamLink
        from coterie_cli.team_tools.proposals import Proposals
        from coterie_cli.team_tools.server import make_server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("mcp", "starlette", "uvicorn"):
            raise
        raise CommandError(
            "the package mcp is not installed; run: ./coterie setup --with mcp"
        ) from None
    if not options.http and (options.key_file is not None or options.hosts):
        raise CommandError("--key-file and --allow-host are for --http")
    key = key_of(options.key_file) if options.http else ""

    async def serve() -> None:
        proposals = Proposals() if options.allow_proposals else None
        link = TeamLink(options.domain, options.namespace, proposals)
        server = make_server(link, proposals)
        try:
            async with ended_by_signals():
                if options.http:
                    await serve_http(server, options.host, options.port, key, options.hosts)
                else:
                    await server.run_stdio_async()
        finally:
            if proposals is not None:
                await proposals.close()
            await link.close()

    with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
        asyncio.run(serve())
    return 0
