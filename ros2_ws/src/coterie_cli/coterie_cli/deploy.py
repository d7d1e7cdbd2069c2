"""`./coterie team deploy`: a folder for each host of a team, which starts with its computer."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Annotated, Literal

import typer
import yaml

from coterie_bringup.errors import CommandError
from coterie_bringup.hosts import discovery_port, network_environment
from coterie_bringup.rundir import key_file
from coterie_bringup.team import Team, load_team
from coterie_bringup.trust import VARIABLE, Act, acts, require_trust
from coterie_cli.options import TeamFile
from coterie_core.files import write_atomically
from coterie_safety.permits import KeyProblem, load_key, make_key, public_half

Kind = Literal["systemd", "compose"]

CLONE = "/opt/coterie"
FILES = "/etc/coterie"
STATE = "/var/lib/coterie"
"""Where a host has Coterie, what was deployed to it, and what it keeps."""

VOLUME = f"{CLONE}/out"
"""The folder of the image that its user may write into."""

_SAFE = re.compile(r"[A-Za-z0-9_./:;=-]*")

UNIT = """\
# Written by ./coterie team deploy; a change here is lost with the next one.
[Unit]
Description=Coterie: host {host} of the team {team}
Documentation=file://{clone}/docs/guides/machines.md
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
User=coterie
EnvironmentFile={files}/{team}.env
EnvironmentFile=-{files}/{team}.keys.env
ExecStart={clone}/coterie up {files}/{team}.yaml --host {host}
KillSignal=SIGINT
KillMode=control-group
TimeoutStopSec=30
Restart=on-failure
RestartSec=5
StateDirectory=coterie
StateDirectoryMode=0700
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ReadWritePaths=-{clone}/.coterie
ProtectHome=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
PrivateTmp=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
"""
# No PrivateDevices: a model may need a GPU. No MemoryDenyWriteExecute: torch writes code.


def deploy(
    file: TeamFile,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Folder for the hosts; default: out/deploy/TEAM."),
    ] = None,
    kind: Annotated[
        Kind,
        typer.Option(help="Kind of files: units of systemd, or compose files."),
    ] = "systemd",
) -> int:
    """Write a folder for each host of a team, from which it starts with its computer."""
    team = load_team(file)
    if not team.hosts:
        raise CommandError(
            f"{file}: the team has no `hosts`; say what runs where (docs/guides/machines.md)"
        )
    require_trust(team)
    out = out or Path("out/deploy") / team.name
    from coterie_bringup.plan import plan

    for host in team.hosts:
        folder = out / host
        if folder.exists() and not (folder / f"{team.name}.env").is_file():
            raise CommandError(f"{folder} is there, and is not of a deploy; give another --out")
    try:
        load_key(make_key(key_file()))
    except KeyProblem as problem:
        raise CommandError(str(problem)) from None
    public = public_half(key_file())
    for host in team.hosts:
        folder = out / host
        folder.mkdir(parents=True, exist_ok=True)
        state = STATE if kind == "systemd" else VOLUME
        _environment(team, host, state, folder / f"{team.name}.env")
        write_atomically(folder / public.name, public.read_bytes())
        (folder / key_file().name).unlink(missing_ok=True)  # of a deploy of before
        if kind == "systemd":
            write_atomically(folder / f"coterie-{team.name}.service", UNIT.format(
                host=host, team=team.name, clone=CLONE, files=FILES))  # fmt: skip
        else:
            text = yaml.safe_dump(compose(team, host), sort_keys=False)
            write_atomically(
                folder / "compose.yaml", f"# Written by ./coterie team deploy.\n{text}"
            )
        missing = _copy_files(team, folder)
        print(f"{folder}: {', '.join(spec.name for spec in plan(team, host=host))}")
        for act in missing:
            print(f"  copy yourself: {act.target} ({act.field})")
    operator = {**_network(team, ""), "ROS_DOMAIN_ID": str(team.domain)}
    pairs = [line.split("=", 1) for line in _lines(operator).splitlines()]
    quoted = "".join(f"export {name}='{value}'\n" for name, value in pairs)
    write_atomically(out / "operator.env", quoted)
    print(_steps(team, out, kind))
    return 0


def compose(team: Team, host: str) -> dict[str, object]:
    """Return the compose file of a host: one container in the host's own network."""
    service = {
        "image": "coterie",
        "command": ["up", f"{FILES}/{team.name}.yaml", "--host", host],
        "env_file": [f"{team.name}.env"],
        # DDS tells its addresses to others: behind a bridge of Docker's nobody could reach them.
        "network_mode": "host",
        "init": True,
        "restart": "on-failure",
        # Processes get Ctrl-C's signal, as they do at a terminal.
        "stop_signal": "SIGINT",
        "stop_grace_period": "30s",
        "shm_size": "1gb",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "volumes": [f".:{FILES}:ro", f"state:{VOLUME}"],
    }
    return {"name": f"coterie-{team.name.lower()}", "services": {"coterie": service},
            "volumes": {"state": {}}}  # fmt: skip


def _environment(team: Team, host: str, state: str, file: Path) -> None:
    values = {
        "ROS_DOMAIN_ID": str(team.domain),
        **_network(team, host),
        "COTERIE_STATE": state,
        "COTERIE_NO_APT": "1",
    }
    agreed = [act for act in acts(team) if not act.inside]
    text = _lines(values)
    if agreed:
        told = "".join(f"#   {printable(str(act))}\n" for act in agreed)
        text += f"# Whoever deployed agreed to what the team file asks for:\n{told}{VARIABLE}=1\n"
    write_atomically(file, text)


def _network(team: Team, host: str) -> dict[str, str]:
    return {k: v for k, v in network_environment(team, host).items() if v}


def printable(text: str) -> str:
    """Return a text in one line of printable letters, for a comment."""
    return re.sub(r"[^\x20-\x7e]+", "?", text)


def _lines(values: dict[str, str]) -> str:
    for name, value in values.items():
        if not _SAFE.fullmatch(value):
            raise CommandError(f"{name}: {value!r} cannot stand in an environment file")
    return "".join(f"{name}={value}\n" for name, value in values.items())


def _copy_files(team: Team, folder: Path) -> list[Act]:
    """Copy the team file, and the files beside it that it reads; return what is not copied."""
    assert team.file is not None
    shutil.copyfile(team.file, folder / f"{team.name}.yaml")
    base, missing = team.file.parent, []
    for act in acts(team):
        source = Path(act.target)
        if act.kind != "reads":
            continue
        if source.is_file() and source.is_relative_to(base):
            target = folder / source.relative_to(base)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        elif not act.inside or source.is_relative_to(base):
            missing.append(act)
    return missing


def _steps(team: Team, out: Path, kind: Kind) -> str:
    name = team.name
    keys = sorted({
        variable
        for profile in team.models.values()
        for one in profile.chain
        if one.kind == "openai" and (variable := one.key_variable)
    })  # fmt: skip
    lines = ["on each host, with its folder:"]
    if kind == "systemd":
        lines += [
            f"  Coterie in {CLONE}, set up: {CLONE}/coterie setup",
            f"  useradd --system --home-dir {STATE} coterie",
            f"  install -d -o coterie -m 0700 {STATE}",
            f"  install -m 0644 permits.pub {STATE}/",
            f"  install -d {FILES}; cp -r {name}.* {FILES}/     (and what lies beside them)",
            f"  cp coterie-{name}.service /etc/systemd/system/; systemctl daemon-reload",
            f"  systemctl enable --now coterie-{name}",
        ]
    else:
        lines += [
            "  docker compose run --rm -T --entrypoint sh coterie -c "
            f"'cat > {VOLUME}/permits.pub' < permits.pub",
            "  docker compose up -d",
        ]
    if keys:
        where = f"{FILES}/{name}.keys.env" if kind == "systemd" else "the environment"
        lines.append(f"  keys that models need, in {where}: {', '.join(keys)}")
    if team.security.enabled:
        lines.append(
            f"  its keys: ./coterie team security {team.file or name} --host HOST --out FOLDER, "
            "for each host"
        )
    lines.append(f"permits are answered here: {key_file()} signs; copy it to no robot")
    lines.append(f"open in a firewall between them: {discovery_port(team)}")
    lines.append(f"a person's own computer: source {out / 'operator.env'}")
    return "\n".join(lines)
