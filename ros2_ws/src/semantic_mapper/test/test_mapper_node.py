"""The mapper node over real ROS: what it publishes, late listeners, faults, restarts, merging."""

from __future__ import annotations

import json
import math
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Quaternion, Transform, TransformStamped, Vector3
from nav_msgs.msg import OccupancyGrid
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from coterie_core.detections import BoxDetection
from coterie_core.embodiment import Camera
from coterie_fixtures.drawn_scenes import COLS, FOCAL, MUG, ROWS, SIDES, TABLE, looking, view
from coterie_fixtures.packed_images import encode_color, encode_depth
from coterie_msgs.msg import ImageDetections, SemanticMap
from coterie_msgs.srv import SaveMap
from coterie_ros import conversions
from coterie_ros.pictures import SHOW, SHOWN, Wanted, WantedThing, shown_as
from coterie_ros.qos import profile
from coterie_world.perception import frame_join
from coterie_world.scene import Floor, Room, SceneGraph
from semantic_mapper.node import MapperNode
from tf2_msgs.msg import TFMessage

pytestmark = [pytest.mark.ros, pytest.mark.quick]

OPTICAL = "r1/camera_optical_frame"
CAMERA = Camera(width=COLS, height=ROWS, hfov=2 * float(np.arctan(COLS / (2 * FOCAL))))
HOUSE = {"table": TABLE, "mug": MUG}
QUICK = {"publish_period": 0.1, "points_period": 0.1, "diagnostics_period": 0.1}


class Seer:
    """A robot's camera and detector: publishes drawn frames of a house."""

    def __init__(self, ros: Any, robot: str = "r1") -> None:
        self.ros, self.node = ros, ros.node(f"seer_{robot}")
        make, base = self.node.create_publisher, f"{robot}/camera"
        sensor = profile("sensor_data")
        self.depth = make(Image, f"{base}/depth/image_raw", sensor)
        self.info = make(CameraInfo, f"{base}/depth/camera_info", sensor)
        self.found = make(ImageDetections, f"{base}/detections", profile("detections"))
        self.tf = make(TFMessage, "/tf", profile("tf"))
        self.time = 0.0

    def wait(self) -> None:
        self.ros.wait_for_matched(self.depth, self.info, self.found, self.tf)

    def boxes(self) -> Any:
        """Return a publisher of boxes in space that the mapper hears, as it does all others."""
        vision = pytest.importorskip("vision_msgs.msg")
        kind, qos = vision.Detection3DArray, profile("detections")
        made = self.node.create_publisher(kind, "r1/camera/boxes", qos)
        self.wait()
        self.ros.wait_for_matched(made)
        return made

    def look(self, side: int, boxes: Any = HOUSE, *, transform: bool = True) -> ImageDetections:
        """Publish a frame with its transform; return the message of its detections."""
        self.time += 1.0
        frame, found = view(boxes, SIDES[side])
        head = conversions.header(self.time, OPTICAL)
        self.info.publish(conversions.camera_info_to_msg(CAMERA, head))
        self.depth.publish(conversions.image_to_msg(frame.depth, head))
        message = conversions.detections_to_msg(found, head, (COLS, ROWS))
        self.found.publish(message)
        if transform:
            self.tf.publish(TFMessage(transforms=[self.pose(frame.camera_to_map)]))
        return message

    def pose(self, matrix: Any) -> TransformStamped:
        x, y, z, w = Rotation.from_matrix(matrix[:3, :3]).as_quat().tolist()
        return TransformStamped(
            header=conversions.header(self.time, "map"),
            child_frame_id=OPTICAL,
            transform=Transform(
                translation=Vector3(**dict(zip("xyz", matrix[:3, 3].tolist(), strict=True))),
                rotation=Quaternion(x=x, y=y, z=z, w=w),
            ),
        )


def start(ros: Any, name: str = "mapper", **parameters: Any) -> MapperNode:
    node = MapperNode(
        name, context=ros.context, parameters={"robots": ["r1"], **QUICK, **parameters}
    )
    ros.add(node)
    ros.wait_active(node)
    return node


class Ear:
    """Keeps the last message of each topic."""

    def __init__(self, ros: Any) -> None:
        self.ros, self.got = ros, {}
        self.node = ros.node("ear")

    def hear(self, kind: Any, topic: str, qos: str = "latched") -> None:
        def keep(message: Any) -> None:
            self.got[topic] = message

        self.node.create_subscription(kind, topic, keep, profile(qos))

    def scene(self, topic: str = "semantic_map") -> SceneGraph:
        return conversions.scene_from_msg(self.got[topic])

    def labels(self, topic: str = "semantic_map") -> list[str]:
        if topic not in self.got:
            return []
        return sorted(t.label.top for t in self.scene(topic).objects.values())


def rooms(frame: str = "map") -> SceneGraph:
    graph = SceneGraph(frame=frame)
    graph.add_floor(Floor("f0", 0, 0.0))
    graph.add_room(Room("r", "kitchen", "kitchen", "f0", [(0, -4), (6, -4), (6, 4), (0, 4)]))
    return graph


def frames(node: MapperNode) -> int:
    return node.worker.done


def test_a_late_listener_gets_the_whole_map_and_it_can_be_saved(ros: Any, tmp_path: Path) -> None:
    prior = ros.node("prior").create_publisher(SemanticMap, "prior_map", profile("latched"))
    prior.publish(conversions.scene_to_msg(rooms()))
    node = start(ros, state_directory=str(tmp_path))
    seer = Seer(ros)
    seer.wait()
    for k in range(6):
        seer.look(k % 3)
        ros.spin_until(lambda k=k: frames(node) == k + 1, what="a frame to be mapped")
    ros.spin_until(lambda: node.builder.has_prior and node._pictured == node.builder.version)
    ear = Ear(ros)
    ear.hear(SemanticMap, "semantic_map")
    ear.hear(MarkerArray, "semantic_map/markers")
    ear.hear(MarkerArray, "semantic_map/rooms")
    ear.hear(PointCloud2, "semantic_map/points")
    ear.hear(OccupancyGrid, "semantic_map/grid/f0")
    ros.spin_until(lambda: len(ear.got) == 5 and ear.labels() == ["mug", "table"])
    scene = ear.scene()
    assert {t.room for t in scene.objects.values()} == {"r"}
    (table,) = (t for t in scene.objects.values() if t.label.top == "table")
    assert table.box.center == pytest.approx((2.4, 0.0, 0.375), abs=0.06)
    assert table.last_seen is not None and table.last_seen.robot == "r1"
    markers = ear.got["semantic_map/markers"].markers
    assert markers[0].action == Marker.DELETEALL
    assert {m.ns for m in markers[1:]} == {"boxes", "names", "surfaces"}
    assert any("mug" in m.text for m in markers)
    assert [m.ns for m in ear.got["semantic_map/rooms"].markers[1:]] == ["rooms", "room_names"]
    cloud = ear.got["semantic_map/points"]
    assert cloud.width > 100 and [f.name for f in cloud.fields][-2:] == ["rgb", "instance"]
    values, cell, origin = conversions.grid_from_msg(ear.got["semantic_map/grid/f0"])
    at = (np.array([0.0, 2.4]) - origin[1::-1]) / cell  # row and column of the table's middle
    row, column = (int(v) for v in at)
    assert values[row - 4 : row + 5, column - 4 : column + 5].max() == 100
    client = ear.node.create_client(SaveMap, "save_map")
    ros.wait_for_matched(client)
    done = ros.result(client.call_async(SaveMap.Request(name="house.json")))
    assert done.success and (tmp_path / "maps" / "house.json").stat().st_size > 500
    refused = ros.result(client.call_async(SaveMap.Request(name="../house.json")))
    assert not refused.success and "without a folder" in refused.message


def test_faults_are_dropped_and_told_and_the_rest_is_mapped(ros: Any) -> None:
    node = start(ros, transform_patience=2.0)
    ear = Ear(ros)
    ear.hear(SemanticMap, "semantic_map")
    ear.hear(DiagnosticArray, "/diagnostics", "diagnostics")
    seer = Seer(ros)
    seer.wait()
    bad = seer.look(0)
    ros.spin_until(lambda: frames(node) == 1)
    bad.header = conversions.header(50.0, OPTICAL)
    bad.detections[0].mask = [1, 2, 3]
    assert len(bad.detections) > 1
    seer.found.publish(bad)
    skipped, invalid = (f"r1/camera/detections.{kind}" for kind in ("skipped", "invalid"))
    ros.spin_until(lambda: node.diagnostics.counter(skipped) == 1, what="what was left out")
    assert node.diagnostics.counter(invalid) == 0
    del bad.detections[1:]
    seer.found.publish(bad)
    ros.spin_until(lambda: node.diagnostics.counter(invalid) == 1, what="the refusal")
    seer.look(1, transform=False)
    ros.spin_until(lambda: node.diagnostics.counter("dropped_no_transform") == 1)
    wrong = seer.look(2)  # its image is of another size than it says
    ros.spin_until(lambda: frames(node) == 2)
    seer.time = 60.0
    seer.tf.publish(TFMessage(transforms=[seer.pose(SIDES[2])]))
    head = conversions.header(seer.time, OPTICAL)
    wrong.header, wrong.image_width = head, 2 * COLS
    seer.depth.publish(conversions.image_to_msg(np.ones((ROWS, COLS), np.float32), head))
    seer.found.publish(wrong)
    ros.spin_until(lambda: node.diagnostics.counter("dropped_invalid") == 1)
    seer.look(0)
    ros.spin_until(lambda: ear.labels() == ["mug", "table"])

    def told() -> dict[str, str]:
        message = ear.got.get("/diagnostics", DiagnosticArray())
        return {v.key: v.value for s in message.status for v in s.values}

    ros.spin_until(lambda: told().get("map.frames") == "3")
    assert [told()[k] for k in (invalid, "dropped_no_transform", "dropped_invalid")] == ["1"] * 3
    assert "do not show the same" in told()["last_error"]


def test_a_mapper_that_was_killed_goes_on(ros: Any, tmp_path: Path) -> None:
    settings = {**QUICK, "robots": "[r1]", "state_directory": tmp_path, "save_period": 0.5}
    arguments = [word for k, v in settings.items() for word in ("-p", f"{k}:={v}")]
    process = ros.start_process(
        [sys.executable, "-m", "semantic_mapper.node", "--ros-args", *arguments]
    )
    ear = Ear(ros)
    ear.hear(SemanticMap, "semantic_map")
    seer = Seer(ros)
    seer.wait()
    state = tmp_path / "mapper.npz"

    def mapped() -> bool:
        seer.look(int(seer.time) % 2)
        ros.spin(0.1)
        return ear.labels() == ["mug", "table"] and state.exists()

    ros.spin_until(mapped)
    # What is kept follows what is published; the last frame is in it before long.
    before = state.stat().st_mtime_ns
    ros.spin_until(lambda: mapped() and state.stat().st_mtime_ns != before)
    process.kill()
    first = ear.scene()
    ear.got.clear()
    node = start(ros, state_directory=str(tmp_path))
    ros.spin_until(lambda: ear.labels() == ["mug", "table"], what="the map without a new frame")
    assert frames(node) == 0
    assert set(ear.scene().objects) == set(first.objects)


def test_maps_of_several_mappers_are_merged_but_not_over_frames(ros: Any) -> None:
    node = start(ros, "team_mapper", merge=True, robots=["r1", "r2", "r3"])
    one = start(ros, "mapper_r1", output="r1")
    ear = Ear(ros)
    ear.hear(SemanticMap, "semantic_map")
    other = ros.node("others")
    scene = rooms()
    maps = {
        robot: other.create_publisher(SemanticMap, f"{robot}/semantic_map", profile("latched"))
        for robot in ("r2", "r3")
    }
    seer = Seer(ros)
    seer.wait()
    for k in range(3):
        seer.look(k)
        ros.spin_until(lambda k=k: frames(one) == k + 1)
    maps["r2"].publish(conversions.scene_to_msg(scene))
    maps["r3"].publish(conversions.scene_to_msg(rooms("r3/odom")))
    ros.spin_until(lambda: ear.labels() == ["mug", "table"] and list(ear.scene().rooms) == ["r"])
    mistake = "r3/semantic_map.other_frame"
    ros.spin_until(lambda: node.diagnostics.counter(mistake) == 1)
    text = node.diagnostics.status().message
    assert "two maps in different frames" in text and "'r3/odom'" in text
    assert node.team is not None and node.team.robots == ("r1", "r2")


def test_boxes_of_a_detector_in_space_are_mapped_with_their_color(ros: Any) -> None:
    pytest.importorskip("vision_msgs.msg")
    node = start(ros, boxes_topic="{robot}/{camera}/boxes")
    ear = Ear(ros)
    ear.hear(SemanticMap, "semantic_map")
    seer = Seer(ros)
    boxes = seer.boxes()
    color = seer.node.create_publisher(Image, "r1/camera/color/image_raw", profile("sensor_data"))
    ros.wait_for_matched(color)
    for k in range(4):
        seer.time += 1.0
        head = conversions.header(seer.time, OPTICAL)
        seer.tf.publish(TFMessage(transforms=[seer.pose(SIDES[0])]))
        seer.info.publish(conversions.camera_info_to_msg(CAMERA, head))
        red = np.full((ROWS, COLS, 3), (200, 20, 20), np.uint8)
        found = BoxDetection((0.0, 0.1, 2.0), (0.0, 0.0, 0.0, 1.0), (0.3, 0.2, 0.1), {"vase": 0.9})
        found_first = k % 2 == 1  # the color image comes before the boxes, or after them
        if found_first:
            boxes.publish(conversions.boxes_to_vision_msg([found], head))
            ros.spin_until(lambda: len(node._inlets[0].join._waiting) == 1)
        color.publish(conversions.image_to_msg(red, head))
        ros.spin_until(lambda: node._inlets[0].join.pairs.color_at(seer.time) is not None)
        if not found_first:
            boxes.publish(conversions.boxes_to_vision_msg([found], head))
        ros.spin_until(lambda k=k: frames(node) == k + 1, what="the boxes to be mapped")
    ros.spin_until(lambda: ear.labels() == ["vase"])
    (vase,) = ear.scene().objects.values()
    expected = (SIDES[0] @ np.array([0.0, 0.1, 2.0, 1.0]))[:3]
    assert vase.box.center == pytest.approx(tuple(expected), abs=0.02)
    assert sorted(vase.box.size) == pytest.approx([0.1, 0.2, 0.3], abs=0.25)
    assert vase.properties["color"] == "red"


def test_a_frame_waits_for_its_color_image(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_join, "COLOR_PATIENCE", 30.0)
    node = start(ros)
    ear = Ear(ros)
    ear.hear(SemanticMap, "semantic_map")
    seer = Seer(ros)
    seer.wait()
    color = seer.node.create_publisher(Image, "r1/camera/color/image_raw", profile("sensor_data"))
    ros.wait_for_matched(color)
    red = np.full((ROWS, COLS, 3), (200, 20, 20), np.uint8)
    pairs = node._inlets[0].join.pairs
    color.publish(conversions.image_to_msg(red, conversions.header(0.5, OPTICAL)))
    ros.spin_until(lambda: pairs.color_at(0.5) is not None)
    for k in range(len(SIDES)):
        seer.look(k)
        ros.spin_until(lambda k=k: pairs.counts.pairs == k + 1)
        ros.spin(0.5)
        assert frames(node) == k  # not mapped yet
        head = conversions.header(seer.time, OPTICAL)
        color.publish(conversions.image_to_msg(red, head))
        ros.spin_until(lambda k=k: frames(node) == k + 1)
    ros.spin_until(lambda: ear.labels() == ["mug", "table"])
    assert {thing.properties.get("color") for thing in ear.scene().objects.values()} == {"red"}
    monkeypatch.setattr(frame_join, "COLOR_PATIENCE", 0.2)
    seer.look(0)  # and without one it is mapped as well
    ros.spin_until(lambda: frames(node) == len(SIDES) + 1)


def test_depth_narrows_boxes_in_space(ros: Any) -> None:
    """A box that stands as the camera does holds floor as well; depth tells it from the table."""
    pytest.importorskip("vision_msgs.msg")
    node = start(ros, boxes_topic="{robot}/{camera}/boxes")
    ear = Ear(ros)
    ear.hear(SemanticMap, "semantic_map")
    seer = Seer(ros)
    boxes = seer.boxes()
    pose = looking(0.9, -1.6, 1.3, 0.8)
    frame, _ = view({"floor": ((-5, -5, -0.1), (9, 9, 0)), "table": TABLE}, pose)
    middle = np.linalg.inv(pose) @ np.array([*np.mean(TABLE, axis=0), 1.0])
    # Corners of a table that is turned by 0.8 rad against the camera: 0.8 x 1.2 x 0.75 m.
    c, s = math.cos(0.8), math.sin(0.8)
    size = (0.8 * s + 1.2 * c, 0.75, 0.8 * c + 1.2 * s)
    found = BoxDetection(tuple(middle[:3]), (0.0, 0.0, 0.0, 1.0), size, {"table": 0.9})
    for k in range(3):
        seer.time += 1.0
        head = conversions.header(seer.time, OPTICAL)
        seer.tf.publish(TFMessage(transforms=[seer.pose(pose)]))
        seer.info.publish(conversions.camera_info_to_msg(CAMERA, head))
        seer.depth.publish(conversions.image_to_msg(frame.depth, head))
        ros.spin_until(lambda: node._inlets[0].join._box_pairs.expects(seer.time))
        boxes.publish(conversions.boxes_to_vision_msg([found], head))
        ros.spin_until(lambda k=k: frames(node) == k + 1, what="the boxes to be mapped")
    ros.spin_until(lambda: ear.labels() == ["table"])
    (table,) = ear.scene().objects.values()
    assert np.abs(np.array(table.box.axis_aligned()) - TABLE).max() < 0.1


def test_packed_images_are_mapped(ros: Any) -> None:
    """Depth as compressed_depth_image_transport packs it, color as JPEG packs it."""
    node = start(
        ros,
        color=True,
        depth_topic="{robot}/{camera}/depth/image_raw/compressedDepth",
        color_topic="{robot}/{camera}/color/image_raw/compressed",
    )
    seer = Seer(ros)
    sensor = profile("sensor_data")
    base = "r1/camera"
    depth = seer.node.create_publisher(
        CompressedImage, f"{base}/depth/image_raw/compressedDepth", sensor
    )
    color = seer.node.create_publisher(
        CompressedImage, f"{base}/color/image_raw/compressed", sensor
    )
    ros.wait_for_matched(depth, color, seer.info, seer.tf, seer.found)
    ear = Ear(ros)
    ear.hear(SemanticMap, "semantic_map")
    for k in range(3):
        frame, _ = view(HOUSE, SIDES[k])
        head = conversions.header(seer.time + 1.0, OPTICAL)
        red = np.full((ROWS, COLS, 3), (200, 30, 30), np.uint8)
        color.publish(CompressedImage(header=head, format="jpeg", data=encode_color(red, "jpg")))
        packed = bytes(12) + encode_depth(frame.depth)
        depth.publish(
            CompressedImage(header=head, format="16UC1; compressedDepth png", data=packed)
        )
        seer.look(k)
        ros.spin_until(lambda k=k: frames(node) == k + 1)
    ros.spin_until(lambda: ear.labels() == ["mug", "table"])
    assert {t.properties.get("color") for t in ear.scene().objects.values()} == {"red"}
    # Whoever wants to see what an answer rests on gets its best picture, and nothing else.
    shown: list[CompressedImage] = []
    ear.node.create_subscription(CompressedImage, SHOWN, shown.append, profile("messages"))
    asking = ear.node.create_publisher(String, SHOW, profile("messages"))
    ros.wait_for_matched(asking)
    mug = next(t for t in ear.scene().objects.values() if t.label.top == "mug")
    x, y, z = mug.box.center
    places = (("mug", (x, y, z)), ("piano", (x + 0.3, y, z)), ("mug", (x, y, z + 0.1)))
    things = tuple(WantedThing(label=label, at=at) for label, at in places)
    asking.publish(String(data='{"id": "../x"}'))  # is told, and nothing else
    asking.publish(String(data=Wanted(id="a1", things=things).model_dump_json()))
    ros.spin_until(lambda: len(shown) >= 2, what="pictures of the mug")
    assert [shown_as(one) for one in shown] == [("a1", "thing", k, "r1") for k in (0, 2)]
    pixels = conversions.color_from_msg(shown[0])
    assert max(pixels.shape) <= 96
    assert np.abs(pixels.mean(axis=(0, 1)) - (200, 30, 30)).max() < 10


def test_boxes_of_vision_msgs_are_mapped(ros: Any) -> None:
    vision = pytest.importorskip("vision_msgs.msg")
    node = start(
        ros,
        detections_type="vision_msgs",
        detections_topic="{robot}/{camera}/boxes",
        class_labels='{"7": "table", "9": "mug"}',
    )
    seer = Seer(ros)
    boxes = seer.node.create_publisher(vision.Detection2DArray, "r1/camera/boxes", 10)
    ros.wait_for_matched(boxes, seer.depth, seer.info, seer.tf)
    ear = Ear(ros)
    ear.hear(SemanticMap, "semantic_map")
    for k in range(4):
        masks = seer.look(k % 2)
        message = vision.Detection2DArray(header=masks.header)
        for one in masks.detections:
            item = vision.Detection2D(header=masks.header)
            item.bbox.center.position.x = one.x + one.width / 2
            item.bbox.center.position.y = one.y + one.height / 2
            item.bbox.size_x, item.bbox.size_y = float(one.width), float(one.height)
            guess = vision.ObjectHypothesisWithPose()
            guess.hypothesis.class_id = "7" if one.scores[0].label == "table" else "9"
            guess.hypothesis.score = 0.8
            item.results = [guess]
            message.detections.append(item)
        boxes.publish(message)
        ros.spin_until(lambda k=k: frames(node) == k + 1)
    ros.spin_until(lambda: ear.labels() == ["mug", "table"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"robots": []}, "parameter 'robots' is empty"),
        ({"near": 5.0}, "'near' .5 m. must be less than 'far'"),
        pytest.param(
            {"detections_type": "vision_msgs"},
            "vision_msgs is not installed",
            marks=pytest.mark.skipif(bool(find_spec("vision_msgs")), reason="it is installed"),
        ),
        ({"prior_file": "/does/not/exist.json"}, "parameter 'prior_file'"),
    ],
)
def test_wrong_parameters_are_named(ros: Any, parameters: dict[str, Any], message: str) -> None:
    node = MapperNode(context=ros.context, parameters={"robots": ["r1"], **parameters}, name="m")
    ros.add(node)
    ros.spin_until(lambda: node.failure)
    with pytest.raises(ValueError, match=message):
        raise ValueError(node.failure)


def test_what_several_robots_know_beforehand_is_joined(ros):
    """Adapters of real robots tell the rooms and places that they find, each on its own topic."""
    node = ros.add(
        MapperNode(
            "mapper",
            parameters={**QUICK, "robots": ["r1", "r2"], "prior_map": "{robot}/prior_map"},
            context=ros.context,
        )
    )
    ros.wait_active(node)
    helper = ros.node("adapters")
    for robot, x in (("r1", 0.0), ("r2", 5.0)):
        scene = SceneGraph()
        scene.add_room(
            Room(f"{robot}_region_1", f"{robot} region 1", "", "", [(x, 0), (x + 4, 0), (x, 3)])
        )
        out = helper.create_publisher(SemanticMap, f"{robot}/prior_map", profile("latched"))
        ros.wait_for_matched(out)
        out.publish(conversions.scene_to_msg(scene))
    ros.spin_until(lambda: len(node.builder.scene().rooms) == 2)


def test_what_people_corrected_survives_newer_maps_and_a_restart(ros: Any, tmp_path: Path) -> None:
    node = start(ros, state_directory=str(tmp_path))
    ear, seer = Ear(ros), Seer(ros)
    ear.hear(SemanticMap, "semantic_map")
    ear.hear(String, "map_corrections")
    person = seer.node.create_publisher(String, "correct_map", profile("messages"))
    seer.wait()
    ros.wait_for_matched(person)

    def mapped(labels: list[str]) -> bool:
        seer.look(int(seer.time) % 2)
        ros.spin(0.1)
        return ear.labels() == labels

    ros.spin_until(lambda: mapped(["mug", "table"]))
    things = {t.label.top: t for t in ear.scene().objects.values()}
    refs = [
        {"id": t.id, "label": t.label.top, "position": t.box.center}
        for t in (things["mug"], things["table"])
    ]
    for k, order in enumerate(
        (
            {"kind": "rename_thing", "things": refs[:1], "name": "grail"},
            {"kind": "delete_thing", "things": refs[1:]},
        )
    ):
        person.publish(String(data=json.dumps({"add": {"id": f"c{k}", **order}})))
    person.publish(String(data="{"))  # is told, and nothing else
    ros.spin_until(lambda: mapped(["grail"]), what="the corrected map")
    done = frames(node)
    ros.spin_until(lambda: mapped(["grail"]) and frames(node) > done + 3)
    assert ear.labels() == ["grail"]
    saver = ear.node.create_client(SaveMap, "save_map")
    ros.wait_for_matched(saver)
    saved = ros.result(saver.call_async(SaveMap.Request(name="a.json")))
    assert saved.success and "grail" in Path(saved.message).read_text()
    ros.remove(node)
    ear.got.clear()
    start(ros, state_directory=str(tmp_path))
    ros.spin_until(lambda: mapped(["grail"]), what="the corrected map of a new mapper")
    ros.wait_for_matched(person)
    person.publish(String(data='{"undo": "c0"}'))
    ros.spin_until(lambda: mapped(["mug"]), what="the map without one correction")
    assert "c1" in ear.got["map_corrections"].data and "c0" not in ear.got["map_corrections"].data
