"""Listens to a real robot for some seconds and takes down what is there."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
from lifecycle_msgs.srv import GetState
from rcl_interfaces.srv import GetParameters
from rclpy.action import get_action_names_and_types
from rclpy.context import Context
from rclpy.qos import (
    DurabilityPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)
from rclpy.topic_endpoint_info import TopicEndpointInfo
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

from coterie_cli.robot.expected import (
    GET_PARAMETERS,
    Expected,
    ExpectedServer,
    ExpectedTopic,
)
from coterie_cli.robot.facts import Facts, FrameLink, Source, TopicFacts
from coterie_ros.executors import make_executor
from coterie_ros.qos import profile
from coterie_ros.qos_events import PlainNode
from robot_adapters.names import CONTROLLERS, OWN_SPEEDS

_LOOK = 0.25
"""Time between two looks at the graph [s]."""
_SETTLE = 2.5
"""Time without news of the graph after which it counts as known [s]."""
_PATIENCE = 20.0
"""Longest wait for that [s]."""
_ANSWER = 1.0
"""How long an answer may take before it is asked again [s]."""
_LABELS = 100
"""Class identifiers after which no more are taken down."""
_PNG_HEADER = 24  # bytes of a PNG up to its height
GET_STATE = "lifecycle_msgs/srv/GetState"


def installed_hashes(interface: str) -> frozenset[str]:
    """Return the hashes of an installed interface and its parts; empty: nothing tells them.

    The packages tell them in the descriptions of their types. All parts of an action or a service
    count (goal, result, feedback; request, response), as middlewares differ in which one they tell.

    Args:
        interface: Its full name, such as `nav2_msgs/action/NavigateToPose`.
    """
    package, _, name = interface.partition("/")
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        file = Path(prefix) / "share" / package / f"{name}.json"
        if not prefix or not file.is_file():
            continue
        try:
            entries = json.loads(file.read_text("utf-8"))["type_hashes"]
            return frozenset(
                str(entry["hash_string"])
                for entry in entries
                if entry["type_name"] == interface or entry["type_name"].startswith(f"{interface}_")
            )
        except (ValueError, KeyError, TypeError):
            return frozenset()
    return frozenset()


class Probe:
    """Listens to all robots of a team at once.

    Args:
        expected: What is expected of each.
        domain: ROS domain.
        environment: Discovery settings, laid over this process's own.
        use_sim_time: Whether stamps are compared with the team's clock.
    """

    def __init__(
        self,
        expected: list[Expected],
        domain: int,
        environment: Mapping[str, str] | None = None,
        use_sim_time: bool = False,
    ) -> None:
        os.environ.update(environment or {})
        self.facts = {one.robot: Facts() for one in expected}
        self._expected = expected
        self._context = Context()
        rclpy.init(args=[], context=self._context, domain_id=domain)
        self._node = PlainNode(
            f"robot_check_{os.getpid()}",
            context=self._context,
            enable_rosout=False,
            start_parameter_services=False,
            use_global_arguments=False,
        )
        self._executor = make_executor(self._context)
        self._executor.add_node(self._node)
        self._heard: dict[tuple[str, str], float] = {}
        self._clients: dict[str, Any] = {}
        self._asked: dict[tuple[str, tuple[str, ...]], tuple[Any, float]] = {}
        self._hashes: dict[str, frozenset[str]] = {}
        self._sim = use_sim_time
        self._clock: float | None = None
        if use_sim_time:
            for name in {one.clock for one in expected}:
                self._node.create_subscription(Clock, name, self._on_clock, profile("clock"))

    def listen(self, duration: float, on_time: Callable[[float], object] = lambda s: None) -> None:
        """Listen for so long [s], from when the robots' ends of the graph are known.

        Args:
            duration: How long [s].
            on_time: Told how long is left [s].
        """
        begin = changed = time.monotonic()
        known, due, end = -1, 0.0, begin + duration
        while (now := time.monotonic()) < end:
            if now >= due:
                due = now + _LOOK
                on_time(end - now)
                self._look()
                there = self._there()
                if there != known:
                    known, changed = there, now
                # Discovery takes its time: what was not heard of yet is not missing.
                if now - changed < _SETTLE and now - begin < _PATIENCE and known < self._wanted:
                    end = now + duration
            self._executor.spin_once(timeout_sec=0.05)
        now = time.monotonic()
        for one in self._expected:
            facts = self.facts[one.robot]
            for topic in one.topics:
                begun = self._heard.get((one.robot, topic.name))
                facts.topics[topic.name].duration = duration if begun is None else now - begun
            if self._sim:
                facts.clock = self._clock is not None

    def close(self) -> None:
        """End the node."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()
        self._context.destroy()

    @property
    def _wanted(self) -> int:
        """Number of topics and servers that are expected."""
        return sum(len(one.topics) + len(one.servers) for one in self._expected)

    def _there(self) -> int:
        """Return how many of them are there."""
        return sum(
            sum(bool(known.sources) for known in facts.topics.values()) + len(facts.servers)
            for facts in self.facts.values()
        )

    # -- the graph -----------------------------------------------------------------------------

    def _look(self) -> None:
        topics = {n: tuple(t) for n, t in self._node.get_topic_names_and_types()}
        actions = {n: tuple(t) for n, t in get_action_names_and_types(self._node)}
        services = {n: tuple(t) for n, t in self._node.get_service_names_and_types()}
        for one in self._expected:
            facts = self.facts[one.robot]
            facts.all_topics, facts.all_servers = topics, {**services, **actions}
            facts.clock_told = self._node.count_publishers(one.clock) > 0
            for topic in one.topics:
                self._look_at(one.robot, topic, facts)
            for server in one.servers:
                if server.kind == "action":
                    status = f"{server.name}/_action/status"
                    there = bool(self._node.get_publishers_info_by_topic(status))
                    kinds = actions.get(server.name, ())
                elif server.kind == "listener":
                    ends = self._node.get_subscriptions_info_by_topic(server.name)
                    there, kinds = bool(ends), tuple({end.topic_type for end in ends})
                else:
                    there = self._node.count_services(server.name) > 0
                    kinds = services.get(server.name, ())
                if there:
                    facts.servers[server.name] = kinds
                    facts.strangers[server.name] = self._strangers(server)
                else:
                    facts.servers.pop(server.name, None)
                if there and server.lifecycle and server.type in kinds:
                    self._ask(server.name, Trigger, partial(self._told, facts, server.name))
                    self._look_beside(server.name, services, facts)
                elif there and server.type == GET_PARAMETERS and server.type in kinds:
                    self._ask_speeds(server.name, facts)

    def _look_at(self, robot: str, topic: ExpectedTopic, facts: Facts) -> None:
        known = facts.topics.setdefault(topic.name, TopicFacts())
        wanted = profile(topic.qos)
        sources = []
        offered: list[QoSProfile] = []
        for end in self._node.get_publishers_info_by_topic(topic.name):
            fits, why = qos_check_compatible(end.qos_profile, wanted)
            trouble = "" if fits != QoSCompatibility.ERROR else _qos_words(end.qos_profile, why)
            differs = end.topic_type == topic.type and self._differs(topic.type, end)
            sources.append(Source(_node_of(end), end.topic_type, trouble, differs))
            if end.topic_type == topic.type:
                offered.append(end.qos_profile)
        known.sources = sources
        if offered and (robot, topic.name) not in self._heard:
            self._hear(robot, topic, known, offered)

    def _strangers(self, server: ExpectedServer) -> tuple[str, ...]:
        """Return the nodes that serve it by another definition of its type than the one here."""
        publishers = self._node.get_publishers_info_by_topic
        subscriptions = self._node.get_subscriptions_info_by_topic
        name, ends = server.name, []
        if server.kind == "listener":
            ends = [end for end in subscriptions(name) if end.topic_type == server.type]
        elif server.kind == "service":
            ends = [*subscriptions(f"rq{name}Request", True), *publishers(f"rr{name}Reply", True)]
        else:
            # Goal, result and feedback have a hash each; the first two are services', by DDS name.
            ends = [
                *publishers(f"{name}/_action/feedback"),
                *subscriptions(f"rq{name}/_action/send_goalRequest", True),
                *publishers(f"rr{name}/_action/get_resultReply", True),
            ]
        return tuple(sorted({_node_of(end) for end in ends if self._differs(server.type, end)}))

    def _differs(self, kind: str, end: TopicEndpointInfo) -> bool:
        """Whether an end's definition of its type is known to be another than the one here."""
        if kind not in self._hashes:
            self._hashes[kind] = installed_hashes(kind)
        known, told = self._hashes[kind], end.topic_type_hash
        return bool(known) and any(told.value) and str(told) not in known | {"INVALID"}

    def _hear(
        self, robot: str, topic: ExpectedTopic, known: TopicFacts, offered: list[QoSProfile]
    ) -> None:
        """Subscribe with a QoS that fits whatever is offered."""
        package, _, name = topic.type.split("/")
        try:
            kind = getattr(importlib.import_module(f"{package}.msg"), name)
        except (ImportError, AttributeError):
            known.trouble = f"its type {topic.type} is not installed here"
            return
        latched = all(o.durability == DurabilityPolicy.TRANSIENT_LOCAL for o in offered)
        qos = QoSProfile(
            depth=100,
            reliability=ReliabilityPolicy.RELIABLE
            if all(o.reliability == ReliabilityPolicy.RELIABLE for o in offered)
            else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )
        self._heard[(robot, topic.name)] = time.monotonic()
        if topic.role in ("tf", "tf_static"):
            receive = partial(self._on_tf, robot, known, topic.role == "tf_static")
        else:
            receive = partial(self._on_message, known, topic.role)
        self._node.create_subscription(kind, topic.name, receive, qos)

    def _look_beside(
        self, manager: str, services: Mapping[str, tuple[str, ...]], facts: Facts
    ) -> None:
        """Ask the lifecycle nodes beside a lifecycle manager for their states."""
        space = manager.rsplit("/", 2)[0]
        for name, kinds in services.items():
            node = name.removesuffix("/get_state")
            if GET_STATE in kinds and node != name and node.rsplit("/", 1)[0] == space:
                self._ask(name, GetState, partial(self._state, facts, node))

    def _ask(self, name: str, kind: Any, told: Callable[[Any], object], *names: str) -> None:
        """Call a service once; again where no answer came: one to a first call may get lost.

        Args:
            name: Of the service.
            kind: Its type.
            told: Takes the response.
            *names: Parameters to ask for, where it is a service of parameters.
        """
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name)
        client, now = self._clients[name], time.monotonic()
        future, since = self._asked.get((name, names), (None, 0.0))
        if future is not None and not future.done() and now - since > _ANSWER:
            client.remove_pending_request(future)
            future = None
        if future is None and client.service_is_ready():
            future, since = (
                client.call_async(kind.Request(**({"names": names} if names else {}))),
                now,
            )
            future.add_done_callback(lambda f: told(f.result()))
        self._asked[name, names] = (future, since)

    def _ask_speeds(self, name: str, facts: Facts) -> None:
        """Ask a controller server for the speeds that its controllers have of their own.

        One parameter at a time: rclcpp tells none of several where one is unknown.
        """

        def named(response: Any) -> None:
            for value in response.values:
                facts.speeds |= dict.fromkeys(value.string_array_value)

        def told(controller: str, response: Any) -> None:
            for value in response.values:
                facts.speeds[controller] = float(value.double_value)

        self._ask(name, GetParameters, named, CONTROLLERS[1])
        for controller in list(facts.speeds):
            for own in OWN_SPEEDS:
                self._ask(name, GetParameters, partial(told, controller), f"{controller}.{own}")

    @staticmethod
    def _told(facts: Facts, name: str, response: Any) -> None:
        facts.active[name] = bool(response.success)

    @staticmethod
    def _state(facts: Facts, node: str, response: Any) -> None:
        facts.states[node] = str(response.current_state.label)

    # -- messages ------------------------------------------------------------------------------

    def _now(self) -> float | None:
        return self._clock if self._sim else time.time()

    def _on_clock(self, message: Clock) -> None:
        self._clock = _seconds(message.clock)

    def _on_message(self, known: TopicFacts, role: str, message: Any) -> None:
        known.count += 1
        header = getattr(message, "header", None)
        if header is not None:
            known.frame = str(header.frame_id).lstrip("/")
            if (age := self._age(header.stamp)) is not None:
                known.offsets = [*known.offsets[-200:], age]
        if role in ("depth", "color"):
            _take_image(known, message)
        elif role == "joints":
            known.labels.update(message.name)
        elif role == "detections" and len(known.labels) < _LABELS:
            known.labels.update(_labels(message))
        elif role in ("info", "detections.info"):
            known.size = (int(message.width), int(message.height))
            known.focal = (float(message.k[0]), float(message.k[4]))
            known.distorted = any(message.d)
        elif role == "battery":
            known.charge = float(message.percentage)

    def _age(self, stamp: Any) -> float | None:
        now = self._now()
        return None if now is None else now - _seconds(stamp)

    def _on_tf(self, robot: str, known: TopicFacts, fixed: bool, message: Any) -> None:
        known.count += 1
        for transform in message.transforms:
            child = str(transform.child_frame_id).lstrip("/")
            link = self.facts[robot].links.setdefault(child, FrameLink())
            link.parents.add(str(transform.header.frame_id).lstrip("/"))
            link.fixed = fixed
            if not fixed and (age := self._age(transform.header.stamp)) is not None:
                link.age = age if link.age is None else min(link.age, age)


def _labels(message: Any) -> set[str]:
    """Return what a message of a detector calls things; that of ultralytics_ros has one within."""
    items = getattr(message.detections, "detections", message.detections)
    named = {name for item in items if (name := getattr(item, "class_name", ""))}
    return named | {
        result.hypothesis.class_id for item in items for result in getattr(item, "results", ())
    }


def _take_image(known: TopicFacts, message: Any) -> None:
    """Take down size and encoding; those of a PNG stand in its header."""
    if hasattr(message, "encoding"):
        known.size = (int(message.width), int(message.height))
        known.encoding = str(message.encoding)
        return
    data = bytes(message.data[:128])
    at = data.find(b"\x89PNG\r\n\x1a\n")
    if at >= 0 and len(data) >= at + _PNG_HEADER:
        known.size = (
            int.from_bytes(data[at + 16 : at + 20], "big"),
            int.from_bytes(data[at + 20 : at + 24], "big"),
        )
    known.encoding = str(message.format).split(";")[0].strip()


def _node_of(end: TopicEndpointInfo) -> str:
    return f"{end.node_namespace.rstrip('/')}/{end.node_name}"


def _seconds(stamp: Any) -> float:
    return float(stamp.sec) + 1e-9 * float(stamp.nanosec)


def _qos_words(offered: QoSProfile, why: str) -> str:
    """Return why a publisher's QoS does not fit, in words."""
    if "est effort" in why:
        return "it is best effort, and the adapter wants every message (reliable)"
    if "olatile" in why:
        return "it keeps no message for who comes late (volatile), and the adapter wants that"
    return f"{offered.reliability.name.lower()}, {offered.durability.name.lower()}: {why}"


@contextlib.contextmanager
def probing(
    expected: list[Expected],
    domain: int,
    environment: Mapping[str, str] | None = None,
    use_sim_time: bool = False,
) -> Iterator[Probe]:
    """Make a probe, and end it after the block."""
    probe = Probe(expected, domain, environment, use_sim_time)
    try:
        yield probe
    finally:
        probe.close()
