"""Commands about real robots: what is missing for one, and a package for its own driver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie_cli.options import AsJson, Domain, Namespace, TeamDomain, TeamFile

robot_app = typer.Typer(
    help="Real robots: check one, try its skills, make a driver.", no_args_is_help=True
)


@robot_app.command("check")
def robot_check(
    team: TeamFile,
    robot: Annotated[
        list[str] | None,
        typer.Option(help="Name of a robot; may be given again; default: all with an adapter."),
    ] = None,
    duration: Annotated[
        float, typer.Option(min=1.0, max=600.0, help="Time to listen to the robots [s].")
    ] = 6.0,
    domain: Domain = None,
    as_json: AsJson = False,
) -> None:
    """Tell what is missing between a team file and the robots of a lab.

    The drivers must run; the team need not. Exit code: 0: all is there; 1: something to mend;
    2: the team file is wrong.
    """
    from coterie_cli.robot.check import check as run

    code = run(team, robots=robot or (), duration=duration, domain=domain, as_json=as_json)
    raise typer.Exit(code)


@robot_app.command("new")
def robot_new(
    name: Annotated[str, typer.Argument(help="Name of the package and of the robot's driver.")],
    into: Annotated[
        Path, typer.Option(file_okay=False, help="Folder that the package's folder is made in.")
    ] = Path("ros2_ws/src"),
) -> None:
    """Write a ROS package with a driver to fill in, for a robot that has no Nav2 or MoveIt.

    It serves coterie_msgs' actions, as an adapter with `backend: skills` asks for them; its tests
    run at once.
    """
    from coterie_cli.robot.new import new_package

    new_package(name, into)


@robot_app.command("try", context_settings={"ignore_unknown_options": True})
def robot_try(
    robot: Annotated[str, typer.Argument(help="Name of a robot of the team that runs.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SKILL...",
            help="see (the default): what the robot perceived last, and how long ago; detect "
            "[LABEL]: perceive anew, standing still; look; drive PLACE; drive X Y [YAW]; "
            "pick, place, open or close LABEL [X Y Z]; reach X Y Z. Positions are in the team's "
            "map [m]; without one the nearest thing of that label that the robot sees is meant.",
        ),
    ] = None,
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> None:
    """Try one skill of one robot of a running team, or tell what the robot perceived last.

    A robot tells what it perceives when it starts and after each skill: see asks nothing of it, and
    says how old that is. Limits and stops hold as for every other goal, and the skill that the
    robot is at is ended; see ends none. Exit code: 0: it succeeded; 1: it did not;
    2: the words are no skill.
    """
    from coterie_cli.robot.trying import try_skill

    raise typer.Exit(try_skill(robot, words or (), domain=domain, namespace=namespace))
