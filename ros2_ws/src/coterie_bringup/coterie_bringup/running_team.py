"""A team that runs: domain, run directory, parameters and supervisor in one hand."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coterie_bringup import rundir
from coterie_bringup.abilities import lacking
from coterie_bringup.errors import CommandError
from coterie_bringup.hosts import (
    discovery_programs,
    driven_elsewhere,
    host_option,
    require_address,
)
from coterie_bringup.memory import claim_memory
from coterie_bringup.node_parameters import ledger_folder, stop_folder
from coterie_bringup.plan import plan
from coterie_bringup.processes import ProcessSpec, programs, write_parameters
from coterie_bringup.resuming import note_run
from coterie_bringup.robot_interfaces import ensure_interfaces
from coterie_bringup.security.enforcing import operator_environment, require_security
from coterie_bringup.supervisor import Event, Supervisor
from coterie_bringup.team import Team
from coterie_bringup.team_models import local_servers, server_environment, server_programs
from coterie_bringup.trust import require_trust
from coterie_safety.permits import make_key


@dataclass(frozen=True, slots=True)
class TeamRun:
    """A team ready to run: `supervisor` starts and ends its processes, `state` is told others."""

    team: Team
    domain: int
    directory: Path
    specs: tuple[ProcessSpec, ...]
    environment: dict[str, str]
    supervisor: Supervisor
    state: rundir.RunState

    async def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the team's processes until some work with it is done.

        Raises:
            CommandError: The team could not be kept running; with the last lines of what failed.
        """
        async with self.supervisor.running():
            await self.unless_it_fails(work)

    async def unless_it_fails(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work with the team, whose processes run already.

        Raises:
            CommandError: The team could not be kept running; with the last lines of what failed.
        """
        working = asyncio.ensure_future(work)
        stopped = asyncio.ensure_future(self.supervisor.stopped())
        try:
            await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
                return
        finally:
            for task in (working, stopped):
                task.cancel()
            await asyncio.gather(working, stopped, return_exceptions=True)
        names = ", ".join(self.supervisor.failed) or "the team"
        lines = "\n".join(
            f"  {name}: {line}"
            for name in self.supervisor.failed
            for line in self.supervisor.last_lines(name)[-5:]
        )
        raise CommandError(f"{names} could not be kept running:\n{lines}", exit_code=1)


def _check_alone(team: Team, domain: int) -> None:
    """Refuse to give every name twice: two teams of one namespace must not meet in a domain.

    Raises:
        CommandError: Such a team runs on this machine.
    """
    for other in rundir.running_teams():
        if (other.domain, other.namespace) == (domain, team.namespace):
            raise CommandError(
                f"team {other.team} runs in domain {domain} already (process {other.pid}), in the "
                "same namespace; end it, or give another --domain, or another namespace in the "
                "team file"
            )


@contextlib.contextmanager
def prepared(
    team: Team,
    *,
    domain: int | None = None,
    host: str = "",
    resume: Path | None = None,
    without: Collection[str] = (),
    on_line: Callable[[str, str], None] = lambda name, line: None,
    on_event: Callable[[Event], None] = lambda event: None,
) -> Iterator[TeamRun]:
    """Choose a domain, write the parameters, make the supervisor, and let others find the team.

    Args:
        team: The team.
        domain: ROS domain; None: the team file's, else ROS_DOMAIN_ID's, else 0 for real robots
            and a free one for others.
        host: Host of the team file whose share is run; "": everything.
        resume: Folder of the run that the team goes on with; None: a new one.
        without: Names of processes that the caller runs itself.
        on_line: Hears of every line that a process writes (process name, line).
        on_event: Hears of starts, deaths and restarts.

    Raises:
        CommandError: The team file reaches for something that was not agreed to, a team of the
            same namespace runs in the domain, or the team asks for security that is not there.
        PlanError: A package is not installed.
        DomainError: No domain is free.
        NoLocalModel: The file of a local model is not there.
    """
    require_trust(team)
    if host:
        require_address(team, host)
    ensure_interfaces(team)
    wanted = domain if domain is not None else team.domain
    with rundir.domain(wanted, real=team.real) as number:
        _check_alone(team, number)
        claim_memory(team)
        directory = resume or rundir.new_run(team.name)
        note_run(directory, team)
        make_key(rundir.key_file())
        specs = tuple(plan(team, run_directory=directory, host=host))
        parameter_file = directory / "parameters.yaml"
        write_parameters(specs, parameter_file)
        environment = {
            **specs[0].environment,
            "ROS_DOMAIN_ID": str(number),
            **operator_environment(team),
        }
        require_security(team, specs, environment)
        rundir.clean_shared_memory()
        servers = local_servers(specs)
        keys = server_environment(servers)  # for the team's own processes, not for whoever asks it
        supervisor = Supervisor(
            [
                *discovery_programs(team, host),
                *server_programs(servers, team.processes.restart_limit),
                *programs(
                    [spec for spec in specs if spec.name not in without],
                    parameter_file,
                    {**environment, **keys},
                ),
            ],
            directory / "logs",
            on_line=on_line,
            on_event=on_event,
        )
        state = rundir.own_state(
            team.name,
            number,
            directory,
            namespace=team.namespace,
            robots=[r.name for r in team.robots],
            environment=environment,
            stops=stop_folder(team, directory),
            log=ledger_folder(team, directory),
            elsewhere=driven_elsewhere(team, host),
            tells_stops=bool(host),
            leads=any(spec.name == "leader" for spec in specs),
            host=host_option(team, host),
            lacks=lacking(team),
        )
        with rundir.registered(state):
            yield TeamRun(team, number, directory, specs, environment, supervisor, state)
