"""A driver that a team file names as a class: it runs, or says what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient

from coterie_core.skills import NavigateTo
from coterie_fixtures.ros_harness import patience
from coterie_msgs.action import NavigateTo as NavigateToAction
from coterie_ros import conversions

pytestmark = pytest.mark.ros

MODULE = """
from coterie_ros.robot_driver import RobotDriver

class Cart(RobotDriver):
    def drive(self, x, y, yaw):
        self.wait(0.01)

class Blind:
    pass
"""


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
