"""`./coterie mcp`: an assistant asks the team through the Model Context Protocol."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from coterie_bringup.errors import CommandError
from coterie_bringup.signals import ended_by_signals
from coterie_cli.commands import command
from coterie_cli.options import Namespace, RunningTeam, TeamDomain

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class McpOptions:
    """How the team is served."""

    http: Annotated[
        bool, typer.Option("--http", help="Over streamable HTTP instead of standard input.")
    ] = False
    host: Annotated[
        str, typer.Option(help="Address to listen at; others than this computer's need a key.")
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen at.")] = 8765
    key_file: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="Path of a file with the key that clients need; default: COTERIE_MCP_KEY.",
        ),
    ] = None
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Other name under which clients reach this computer; repeatable."),
    ] = None
    allow_proposals: Annotated[
        bool,
        typer.Option(
            "--allow-proposals",
            help="Tasks may be proposed; each is put to a person, as ./coterie permits shows it.",
        ),
    ] = False
    team: RunningTeam = ""
    domain: TeamDomain = None
    namespace: Namespace = None


@command(app, "mcp", McpOptions)
def mcp(options: McpOptions) -> int:
    """Let an assistant ask the team through the Model Context Protocol; it only reads."""
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
    if not options.http and (options.key_file is not None or options.allow_host):
        raise CommandError("--key-file and --allow-host are for --http")
    key = key_of(options.key_file) if options.http else ""

    async def serve() -> None:
        proposals = Proposals() if options.allow_proposals else None
        link = TeamLink(options.domain, options.namespace, proposals, team=options.team)
        server = make_server(link, proposals)
        try:
            async with ended_by_signals():
                if options.http:
                    names = tuple(options.allow_host or ())
                    await serve_http(server, options.host, options.port, key, names)
                else:
                    await server.run_stdio_async()
        finally:
            if proposals is not None:
                await proposals.close()
            await link.close()

    with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
        asyncio.run(serve())
    return 0
