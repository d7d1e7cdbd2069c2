"""What the launch files share: a team's processes as actions of `ros2 launch`.

Whatever decides something is free of the ROS package launch, and the same as for `./coterie up`.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie_bringup import rundir
from coterie_bringup.abilities import lacking
from coterie_bringup.child_process import Program, describe_exit
from coterie_bringup.errors import CommandError
from coterie_bringup.hosts import (
    chosen_host,
    discovery_programs,
    driven_elsewhere,
    host_option,
    require_address,
)
from coterie_bringup.memory import claim_memory
from coterie_bringup.node_parameters import ledger_folder, stop_folder
from coterie_bringup.plan import plan
from coterie_bringup.processes import ProcessSpec, write_parameters
from coterie_bringup.resources import team_file
from coterie_bringup.restarts import Restarts
from coterie_bringup.resuming import note_run, run_to_resume
from coterie_bringup.robot_interfaces import require_interfaces
from coterie_bringup.security.enforcing import (
    operator_environment,
    require_security,
    warnings,
)
from coterie_bringup.team import Team, load_team, with_namespace
from coterie_bringup.team_models import local_servers, server_environment
from coterie_bringup.trust import require_trust
from coterie_core.yaml_checks import suggestion
from coterie_llm.local import LocalServer
from coterie_safety.permits import make_key

DEAF_AT_FIRST = "env --ignore-signal=INT"
"""Prefix of a command: SIGINT is ignored until the node handles it, not while it imports."""

ARGUMENTS: Mapping[str, tuple[str | None, str]] = {
    "team": (None, "team file (YAML), or the name of one that comes with Coterie, such as demo"),
    "robot": (None, "name of a robot of the team: only its own nodes are started"),
    "host": ("", "host of the team file that this computer is; all: everything runs here"),
    "packages": ("", "start only the processes of these packages, with commas; empty: of all"),
    "without": ("", "robots whose nodes run elsewhere (robot.launch.py), with commas"),
    "namespace": ("", "ROS namespace of the team; empty: the team file's"),
    "domain": ("", "ROS domain; empty: the team file's, else ROS_DOMAIN_ID, else 0"),
    "use_sim_time": ("true", "false: nodes take this machine's time in any case"),
    "log_level": ("info", "debug, info, warn, error or fatal"),
    "params_file": ("", "YAML file of ROS parameters that win over those of the team file"),
    "use_respawn": (
        "true",
        "whether nodes that died are started again, up to the team file's limit",
    ),
    "resume": ("", "last, or the folder of a run: the team goes on with what that keeps"),
    "trust": ("false", "agree to what the team file runs, sends, reads and writes"),
}
"""Arguments of the launch files: default (None: has to be given) and description."""

COMMON_ARGUMENTS = (
    "namespace", "domain", "log_level", "params_file", "use_respawn", "resume", "trust",
)  # fmt: skip
"""Arguments of every launch file that starts nodes of a team, beside `team` itself."""

LOG_LEVELS = ("debug", "info", "warn", "error", "fatal")


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What to start: processes, their parameter file and what is laid over the environment."""

    team: Team
    specs: tuple[ProcessSpec, ...]
    directory: Path
    parameter_file: Path
    environment: Mapping[str, str]
    more_ros_arguments: tuple[str, ...] = ()
    servers: Mapping[str, LocalServer] = field(default_factory=dict)
    discovery: tuple[Program, ...] = ()
    host: str = ""


def chosen(
    team: Team,
    run_directory: Path,
    *,
    packages: Collection[str] = (),
    robot: str = "",
    without: Collection[str] = (),
    host: str = "",
) -> list[ProcessSpec]:
    """Return the processes of a team, all or those asked for.

    Args:
        team: The team.
        run_directory: Where learned models go.
        packages: Only processes of these packages; empty: of all.
        robot: Only this robot's nodes, its own mapper and resume among them; "": everybody's.
        without: Robots whose own nodes are left out.
        host: Only the share of this host of the team file; "": everything.

    Raises:
        CommandError: There is no such robot or package in the team, or nothing would start.
    """
    names = [r.name for r in team.robots]
    for name in (*([robot] if robot else []), *without):
        if name not in names:
            raise CommandError(
                f"no robot {name!r} in the team{suggestion(name, names)}; it has {', '.join(names)}"
            )
    if robot or without:
        processes = team.processes.model_copy(update={"robots_per_process": 1})
        team = team.model_copy(update={"processes": processes})
    specs = plan(team, run_directory=run_directory, host=host)
    known = list(dict.fromkeys(spec.package for spec in specs))
    for package in packages:
        if package not in known:
            raise CommandError(
                f"packages: no process of the team is of {package!r}{suggestion(package, known)}; "
                f"there are {', '.join(known)}"
            )
    if robot:
        specs = [spec.only((robot,)) for spec in specs if robot in spec.robots]
    elif without:
        kept = [name for name in names if name not in without]
        specs = [
            spec.only(kept) for spec in specs if not spec.robots or set(spec.robots) & set(kept)
        ]
    specs = [spec for spec in specs if not packages or spec.package in packages]
    if not specs:
        raise CommandError("nothing to start: the packages and the robots do not meet")
    return specs


def launch_plan(values: Mapping[str, str], packages: Collection[str] = ()) -> LaunchPlan:
    """Return what a launch file starts.

    Args:
        values: Of the launch file's arguments, as `ros2 launch` gives them.
        packages: Only these packages, whatever the arguments say.

    Raises:
        CommandError: An argument is wrong, or the team file was not agreed to.
        FileProblem: The team file is wrong.
        NoLocalModel: The file of a local model is not there.
    """
    given = {name: default or "" for name, (default, _) in ARGUMENTS.items()} | dict(values)
    team = load_team(team_file(given["team"]))
    if given["namespace"]:
        team = with_namespace(team, given["namespace"])
    # A robot's launch file, or one of some packages, starts what it names, wherever that is.
    host = chosen_host(team, given["host"], option="host:=") if "host" in values else ""
    if host:
        require_address(team, host)
    require_trust(team, trust=True if _flag(given, "trust") else None, ask=lambda text: "")
    require_interfaces(team)
    claim_memory(team)
    level = given["log_level"].lower()
    if level not in LOG_LEVELS:
        raise CommandError(f"log_level: {level!r}{suggestion(level, LOG_LEVELS)}")
    earlier = given["resume"]
    if earlier:
        last = earlier == "last"
        directory = run_to_resume(team, None if last else Path(earlier), option="resume:=")
    else:
        directory = rundir.new_run(team.name)
    note_run(directory, team)
    specs = chosen(
        team,
        directory,
        packages=packages or _names(given["packages"]),
        robot=given["robot"],
        without=_names(given["without"]),
        host=host,
    )
    if not _flag(given, "use_respawn"):
        specs = [dataclasses.replace(spec, restart_limit=0) for spec in specs]
    if not _flag(given, "use_sim_time"):
        specs = [spec.with_parameters({"use_sim_time": False}) for spec in specs]
    more = ["--log-level", level] if level != "info" else []
    if given["params_file"]:
        override = Path(given["params_file"]).expanduser().resolve()
        if not override.is_file():
            raise CommandError(f"params_file: there is no {override}")
        more += ["--params-file", str(override)]
    parameter_file = directory / "parameters.yaml"
    write_parameters(specs, parameter_file)
    domain = _domain(given["domain"], team)
    servers = local_servers(specs)
    require_security(team, specs, specs[0].environment, operator=False)
    environment = {
        "PYTHONUNBUFFERED": "1",
        # Nodes end with whoever launched them, however that ends.
        "COTERIE_PARENT": str(os.getpid()),
        **specs[0].environment,
        **({} if domain is None else {"ROS_DOMAIN_ID": str(domain)}),
        **server_environment(servers),
    }
    return LaunchPlan(
        team,
        tuple(specs),
        directory,
        parameter_file,
        environment,
        tuple(more),
        servers,
        tuple(discovery_programs(team, host)),
        host,
    )


def team_actions(values: Mapping[str, str], packages: Collection[str] = ()) -> list[Any]:
    """Return launch actions for a team; needs the ROS packages launch and launch_ros.

    As with `./coterie up`, a node that dies is started again, up to a limit in a row, and
    everything ends with a process that the team cannot do without.

    Args:
        values: Of the launch file's arguments.
        packages: Only these packages, whatever the arguments say.
    """
    from launch.actions import LogInfo

    planned = launch_plan(values, packages)
    make_key(rundir.key_file())
    domain = planned.environment.get("ROS_DOMAIN_ID", os.environ.get("ROS_DOMAIN_ID", "0"))
    rundir.announce(
        rundir.own_state(
            planned.team.name,
            int(domain) if domain.isdecimal() else 0,
            planned.directory,
            namespace=planned.team.namespace,
            robots=[r.name for r in planned.team.robots],
            environment={
                k: v
                for k, v in {**planned.environment, **operator_environment(planned.team)}.items()
                if k.startswith(("ROS_", "FAST"))
            },
            stops=stop_folder(planned.team, planned.directory),
            log=ledger_folder(planned.team, planned.directory),
            elsewhere=driven_elsewhere(planned.team, planned.host),
            leads=any(spec.name == "leader" for spec in planned.specs),
            host=host_option(planned.team, planned.host),
            lacks=lacking(planned.team),
        )
    )
    notes = [f"team {planned.team.name}: ROS_DOMAIN_ID={domain}, run folder {planned.directory}"]
    notes += warnings(planned.team, planned.specs, planned.environment, domain, operator=False)
    nodes = [node_action(spec, planned) for spec in planned.specs]
    return [*(LogInfo(msg=note) for note in notes), *server_actions(planned), *nodes]


def server_actions(planned: LaunchPlan) -> list[Any]:
    """Return the launch actions of what finds other hosts, and of the servers of local models."""
    beside = [(one.name, one.command, one.environment) for one in planned.discovery]
    beside += [
        (name, (*server.arguments, "--parent", str(os.getpid())), server.environment)
        for name, server in planned.servers.items()
    ]
    if not beside:
        return []
    from launch.actions import ExecuteProcess

    limit = planned.specs[0].restart_limit
    return [
        ExecuteProcess(
            cmd=list(command),
            name=name,
            additional_env=dict(environment),
            respawn=limit > 0,
            respawn_delay=1.0,
            respawn_max_retries=limit,
            output="both",
        )
        for name, command, environment in beside
    ]


def node_action(spec: ProcessSpec, planned: LaunchPlan, restarts: Restarts | None = None) -> Any:
    """Return the launch action of one process, which follows up on its own end."""
    import launch_ros.actions
    from launch.actions import LogInfo, Shutdown, TimerAction

    counted = restarts or Restarts(spec.restart_limit)
    begun = time.monotonic()

    def on_exit(event: Any, context: Any) -> list[Any] | None:
        if context.is_shutdown:
            return None
        end = describe_exit(event.returncode)
        verdict = counted.died(event.returncode, time.monotonic() - begun, end)
        said = LogInfo(msg=f"{spec.name}: {end}; {verdict.text}")
        if verdict.wait is not None:
            again = TimerAction(
                period=verdict.wait, actions=[_later(lambda: node_action(spec, planned, counted))]
            )
            return [said, again]
        if spec.essential:
            return [said, Shutdown(reason=f"the team cannot go on without {spec.name}")]
        return [said]

    return launch_ros.actions.Node(
        package=spec.package,
        executable=spec.executable,
        exec_name=spec.name,
        arguments=list(spec.arguments),
        ros_arguments=[
            *spec.ros_arguments(planned.parameter_file)[1:],
            *planned.more_ros_arguments,
        ],
        additional_env={**planned.environment, **spec.environment},
        prefix=DEAF_AT_FIRST,
        # All are told to end at once here: who ends last waits for the others first.
        sigterm_timeout="8" if spec.last else "2",
        sigkill_timeout="2",
        output="both",
        emulate_tty=True,
        on_exit=on_exit,
    )


def description(*names: str, packages: Collection[str] = ()) -> Any:
    """Return a launch description that starts a team's processes.

    Args:
        names: Arguments that it has beside `team` and COMMON_ARGUMENTS, out of ARGUMENTS.
        packages: Only processes of these packages.
    """
    arguments = {name: ARGUMENTS[name] for name in ("team", *names, *COMMON_ARGUMENTS)}
    return _described(arguments, lambda values: team_actions(values, packages))


def view_description() -> Any:
    """Return a launch description that shows a team in RViz."""
    arguments = {
        "team": ("", ARGUMENTS["team"][1]),
        "config": ("", "RViz configuration to use instead of one made for the team"),
        "namespace": ARGUMENTS["namespace"],
        "domain": ARGUMENTS["domain"],
    }
    return _described(arguments, view_actions)


def view_actions(values: Mapping[str, str]) -> list[Any]:
    """Return launch actions that show a team in RViz; needs the ROS packages launch_ros and rviz2.

    Args:
        values: The arguments: `team`, a file or the name of a team that comes with Coterie, or
            `config`, a configuration of RViz instead of one made for the team, or both;
            `namespace` and `domain`.

    Raises:
        CommandError: Neither a team nor a configuration is given.
    """
    file, config = values["team"], values["config"]
    if not file and not config:
        raise CommandError("give team:=FILE, or config:=FILE.rviz")
    import launch_ros.actions

    namespace, domain, simulated = values["namespace"], None, True
    if file:
        team = load_team(team_file(file))
        team = with_namespace(team, namespace) if namespace else team
        namespace, domain = team.namespace, _domain(values["domain"], team)
        simulated = team.simulated_time
        if not config:
            from coterie_bringup.view import team_config, write_config

            path = rundir.new_run(f"{team.name}-view") / "coterie.rviz"
            write_config(team_config(team), path)
            config = str(path)
    prefix = f"/{namespace.strip('/')}" if namespace else ""
    return [
        launch_ros.actions.Node(
            package="rviz2",
            executable="rviz2",
            arguments=["-d", config],
            parameters=[{"use_sim_time": simulated}],
            remappings=[(f"/{t}", f"{prefix}/{t}") for t in ("tf", "tf_static", "clock")],
            additional_env={} if domain is None else {"ROS_DOMAIN_ID": str(domain)},
            output="screen",
        )
    ]


def _described(
    arguments: Mapping[str, tuple[str | None, str]],
    make: Callable[[Mapping[str, str]], list[Any]],
) -> Any:
    """Return a launch description that makes actions of the values of its arguments."""
    from launch import LaunchDescription
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch.substitutions import LaunchConfiguration

    def start(context: Any) -> list[Any]:
        return make({name: LaunchConfiguration(name).perform(context) for name in arguments})

    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in arguments.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def _later(make: Callable[[], Any]) -> Any:
    """Return an action that makes another one when it is due: its clock starts then."""
    from launch.actions import OpaqueFunction

    return OpaqueFunction(function=lambda context: [make()])


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _flag(values: Mapping[str, str], name: str) -> bool:
    text = values[name].strip().lower()
    if text not in ("true", "false", "1", "0"):
        raise CommandError(f"{name}: expected true or false, got {values[name]!r}")
    return text in ("true", "1")


def _domain(given: str, team: Team) -> int | None:
    """Return the domain to set; None: what the environment says stands."""
    if not given.strip():
        return team.domain
    if not given.strip().isdecimal() or int(given) > 232:
        raise CommandError(f"domain: expected a number from 0 to 232, got {given!r}")
    return int(given)
