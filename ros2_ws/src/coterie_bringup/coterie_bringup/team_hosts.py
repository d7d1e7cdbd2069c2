"""The computers of a team file: what each runs, and how they find one another."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Literal

from pydantic import Field, field_validator

from coterie_bringup.team_robots import RobotName
from coterie_core.settings import Settings
from coterie_core.yaml_checks import shown, suggestion
from coterie_core.yaml_marks import MarkedData, Problem

Part = Literal["team", "bridge", "aggregator", "leader", "mapper", "planner", "open_questions"]

TEAM = "team"
"""What a host runs that runs every process of the team for which no other host is named."""

_COMPUTER = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    r"(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)


class HostSpec(Settings):
    """A computer of the team: its address, and what runs on it."""

    address: str = Field(
        description="Address at which the other hosts reach it: IPv4, or a name of the network."
    )
    runs: tuple[Part, ...] = Field(
        (),
        description="List of the team's processes on it; team: all that no other host runs.",
    )
    robots: tuple[RobotName, ...] = Field(
        (), description="List of the robots whose own processes are on it."
    )

    cut_off: float = Field(
        10.0,
        ge=0.0,
        le=3600.0,
        description="Longest silence of the team's nodes on other hosts, after which its real "
        "robots take no new skill [s]; 0: they go on.",
    )

    @field_validator("address")
    @classmethod
    def _address(cls, value: str) -> str:
        try:
            address = ipaddress.ip_address(value)
        except ValueError:
            if _COMPUTER.fullmatch(value):
                return value
            raise ValueError(
                f"{shown(value)} is neither an IPv4 address nor the name of a computer; for "
                "example 192.168.1.10"
            ) from None
        if address.version != 4:
            raise ValueError(f"{value} is IPv6, which Fast DDS is not set up for here; give IPv4")
        if address.is_unspecified or address.is_multicast or value == "255.255.255.255":
            raise ValueError(
                f"{value} is not the address of one computer; for example 192.168.1.10"
            )
        return value


class DiscoverySpec(Settings):
    """How the nodes of several hosts find one another; nothing on one computer."""

    kind: Literal["multicast", "server", "zenoh"] = Field(
        "multicast",
        description="Kind of discovery; multicast: nothing has to be started; server: a Fast DDS "
        "discovery server, for networks without multicast and many processes; zenoh: routers "
        "of rmw_zenoh, where it is installed.",
    )
    host: str = Field(
        "", description="Host that the server or router runs on; empty: that which runs team."
    )
    port: int | None = Field(
        None, ge=1024, le=65535, description="Port of it; none: 11811, and 7447 of zenoh."
    )

    @property
    def chosen_port(self) -> int:
        """The port, or that which is usual."""
        return self.port or (7447 if self.kind == "zenoh" else 11811)


def check_hosts(marked: MarkedData, problems: list[Problem]) -> None:
    """Every robot and the team must be on one host, and every host must be another computer."""
    data: dict[str, Any] = marked.data
    hosts = data.get("hosts")

    def add(path: tuple[str | int, ...], message: str) -> None:
        problems.append(Problem(path, marked.line(path), message))

    if not isinstance(hosts, dict) or not hosts:
        if data.get("discovery") is not None:
            add(("discovery",), "it is for several computers; say with `hosts` what runs where")
        return
    entries = {k: v for k, v in hosts.items() if isinstance(k, str) and isinstance(v, dict)}
    if data.get("domain") is None:
        add(("hosts",), "all hosts meet in one ROS domain; say which, for example `domain: 20`")
    _check_addresses(entries, add)
    robots = data.get("robots")
    known = (
        [r.get("name") for r in robots if isinstance(r, dict)] if isinstance(robots, list) else []
    )
    names = [name for name in known if isinstance(name, str)]
    robots_at = _once(entries, "robots", "robot", add)
    for name, path in robots_at.items():
        if name not in names:
            hint = suggestion(name, names) or f"; it has {', '.join(names)}"
            add(path, f"no robot {name!r} in the team{hint}")
    if missing := [name for name in names if name not in robots_at]:
        some = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        add(("hosts",), f"no host runs {some}; name each robot in the `robots` of one host")
    runs_at = _once(entries, "runs", "process", add)
    if TEAM not in runs_at:
        add(("hosts",), "no host runs the team's own processes; give one of them `runs: [team]`")
    has = {"bridge": not _real(data), "aggregator": True, "leader": data.get("leader") is not None}
    has |= {part: data.get(part) is not None for part in ("mapper", "planner", "open_questions")}
    for part, path in runs_at.items():
        if not has.get(part, True):
            add(path, f"the team has no {part}")
    for name, host in entries.items():
        if not host.get("runs") and not host.get("robots"):
            add(("hosts", name), "it runs nothing; give it `robots` or `runs`, or take it away")
    chosen = data["discovery"].get("host") if isinstance(data.get("discovery"), dict) else None
    if isinstance(chosen, str) and chosen and chosen not in hosts:
        hint = suggestion(chosen, list(entries)) or f"; there are {', '.join(entries)}"
        add(("discovery", "host"), f"no host {chosen!r}{hint}")


def _check_addresses(entries: dict[str, Any], add: Any) -> None:
    first: dict[str, str] = {}
    for name, host in entries.items():
        address = host.get("address")
        if not isinstance(address, str):
            continue  # pydantic says so
        path = ("hosts", name, "address")
        if address.lower() in first:
            add(path, f"{address} is the address of {first[address.lower()]}, too; make them one")
        first.setdefault(address.lower(), name)
        if len(entries) > 1 and (address.startswith("127.") or address.lower() == "localhost"):
            add(path, f"{address} is this computer's for itself: no other host reaches it there")


def _once(entries: dict[str, Any], field: str, what: str, add: Any) -> dict[str, tuple[Any, ...]]:
    """Return where each name of a list stands; say which stands twice."""
    found: dict[str, tuple[Any, ...]] = {}
    for host, given in entries.items():
        names = given.get(field)
        for i, name in enumerate(names if isinstance(names, list) else []):
            path = ("hosts", host, field, i)
            if not isinstance(name, str):
                continue
            if name in found:
                add(path, f"the {what} {name!r} is on the host {found[name][1]} already")
            found.setdefault(name, path)
    return found


def _real(data: dict[str, Any]) -> bool:
    world = data.get("world")
    return isinstance(world, dict) and world.get("kind") == "real"
