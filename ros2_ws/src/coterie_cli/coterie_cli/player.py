"""A recorded run is published again on a ROS domain of its own."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coterie_bringup import rundir
from coterie_bringup.errors import CommandError
from coterie_cli.record_live import FACTS, LOG_TOPIC, check_patterns
from coterie_cli.replay_options import ReplayOptions
from coterie_recordings import RecordingError
from coterie_recordings.bag_files import Found, McapFile
from coterie_ros.definitions import UnknownType, definition_of, message_class
from coterie_ros.domains import domain_in_use
from coterie_ros.offered_qos import KEY, from_text
from coterie_ros.qos_events import PlainNode
from coterie_safety.ledger import KINDS, Ledger

_NAME = re.compile(r"[A-Za-z]\w*")


@dataclass(slots=True)
class Recorded:
    """What is in a recording: topic -> its first message (without data) and how many there are."""

    topics: dict[str, Found] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    first: int = 0
    last: int = 0

    @property
    def seconds(self) -> float:
        """How long it is [s]."""
        return (self.last - self.first) / 1e9


def contents(file: McapFile, topics: Sequence[str] = ()) -> Recorded:
    """Return what is in a recording, as far as it can be read.

    Args:
        file: The recording.
        topics: Regular expressions, of which a topic has to fit one; none: all.
    """
    patterns = [re.compile(pattern) for pattern in topics]
    found = Recorded()
    for message in file.scan(None):
        if patterns and not any(pattern.search(message.topic) for pattern in patterns):
            continue
        if message.topic not in found.topics:
            kept = (message.topic, message.type, message.where, b"", message.nanos)
            found.topics[message.topic] = Found(*kept, message.encoding, message.metadata)
        found.counts[message.topic] = found.counts.get(message.topic, 0) + 1
        found.first = min(found.first or message.nanos, message.nanos)
        found.last = max(found.last, message.nanos)
    return found


def play(options: ReplayOptions) -> int:
    """Play a recording; return the exit code.

    Raises:
        CommandError: It cannot be read, holds nothing that can be played, or somebody is in the
            domain.
    """
    out = Console(highlight=False)
    topics = options.topic or ()
    check_patterns(topics)
    try:
        file = McapFile(options.file)
        recorded = contents(file, topics)
    except RecordingError as error:
        raise CommandError(str(error)) from None
    for problem in file.problems:
        out.print(escape(problem), style="yellow")
    if not recorded.counts:
        raise CommandError(f"{options.file}: no messages in it, or of no such topic")
    if options.info:
        out.print(_table(recorded))
        return 0
    if options.domain is not None and domain_in_use(options.domain):
        raise CommandError(
            f"somebody is in ROS domain {options.domain}: what is played would mix with what they "
            "say; leave --domain out, or give one that nobody uses"
        )
    with rundir.domain(options.domain, {}) as domain:
        return _play(options, file, recorded, domain, out)


def _table(recorded: Recorded) -> Table:
    table = Table("topic", "type", "messages", "latched", box=None)
    for topic, one in sorted(recorded.topics.items()):
        latched = "transient_local" in one.metadata.get(KEY, "")
        count = str(recorded.counts[topic])
        table.add_row(escape(topic), escape(one.type), count, "yes" if latched else "")
    return table


def _play(
    options: ReplayOptions, file: McapFile, recorded: Recorded, domain: int, out: Console
) -> int:
    state = _team(options.file, file, domain)
    with contextlib.ExitStack() as stack:
        player = stack.enter_context(Player.of(recorded, domain))
        stack.enter_context(rundir.registered(state))
        for topic, why in sorted(player.left_out.items()):
            out.print(f"left out: {escape(topic)}: {escape(why)}", style="yellow")
        if not player.topics:
            raise CommandError(f"{options.file}: no topic in it can be played here")
        if options.console:
            from coterie_cli.console.command import ConsoleOptions, serving

            page = ConsoleOptions(port=options.port, show=not options.no_open)
            for line in stack.enter_context(serving(state, page, options.file.name)):
                out.print(escape(line))
        out.print(
            f"{options.file}: {sum(recorded.counts.values())} messages of {recorded.seconds:.1f} s,"
            f" ROS_DOMAIN_ID={domain}; Ctrl-C ends"
        )
        log = Ledger(Path(state.log))
        try:
            player.wait(options.delay)
            for message in _in_time(file.scan(None), options, recorded, player.wait):
                if message.topic == LOG_TOPIC and message.encoding == "json":
                    _again(log, message.data)
                else:
                    player.publish(message)
            out.print(f"played {player.count} messages")
            if options.hold or options.console:
                out.print("at its end; latched topics stay until Ctrl-C")
                player.wait(float("inf"))
        except KeyboardInterrupt:
            out.print(f"ended after {player.count} messages")
    return 0


def _in_time(
    messages: Iterator[Found],
    options: ReplayOptions,
    recorded: Recorded,
    wait: Callable[[float], None],
) -> Iterator[Found]:
    """Yield the messages of chosen topics, each when it is due."""
    begun = time.monotonic()
    for message in messages:
        if message.topic not in recorded.topics:
            continue
        due = begun + (message.nanos - recorded.first) / 1e9 / options.rate
        if due > time.monotonic():
            wait(due - time.monotonic())
        yield message


def _again(log: Ledger, data: bytes) -> None:
    """Write an entry of the recorded log into that of the replay; its texts are data."""
    with contextlib.suppress(ValueError, KeyError, TypeError, OSError):
        entry = json.loads(data)
        if entry["kind"] in KINDS:
            log.write(entry["kind"], str(entry["robot"]), {**entry["body"], "at": entry["at"]})


def _team(path: Path, file: McapFile, domain: int) -> rundir.RunState:
    """Return the recorded team as a running one, so that other commands find it."""
    facts = file.metadata.get(FACTS, {})
    try:
        robots = [name for name in json.loads(facts["robots"]) if _NAME.fullmatch(name)]
    except (KeyError, ValueError, TypeError):
        robots = []
    namespace = facts.get("namespace", "")
    if not all(_NAME.fullmatch(part) for part in namespace.split("/") if part):
        namespace = ""
    folder = rundir.new_run(f"replay-{path.stem}")
    return rundir.own_state(
        facts.get("team") or path.stem,
        domain,
        folder,
        namespace=namespace,
        robots=robots,
        log=folder / "log",
    )


class Player:
    """Publishes recorded messages as they are, with the QoS that they were recorded with.

    Args:
        node: Its publishers are made here.
        recorded: What is in the recording.

    Attributes:
        topics: Those that are published.
        left_out: Those that are not, and why.
        count: How many messages were published.
    """

    def __init__(self, node: Node, recorded: Recorded) -> None:
        self.left_out: dict[str, str] = {}
        self.count = 0
        self._ended = threading.Event()
        self._publishers: dict[str, Any] = {}
        for topic, one in sorted(recorded.topics.items()):
            if one.encoding != "cdr":
                continue
            try:
                qos = from_text(topic, one.metadata.get(KEY, ""))
                kind = message_class(one.type)
                definition_of(one.type)
                self._publishers[topic] = node.create_publisher(kind, topic, qos)
            except UnknownType as error:
                self.left_out[topic] = str(error)
            except Exception as error:  # a name that is none, and whatever rclpy says of it
                self.left_out[topic] = str(error)[:200]

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that are published."""
        return tuple(self._publishers)

    @staticmethod
    @contextlib.contextmanager
    def of(recorded: Recorded, domain: int) -> Iterator[Player]:
        """Make a player in a ROS domain while the block runs."""
        context = Context()
        rclpy.init(args=[], context=context, domain_id=domain)
        node = PlainNode(
            "coterie_replay", context=context, enable_rosout=False, start_parameter_services=False
        )
        try:
            yield Player(node, recorded)
        finally:
            node.destroy_node()
            context.try_shutdown()

    def publish(self, message: Found) -> None:
        """Publish a message, if its topic is published."""
        publisher = self._publishers.get(message.topic)
        if publisher is not None:
            publisher.publish(bytes(message.data))
            self.count += 1

    def wait(self, seconds: float) -> None:
        """Wait; Ctrl-C ends it."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._ended.wait(min(left, 0.5))
