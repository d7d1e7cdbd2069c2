"""`./coterie stop` and `./coterie release`: robots stand at once, until a person lets them go.

It is on its own, with few imports and a node without services: every tenth of a second counts.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import getpass
import json
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie_bringup.errors import CommandError
from coterie_bringup.resources import (
    COMMAND_PROFILE,
    DDS_PROFILE,
    LOCAL_DDS_PROFILE,
    NETWORK_PROFILE,
    resource,
)
from coterie_bringup.rundir import RunState, named_teams, running_teams, state_root
from coterie_safety.stop import keep_stop, latch_file, one_line

_REPEAT = 0.05
"""Time between two messages, until all robots have said that they are stopped [s]."""
_SETTLE = 1.0
"""How long robots of a team that runs elsewhere are looked for after the first one [s]."""
LOG = "stops.log"


class StopError(Exception):
    """The command cannot be carried out as it was given; says why and what to do."""


@dataclass(slots=True)
class Addressee:
    """The robots of one team that are meant, and who of them has done so; none: all it has."""

    state: RunState
    robots: list[str]
    whole_team: bool
    done: dict[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        """Who has not answered."""
        return [robot for robot in self.robots if robot not in self.done]

    def topic(self, name: str) -> str:
        """Return the full name of a topic of the team."""
        return f"/{self.state.namespace}/{name}" if self.state.namespace else f"/{name}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Stop or release robots; return the exit code.

    0: all of them say so; 1: somebody did not answer; 2: the command cannot be carried out.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    what = words.pop(0) if words[:1] in (["stop"], ["release"]) else "stop"
    given = _parser(what).parse_args(words)
    return run(
        what, given.robot, given.team, given.reason, given.by, given.timeout, given.domain,
        given.namespace, again=given.again,
    )  # fmt: skip


def run(
    what: str,
    robots: Sequence[str],
    team: str,
    reason: str,
    by: str,
    timeout: float,
    domain: int | None,
    namespace: str | None,
    *,
    again: bool = False,
) -> int:
    """Stop or release robots; return the exit code of `main`, whose options these are.

    `again`: a stop that was given, kept and logged before is told once more.
    """
    try:
        chosen = _chosen(robots, team, domain, namespace)
    except StopError as error:
        print(f"coterie: {error}", file=sys.stderr)
        return 2
    by = one_line(by or f"{getpass.getuser()}@{socket.gethostname()}").replace(": ", " ")
    reason = one_line(reason)
    for one in chosen:
        if what == "stop":
            _stop(one, f"{by}: {reason}" if reason else by, timeout)
            if again:
                continue
            _keep(one, lambda file: keep_stop(file, by, reason), "stops")
        else:
            _take_back(one)
            _release(one, f"{by}: {reason}" if reason else by, timeout)
            _keep(one, lambda file: file.unlink(missing_ok=True), "goes on")
        _log(one, what, by, reason)
    nobody = not any(one.robots for one in chosen)
    if nobody:
        print("coterie: no robot answered; is it the right --domain?", file=sys.stderr)
    return 1 if nobody or any(one.missing for one in chosen) else 0


def _parser(what: str) -> argparse.ArgumentParser:
    about = {
        "stop": "Stop robots at once: goals are cancelled, nothing moves until ./coterie release.",
        "release": "Let stopped robots go on.",
    }
    parser = argparse.ArgumentParser(prog=f"coterie {what}", description=about[what])
    parser.add_argument("robot", nargs="*", help="name of a robot; none: all robots")
    parser.add_argument(
        "--team", default="", help="name of the team, or of its file; default: every team here"
    )
    parser.add_argument("--reason", default="", help="why, for the log and for who is refused")
    parser.add_argument("--by", default="", help="who says so; default: your login and computer")
    parser.add_argument("--timeout", type=float, default=5.0, help="longest wait [s]; default: 5")
    parser.add_argument(
        "--domain", type=int, default=None, help="ROS domain of a team that runs elsewhere"
    )
    parser.add_argument("--namespace", default=None, help="ROS namespace of that team")
    parser.add_argument("--again", action="store_true", help=argparse.SUPPRESS)
    return parser


def _chosen(
    robots: Sequence[str], team: str, domain: int | None, namespace: str | None
) -> list[Addressee]:
    """Return whom options mean.

    Raises:
        StopError: No such team or robot.
    """
    teams = running_teams()
    space = (namespace or "").strip("/")
    if domain is not None:
        teams = [t for t in teams if t.domain == domain]
    if namespace is not None:
        teams = [t for t in teams if t.namespace == space]
    if team:
        try:
            teams = named_teams(team, teams) if teams else []
        except CommandError as error:
            raise StopError(str(error)) from None
    given = os.environ.get("ROS_DOMAIN_ID", "")
    if not teams and (domain is not None or given.isdecimal()):
        number = domain if domain is not None else int(given)
        elsewhere = RunState(team, 0, number, "", 0.0, namespace=space)
        return [Addressee(elsewhere, list(robots), not robots)]
    if not teams:
        raise StopError("no team runs on this computer; give --domain for a team elsewhere")
    if not robots:
        return [Addressee(t, list(t.robots), True) for t in teams]
    known = {robot for t in teams for robot in t.robots}
    for robot in robots:
        if robot not in known:
            near = difflib.get_close_matches(robot, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"robots: {', '.join(sorted(known))}"
            raise StopError(f"no robot {robot!r} in a team that runs here; {hint}")
    meant = [(t, [r for r in robots if r in t.robots]) for t in teams]
    return [Addressee(state, names, False) for state, names in meant if names]


@contextlib.contextmanager
def _node(state: RunState) -> Iterator[tuple[Any, Callable[[float], None]]]:
    """Make a light node in a team's domain; yield it and what spins it for a while [s]."""
    os.environ.update(state.environment)
    os.environ.update(_without_shared_memory())
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node
    from rclpy.parameter import Parameter

    context = Context()
    rclpy.init(args=[], context=context, domain_id=state.domain)
    node = Node(
        f"stop_{os.getpid()}",
        context=context,
        enable_rosout=False,
        start_parameter_services=False,
        use_global_arguments=False,
        parameter_overrides=[Parameter("start_type_description_service", value=False)],
    )
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        yield node, lambda seconds: executor.spin_once(timeout_sec=seconds)
    finally:
        executor.shutdown(0.0)
        node.destroy_node()
        context.try_shutdown()
        context.destroy()


def _without_shared_memory() -> dict[str, str]:
    """Return the settings with which DDS talks over sockets alone; {}: the user chose a profile.

    A stop must not depend on files in /dev/shm: where a robot's are gone (the login that started
    it ended, somebody tidied up, a process was killed at a bad moment), only those who were
    connected before reach it through them. LOCALHOST would bring them back, so that sockets on
    127.0.0.1 take its place: nobody on the network hears a word either way.
    """
    names = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")
    name = next((n for n in names if os.environ.get(n)), names[-1])
    given = Path(os.environ.get(name) or DDS_PROFILE)
    if given.parts[-3:] not in [Path(own).parts for own in (DDS_PROFILE, LOCAL_DDS_PROFILE)]:
        return {}
    if os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE") != "LOCALHOST":
        return {name: str(resource(NETWORK_PROFILE))}
    return {
        name: str(resource(COMMAND_PROFILE)),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
        "ROS_STATIC_PEERS": "127.0.0.1",
    }


def _stop(one: Addressee, text: str, timeout: float) -> None:
    """Tell robots to stop until all have said that they are stopped, or the time [s] is over."""
    with _node(one.state) as (node, spin):
        from std_msgs.msg import Bool, String

        from coterie_ros.qos import profile

        names = ["stop"] if one.whole_team else [f"{robot}/stop" for robot in one.robots]
        out = [node.create_publisher(String, one.topic(n), profile("messages")) for n in names]
        begin = time.monotonic()

        def heard(robot: str, message: Bool) -> None:
            if message.data and robot not in one.done:
                one.done[robot] = f"stopped after {time.monotonic() - begin:.2f} s"
                print(f"{robot}: {one.done[robot]}", flush=True)

        listening: set[str] = set()
        last_new, due = begin, 0.0
        while (now := time.monotonic()) - begin < timeout:
            if one.whole_team and not one.state.robots and _look(node, one):
                last_new = now
            for robot in set(one.robots) - listening:
                listening.add(robot)
                node.create_subscription(
                    Bool,
                    one.topic(f"{robot}/stopped"),
                    lambda message, robot=robot: heard(robot, message),
                    profile("latched"),
                )
            if now >= due:
                due = now + _REPEAT
                for publisher in out:
                    publisher.publish(String(data=text))
            known = bool(one.state.robots) or not one.whole_team or now - last_new > _SETTLE
            if one.robots and not one.missing and known:
                break
            spin(_REPEAT / 2)


def _look(node: Any, one: Addressee) -> bool:
    """Find robots of a team of which only the domain is known; tell whether there are new ones."""
    pattern = re.compile(re.escape(one.topic("")) + r"(\w+)/stopped")
    names = [name for name, _ in node.get_topic_names_and_types()]
    found = [m[1] for name in names if (m := pattern.fullmatch(name)) and m[1] not in one.robots]
    one.robots += found
    return bool(found)


def _release(one: Addressee, by: str, timeout: float) -> None:
    """Name who releases, and call each robot's service; wait at most so long for all [s]."""
    with _node(one.state) as (node, spin):
        from std_msgs.msg import String
        from std_srvs.srv import SetBool

        from coterie_ros.qos import profile

        begin, last_new = time.monotonic(), time.monotonic()
        clients: dict[str, Any] = {}
        names: dict[str, Any] = {}
        asked: dict[str, Any] = {}
        while (now := time.monotonic()) - begin < timeout:
            if one.whole_team and not one.state.robots and _look(node, one):
                last_new = now
            for robot in one.missing:
                if robot not in clients:
                    name = one.topic(f"{robot}/stop")
                    clients[robot] = node.create_client(SetBool, name)
                    names[robot] = node.create_publisher(
                        String, one.topic(f"{robot}/released_by"), profile("messages")
                    )
                named = names[robot].get_subscription_count() or now - begin > _SETTLE
                if robot not in asked and named and clients[robot].service_is_ready():
                    names[robot].publish(String(data=by))
                    asked[robot] = clients[robot].call_async(SetBool.Request(data=False))
                if robot in asked and asked[robot].done():
                    one.done[robot] = asked[robot].result().message
                    print(f"{robot}: {one.done[robot]}", flush=True)
            known = bool(one.state.robots) or not one.whole_team or now - last_new > _SETTLE
            if one.robots and not one.missing and known:
                break
            spin(_REPEAT / 2)


def _keep(one: Addressee, change: Callable[[Path], object], does: str) -> None:
    """Change the latches of robots that did not answer: they obey when they start again."""
    for robot in one.missing:
        told = f"{robot}: did not answer"
        if robot in one.state.elsewhere and not one.state.tells_stops:
            told += "; it is on another host: say it again"
        elif one.state.stops:
            try:
                change(latch_file(Path(one.state.stops), robot))
                when = f"it {does} when its node starts again"
                if robot in one.state.elsewhere:
                    when = "it is on another host: " + (
                        "the stop is told it again until it obeys"
                        if does == "stops"
                        else "a stop that it has heard holds; say it again"
                    )
                told += f"; {when}"
            except OSError as error:
                told += f"; its latch cannot be written: {error}"
        print(f"coterie: {told}", file=sys.stderr, flush=True)


def _take_back(one: Addressee) -> None:
    """Let nobody tell a robot of another host a stop any more, before it is released."""
    for robot in set(one.robots) & set(one.state.elsewhere):
        with contextlib.suppress(OSError):
            latch_file(Path(one.state.stops), robot).unlink(missing_ok=True)


def _log(one: Addressee, what: str, by: str, reason: str) -> None:
    """Append who did what to whom and why to the log of this computer."""
    entry = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "what": what,
        "team": one.state.team,
        "domain": one.state.domain,
        "robots": one.robots,
        "by": by,
        "reason": reason,
        "silent": one.missing,
    }
    try:
        with (state_root() / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
    except OSError as error:
        print(f"coterie: not logged: {error}", file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
