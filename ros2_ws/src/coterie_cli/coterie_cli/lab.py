"""`./coterie lab`: a house whose robots speak only what real ones speak, for a team to drive."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coterie_bringup import rundir
from coterie_bringup.errors import CommandError
from coterie_bringup.lab import lab_parameters
from coterie_bringup.processes import dds_environment, discovery_environment
from coterie_bringup.robot_interfaces import ensure_interfaces
from coterie_bringup.team import load_team

_NODES = 12  # of a team that a lab is usually looked at by


def lab(
    file: Path,
    *,
    seed: int = 0,
    floors: int | None = None,
    rooms: int | None = None,
    house: Path | None = None,
    noise: str = "normal",
    habitat: bool = False,
    faults: Sequence[str] = (),
    fault_file: Path | None = None,
    random_faults: int = 0,
    pace: float = 1.0,
    domain: int | None = None,
) -> int:
    """Run a lab until Ctrl-C; return the exit code.

    Args:
        file: The team file whose robots the lab plays.
        seed: Seed of the house, the starts, the detector and the faults.
        floors: Storeys of the house; None: chosen by the seed.
        rooms: Rooms of the house; None: chosen by the seed.
        house: A saved house instead.
        noise: Level of the detector's errors.
        habitat: Whether the house is rendered by habitat-sim.
        faults: What goes wrong, each as a text.
        fault_file: A YAML file with a list of more faults.
        random_faults: Number of faults drawn by the seed over the first five minutes.
        pace: Simulated seconds per second, where the team's time is simulated.
        domain: ROS domain; None: where `./coterie up` looks for the robots of that file.

    Raises:
        CommandError: A fault cannot be read, or real robots' interfaces are not built.
    """
    team = load_team(file)
    ensure_interfaces(team)
    from habitat_bridge.lab.faults import random_faults as drawn
    from habitat_bridge.lab.faults import read_faults
    from habitat_bridge.lab.node import LabNode

    try:
        chosen = read_faults([*_listed(fault_file), *faults])
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
        faults=[fault.model_dump(mode="json") for fault in chosen],
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
        for fault in chosen:
            print(f"  fault: {fault.model_dump(exclude_defaults=True)}", flush=True)
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


def list_faults() -> None:
    """Print every fault, with what it does."""
    from habitat_bridge.lab.faults import KINDS

    width = max(map(len, KINDS))
    for name, text in KINDS.items():
        print(f"{name:<{width}}  {text}")
