"""Maps as markers, clouds and grids; images and models of others' cameras; transforms."""

import math

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from coterie_core.geometry import Box
from coterie_fixtures.read_messages import camera_from_msg, cloud_from_msg
from coterie_ros import conversions
from coterie_ros.conversions import ConversionError
from coterie_world.scene import Floor, LabelBelief, Receptacle, Room, SceneGraph, SceneObject
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

HEAD = Header(frame_id="map")


def color_of(label):
    return (255, 0, len(label))


def scene():
    graph = SceneGraph(frame="flat")
    graph.add_floor(Floor("f1", 1, 3.0))
    graph.add_room(Room("r", "kitchen", "kitchen", "f1", [(0, 0), (4, 0), (4, 2), (0, 2)]))
    graph.add_room(Room("unknown", "attic", "attic", "f1"))
    labels = LabelBelief({"cup": 3.0, "vase": 1.0})
    graph.add_object(SceneObject("cup-1", labels, Box((1, 1, 4), (0.1, 0.2, 0.0), math.pi / 2)))
    return graph


def test_objects_as_markers():
    out = conversions.objects_to_markers(scene(), color_of)
    message = deserialize_message(serialize_message(out), MarkerArray)
    clear, box, name = message.markers
    assert clear.action == Marker.DELETEALL
    assert {m.header.frame_id for m in message.markers} == {"flat"}
    assert (box.ns, box.type) == ("boxes", Marker.CUBE)
    assert (box.scale.x, box.scale.y, box.scale.z) == pytest.approx((0.1, 0.2, 0.01))
    assert box.pose.orientation.z == pytest.approx(math.sqrt(0.5))
    assert (box.color.r, box.color.b) == pytest.approx((1.0, 3 / 255))
    assert name.text == "cup 75%\ncup-1"
    assert name.pose.position.z > 4.0


def test_surfaces_are_shown_as_thick_as_their_height_is_unsure():
    told = scene()
    for thing in told.objects.values():
        level = Box((1.0, 2.0, 0.7), (0.8, 0.4, 0.0), math.pi / 2.0)
        thing.receptacles = [Receptacle("a", level), Receptacle("b", level, variance=0.02**2)]
    flat, thick = (
        m for m in conversions.objects_to_markers(told, color_of).markers if m.ns == "surfaces"
    )
    assert (flat.scale.x, flat.scale.y, flat.scale.z) == pytest.approx((0.8, 0.4, 0.01))
    assert thick.scale.z == pytest.approx(0.04) and thick.id != flat.id
    assert thick.pose.position.z == pytest.approx(0.7)
    assert thick.pose.orientation.z == pytest.approx(math.sqrt(0.5))


def test_rooms_as_markers_and_rooms_without_outline_left_out():
    clear, outline, name = conversions.rooms_to_markers(scene(), color_of).markers
    assert clear.action == Marker.DELETEALL
    assert outline.type == Marker.LINE_STRIP
    corners = [(p.x, p.y) for p in outline.points]
    assert corners[0] == corners[-1] and len(corners) == 5
    assert all(p.z == pytest.approx(3.02) for p in outline.points)
    assert name.text == "kitchen" and (name.pose.position.x, name.pose.position.y) == (2.0, 1.0)


def test_points_of_things_with_colour_and_number():
    first = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    second = np.array([[7, 8, 9]], np.float32)
    out = conversions.instances_to_cloud([first, second], [(1, 2, 3), (255, 0, 0)], HEAD)
    assert cloud_from_msg(out) == pytest.approx(np.concatenate([first, second]))
    raw = np.frombuffer(out.data, np.uint32).reshape(3, 5)
    assert raw[:, 3].tolist() == [0x010203, 0x010203, 0xFF0000]
    assert raw[:, 4].tolist() == [1, 1, 2]
    assert [f.name for f in out.fields] == ["x", "y", "z", "rgb", "instance"]


def test_clouds_are_bounded_and_may_be_empty():
    many = [np.ones((1000, 3), np.float32)] * 5
    assert conversions.instances_to_cloud(many, [(0, 0, 0)] * 5, HEAD, most=500).width <= 500
    assert conversions.instances_to_cloud([], [], HEAD).width == 0
    with pytest.raises(ValueError, match="clouds of 5 things, colours of 1"):
        conversions.instances_to_cloud(many, [(0, 0, 0)], HEAD)


def test_grids_there_and_back():
    values = np.array([[-1, 0, 100], [50, -1, 3]], np.int8)
    out = conversions.grid_to_msg(values, 0.05, (1.0, -2.0, 3.0), HEAD)
    assert (out.info.width, out.info.height) == (3, 2)
    back, cell, origin = conversions.grid_from_msg(out)
    assert (back == values).all() and cell == pytest.approx(0.05) and origin == (1.0, -2.0, 3.0)
    out.info.width = 7
    with pytest.raises(ConversionError, match="data: expected 2 x 7 cells, got 6 cells"):
        conversions.grid_from_msg(out)
    bad = conversions.grid_to_msg(np.full((1, 1), -100, np.int8), 0.05, (0.0, 0.0, 0.0), HEAD)
    with pytest.raises(ConversionError, match="values from -1 to 100"):
        conversions.grid_from_msg(bad)


def image(encoding, pixels):
    message = Image(encoding=encoding, height=pixels.shape[0], width=pixels.shape[1])
    message.step = pixels.nbytes // pixels.shape[0]
    message.data = pixels.tobytes()
    return message


def test_depth_in_millimetres():
    depth = conversions.depth_from_msg(image("16UC1", np.array([[0, 1500], [4, 65535]], "<u2")))
    assert depth.dtype == np.float32 and depth == pytest.approx(
        np.array([[0, 1.5], [0.004, 65.535]])
    )
    metres = np.array([[0.5, np.nan]], "<f4")
    assert conversions.depth_from_msg(image("32FC1", metres))[0, 0] == 0.5
    with pytest.raises(ConversionError, match=r"encoding: expected 32FC1 \[m\], 16UC1"):
        conversions.depth_from_msg(image("rgb8", np.zeros((2, 2, 3), np.uint8)))


@pytest.mark.parametrize(
    ("encoding", "pixel", "rgb"),
    [
        ("rgb8", [1, 2, 3], [1, 2, 3]),
        ("bgr8", [1, 2, 3], [3, 2, 1]),
        ("rgba8", [1, 2, 3, 9], [1, 2, 3]),
        ("bgra8", [1, 2, 3, 9], [3, 2, 1]),
        ("mono8", [7], [7, 7, 7]),
        ("8UC1", [7], [7, 7, 7]),
    ],
)
def test_colour_in_all_orders(encoding, pixel, rgb):
    pixels = np.tile(np.array(pixel, np.uint8), (2, 3, 1))
    out = conversions.color_from_msg(image(encoding, pixels))
    assert out.shape == (2, 3, 3) and out[1, 2].tolist() == rgb


def test_absurd_images_are_refused():
    wide = Image(encoding="mono8", height=1, width=2**31, step=2**31)
    with pytest.raises(ConversionError, match="at most 8192 px"):
        conversions.image_from_msg(wide)
    with pytest.raises(ConversionError, match=r"expected one of rgb8, bgr8, .* 8UC1, got 32FC1"):
        conversions.color_from_msg(image("32FC1", np.zeros((1, 1), np.float32)))


@pytest.mark.parametrize(
    ("encoding", "why"),
    [
        ("8UC3", "the order of colors in its name, bgr8 or rgb8, got 8UC3"),
        ("8UC4", "the order of colors in its name, bgra8 or rgba8, got 8UC4"),
        ("yuv422_yuy2", "one of rgb8, bgr8, rgba8, bgra8, mono8, 8UC1, got yuv422_yuy2"),
    ],
)
def test_what_is_no_color_names_the_encodings_that_are(encoding, why):
    with pytest.raises(ConversionError, match=why):
        conversions.color_from_msg(image(encoding, np.zeros((2, 2, int(encoding[3])), np.uint8)))


def test_a_model_whose_middle_is_not_the_images():
    info = CameraInfo(width=640, height=480)
    info.k = [600.0, 0.0, 310.0, 0.0, 590.0, 245.0, 0.0, 0.0, 1.0]
    assert conversions.intrinsics_from_msg(info) == ((640, 480), (600.0, 590.0, 310.5, 245.5))
    info.k = [0.0] * 9
    with pytest.raises(ConversionError, match=r"k\[0\]"):
        conversions.intrinsics_from_msg(info)


def test_transforms_with_nonsense_are_refused():
    good = conversions.camera_transforms("r1", camera_from_msg(_info()), 2.0)
    found = conversions.transforms_from_msg(TFMessage(transforms=good))
    assert [(p, c) for p, c, *_ in found] == [
        ("r1/base_link", "r1/camera_link"),
        ("r1/camera_link", "r1/camera_optical_frame"),
    ]
    assert found[0][4] == 2.0
    good[1].transform.rotation.x = math.nan
    with pytest.raises(ConversionError, match=r"/tf, field transforms\[1\].rotation"):
        conversions.transforms_from_msg(TFMessage(transforms=good))


def _info():
    info = CameraInfo(width=64, height=48)
    info.k = [60.0, 0.0, 31.5, 0.0, 60.0, 23.5, 0.0, 0.0, 1.0]
    return info
