"""`./coterie console`: serves the page of a running team."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import webbrowser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from coterie_bringup.kept_runs import run_of
from coterie_bringup.rundir import RunState, key_file, team_here
from coterie_bringup.signals import ended_by_signals
from coterie_cli.options import Namespace, NoOpen, Port, RunningTeam, TeamDomain
from coterie_console.site import HOST

app = typer.Typer(add_completion=False)


_SERVED = 10.0


@dataclass(frozen=True, slots=True)
class ConsoleOptions:
    """How the page is served.

    Attributes:
        host: Address; the loopback address: this machine alone.
        port: None: the first free one from 8080 on.
        show: Open it in the browser.
    """

    host: str = HOST
    port: int | None = None
    show: bool = True


@app.command("console")
def console(
    host: Annotated[
        str,
        typer.Option(
            help="Address to serve the page at; any but 127.0.0.1 asks everybody for a key."
        ),
    ] = "127.0.0.1",
    port: Port = None,
    no_open: NoOpen = False,
    team: RunningTeam = "",
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> int:
    """Show a running team on one page: see, ask, allow, stop."""
    options = ConsoleOptions(host, port, not no_open)
    state = team_here(domain, namespace, team)

    async def work() -> None:
        async with ended_by_signals():
            with serving(state, options) as links:
                print("\n".join(links), flush=True)
                print("Ctrl-C ends the page; the team goes on", flush=True)
                await asyncio.Event().wait()

    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(work())
    return 0


@contextlib.contextmanager
def serving(team: RunState, options: ConsoleOptions, replay: str = "") -> Iterator[list[str]]:
    """Serve the page of a team while the block runs; yields lines that say where it is.

    Args:
        team: The team.
        options: How it is served.
        replay: Name of the recording that is played; "": the team runs. Then nobody commands.

    Raises:
        CommandError: The node does not come up.
        PageError: The port cannot be had.
    """
    from coterie_bringup.spinning import spinning
    from coterie_cli.console.node import ConsoleNode
    from coterie_cli.permits import who
    from coterie_console.team.page import ConsolePage
    from coterie_console.team.state import ConsoleState

    known = ConsoleState(team.team or f"domain {team.domain}", team.robots)
    with spinning(
        lambda context: ConsoleNode(
            known,
            key_file=key_file(),
            stops=Path(team.stops) if team.stops else None,
            log=Path(team.log) if team.log else None,
            run=run_of(team),
            namespace=team.namespace,
            runs=lambda: bool(replay) or not team.team or team.alive,
            context=context,
        ),
        domain=team.domain,
        environment=team.environment,
    ) as node:
        page = ConsolePage(
            known,
            {} if replay else node.commands(),
            node.looks(),
            host=options.host,
            port=options.port,
            who=who(),
            changed=node.pages_changed,
            replay=replay,
        )
        node.run(node.begin_page(page), "page").result(_SERVED)
        try:
            if options.show:
                # A thread: some browsers run in the foreground until they are closed.
                threading.Thread(target=_open, args=(page.link(),), daemon=True).start()
            yield _links(page)
        finally:
            with contextlib.suppress(Exception):
                node.run(page.stop(), "end the page").result(_SERVED)


def _links(page: object) -> list[str]:
    from coterie_console.team.page import ConsolePage

    assert isinstance(page, ConsolePage)
    if not page.site.on_network:
        return [f"console: {page.link()}"]
    name = page.site.host if page.site.host not in ("0.0.0.0", "::") else "THIS-COMPUTER"
    return [
        f"console for operators: {page.link('operator', name)}",
        f"console for viewers:   {page.link('viewer', name)}",
    ]


def _open(url: str) -> None:
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(url)
