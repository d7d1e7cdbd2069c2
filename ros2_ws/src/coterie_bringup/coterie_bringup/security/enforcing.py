"""A team's processes run with security, or not at all; what is open without it is said."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from coterie_bringup.errors import CommandError
from coterie_bringup.processes import ProcessSpec
from coterie_bringup.security.rights import enclave_of, person_enclave
from coterie_bringup.team import Team

_ENABLE = "ROS_SECURITY_ENABLE"
_ENCLAVE = "ROS_SECURITY_ENCLAVE_OVERRIDE"
_PROBE = "import rclpy; rclpy.init(); rclpy.create_node('security_probe'); rclpy.shutdown()"
_PATIENCE = 60.0
_SHOWN = 5


def secured(team: Team, spec: ProcessSpec) -> ProcessSpec:
    """Return a process with the enclave that it runs in, where the team has security."""
    if not team.security.enabled:
        return spec
    mine = security_environment(team, enclave_of(spec.robots))
    return replace(spec, environment={**spec.environment, **mine})


def operator_environment(team: Team) -> dict[str, str]:
    """Return the environment of a person's tools: commands of the team are theirs."""
    if not team.security.enabled:
        return {}
    return security_environment(team, person_enclave(team.security.operators[0]))


def security_environment(team: Team, enclave: str) -> dict[str, str]:
    """Return what rcl reads: it begins with the enclave's key, or not at all."""
    from coterie_bringup.security.keystore import keystore_folder

    return {
        _ENABLE: "true",
        "ROS_SECURITY_STRATEGY": "Enforce",
        "ROS_SECURITY_KEYSTORE": str(keystore_folder(team)),
        _ENCLAVE: enclave,
    }


def require_security(
    team: Team,
    specs: Sequence[ProcessSpec],
    environment: Mapping[str, str],
    *,
    operator: bool = True,
) -> None:
    """Return if the team asks for no security, or has it: its keystore is good, its DDS able.

    Args:
        team: The team.
        specs: The processes to start here; only their keys have to be here.
        environment: Laid over this process's own for a trial.
        operator: Tools here command the team, and need the key of an operator.

    Raises:
        CommandError: Something is missing; says what, and what to do.
    """
    if not team.security.enabled:
        return
    from coterie_bringup.security.keystore import keystore_folder, makes_keys, problems

    folder = keystore_folder(team)
    needed = enclaves_of(team, specs, operator=operator)
    found = list(islice(problems(team, folder, needed), _SHOWN))
    if found:
        make = f"./coterie team security {team.file or 'TEAM'}"
        todo = f"Make it with `{make}`"
        if makes_keys(folder):
            todo = f"Mend it with `{make} --update`"
        elif (folder / "enclaves").is_dir():
            todo = f"Where the keystore was made: `{make} --host NAME --out FOLDER`, and copy that"
        raise CommandError(f"security: the keystore {folder} {'; '.join(found)}. {todo}")
    trial = {**os.environ, **environment, **security_environment(team, needed[0])}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE],
            env=trial, capture_output=True, text=True, timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CommandError(f"security: a node did not begin within {_PATIENCE:g} s") from None
    if done.returncode:
        raise CommandError(_why_not(done.stderr))


def _why_not(output: str) -> str:
    if "security libraries" in output or "security plugin" in output:
        return (
            "security: ROS's middleware was built without DDS security here, and the team asks for "
            "it (security.enabled), so nothing was started. An installation of ROS 2 Jazzy and the "
            "containers of docs/docker.md have it; the wheels do not (docs/guides/security.md)"
        )
    said = [line.strip() for line in output.splitlines() if line.strip()]
    return f"security: a node cannot begin with the keys: {said[-1] if said else 'no reason given'}"


def enclaves_of(
    team: Team, specs: Sequence[ProcessSpec], *, operator: bool = True
) -> tuple[str, ...]:
    """Return the enclaves whose keys have to be where some processes run.

    Args:
        team: The team.
        specs: The processes.
        operator: Tools there command the team, and need the key of an operator.
    """
    needed = dict.fromkeys(enclave_of(spec.robots) for spec in specs)
    if operator:
        needed[person_enclave(team.security.operators[0])] = None
    return tuple(needed)


def warnings(
    team: Team,
    specs: Sequence[ProcessSpec],
    environment: Mapping[str, str],
    domain: int | str,
    *,
    operator: bool = True,
) -> list[str]:
    """Return what is told at a start: what is `exposure`, and which certificates end soon.

    Args:
        team: The team.
        specs: The processes that run here.
        environment: Theirs, laid over this one's.
        domain: Their ROS domain.
        operator: Tools here command the team, with the key of an operator.
    """
    found = (exposure(team, environment, domain), _ending_soon(team, specs, operator))
    return [f"team {team.name}: {told}" for told in found if told]


def _ending_soon(team: Team, specs: Sequence[ProcessSpec], operator: bool) -> str:
    """Return which certificates here end soon, and what to do; "": none."""
    if not team.security.enabled:
        return ""
    from coterie_bringup.security.keystore import ending, keystore_folder

    ends = ending(keystore_folder(team), enclaves_of(team, specs, operator=operator))
    if not ends:
        return ""
    said = ", ".join(f"{name} on {end:%Y-%m-%d}" for name, end in sorted(ends.items()))
    return (
        f"certificates end: {said}. Renew them where the keystore was made: "
        f"`./coterie team security {team.file or 'TEAM'} --update`, and copy them anew"
    )


def exposure(team: Team, environment: Mapping[str, str], domain: int | str) -> str:
    """Return what strangers can do to a team that is open to the network; "" where they cannot.

    Args:
        team: The team.
        environment: That of its processes, laid over this one's.
        domain: Its ROS domain.
    """
    if team.security.enabled:
        return ""
    merged = {**os.environ, **environment}
    given = merged.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET").upper()
    if server := merged.get("ROS_DISCOVERY_SERVER"):
        way = f"through the discovery server {server}"
    elif given in ("LOCALHOST", "OFF"):
        if not (peers := merged.get("ROS_STATIC_PEERS")):
            return ""
        way = f"from {peers} (ROS_STATIC_PEERS)"
    else:
        way = f"from the network (discovery range {given})"
    return (
        f"open to anybody who gets into ROS domain {domain} {way}: without a key they can command "
        "the robots, release their stops, and see what their cameras see.\n"
        "  keep it on this machine: ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST; keys for who may: "
        "`security: {enabled: true}` (docs/guides/security.md)"
    )
