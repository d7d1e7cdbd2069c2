"""What a base that takes velocities sees around it, remembers, and drives before."""

from __future__ import annotations

import asyncio
import math
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy")

from sensor_msgs.msg import LaserScan

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose, wrap_angle
from coterie_core.skills import NavigateTo, Outcome
from coterie_core.transforms import TransformBuffer
from coterie_world.perception.frame_join import DepthImage
from coterie_world.perception.registration import CameraModel
from robot_adapters.backends import goals, obstacles, velocity
from robot_adapters.backends.obstacles import Obstacles
from robot_adapters.sensing.grid_space import GridData, GridSpace
from robot_adapters.settings_motion import NavigationSettings

BODY = Embodiment(name="cart", radius=0.25, height=1.2, linear_speed=0.4, angular_speed=0.8)
MODEL = CameraModel((160, 120), (140.0, 140.0, 80.0, 60.0))
HERE = Pose((0.0, 0.0, 0.0), 0.0)
OPTICAL = {"eye": (-0.5, 0.5, -0.5, 0.5), "rear": (0.5, 0.5, -0.5, -0.5)}  # rotations (x, y, z, w)
STEP = 0.05
ROWS, COLUMNS = np.mgrid[:120, :160]
RAYS = np.stack([(COLUMNS - 79.5) / 140.0, (ROWS - 59.5) / 140.0, np.ones(ROWS.shape)], -1)


class World:
    """A floor with boxes, and a robot with a depth camera; it is clock, node and ground, too.

    Boxes are (x0, x1, y0, y1, height) [m]. The camera `eye` is 0.2 m ahead of the base.
    """

    map_frame, base_frame = "map", "base"

    def __init__(self, *boxes, camera=0.5, near=0.0, end=math.inf):
        self.boxes, self.camera, self.near, self.end = list(boxes), camera, near, end
        self.time, self.pose_now, self.twist = 100.0, HERE, (0.0, 0.0)
        self.subscribers = 1
        self.base = None
        self.transforms = TransformBuffer()
        for name, ahead in (("eye", 0.2), ("rear", -0.2)):
            self.transforms.add("base", name, (ahead, 0.0, camera), OPTICAL[name], 0.0, fixed=True)
        self.transforms.add("base", "laser", (0.0, 0.0, 0.2), (0.0, 0.0, 0.0, 1.0), 0.0, fixed=True)
        self.space, self.steps, self.crashed, self.hear = None, 0, None, None
        self.speeds: list[float] = []
        self.drawn = (None, None)
        self._turn()

    # What the node does.

    def now(self):
        return self.time

    def subscribe(self, *args, **more):
        pass

    def publisher(self, kind, topic, qos):
        return self

    def publish(self, twist):
        self.twist = (twist.linear.x, twist.angular.z)

    # What the ground tells.

    def pose(self):
        return self.pose_now

    def to_robot_map(self, pose):
        return pose

    def to_team_map(self, point):
        return point

    def free_points(self, position, tolerance):
        return [position]

    def space_at(self, position):
        return self.space

    def on_fixed(self, transforms, *, ours=False):
        for parent, child, at, turn, _ in transforms:
            self.transforms.add(parent, child, at, turn, 0.0, fixed=True)

    def on_depth(self, callback):
        self.hear = callback

    # What happens.

    def _turn(self):
        half = self.pose_now.yaw / 2.0
        rotation = (0.0, 0.0, math.sin(half), math.cos(half))
        self.transforms.add("map", "base", self.pose_now.position, rotation, self.time)

    def image(self, eye="eye"):
        """Return a depth image of the boxes and the floor: infinite where nothing is."""
        scene = (eye, self.pose_now, tuple(self.boxes))
        if scene != self.drawn[0]:  # a robot that stands sees the same
            self.drawn = (scene, self.draw(eye))
        return DepthImage(self.drawn[1], eye, self.time)

    def draw(self, eye):
        at = self.transforms.lookup("map", eye, self.time)
        rays = RAYS @ at[:3, :3].T
        with np.errstate(divide="ignore", invalid="ignore"):
            depth = np.where(rays[..., 2] < 0.0, -at[2, 3] / rays[..., 2], np.inf)
            for x0, x1, y0, y1, height in self.boxes:
                a = (np.array([x0, y0, 0.0]) - at[:3, 3]) / rays
                b = (np.array([x1, y1, height]) - at[:3, 3]) / rays
                enters, leaves = np.minimum(a, b).max(-1), np.maximum(a, b).min(-1)
                hit = (enters < leaves) & (leaves > 0.0)
                depth = np.where(hit, np.minimum(depth, np.maximum(enters, 0.0)), depth)
        depth[depth < self.near] = 0.0
        return depth.astype(np.float32)

    def see(self, eye="eye", image=None):
        self.hear(eye, self.image(eye) if image is None else image, MODEL)

    def place(self, pose):
        self.time += STEP
        self.pose_now = pose
        self._turn()

    def step(self):
        (x, y, _), yaw = self.pose_now.position, self.pose_now.yaw
        speed, turn = self.twist
        yaw = wrap_angle(yaw + turn * STEP)
        x, y = x + speed * STEP * math.cos(yaw), y + speed * STEP * math.sin(yaw)
        for x0, x1, y0, y1, _ in self.boxes:
            away = math.hypot(max(x0 - x, 0.0, x - x1), max(y0 - y, 0.0, y - y1))
            if away < BODY.radius:  # what it drives into stops it
                self.crashed, (x, y, _) = max(self.crashed or 0.0, speed), self.pose_now.position
                break
        self.steps += 1
        self.speeds.append(speed)
        self.place(Pose((x, y, 0.0), yaw))
        if self.steps % 2 == 0:  # ten images a second
            self.see()


def settings(**more):
    return NavigationSettings(backend="velocity", **{"obstacles": "depth", **more})


def plain(image, value):
    return DepthImage(np.full((120, 160), value, np.float32), image.frame, image.time)


def watched(world, **more):
    return Obstacles(world, settings(**more), world, BODY.height, BODY.radius)


@pytest.fixture
def drive(monkeypatch):
    """Return what drives the robot of a world to a point, at the world's own pace."""

    async def at_once(work, *args):
        return work(*args)

    monkeypatch.setattr(velocity, "_PERIOD", 0.0)
    monkeypatch.setattr(asyncio, "to_thread", at_once)

    def start(world, goal=(4.0, 0.0), each=lambda world: None, **more):
        monkeypatch.setattr(goals, "time", SimpleNamespace(monotonic=world.now))
        base = world.base = world.base or velocity.VelocityNavigation(
            world, settings(**more), world, BODY, world.space is not None
        )
        world.see()

        async def both():
            task = asyncio.ensure_future(
                base.navigate(NavigateTo((*goal, 0.0)), Pose((*goal, 0.0)), lambda told: None)
            )
            while not task.done():
                world.step()
                each(world)
                await asyncio.sleep(0.0)
            return task.result()

        return asyncio.run(both())

    return start


# -- what was seen is remembered ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("boxes", "near"),
    [
        ([(2.0, 2.1, -2.0, 2.0, 0.3)], 0.0),  # passes below the view
        ([(2.0, 2.1, -2.0, 2.0, 0.2)], 0.0),
        ([(2.0, 2.1, -2.0, 2.0, 2.0)], 0.28),  # comes nearer than the camera sees
        ([(2.0, 2.1, -0.1, 0.1, 2.0)], 0.5),
    ],
)
def test_what_left_the_view_still_stops_it(drive, boxes, near):
    world = World(*boxes, near=near)
    ended = drive(world, stall_timeout=6.0)
    assert ended.outcome in (Outcome.BLOCKED, Outcome.FAULT), ended
    assert world.crashed is None
    assert 1.2 < world.pose_now.position[0] < 2.0 - BODY.radius - 0.1


def walker(ahead):
    """Return what lets a person cross the way of the robot, so far ahead of its start [m]."""

    def walk(world):
        y = -1.0 + 0.5 * (world.time - 101.0)
        world.boxes = [(ahead, ahead + 0.3, y, y + 0.3, 1.7)] if y < 1.0 else []

    return walk


def test_who_walks_through_its_view_is_forgotten_at_once(drive):
    world = World()
    assert drive(world, each=walker(3.6)).ok
    assert world.crashed is None and world.time < 100.0 + 4.0 / 0.4 + 1.0


def test_who_walked_close_by_holds_it_up_for_a_while_only(drive):
    world = World()
    first = drive(world, each=walker(2.4))
    assert first.ok or first.outcome is Outcome.BLOCKED
    assert first.ok or drive(world).ok
    assert world.crashed is None


def test_what_it_sees_no_more_ends_a_drive_and_the_next_one_creeps(drive):
    world = World((2.0, 2.1, -2.0, 2.0, 0.3))

    def gone(world):
        if world.pose_now.position[0] > 1.55:  # not in view any more
            world.boxes = []

    assert drive(world, each=gone, stall_timeout=8.0).outcome is Outcome.BLOCKED
    assert not any(0.0 < speed <= 0.11 for speed in world.speeds[-50:])
    world.speeds.clear()
    assert drive(world).ok
    crept = sum(0.0 < speed <= 0.11 for speed in world.speeds) * STEP
    assert 3.0 < crept < 10.0


def test_what_still_stands_there_is_touched_at_a_crawl_by_a_second_drive_only(drive):
    world = World((2.0, 2.1, -2.0, 2.0, 0.3))
    assert drive(world, stall_timeout=8.0).outcome is Outcome.BLOCKED
    assert world.crashed is None
    ended = drive(world)
    assert ended.outcome is Outcome.BLOCKED and "does not see any more" in ended.reason
    assert world.crashed is not None and world.crashed <= 0.11


def test_a_robot_that_faces_a_wall_too_near_for_its_camera_turns_away_and_drives(drive):
    world = World((0.3, 0.4, -2.0, 2.0, 2.0), near=0.5)
    assert drive(world, goal=(-2.0, 0.0)).ok and world.crashed is None
    world = World((0.5, 0.6, -2.0, 2.0, 2.0), near=0.5)
    ended = drive(world, stall_timeout=6.0)
    assert ended.outcome is Outcome.BLOCKED and "covered" in ended.reason
    assert world.crashed is None


def test_it_drives_around_what_left_the_view(drive):
    world = World((2.0, 2.3, -0.2, 0.2, 0.3))
    values = np.zeros((80, 120), np.int8)
    world.space = GridSpace(GridData(values, 0.05, (-1.0, -2.0, 0.0)), BODY.radius)
    assert drive(world).ok
    assert world.crashed is None and world.time < 120.0


def test_what_it_saw_far_away_closes_no_way(drive, monkeypatch):
    monkeypatch.setattr(
        obstacles, "_seen_through", lambda frame, points: np.zeros(len(points), bool)
    )
    world = World((2.0, 2.3, -0.2, 0.2, 0.3), (3.4, 3.5, -2.0, 2.0, 0.3))
    values = np.zeros((80, 120), np.int8)
    world.space = GridSpace(GridData(values, 0.05, (-1.0, -2.0, 0.0)), BODY.radius)

    def gone(world):
        if world.pose_now.position[0] > 1.0:
            del world.boxes[1:]

    assert drive(world, each=gone).ok
    assert world.crashed is None


def test_it_drives_through_a_door_that_it_remembers(drive):
    walls = [(2.0, 2.1, -3.0, -0.45, 2.0), (2.0, 2.1, 0.45, 3.0, 2.0)]
    world = World(*walls)
    values = np.zeros((120, 140), np.int8)
    for x0, x1, y0, y1, _ in walls:
        rows = slice(round((y0 + 3.0) / 0.05), round((y1 + 3.0) / 0.05))
        values[rows, round((x0 + 1.0) / 0.05) : round((x1 + 1.0) / 0.05)] = 100
    world.space = GridSpace(GridData(values, 0.05, (-1.0, -3.0, 0.0)), BODY.radius)
    world.pose_now = Pose((0.5, -1.5, 0.0), 0.0)
    assert drive(world, goal=(4.0, 1.5)).ok
    assert world.crashed is None and world.time < 130.0


def test_a_thin_leg_stays_though_an_image_is_a_little_off(monkeypatch):
    world = World((1.0, 1.02, -0.01, 0.01, 1.0))
    seen = watched(world)
    world.see()
    points = seen.in_map()
    assert len(points)
    monkeypatch.setattr(obstacles, "depth_points", lambda *args: np.zeros((0, 3)))
    world.boxes = [(1.0, 1.02, 0.01, 0.03, 1.0)]
    world.see()
    assert len(seen.in_map()) == len(points)
    world.boxes = []
    world.see()
    assert not len(seen.in_map())


def test_what_it_has_driven_over_was_not_there():
    world = World((1.0, 1.1, -0.1, 0.1, 0.15))
    seen = watched(world)
    world.see()
    assert len(seen.around(HERE))
    world.boxes = []
    world.place(Pose((0.7, 0.0, 0.0), 0.0))
    world.see()
    assert len(seen.around(HERE))
    world.place(Pose((1.0, 0.0, 0.0), 0.0))
    world.see()
    assert not len(seen.around(HERE))


def test_memory_is_bounded_and_forgets_what_is_far(monkeypatch):
    world = World((1.0, 1.1, -2.0, 2.0, 1.1), (2.0, 2.1, -2.0, 2.0, 1.2))
    seen = watched(world)
    world.see()
    points = seen.in_map()
    voxels = np.floor(points / 0.05).astype(int)
    assert len(np.unique(voxels, axis=0)) == len(points) > 60
    monkeypatch.setattr(obstacles, "_MOST", 50)
    world.boxes[0] = (0.9, 1.0, -2.0, 2.0, 1.1)
    world.see()
    assert len(seen.in_map()) == 50 and seen.in_map()[:, 0].max() < 0.95
    world.place(Pose((-2.5, 0.0, 0.0), math.pi))
    world.see()
    assert len(seen.in_map()) == 50  # behind it, and near
    world.place(Pose((-3.5, 0.0, 0.0), math.pi))
    world.see()
    assert not len(seen.in_map())


# -- who does not see says so ------------------------------------------------------------------


@pytest.fixture
def two(monkeypatch):
    """Return a world with two cameras, and what they see; both have seen something."""
    world = World((1.0, 1.1, -1.0, 1.0, 1.0))
    monkeypatch.setattr(goals, "time", SimpleNamespace(monotonic=world.now))
    seen = watched(world)
    world.see("eye")
    world.see("rear")
    assert seen.blind() == ""
    return world, seen


def test_one_camera_that_falls_silent_is_missed(two):
    world, seen = two
    for _ in range(24):
        world.place(HERE)
        world.see("rear")
    assert "eye" in seen.blind() and "1.2 s old" in seen.blind()
    world.see("eye")
    assert seen.blind() == ""


def test_one_camera_does_not_excuse_another(two):
    world, seen = two

    def broken():
        raise ValueError("12 bits a pixel")

    world.see("eye", DepthImage(broken, "eye", world.time))
    world.see("rear")
    assert "eye" in seen.blind() and "12 bits" in seen.blind()
    world.see("eye", DepthImage(world.image().pixels(), "nowhere", world.time))
    world.see("rear")
    assert "nowhere" in seen.blind()
    world.see("eye")
    assert seen.blind() == ""


@pytest.mark.parametrize("value", [0.0, math.nan, -math.inf])
def test_an_image_without_depth_shows_nothing(two, value):
    world, seen = two
    world.see("eye", plain(world.image(), value))
    world.see("rear")
    assert "eye" in seen.dark()
    assert len(seen.in_map())  # what was there still is
    world.see("eye", plain(world.image(), math.inf))
    assert seen.dark() == "" and not len(seen.in_map())
    world.see("rear", plain(world.image("rear"), value))
    assert seen.dark() == "", "it does not drive that way"


@pytest.mark.parametrize(
    ("ranges", "sees"),
    [
        ([], False),
        ([math.nan] * 9, False),
        ([0.0] * 9, False),
        ([0.05] * 9, False),
        ([-math.inf] * 9, False),
        ([math.inf] * 9, True),
        ([0.0] * 8 + [math.inf], True),
        ([math.nan] * 8 + [0.5], True),
    ],
)
@pytest.mark.parametrize("least", [0.1, 0.0])
def test_a_scan_of_which_no_ray_measures_anything_shows_nothing(ranges, sees, least):
    if least == 0.0 and 0.05 in ranges:
        sees = True
    world = World()
    seen = watched(world, obstacles="scan")
    scan = LaserScan(angle_min=-1.5, angle_increment=0.3, range_min=least, range_max=10.0)
    scan.header.frame_id, scan.header.stamp.sec = "laser", int(world.time)
    scan.ranges = [1.0] * 9
    seen._on_scan(scan)
    assert seen.blind() == "" and len(seen.around(HERE)) == 9
    scan.ranges = ranges
    seen._on_scan(scan)
    assert (seen.blind() == "") is sees
    assert sees or ("no ray" in seen.blind() and "scan" in seen.blind())


def test_a_scanner_with_a_mount_may_stamp_its_scans_with_the_frame_of_the_base():
    world = World()
    seen = watched(world, obstacles="scan", scan_mount={"x": 0.2, "z": 0.3})
    scan = LaserScan(angle_min=0.0, angle_increment=1.0, range_min=0.1, range_max=10.0)
    scan.header.frame_id, scan.header.stamp.sec = "base", int(world.time)
    scan.ranges = [1.0]
    for _ in range(2):
        seen._on_scan(scan)
        assert seen.blind() == ""
        assert seen.in_map() == pytest.approx(np.array([[1.2, 0.0, 0.3]]))


# -- nobody watches while a way is planned -----------------------------------------------------


def test_it_stands_while_it_plans_anew_and_then_drives_on(drive, monkeypatch):
    world, went, pushed = World(), [], []
    values = np.zeros((80, 120), np.int8)
    world.space = GridSpace(GridData(values, 0.05, (-1.0, -2.0, 0.0)), BODY.radius)

    async def slowly(work, *args):
        """Plan for a second of the world's time, and note how far the robot goes meanwhile."""
        before, begun = world.pose_now, world.steps
        while world.steps < begun + 20:
            await asyncio.sleep(0.0)
        after = world.pose_now
        went.append(math.dist(before.position, after.position) + abs(before.yaw - after.yaw))
        return work(*args)

    def push(world):
        if not pushed and world.pose_now.position[0] > 1.5:
            pushed.append(True)
            world.place(Pose((1.5, 0.8, 0.0), -1.0))

    monkeypatch.setattr(asyncio, "to_thread", slowly)
    ended = drive(world, each=push)
    assert ended.ok, ended
    assert len(went) >= 2 and max(went) == 0.0
    assert math.dist(world.pose_now.position[:2], (4.0, 0.0)) < 0.12
