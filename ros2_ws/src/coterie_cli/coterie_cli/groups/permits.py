"""Commands about permits, and about the log of goals and permits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie_cli.groups.teams import By
from coterie_cli.options import AsJson, Namespace, TeamDomain

permits_app = typer.Typer(
    help="Requests of robots for a person's permit: show, allow, refuse, revoke."
)
log_app = typer.Typer(help="Log of goals, permits and results, whose entries are chained by hash.")

Request = Annotated[
    str, typer.Argument(metavar="ID", help="Beginning of the request's id, or name of its robot.")
]
Team = Annotated[str, typer.Option(help="Name of the team; default: the one that ran last.")]
Folder = Annotated[
    Path | None, typer.Option(file_okay=False, help="Folder of the log, instead of a team's name.")
]


@permits_app.callback(invoke_without_command=True)
def permits(context: typer.Context, domain: TeamDomain = None, namespace: Namespace = None) -> None:
    """Show which goals wait for a person's permit, and which permits hold."""
    if context.invoked_subcommand is None:
        from coterie_cli.permits import show

        raise typer.Exit(show(domain, namespace))


@permits_app.command("allow")
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
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> None:
    """Allow what a robot asks for."""
    from coterie_cli.permits import decide
    from coterie_safety.permits import Decision

    raise typer.Exit(decide(Decision.ALLOW, request, by, "", lasting, domain, namespace))


@permits_app.command("refuse")
def refuse(
    request: Request,
    reason: Annotated[str, typer.Option(help="Reason, for the log and for who is refused.")] = "",
    by: By = "",
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> None:
    """Refuse what a robot asks for."""
    from coterie_cli.permits import decide
    from coterie_safety.permits import Decision

    raise typer.Exit(decide(Decision.REFUSE, request, by, reason, "", domain, namespace))


@permits_app.command("revoke")
def revoke(
    permit: Annotated[
        str,
        typer.Argument(metavar="ID", help="Beginning of the permit's id, or name of its robot."),
    ],
    reason: Annotated[str, typer.Option(help="Reason, for the log and for who is refused.")] = "",
    by: By = "",
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> None:
    """End a permit for goals alike; a goal that has begun goes on."""
    from coterie_cli.permits import revoke as run

    raise typer.Exit(run(permit, by, reason, domain, namespace))


@permits_app.command("watch")
def watch(domain: TeamDomain = None, namespace: Namespace = None) -> None:
    """Ask at this terminal whatever robots ask for, until Ctrl-C."""
    from coterie_cli.permits import watch as run

    raise typer.Exit(run(domain, namespace))


@log_app.callback(invoke_without_command=True)
def log(
    context: typer.Context,
    robot: Annotated[str, typer.Option(help="Name of a robot; default: all.")] = "",
    since: Annotated[
        str, typer.Option(metavar="TIME", help="Moment of the first entry: 10m ago, 2026-05-01.")
    ] = "",
    kind: Annotated[str, typer.Option(help="Kind of entries, such as refusal; default: all.")] = "",
    team: Team = "",
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show what robots were to do, who permitted it, and how it ended."""
    if context.invoked_subcommand is None:
        from coterie_cli.log import folder_of, show

        raise typer.Exit(show(folder_of(team, folder), robot, since, kind, as_json))


@log_app.command("verify")
def verify(
    team: Team = "",
    folder: Folder = None,
    head: Annotated[
        str, typer.Option(metavar="HASH", help="Hash of an entry that has to be in the log.")
    ] = "",
) -> None:
    """Say whether any entry was altered, removed, moved or cut off."""
    from coterie_cli.log import folder_of
    from coterie_cli.log import verify as run

    raise typer.Exit(run(folder_of(team, folder), head))
