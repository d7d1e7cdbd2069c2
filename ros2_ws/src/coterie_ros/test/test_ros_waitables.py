"""Actions that end while their events wait: the executor's process lives on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

pytestmark = pytest.mark.ros

# In a process of its own: what goes wrong is a crash of the process.
CLIENTS_END = """
import threading
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from coterie_msgs.action import Explore
from coterie_ros.executors import make_executor, spin
from coterie_ros.waitables import DestroySafeActionClient, DestroySafeActionServer

class Owner(Node):
    failures = ()
    stopping = True
    def report_failure(self, where, error):
        self.failures += ((where, error),)

def succeed(goal):
    goal.succeed()
    return Explore.Result()

context = Context()
rclpy.init(context=context)
asks, serves = Owner("asks", context=context), Owner("serves", context=context)
over = threading.Event()
executor, other = make_executor(context), make_executor(context)
executor.add_node(asks)
other.add_node(serves)
server = DestroySafeActionServer(serves, serves, Explore, "explore", succeed)
beside = threading.Thread(target=spin, args=(other, context), kwargs={"until": over.is_set})
beside.start()
ended = []
for number in range(40):
    client = DestroySafeActionClient(asks, Explore, "explore")
    assert client.wait_for_server(20.0)
    client.send_goal_async(Explore.Goal())
    for _ in range(number % 7):
        executor.spin_once(timeout_sec=0.002)
    client.destroy()
    executor.spin_once(timeout_sec=0.005)
    ended.append(client)
over.set()
beside.join()
for one in (*ended, server):
    one.end()
print(f"{len(ended)} ended, {len(asks.failures) + len(serves.failures)} failures")
"""


def test_a_client_that_ends_while_its_events_wait_ends_nobody_else(ros_domain: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLIENTS_END],
        env={**os.environ, "ROS_DOMAIN_ID": str(ros_domain)},
        capture_output=True,
        text=True,
        timeout=120.0,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "40 ended, 0 failures" in done.stdout


def test_a_start_without_what_rclpy_does_not_promise_is_refused(monkeypatch):
    from rclpy.action import ActionServer
    from rclpy.node import Node

    from coterie_ros import private_rclpy

    private_rclpy.require_private_rclpy()
    used = (*private_rclpy._USED, (Node, "_no_such_thing"), (ActionServer, "_nor_this"))
    monkeypatch.setattr(private_rclpy, "_USED", used)
    with pytest.raises(RuntimeError, match=r"rclpy \d\S* lacks Node._no_such_thing, ActionServer"):
        private_rclpy.require_private_rclpy.__wrapped__()
