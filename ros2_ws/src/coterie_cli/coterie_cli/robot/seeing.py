"""Findings about cameras, detectors, scanners and frames: do they fit to one another? ROS-free."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

from coterie_cli.robot.expected import Expected, ExpectedTopic
from coterie_cli.robot.facts import Facts, TopicFacts
from coterie_cli.robot.finding import Finding, State
from coterie_cli.robot.near import near_frame

ENCODINGS = ("32FC1", "16UC1", "mono16")
"""Of depth images that the adapter takes."""
COLORS = ("rgb8", "bgr8", "rgba8", "bgra8", "mono8", "8UC1")
"""Of color images."""
_LATE = 1.0
"""Delay of detections after their image from which on it is remarked on: 40 depth images wait for
theirs, a good second of a camera at 30 Hz [s]."""
_STALE = 1.0
"""Age of a moving transform from which on it is remarked on [s]."""


def judge_cameras(expected: Expected, facts: Facts) -> Iterator[Finding]:
    """Give the findings about cameras, their detectors and scanners."""
    for camera in dict.fromkeys(topic.camera for topic in expected.topics if topic.camera):
        of = {t.role: t for t in expected.topics if t.camera == camera}
        heard = {role: facts.topics.get(t.name, TopicFacts()) for role, t in of.items()}
        came = {role: found for role, found in heard.items() if found.count}
        yield from _images(expected, facts, of, came)
        if "detections" in came:
            yield from _detector(expected, facts, of["detections"], came)
    for topic in expected.topics:
        scan = facts.topics.get(topic.name)
        if topic.role == "scan" and scan is not None and scan.count:
            yield from _joined(expected, facts, scan.frame, topic)


def _images(
    expected: Expected, facts: Facts, of: dict[str, ExpectedTopic], came: dict[str, TopicFacts]
) -> Iterator[Finding]:
    """Images and their camera info must fit to one another; `of` and `came` are by role."""

    def finding(role: str, text: str, remedy: str, state: State = "bad") -> Finding:
        at = of[role]
        return Finding(expected.robot, "camera", at.name, state, text, remedy, at.field)

    depth, info, color = came.get("depth"), came.get("info"), came.get("color")
    if depth is not None and depth.encoding and depth.encoding not in ENCODINGS:
        text = f"depth images have encoding {depth.encoding!r}"
        remedy = f"publish one of {', '.join(ENCODINGS)} (32FC1 [m], the others [mm])"
        yield finding("depth", text, remedy)
    if color is not None and color.encoding not in COLORS and of["color"].type.endswith("/Image"):
        text = f"color images have encoding {color.encoding!r}, which nobody reads"
        remedy = f"publish one of {', '.join(COLORS)}; without them things have no color"
        yield finding("color", text, remedy, "note")
    if depth is not None and info is None:
        text = "depth images come without CameraInfo"
        remedy = "start the camera's driver with its calibration, or a node that publishes it"
        yield finding("depth", text, remedy)
    for role in ("depth", "color", "info"):
        if role in came and came[role].frame in filter(None, expected.frames):
            text = f"its messages are stamped with {came[role].frame!r}, which is no camera's frame"
            remedy = "let its driver stamp them with a frame of the camera's own"
            if of[role].camera not in expected.mounted:
                remedy += ", and tell where that is: mount"
            yield finding(role, text, remedy, "note")
            break
    if info is None:
        return
    if info.focal is not None and (min(info.focal) <= 0.0 or not math.isfinite(sum(info.focal))):
        text = f"CameraInfo holds no calibration: focal lengths are {info.focal}"
        yield finding("info", text, "calibrate the camera (camera_calibration)")
    if info.distorted and "depth" in of:
        text = "CameraInfo has a distortion (d), and depth images are taken for rectified ones"
        remedy = "rectify it (image_proc), and name the camera info of what is rectified"
        yield finding("info", text, remedy, "note")
    if depth is not None and depth.size != (0, 0) and info.size != depth.size:
        text = (
            f"CameraInfo is of {info.size[0]} x {info.size[1]} pixels, and the depth images "
            f"have {depth.size[0]} x {depth.size[1]}"
        )
        remedy = "name the camera info of the depth images (aligned depth has the color's)"
        yield finding("info", text, remedy)
    yield from _joined(expected, facts, info.frame, of["info"])


def _detector(
    expected: Expected, facts: Facts, at: ExpectedTopic, came: dict[str, TopicFacts]
) -> Iterator[Finding]:
    """Detections must name a frame that is joined with the robot's, and labels."""
    found = came["detections"]

    def finding(state: State, text: str, remedy: str) -> Finding:
        return Finding(expected.robot, "camera", at.name, state, text, remedy, at.field)

    in_space, mounted = at.type.endswith("3DArray"), at.camera in expected.mounted
    images = {came[role].frame for role in ("depth", "color", "info") if role in came}
    if in_space:
        apart = not mounted or (bool(images) and found.frame not in images)
    else:
        apart = not mounted and "depth" in came and found.frame != came["depth"].frame
    top, _, base = expected.frames
    joined = facts.root(found.frame) in (facts.root(base), facts.root(top))
    if not found.frame and not mounted:
        remedy = "let the detector send the header of the image that it looked at"
        yield finding("bad", "its messages name no frame, and so they are refused", remedy)
    elif found.frame and apart and not joined and (facts.links or expected.pose):
        text = f"is in frame {found.frame!r}, which tf does not join with {base!r}"
        remedy = f"publish where {found.frame!r} is, or let the detector send "
        remedy += f"boxes in {top!r}" if in_space else "the header of the image"
        yield finding("bad", text, remedy)
    if found.labels and all(map(str.isdecimal, found.labels)) and at.camera not in expected.named:
        some = ", ".join(sorted(found.labels, key=int)[:5])
        text = f"tells what things are by numbers ({some}), which become their names"
        remedy = 'name them in its section detections: labels: {"0": person}, or label_info'
        yield finding("note", text, remedy)
    # Against the images' own delay, so that the robot's clock may be off.
    delays = [came[role].offset or 0.0 for role in ("depth", "color") if role in came]
    delay = min(delays, default=0.0)
    if found.offsets:
        late = statistics.median(found.offsets) - delay
        text = f"detections come {late:.2f} s after their images"
        if late > _LATE:
            remedy = "let the detector look at the newest image only, at smaller ones, or at a GPU"
            yield finding("note", f"{text}: of such images only some find their depth", remedy)
        else:
            yield finding("good", text, "")


def _joined(
    expected: Expected, facts: Facts, frame: str, topic: ExpectedTopic
) -> Iterator[Finding]:
    """The frame of a camera or scanner must hang below the robot's base."""
    base = expected.frames[2]
    if (topic.camera or topic.role) in expected.mounted:
        return
    if not frame:
        text, remedy = "its messages name no frame", "set the frame_id in the camera's driver"
        yield Finding(expected.robot, "camera", topic.name, "bad", text, remedy, topic.field)
    elif facts.path(frame, base):
        return
    elif expected.pose:
        text = f"where frame {frame!r} sits on {base!r} is not known"
        remedy = "give its place in the team file: mount: {x: ..., z: ...}"
        if topic.role == "scan":
            remedy = remedy.replace("mount", "navigation.scan_mount")
        yield Finding(expected.robot, "frame", frame, "bad", text, remedy, topic.field)
    elif facts.links:
        known = frame in facts.links
        text = f"frame {frame!r} is not below {base!r}: " + (
            f"its tree ends in {facts.root(frame)!r}" if known else "no transform of it came"
        )
        remedy = (
            "publish it: robot_state_publisher with the URDF, or static_transform_publisher; or "
            "give its place in the team file (mount, navigation.scan_mount)"
        )
        yield Finding(expected.robot, "frame", frame, "bad", text, remedy, topic.field)


def judge_frames(expected: Expected, facts: Facts) -> Iterator[Finding]:
    """Give the findings about map, odometry and base frame, where tf tells of them."""
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
        near = near_frame(expected, base, facts.links)
        text = f"no transform of {base!r} came" + (f"; there is {near!r}" if near else "")
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
