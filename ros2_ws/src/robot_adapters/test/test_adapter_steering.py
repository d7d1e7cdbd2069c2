"""A base follows paths over a grid, slows down before obstacles, and plans around them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coterie_core.geometry import Pose, wrap_angle
from robot_adapters.sensing.grid_space import GridData, GridSpace
from robot_adapters.steering import Motion, PathFollower, depth_points, room_ahead, scan_points

MOTION = Motion(speed=0.5, turn=1.0, radius=0.25, margin=0.15)


def two_rooms() -> GridSpace:
    """8 m x 4 m, parted at x = 4 m by a wall with a door from y = 2.6 m to 3.6 m."""
    values = np.zeros((80, 160), np.int8)
    values[0, :] = values[-1, :] = values[:, 0] = values[:, -1] = 100
    values[:52, 80] = values[72:, 80] = 100
    return GridSpace(GridData(values, 0.05, (0.0, 0.0, 0.0)), MOTION.radius)


def drive(space: GridSpace, start: Pose, path, most: int = 4000) -> tuple[Pose, float]:
    """Drive a unicycle along a path; return where it ends, and its least clearance [m]."""
    follower, pose, step = PathFollower(path, space.line_fits), start, 0.05
    least = math.inf
    for _ in range(most):
        if math.dist(pose.position[:2], path[-1]) < 0.1:
            break
        speed, turn = follower.command(pose, math.inf, MOTION)
        assert 0.0 <= speed <= MOTION.speed and abs(turn) <= MOTION.turn
        yaw = pose.yaw + turn * step
        x, y, _ = pose.position
        pose = Pose((x + speed * step * math.cos(yaw), y + speed * step * math.sin(yaw), 0.0), yaw)
        least = min(least, float(space.clearance[space.cell_of(pose.position)]))
    return pose, least


@pytest.mark.parametrize("yaw", [0.0, 2.0, -3.0])
def test_it_drives_into_the_other_room_without_touching_a_wall(yaw):
    space = two_rooms()
    path = space.path((1.0, 0.8), (7.0, 0.7))
    assert path is not None and path[-1] == (7.0, 0.7)
    assert all(space.line_fits(point, point) for point in path)
    end, least = drive(space, Pose((1.0, 0.8, 0.0), yaw), path)
    assert math.dist(end.position[:2], (7.0, 0.7)) < 0.1
    assert least >= MOTION.radius - space.cell


def test_there_is_no_way_through_a_closed_door_or_into_a_wall():
    space = two_rooms()
    door = [(4.0, 2.6 + 0.05 * k) for k in range(20)]
    assert space.path((1.0, 0.8), (7.0, 0.7), door) is None
    assert space.path((1.0, 0.8), (4.02, 1.0)) is None
    assert space.path((1.0, 0.8), (20.0, 1.0)) is None


def test_the_way_leads_around_what_a_sensor_sees():
    space = two_rooms()
    chair = [(2.0, 2.0), (2.1, 2.0), (2.0, 2.1)]
    straight = space.path((1.0, 2.0), (3.0, 2.0))
    around = space.path((1.0, 2.0), (3.0, 2.0), chair)
    assert straight is not None and around is not None
    near = min(math.dist(p, q) for p in around for q in chair)
    assert near >= MOTION.radius - space.cell
    assert min(math.dist(p, q) for p in straight for q in chair) < 0.1


def test_a_robot_too_near_to_a_wall_finds_its_way_out():
    space = two_rooms()
    path = space.path((0.15, 0.15), (2.0, 2.0))
    assert path is not None and space.line_fits(path[0], path[0])


def test_room_is_measured_in_front_of_the_body_only():
    points = np.array([[1.0, 0.0], [0.6, 0.9], [-0.4, 0.0], [0.1, 0.05]])
    assert room_ahead(points, MOTION) == pytest.approx(0.75)
    assert room_ahead(points[1:], MOTION) == math.inf  # beside, behind, and the body itself
    assert room_ahead(np.zeros((0, 2)), MOTION) == math.inf


def test_it_slows_down_and_stands_before_an_obstacle_and_still_turns():
    follower = PathFollower([(0.0, 0.0), (5.0, 0.0)])
    ahead = Pose((0.0, 0.0, 0.0), 0.0)
    speeds = [follower.command(ahead, room, MOTION)[0] for room in (3.0, 0.3, 0.2, 0.15, 0.0)]
    assert speeds[0] == MOTION.speed
    assert speeds == sorted(speeds, reverse=True) and speeds[3:] == [0.0, 0.0]
    assert follower.command(Pose((0.0, 0.0, 0.0), 1.0), 0.0, MOTION) == (0.0, -MOTION.turn)


def test_scans_and_depth_images_become_points():
    ranges = np.array([1.0, math.inf, math.nan, 0.01, 2.0])
    points = scan_points(ranges, -math.pi / 2, math.pi / 4, 0.05, 10.0)
    np.testing.assert_allclose(points, [[0.0, -1.0, 0.0], [0.0, 2.0, 0.0]], atol=1e-9)
    depth = np.zeros((12, 12), np.float32)
    depth[6, 6] = 2.0
    found = depth_points(depth, (10.0, 10.0, 6.0, 6.0), stride=6)
    np.testing.assert_allclose(found, [[0.1, 0.1, 2.0]])


def test_the_nearer_end_of_a_turn_is_taken():
    follower = PathFollower([(0.0, 0.0), (-2.0, -0.1)])
    _, turn = follower.command(Pose((0.0, 0.0, 0.0), 3.0), math.inf, MOTION)
    assert turn > 0.0 and wrap_angle(math.pi + 0.05 - 3.0) > 0.0


NARROW = Motion(speed=0.4, turn=0.8, radius=0.2, margin=0.15)


def four_rooms() -> GridSpace:
    """10 m x 8 m with a door of 0.8 m in each of three walls, which are 0.1 m thick."""
    values = np.zeros((160, 200), np.int8)
    values[0, :] = values[-1, :] = values[:, 0] = values[:, -1] = 100
    values[79:81, :] = values[:, 99:101] = 100
    values[79:81, 160:176] = values[20:36, 99:101] = values[120:136, 99:101] = 0
    return GridSpace(GridData(values, 0.05, (0.0, 0.0, 0.0)), NARROW.radius)


def arrives(space: GridSpace, start, goal, off, spare: float) -> bool:
    """Whether a robot whose scanner sees the walls, off by a little, gets to its goal."""
    path = space.path(start, goal, spare=spare)
    assert path is not None
    follower = PathFollower(path, lambda a, b: space.line_fits(a, b, spare))
    walls = np.argwhere(space.clearance == 0.0)[:, ::-1] * space.cell + space.cell / 2.0 + off
    pose, step = Pose((*start, 0.0), math.atan2(goal[1] - start[1], goal[0] - start[0])), 0.05
    for _ in range(4000):
        if math.dist(pose.position[:2], goal) < 0.1:
            return True
        x, y, _ = pose.position
        away = walls - (x, y)
        away = away[np.hypot(*away.T) < 2.0]
        c, s = math.cos(pose.yaw), math.sin(pose.yaw)
        room = room_ahead(away @ np.array([[c, -s], [s, c]]), NARROW)
        speed, turn = follower.command(pose, room, NARROW)
        if speed == 0.0 and abs(turn) < 1e-3:
            return False
        yaw = pose.yaw + turn * step
        pose = Pose((x + speed * step * math.cos(yaw), y + speed * step * math.sin(yaw), 0.0), yaw)
    return False


def test_a_way_with_room_to_spare_leads_past_corners_before_which_the_robot_would_stop():
    space, draw = four_rooms(), np.random.default_rng(1)
    done = {0.0: 0, 0.07: 0}
    for _ in range(60):
        start = (draw.uniform(5.5, 9.5), draw.uniform(4.6, 7.5))
        goal = (draw.uniform(0.5, 9.5), draw.uniform(0.5, 3.4))
        if not (space.fits[space.cell_of(start)] and space.fits[space.cell_of(goal)]):
            continue
        off = draw.normal(0.0, 0.02, 2)
        for spare in done:
            done[spare] += arrives(space, start, goal, off, spare)
    assert done[0.07] >= done[0.0] + 3, done


def test_where_there_is_no_room_to_spare_there_is_no_such_way():
    values = np.zeros((80, 160), np.int8)
    values[:34, 80] = values[46:, 80] = 100  # 0.6 m
    space = GridSpace(GridData(values, 0.05, (0.0, 0.0, 0.0)), MOTION.radius)
    assert space.path((1.0, 2.0), (7.0, 2.0)) is not None
    assert space.path((1.0, 2.0), (7.0, 2.0), spare=0.07) is None
    # Near its ends it may be tight: robots stand beside walls, and are sent there.
    assert space.path((3.8, 2.0), (4.3, 2.0), spare=0.07) is not None
