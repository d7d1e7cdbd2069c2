"""Grids of floors from depth images: what is free, occupied and unknown, and how they grow."""

import math

import numpy as np
import pytest

from coterie_core.detections import RgbdFrame
from coterie_world.scene import Floor
from semantic_mapper.grid import FloorGrid, FloorGrids, GridOptions, grids_from_state

ROWS, COLS, FOCAL = 96, 128, 110.0


def camera(x, y, z=1.2, yaw=0.0, pitch=0.6):
    c, s, cp, sp = math.cos(yaw), math.sin(yaw), math.cos(pitch), math.sin(pitch)
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1] = (s, -c, 0), (-sp * c, -sp * s, -cp)
    pose[:3, 2], pose[:3, 3] = (cp * c, cp * s, -sp), (x, y, z)
    return pose


def frame(pose, floor=0.0, wall=None):
    """A frame of a floor at a height [m], and of a wall at an x [m]."""
    v, u = np.mgrid[0:ROWS, 0:COLS]
    rays = np.stack(
        [(u + 0.5 - COLS / 2) / FOCAL, (v + 0.5 - ROWS / 2) / FOCAL, np.ones_like(u)], -1
    )
    rays = rays @ pose[:3, :3].T
    with np.errstate(divide="ignore"):
        depth = np.where(rays[..., 2] < 0, (floor - pose[2, 3]) / rays[..., 2], np.inf)
        if wall is not None:
            there = np.where(rays[..., 0] > 0, (wall - pose[0, 3]) / rays[..., 0], np.inf)
            depth = np.minimum(depth, there)
    return RgbdFrame(depth.astype(np.float32), (FOCAL, FOCAL, COLS / 2, ROWS / 2), pose)


def value(grid, x, y):
    cell = grid.options.cell
    return grid.values()[math.floor(y / cell) - grid.row, math.floor(x / cell) - grid.column]


def test_floor_is_free_a_wall_is_occupied_and_behind_it_nothing_is_known():
    grids = FloorGrids(options=GridOptions(stride=1))
    for _ in range(2):
        grids.update(frame(camera(0.0, 0.0), wall=2.02))
    (grid,) = grids.grids.values()
    assert value(grid, 1.5, 0.0) == 0
    assert value(grid, 2.025, 0.0) == 100
    assert value(grid, 0.0, 0.0) == 0  # where the robot stands
    assert value(grid, 0.4, 0.9) == -1
    xs = grid.origin[0] + grid.options.cell * np.nonzero(grid.values() >= 0)[1]
    assert xs.max() < 2.1


def test_one_look_is_not_enough():
    grids = FloorGrids()
    grids.update(frame(camera(0.0, 0.0)))
    assert (next(iter(grids.grids.values())).values() == -1).all()


def test_what_was_carried_away_fades():
    grids = FloorGrids(options=GridOptions(stride=1))
    for _ in range(5):
        grids.update(frame(camera(0.0, 0.0), wall=1.52))
    (grid,) = grids.grids.values()
    before = value(grid, 1.525, 0.0)
    for _ in range(40):
        grids.update(frame(camera(0.0, 0.0)))
    assert before > 65 > 35 > value(grid, 1.525, 0.0) >= 0


def test_each_floor_has_its_own_grid():
    grids = FloorGrids([Floor("f0", 0, 0.0), Floor("f1", 1, 3.0)], GridOptions(stride=1))
    for _ in range(2):
        grids.update(frame(camera(0.0, 0.0, z=4.2), floor=3.0, wall=2.02))
        grids.update(frame(camera(0.0, 0.0, z=-5.0), floor=-6.0))  # below the house
    assert not grids.grids["f0"].free.size
    assert value(grids.grids["f1"], 1.5, 0.0) == 0
    assert value(grids.grids["f1"], 2.025, 0.0) == 100


def test_a_grid_grows_and_keeps_what_it_has():
    grid = FloorGrid(GridOptions(cell=0.1))
    none = np.empty((0, 2))
    spots = [(0.05, 0.05), (-3.45, 2.15), (7.25, -4.05)]
    for x, y in spots:
        for _ in range(2):
            grid.add(np.array([[x, y]]), none)
    assert [value(grid, x, y) for x, y in spots] == [0, 0, 0]
    assert (grid.values() == 0).sum() == 3


def test_points_far_out_do_not_fill_the_memory():
    grid = FloorGrid(GridOptions(most_cells=10_000))
    none = np.empty((0, 2))
    for _ in range(2):
        grid.add(np.array([[0.0, 0.0]]), none)
        grid.add(np.array([[1e5, 1e5], [0.0, 0.0]]), none)
    assert grid.free.size <= 10_000
    assert value(grid, 0.0, 0.0) == 0


def test_counts_do_not_overflow():
    grid = FloorGrid(GridOptions())
    here = np.array([[0.0, 0.0]])
    for k in range(1000):
        grid.add(here, here if k % 2 else np.empty((0, 2)))
    assert 0 < value(grid, 0.0, 0.0) < 100


def test_kept_grids_must_fit():
    good = np.ones((4, 5), np.uint8)
    grids = grids_from_state({"f0": (3, -2, good, good)}, [Floor("f0", 0, 0.0)])
    assert grids.grids["f0"].origin == pytest.approx((0.15, -0.1))
    with pytest.raises(ValueError, match="do not fit"):
        grids_from_state({"f0": (0, 0, good, good[:2])}, [])
