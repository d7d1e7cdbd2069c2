"""What ROS adds to a tick: the bridge with 1, 4 and 10 robots under way, against the bare world.

.venv/bin/python -m pytest research/perf/bench_bridge.py --benchmark-only -s
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import time
from typing import Any

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from coterie_core.skills import NavigateTo
from coterie_fixtures.ros_harness import RosHarness
from coterie_safety.guard import Guard
from habitat_bridge.factory import make_world
from habitat_bridge.goal_scheduler import Goal, GoalScheduler
from habitat_bridge.node import BridgeNode
from habitat_bridge.robots import load_embodiment

TICKS = 300
ROUNDS = 5
WORLD = {"kind": "embedded", "seed": 7, "floors": 1, "rooms": 12}
BODY = load_embodiment("wheels")

LISTENER = """
import sys, rclpy
from coterie_msgs.msg import Observation
from coterie_ros.executors import make_executor, spin
from coterie_ros.qos import profile
from nav_msgs.msg import Odometry
from rclpy.node import Node
from tf2_msgs.msg import TFMessage
rclpy.init()
node = Node("listener")
node.create_subscription(TFMessage, "/tf", lambda m: None, profile("tf"))
for robot in sys.argv[1:]:
    node.create_subscription(Odometry, robot + "/odom", lambda m: None, profile("sensor_data"))
    node.create_subscription(
        Observation, robot + "/observation", lambda m: None, profile("observations")
    )
executor = make_executor(rclpy.get_default_context())
executor.add_node(node)
spin(executor, rclpy.get_default_context(), until=lambda: False)
"""


class Walkers:
    """Keeps every robot of a conductor under way, from place to neighbouring place, by seed."""

    def __init__(self, conductor: GoalScheduler, robots: list[str]) -> None:
        self._conductor = conductor
        self._random = random.Random(0)
        self._ids = map(str, itertools.count())
        self._world = conductor.world
        self._robots = robots

    def start(self) -> None:
        for robot in self._robots:
            self._send(robot)

    def _send(self, robot: str) -> None:
        ways = sorted(place.id for place in self._world.observe(robot).neighbours)
        skill = NavigateTo(self._random.choice(ways))
        goal = Goal(next(self._ids), robot, skill, lambda result, state: self._send(robot))
        self._conductor.submit(goal, time.monotonic())


def bare(robots: list[str]) -> tuple[float, float]:
    """Return what a tick costs without ROS: of the world, and with goals and perception [s]."""
    world = make_world(WORLD)
    for robot in robots:
        world.add_robot(robot, BODY)
    conductor = GoalScheduler(
        world, dict.fromkeys(robots, BODY), dict.fromkeys(robots, Guard.of(world.truth()))
    )
    Walkers(conductor, robots).start()
    rounds = []
    for _ in range(ROUNDS + 1):
        in_world, begin = 0.0, time.perf_counter()
        for _ in range(TICKS):
            before = time.perf_counter()
            conductor.step(0.1)
            in_world += time.perf_counter() - before
            conductor.conclude()
        rounds.append((in_world / TICKS, (time.perf_counter() - begin) / TICKS))
    # The first round fills caches; of the others the quickest was disturbed least.
    return min(r[0] for r in rounds[1:]), min(r[1] for r in rounds[1:])


@pytest.mark.parametrize("count", [1, 4, 10])
def test_bridge_tick(
    benchmark: Any, ros: RosHarness, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    robots = [f"r{k}" for k in range(count)]
    in_world, with_senses = bare(robots)
    ros.start_process([sys.executable, "-c", LISTENER, *robots])
    specs = [{"name": robot, "embodiment": "wheels"} for robot in robots]
    node = ros.add(
        BridgeNode(
            context=ros.context,
            parameters={"world": json.dumps(WORLD), "robots": json.dumps(specs)},
        )
    )
    ros.wait_active(node)
    ros.spin_until(lambda: all(p._odometry.subscribers for p in node._ports.values()))
    walkers = Walkers(node._conductor, robots)
    timing = node._driver.timing
    node._driver.post(walkers.start)

    def run() -> None:
        end = timing.ticks + TICKS
        ros.spin_until(lambda: timing.ticks >= end, what=f"{TICKS} ticks")

    run()
    rounds = []

    def timed() -> None:
        spent, ticks = timing.spent, timing.ticks
        run()
        rounds.append((timing.spent - spent) / (timing.ticks - ticks))

    benchmark.pedantic(timed, rounds=ROUNDS, iterations=1)
    through = min(rounds)
    benchmark.extra_info.update(
        robots=count,
        world_ms=1e3 * in_world,
        senses_ms=1e3 * with_senses,
        bridge_ms=1e3 * through,
        ratio=through / with_senses,
    )
    with capsys.disabled():
        print(
            f"\n{count:3d} robots: world {1e3 * in_world:7.3f} ms a tick, "
            f"with goals and perception {1e3 * with_senses:7.3f} ms, "
            f"through the bridge {1e3 * through:7.3f} ms (x{through / with_senses:.2f}), "
            f"{TICKS / benchmark.stats['min']:.0f} ticks/s"
        )
