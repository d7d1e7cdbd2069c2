"""A base with nothing but cmd_vel, tf, a map and a laser scan or a depth camera is driven, too."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")

from std_srvs.srv import SetBool

from coterie_core.skills import LookAround, NavigateTo, Outcome
from coterie_fixtures.lab_rig import LabRig

pytestmark = [pytest.mark.ros, pytest.mark.slow]

TEAM = """
name: bare
world: {kind: real, use_sim_time: true}
limits: {area: anywhere}
permits: allow
robots:
  - name: cart
    embodiment: slim
    start: {pose: {x: 1.15, y: 1.3}}
    adapter:
      navigation:
        {backend: velocity, cmd_vel: base/cmd, scan: laser, stall_timeout: 6, speed: 0.8,
         turn_speed: 1.5}
      sensors:
        map: /floor_plan
        cameras:
          - {name: head, depth: head/depth/image_raw, info: head/depth/camera_info}
      frames: {map: site, odom: cart_odom, base: cart_base, tf: /tf}
  - name: parked
    embodiment: slim
    start: {pose: {x: 9.0, y: 1.0}}
    adapter:
      frames: {tf: tf}
"""
THERE = NavigateTo(position=(5.2, 2.2, 0.0), yaw=0.5)


def left(rig: LabRig, goal: NavigateTo = THERE) -> float:
    return math.dist(rig.world.state("cart").pose.position[:2], goal.position[:2])


@pytest.mark.parametrize("eye", ["scan", "depth"])
def test_it_drives_to_another_room_turns_and_stands_when_stopped(ros, eye):
    team = TEAM.replace("stall_timeout: 6", f"stall_timeout: 6, obstacles: {eye}")
    rig = LabRig(ros, team, pace=2.0)
    rig.wait_ready()
    done = rig.end(THERE, "cart", timeout=240.0)
    assert done.ok, done.reason
    pose = rig.world.state("cart").pose
    assert left(rig) <= 0.25 and abs(pose.yaw - 0.5) <= 0.25
    assert rig.still("cart")
    assert rig.end(LookAround(), "cart", timeout=240.0).ok
    button = rig.node.create_client(SetBool, "/cart/stop")
    ros.wait_for_matched(button)
    back = NavigateTo(position=(1.15, 1.3, 0.0))
    _, result = rig.send(back, "cart")
    rig.wait(2.0)
    assert ros.result(button.call_async(SetBool.Request(data=True))).success
    assert rig.result(result).outcome is Outcome.CANCELLED
    ros.spin(0.3)
    assert rig.still("cart") and left(rig, back) > 1.0
    assert ros.result(button.call_async(SetBool.Request(data=False))).success
    assert rig.end(NavigateTo(position=(40.0, 1.0, 0.0)), "cart").outcome is Outcome.UNREACHABLE


def test_it_stops_before_what_the_map_does_not_know(ros):
    team = TEAM.replace("x: 9.0, y: 1.0", "x: 4.0, y: 2.0")  # in the only door
    rig = LabRig(ros, team, pace=2.0)
    rig.wait_ready()
    ended = rig.end(THERE, "cart", timeout=240.0)
    assert ended.outcome is Outcome.BLOCKED and "something stands" in ended.reason, ended
    apart = math.dist(
        rig.world.state("cart").pose.position[:2], rig.world.state("parked").pose.position[:2]
    )
    bodies = sum(rig.world.body(n).embodiment.radius for n in ("cart", "parked"))
    assert apart > bodies + 0.02


def test_without_a_scan_it_does_not_drive_and_says_what_to_write(ros):
    rig = LabRig(ros, TEAM, **{"navigation.scan": "nobody"})
    ros.spin_until(lambda: rig.seen["cart"])
    ended = rig.end(THERE, "cart", timeout=240.0)
    assert ended.outcome is Outcome.FAULT and "navigation.scan" in ended.reason
    assert rig.world.state("cart").pose.position[:2] == pytest.approx((1.15, 1.3))
