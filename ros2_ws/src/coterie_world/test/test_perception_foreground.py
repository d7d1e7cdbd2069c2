"""Boxes without masks, and boxes in space: depth tells the thing from what lies behind it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from coterie_core.detections import BoxDetection, ImageDetection
from coterie_fixtures.drawn_scenes import INTRINSICS, pitched, view
from coterie_world.perception.backprojection import lift
from coterie_world.perception.boxes import masked
from coterie_world.perception.lift_options import LiftOptions

FLOOR = ((-5.0, -5.0, -0.1), (9.0, 9.0, 0.0))
WALL = ((4.0, -5.0, 0.0), (4.1, 9.0, 2.5))
SIDE_WALL = ((-5.0, 3.0, 0.0), (9.0, 3.1, 2.5))
TABLE = ((2.4, -0.6, 0.0), (3.2, 0.6, 0.75))
ROOM = {"floor": FLOOR, "wall": WALL, "side wall": SIDE_WALL}


POSES = [
    pitched(0.0, 0.0, 1.4, 0.0, 0.3),
    pitched(0.8, -2.0, 1.2, 0.9, 0.3),
    pitched(1.0, 1.9, 1.5, -0.75, 0.3),
]


def seen(boxes, pose, label):
    frame, found = view({**ROOM, **boxes}, pose)
    (one,) = (d for d in found if d.label == label)
    return frame, one


def corners(frame, detection):
    (one,) = lift(frame, [detection], LiftOptions(far=6.0))
    return np.array([one.points.min(axis=0), one.points.max(axis=0)])


@pytest.mark.parametrize("pose", POSES)
def test_floor_and_walls_around_a_box_are_no_part_of_the_thing(pose):
    frame, drawn = seen({"table": TABLE}, pose, "table")
    plain = ImageDetection(drawn.box, drawn.scores)
    assert np.abs(corners(frame, plain) - corners(frame, drawn)).max() < 0.1


def test_a_table_that_stands_in_a_corner_is_told_from_both_walls():
    corner = ((3.2, 1.8, 0.0), (4.0, 3.0, 0.75))
    frame, drawn = seen({"table": corner}, pitched(0.8, 0.8, 1.4, 0.6, 0.3), "table")
    plain = ImageDetection(drawn.box, drawn.scores)
    assert np.abs(corners(frame, plain) - corners(frame, drawn)).max() < 0.1


def test_what_stands_before_a_thing_and_goes_on_beyond_its_box_is_not_it():
    """A board hides the middle of the table, from the floor to eye level."""
    board = ((1.5, -0.2, 0.0), (1.6, 0.2, 1.6))
    frame, drawn = seen({"table": TABLE, "board": board}, POSES[0], "table")
    low, _ = corners(frame, ImageDetection(drawn.box, drawn.scores))
    assert low[0] > 2.2


def test_what_stands_on_a_table_is_told_from_it():
    mug = ((2.7, -0.05, 0.75), (2.8, 0.05, 0.87))
    frame, drawn = seen({"table": TABLE, "mug": mug}, pitched(1.2, 0.0, 1.4, 0.0, 0.4), "mug")
    plain = ImageDetection(drawn.box, drawn.scores)
    assert np.abs(corners(frame, plain) - corners(frame, drawn)).max() < 0.04


@pytest.mark.parametrize(
    ("label", "box"),
    [
        ("rug", ((2.0, -0.6, 0.0), (3.0, 0.6, 0.005))),
        ("picture", ((3.98, -0.4, 1.0), (4.0, 0.4, 1.6))),
    ],
)
def test_what_lies_in_the_plane_itself_is_kept(label, box):
    frame, drawn = seen({label: box}, pitched(0.0, 0.0, 1.4, 0.0, 0.2), label)
    plain = ImageDetection(drawn.box, drawn.scores)
    inside = corners(frame, drawn)
    found = corners(frame, plain)
    assert (found[0] <= inside[0] + 0.05).all() and (found[1] >= inside[1] - 0.05).all()


def test_a_front_that_goes_on_beside_a_thing_is_kept_where_things_lie_behind():
    """A stove in a row of cabinets: their common front is no wall, the top lies behind it."""
    row = {
        "cabinet#1": ((3.4, -2.0, 0.0), (4.0, -0.3, 0.9)),
        "stove": ((3.4, -0.3, 0.0), (4.0, 0.3, 0.9)),
        "cabinet#2": ((3.4, 0.3, 0.0), (4.0, 2.0, 0.9)),
    }
    frame, drawn = seen(row, pitched(1.6, 0.0, 1.5, 0.0, 0.4), "stove")
    plain = ImageDetection(drawn.box, drawn.scores)
    assert np.abs(corners(frame, plain) - corners(frame, drawn)).max() < 0.1


NEIGHBORS = {
    "oven": ((2.0, 0.3, 0.0), (2.6, 0.9, 0.9)),
    "dishwasher": ((2.0, -0.33, 0.0), (2.6, 0.27, 0.9)),
    "kettle": ((2.2, 0.5, 0.9), (2.35, 0.65, 1.15)),
}


def test_of_whom_a_strip_is_that_two_boxes_show_is_left_open():
    """A dishwasher's side was taken for the oven's, and a faucet was put there (51301)."""
    frame, drawn = view({**ROOM, **NEIGHBORS}, pitched(0.6, 1.5, 1.2, -0.6, 0.3))
    plain = [ImageDetection(one.box, one.scores) for one in drawn if one.label in NEIGHBORS]
    alone = [lift(frame, [one], LiftOptions(far=6.0))[0] for one in plain]
    for one, before in zip(lift(frame, plain, LiftOptions(far=6.0)), alone, strict=True):
        low, high = (np.array(corner) for corner in NEIGHBORS[one.detection.label])
        over = max((low - one.points.min(axis=0)).max(), (one.points.max(axis=0) - high).max())
        assert over < 0.06
        if one.detection.label == "kettle":
            assert one.shared is None, "what stands on an oven is not the oven's"
            assert one.points.tolist() == before.points.tolist()
        else:
            assert one.shared is not None and not one.drawn


def test_of_what_is_behind_a_box_keeps_nothing_that_is_of_what_stands_before_it():
    """A stove became a dishwasher's lower half, and a candle was put there (51308)."""
    frame, drawn = view({**ROOM, **NEIGHBORS}, pitched(0.6, 1.5, 1.2, -0.6, 0.3))
    oven = next(one for one in drawn if one.label == "oven")
    u, v, width, height = oven.box
    behind = ImageDetection((u, v + height // 2, width // 3, height // 2), {"dishwasher": 0.9})
    plain = ImageDetection(oven.box, oven.scores)
    found = lift(frame, [plain, behind], LiftOptions(far=6.0))
    assert [one.detection.label for one in found] == ["oven"]
    thing = replace(behind, scores={"mug": 0.9})
    assert len(lift(frame, [plain, thing], LiftOptions(far=6.0))) == 2, "a small one stands there"


def test_two_detections_of_one_thing_leave_it_whole():
    frame, drawn = seen({"table": TABLE}, POSES[0], "table")
    boxes = [ImageDetection(drawn.box, {label: 0.9}) for label in ("table", "desk")]
    assert [one.shared for one in lift(frame, boxes, LiftOptions(far=6.0))] == [None, None]


def test_a_box_without_depth_has_no_mask_and_no_points():
    frame, drawn = seen({"table": TABLE}, POSES[0], "table")
    frame.depth[:] = math.nan
    assert lift(frame, [ImageDetection(drawn.box, drawn.scores)], LiftOptions()) == []


@pytest.mark.parametrize("pose", POSES)
def test_a_box_along_the_cameras_axes_is_narrowed_by_depth(pose):
    """Detectors in space often give boxes that stand as the camera does: around, not along."""
    frame, drawn = seen({"table": TABLE}, pose, "table")
    u, v, width, height = drawn.box
    depth = frame.depth[v : v + height, u : u + width]
    rows, cols = np.nonzero(drawn.mask)
    z = depth[rows, cols]
    fx, fy, cx, cy = INTRINSICS
    points = np.stack([(cols + u + 0.5 - cx) / fx * z, (rows + v + 0.5 - cy) / fy * z, z])
    low, high = points.min(axis=1), points.max(axis=1)
    middle, size = tuple((low + high) / 2.0), tuple(high - low)
    box = BoxDetection(middle, (0.0, 0.0, 0.0, 1.0), size, drawn.scores)
    behind = BoxDetection((0.0, 0.0, -2.0), (0.0, 0.0, 0.0, 1.0), size, drawn.scores)
    (found,) = masked(frame, [behind, box], np.eye(4))
    ends, true = corners(frame, found), corners(frame, drawn)
    assert np.abs(ends - true).max() < 0.12
    # The upright box about it is what there would be without depth.
    signs = np.array([(a, b, c) for a in (low, high) for b in (low, high) for c in (low, high)])
    hull = np.stack([signs[:, k, k] for k in range(3)], axis=1) @ pose[:3, :3].T + pose[:3, 3]
    assert np.prod(np.ptp(ends, axis=0)) < 0.9 * np.prod(np.ptp(hull, axis=0))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("center", [(1e308, 1e308, 1e308), (1e308, 0.0, 1.0), (0.0, 0.0, 1e-300)])
def test_boxes_beyond_all_measure_show_nothing_and_break_nothing(center):
    frame, drawn = seen({"table": TABLE}, POSES[0], "table")
    far = BoxDetection(center, (0.0, 0.0, 0.0, 1.0), (1e-6, 1e-6, 1e-6), drawn.scores)
    assert masked(frame, [far], np.eye(4)) == []


HALL = {"floor": FLOOR, "wall": ((8.0, -5.0, 0.0), (8.1, 9.0, 2.5))}
JAMB = ((1.5, -0.9, 0.0), (1.6, 0.05, 2.2))
"""It hides half of what stands in the hall behind it."""


@pytest.mark.parametrize("measured", [20.0, 5.0])
@pytest.mark.parametrize("masked", [True, False])
def test_what_is_far_away_is_not_where_something_stands_before_it(measured, masked):
    """A plant in the next room, of which the jamb of a door hides a part."""
    plant = ((6.0, -0.6, 0.0), (6.6, 0.8, 1.8))
    frame, found = view({**HALL, "jamb": JAMB, "plant": plant}, pitched(0.0, 0.0, 1.2, 0.0, 0.1))
    frame = replace(frame, depth=np.where(frame.depth > measured, np.inf, frame.depth))
    (one,) = (d for d in found if d.label == "plant")
    left, top, width, height = one.box
    mask = np.zeros((height, width + 4), dtype=bool)
    mask[:, : width if masked else width + 4] = one.mask if masked else True
    loose = ImageDetection((left, top, width + 4, height), one.scores, mask if masked else None)
    assert lift(frame, [loose], LiftOptions(far=4.0)) == []
    if measured > 7.0:
        (there,) = lift(frame, [loose], LiftOptions(far=7.0))
        assert there.points[:, 0].min() > 5.9 and there.points[:, 0].max() < 6.7


def test_a_far_wall_takes_nothing_away_from_what_is_near():
    plant = ((3.0, -0.6, 0.0), (3.2, 0.8, 1.2))
    frame, found = view({**HALL, "jamb": JAMB, "plant": plant}, pitched(0.0, 0.0, 1.2, 0.0, 0.1))
    (one,) = (d for d in found if d.label == "plant")
    for depth in (frame.depth, np.where(frame.depth > 5.0, np.inf, frame.depth)):
        (there,) = lift(replace(frame, depth=depth), [ImageDetection(one.box, one.scores)],
                        LiftOptions(far=4.0))  # fmt: skip
        assert there.points[:, 0].min() > 2.9 and there.points[:, 0].max() < 3.3
