"""From what is expected and what is there to findings in a lab's words; ROS-free."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from coterie_cli.robot.expected import Expected, ExpectedServer, ExpectedTopic
from coterie_cli.robot.facts import Facts, TopicFacts
from robot_adapters.battery import Battery
from robot_adapters.sensing.clocks import AHEAD_OF_ODOMETRY, ClockLimits

State = Literal["good", "note", "bad"]
ENCODINGS = ("32FC1", "16UC1", "mono16")
_SLOW = 0.5
"""Rate below which a steady topic is remarked on [Hz]."""
_STALE = 1.0
"""Age of a moving transform from which on it is remarked on [s]."""
_REFUSED = ("depth", "color", "detections", "where")
"""What the adapter refuses where its clock is off."""


_SILENT = {
    "": "look whether the driver runs and its sensor delivers",
    "pose": "drive the robot a little; if nothing comes then, set navigation.localization to ''",
    "paused": "nothing is to do if it only tells changes: until one comes nobody has paused it",
}
"""What to do about topics that are silent, by role."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report.

    Attributes:
        robot: Whom it is about.
        area: topic, camera, frame, clock, server, urdf, map, battery, limits or permits.
        what: Name of the topic, server or frame.
        state: How good it is; bad: the robot does not work so.
        text: What was found.
        remedy: What to do ("": nothing).
        field: The place in the team file ("": none).
    """

    robot: str
    area: str
    what: str
    state: State
    text: str
    remedy: str = ""
    field: str = ""


def judge(expected: Expected, facts: Facts) -> list[Finding]:
    """Return the findings of one robot, in the order of topics, frames, clocks, servers."""
    findings: list[Finding] = []
    for topic in expected.topics:
        findings += _topic(expected, topic, facts)
    findings += _cameras(expected, facts)
    findings += _frames(expected, facts)
    findings += _clocks(expected, facts)
    for server in expected.servers:
        findings.append(_server(expected, server, facts))
    for node, state in sorted(facts.states.items()):
        if state != "active":
            remedy = f"ros2 lifecycle set {node} activate, or look at what its log says"
            text = f"its lifecycle state is {state!r}, not 'active'"
            findings.append(Finding(expected.robot, "server", node, "bad", text, remedy))
    return findings


def _near(name: str, kind: str, known: dict[str, tuple[str, ...]]) -> str:
    """Return a hint at a name of the same type, or nearly the same name."""
    same = [other for other, kinds in known.items() if kind in kinds and other != name]
    close = difflib.get_close_matches(name, same, n=1, cutoff=0.0) if same else []
    if close:
        return f"{close[0]} has this type: is it meant?"
    close = difflib.get_close_matches(name, [n for n in known if n != name], n=1, cutoff=0.8)
    return f"there is {close[0]}" if close else ""


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
        if topic.role == "tf_static":
            remedy = "none, unless frames are fixed to the base, as those of cameras"
            yield finding(bad, "nobody publishes it", remedy)
            return
        hint = _near(topic.name, topic.type, facts.all_topics)
        text = "nobody publishes it" + (f"; {hint}" if hint else "")
        yield finding(bad, text, f"start what publishes it, or correct {topic.field}")
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


def _cameras(expected: Expected, facts: Facts) -> Iterator[Finding]:
    """Images, their camera info and detections must fit to one another."""
    names = dict.fromkeys(topic.camera for topic in expected.topics if topic.camera)
    for camera in names:
        of = {t.role: t for t in expected.topics if t.camera == camera}
        found = {role: facts.topics.get(t.name, TopicFacts()) for role, t in of.items()}

        def finding(
            role: str, text: str, remedy: str, of: dict[str, ExpectedTopic] = of
        ) -> Finding:
            at = of[role]
            return Finding(expected.robot, "camera", at.name, "bad", text, remedy, at.field)

        depth, info = found.get("depth"), found.get("info")
        if depth is not None and depth.count and depth.encoding:
            if depth.encoding not in ENCODINGS:
                yield finding(
                    "depth",
                    f"depth images have encoding {depth.encoding!r}",
                    f"publish one of {', '.join(ENCODINGS)} (32FC1 [m], the others [mm])",
                )
        if depth is not None and depth.count and (info is None or not info.count):
            text = "depth images come without CameraInfo"
            yield finding("depth", text, "start the camera's driver with its calibration")
        if info is None or not info.count:
            continue
        if info.focal is not None and (
            min(info.focal) <= 0.0 or not math.isfinite(sum(info.focal))
        ):
            text = f"CameraInfo holds no calibration: focal lengths are {info.focal}"
            yield finding("info", text, "calibrate the camera (camera_calibration)")
        if info.distorted and depth is not None:
            text = "CameraInfo has a distortion (d), and depth images are taken for rectified ones"
            remedy = "rectify it (image_proc), and name the camera info of what is rectified"
            yield Finding(
                expected.robot, "camera", of["info"].name, "note", text, remedy, of["info"].field
            )
        if depth is not None and depth.count and depth.size != (0, 0) and info.size != depth.size:
            text = (
                f"CameraInfo is of {info.size[0]} x {info.size[1]} pixels, and the depth images "
                f"have {depth.size[0]} x {depth.size[1]}"
            )
            remedy = "name the camera info of the depth images (aligned depth has the color's)"
            yield finding("info", text, remedy)
        yield from _joined(expected, facts, info.frame, of["info"])
    for topic in expected.topics:
        scan = facts.topics.get(topic.name)
        if topic.role == "scan" and scan is not None and scan.count:
            yield from _joined(expected, facts, scan.frame, topic)


def _joined(
    expected: Expected, facts: Facts, frame: str, topic: ExpectedTopic
) -> Iterator[Finding]:
    """The frame of a camera must hang below the robot's base or map."""
    base = expected.frames[2]
    if (topic.camera or topic.role) in expected.mounted:
        return
    if not frame:
        text, remedy = "its messages name no frame", "set the frame_id in the camera's driver"
        yield Finding(expected.robot, "camera", topic.name, "bad", text, remedy, topic.field)
    elif expected.pose:
        text = f"where frame {frame!r} sits on {base!r} is not known"
        remedy = "give its place in the team file: mount: {x: ..., z: ...}"
        if topic.role == "scan":
            remedy = remedy.replace("mount", "navigation.scan_mount")
        yield Finding(expected.robot, "frame", frame, "bad", text, remedy, topic.field)
    elif facts.links and not facts.path(frame, base):
        known = frame in facts.links
        text = f"frame {frame!r} is not below {base!r}: " + (
            f"its tree ends in {facts.root(frame)!r}" if known else "no transform of it came"
        )
        remedy = (
            "publish it: robot_state_publisher with the URDF, or static_transform_publisher; or "
            "give its place in the team file (mount, navigation.scan_mount)"
        )
        yield Finding(expected.robot, "frame", frame, "bad", text, remedy, topic.field)


def _frames(expected: Expected, facts: Facts) -> Iterator[Finding]:
    if expected.pose:
        return
    top, odom, base = expected.frames
    where = f"robots.{expected.robot}.adapter.frames"

    def finding(what: str, state: State, text: str, remedy: str = "") -> Finding:
        return Finding(expected.robot, "frame", what, state, text, remedy, where)

    for child, link in sorted(facts.links.items()):
        if len(link.parents) > 1:
            parents = " and ".join(sorted(link.parents))
            text = f"has two parents: {parents}; tf jumps between them"
            yield finding(child, "bad", text, "stop one of the publishers")
    if not facts.links:
        if facts.topics.get(expected.tf, TopicFacts()).sources:
            yield finding(expected.tf, "bad", "no transform came", "see the topic above")
        return
    chain = facts.path(base, top)
    if chain:
        text = " -> ".join(reversed(chain))
        yield finding(base, "good", text)
        if odom and odom not in chain:
            remedy = "set frames.odom to the robot's odometry frame, or to '' where it has none"
            yield finding(odom, "note", f"is not between {top!r} and {base!r}", remedy)
        for child in chain[:-1]:
            link = facts.links[child]
            if not link.fixed and link.age is not None and link.age > _STALE:
                text = f"its transforms are {link.age:.1f} s old when they come"
                yield finding(child, "bad", text, "look at what publishes it, and at its clock")
        return
    root = facts.root(base)
    if root == base and base not in facts.links:
        near = difflib.get_close_matches(base, facts.links, n=1, cutoff=0.5)
        text = f"no transform of {base!r} came" + (f"; there is {near[0]!r}" if near else "")
        yield finding(base, "bad", text, "start the base's driver, or correct frames.base")
        return
    text = f"frames do not join: {base!r} hangs below {root!r}, not below {top!r}"
    missing = (top, root) if root == odom else (top, base)
    remedy = (
        f"nobody publishes {missing[0]} -> {missing[1]}: start localization (amcl, slam_toolbox) "
        "and give it a first pose"
        if root == odom
        else f"publish how {root!r} lies in {top!r}, or correct frames.map"
    )
    yield finding(base, "bad", text, remedy)


def _clocks(expected: Expected, facts: Facts) -> Iterator[Finding]:
    if facts.clock is False:
        remedy = "start the simulator, or remove use_sim_time from the team file's world"
        text = "use_sim_time is set and nobody publishes /clock"
        yield Finding(expected.robot, "clock", "/clock", "bad", text, remedy, "world.use_sim_time")
        return
    for what, refused, age, ahead in _stamped(expected, facts):
        yield _clock(expected, facts, what, refused, age, ahead)


def _stamped(expected: Expected, facts: Facts) -> Iterator[tuple[str, bool, float, float]]:
    """Give what has stamps: name, whether it can be refused, age [s], meant to be ahead by [s]."""
    _, odom, base = (frame.lstrip("/") for frame in expected.frames)
    # A tf that all robots share has the clocks of all of them.
    for frame, ahead in ((odom, AHEAD_OF_ODOMETRY), (base, 0.0)):
        link = facts.links.get(frame)
        if link is not None and not link.fixed and link.age is not None and not expected.pose:
            yield f"{min(link.parents)} -> {frame}", True, link.age, ahead
    for topic in expected.topics:
        found = facts.topics.get(topic.name)
        if topic.role in (*_REFUSED, "scan") and found is not None and found.offset is not None:
            yield topic.name, topic.role in _REFUSED, found.offset, 0.0


def _clock(
    expected: Expected, facts: Facts, what: str, refused: bool, age: float, ahead: float
) -> Finding:
    """Compare the least age of what has stamps with what the adapter takes."""
    limits = ClockLimits(ahead=expected.max_offset)
    how = "behind" if age > 0 else "ahead of"
    clock = "/clock" if facts.clock else "this computer's clock"
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
        return finding(*_listener(server, kinds, facts))
    if kinds is None:
        hint = _near(server.name, server.type, facts.all_servers)
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
        return finding("bad", text, "activate them, or look at what their logs say")
    return finding("good", "active" if server.lifecycle else f"{server.kind} is there")


def _listener(
    server: ExpectedServer, kinds: tuple[str, ...] | None, facts: Facts
) -> tuple[State, str, str]:
    """Return how it is with a topic that the robot's driver has to listen to."""
    if kinds is None:
        hint = _near(server.name, server.type, facts.all_topics)
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


def worst(findings: Iterable[Finding]) -> State:
    """Return how good it is altogether."""
    states = {finding.state for finding in findings}
    return "bad" if "bad" in states else "note" if "note" in states else "good"
