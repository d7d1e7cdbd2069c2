"""What the launch files share: a team's processes as actions of `ros2 launch`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from coterie_bringup import rundir
from coterie_bringup.errors import CommandError
from coterie_bringup.plan import ProcessSpec, plan, write_parameters
from coterie_bringup.team import Team, load_team


def chosen(
    team: Team,
    run_directory: Path,
    *,
    packages: Collection[str] = (),
    robot: str = "",
) -> list[ProcessSpec]:
    """Return the processes of a team, all or those asked for.

    Args:
        team: The team.
        run_directory: Where learned models go.
        packages: Only processes of these packages; empty: of all.
        robot: Only this robot's process, which then holds no other robot.

    Raises:
        CommandError: There is no such robot.
    """
    if not robot:
        return [s for s in plan(team, run_directory=run_directory) if _wanted(s, packages)]
    names = [r.name for r in team.robots]
    if robot not in names:
        raise CommandError(f"no robot {robot!r} in the team; it has {', '.join(names)}")
    alone = team.model_copy(
        update={"processes": team.processes.model_copy(update={"robots_per_process": 1})}
    )
    specs = plan(alone, run_directory=run_directory)
    return [s for s in specs if any(n.startswith(f"{robot}/") for n in s.parameters)]


def team_actions(file: str, *, packages: Collection[str] = (), robot: str = "") -> list[Any]:
    """Return launch actions for the team of a file; needs the ROS package launch_ros.

    A node that dies is started again after 2 s, as the supervisor of `./coterie up` does.
    """
    import launch_ros.actions

    team = load_team(Path(file))
    directory = rundir.new_run(team.name)
    specs = chosen(team, directory, packages=packages, robot=robot)
    parameter_file = directory / "parameters.yaml"
    write_parameters(specs, parameter_file)
    return [
        launch_ros.actions.Node(
            package=spec.package,
            executable=spec.executable,
            arguments=list(spec.arguments),
            ros_arguments=spec.ros_arguments(parameter_file)[1:],
            additional_env={"PYTHONUNBUFFERED": "1"},
            output="both",
            emulate_tty=True,
            respawn=spec.restart_limit > 0,
            respawn_delay=2.0,
            respawn_max_retries=spec.restart_limit,
        )
        for spec in specs
    ]


def view_actions(file: str, config: str = "") -> list[Any]:
    """Return launch actions that show a team in RViz; needs the ROS packages launch_ros and rviz2.

    Args:
        file: The team file.
        config: A configuration of RViz instead; "": one made for the team.

    Raises:
        CommandError: Neither is given.
    """
    import launch_ros.actions

    if not file and not config:
        raise CommandError("give team:=FILE, or config:=FILE.rviz")
    if not config:
        from coterie_bringup.view import team_config, write_config

        team = load_team(Path(file))
        path = rundir.new_run(f"{team.name}-view") / "coterie.rviz"
        write_config(team_config(team), path)
        config = str(path)
    return [
        launch_ros.actions.Node(
            package="rviz2",
            executable="rviz2",
            arguments=["-d", config],
            parameters=[{"use_sim_time": True}],
            output="screen",
        )
    ]


def _wanted(spec: ProcessSpec, packages: Collection[str]) -> bool:
    return not packages or spec.package in packages
