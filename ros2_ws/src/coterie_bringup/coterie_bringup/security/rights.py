"""Who may publish and read what: the rights of each key of a team, by the names that DDS has."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coterie_bringup.team import Team
from coterie_core.ros_graph import Interface, Sender, interfaces

TEAM = "/team"
"""Enclave of the processes that are no single robot's."""

_SERVED_BY_ALL = (
    "describe_parameters",
    "get_parameter_types",
    "get_parameters",
    "list_parameters",
    "set_parameters",
    "set_parameters_atomically",
    "get_type_description",
    "change_state",
    "get_available_states",
    "get_available_transitions",
    "get_state",
    "get_transition_graph",
)
"""Services that every node of ROS, or every lifecycle node, has: it cannot begin without them."""
_SPOKEN_BY_ALL = ("rosout", "parameter_events")
_SPOKEN_ONLY = ("rt/*/transition_event",)
_DISCOVERY = "ros_discovery_info"


@dataclass(frozen=True, slots=True)
class Rights:
    """What the holder of a key may do: DDS topics that it publishes and reads, `*` for anything."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]

    def may_publish(self, topic: str) -> bool:
        """Whether a DDS topic such as `rt/rover/stop` may be published."""
        return any(fnmatch.fnmatchcase(topic, allowed) for allowed in self.publish)

    def may_subscribe(self, topic: str) -> bool:
        """Whether a DDS topic may be read."""
        return any(fnmatch.fnmatchcase(topic, allowed) for allowed in self.subscribe)


def robot_enclave(robot: str) -> str:
    """Return the enclave of what runs for one robot alone."""
    return f"/robots/{robot}"


def person_enclave(name: str) -> str:
    """Return the enclave of an operator or listener."""
    return f"/people/{name}"


def enclave_of(robots: Sequence[str]) -> str:
    """Return the enclave of a process with the own nodes of these robots."""
    return robot_enclave(robots[0]) if len(robots) == 1 else TEAM


def rights(team: Team) -> dict[str, Rights]:
    """Return the rights of every enclave of a team.

    Everybody with a key may read all topics of the team. The team's processes may do everything in
    its namespace, a robot's everything below its own name; beyond that, and for people, counts what
    `ros_graph.yaml` says of who sends what.
    """
    found = {TEAM: _team(team)}
    for robot in team.robots:
        found[robot_enclave(robot.name)] = _robot(team, robot.name)
    for name in team.security.operators:
        found[person_enclave(name)] = _operator(team)
    for name in team.security.listeners:
        found[person_enclave(name)] = _rights(team, (), ())
    return found


def _rights(team: Team, publish: Iterable[str], subscribe: Iterable[str]) -> Rights:
    """Return rights to these topics, and to what every node of ROS needs."""
    everybody = [_DISCOVERY, *(f"rt/{name}" for name in _SPOKEN_BY_ALL)]
    out = [*everybody, *(f"rr/*/{name}Reply" for name in _SERVED_BY_ALL)]
    out += [*_SPOKEN_ONLY, *publish]
    read = [*everybody, *(f"rq/*/{name}Request" for name in _SERVED_BY_ALL), *subscribe]
    read += [f"rt/{_space(team)}*", "rt/clock", "rt/diagnostics", "rt/tf", "rt/tf_static"]
    return Rights(tuple(dict.fromkeys(out)), tuple(dict.fromkeys(read)))


def _team(team: Team) -> Rights:
    space = _space(team)
    every = [f"{part}/{space}*" for part in ("rt", "rq", "rr")]
    shared = [f"rt{name}" for one in interfaces() for name in one.names if name.startswith("/")]
    return _rights(team, [*every, *shared], every)


def _robot(team: Team, robot: str) -> Rights:
    own = [f"{part}/{_space(team)}{robot}/*" for part in ("rt", "rq", "rr")]
    more = list(team.security.robot_names)
    publish, subscribe = _sent(team, "robot", [robot])
    also = [f"{part}/{name.strip('/')}{end}" for name in more for part, end in _PARTS]
    return _rights(team, [*own, *publish, *also], [*own, *subscribe, *also])


_PARTS = (("rt", ""), ("rt", "/*"), ("rq", "Request"), ("rq", "/*"), ("rr", "Reply"), ("rr", "/*"))


def _operator(team: Team) -> Rights:
    publish, subscribe = _sent(team, "operator", [robot.name for robot in team.robots])
    settings = [f"rq/{_space(team)}*/{name}Request" for name in _SERVED_BY_ALL]
    replies = [f"rr/{_space(team)}*/{name}Reply" for name in _SERVED_BY_ALL]
    return _rights(team, [*publish, *settings], [*subscribe, *replies])


def _sent(team: Team, who: Sender, robots: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what `who` publishes and reads to send, call and serve what is theirs."""
    publish: list[str] = []
    subscribe: list[str] = []
    for one in interfaces():
        for name in one.plain_names(robots):
            # A name with a slash before it is the same for all, and moves with a namespace, too.
            full = [name.lstrip("/")] if name.startswith("/") else []
            full.append(_space(team) + name.lstrip("/"))
            for topic in full:
                if who in one.senders:
                    _extend(publish, _asked(one, topic))
                    _extend(subscribe, _told(one, topic))
                if one.kind != "topic" and who in one.servers:
                    _extend(publish, _told(one, topic))
                    _extend(subscribe, _asked(one, topic))
    return publish, subscribe


def _asked(one: Interface, name: str) -> list[str]:
    """Return the DDS topics that who sends, calls or gives a goal publishes."""
    if one.kind == "topic":
        return [f"rt/{name}"]
    if one.kind == "service":
        return [f"rq/{name}Request"]
    return [f"rq/{name}/_action/{part}Request" for part in _ACTION]


def _told(one: Interface, name: str) -> list[str]:
    """Return the DDS topics that they read in return."""
    if one.kind == "topic":
        return []
    if one.kind == "service":
        return [f"rr/{name}Reply"]
    news = [f"rt/{name}/_action/{part}" for part in ("feedback", "status")]
    return [*(f"rr/{name}/_action/{part}Reply" for part in _ACTION), *news]


_ACTION = ("send_goal", "cancel_goal", "get_result")


def _extend(known: list[str], more: Iterable[str]) -> None:
    known.extend(name for name in more if name not in known)


def _space(team: Team) -> str:
    """Return the team's namespace as DDS topics have it: `lab/`, or nothing."""
    return f"{team.namespace}/" if team.namespace else ""
