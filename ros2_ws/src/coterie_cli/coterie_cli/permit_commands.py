"""The commands of `./coterie permits`; what they do needs ROS, their help does not."""

from __future__ import annotations

from typing import Annotated

import typer

from coterie_bringup.rundir import team_here
from coterie_cli.options import By, Namespace, Reason, RunningTeam, TeamDomain

app = typer.Typer(add_completion=False)

Request = Annotated[
    str, typer.Argument(metavar="ID", help="Beginning of the request's id, or name of its robot.")
]


@app.callback(invoke_without_command=True)
def permits(
    context: typer.Context,
    team: RunningTeam = "",
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> int:
    """Show, allow, refuse or revoke what robots ask a person's permit for."""
    if context.invoked_subcommand is not None:
        return 0
    from coterie_cli.permits import show

    return show(team_here(domain, namespace, team))


@app.command("allow")
def allow(
    request: Request,
    lasting: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="TIME",
            help="Time for which goals alike are allowed, too, such as 10m; default: once.",
        ),
    ] = "",
    by: By = "",
    team: RunningTeam = "",
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> int:
    """Allow what a robot asks for."""
    from coterie_cli.permits import decide
    from coterie_safety.permits import Decision

    return decide(Decision.ALLOW, request, by, "", lasting, team_here(domain, namespace, team))


@app.command("refuse")
def refuse(
    request: Request,
    reason: Reason = "",
    by: By = "",
    team: RunningTeam = "",
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> int:
    """Refuse what a robot asks for."""
    from coterie_cli.permits import decide
    from coterie_safety.permits import Decision

    return decide(Decision.REFUSE, request, by, reason, "", team_here(domain, namespace, team))


@app.command("revoke")
def revoke(
    permit: Annotated[
        str,
        typer.Argument(metavar="ID", help="Beginning of the permit's id, or name of its robot."),
    ],
    reason: Reason = "",
    by: By = "",
    team: RunningTeam = "",
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> int:
    """End a permit for goals alike; a goal that has begun goes on."""
    from coterie_cli.permits import revoke as run

    return run(permit, by, reason, team_here(domain, namespace, team))


@app.command("watch")
def watch(team: RunningTeam = "", domain: TeamDomain = None, namespace: Namespace = None) -> int:
    """Ask at this terminal whatever robots ask for, until Ctrl-C."""
    from coterie_cli.permits import watch as run

    return run(team_here(domain, namespace, team))
