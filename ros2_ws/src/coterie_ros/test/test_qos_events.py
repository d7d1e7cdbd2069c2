"""Publishers and subscriptions whose QoS does not fit, made and destroyed while a node is busy."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("rclpy")

pytestmark = pytest.mark.ros

PROCESSES = 6
"""rclpy's own nodes end about one such process in two by SIGSEGV, measured with 24 processes."""
CHURN = """
import threading, time
import rclpy
from rclpy.qos import qos_profile_sensor_data
from std_msgs.msg import String
from coterie_ros.executors import make_executor, spin
from coterie_ros.qos_events import PlainNode

rclpy.init()
context = rclpy.get_default_context()
node = PlainNode("churn", enable_rosout=False, start_parameter_services=False)
executor = make_executor(context)
executor.add_node(node)
node.create_timer(0.005, lambda: time.sleep(0.01))
end = time.time() + 1.0

def churn():
    while time.time() < end:
        out = node.create_publisher(String, "talk", qos_profile_sensor_data)
        heard = node.create_subscription(String, "talk", lambda message: None, 10)
        time.sleep(0.007)
        node.destroy_subscription(heard)
        node.destroy_publisher(out)
        del heard

thread = threading.Thread(target=churn)
thread.start()
spin(executor, context, until=lambda: time.time() > end)
thread.join()
"""


def test_what_is_destroyed_while_its_qos_does_not_fit_ends_no_process(ros):
    for _ in range(PROCESSES):
        child = ros.start_process([sys.executable, "-c", CHURN])
        assert child.wait() == 0, child.output
