"""`./coterie lab`: a house whose robots speak only what real ones speak, for a team to drive."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie_bringup import rundir
from coterie_bringup.errors import CommandError
from coterie_bringup.lab import lab_parameters
from coterie_bringup.processes import dds_environment, discovery_environment
from coterie_bringup.resources import team_file
from coterie_bringup.robot_interfaces import ensure_interfaces
from coterie_bringup.team import load_team
from coterie_cli.options import TEAM, Domain, Floors, Rooms

app = typer.Typer(add_completion=False)


_NODES = 12  # of a team that a lab is usually looked at by


@app.command("lab")
def lab(
    file: Annotated[
        Path,
        typer.Argument(
            **TEAM, help="Path of the team file whose robots the lab plays; default: lab."
        ),
    ] = Path("lab"),
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the house, the starts, the detector, the faults.")
    ] = 0,
    floors: Floors = 1,
    rooms: Rooms = None,
    house: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Path of a saved house, instead of a seed."),
    ] = None,
    noise: Annotated[
        str, typer.Option(help="Level of the detector's errors: none, low, normal or high.")
    ] = "normal",
    habitat: Annotated[
        bool, typer.Option("--habitat", help="The house is rendered by habitat-sim.")
    ] = False,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FAULT",
            help="Fault to play, such as navigate_aborted:code=208; may be given again.",
        ),
    ] = None,
    faults: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Path of a YAML file with a list of faults."
        ),
    ] = None,
    random_faults: Annotated[
        int, typer.Option(min=0, max=1000, help="Number of faults drawn by the seed.")
    ] = 0,
    list_faults: Annotated[
        bool, typer.Option("--list-faults", help="Prints every fault with what it does, and ends.")
    ] = False,
    pace: Annotated[
        float,
        typer.Option(min=0.1, max=100.0, help="Simulated seconds per second, in simulated time."),
    ] = 1.0,
    domain: Domain = None,
) -> int:
    """Simulate robots behind the interfaces of real ones: Nav2, MoveIt, ros2_control."""
    if list_faults:
        _list_faults()
        return 0
    file = team_file("lab") if file == Path("lab") else file
    team = load_team(file)
    ensure_interfaces(team)
    from habitat_bridge.lab.faults import random_faults as drawn
    from habitat_bridge.lab.faults import read_faults
    from habitat_bridge.lab.node import LabNode

    try:
        chosen = read_faults([*_listed(faults), *(fault or ())])
    except ValueError as error:
        raise CommandError(str(error)) from None
    if random_faults:
        chosen += drawn([robot.name for robot in team.robots], seed, random_faults, 300.0)
    world: dict[str, Any] = {"kind": "habitat" if habitat else "embedded", "seed": seed}
    world |= {"noise": noise}
    if house is not None:
        world["house"] = str(house.resolve())
    else:
        world |= {k: v for k, v in (("floors", floors), ("rooms", rooms)) if v is not None}
    parameters = lab_parameters(
        team,
        world,
        faults=[one.model_dump(mode="json") for one in chosen],
        seed=seed,
        pace=pace,
    )
    wanted = domain if domain is not None else team.domain
    with rundir.domain(wanted, real=team.real) as number:
        os.environ["ROS_DOMAIN_ID"] = str(number)
        discovery = discovery_environment(_NODES)
        os.environ.update({**discovery, **dds_environment(discovery)})
        names = ", ".join(robot.name for robot in team.robots)
        print(
            f"lab of team {team.name}: robots {names}, ROS_DOMAIN_ID={number}, time "
            f"{'simulated' if team.simulated_time else 'of day'}; Ctrl-C ends it\n"
            f"  the team drives them from another terminal: ./coterie up {file} "
            f"--domain {number}",
            flush=True,
        )
        for one in chosen:
            print(f"  fault: {one.model_dump(exclude_defaults=True)}", flush=True)
        from coterie_ros.main import run_nodes

        return run_nodes(
            lambda options: LabNode(
                namespace=options.namespace, context=options.context, parameters=parameters
            ),
            ["lab", *_namespace(team.namespace)],
        )


def _namespace(name: str) -> list[str]:
    return ["--ros-args", "-r", f"__ns:=/{name}"] if name else []


def _listed(file: Path | None) -> list[Any]:
    """Return the faults of a YAML file: a list, or a mapping with `faults`."""
    if file is None:
        return []
    import yaml

    from coterie_core.yaml_marks import read_yaml

    try:
        data = read_yaml(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CommandError(f"{file}: cannot be read: {error}") from None
    found = data.get("faults") if isinstance(data, dict) else data
    if not isinstance(found, list):
        raise CommandError(f"{file}: expected a list of faults")
    return found


def _list_faults() -> None:
    """Print every fault, with what it does."""
    from habitat_bridge.lab.faults import KINDS

    width = max(map(len, KINDS))
    for name, text in KINDS.items():
        print(f"{name:<{width}}  {text}")
