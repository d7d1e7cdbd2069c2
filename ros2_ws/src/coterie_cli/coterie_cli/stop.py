"""`./coterie stop` and `./coterie release`: robots stand at once, and go on."""

from __future__ import annotations

from typing import Annotated

import typer

from coterie_bringup.stop_robots import run
from coterie_cli.options import By, Namespace, Reason, TeamDomain

app = typer.Typer(add_completion=False)

Robots = Annotated[
    list[str] | None, typer.Argument(help="Names of robots; default: all robots of the team.")
]
Teams = Annotated[
    str,
    typer.Option(
        "--team",
        metavar="TEAM",
        help="Name of a running team, or path of its file; default: every team on this computer.",
    ),
]
Timeout = Annotated[float, typer.Option(min=0.1, help="Longest wait for the robots [s].")]


@app.command("stop")
def stop(
    robot: Robots = None,
    team: Teams = "",
    reason: Reason = "",
    by: By = "",
    timeout: Timeout = 5.0,
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> int:
    """Stop robots at once: goals are cancelled, and nothing moves until ./coterie release."""
    return run("stop", robot or (), team, reason, by, timeout, domain, namespace)


@app.command("release")
def release(
    robot: Robots = None,
    team: Teams = "",
    reason: Reason = "",
    by: By = "",
    timeout: Timeout = 5.0,
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> int:
    """Let stopped robots go on."""
    return run("release", robot or (), team, reason, by, timeout, domain, namespace)
