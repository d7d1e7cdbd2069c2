"""A team that runs: domain, run directory, parameters and supervisor in one hand."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coterie_bringup import rundir
from coterie_bringup.plan import ProcessSpec, plan, programs, write_parameters
from coterie_bringup.supervisor import Event, Supervisor
from coterie_bringup.team import Team


@dataclass(frozen=True, slots=True)
class TeamRun:
    """A team ready to run; `supervisor` starts and ends its processes."""

    team: Team
    domain: int
    directory: Path
    specs: tuple[ProcessSpec, ...]
    environment: dict[str, str]
    supervisor: Supervisor


@contextlib.contextmanager
def prepared(
    team: Team,
    *,
    domain: int | None = None,
    on_line: Callable[[str, str], None] = lambda name, line: None,
    on_event: Callable[[Event], None] = lambda event: None,
) -> Iterator[TeamRun]:
    """Choose a domain, write the parameters, make the supervisor, and let others find the team.

    Args:
        team: The team.
        domain: ROS domain; None: the team file's, else ROS_DOMAIN_ID's, else a free one.
        on_line: Hears of every line that a process writes (process name, line).
        on_event: Hears of starts, deaths and restarts.

    Raises:
        PlanError: A package is not installed.
        DomainError: No domain is free.
    """
    with rundir.domain(domain if domain is not None else team.domain) as number:
        directory = rundir.new_run(team.name)
        specs = tuple(plan(team, run_directory=directory))
        parameter_file = directory / "parameters.yaml"
        write_parameters(specs, parameter_file)
        environment = {"ROS_DOMAIN_ID": str(number), **specs[0].environment}
        rundir.clean_shared_memory()
        supervisor = Supervisor(
            programs(specs, parameter_file, environment),
            directory / "logs",
            on_line=on_line,
            on_event=on_event,
        )
        state = rundir.RunState(
            team=team.name,
            pid=os.getpid(),
            pid_birth=rundir.process_birth(os.getpid()),
            domain=number,
            directory=str(directory),
            started=time.time(),
            namespace=team.namespace,
            robots=[r.name for r in team.robots],
            environment=environment,
        )
        with rundir.registered(state):
            yield TeamRun(team, number, directory, specs, environment, supervisor)
