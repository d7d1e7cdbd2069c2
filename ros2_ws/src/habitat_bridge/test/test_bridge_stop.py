"""Stops of simulated robots over real rclpy: at once, latched, over restarts, released by call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from action_msgs.msg import GoalStatus
from nav_msgs.msg import Odometry
from rclpy.action import ActionClient
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool

from coterie_core.embodiment import Embodiment
from coterie_core.skills import Outcome
from coterie_fixtures.tiny_house import tiny_house
from coterie_msgs.action import NavigateTo
from coterie_ros import conversions
from coterie_ros.qos import profile
from coterie_safety.stop import latch_file
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.node import BridgeNode

pytestmark = pytest.mark.ros

STARTS = {"r1": (2.0, 2.0, 0.0), "r2": (6.0, 2.3, 0.0)}
FAR = {"r1": (3.2, 3.2, 0.0), "r2": (8.5, 2.3, 0.0)}


class Lab:
    """A bridge with two slow robots in real time, and who watches and stops them."""

    def __init__(self, ros, folder: Path) -> None:
        self.ros, self.folder = ros, folder
        self.node = ros.node("person")
        self.stopped: dict[str, list[bool]] = {name: [] for name in STARTS}
        self.speeds: dict[str, list[float]] = {name: [] for name in STARTS}
        self.go, self.call, self.stop = {}, {}, {"": self._stopper("stop")}
        for name in STARTS:
            self.node.create_subscription(
                Bool,
                f"{name}/stopped",
                lambda m, name=name: self.stopped[name].append(m.data),
                profile("latched"),
            )
            self.node.create_subscription(
                Odometry,
                f"{name}/odom",
                lambda m, name=name: self.speeds[name].append(m.twist.twist.linear.x),
                profile("odometry"),
            )
            self.go[name] = ActionClient(self.node, NavigateTo, f"{name}/navigate_to")
            self.call[name] = self.node.create_client(SetBool, f"{name}/stop")
            self.stop[name] = self._stopper(f"{name}/stop")
        self.begin()

    def _stopper(self, topic: str):
        return self.node.create_publisher(String, topic, profile("messages"))

    def begin(self) -> None:
        body = Embodiment(name="cart", radius=0.2, linear_speed=0.05)
        specs = [
            {
                "name": name,
                "embodiment": body.model_dump(),
                "start": {"pose": dict(zip("xyz", at, strict=True))},
            }
            for name, at in STARTS.items()
        ]
        self.bridge = BridgeNode(
            context=self.ros.context,
            world=EmbeddedWorld(tiny_house(), seed=3, threads=1, look_on_arrival=False),
            parameters={
                "robots": json.dumps(specs),
                "mode": "real_time",
                "stop_directory": str(self.folder),
            },
        )
        self.ros.add(self.bridge)
        self.ros.wait_active(self.bridge)
        self.ros.wait_for_matched(*self.go.values(), *self.call.values(), *self.stop.values())

    def send(self, name: str):
        goal = NavigateTo.Goal()
        goal.pose.header.frame_id = "map"
        goal.pose.pose.position = conversions.point_to_msg(FAR[name])
        handle = self.ros.result(self.go[name].send_goal_async(goal))
        return handle.get_result_async()

    def moving(self, name: str) -> None:
        self.speeds[name].clear()
        self.ros.spin_until(lambda: any(v > 0.0 for v in self.speeds[name]), what="it to drive")

    def release(self, name: str) -> SetBool.Response:
        return self.ros.result(self.call[name].call_async(SetBool.Request(data=False)))


@pytest.fixture
def lab(ros, tmp_path):
    return Lab(ros, tmp_path / "stops")


def test_one_message_stops_all_until_each_is_released(ros, lab):
    ends = {name: lab.send(name) for name in STARTS}
    for name in STARTS:
        lab.moving(name)
    lab.stop[""].publish(String(data="anna@lab: pot on the stove"))
    for name, end in ends.items():
        result = ros.result(end)
        assert result.status == GoalStatus.STATUS_ABORTED
        assert result.result.result.outcome == Outcome.CANCELLED
        assert result.result.result.reason == (
            f"stopped by anna@lab: pot on the stove; release with ./coterie release {name}"
        )
    ros.spin_until(lambda: all(said[-1] for said in lab.stopped.values()), what="both to say so")
    ros.spin_until(lambda: all(lab.speeds[n][-1] == 0.0 for n in STARTS), what="both to stand")
    refused = ros.result(lab.send("r1")).result.result
    assert refused.outcome == Outcome.REFUSED and "stopped by anna@lab" in refused.reason
    assert lab.release("r1").message == "released"
    ros.spin_until(lambda: lab.stopped["r1"][-1] is False, what="the news of the release")
    end = lab.send("r1")
    lab.moving("r1")
    assert "stopped by" in ros.result(lab.send("r2")).result.result.reason
    lab.stop["r1"].publish(String(data="bert"))
    assert ros.result(end).result.result.outcome == Outcome.CANCELLED


def test_a_stop_outlasts_the_bridge_and_only_a_call_releases_it(ros, lab):
    answer = ros.result(lab.call["r2"].call_async(SetBool.Request(data=True)))
    assert answer.success and "stopped by a call of its service" in answer.message
    ros.remove(lab.bridge)
    lab.begin()
    assert "stopped by" in ros.result(lab.send("r2")).result.result.reason
    lab.send("r1")
    lab.moving("r1")
    ros.remove(lab.bridge)
    latch_file(lab.folder, "r1").write_text("{torn")
    lab.begin()
    assert "cannot be read" in ros.result(lab.send("r1")).result.result.reason
    assert lab.release("r1").success and lab.release("r2").success
    assert lab.release("r2").message == "was not stopped"
    ros.remove(lab.bridge)
    lab.begin()
    for name in STARTS:
        lab.send(name)
        lab.moving(name)
