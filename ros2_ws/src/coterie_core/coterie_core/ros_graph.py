"""The topics, services and actions of a team, as data: for docs, permissions and checks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from coterie_core.yaml_marks import read_yaml

Kind = Literal["topic", "service", "action"]
Sender = Literal["team", "robot", "operator"]

ROBOT = "<robot>"
_WORD = re.compile(r"<\w+>")
_CHOICE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Interface:
    """One or several topics, services or actions that are alike.

    Attributes:
        kind: Kind of the interfaces: topic, service or action.
        names: Names as in docs/ros_graph.md: `<robot>/answer`, `/tf`; `{a,b}` stands for both.
        types: Their types, such as `coterie_msgs/Answer`.
        senders: Programs that publish the topic, call the service, or send the action goals.
        servers: Programs that serve a service or action of the team; a robot serves its own.
        drivers: Whether a real robot's own drivers publish the topic, where there is no bridge.
        qos: QoS of a topic, as the docs state it.
        flow: Path that the docs show: ends of a topic, or place of a service.
        text: Sentence of the docs on the service or action.
    """

    kind: Kind
    names: tuple[str, ...]
    types: tuple[str, ...]
    senders: tuple[Sender, ...]
    servers: tuple[Sender, ...] = ("team",)
    drivers: bool = False
    qos: str = ""
    flow: str = ""
    text: str = ""

    def plain_names(self, robots: Sequence[str]) -> Iterator[str]:
        """Give the names for these robots, other words in `<>` as `*`."""
        for name in itertools.chain(*map(_choices, self.names)):
            for robot in robots if ROBOT in name else ("",):
                yield _WORD.sub("*", name.replace(ROBOT, robot))


@cache
def interfaces() -> tuple[Interface, ...]:
    """Return all topics, then all services and actions, in the order of the docs."""
    file = resources.files("coterie_core") / "data" / "ros_graph.yaml"
    data = read_yaml(file.read_text(encoding="utf-8"))
    found = []
    for entry in data["topics"] + data["calls"]:
        found.append(
            Interface(
                entry.get("kind", "topic"),
                tuple(entry["names"]),
                tuple(entry["types"]),
                tuple(entry["senders"]),
                tuple(entry.get("servers", ("team",))),
                entry.get("drivers", False),
                entry.get("qos", ""),
                entry.get("flow", "") or entry.get("at", ""),
                entry.get("text", ""),
            )
        )
    return tuple(found)


def _choices(name: str) -> Iterator[str]:
    match = _CHOICE.search(name)
    if match is None:
        yield name
        return
    for choice in match[1].split(","):
        yield from _choices(name[: match.start()] + choice + name[match.end() :])
