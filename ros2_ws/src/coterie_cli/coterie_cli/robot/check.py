"""`./coterie robot check`: what is missing between a team file and the robots of a lab."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from coterie_bringup import rundir
from coterie_bringup.errors import CommandError
from coterie_bringup.hosts import network_environment
from coterie_bringup.processes import dds_environment, discovery_environment
from coterie_bringup.robot_interfaces import ensure_interfaces
from coterie_bringup.team import Team, load_team
from coterie_bringup.team_robots import RobotSpec
from coterie_cli.options import AsJson, Domain, TeamFile
from coterie_cli.robot.body import arm_joints, judge_body
from coterie_cli.robot.expected import Expected, expected_of
from coterie_cli.robot.finding import Finding, worst
from coterie_cli.robot.findings import judge
from coterie_core.yaml_checks import suggestion
from robot_adapters.settings import AdapterSettings


def check(
    file: TeamFile,
    robot: Annotated[
        list[str] | None,
        typer.Option(help="Name of a robot; may be given again; default: all with an adapter."),
    ] = None,
    duration: Annotated[
        float, typer.Option(min=1.0, max=600.0, help="Time to listen to the robots [s].")
    ] = 6.0,
    domain: Domain = None,
    as_json: AsJson = False,
) -> int:
    """Tell what is missing between a team file and the robots of a lab.

    The drivers must run; the team need not. Exit code: 0: all is there; 1: something to mend;
    2: the team file is wrong.
    """
    team = load_team(file)
    chosen = _chosen(team, robot or (), file)
    ensure_interfaces(team)  # what the file has wrong is told before that
    findings = [f for robot, settings in chosen for f in judge_body(team, robot, settings)]
    names = tuple(robot.name for robot in team.robots)
    expected = [
        dataclasses.replace(
            expected_of(r.name, s, team.namespace, _ways(team, r), team.limits_of(r).speed),
            joints=arm_joints(team, r, s),
            team=names,
        )
        for r, s in chosen
    ]
    with rundir.domain(domain if domain is not None else team.domain, real=True) as number:
        findings += _listen(team, expected, number, duration, quiet=as_json)
    state = worst(findings)
    if as_json:
        data = [dataclasses.asdict(finding) for finding in findings]
        print(json.dumps({"team": team.name, "domain": number, "state": state, "findings": data}))
    else:
        _print(team, findings, number)
    return 1 if state == "bad" else 0


def _chosen(
    team: Team, names: Sequence[str], file: Path
) -> list[tuple[RobotSpec, AdapterSettings]]:
    known = {robot.name: robot for robot in team.robots}
    for name in names:
        if name not in known:
            raise CommandError(f"--robot: no robot {name!r} in {file}{suggestion(name, known)}")
    chosen = [known[name] for name in names] or list(team.robots)
    real = [(robot, robot.adapter) for robot in chosen if robot.adapter is not None]
    if not real:
        raise CommandError(
            f"{file}: no robot has an `adapter:` section, so there is nothing to compare with; "
            "see docs/guides/robot_check.md"
        )
    return real


def _ways(team: Team, robot: RobotSpec) -> str:
    """Return the section for which it matters which way a robot drives; "": there is none."""
    if team.limits_of(robot).keeps_out:
        return "limits.keep_out"
    return "permits.rules.rooms" if team.permits_of(robot).by_room else ""


def _discovery(team: Team) -> dict[str, str]:
    """Return the settings with which the team finds its robots; those of several hosts by address.

    A discovery server, or a router, runs only with the team: what this shell has holds then.
    """
    if team.hosts:
        return network_environment(team, "") if team.discovery.kind == "multicast" else {}
    return discovery_environment(len(team.robots))


def _listen(
    team: Team, expected: list[Expected], domain: int, duration: float, *, quiet: bool
) -> list[Finding]:
    from rich.console import Console

    from coterie_cli.robot.probe import probing

    console = Console(stderr=True, quiet=quiet)
    simulated = bool(getattr(team.world, "use_sim_time", False))
    discovery = _discovery(team)
    reach = {**os.environ, **discovery}.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    where = f"ROS domain {domain} with discovery range {reach}"
    with probing(expected, domain, {**discovery, **dds_environment(discovery)}, simulated) as probe:
        with console.status(f"listening to ROS domain {domain} for {duration:g} s"):
            probe.listen(duration)
        return [one for e in expected for one in judge(e, probe.facts[e.robot], where)]


def _print(team: Team, findings: list[Finding], domain: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    marks = {"good": ("✓", "green"), "note": ("·", "yellow"), "bad": ("✗", "red bold")}
    console = Console()
    for robot in dict.fromkeys(finding.robot for finding in findings):
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        table.add_column()
        table.add_column()
        table.add_column(overflow="fold")
        table.add_column(overflow="fold")
        own = [finding for finding in findings if finding.robot == robot]
        for one in own:
            words = Text(one.text)
            if one.remedy:
                words.append(f"\n→ {one.remedy}", style="dim")
            table.add_row(Text(*marks[one.state]), Text(one.area), Text(one.what), words)
        console.print(Text(robot, style="bold"))
        console.print(table)
    bad = sum(finding.state == "bad" for finding in findings)
    notes = sum(finding.state == "note" for finding in findings)
    told = f"team {team.name}, ROS domain {domain}: "
    told += f"{bad} to mend, {notes} to know" if bad or notes else "all is there"
    print(told, file=sys.stderr if bad else sys.stdout)
