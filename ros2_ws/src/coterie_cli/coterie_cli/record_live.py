"""`./coterie record --live`: what the cameras of a running team see, written as it comes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import choose_team, running_teams
from coterie_core.recording import RecordingError
from coterie_core.recording.mcap_log import McapLog
from coterie_core.recording.ros_types import CAMERA_INFO, COMPRESSED, DETECTIONS, IMAGE, TF
from coterie_msgs.msg import ImageDetections
from coterie_ros.qos import profile
from tf2_msgs.msg import TFMessage

LOOK_EVERY = 1.0
"""Time between looks for new topics [s]."""
_KINDS = {
    IMAGE: (Image, "sensor_data"),
    COMPRESSED: (CompressedImage, "sensor_data"),
    CAMERA_INFO: (CameraInfo, "sensor_data"),
    DETECTIONS: (ImageDetections, "detections"),
    TF: (TFMessage, "tf"),
}


class LiveRecorder:
    """Subscribes to cameras, detections and transforms, also to those that come later.

    The messages are written as they arrive, not decoded; semantic images are left out.

    Args:
        node: Its subscriptions are made here.
        log: Where messages go; whoever makes it closes it.
        robots: Only topics below these names, and transforms; none: all.
    """

    def __init__(self, node: Node, log: McapLog, robots: tuple[str, ...] = ()) -> None:
        self.node = node
        self.log = log
        self.error: RecordingError | None = None
        self._robots = robots
        self._topics: set[str] = set()
        node.create_timer(LOOK_EVERY, self.look)
        self.look()

    def look(self) -> None:
        """Subscribe to topics that are new."""
        for topic, kinds in self.node.get_topic_names_and_types():
            kind = next((k for k in kinds if k in _KINDS), None)
            if kind is None or topic in self._topics or not self._wanted(topic, kind):
                continue
            self._topics.add(topic)
            message, name = _KINDS[kind]
            qos = profile("tf_static" if topic.endswith("tf_static") else name)
            heard = self._heard(topic, kind)
            self.node.create_subscription(message, topic, heard, qos, raw=True)

    def _wanted(self, topic: str, kind: str) -> bool:
        if kind == TF:
            return True
        parts = topic.strip("/").split("/")
        if "semantic" in parts:
            return False
        return not self._robots or bool(set(parts) & set(self._robots))

    def _heard(self, topic: str, kind: str) -> Callable[[Any], None]:
        def note(data: Any) -> None:
            if self.error is not None:
                return
            try:
                self.log.add(topic, kind, bytes(data), time.time_ns())
            except RecordingError as error:  # told by whoever spins: callbacks must not raise
                self.error = error

        return note


def record_running(
    out: Path, *, domain: int | None, robots: tuple[str, ...] = (), duration: float = 0.0
) -> int:
    """Record the team that runs; see `record_live`.

    Raises:
        CommandError: No team runs, or several and no domain chooses.
    """
    state = choose_team(running_teams(), domain, os.environ.get("ROS_DOMAIN_ID", ""))
    return record_live(out, domain=state.domain, robots=robots, duration=duration)


def record_live(
    out: Path, *, domain: int, robots: tuple[str, ...] = (), duration: float = 0.0
) -> int:
    """Record until Ctrl-C, or for a while; return the number of messages.

    Args:
        out: A new .mcap file.
        domain: ROS domain.
        robots: Whose cameras; none: all.
        duration: How long [s]; 0: until Ctrl-C.

    Raises:
        CommandError: The file cannot be written, or there was nothing to record.
    """
    if out.suffix != ".mcap":
        raise CommandError(f"--out {out}: what is live goes into a file that ends in .mcap")
    try:
        log = McapLog(out)
    except RecordingError as error:
        raise CommandError(str(error)) from None
    console = Console(highlight=False)
    context = Context()
    rclpy.init(context=context, domain_id=domain)
    executor = SingleThreadedExecutor(context=context)
    node = Node("coterie_recorder", context=context)
    executor.add_node(node)
    recorder = LiveRecorder(node, log, robots)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    end = time.monotonic() + duration if duration > 0.0 else float("inf")
    try:
        with Progress(*columns, console=console) as bars:
            task = bars.add_task("waiting for cameras", total=None)
            while recorder.error is None and time.monotonic() < end:
                executor.spin_once(timeout_sec=0.1)
                images = sum(n for t, n in log.counts.items() if "/depth/image" in t)
                told = f"{images} depth images, {log.size / 1e6:.0f} MB; Ctrl-C ends"
                bars.update(task, description=told if log.counts else "waiting for cameras")
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)
        log.close()
    if recorder.error is not None:
        raise CommandError(str(recorder.error))
    if not log.counts:
        out.unlink()
        raise CommandError(
            f"no cameras and no transforms on ROS domain {domain}; start a team: "
            "./coterie up config/teams/demo.yaml"
        )
    for topic, count in sorted(log.counts.items()):
        console.print(f"  {count:6d}  {topic}", markup=False)
    console.print(f"{out}: {sum(log.counts.values())} messages, {log.size / 1e6:.0f} MB")
    return sum(log.counts.values())
