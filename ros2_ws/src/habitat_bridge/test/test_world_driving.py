"""Driving by velocity commands, laser scans and floor maps in the embedded house."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose, relative
from coterie_core.skills import Wait
from coterie_core.urdf.tree import tree_of
from coterie_fixtures.tiny_house import tiny_house
from habitat_bridge.embedded.body import COMMAND_TIMEOUT, Velocity
from habitat_bridge.embedded.floor_map import seen_from
from habitat_bridge.embedded.laser import Laser, laser_of
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.simulator import Start
from habitat_bridge.urdf import urdf_of

pytestmark = pytest.mark.quick

CART = Embodiment(name="cart", radius=0.2, cameras=(), linear_speed=0.5, angular_speed=1.0)
DOG = CART.model_copy(update={"name": "dog", "mobility": "legs", "step_height": 0.2})
LASER = Laser("laser_link", Pose((0.1, 0.0, 0.2)))


def world_with(**starts):
    world = EmbeddedWorld(tiny_house(), seed=1, threads=1, look_on_arrival=False)
    for name, (body, x, y, yaw) in starts.items():
        world.add_robot(name, body, Start(pose=Pose((x, y, 0.0), yaw)))
    return world


def drive(world, robot, velocity, seconds, dt=0.1):
    for _ in range(round(seconds / dt)):
        world.hardware.drive(robot, velocity)
        world.tick(dt)
    return world.state(robot)


def test_a_command_moves_the_base_at_its_speed_and_is_limited_to_the_bodys():
    world = world_with(r=(CART, 1.5, 2.0, 0.0))
    state = drive(world, "r", Velocity(ahead=0.3), 1.0)
    assert state.pose.position == pytest.approx((1.8, 2.0, 0.0), abs=1e-6)
    assert state.linear == pytest.approx((0.3, 0.0, 0.0), abs=1e-6)
    state = drive(world, "r", Velocity(ahead=9.0), 1.0)
    assert state.pose.position[0] == pytest.approx(2.3, abs=1e-6)
    state = drive(world, "r", Velocity(turn=9.0), 1.0)
    assert state.pose.yaw == pytest.approx(1.0, abs=1e-6)


def test_a_command_times_out_and_numbers_that_are_none_stop():
    world = world_with(r=(CART, 1.5, 2.0, 0.0))
    world.hardware.drive("r", Velocity(ahead=0.4))
    for _ in range(30):
        world.tick(0.1)
    went = world.state("r").pose.position[0] - 1.5
    assert 0.4 * COMMAND_TIMEOUT - 1e-6 <= went <= 0.4 * (COMMAND_TIMEOUT + 0.1) + 1e-6
    assert drive(world, "r", Velocity(ahead=math.nan), 0.5).travelled == pytest.approx(went)


def test_only_legs_go_sideways():
    world = world_with(r=(CART, 1.5, 2.0, 0.0), d=(DOG, 6.0, 2.0, 0.0))
    assert drive(world, "r", Velocity(left=0.3), 1.0).travelled == 0.0
    assert drive(world, "d", Velocity(left=-0.3), 1.0).pose.position[1] == pytest.approx(1.7)


def test_a_wall_stops_the_base_whatever_the_step():
    for dt in (0.02, 0.1, 1.0):
        world = world_with(r=(CART, 3.0, 0.8, 0.0))  # the wall to the living room is ahead
        state = drive(world, "r", Velocity(ahead=0.5), 4.0, dt)
        assert 3.4 < state.pose.position[0] < 4.0 - CART.radius
        assert world.bodies[0].drive is None or world.bodies[0].drive.bumped


def test_another_robot_stops_the_base():
    world = world_with(r=(CART, 4.6, 1.0, 0.0), d=(DOG, 5.9, 1.0, 0.0))
    state = drive(world, "r", Velocity(ahead=0.5), 6.0)
    gap = world.state("d").pose.position[0] - state.pose.position[0]
    assert CART.radius + DOG.radius - 0.05 < gap < CART.radius + DOG.radius + 0.1


def test_a_skill_goes_before_commands():
    world = world_with(r=(CART, 1.5, 2.0, 0.0))
    world.start_skill("r", Wait(1.0))
    assert drive(world, "r", Velocity(ahead=0.3), 0.5).travelled == 0.0
    assert drive(world, "r", Velocity(ahead=0.3), 1.5).travelled > 0.2


def test_the_scanner_measures_walls_and_robots_at_its_height():
    world = world_with(r=(CART, 2.0, 1.0, 0.0), d=(DOG, 2.0, 2.2, 0.0))
    ranges = world.hardware.scan("r", LASER)
    assert ranges.shape == (360,)
    ahead = ranges[180]  # to the wall at x = 4 (0.1 m thick), from 0.1 m ahead of the base
    assert ahead == pytest.approx(1.9, abs=0.1)
    left = world.hardware.scan("r", Laser("laser_link", Pose((0.0, 0.0, 0.2))))[270]
    assert left == pytest.approx(1.2 - DOG.radius, abs=0.02)
    high = world.hardware.scan("r", Laser("laser_link", Pose((0.0, 0.0, 1.9))))[270]
    assert high > 1.5  # above the other robot
    assert (
        np.isfinite(world.hardware.scan("r", Laser("l", Pose((0.0, 0.0, 0.2)), far=0.5))).sum()
        < 180
    )


@pytest.mark.parametrize("links", ["laser", "base_scan", "rplidar_link", "hokuyo_laser_link"])
def test_the_scanner_is_where_the_description_says(links):
    urdf = (
        '<robot name="x"><link name="base_footprint"/><link name="base_link"/>'
        f'<link name="mast"/><link name="{links}"/>'
        '<joint name="a" type="fixed"><parent link="base_footprint"/><child link="base_link"/>'
        '<origin xyz="0 0 0.1"/></joint>'
        '<joint name="b" type="fixed"><parent link="base_link"/><child link="mast"/>'
        '<origin xyz="0.2 0 0.1" rpy="0 0 1.5708"/></joint>'
        f'<joint name="c" type="fixed"><parent link="mast"/><child link="{links}"/>'
        '<origin xyz="0.1 0 0.05"/></joint></robot>'
    )
    found = laser_of(tree_of(urdf))
    assert found is not None and found.frame == links
    assert found.pose.position == pytest.approx((0.2, 0.1, 0.15), abs=1e-4)
    assert found.pose.yaw == pytest.approx(math.pi / 2, abs=1e-4)


def test_every_preset_that_moves_has_a_scanner_and_a_bare_description_has_none():
    assert laser_of(tree_of(urdf_of("r", CART))).pose.position == (0.0, 0.0, 0.2)
    assert laser_of(tree_of('<robot name="x"><link name="base_link"/></robot>')) is None


def test_the_map_is_free_where_the_body_goes_and_unknown_outside():
    world = world_with(r=(CART, 2.0, 2.0, 0.0))
    values, cell, corner = world.hardware.floor_map("r")

    def at(x, y):
        return values[int((y - corner[1]) / cell), int((x - corner[0]) / cell)]

    assert at(2.0, 2.0) == 0 and at(4.0, 2.0) == 0  # the floor, the doorway
    assert at(4.0, 0.8) == 100 and at(2.0, 0.0) == 100  # walls
    assert at(-0.45, -0.45) == -1
    assert corner[2] == 0.0 and set(np.unique(values)) == {-1, 0, 100}


def test_a_map_made_in_a_turned_frame_shows_the_same_house():
    world = world_with(r=(CART, 2.0, 2.0, 0.0))
    values, cell, corner = world.hardware.floor_map("r")
    frame = Pose((3.0, -1.0, 0.0), 0.7)
    turned, low = seen_from(values, cell, corner, frame)
    for x, y, expected in ((2.0, 2.0, 0), (2.0, 0.0, 100), (0.3, 1.2, 100), (5.2, 1.0, 0)):
        px, py, _ = relative(frame, Pose((x, y, 0.0))).position
        assert turned[int((py - low[1]) / cell), int((px - low[0]) / cell)] == expected
    assert (turned == 0).sum() == pytest.approx((values == 0).sum(), rel=0.02)
