"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def _team_file(name: str) -> Path:
    """Return the file that a command means by TEAM; see `resources.team_file`."""
    from coterie_bringup.resources import team_file

    return team_file(name)


TEAM: dict[str, Any] = {"metavar": "TEAM", "parser": _team_file}
"""How every command takes a team: by the path of its file, or by a name of ours."""

TeamFile = Annotated[
    Path,
    typer.Argument(
        **TEAM,
        help="Path of the team file, or the name of a team that comes with Coterie, such as demo. "
        "--trust agrees to what the file runs, sends, reads and writes.",
    ),
]
Domain = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=232,
        help="Number of the ROS domain; default: that of the team file, ROS_DOMAIN_ID, or else 0 "
        "for real robots, and a domain that nobody uses for others.",
    ),
]
TeamDomain = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=232,
        help="Number of the team's ROS domain, where it runs on another computer.",
    ),
]
RunningTeam = Annotated[
    str,
    typer.Option(
        "--team",
        metavar="TEAM",
        help="Name of the running team, or path of its file; default: the only one that runs here.",
    ),
]
Namespace = Annotated[
    str | None,
    typer.Option(help="ROS namespace of the team, where several are in one domain; / for none."),
]
Out = Annotated[Path, typer.Option(file_okay=False, help="Folder for the results.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON on stdout and nothing else.")
]

Floors = Annotated[
    int | None, typer.Option(min=1, max=3, help="Number of floors; default: chosen by the seed.")
]
Rooms = Annotated[
    int | None,
    typer.Option(min=4, max=25, help="Number of rooms in all; default: chosen by the seed."),
]
By = Annotated[str, typer.Option(help="Name of who says so; default: your login and computer.")]
Reason = Annotated[str, typer.Option(help="Reason, for the log and for who is refused.")]
RanTeam = Annotated[
    str,
    typer.Option(
        "--team",
        metavar="TEAM",
        help="Name of the team, or of its file; default: the one that ran last.",
    ),
]
Port = Annotated[
    int | None,
    typer.Option(min=0, max=65535, help="Port of the page; default: the first free from 8080."),
]
NoOpen = Annotated[bool, typer.Option("--no-open", help="The page is not opened in the browser.")]

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "--profile",
        metavar="NAME",
        help="Language model that all think with: a profile of the team file, tiny (the model in "
        "the box), rules, or the path of a profile (.yaml); default: as the team file says.",
    ),
]
ModelForFiles = Annotated[
    str | None,
    typer.Option(
        "--model",
        "--profile",
        metavar="NAME",
        help="Language model: tiny (the model in the box), or the path of a profile (.yaml); "
        "default: the rules decide.",
    ),
]

PASS_THROUGH = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""Settings of a command that hands its arguments to a program with a command line of its own."""
