"""Processes of a team: what each runs, its nodes' parameters and its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from coterie_bringup.child_process import Program
from coterie_bringup.errors import NO_WORKSPACE, PlanError
from coterie_bringup.resources import DDS_PROFILE, LOCAL_DDS_PROFILE, resource, shipped

LOCALHOST_LIMIT = 25
"""Above so many processes discovery must not be restricted to localhost: Fast DDS then looks at
32 participant ids of a host only, and the clients need some of them."""

_PROFILE = "FASTRTPS_DEFAULT_PROFILES_FILE"


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process of a team.

    `parameters` holds the parameters of each node in it, by the node's name below the team's
    namespace (`bridge`, `scout/explorer`). `environment` is laid over the caller's; `robots` are
    those whose own nodes it holds. `last`: it ends after all others, and outlives who started it.
    """

    name: str
    package: str
    executable: str
    arguments: tuple[str, ...] = ()
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    namespace: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    restart_limit: int = 3
    essential: bool = False
    robots: tuple[str, ...] = ()
    last: bool = False

    def only(self, robots: Sequence[str]) -> ProcessSpec:
        """Return the process with the nodes of these of its robots; a team's process as it is."""
        kept = tuple(robot for robot in self.robots if robot in robots)
        if kept == self.robots:
            return self
        parameters = {
            node: values
            for node, values in self.parameters.items()
            if any(node.startswith(f"{robot}/") for robot in kept)
        }
        return replace(self, parameters=parameters, arguments=("--robots", *kept), robots=kept)

    def with_parameters(self, values: Mapping[str, Any]) -> ProcessSpec:
        """Return the process with these parameters of all its nodes set."""
        parameters = {node: {**old, **values} for node, old in self.parameters.items()}
        return replace(self, parameters=parameters)

    def ros_arguments(self, parameter_file: Path) -> list[str]:
        """Return what follows the program's own arguments on the command line."""
        remap = ["-r", f"__ns:={self.namespace}"] if self.namespace else []
        return ["--ros-args", *remap, "--params-file", str(parameter_file)]


def discovery_environment(processes: int) -> dict[str, str]:
    """Return the settings with which so many processes on one machine find one another.

    What the user set stands, but for LOCALHOST where it cannot work.
    """
    if os.environ.get("ROS_DISCOVERY_SERVER"):
        return {}
    given = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "")
    if processes > LOCALHOST_LIMIT and given in {"", "LOCALHOST"}:
        return {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    return {"ROS_AUTOMATIC_DISCOVERY_RANGE": given or "LOCALHOST"}


def dds_environment(discovery: Mapping[str, str]) -> dict[str, str]:
    """Return Fast DDS's profile, without which images between processes get lost.

    A team that stays on this machine has one that opens no socket to the network: LOCALHOST alone
    only keeps it from looking for others. A profile that the user chose stands.

    Args:
        discovery: What `discovery_environment` says.
    """
    given = os.environ.get(_PROFILE)
    own = given is None or (Path(given).name == Path(DDS_PROFILE).name and shipped(Path(given)))
    if not own or "FASTDDS_DEFAULT_PROFILES_FILE" in os.environ:
        return {}
    local = discovery.get("ROS_AUTOMATIC_DISCOVERY_RANGE") == "LOCALHOST"
    alone = local and not os.environ.get("ROS_STATIC_PEERS")
    if given is not None and not alone:
        return {}
    return {_PROFILE: str(resource(LOCAL_DDS_PROFILE if alone else DDS_PROFILE))}


def write_parameters(specs: Sequence[ProcessSpec], file: Path) -> None:
    """Write the parameters of all nodes into one file, each under its full name.

    Empty lists are left out: rcl reads no type from them. They are what nodes have by default.
    """
    nodes = {
        f"{spec.namespace}/{node}": {
            "ros__parameters": {k: v for k, v in parameters.items() if v != []}
        }
        for spec in specs
        for node, parameters in spec.parameters.items()
    }
    head = "# Written from the team file; a change here is lost.\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.dump(nodes, Dumper=_WithoutAliases, sort_keys=True, width=2**20)
    file.write_text(head + text, encoding="utf-8")


class _WithoutAliases(yaml.SafeDumper):
    """Writes a list that several nodes share for each of them: rcl reads no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def programs(
    specs: Sequence[ProcessSpec], parameter_file: Path, environment: Mapping[str, str]
) -> list[Program]:
    """Return the specs as programs for the supervisor.

    Raises:
        PlanError: A package or executable is not installed.
    """
    return [
        Program(
            spec.name,
            (
                str(find_executable(spec.package, spec.executable)),
                *spec.arguments,
                *spec.ros_arguments(parameter_file),
            ),
            environment={"PYTHONUNBUFFERED": "1", **environment, **spec.environment},
            restart_limit=spec.restart_limit,
            essential=spec.essential,
            ignore_sigint_until_ready=True,
            last=spec.last,
        )
        for spec in specs
    ]


def find_executable(package: str, executable: str) -> Path:
    """Return the path of a ROS package's executable, as `ros2 run` finds it.

    Raises:
        PlanError: The package or the executable is in no prefix of AMENT_PREFIX_PATH.
    """
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    for prefix in prefixes:
        path = prefix / "lib" / package / executable
        if path.is_file() and os.access(path, os.X_OK):
            return path
    found = [p for p in prefixes if (p / "share" / package).is_dir()]
    what = f"the package {package} has no executable {executable!r}"
    if not found:
        what = f"the package {package} is not in AMENT_PREFIX_PATH"
    if not found:
        raise PlanError(f"{what}; {NO_WORKSPACE}")
    raise PlanError(f"{what}; run `./coterie setup`, or source ros2_ws/install/setup.bash")
