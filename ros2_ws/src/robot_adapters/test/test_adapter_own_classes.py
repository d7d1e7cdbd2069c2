"""A driver and a detector that a team file names as classes: they run, or say what is wrong."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient
from sensor_msgs.msg import CameraInfo, Image

from coterie_core.embodiment import Camera
from coterie_core.skills import NavigateTo
from coterie_fixtures.ros_harness import patience
from coterie_msgs.action import NavigateTo as NavigateToAction
from coterie_msgs.msg import ImageDetections
from coterie_ros import conversions
from coterie_ros.qos import profile
from robot_adapters.detector_node import DetectorNode

pytestmark = pytest.mark.ros

MODULE = """
from coterie_core.detections import Detector, ImageDetection
from coterie_ros.robot_driver import RobotDriver

class Cart(RobotDriver):
    def drive(self, x, y, yaw):
        self.wait(0.01)

class Red(Detector):
    def __call__(self, frame):
        if frame.color[0, 0, 2]:
            raise RuntimeError("blue")
        return [ImageDetection((1, 2, 3, 4), {f"red {frame.depth[0, 0]:.1f}": 0.7})]

class Blind:
    pass
"""
TOPICS = {"depth": "depth", "info": "info", "color": "color", "detections.topic": "found",
          "detections.type": "coterie_msgs/ImageDetections"}  # fmt: skip


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_cart.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_cart", raising=False)


def command(driver: str) -> list[str]:
    return [sys.executable, "-m", "robot_adapters.driver_node", "--robots", "cart", "--driver",
            driver, "--ros-args", "-r", "__ns:=/lab"]  # fmt: skip


def test_a_named_driver_serves_the_skills_of_its_robot(ros) -> None:
    client = ActionClient(ros.node(), NavigateToAction, "/lab/cart/driver/navigate_to")
    process = ros.start_process(command("own_cart:Cart"))
    try:
        ros.spin_until(client.server_is_ready, what="the driver")
        goal = conversions.navigate_to_msg(NavigateTo(position=(1.0, 0.0, 0.0)))
        handle = ros.result(client.send_goal_async(goal))
        told = ros.result(handle.get_result_async()).result.result
        assert conversions.skill_result_from_msg(told).ok
    finally:
        process.send(2)
        assert process.wait() == 0


@pytest.mark.parametrize("driver", ["own_cart:Blind", "no_cart:Cart"])
def test_what_is_no_driver_is_not_started_again(driver: str) -> None:
    done = subprocess.run(
        command(driver),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=patience(60.0),
        check=False,
    )
    assert done.returncode == os.EX_CONFIG
    assert f"driver_node: robots: cart: driver: {driver}: " in done.stderr


def test_a_named_detector_looks_at_depth_and_color_of_one_moment(ros) -> None:
    node, found = ros.node(), []
    make = node.create_publisher
    out = {
        "info": make(CameraInfo, "/cart/info", profile("sensor_data")),
        "depth": make(Image, "/cart/depth", profile("sensor_data")),
        "color": make(Image, "/cart/color", profile("sensor_data")),
    }
    node.create_subscription(ImageDetections, "/cart/found", found.append, profile("detections"))
    given = {f"sensors.{name}": value for name, value in TOPICS.items()}
    given["sensors.detections.detector"] = "own_cart:Red"
    detector = ros.add(
        DetectorNode("detector", namespace="/cart", context=ros.context, parameters=given)
    )
    ros.wait_active(detector)
    ros.wait_for_matched(*out.values())

    times, blue, rows = itertools.count(1), 0, 8

    def see() -> None:
        head = conversions.header(float(next(times)), "eye")
        out["info"].publish(conversions.camera_info_to_msg(Camera(width=8, height=8), head))
        depth = np.full((8, 8), head.stamp.sec % 100, np.float32)
        out["depth"].publish(conversions.image_to_msg(depth, head))
        color = np.full((rows, 8, 3), blue, np.uint8)
        out["color"].publish(conversions.image_to_msg(color, head))

    def failed(count: int) -> bool:
        return detector.diagnostics.counter("failures") > count

    node.create_timer(0.05, see)
    ros.spin_until(lambda: found, what="detections")
    assert found[-1].header.frame_id == "eye" and found[-1].detector == "own_cart:Red"
    read = conversions.detections_from_msg(found[-1])
    (one,) = read.detections
    assert one.label == f"red {read.time % 100:.1f}" and one.box == (1, 2, 3, 4)
    # An image that it cannot take, or that does not fit, is told; the next one is looked at.
    blue = 9
    ros.spin_until(lambda: failed(0), what="a failure of the detector")
    blue, rows, count = 0, 4, detector.diagnostics.counter("failures") + 1
    ros.spin_until(lambda: failed(count), what="an image of another size")
    rows = 8
    found.clear()
    ros.spin_until(lambda: found, what="detections again")


@pytest.mark.parametrize("name", ["own_cart:Blind", "own_cart:Cart", "own_cart:Gone"])
def test_what_is_no_detector_is_refused_by_its_field(ros, name: str) -> None:
    given = {f"sensors.{key}": value for key, value in TOPICS.items()}
    given["sensors.detections.detector"] = name
    detector = ros.add(
        DetectorNode("detector", namespace="/cart", context=ros.context, parameters=given)
    )
    ros.spin_until(lambda: detector.failure, what="the refusal")
    assert f"robots: cart: camera: detections.detector: {name}: " in detector.failure
    assert "coterie_core.detections.Detector" in detector.failure and detector.misconfigured
