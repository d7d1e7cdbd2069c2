"""`./coterie record --live`: the whole run of a team, written into an MCAP file as it comes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import rclpy
import yaml
from PIL import Image as Pictures
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from sensor_msgs.msg import CompressedImage, Image

from coterie_bringup.errors import CommandError
from coterie_bringup.kept_runs import run_of
from coterie_bringup.rundir import RunState
from coterie_recordings import RecordingError
from coterie_recordings.bag_images import color_of
from coterie_recordings.mcap_log import McapLog
from coterie_recordings.ros_types import COMPRESSED, IMAGE, TF
from coterie_ros.definitions import UnknownType, definition_of, message_class
from coterie_ros.offered_qos import KEY, qos_of, to_text
from coterie_ros.qos_events import PlainNode
from coterie_safety.ledger import Entry
from coterie_safety.ledger_tail import LedgerTail
from coterie_safety.why.tail import JournalTail

LOOK_EVERY = 1.0
"""Time between looks for new topics, and for new entries of the log [s]."""
LOG_TOPIC, LOG_TYPE = "/coterie/log", "coterie/LogEntry"
"""Where the log of goals and permits is in the file."""
DECISIONS_TOPIC, DECISIONS_TYPE = "/coterie/decisions", "coterie/Decision"
"""Where the records of ./coterie why are in the file."""
PARAMETERS = "parameters.yaml"
"""Name of the file with the parameters of the run's nodes, in the file."""
CASSETTE = "cassette "
"""What names of cassettes begin with, in the file; then their path as the run had it."""
FACTS = "coterie"
"""Name of the facts about the run in the file."""
THUMBNAIL = 160
"""Width of small images [px]."""
THUMBNAIL_EVERY = 1.0
"""Time between small images of one camera [s]."""
_OWN = ("/rosout", "/parameter_events")
_IMAGES = (IMAGE, COMPRESSED, "sensor_msgs/msg/PointCloud2")

Images = Literal["all", "thumbnails", "none"]


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What of a run is recorded.

    Attributes:
        out: A new .mcap file.
        images: all; thumbnails: small color images, one a second of each camera; or none. Point
            clouds count as images.
        robots: Only topics of these robots, and those of the team; none: all.
        topics: Regular expressions, of which a topic has to fit one; none: all.
        duration: How long [s]; 0: until Ctrl-C.
    """

    out: Path
    images: Images = "all"
    robots: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    duration: float = 0.0


@dataclass(slots=True)
class _Topic:
    kind: str
    text: str
    metadata: dict[str, str] = field(default_factory=dict)
    last: float = -1e9


class RunRecorder:
    """Subscribes to all topics of a run, also to those that come later.

    Messages are written as they arrive, not decoded; semantic images are left out.

    Args:
        node: Its subscriptions are made here.
        log: Where messages go; whoever makes it closes it.
        options: What is recorded.
        team: Whose log of goals and permits is recorded, too; None: nobody's.

    Attributes:
        error: Why it stopped writing; None: it writes.
        left_out: Topics that cannot be recorded, and why.
    """

    def __init__(
        self, node: Node, log: McapLog, options: LiveOptions, team: RunState | None = None
    ) -> None:
        self.node, self.log, self.options = node, log, options
        self.error: RecordingError | None = None
        self.left_out: dict[str, str] = {}
        self._topics: dict[str, _Topic] = {}
        self._patterns = [re.compile(pattern) for pattern in options.topics]
        self._robots = tuple(team.robots) if team is not None else ()
        self._ledger = LedgerTail(Path(team.log)) if team is not None and team.log else None
        run = run_of(team) if team is not None else None
        self._journal = JournalTail(run.decisions) if run is not None else None
        node.create_timer(LOOK_EVERY, self.look)
        self.look()

    def look(self) -> None:
        """Subscribe to topics that are new; take over new entries of the log."""
        for topic, kinds in self.node.get_topic_names_and_types():
            if topic in self._topics or topic in self.left_out or not self._wanted(topic, kinds):
                continue
            ends = self.node.get_publishers_info_by_topic(topic)
            if ends:
                self._listen(topic, kinds[0], ends)
        if self._ledger is not None:
            self._written(self._take_log)
        if self._journal is not None:
            self._written(self._take_decisions)

    def _listen(self, topic: str, kind: str, ends: Any) -> None:
        try:
            message, text = message_class(kind), definition_of(kind)
        except UnknownType as error:
            self.left_out[topic] = str(error)
            return
        offered = [
            (
                end.qos_profile.reliability == ReliabilityPolicy.RELIABLE,
                end.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL,
            )
            for end in ends
        ]
        qos = qos_of(topic, offered)
        self._topics[topic] = _Topic(kind, text, {KEY: to_text(qos)})
        # What comes faster than it is written is lost here, and not piled up.
        qos.depth = max(qos.depth, 100) if kind not in _IMAGES else 5
        self.node.create_subscription(message, topic, self._heard(topic), qos, raw=True)

    def _wanted(self, topic: str, kinds: list[str]) -> bool:
        parts = topic.strip("/").split("/")
        kind = kinds[0]
        if topic in _OWN or any(part.startswith("_") for part in parts) or "semantic" in parts:
            return False
        if kind in _IMAGES and self.options.images != "all":
            small = self.options.images == "thumbnails" and "depth" not in topic
            if not small or kind not in (IMAGE, COMPRESSED):
                return False
        if self._patterns and not any(pattern.search(topic) for pattern in self._patterns):
            return False
        robots = self.options.robots
        if not robots or kind == TF or set(parts) & set(robots):
            return True
        # Of the others' topics none; those of the whole team.
        return bool(self._robots) and not set(parts) & set(self._robots)

    def _heard(self, topic: str) -> Callable[[Any], None]:
        known = self._topics[topic]

        def note(data: Any) -> None:
            if known.kind in (IMAGE, COMPRESSED) and self.options.images == "thumbnails":
                now = time.monotonic()
                if now - known.last >= THUMBNAIL_EVERY:
                    known.last = now
                    self._written(lambda: self._take_small(topic, known, bytes(data)))
                return
            nanos = time.time_ns()
            self._written(
                lambda: self.log.add(
                    topic, known.kind, bytes(data), nanos, text=known.text, metadata=known.metadata
                )
            )

        return note

    def _take_small(self, topic: str, known: _Topic, data: bytes) -> None:
        small = thumbnail(known.kind, data)
        if small is None:
            self.left_out[topic] = "images that cannot be made small"
            return
        name = topic if known.kind == COMPRESSED else f"{topic}/compressed"
        text = definition_of(COMPRESSED)
        self.log.add(name, COMPRESSED, small, time.time_ns(), text=text, metadata=known.metadata)

    def _take_log(self) -> None:
        assert self._ledger is not None
        for entry in self._ledger.read():
            self.log.add_json(LOG_TOPIC, LOG_TYPE, _plain(entry), time.time_ns())

    def _take_decisions(self) -> None:
        assert self._journal is not None
        for record in self._journal.read():
            self.log.add_json(DECISIONS_TOPIC, DECISIONS_TYPE, asdict(record), time.time_ns())

    def _written(self, write: Callable[[], None]) -> None:
        if self.error is not None:
            return
        try:
            write()
        except RecordingError as error:  # told by whoever spins: callbacks must not raise
            self.error = error
        except OSError as error:
            self.left_out[LOG_TOPIC] = str(error)
            self._ledger = self._journal = None


def thumbnail(kind: str, data: bytes) -> bytes | None:
    """Return an image (CDR) as a small JPEG in a CompressedImage; None where it is none."""
    try:
        message = deserialize_message(data, CompressedImage if kind == COMPRESSED else Image)
        picture = Pictures.fromarray(color_of(message, kind))
        picture.thumbnail((THUMBNAIL, THUMBNAIL))
        jpeg = io.BytesIO()
        picture.save(jpeg, "JPEG", quality=75)
        made = CompressedImage(header=message.header, format="jpeg", data=jpeg.getvalue())
        return bytes(serialize_message(made))
    except (RecordingError, ValueError, TypeError):
        return None


def _plain(entry: Entry) -> dict[str, Any]:
    return {**asdict(entry), "body": json.loads(json.dumps(dict(entry.body), default=str))}


def check_patterns(topics: Sequence[str]) -> None:
    """Check the regular expressions of topics.

    Raises:
        CommandError: One is none.
    """
    for pattern in topics:
        try:
            re.compile(pattern)
        except re.error as error:
            raise CommandError(f"--topic {pattern}: no regular expression: {error}") from None


def record_live(options: LiveOptions, team: RunState) -> int:
    """Record until Ctrl-C, or for a while; return the number of messages.

    Args:
        options: What is recorded.
        team: The team, with its ROS domain.

    Raises:
        CommandError: An option is wrong, the file cannot be written, or there was nothing to
            record.
    """
    out = options.out
    check_patterns(options.topics)
    try:
        log = McapLog(out)
        log.note(FACTS, facts_of(team))
        parameters = Path(team.directory) / PARAMETERS if team.directory else None
        if parameters is not None and parameters.is_file():
            log.attach(PARAMETERS, "application/yaml", parameters.read_bytes())
    except (RecordingError, OSError) as error:
        raise CommandError(str(error)) from None
    console = Console(highlight=False)
    os.environ.update(team.environment)
    context = Context()
    rclpy.init(context=context, domain_id=team.domain)
    executor = SingleThreadedExecutor(context=context)
    node = PlainNode("coterie_recorder", context=context)
    executor.add_node(node)
    recorder = RunRecorder(node, log, options, team)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    end = time.monotonic() + options.duration if options.duration > 0.0 else float("inf")
    try:
        with Progress(*columns, console=console) as bars:
            task = bars.add_task("waiting for topics", total=None)
            while recorder.error is None and time.monotonic() < end:
                executor.spin_once(timeout_sec=0.1)
                told = (
                    f"{sum(log.counts.values())} messages of {len(log.counts)} topics, "
                    f"{log.size / 1e6:.0f} MB; Ctrl-C ends"
                )
                bars.update(task, description=told if log.counts else "waiting for topics")
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)
        try:
            attach_cassettes(log, team)
            log.close()
        except RecordingError as error:
            recorder.error = recorder.error or error
    if recorder.error is not None:
        raise CommandError(str(recorder.error))
    if not log.counts:
        out.unlink()
        raise CommandError(
            f"no topics on ROS domain {team.domain}; start a team: "
            "./coterie up config/teams/demo.yaml"
        )
    for topic, count in sorted(log.counts.items()):
        console.print(f"  {count:6d}  {topic}", markup=False)
    for topic, why in sorted(recorder.left_out.items()):
        console.print(f"  left out: {topic}: {why}", markup=False, style="yellow")
    console.print(f"{out}: {sum(log.counts.values())} messages, {log.size / 1e6:.0f} MB")
    return sum(log.counts.values())


def attach_cassettes(log: McapLog, team: RunState) -> None:
    """Put what models replied into the file, where their profiles record it.

    Raises:
        RecordingError: The disk is full.
    """
    if not team.directory:
        return
    try:
        nodes = yaml.safe_load((Path(team.directory) / PARAMETERS).read_text(encoding="utf-8"))
        told = [json.loads(one["ros__parameters"].get("model_profile") or "{}")
                for one in nodes.values()]  # fmt: skip
        paths = {str(one.get("cassette") or one.get("record_to") or "") for one in told if one}
    except (OSError, yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError):
        return
    for path in sorted(paths - {""}):
        with contextlib.suppress(OSError):
            log.attach(CASSETTE + path, "application/jsonl", Path(path).read_bytes())


def facts_of(team: RunState) -> dict[str, str]:
    """Return what a recording says of a team: enough to play it as that team."""
    return {
        "team": team.team,
        "namespace": team.namespace,
        "robots": json.dumps(team.robots),
        "domain": str(team.domain),
    }
