"""How long a stop takes: ten robots under way, from the message to goals that ended and no motion.

python benchmarks/bench_stop.py [--robots 10] [--rounds 20] [--seed 0] [--adapters]

The bridge and an echo run in processes of their own. In each round all robots drive, one message
stops the team, and each robot's goal and odometry are waited for. A bare message there and back
through the echo, in the same round, tells what the machine takes for that alone.

With --adapters the robots are real ones: each has an adapter in a process of its own, as a team
starts them, and a stand-in of Nav2. What is timed is when each base is sent zero velocity, when
its server's goal is cancelled, and when the client has the skill's result.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import SetBool

from coterie_core.skills import NavigateTo as Drive
from coterie_msgs.action import NavigateTo
from coterie_msgs.msg import Observation
from coterie_ros import conversions
from coterie_ros.main import run_nodes
from coterie_ros.qos import profile
from coterie_ros.waitables import DestroySafeActionClient
from habitat_bridge.robots import load_embodiment

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures"
sys.path.insert(0, str(FIXTURES))

from coterie_fixtures.ros_harness import RosHarness, take_domain  # noqa: E402

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
            self.go[robot] = DestroySafeActionClient(node, NavigateTo, f"{robot}/navigate_to")
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


ENDS = ((1.0, 1.0), (1.0, 5.0), (7.0, 1.0), (7.0, 5.0))
"""Where robots with adapters are sent to [m]."""
TIMES = "stand_in_times"
"""Topic on which the stand-ins of Nav2 tell when something reached them."""


def serve_bases(robots: list[str]) -> int:
    """Be the Nav2 of all robots, each of which tells when a stop reaches it, on this clock."""
    from coterie_fixtures.nav2_base import Nav2Base

    class TimedBase(Nav2Base):
        """A base that tells when it is sent zero velocity, and when its goal is cancelled."""

        def on_start(self) -> None:
            super().on_start()
            self._times = self.publisher(String, f"/{TIMES}", "messages")
            self.faults["navigate_to_pose"] = "slow"
            self.subscribe(Twist, "cmd_vel", "odometry", lambda message: self._note("zero"))

        def _note(self, what: str) -> None:
            robot = self.get_namespace().strip("/")
            self._times.publish(String(data=f"{robot} {what} {time.monotonic()}"))

        async def _navigate(self, goal: Any, result: Any) -> None:
            try:
                await super()._navigate(goal, result)
            except asyncio.CancelledError:
                self._note("cancelled")
                raise

    return run_nodes(
        lambda options: [
            TimedBase(namespace=f"/{robot}", context=options.context, tf="tf", light=True)
            for robot in robots
        ],
        [sys.argv[0]],
    )


class AdapterWatcher:
    """Sends robots with adapters about, stops them, and takes the times.

    Args:
        ros: What spins.
        robots: Names of the robots.
        seed: Of the places that they are sent to.
    """

    def __init__(self, ros: RosHarness, robots: list[str], seed: int) -> None:
        self.ros, self.robots, self.random = ros, robots, random.Random(seed)
        node = ros.node("watcher")
        node.stopping = False
        self.at: dict[str, tuple[float, float]] = {}
        self.heard: dict[str, dict[str, float]] = {"zero": {}, "cancelled": {}}
        self.moves: dict[str, float] = {}
        self.pong_at = 0.0
        self.ping = node.create_publisher(String, "ping", profile("messages"))
        node.create_subscription(String, "pong", self._on_pong, profile("messages"))
        node.create_subscription(String, TIMES, self._on_time, profile("messages"))
        self.stop = node.create_publisher(String, "stop", profile("messages"))
        self.go, self.call = {}, {}
        for robot in robots:
            node.create_subscription(
                Observation,
                f"{robot}/observation",
                lambda m, r=robot: self.at.__setitem__(r, (m.pose.position.x, m.pose.position.y)),
                profile("observations"),
            )
            self.go[robot] = DestroySafeActionClient(node, NavigateTo, f"{robot}/navigate_to")
            self.call[robot] = node.create_client(SetBool, f"{robot}/stop")
        ends = (self.ping, *self.go.values(), *self.call.values())
        ros.wait_for_matched(*ends, timeout=180.0)
        ros.wait_for_matched(self.stop, count=len(robots), timeout=180.0)
        ros.spin_until(lambda: len(self.at) == len(robots), timeout=180.0, what="observations")

    def _on_pong(self, message: String) -> None:
        self.pong_at = time.monotonic()

    def _on_time(self, message: String) -> None:
        robot, what, when = message.data.split()
        self.heard[what].setdefault(robot, float(when))

    def round(self) -> dict[str, list[float]]:
        """Return the times [s] from one stop to what it does, of all robots, and of the echo."""
        ended: dict[str, float] = {}
        self.moves.clear()
        for robot in self.robots:
            here = self.at[robot]
            x, y = self.random.choice(
                [end for end in ENDS if np.hypot(*np.subtract(end, here)) > 2]
            )
            goal = conversions.navigate_to_msg(Drive(position=(x, y, 0.0)))
            handle = self.ros.result(
                self.go[robot].send_goal_async(
                    goal,
                    feedback_callback=lambda m, r=robot: self.moves.setdefault(
                        r, m.feedback.distance_remaining
                    ),
                )
            )
            handle.get_result_async().add_done_callback(
                lambda _, r=robot: ended.setdefault(r, time.monotonic())
            )
        self.ros.spin_until(lambda: len(self.moves) == len(self.robots), what="drives")
        if ended:
            raise RuntimeError(f"{sorted(ended)}: the drive ended before the stop")
        begin = time.monotonic()
        self.ping.publish(String(data="ping"))
        self.ros.spin_until(lambda: self.pong_at > begin)
        echo = self.pong_at - begin
        for times in self.heard.values():
            times.clear()
        begin = time.monotonic()
        self.stop.publish(String(data="bench"))
        books = {**self.heard, "result": ended}
        self.ros.spin_until(
            lambda: all(len(book) == len(self.robots) for book in books.values()),
            what="zero velocities, cancelled goals and results",
        )
        times = {name: [book[r] - begin for r in self.robots] for name, book in books.items()}
        for robot in self.robots:
            self.ros.result(self.call[robot].call_async(SetBool.Request(data=False)))
        return {**times, "echo": [echo]}


def measure_adapters(
    ros: RosHarness, robots: list[str], rounds: int, seed: int, *, watchdogs: bool = False
) -> dict[str, Any]:
    """Return the figures of robots with adapters, each with a watchdog beside it where wanted."""
    begun = os.getloadavg()[0]
    ros.start_process([sys.executable, str(Path(__file__)), "--bases", *robots])
    ros.start_process([sys.executable, "-c", ECHO])
    folder = tempfile.mkdtemp(prefix="bench_stop_")
    for robot in robots:
        adapter = [sys.executable, "-m", "robot_adapters.node", "--robots", robot, "--ros-args"]
        for key, value in {
            "permits": json.dumps({"team": {"otherwise": "allow"}}),
            "limits": json.dumps({"team": {"area": "anywhere"}}),
            "navigation.look_on_arrival": False,
            "frames.tf": "tf",
            "stop_directory": folder,
            "log_directory": f"{folder}/{robot}",
        }.items():
            adapter += ["-p", f"{key}:={json.dumps(value)}"]
        ros.start_process(adapter)
        if watchdogs:
            watchdog = [sys.executable, "-m", "robot_adapters.watchdog_node", "--robots", robot]
            ros.start_process(watchdog)
    watcher = AdapterWatcher(ros, robots, seed)
    watcher.round()  # the first one loads what later ones have
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, times in watcher.round().items():
            found.setdefault(name, []).extend(times)
    stands = [max(pair) for pair in zip(found["zero"], found["cancelled"], strict=True)]
    return {
        **{
            name: {f"p{p}_ms": round(1e3 * float(np.percentile(v, p)), 2) for p in (50, 99)}
            for name, v in {**found, "zero_and_cancelled": stands}.items()
        },
        "adapters": len(robots), "watchdogs": len(robots) * watchdogs,
        "stops": len(stands), "rounds": rounds,
        "load_before": round(begun, 1), "load_after": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def main() -> int:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument(
        "--adapters", action="store_true", help="measure adapters of real robots, not the bridge"
    )
    parser.add_argument(
        "--watchdogs", action="store_true", help="with adapters, run their watchdogs, too"
    )
    parser.add_argument("--bases", nargs="+", default=[], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bases:
        return serve_bases(options.bases)
    robots = [f"r{k}" for k in range(options.robots)]
    if options.adapters:
        domain, _lock = take_domain()
        ros = RosHarness(domain)
        try:
            figures = measure_adapters(
                ros, robots, options.rounds, options.seed, watchdogs=options.watchdogs
            )
        finally:
            ros.close()
        return report(figures, options.out)
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
    figures = {
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
    return report(figures, options.out)


def report(figures: dict[str, Any], out: Path | None) -> int:
    """Print the figures, and write them to a file where one is named."""
    text = json.dumps(figures, indent=1)
    print(text)
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
