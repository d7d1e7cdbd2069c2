"""From a team to its processes: what `ros2 launch` and `./coterie up` both start."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from coterie_bringup.hosts import link_parameters, network_environment, robots_on, runs_on
from coterie_bringup.mapper_parameters import mapper_parameters
from coterie_bringup.node_parameters import (
    adapter_parameters,
    aggregator_parameters,
    bridge_parameters,
    cooperator_parameters,
    explorer_parameters,
    kept_parameters,
    leader_parameters,
    open_parameters,
    perception_parameters,
    planner_parameters,
    resume_parameters,
    settings_parameters,
    why_folder,
    worker_parameters,
)
from coterie_bringup.processes import ProcessSpec, dds_environment, discovery_environment
from coterie_bringup.security.enforcing import secured
from coterie_bringup.team import Team
from coterie_bringup.team_robots import RobotSpec
from coterie_core.own_classes import TEAM_FILE
from coterie_llm.own import ENVIRONMENT as DECISIONS
from coterie_safety.why import ENVIRONMENT, JournalSettings

MOST_EXPLORER_PROCESSES = 4
"""Robots share processes beyond this, unless the team file says how many go into one."""

ROLES: tuple[
    tuple[str, str, str, str, Callable[[Team, RobotSpec, Path | None], dict[str, Any]]], ...
] = (
    ("explorer", "mele_explorer", "explorer_node", "explorer", explorer_parameters),
    ("worker", "emos_planner", "robot_node", "robot", worker_parameters),
    ("cooperator", "reveca_agent", "agent_node", "agent", cooperator_parameters),
)
"""Roles of robots: package, executable and name of each one's own node, and its parameters."""


def plan(team: Team, *, run_directory: Path | None = None, host: str = "") -> list[ProcessSpec]:
    """Return the processes of a team in the order to start them: bridge, who leads, robots.

    Real robots have adapters in place of the bridge, and a watchdog beside each. Robots that
    answer questions have an aggregator, those that do tasks a leader.

    Args:
        team: The team.
        run_directory: Where memories, and learned models for which the team file names no place,
            are kept.
        host: Only what this host of the team file runs; "": everything.
    """
    here = robots_on(team, host)
    specs: list[ProcessSpec] = []

    def add(
        name: str, package: str, executable: str, nodes: Mapping[str, Mapping[str, Any]],
        arguments: Sequence[str] = (), *, essential: bool = False, robots: Sequence[str] = (),
        last: bool = False,
    ) -> None:  # fmt: skip
        if not robots and not runs_on(team, host, name):
            return
        spec = ProcessSpec(
            name,
            package,
            executable,
            arguments=tuple(arguments),
            parameters=nodes,
            namespace=f"/{team.namespace}" if team.namespace else "",
            restart_limit=team.processes.restart_limit,
            essential=essential,
            robots=tuple(robots),
            last=last,
        )
        specs.append(spec.with_parameters({"use_sim_time": team.simulated_time}))

    kept = "" if run_directory is None else str(run_directory / "world")
    in_charge = kept_parameters(team, run_directory)
    nodes: dict[str, Mapping[str, Any]] = {}
    for robot in here if team.real else ():
        # A process for each: it may run on its robot's computer.
        link = link_parameters(team, host)
        nodes = {f"{robot.name}/adapter": {**adapter_parameters(team, robot), **in_charge, **link}}
        add(f"adapter.{robot.name}", "robot_adapters", "adapter_node", nodes,
            ("--robots", robot.name), robots=(robot.name,))  # fmt: skip
    for robot in here if team.real else ():
        if robot.driver:
            add(f"driver.{robot.name}", "robot_adapters", "driver_node",
                {f"{robot.name}/driver": {}}, ("--robots", robot.name, "--driver", robot.driver),
                robots=(robot.name,), last=True)  # fmt: skip
        if watched := perception_parameters(team, robot):
            add(f"detector.{robot.name}", "coterie_perception", "perception_node",
                {f"{robot.name}/detector": watched}, ("--robots", robot.name),
                robots=(robot.name,))  # fmt: skip
    for robot in here if team.real else ():
        nodes = {f"{robot.name}/watchdog": settings_parameters(team, robot)}
        add(f"watchdog.{robot.name}", "robot_adapters", "watchdog_node", nodes,
            ("--robots", robot.name), robots=(robot.name,), last=True)  # fmt: skip
    if not team.real:
        world = {**bridge_parameters(team), "state_directory": kept, **in_charge}
        nodes = {"bridge": world}
        add("bridge", "habitat_bridge", "bridge_node", nodes, essential=True)
    if team.explorers:
        nodes = {"aggregator": aggregator_parameters(team, run_directory)}
        add("aggregator", "cam_aggregator", "aggregator_node", nodes, essential=True)
    if team.leader is not None:
        nodes = {"leader": leader_parameters(team, team.leader, run_directory)}
        add("leader", "emos_planner", "leader_node", nodes, essential=True)
    described = [robot for robot in here if robot.urdf]
    if described:
        names = [robot.name for robot in described]
        nodes = {f"{robot.name}/resume": resume_parameters(team, robot) for robot in described}
        add("resumes", "robot_resume", "resume_node", nodes, ("--robots", *names), robots=names)
    for name, nodes in mapper_parameters(team, run_directory).items():
        mine = name.partition(".")[2]
        own = [mine] if mine else []
        if own and mine not in [robot.name for robot in here]:
            continue
        add(name, "semantic_mapper", "mapper_node", nodes, ("--name", *nodes), robots=own)
    if team.planner is not None:
        nodes = {"object_planner": planner_parameters(team, team.planner, run_directory)}
        add("planner", "object_planner", "planner_node", nodes)
    if team.open_questions is not None:
        nodes = {"open_questions": open_parameters(team, team.open_questions, run_directory)}
        add("open_questions", "openeqa_agent", "open_node", nodes)
    for role, package, executable, node, parameters in ROLES:
        for group in _groups(team, [robot for robot in here if robot.role == role]):
            names = [robot.name for robot in group]
            more = f"+{len(names) - 1}" if len(names) > 1 else ""
            nodes = {f"{r.name}/{node}": parameters(team, r, run_directory) for r in group}
            add(f"{node}.{names[0]}{more}", package, executable, nodes,
                ("--robots", *names), robots=names)  # fmt: skip
    found = network_environment(team, host) if host else discovery_environment(len(specs))
    environment = {**found, **dds_environment(found)}
    if (folder := why_folder(team, run_directory)) is not None:
        settings = JournalSettings(str(folder), team.why.megabytes, team.why.days)
        environment[ENVIRONMENT] = settings.to_json()
    if team.own_classes:
        environment[TEAM_FILE] = str(team.file or "")
        environment[DECISIONS] = json.dumps(team.decisions)
    return [secured(team, replace(spec, environment=environment)) for spec in specs]


def _groups(team: Team, chosen: Sequence[RobotSpec]) -> list[list[RobotSpec]]:
    """Spread robots over processes, as evenly as their number allows."""
    robots = list(chosen)
    if not robots:
        return []
    size = team.processes.robots_per_process
    count = math.ceil(len(robots) / size) if size else min(len(robots), MOST_EXPLORER_PROCESSES)
    small, larger = divmod(len(robots), count)
    groups: list[list[RobotSpec]] = []
    for i in range(count):
        groups.append(robots[: small + (i < larger)])
        robots = robots[small + (i < larger) :]
    return groups
