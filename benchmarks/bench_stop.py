"""How long a stop takes: ten robots under way, from the message to goals that ended and no motion.

python benchmarks/bench_stop.py [--robots 10] [--rounds 20] [--seed 0]

The bridge and an echo run in processes of their own. In each round all robots drive, one message
stops the team, and each robot's goal and odometry are waited for. A bare message there and back
through the echo, in the same round, tells what the machine takes for that alone.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import SetBool

from coterie_msgs.action import NavigateTo
from coterie_msgs.msg import Observation
from coterie_ros.qos import profile
from coterie_ros.testing import RosHarness, take_domain
from coterie_ros.waitables import SurvivingActionClient
from habitat_bridge.robots import load_embodiment

ECHO = """
import rclpy
from coterie_ros.executors import make_executor, spin
from coterie_ros.qos import profile
from rclpy.node import Node
from std_msgs.msg import String
rclpy.init()
node = Node("echo")
back = node.create_publisher(String, "pong", profile("messages"))
node.create_subscription(String, "ping", back.publish, profile("messages"))
executor = make_executor(rclpy.get_default_context())
executor.add_node(node)
spin(executor, rclpy.get_default_context(), until=lambda: False)
"""
STILL = 1e-6  # [m/s]
FEWEST = 0.8
"""Fraction of the robots that must be under way for a round to count."""


class Watcher:
    """Sends ten robots about, stops them, and takes the times.

    Args:
        ros: What spins.
        robots: Names of the robots.
        seed: Of the places that they are sent to.
        motion: Whether the end of their motion is timed, too: reading the odometry of ten robots
            keeps this process as busy as the bridge, and results wait behind it.
    """

    def __init__(
        self, ros: RosHarness, robots: list[str], seed: int, *, motion: bool = True
    ) -> None:
        self.ros, self.robots, self.random = ros, robots, random.Random(seed)
        self.motion = motion
        node = ros.node("watcher")
        node.stopping = False  # what an action needs to know of its host
        self.speed = dict.fromkeys(robots, 0.0)
        self.still_at: dict[str, float] = {}
        self.ids: dict[str, str] = {}
        """Id of each robot's last goal."""
        self.pressed = 0.0
        self.ended: dict[str, float] = {}
        """When the results of the robots' last goals were seen, and the stop sent [s]."""
        self.ways: dict[str, list[str]] = {robot: [] for robot in robots}
        self.pong_at = 0.0
        self.ping = node.create_publisher(String, "ping", profile("messages"))
        node.create_subscription(String, "pong", self._on_pong, profile("messages"))
        self.stop = node.create_publisher(String, "stop", profile("messages"))
        self.go, self.call = {}, {}
        for robot in robots:
            if motion:
                node.create_subscription(
                    Odometry,
                    f"{robot}/odom",
                    lambda m, r=robot: self._moved(r, m),
                    profile("odometry"),
                )
            node.create_subscription(
                Observation,
                f"{robot}/observation",
                lambda m, r=robot: self.ways.__setitem__(
                    r, [n.id for n in m.neighbours] or self.ways[r]
                ),
                profile("observations"),
            )
            self.go[robot] = SurvivingActionClient(node, NavigateTo, f"{robot}/navigate_to")
            self.call[robot] = node.create_client(SetBool, f"{robot}/stop")
        ends = (self.ping, self.stop, *self.go.values(), *self.call.values())
        ros.wait_for_matched(*ends, timeout=120.0)
        ros.spin_until(lambda: all(self.ways.values()), timeout=60.0)

    def _on_pong(self, message: String) -> None:
        self.pong_at = time.monotonic()

    def _moved(self, robot: str, message: Odometry) -> None:
        twist = message.twist.twist
        self.speed[robot] = abs(twist.linear.x) + abs(twist.linear.y) + abs(twist.angular.z)
        if self.speed[robot] < STILL:
            self.still_at.setdefault(robot, time.monotonic())

    def drive(self) -> dict[str, Future]:
        """Send every robot to a place next to its own; return the futures of the results."""
        ends = {}
        for robot in self.robots:
            goal = NavigateTo.Goal(place=self.random.choice(self.ways[robot]))
            handle = self.ros.result(self.go[robot].send_goal_async(goal))
            self.ids[robot] = bytes(handle.goal_id.uuid).hex()
            ends[robot] = handle.get_result_async()
        return ends

    def _under_way(self, robot: str) -> bool:
        moves = self.speed[robot] > STILL if self.motion else True
        return moves and robot not in self.ended

    def press(self) -> None:
        """Stop the team."""
        self.stop.publish(String(data="bench"))

    def round(self) -> tuple[list[float], list[float], float] | None:
        """Return the times [s] of goals and of motion, of robots under way, and of the echo."""
        ends = self.drive()
        ended = self.ended = {}
        for robot in self.robots:
            ends[robot].add_done_callback(lambda _, r=robot: ended.setdefault(r, time.monotonic()))
        self.ros.spin(0.3)
        moving = [r for r in self.robots if self._under_way(r)]
        if len(moving) < FEWEST * len(self.robots):
            self._release()
            return None
        begin = time.monotonic()
        self.ping.publish(String(data="ping"))
        self.ros.spin_until(lambda: self.pong_at > begin)
        echo = self.pong_at - begin
        moving = [r for r in moving if self._under_way(r)]
        self.still_at.clear()
        begin = self.pressed = time.monotonic()
        self.press()
        stood = self.still_at if self.motion else ended
        self.ros.spin_until(lambda: all(r in ended and r in stood for r in moving))
        times = [ended[r] - begin for r in moving], [stood[r] - begin for r in moving]
        self._release()
        return *times, echo

    def _release(self) -> None:
        for robot in self.robots:
            self.ros.result(self.call[robot].call_async(SetBool.Request(data=False)))
        self.ros.spin(0.1)


def main() -> int:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    robots = [f"r{k}" for k in range(options.robots)]
    body = load_embodiment("wheels").model_copy(update={"linear_speed": 0.2, "radius": 0.15})
    specs = [{"name": robot, "embodiment": body.model_dump(mode="json")} for robot in robots]
    world = {
        "kind": "embedded", "seed": 7, "floors": 1, "rooms": 12, "look_on_arrival": False,
    }  # fmt: skip
    domain, _lock = take_domain()
    ros = RosHarness(domain)
    try:
        bridge = [sys.executable, "-m", "habitat_bridge.node", "--ros-args"]
        for key, value in {
            "world": json.dumps(world), "robots": json.dumps(specs), "mode": "real_time",
            "stop_directory": tempfile.mkdtemp(prefix="bench_stop_"),
        }.items():  # fmt: skip
            bridge += ["-p", f"{key}:={json.dumps(value)}"]
        ros.start_process(bridge)
        ros.start_process([sys.executable, "-c", ECHO])
        watcher = Watcher(ros, robots, options.seed)
        goals: list[float] = []
        still: list[float] = []
        echoes: list[float] = []
        skipped = 0
        while len(echoes) < options.rounds and skipped < 5 * options.rounds:
            times = watcher.round()
            if times is None:
                skipped += 1
                continue
            goals += times[0]
            still += times[1]
            echoes.append(times[2])
    finally:
        ros.close()
    both = {"goal_ended": goals, "motion_ended": still, "echo": echoes}
    figures: dict[str, object] = {
        name: {f"p{p}_ms": round(1e3 * float(np.percentile(values, p)), 2) for p in (50, 99)}
        for name, values in both.items()
    }
    echo = float(np.percentile(echoes, 50))
    slower = [max(pair) for pair in zip(goals, still, strict=True)]
    figures |= {
        "stop_p99_ms": round(1e3 * float(np.percentile(slower, 99)), 2),
        "stop_p50_over_echo_p50": round(float(np.percentile(slower, 50)) / echo, 2),
        "stop_p99_over_echo_p50": round(float(np.percentile(slower, 99)) / echo, 2),
        "robots": len(robots), "stops": len(slower), "rounds": len(echoes), "skipped": skipped,
    }  # fmt: skip
    text = json.dumps(figures, indent=1)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
