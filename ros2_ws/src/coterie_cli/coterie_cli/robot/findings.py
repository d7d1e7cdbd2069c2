"""From what is expected and what is there to findings in a lab's words; ROS-free."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from coterie_cli.robot.expected import (
    GET_PARAMETERS,
    Expected,
    ExpectedServer,
    ExpectedTopic,
)
from coterie_cli.robot.facts import Facts, TopicFacts
from coterie_cli.robot.finding import Finding, State
from coterie_cli.robot.near import near_name
from coterie_cli.robot.seeing import judge_cameras, judge_frames
from robot_adapters.battery import Battery
from robot_adapters.names import OWN_SPEEDS
from robot_adapters.sensing.clocks import AHEAD_OF_ODOMETRY, ClockLimits

_SLOW = 0.5
"""Rate below which a steady topic is remarked on [Hz]."""
_POSES = 1.0
"""Rate below which a topic does not tell where the robot is: older poses do not count [Hz]."""
_REFUSED = ("depth", "color", "detections", "where")
"""What the adapter refuses where its clock is off."""


_ALONE = (
    "start its drivers with the same ROS_DOMAIN_ID; where they run on another computer, set "
    "ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET here, too, also for ./coterie up"
)
"""What to do about a robot of which there is nothing."""
_SILENT = {
    "": "look whether the driver runs and its sensor delivers",
    "pose": "drive the robot a little; if nothing comes then, set navigation.localization to ''",
    "paused": "nothing is to do if it only tells changes: until one comes nobody has paused it",
}
"""What to do about topics that are silent, by role."""


def judge(expected: Expected, facts: Facts, where: str = "") -> list[Finding]:
    """Return the findings of one robot, in the order of topics, frames, clocks, servers.

    Args:
        expected: What the team file expects.
        facts: What is there.
        where: ROS domain and discovery range that were listened to, in words.
    """
    findings: list[Finding] = []
    if not facts.servers and not any(topic.sources for topic in facts.topics.values()):
        text = f"nothing of this robot is in {where or 'this domain'}"
        findings.append(Finding(expected.robot, "domain", expected.robot, "bad", text, _ALONE))
    for topic in expected.topics:
        findings += _topic(expected, topic, facts)
    findings += judge_cameras(expected, facts)
    findings += judge_frames(expected, facts)
    findings += _clocks(expected, facts)
    for server in expected.servers:
        findings.append(_server(expected, server, facts))
    for node, state in sorted(facts.states.items()):
        if state != "active":
            remedy = _activated(node, state, facts)
            text = f"its lifecycle state is {state!r}, not 'active'"
            findings.append(Finding(expected.robot, "server", node, "bad", text, remedy))
    return findings


def _activated(node: str, state: str, facts: Facts) -> str:
    """Return what makes a lifecycle node active; its manager goes on saying inactive otherwise."""
    command = {"unconfigured": 0, "inactive": 2}.get(state)  # startup; resume: it was paused
    space = node.rsplit("/", 1)[0]
    for service in facts.active:
        manager = service.rsplit("/", 1)[0]
        if command is not None and manager.rsplit("/", 1)[0] == space:
            return (
                f"ros2 service call {manager}/manage_nodes nav2_msgs/srv/ManageLifecycleNodes "
                f'"{{command: {command}}}", or look at what its log says'
            )
    return "start it again, and look at what its log says"


def _another(nodes: Sequence[str], kind: str) -> tuple[str, str]:
    """Return text and remedy for nodes with another definition of a type."""
    package = kind.partition("/")[0]
    text = (
        f"{' and '.join(nodes)} has another definition of {kind} than this computer, as another "
        "ROS distribution does"
    )
    return text, f"install the same version of {package} on both computers"


def _topic(expected: Expected, topic: ExpectedTopic, facts: Facts) -> Iterator[Finding]:
    found = facts.topics.get(topic.name, TopicFacts())
    bad: State = "bad" if topic.needed else "note"

    def finding(state: State, text: str, remedy: str = "") -> Finding:
        return Finding(expected.robot, "topic", topic.name, state, text, remedy, topic.field)

    if found.trouble:
        yield finding("bad", found.trouble, "./coterie setup --with robots")
        return
    if not found.sources:
        if topic.role in ("tf", "tf_static") and expected.pose:
            return  # the pose is told otherwise
        if topic.role == "tf_static":
            remedy = "none, unless frames are fixed to the base, as those of cameras"
            yield finding(bad, "nobody publishes it", remedy)
            return
        hint = near_name(expected, topic.name, topic.type, facts.all_topics)
        text = "nobody publishes it" + (f"; {hint}" if hint else "")
        remedy = f"start what publishes it, or correct {topic.field}"
        if topic.ours:
            remedy = "nothing before the team runs: ./coterie up starts the detector"
        if (
            topic.role == "tf"
            and topic.name == f"{expected.clock.removesuffix('clock')}tf" != "/tf"
        ):
            remedy = "the team's namespace moves /tf: publish it there, or give frames.tf a name "
            remedy += "of the robot's own, such as tf"
        yield finding(bad, text, remedy)
        return
    wrong = sorted({s.type for s in found.sources if s.type != topic.type})
    if wrong:
        nodes = ", ".join(s.node for s in found.sources if s.type != topic.type)
        text = f"{nodes} publishes {' and '.join(wrong)}; expected {topic.type}"
        yield finding("bad", text, f"name a topic of that type in {topic.field}")
    for source in found.sources:
        if source.qos_trouble:
            text = f"QoS of {source.node} does not fit: {source.qos_trouble}"
            remedy = "change the QoS of that publisher; the adapter's is in docs/ros_graph.md"
            yield finding("bad", text, remedy)
    if strangers := sorted({s.node for s in found.sources if s.differs}):
        yield finding("bad", *_another(strangers, topic.type))
    wrong += strangers
    if topic.role not in ("tf", "tf_static") and len({s.node for s in found.sources}) > 1:
        nodes = ", ".join(sorted({s.node for s in found.sources}))
        yield finding("note", f"several nodes publish it: {nodes}", "keep one of them")
    if found.count == 0 and not wrong:
        text = f"silent: not one message in {found.duration:.0f} s"
        if not topic.steady:
            text += ", and none kept for who comes late"
        yield finding(bad, text, _SILENT.get(topic.role, _SILENT[""]))
    elif topic.role == "where" and found.rate < _POSES and not wrong:
        text = f"{found.rate:.2f} messages per second: a pose older than 1 s does not count"
        remedy = "amcl_pose comes only on motion: leave out frames.pose, so that tf tells"
        yield finding("bad", text, remedy)
    elif topic.steady and found.rate < _SLOW and not wrong:
        yield finding("note", f"slow: {found.rate:.2f} messages per second")
    elif not wrong:
        rate = f"{found.rate:.1f} Hz" if topic.steady else f"{found.count} messages"
        yield finding("good", rate)
    if topic.role == "battery" and found.count:
        yield _battery(expected, topic, found)
    frame = expected.frames[0]
    if topic.role in ("map", "pose") and found.count and found.frame != frame:
        text = f"is in frame {found.frame!r}, and adapter.frames.map says {frame!r}"
        remedy = "set frames.map of the adapter to the frame of the robot's map"
        where = f"robots.{expected.robot}.adapter.frames.map"
        yield Finding(expected.robot, "frame", topic.name, "bad", text, remedy, where)
    if topic.role == "where" and found.frame not in ("", frame):
        text = f"is in frame {found.frame!r}, and is taken for a pose in {frame!r}"
        remedy = "name a topic with the pose in the map, or let tf tell: leave out frames.pose"
        yield finding("note", text, remedy)
    if topic.role == "joints" and found.count:
        yield from _joints(expected, topic, found)


def _battery(expected: Expected, topic: ExpectedTopic, found: TopicFacts) -> Finding:
    charge = found.charge

    def finding(state: State, text: str, remedy: str = "") -> Finding:
        return Finding(expected.robot, "battery", topic.name, state, text, remedy, topic.field)

    if charge is None or math.isnan(charge):
        return finding("note", "does not tell its percentage", "the adapter cannot see it run low")
    battery = Battery()
    battery.update(charge)
    if math.isnan(battery.charge):
        return finding("bad", f"percentage is {charge:g}", "BatteryState has a fraction, 0 to 1")
    if battery.low:
        return finding("note", battery.told, "charge it")
    if charge > 1.0:
        text = f"percentage is {charge:g}, which counts as {battery.told}"
        return finding("note", text, "let its driver send a fraction, 0 to 1, as BatteryState has")
    return finding("good", battery.told)


def _joints(expected: Expected, topic: ExpectedTopic, found: TopicFacts) -> Iterator[Finding]:
    """The joints of the URDF's arm must be told by their names."""
    missing = [name for name in expected.joints if name not in found.labels]
    if missing:
        told = ", ".join(sorted(found.labels)[:8]) or "none"
        text = f"does not tell the joints {', '.join(missing)} of the URDF's arm; it tells {told}"
        remedy = "give the URDF of this arm, or drive it by a node of its own: backend: skills"
        yield Finding(expected.robot, "topic", topic.name, "bad", text, remedy, topic.field)


def _clocks(expected: Expected, facts: Facts) -> Iterator[Finding]:
    if facts.clock is False:
        remedy = "start the simulator, or remove use_sim_time from the team file's world"
        text = f"use_sim_time is set and nobody publishes {expected.clock}"
        if facts.clock_told:
            remedy = "let the simulation go on, or look why it does not tell its time"
            text = f"{expected.clock} has a publisher that says nothing: is the simulation paused?"
        where = "world.use_sim_time"
        yield Finding(expected.robot, "clock", expected.clock, "bad", text, remedy, where)
        return
    for what, refused, age, ahead in _stamped(expected, facts):
        yield _clock(expected, facts, what, refused, age, ahead)


def _stamped(expected: Expected, facts: Facts) -> Iterator[tuple[str, bool, float, float]]:
    """Give what has stamps: name, whether it can be refused, age [s], meant to be ahead by [s]."""
    _, odom, base = expected.frames
    # A tf that all robots share has the clocks of all of them.
    for frame, ahead in ((odom, AHEAD_OF_ODOMETRY), (base, 0.0)):
        link = facts.links.get(frame)
        if link is not None and not link.fixed and link.age is not None and not expected.pose:
            yield f"{min(link.parents)} -> {frame}", True, link.age, ahead
    for topic in expected.topics:
        found = facts.topics.get(topic.name, TopicFacts())
        if topic.role == "where" and found.rate < _POSES:
            continue  # a pose that was kept is old
        if topic.role in (*_REFUSED, "scan") and found.offset is not None:
            yield topic.name, topic.role in _REFUSED, found.offset, 0.0


def _clock(
    expected: Expected, facts: Facts, what: str, refused: bool, age: float, ahead: float
) -> Finding:
    """Compare the least age of what has stamps with what the adapter takes."""
    limits = ClockLimits(ahead=expected.max_offset)
    how = "behind" if age > 0 else "ahead of"
    clock = expected.clock if facts.clock else "this computer's clock"
    text = f"stamps are {abs(age):.3f} s {how} {clock}"
    where = f"robots.{expected.robot}.adapter.sensors.max_offset" if age < 0.0 else ""

    def finding(state: State, text: str, remedy: str = "") -> Finding:
        return Finding(expected.robot, "clock", what, state, text, remedy, where)

    if -(limits.ahead + ahead) <= age <= limits.ahead:
        return finding("good", text + (", as localization means it" if -age > limits.ahead else ""))
    remedy = "synchronize the clocks (chrony), or look why its messages come so late"
    if abs(age) > 1e6:
        remedy = "its stamps are simulated or zero: set world.use_sim_time, or stamp messages"
    if limits.ahead < age <= limits.behind:
        text += "; they are taken, but a clock that is late puts things in wrong places"
        return finding("note", text, remedy)
    most = limits.behind if age > 0.0 else limits.ahead + ahead
    return finding("bad" if refused else "note", f"{text}; at most {most:g} s are taken", remedy)


def _server(expected: Expected, server: ExpectedServer, facts: Facts) -> Finding:
    bad: State = "bad" if server.needed else "note"

    def finding(state: State, text: str, remedy: str = "") -> Finding:
        return Finding(expected.robot, "server", server.name, state, text, remedy, server.field)

    kinds = facts.servers.get(server.name)
    if server.kind == "listener":
        return finding(*_listener(expected, server, kinds, facts))
    if kinds is None:
        hint = near_name(expected, server.name, server.type, facts.all_servers)
        text = f"no server of this {server.kind} ({server.type})" + (f"; {hint}" if hint else "")
        return finding(bad, text, f"start it, or correct {server.field}")
    if server.type not in kinds:
        text = f"is of type {' and '.join(kinds) or 'unknown'}; expected {server.type}"
        return finding("bad", text, f"correct {server.field}")
    if strangers := facts.strangers.get(server.name):
        return finding("bad", *_another(strangers, server.type))
    if server.lifecycle and (active := facts.active.get(server.name)) is not True:
        if active is None:
            return finding("bad", "does not answer", "look at the log of the lifecycle manager")
        text = "says that not all of its nodes are active"
        return finding("bad", text, "see what is said of each node; or look at their logs")
    if server.type == GET_PARAMETERS:
        return finding(*_speeds(expected, facts))
    return finding("good", "active" if server.lifecycle else f"{server.kind} is there")


def _speeds(expected: Expected, facts: Facts) -> tuple[State, str, str]:
    """Return whether Nav2 can be held to the speed of the limits: only below what it has itself."""
    silent = [name for name, speed in facts.speeds.items() if speed is None]
    told = [speed for speed in facts.speeds.values() if speed is not None]
    if silent or not told:
        whose = f"controller {', '.join(silent)}" if silent else "its controllers"
        text = f"does not tell the own speed of {whose} ({', '.join(OWN_SPEEDS)}): limits.speed "
        remedy = f"give its controllers no more than {expected.speed:g} m/s"
        return "bad", f"{text}cannot be passed on, and does not hold", remedy
    return "good", f"drives at {min(told):g} m/s of its own; limits.speed is passed on", ""


def _listener(
    expected: Expected, server: ExpectedServer, kinds: tuple[str, ...] | None, facts: Facts
) -> tuple[State, str, str]:
    """Return how it is with a topic that the robot's driver has to listen to."""
    if kinds is None and not server.needed:
        text = f"nobody listens to it ({server.type}), and a stop sends zeros there"
        return "note", text, f"name the topic that the base's driver listens to in {server.field}"
    if kinds is None:
        hint = near_name(expected, server.name, server.type, facts.all_topics)
        text = f"nobody listens to it ({server.type})" + (f"; {hint}" if hint else "")
        return "bad", text, f"start the base's driver, or correct {server.field}"
    if server.type not in kinds:
        text = f"the base's driver takes {' and '.join(kinds)}; expected {server.type}"
        stamped = any(kind.endswith("TwistStamped") for kind in kinds)
        remedy = f"set navigation.stamped_velocity: {str(stamped).lower()}"
        return "bad", text, remedy if "Twist" in kinds[0] else f"correct {server.field}"
    if strangers := facts.strangers.get(server.name):
        return "bad", *_another(strangers, server.type)
    return "good", "the base's driver listens", ""
