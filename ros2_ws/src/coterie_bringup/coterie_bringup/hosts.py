"""A team on several computers: each one's share, and the environment in which they meet."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Sequence
from typing import Any

from coterie_bringup.child_process import Program
from coterie_bringup.errors import CommandError, PlanError
from coterie_bringup.processes import find_executable
from coterie_bringup.team import Team
from coterie_bringup.team_hosts import TEAM
from coterie_bringup.team_robots import RobotSpec
from coterie_core.yaml_checks import suggestion

ALL = "all"
"""In place of a host's name: everything runs on this computer, as though there were no hosts."""

SERVER = "fast-discovery-server"
"""Program of Fast DDS that `fastdds discovery` starts."""


def chosen_host(team: Team, given: str, *, option: str = "--host") -> str:
    """Return the host whose share this computer runs; "": everything runs here.

    Args:
        team: The team.
        given: What the user said: a host, `all`, or nothing.
        option: What the user says it with.

    Raises:
        CommandError: There is no such host, or the user has to choose one.
    """
    names = list(team.hosts)
    if not names:
        if given in ("", ALL):
            return ""
        raise CommandError(f"{option} {given}: team {team.name} has no `hosts` in its file")
    if given == ALL:
        return ""
    how = f"{option} {' | '.join(names)}, or {option} {ALL} to run everything on this computer"
    if not given:
        raise CommandError(f"team {team.name} runs on several hosts; say which one this is: {how}")
    if given not in names:
        raise CommandError(f"{option}: no host {given!r}{suggestion(given, names)}; {how}")
    return given


def host_option(team: Team, host: str) -> str:
    """Return what `--host` says of a share: a host, or `all`; "" for a team without hosts."""
    return host or (ALL if team.hosts else "")


def require_address(team: Team, host: str) -> None:
    """Refuse to run a host's share on another computer.

    Raises:
        CommandError: The host's address is not one of this computer's.
    """
    address = team.hosts[host].address
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError as error:
        raise CommandError(
            f"hosts.{host}.address: {address} is no address of this computer ({error.strerror}); "
            "start each host's share on its own computer, and after its network is up"
        ) from None


def robots_on(team: Team, host: str) -> tuple[RobotSpec, ...]:
    """Return the robots whose own processes a host runs; "": all."""
    if not host:
        return team.robots
    return tuple(robot for robot in team.robots if robot.name in team.hosts[host].robots)


def runs_on(team: Team, host: str, process: str) -> bool:
    """Whether a host runs a process of the team, such as `leader`; "": it runs all."""
    if not host:
        return True
    for name, spec in team.hosts.items():
        if process in spec.runs:
            return name == host
    return TEAM in team.hosts[host].runs


def driven_elsewhere(team: Team, host: str) -> tuple[str, ...]:
    """Return the robots whose stops another host obeys: where the bridge or their adapter is."""
    if not team.real and runs_on(team, host, "bridge"):
        return ()
    here = robots_on(team, host) if team.real else ()
    return tuple(robot.name for robot in team.robots if robot not in here)


def link_parameters(team: Team, host: str) -> dict[str, Any]:
    """Return what an adapter on a host listens to, so that it knows when it is cut off."""
    parts = [("aggregator", bool(team.explorers)), ("leader", team.leader is not None)]
    heard = [part for part, there in parts if there and not runs_on(team, host, part)]
    if not host or not heard:
        return {}
    names = ["/".join(filter(None, (team.namespace, part))) for part in heard]
    return {"team_nodes": ",".join(names), "cut_off": team.hosts[host].cut_off}


def network_environment(team: Team, host: str) -> dict[str, str]:
    """Return the variables with which processes on a host find those on the others."""
    kind = team.discovery.kind
    others = [spec.address for name, spec in team.hosts.items() if name != host]
    common = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    if kind == "multicast":
        # Peers by address as well: many wireless networks pass on no multicast.
        return {**common, "ROS_STATIC_PEERS": ";".join(others), "ROS_DISCOVERY_SERVER": ""}
    if kind == "server":
        where = f"{_server_address(team)}:{team.discovery.chosen_port}"
        # A super client knows the whole graph, as tools need it that list robots.
        return {**common, "ROS_DISCOVERY_SERVER": where, "ROS_SUPER_CLIENT": "TRUE"}
    return {**common, "RMW_IMPLEMENTATION": "rmw_zenoh_cpp", "ROS_DISCOVERY_SERVER": ""}


def discovery_programs(team: Team, host: str) -> list[Program]:
    """Return what a host has to run so that the hosts find one another, for the supervisor.

    Raises:
        PlanError: The chosen kind of discovery is not installed.
    """
    if not host:
        return []
    spec, limit = team.discovery, team.processes.restart_limit
    server = _server_host(team)
    if spec.kind == "server" and host == server:
        found = shutil.which(SERVER)
        if found is None:
            raise PlanError(
                f"discovery.kind is server, and there is no {SERVER} in PATH; run `./coterie "
                "setup`, or source /opt/ros/jazzy/setup.bash"
            )
        # It listens at all addresses: those of this computer, too, reach it by the named one.
        command: Sequence[str] = (found, "-i", "0", "-l", "0.0.0.0", "-p", str(spec.chosen_port))
        return [Program("discovery", tuple(command), restart_limit=limit)]
    if spec.kind == "zenoh":
        try:
            router = find_executable("rmw_zenoh_cpp", "rmw_zenohd")
        except PlanError:
            raise PlanError(
                "discovery.kind is zenoh, and rmw_zenoh_cpp is not installed here: install "
                "ros-jazzy-rmw-zenoh-cpp, or choose multicast or server"
            ) from None
        # Each host has a router, so that its own processes find one another while the link is cut.
        port = spec.chosen_port
        config = f'listen/endpoints=["tcp/[::]:{port}"]'
        if host != server:
            config += f';connect/endpoints=["tcp/{_server_address(team)}:{port}"]'
        environment = {"ZENOH_CONFIG_OVERRIDE": config}
        return [Program("discovery", (str(router),), environment=environment, restart_limit=limit)]
    return []


def discovery_port(team: Team) -> str:
    """Return what others must be able to reach for discovery, in words."""
    spec = team.discovery
    if spec.kind == "zenoh":
        return f"TCP port {spec.chosen_port} of every host"
    dds = f"UDP ports {7400 + 250 * (team.domain or 0)} to {7649 + 250 * (team.domain or 0)}"
    if spec.kind == "server":
        return f"{dds} of every host, and UDP port {spec.chosen_port} of {_server_host(team)}"
    return f"{dds} of every host"


def _server_host(team: Team) -> str:
    if team.discovery.host:
        return team.discovery.host
    return next(name for name, spec in team.hosts.items() if TEAM in spec.runs)


def _server_address(team: Team) -> str:
    return team.hosts[_server_host(team)].address
