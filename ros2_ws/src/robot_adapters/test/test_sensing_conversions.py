"""vision_msgs and compressed images as real cameras and detectors send them."""

import math
import struct

import numpy as np
import pytest

from coterie_fixtures.packed_images import encode_color, encode_depth

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")
msgs = pytest.importorskip("vision_msgs.msg", reason="needs ./coterie setup --with robots")


def boxes(**changes):
    from coterie_ros import conversions

    message = msgs.Detection3DArray(header=conversions.header(4.0, "head_optical"))
    one = msgs.Detection3D()
    one.bbox.center.position.x, one.bbox.center.position.z = 0.5, changes.get("z", 2.0)
    one.bbox.center.orientation.w = changes.get("w", 1.0)
    one.bbox.size.x, one.bbox.size.y, one.bbox.size.z = 0.2, 0.3, changes.get("size", 0.4)
    for class_id, score in (("7", 0.6), ("8", 0.3)):
        result = msgs.ObjectHypothesisWithPose()
        result.hypothesis.class_id, result.hypothesis.score = class_id, score
        one.results.append(result)
    message.detections.append(one)
    return message


def test_boxes_in_space_with_labels_of_a_label_info():
    from coterie_ros import conversions

    table = msgs.LabelInfo(
        class_map=[msgs.VisionClass(class_id=7, class_name="fire extinguisher")], threshold=0.2
    )
    labels = conversions.labels_from_msg(table)
    assert labels == {"7": "fire extinguisher"}
    found = conversions.boxes_from_vision_msg(boxes(), labels=labels)
    assert (found.time, found.frame) == (4.0, "head_optical")
    (one,) = found.boxes
    assert one.center == (0.5, 0.0, 2.0) and one.size == (0.2, 0.3, 0.4)
    assert one.scores == pytest.approx({"fire extinguisher": 0.6, "8": 0.3})


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"z": math.nan}, "center.position.z"),
        ({"w": 0.0}, "center.orientation"),
        ({"size": 0.0}, "size.z"),
    ],
)
def test_boxes_that_cannot_be_are_refused_by_name_of_the_field(changes, field):
    from coterie_ros import conversions

    with pytest.raises(conversions.ConversionError, match=rf"detections\[0\]\.bbox\.{field}"):
        conversions.boxes_from_vision_msg(boxes(**changes))


def test_a_label_table_without_names_is_refused():
    from coterie_ros import conversions

    with pytest.raises(conversions.ConversionError, match="class_name"):
        conversions.labels_from_msg(msgs.LabelInfo(class_map=[msgs.VisionClass(class_id=1)]))


def test_boxes_in_images_of_the_real_type():
    from coterie_ros import conversions

    message = msgs.Detection2DArray(header=conversions.header(1.0, "cam"))
    one = msgs.Detection2D()
    one.bbox.center.position.x, one.bbox.center.position.y = 30.0, 20.0
    one.bbox.size_x, one.bbox.size_y = 10.0, 4.0
    result = msgs.ObjectHypothesisWithPose()
    result.hypothesis.class_id, result.hypothesis.score = "cup", 0.75
    one.results.append(result)
    message.detections.append(one)
    (found,) = conversions.detections_from_vision_msg(message).detections
    assert found.box == (25, 18, 10, 4) and found.scores == {"cup": 0.75}


def compressed(data: bytes, form: str):
    from sensor_msgs.msg import CompressedImage

    from coterie_ros import conversions

    message = CompressedImage(header=conversions.header(1.0, "cam"), format=form)
    message.data = data
    return message


@pytest.mark.parametrize("form", ["png", "jpg"])
def test_compressed_colors(form):
    from coterie_ros import conversions

    color = np.zeros((20, 30, 3), np.uint8)
    color[:, :, 0] = 200
    read = conversions.color_from_msg(compressed(encode_color(color, form), f"rgb8; {form}"))
    assert read.shape == (20, 30, 3)
    assert abs(int(read[5, 5, 0]) - 200) < 6 and read[5, 5, 2] < 6


def test_compressed_depth_of_16_bits_and_of_floats_with_its_header_of_12_bytes():
    from coterie_ros import conversions

    depth = np.full((20, 30), 1.5, np.float32)
    depth[3, 4] = 0.0
    png = encode_depth(depth)
    header = struct.pack("<iff", 0, 0.0, 0.0)
    plain = compressed(header + png, "16UC1; compressedDepth png")
    assert conversions.depth_from_msg(plain)[5, 5] == pytest.approx(1.5)
    assert conversions.depth_from_msg(plain)[3, 4] == 0.0
    # Quantized inverse depth, as compressed_depth_image_transport packs 32FC1.
    a, b = 1000.0, 100.0
    inverse = np.round(a / np.maximum(depth, 1e-9) + b)
    inverse[3, 4] = 0.0
    packed = encode_depth(inverse.astype(np.float32) * 1e-3)
    floats = compressed(struct.pack("<iff", 0, a, b) + packed, "32FC1; compressedDepth png")
    assert conversions.depth_from_msg(floats)[5, 5] == pytest.approx(1.5, abs=2e-3)
    assert conversions.depth_from_msg(floats)[3, 4] == 0.0


def test_half_of_a_compressed_image_is_refused():
    from coterie_ros import conversions

    png = encode_depth(np.full((20, 30), 1.5, np.float32))
    with pytest.raises(conversions.ConversionError, match=r"damaged or cut off|neither a PNG"):
        conversions.depth_from_msg(compressed(png[: len(png) // 2], "16UC1; compressedDepth png"))


def test_a_grid_that_is_turned_is_refused_with_the_angle():
    from nav_msgs.msg import OccupancyGrid

    from coterie_ros import conversions

    head = conversions.header(1.0, "map")
    message = conversions.grid_to_msg(np.zeros((4, 5), np.int8), 0.05, (1.0, 2.0, 0.0), head)
    assert isinstance(message, OccupancyGrid)
    message.info.origin.orientation.z = math.sin(0.2)
    message.info.origin.orientation.w = math.cos(0.2)
    with pytest.raises(conversions.ConversionError, match=r"a turn by 0\.400 rad"):
        conversions.grid_from_msg(message)
    message.info.origin.orientation.z = message.info.origin.orientation.w = 0.0
    assert conversions.grid_from_msg(message)[2] == (1.0, 2.0, 0.0)
