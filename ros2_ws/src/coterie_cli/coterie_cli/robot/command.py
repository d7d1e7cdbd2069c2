"""`./coterie robot`: check real robots, try their skills, score their claims, make a driver."""

from __future__ import annotations

from typing import Annotated

import typer

from coterie_cli.commands import command
from coterie_cli.options import Namespace, RunningTeam, TeamDomain
from coterie_cli.robot.check import check
from coterie_cli.robot.new import new_package
from coterie_cli.robot.score import ScoreOptions, score
from coterie_core.skill_registry import ON_TARGET

app = typer.Typer(add_completion=False, no_args_is_help=True)
app.command("check")(check)
app.command("new")(new_package)
command(app, "score", ScoreOptions)(score)


@app.callback()
def robot() -> None:
    """Check a real robot, try its skills, score its claims by tags, make a driver package."""


@app.command("try", context_settings={"ignore_unknown_options": True})
def robot_try(
    robot: Annotated[str, typer.Argument(help="Name of a robot of the team that runs.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SKILL...",
            help="see (the default): what the robot perceived last, and how long ago; detect "
            "[LABEL]: perceive anew, standing still; look; drive PLACE; drive X Y [YAW]; "
            f"{', '.join(ON_TARGET)} LABEL [X Y Z]; reach X Y Z. Positions are in the team's "
            "map [m]; without one the nearest thing of that label that the robot sees is meant.",
        ),
    ] = None,
    team: RunningTeam = "",
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> int:
    """Try one skill of one robot of a running team, or tell what the robot perceived last.

    A robot tells what it perceives when it starts and after each skill: see asks nothing of it, and
    says how old that is. Limits and stops hold as for every other goal, and the skill that the
    robot is at is ended; see ends none. Exit code: 0: it succeeded; 1: it did not;
    2: the words are no skill.
    """
    from coterie_cli.robot.trying import try_skill

    return try_skill(robot, words or (), domain=domain, namespace=namespace, team=team)
