"""What a robot's own hand holds, told from what is in the house by where tf has the hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from coterie_core.detections import BoxDetection, ImageDetection, RgbdFrame
from coterie_core.geometry import Box
from coterie_core.transforms import TransformBuffer
from coterie_world.perception.frame_join import DepthImage
from coterie_world.perception.lift_options import LiftOptions
from coterie_world.perception.points import deprojected
from coterie_world.perception.registration import CameraModel
from robot_adapters.backends.base import in_tf
from robot_adapters.sensing.height_map import HeightMap
from robot_adapters.sensing.objects import boxes_of
from robot_adapters.sensing.own_arm import Grasped, OwnArm

LEVEL = (0.0, 0.0, 0.0, 1.0)
EYE = (-0.5, 0.5, -0.5, 0.5)  # optical frame: z ahead, x right, y down
# 0.6 m ahead of and 0.6 m below the camera is row 240 + 500.
MODEL = CameraModel((640, 1280), (500.0, 500.0, 320.0, 240.0))
HELD = (320.0, 740.0)
MUG = (0.08, 0.08, 0.1)


class Arm:
    """An arm that holds something, or nothing."""

    def __init__(self, grasped: Grasped | None, links: tuple[str, ...] = ()) -> None:
        self.grasped, self.links = grasped, links


def own_arm(grasped: Grasped | None = None, link: str = "hand") -> OwnArm:
    """Return that of a robot whose camera is 1 m high, the hand 0.6 m ahead of and below it."""
    transforms = TransformBuffer()
    for time in (4.0, 5.0):
        transforms.add("map", "base", (3.0, 2.0, 0.0), LEVEL, time)
    transforms.add("base", "camera", (0.0, 0.0, 1.0), EYE, 0.0, fixed=True)
    transforms.add("base", link, (0.6, 0.0, 0.4), LEVEL, 4.9)
    out = OwnArm(transforms)
    out.arm = Arm(grasped)
    return out


def boxed(u: float, v: float, width: int, height: int, label: str = "mug") -> ImageDetection:
    return ImageDetection(
        (round(u - width / 2), round(v - height / 2), width, height), {label: 0.9}
    )


@pytest.mark.parametrize(
    ("one", "stays"),
    [
        (boxed(*HELD, 70, 90), False),
        (boxed(340.0, 760.0, 60, 90, "cup"), False),  # under another name, not quite there
        (boxed(*HELD, 70, 90, "faucet"), False),  # a fixture, until somebody takes it down
        (boxed(*HELD, 70, 90, "table"), True),  # hands hold no furniture
        (boxed(*HELD, 600, 500, "box"), True),  # far larger than what is held
        (boxed(320.0, 300.0, 70, 90), True),  # another mug
    ],
)
def test_what_is_held_is_left_out_of_an_image(one: ImageDetection, stays: bool) -> None:
    hand = own_arm(Grasped(MUG, "hand"))
    assert (one in hand.in_image([one], "camera", MODEL)) is stays


@pytest.mark.parametrize(
    "hand",
    [own_arm(None), own_arm(Grasped(MUG, "hand"), link="gripper")],
    ids=["empty", "nobody tells where it is"],
)
def test_an_empty_hand_and_one_that_tf_does_not_have_leave_all_there(hand: OwnArm) -> None:
    one = boxed(*HELD, 70, 90)
    assert hand.in_image([one], "camera", MODEL) == (one,)
    solid = BoxDetection((0.0, 0.6, 0.6), LEVEL, MUG, {"mug": 0.9})
    assert hand.in_space([solid], "camera") == (solid,)


def test_without_a_camera_model_nothing_is_left_out_and_nothing_behind_the_camera() -> None:
    one = boxed(*HELD, 70, 90)
    hand = own_arm(Grasped(MUG, "hand"))
    assert hand.in_image([one], "camera", None) == (one,)
    behind = own_arm(Grasped(MUG, "hand", (-2.0, 0.0, 0.0)))
    assert behind.in_image([one], "camera", MODEL) == (one,)


@pytest.mark.parametrize(
    ("center", "size", "label", "stays"),
    [
        ((0.0, 0.6, 0.6), MUG, "mug", False),
        ((0.05, 0.55, 0.6), MUG, "cup", False),
        ((0.0, 0.6, 0.6), (0.9, 0.5, 0.5), "box", True),
        ((0.0, 0.6, 0.6), MUG, "table", True),
        ((0.0, 0.6, 1.0), MUG, "mug", True),
        ((0.0, 0.77, 0.97), (0.11, 0.43, 0.75), "mug", False),  # with the floor behind it
        ((0.0, 0.77, 0.97), (0.3, 0.43, 0.75), "bag", True),
        ((0.3, 0.77, 0.97), (0.11, 0.43, 0.75), "mug", True),  # beside the hand
    ],
)
@pytest.mark.parametrize("turned", [0.0, 1.3])
def test_what_is_held_is_left_out_in_space(center, size, label, stays, turned) -> None:
    middle = np.array([0.0, 0.6, 0.6])
    turn = Rotation.from_rotvec([0.0, turned, 0.0])
    center = tuple(middle + turn.apply(np.subtract(center, middle)))
    one = BoxDetection(center, tuple(turn.as_quat()), size, {label: 0.9})
    found = own_arm(Grasped(MUG, "hand")).in_space([one], "camera")
    assert (one in found) is stays


@pytest.mark.parametrize(
    ("link", "base", "frame"),
    [
        ("hand", "base_link", "hand"),
        ("hand", "rover/base_link", "rover/hand"),
        ("rover/hand", "rover/base_link", "rover/hand"),
    ],
)
def test_links_have_the_robots_name_in_front_where_its_base_has(link, base, frame) -> None:
    assert in_tf(link, base) == frame


def test_what_is_held_over_a_table_is_no_part_of_its_relief() -> None:
    hand = own_arm(Grasped(MUG, "hand"))
    middle, radius = hand.sphere("map")
    assert middle == pytest.approx((3.6, 2.0, 0.4))
    assert radius == pytest.approx(math.hypot(*MUG) / 2.0 + 0.08)
    # A camera straight above sees a table 0.3 m high, and the mug over its middle.
    depth = np.full((100, 100), 0.9, dtype=np.float32)
    depth[40:60, 40:60] = 0.8
    pose = np.array([[1, 0, 0, 3.6], [0, -1, 0, 2.0], [0, 0, -1, 1.2], [0, 0, 0, 1.0]], dtype=float)
    frame = RgbdFrame(depth, (100.0, 100.0, 50.0, 50.0), pose, time=1.0)
    table = Box((3.6, 2.0, 0.15), (0.8, 0.8, 0.3))
    with_it, without = HeightMap(), HeightMap()
    with_it.add(frame)
    without.add(frame, (middle, radius))
    assert with_it.height((3.6, 2.0, 0.3), table, 0.04) == pytest.approx(0.4, abs=0.02)
    assert without.height((3.6, 2.0, 0.3), table, 0.04) is None, "nobody sees what is below it"
    assert without.height((3.9, 2.0, 0.3), table, 0.04) == pytest.approx(0.3, abs=0.02)


def behind_the_hand(scale: int = 1) -> DepthImage:
    """Return what the camera sees: a board 1.5 m ahead, the mug before it, fingers around that."""
    depth = np.full((1280 // scale, 640 // scale), 1.5, dtype=np.float32)
    depth[690 // scale : 790 // scale, 280 // scale : 360 // scale] = 0.6
    depth[0, 0] = np.nan
    return DepthImage(depth, "camera", 4.9)


@pytest.mark.parametrize("scale", [1, 2])
def test_what_is_held_leaves_the_depth_and_nothing_else_does(scale: int) -> None:
    hand = own_arm(Grasped(MUG, "hand"))
    image = behind_the_hand(scale)
    before, after = image.pixels(), hand.cleared(image, MODEL).pixels()
    assert (before == np.float32(0.6)).any() and not (after == np.float32(0.6)).any()
    held = before == np.float32(0.6)
    assert (after[held] == 0.0).all()
    np.testing.assert_array_equal(after[~held], before[~held])


@pytest.mark.parametrize(
    "hand",
    [
        own_arm(None),
        own_arm(Grasped(MUG, "hand"), link="gripper"),
        own_arm(Grasped(MUG, "hand", (-2.0, 0.0, 0.0))),
        own_arm(Grasped(MUG, "hand", (0.0, 5.0, 0.0))),
    ],
    ids=["empty", "nobody tells where it is", "behind the camera", "beside the image"],
)
def test_depth_stays_where_nothing_is_held_in_view(hand: OwnArm) -> None:
    image = behind_the_hand()
    np.testing.assert_array_equal(hand.cleared(image, MODEL).pixels(), image.pixels())


def test_a_hand_at_the_camera_hides_the_whole_image_and_breaks_nothing() -> None:
    hand = own_arm(Grasped(MUG, "hand", (-0.55, 0.0, 0.6)))
    near = DepthImage(np.full((1280, 640), 0.05, dtype=np.float32), "camera", 4.9)
    assert (hand.cleared(near, MODEL).pixels()[200:280, 280:360] == 0.0).all()


def test_furniture_behind_the_hand_is_not_taken_for_where_the_hand_is() -> None:
    """A tub was found half a meter before the tub: there the hand held a remote control."""
    hand, image = own_arm(Grasped(MUG, "hand")), behind_the_hand()
    tub = boxed(320.0, 740.0, 260, 300, "bathtub")
    for cleared, away in ((False, 0.6), (True, 1.5)):
        depth = (hand.cleared(image, MODEL) if cleared else image).pixels()
        frame = RgbdFrame(depth, MODEL.intrinsics, np.eye(4), time=4.9)
        (found,) = boxes_of(frame, (tub,), LiftOptions(near=0.3, far=5.0))
        assert found.box.center[2] == pytest.approx(away, abs=0.1)


def test_the_arm_itself_leaves_the_depth_and_what_is_next_to_it_stays() -> None:
    hand = own_arm()
    hand.arm = Arm(None, ("base", "nowhere", "hand"))
    (forearm,) = hand.capsules("camera")  # a link that tf does not have is left out
    start, end, radius = forearm.start, forearm.end, forearm.radius
    assert (start, end) == (pytest.approx((0.0, 1.0, 0.0)), pytest.approx((0.0, 0.6, 0.6)))
    # The forearm's upper side, and a board behind it.
    depth = np.full((1280, 640), 1.5, dtype=np.float32)
    depth[800:900, 310:330] = 0.5
    depth[0:10] = np.nan
    image = DepthImage(depth, "camera", 4.9)
    after = hand.cleared(image, MODEL).pixels()
    v, u = np.nonzero(depth == np.float32(0.5))
    points = deprojected(u, v, depth[v, u], MODEL.intrinsics)
    # Points of the line one by one, as something else than the code that is tested.
    line = start + np.linspace(0.0, 1.0, 400)[:, None] * np.subtract(end, start)
    near = np.array([np.linalg.norm(line - point, axis=1).min() <= radius for point in points])
    assert 0.2 < near.mean() < 0.9, "the test holds both kinds"
    np.testing.assert_array_equal(after[v, u] == 0.0, near)
    np.testing.assert_array_equal(after[depth == np.float32(1.5)], 1.5)
