"""From a team to its processes: what `ros2 launch` and `./coterie up` both start."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from coterie_bringup.memory import memory_folder, memory_parameters
from coterie_bringup.program import Program
from coterie_bringup.resources import DDS_PROFILE, resource
from coterie_bringup.team import (
    LeaderSpec,
    OpenQuestionsSpec,
    PlannerSpec,
    RobotSpec,
    StartSpec,
    Team,
)
from coterie_core.detector_vocabulary import STRUCTURE, household_vocabulary
from coterie_core.embodiment import Embodiment
from coterie_core.resume import Resume
from habitat_bridge.robots import EMBODIMENTS

LOCALHOST_LIMIT = 25
"""Above so many processes discovery must not be restricted to localhost: Fast DDS then looks at
32 participant ids of a host only, and the clients need some of them."""

MOST_EXPLORER_PROCESSES = 4
"""Robots share processes beyond this, unless the team file says how many go into one."""


class PlanError(Exception):
    """A team cannot be turned into processes here; says what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process of a team.

    `parameters` holds the parameters of each node in it, by the node's name below the team's
    namespace (`bridge`, `scout/explorer`). `environment` is laid over the caller's; `robots` are
    those whose own nodes it holds.
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


def plan(team: Team, *, run_directory: Path | None = None) -> list[ProcessSpec]:
    """Return the processes of a team in the order to start them: bridge, who leads, robots.

    Robots that answer questions have an aggregator, those that do tasks a leader.

    Args:
        team: The team.
        run_directory: Where memories, and learned models for which the team file names no place,
            are kept.
    """
    namespace = f"/{team.namespace}" if team.namespace else ""
    limit = team.processes.restart_limit
    explorers, workers = _groups(team, team.explorers), _groups(team, team.workers)
    cooperators = _groups(team, team.cooperators)
    described = [robot.name for robot in team.robots if robot.urdf]
    count = 1 + bool(explorers) + bool(workers) + bool(described) + len(explorers) + len(workers)
    mappers = mapper_parameters(team, run_directory)
    count += (
        len(cooperators)
        + len(mappers)
        + (team.planner is not None)
        + (team.open_questions is not None)
    )
    kept = "" if run_directory is None else str(run_directory / "world")
    environment = {**discovery_environment(count), **dds_environment()}

    def process(
        name: str, package: str, executable: str, parameters: Mapping[str, Mapping[str, Any]],
        arguments: tuple[str, ...] = (), *, essential: bool = False, robots: Sequence[str] = (),
    ) -> ProcessSpec:  # fmt: skip
        return ProcessSpec(
            name,
            package,
            executable,
            arguments=arguments,
            parameters=parameters,
            namespace=namespace,
            environment=environment,
            restart_limit=limit,
            essential=essential,
            robots=tuple(robots),
        ).with_parameters({"use_sim_time": True})

    specs = [
        process(
            "bridge",
            "habitat_bridge",
            "bridge_node",
            {"bridge": {**bridge_parameters(team), "state_directory": kept}},
            essential=True,
        )
    ]
    if explorers:
        specs.append(
            process(
                "aggregator",
                "cam_aggregator",
                "aggregator_node",
                {"aggregator": aggregator_parameters(team, run_directory)},
                essential=True,
            )
        )
    if team.leader is not None:
        specs.append(
            process(
                "leader",
                "emos_planner",
                "leader_node",
                {"leader": leader_parameters(team, team.leader, run_directory)},
                essential=True,
            )
        )
    if described:
        specs.append(
            process(
                "resumes",
                "emos_planner",
                "resume_node",
                {f"{r.name}/resume": resume_parameters(team, r) for r in team.robots if r.urdf},
                ("--robots", *described),
                robots=described,
            )
        )
    for name, nodes in mappers.items():
        arguments = ("--name", *nodes)
        mine = name.partition(".")[2]
        robots = [mine] if mine else []
        specs.append(
            process(name, "semantic_mapper", "mapper_node", nodes, arguments, robots=robots)
        )
    if team.planner is not None:
        nodes = {"object_planner": planner_parameters(team, team.planner, run_directory)}
        specs.append(process("planner", "object_planner", "planner_node", nodes))
    if team.open_questions is not None:
        nodes = {"open_questions": open_parameters(team, team.open_questions, run_directory)}
        specs.append(process("open_questions", "openeqa_agent", "open_node", nodes))
    for group in explorers:
        parameters = {
            f"{r.name}/explorer": explorer_parameters(team, r, run_directory) for r in group
        }
        name, arguments = _named("explorer", group)
        specs.append(
            process(
                name, "mele_explorer", "explorer_node", parameters, arguments, robots=arguments[1:]
            )
        )
    for group in workers:
        parameters = {f"{r.name}/robot": worker_parameters(team, r, run_directory) for r in group}
        name, arguments = _named("robot", group)
        specs.append(
            process(name, "emos_planner", "robot_node", parameters, arguments, robots=arguments[1:])
        )
    for group in cooperators:
        parameters = {
            f"{r.name}/agent": cooperator_parameters(team, r, run_directory) for r in group
        }
        name, arguments = _named("agent", group)
        specs.append(
            process(name, "reveca_agent", "agent_node", parameters, arguments, robots=arguments[1:])
        )
    return specs


def _named(kind: str, robots: Sequence[RobotSpec]) -> tuple[str, tuple[str, ...]]:
    """Return the name of a process of several robots, and its arguments."""
    names = tuple(r.name for r in robots)
    more = f"+{len(names) - 1}" if len(names) > 1 else ""
    return f"{kind}.{names[0]}{more}", ("--robots", *names)


def bridge_parameters(team: Team) -> dict[str, Any]:
    """Return the bridge node's parameters: the world and the robots as JSON."""
    world = team.world_spec().model_dump(mode="json")
    robots = [{**_body(team, r), "name": r.name, "start": _start(r.start)} for r in team.robots]
    parameters = {
        "world": json.dumps(world, sort_keys=True),
        "robots": json.dumps(robots, sort_keys=True),
        "mode": team.mode,
        "seed": team.seed,
    }
    if team.leader is not None:
        parameters["prior_map"] = team.leader.prior_map
    elif team.cooperators:
        parameters["prior_map"] = team.cooperation.prior_map
    elif team.mapper is not None:
        parameters["prior_map"] = team.mapper.prior_map
    if team.mapper is not None or team.leader is not None:
        # The mapper, or the leader, takes it up and publishes the map: one publisher of a topic.
        parameters["prior_topic"] = "prior_map"
    return parameters


def robot_body(team: Team, robot: RobotSpec) -> Embodiment:
    """Return a robot's body: a preset, or what its URDF tells.

    Raises:
        PlanError: The URDF or its overrides cannot be used.
    """
    if not robot.urdf:
        return EMBODIMENTS[robot.embodiment].model_copy(update={"name": robot.name})
    return described_robot(team, robot)[1].embodiment()


def _body(team: Team, robot: RobotSpec) -> dict[str, Any]:
    """Return a robot's body for the bridge: a preset, or what its URDF tells.

    Raises:
        PlanError: The URDF or its overrides cannot be used.
    """
    if not robot.urdf:
        return {"embodiment": robot_body(team, robot).model_dump(mode="json")}
    urdf, resume = described_robot(team, robot)
    return {
        "embodiment": resume.embodiment().model_dump(mode="json"),
        "urdf": urdf,
        "resume": False,
    }


def _start(start: StartSpec) -> dict[str, Any]:
    """Return a start as the bridge takes it; what is not given is left out."""
    if start.pose is not None:
        pose = start.pose
        return {"position": [pose.x, pose.y, pose.z], "yaw": pose.yaw}
    return {k: v for k, v in {"room": start.room, "place": start.place}.items() if v is not None}


def aggregator_parameters(team: Team, run_directory: Path | None) -> dict[str, Any]:
    """Return the aggregator node's parameters."""
    settings = team.aggregator
    directory = ""
    if settings.model_directory:
        directory = str(team.resolve(settings.model_directory))
    elif run_directory is not None:
        directory = str(run_directory / "models")
    return {
        "method": settings.method,
        "robots": [r.name for r in team.explorers],
        "deadline": settings.deadline,
        "model_directory": directory,
        "house": team.house_name(),
        "abstain_below": settings.abstain_below,
        "seed": team.seed,
    }


def explorer_parameters(team: Team, robot: RobotSpec, run_directory: Path | None) -> dict[str, Any]:
    """Return the parameters of one robot's explorer node.

    Every robot has a seed of its own. Its memory is kept in the run directory, so that a robot
    whose process is started again goes on with what it knew.
    """
    index = [r.name for r in team.robots].index(robot.name)
    folder = memory_folder(team, run_directory)
    return {
        "robot": robot.name,
        "model_profile": _profile(team, robot.model),
        "seed": (team.seed * 1009 + index) % 2**31,
        "malicious": robot.malicious,
        "deadline": team.aggregator.deadline,
        **detector_vocabulary(team),
        "state_directory": "" if folder is None else str(folder / "memory"),
        **memory_parameters(team, run_directory),
    }


def detector_vocabulary(team: Team, ignored: Collection[str] = ("door",)) -> dict[str, list[str]]:
    """Return the parameter that says what a simulated detector can report; empty: not known.

    Args:
        team: The team.
        ignored: Labels that are not reported; see `household_vocabulary`.
    """
    world = team.world
    if world.kind == "graph" or world.scene is not None or world.house is not None:
        return {}  # labels come from files
    return {"detector_vocabulary": list(household_vocabulary(ignored))}


def leader_parameters(team: Team, leader: LeaderSpec, run_directory: Path | None) -> dict[str, Any]:
    """Return the leader node's parameters."""
    limits = (
        "round_limit",
        "reflect_timeout",
        "group_size",
        "reassign_limit",
        "silence",
        "revive",
        "unseen",
        "map_timeout",
        "max_time",
    )
    return {
        "robots": [r.name for r in team.workers],
        "model_profile": _profile(team, leader.model),
        **{name: getattr(leader, name) for name in limits},
        "seed": team.seed,
        "state_directory": "" if run_directory is None else str(run_directory / "leader"),
        # A mapper has seen what the robots see, and publishes the map.
        "map_topic": "prior_map" if team.mapper is None else "semantic_map",
        "observers": [r.name for r in team.robots] if team.mapper is None else [],
        **memory_parameters(team, run_directory),
    }


def worker_parameters(team: Team, robot: RobotSpec, run_directory: Path | None) -> dict[str, Any]:
    """Return the parameters of one robot's node that does tasks."""
    index = [r.name for r in team.robots].index(robot.name)
    return {
        "robot": robot.name,
        "robots": [r.name for r in team.workers],
        "model_profile": _profile(team, robot.model),
        "seed": (team.seed * 1009 + index) % 2**31,
        "state_directory": "" if run_directory is None else str(run_directory / "robots"),
        **memory_parameters(team, run_directory),
    }


def cooperator_parameters(
    team: Team, robot: RobotSpec, run_directory: Path | None
) -> dict[str, Any]:
    """Return the parameters of one robot's node that cooperates without a leader."""
    index = [r.name for r in team.robots].index(robot.name)
    spec, body = team.cooperation, robot_body(team, robot)
    arm = body.arm
    hand = (
        {} if arm is None else {"reach": arm.reach, "low": arm.min_height, "high": arm.max_height}
    )
    return {
        "robot": robot.name,
        "team": [*(r.name for r in team.cooperators), *spec.people],
        "model_profile": _profile(team, robot.model),
        "seed": (team.seed * 1009 + index) % 2**31,
        **{name: getattr(spec, name) for name in ("levels", "plans", "step", "max_time")},
        "radius": body.radius,
        "speed": body.linear_speed,
        **hand,
        "state_directory": "" if run_directory is None else str(run_directory / "agents"),
        **memory_parameters(team, run_directory),
    }


def mapper_parameters(team: Team, run_directory: Path | None) -> dict[str, dict[str, Any]]:
    """Return the parameters of the mapper nodes, by process: one, or one per robot and their sum.

    Nodes are called `mapper`, and `mapper_<robot>` where a robot has its own.
    """
    spec = team.mapper
    if spec is None:
        return {}
    names = [robot.name for robot in team.robots]
    chosen = {key: getattr(spec, key) for key in ("color", "near", "far", "looks", "most_things")}
    folder = memory_folder(team, run_directory)
    kept = "" if folder is None else str(folder / "map")
    # No map before what is known beforehand is in it: who asks would take it for the whole.
    known = {"prior_patience": 10.0} if bridge_parameters(team)["prior_map"] != "nothing" else {}
    cameras = list(spec.cameras) or [
        f"{robot.name}/{camera.name}"
        for robot in team.robots
        for camera in robot_body(team, robot).cameras
    ]
    common = {**chosen, **known, "cameras": cameras, "state_directory": kept}
    memory = memory_parameters(team, run_directory)
    if not spec.per_robot:
        return {"mapper": {"mapper": {**common, "robots": names, **memory}}}
    alone = {
        f"mapper.{name}": {f"mapper_{name}": {**common, "robots": [name], "output": name}}
        for name in names
    }
    merged = {"robots": names, "merge": True, "state_directory": kept, **memory}
    return {**alone, "mapper": {"mapper": merged}}


def planner_parameters(team: Team, spec: PlannerSpec, run_directory: Path | None) -> dict[str, Any]:
    """Return the object planner's parameters."""
    return {
        "method": spec.method,
        "mode": spec.mode,
        "model_profile": _profile(team, spec.model),
        **memory_parameters(team, run_directory),
    }


def open_parameters(
    team: Team, spec: OpenQuestionsSpec, run_directory: Path | None
) -> dict[str, Any]:
    """Return the parameters of the node that answers open questions.

    Without a mapper nobody goes to look: what is seen would not come onto the map.
    """
    robot = spec.robot or team.robots[0].name
    if team.mapper is None:
        robot = "none"
    return {
        "method": spec.method,
        "model_profile": _profile(team, spec.model),
        "robot": "" if robot == "none" else robot,
        "max_distance": spec.max_distance,
        "seed": team.seed,
        # What the map holds comes from images, whose detector reports no parts of the house.
        **detector_vocabulary(team, STRUCTURE),
        **memory_parameters(team, run_directory),
    }


def resume_parameters(team: Team, robot: RobotSpec) -> dict[str, Any]:
    """Return the parameters of the node that makes a robot's resume from its description."""
    overrides = str(team.resolve(robot.overrides)) if robot.overrides else ""
    return {
        "robot": robot.name,
        "overrides": overrides,
        "model_profile": _profile(team, robot.model),
    }


def described_robot(team: Team, robot: RobotSpec) -> tuple[str, Resume]:
    """Return the URDF of a robot of a team, and the resume made from it (kept for the next start).

    Raises:
        PlanError: A file cannot be read, or the URDF cannot be used; names it and the remedy.
    """
    from emos_planner.resume.errors import UrdfError
    from emos_planner.resume.stored import stored_resume

    file = team.resolve(robot.urdf)
    overrides = team.resolve(robot.overrides) if robot.overrides else None
    try:
        resume = stored_resume(file, name=robot.name, overrides=overrides)
        return file.read_text("utf-8", errors="replace"), resume
    except OSError as error:
        raise PlanError(
            f"robots: {robot.name}: urdf: cannot read {error.filename}: {error.strerror}"
        ) from None
    except (UrdfError, ValueError) as error:
        raise PlanError(f"robots: {robot.name}: urdf: {error}") from None


def _profile(team: Team, name: str) -> str:
    """Return a model profile as JSON, with what it sets only: the rest are the node's defaults."""
    profile = team.profile(name)
    given = profile.model_dump(mode="json", exclude_defaults=True)
    return json.dumps({"kind": profile.kind, **given}, sort_keys=True)


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


def dds_environment() -> dict[str, str]:
    """Return Fast DDS's profile, without which images between processes get lost.

    A profile that the user chose stands.
    """
    if {"FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"} & os.environ.keys():
        return {}
    return {"FASTRTPS_DEFAULT_PROFILES_FILE": str(resource(DDS_PROFILE))}


def write_parameters(specs: Sequence[ProcessSpec], file: Path) -> None:
    """Write the parameters of all nodes into one file, each under its full name."""
    nodes = {
        f"{spec.namespace}/{node}": {"ros__parameters": dict(parameters)}
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
            environment={"PYTHONUNBUFFERED": "1", **spec.environment, **environment},
            restart_limit=spec.restart_limit,
            essential=spec.essential,
            deaf_at_first=True,
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
    raise PlanError(f"{what}; run `./coterie setup`, or source ros2_ws/install/setup.bash")


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
